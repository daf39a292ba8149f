//! What is known of packets, for who asks about one after the other: most of it stands next to what is known
//! of the packet before.

use std::ops::Range;

use netreel_reel::Time;
use netreel_table::{BlobsCursor, Column, Cursor};

use super::asking::Piece;
use super::pieces::Pieces;
use super::said::Said;
use super::shape::{Messages, Shapes};
use crate::session::read::ends::{Cursors, EndAt, Side};
use crate::session::weave::rows::Rows;
use crate::session::{Link, PacketId, SessionTime};

/// See the module.
pub(crate) struct Reader<'a> {
    rows: &'a Rows,
    pieces: &'a Pieces,
    links: Cursor<'a>,
    ends: Cursor<'a>,
    firsts: Option<Cursor<'a>>,
    times: Cursors<'a>,
    /// For each side of each track the facts that were asked for last.
    facts: Vec<Option<Box<Nearby<'a>>>>,
}

/// Sides with fewer ends are not worth what is kept of them: there may be thousands.
const SHORT: usize = 1 << 12;

/// The facts of a side of a piece.
struct Nearby<'a> {
    piece: &'a Piece,
    rows: Range<usize>,
    facts: BlobsCursor<'a>,
}

impl<'a> Reader<'a> {
    /// `firsts`: for each packet the number of its first message.
    pub fn new(rows: &'a Rows, pieces: &'a Pieces, firsts: Option<&'a Column>) -> Reader<'a> {
        let tracks = rows.tracks.iter();
        let times = tracks.map(|track| Side::ALL.map(|side| track.side(side).time_column()));
        Reader {
            rows,
            pieces,
            links: rows.link.cursor(),
            ends: rows.told.cursor(),
            firsts: firsts.map(Column::cursor),
            times: Cursors::new(times),
            facts: (0..rows.tracks.len() * Side::ALL.len())
                .map(|_| None)
                .collect(),
        }
    }

    /// The track of the end that tells a packet, its side and its place there.
    pub fn end(&mut self, packet: PacketId) -> EndAt {
        let end = self.ends.get(packet.0 as usize);
        self.rows.find(end)
    }

    /// Who sent a packet, and to whom.
    pub fn link(&mut self, packet: PacketId) -> Option<Link> {
        let link = self.links.get(packet.0 as usize);
        self.rows.links.get(link as usize).copied()
    }

    /// The track that tells a packet, and whether the wire was asked about it.
    pub fn answer(&mut self, packet: PacketId) -> (usize, bool) {
        let end = self.end(packet);
        let facts = self.facts(end);
        (end.0, facts.is_some_and(|(_, bytes)| !bytes.is_empty()))
    }

    /// How many messages a packet has, and whether it does not fit the wire.
    pub fn head(&mut self, packet: PacketId) -> Option<(u32, bool)> {
        let end = self.end(packet);
        let (shapes, bytes) = self.facts(end)?;
        Some(shapes.head(bytes))
    }

    /// Whether a packet is of a protocol of the wire, and fits it.
    pub fn fits(&mut self, packet: PacketId) -> bool {
        let end = self.end(packet);
        let facts = self.facts(end);
        facts.is_some_and(|(shapes, bytes)| shapes.fits(bytes))
    }

    /// A packet as it was spoken: from whom to whom, when it was first known, and its messages; what the
    /// wire says of it is written over what stands in `said`.
    #[allow(clippy::type_complexity)] // taken apart where it is called
    pub fn spoken(
        &mut self,
        packet: PacketId,
        said: &mut Said,
    ) -> Option<(Link, SessionTime, Option<Messages<'a>>)> {
        let link = self.link(packet)?;
        let end = self.end(packet);
        let time = self.time(end)?;
        let firsts = self.firsts.as_mut();
        let first = firsts.map_or(0, |firsts| firsts.get(packet.0 as usize)) as u32;
        let messages = match self.facts(end) {
            Some((shapes, bytes)) => Some(shapes.read(bytes, first, said)),
            None => {
                *said = Said::default();
                None
            }
        };
        Some((link, time, messages))
    }

    /// Who sent a packet, to whom, and when it was first known.
    pub fn passed(&mut self, packet: PacketId) -> Option<(Link, SessionTime)> {
        let end = self.end(packet);
        Some((self.link(packet)?, self.time(end)?))
    }

    /// When an end was.
    fn time(&mut self, (track, side, place): EndAt) -> Option<SessionTime> {
        let known = self.rows.tracks.get(track)?;
        let ends = known.side(side);
        let time = match ends.len() < SHORT {
            true => ends.time(place),
            false => Time(self.times.get(track, side, place)),
        };
        Some(known.clock.time(time, || ends.number(place)))
    }

    /// The facts of an end, and the shapes that read them.
    fn facts(&mut self, end: EndAt) -> Option<(&'a Shapes, &'a [u8])> {
        let (track, side, place) = end;
        if self.rows.tracks.get(track)?.side(side).len() < SHORT {
            return self.pieces.facts(self.rows, end);
        }
        let nearby = self
            .facts
            .get_mut(track * Side::ALL.len() + side as usize)?;
        if !nearby.as_ref().is_some_and(|it| it.rows.contains(&place)) {
            let (_, piece) = self.pieces.piece(end)?;
            *nearby = Some(Box::new(Nearby {
                piece,
                rows: piece.rows[side as usize].clone(),
                facts: piece.facts[side as usize].cursor(),
            }));
        }
        let nearby = nearby.as_mut()?;
        let row = place.checked_sub(nearby.rows.start)?;
        match nearby.facts.get(row) {
            [] => self.pieces.facts(self.rows, end),
            bytes => Some((&nearby.piece.shapes, bytes)),
        }
    }
}
