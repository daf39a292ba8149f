//! Packets that read what their connection keeps, or change it: they are asked about at each of their ends,
//! behind those before them.

use netreel_reel::EventNumber;
use netreel_wire::Wire;

use super::asking::{Asking, Of, Piece};
use super::kept::Checkpoints;
use super::pieces::Pieces;
use crate::session::PacketId;
use crate::session::bits::Bits;
use crate::session::read::ends::Side;
use crate::session::read::payloads;
use crate::session::weave::rows::{Rows, Track};

/// The packets of a track that depend on others are taken in pieces of about so many ends.
const PACKETS: usize = 1 << 16;
/// In at most so many, because each reads the reel.
const PIECES: usize = 8;

/// So many numbers are looked for in a reel at a time.
const NUMBERS: usize = 1 << 14;

/// The packets of some connections of a track that depend on others.
pub(super) struct Dependent {
    pub track: usize,
    /// Of this many pieces the connections of this one.
    connections: (usize, usize),
}

/// An end of such a packet: its event, its side and place there, and its packet.
type DependentEnd = (EventNumber, Side, usize, u32);

impl Dependent {
    /// Those of a track, in pieces.
    pub fn of(
        track: usize,
        known: &Track,
        depend: &Bits,
    ) -> impl Iterator<Item = Dependent> + use<> {
        let ends = dependent_ends(known, depend).take(PACKETS * PIECES);
        let pieces = ends.count().div_ceil(PACKETS);
        let pieces = pieces.min(known.connections.len());
        (0..pieces).map(move |piece| Dependent {
            track,
            connections: (piece, pieces),
        })
    }

    /// What the wire says of those that nobody answered when they were asked about alone.
    pub fn run(
        &self,
        (rows, answered): (&Rows, &Pieces),
        wire: &Wire,
        depend: &Bits,
        checkpoints: Checkpoints,
    ) -> Piece {
        let Some(known) = rows.tracks.get(self.track) else {
            return Piece::default();
        };
        let (own, of) = self.connections;
        let ends = || {
            let ends = dependent_ends(known, depend);
            ends.map(|end| (end, known.side(end.1).way(end.2)))
                .filter(|(_, (connection, _))| *connection as usize % of == own)
        };
        let mut left = vec![0u32; known.connections.len()];
        for (_, (connection, _)) in ends() {
            if let Some(left) = left.get_mut(connection as usize) {
                *left += 1;
            }
        }
        let all = Side::ALL.map(|side| 0..known.side(side).len());
        let mut asking = Asking::new(all, checkpoints);
        let mut ends = ends();
        while let Some(reel) = &known.reel {
            let some: Vec<_> = ends.by_ref().take(NUMBERS).collect();
            if some.is_empty() {
                break;
            }
            let numbers: Vec<EventNumber> = some.iter().map(|((number, ..), _)| *number).collect();
            payloads::read(reel, &numbers, |at, payload| {
                let Some(&((number, side, place, packet), way)) = some.get(at) else {
                    return;
                };
                let connection = way.0 as usize;
                let Some(of) = Of::new(side, number, way, &known.connections, payload) else {
                    return;
                };
                while asking.next(side) < place {
                    asking.pass(side);
                }
                let id = rows.places.id(self.track, side, place);
                let tells = rows.told.get(packet as usize) == u64::from(id.0)
                    && !answered.is_answered((self.track, side, place));
                asking.ask(wire, of, tells);
                if let Some(left) = left.get_mut(connection) {
                    *left -= 1;
                    if *left == 0 {
                        asking.end(connection);
                    }
                }
            });
        }
        asking.finish()
    }
}

/// The ends of packets that depend on others, in the order of their reel.
fn dependent_ends<'a>(
    known: &'a Track,
    depend: &'a Bits,
) -> impl Iterator<Item = DependentEnd> + 'a {
    let mut sides = Side::ALL.map(|side| {
        let numbers = known.side(side).numbers_from(0);
        let ends = numbers.zip(known.packets[side as usize].iter());
        let ends = ends
            .enumerate()
            .filter_map(move |(place, (number, packet))| {
                let packet = packet as u32;
                depend
                    .contains(packet)
                    .then_some((number, side, place, packet))
            });
        ends.peekable()
    });
    std::iter::from_fn(move || {
        let next = sides
            .iter_mut()
            .filter_map(|side| side.peek().copied())
            .min();
        let (_, side, ..) = next?;
        sides[side as usize].next()
    })
}

/// Takes the packets that come over connections which another end sees otherwise than the one that tells
/// them: what a wire that asks for ports says of them may differ.
pub(super) fn take_unlike(rows: &Rows, (at, track): (usize, &Track), depend: &mut Bits) {
    for side in [Side::Receive, Side::Seen] {
        let packets = &track.packets[side as usize];
        let is_unlike = |place: usize, (connection, forward): (u32, bool)| {
            let packet = PacketId(packets.get(place) as u32);
            let (told, told_by, end) = rows.told(packet).filter(|it| *it != (at, side, place))?;
            let own = track.connections.get(connection as usize)?;
            let told = rows.tracks.get(told)?;
            let (other, way) = told.side(told_by).way(end);
            let other = told.connections.get(other as usize)?;
            Some(own.context(side.goes_out(forward)) != other.context(told_by.goes_out(way)))
        };
        let mut known = vec![None; track.connections.len()];
        for (place, way) in track.side(side).ways().enumerate() {
            if let Some(slot @ None) = known.get_mut(way.0 as usize) {
                *slot = is_unlike(place, way);
            }
        }
        if !known.contains(&Some(true)) {
            continue;
        }
        for ((connection, _), packet) in track.side(side).ways().zip(packets.iter()) {
            if known.get(connection as usize) == Some(&Some(true)) {
                depend.insert(packet as u32);
            }
        }
    }
}
