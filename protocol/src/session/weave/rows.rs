//! The packets of a session, in columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_reel::{EventNumber, Reel, Time};
use netreel_table::Column;

use super::odd::Odd;
use super::places::{EndId, Places};
use crate::session::clock::map::ClockMap;
use crate::session::read::beliefs::GameWords;
use crate::session::read::connections::Connection;
use crate::session::read::ends::{EndAt, Ends, Side};
use crate::session::read::scan::Scan;
use crate::session::read::ticks::Ticks;
use crate::session::{
    Crossing, Fate, Link, ObserverId, Packet, PacketId, ProxyFault, SessionTime, Sighting, Stamp,
    Way,
};

/// What one reel, or what a proxy's reel tells of one end, holds of packets.
#[derive(Clone, Default)]
pub(crate) struct Track {
    pub reel: Option<Arc<Reel>>,
    /// Makes the session's time of the reel's.
    pub clock: ClockMap,
    pub sides: [Ends; 3],
    /// For each end of a side its packet; the first, where it is one of several.
    pub packets: [Column; 3],
    pub connections: Vec<Connection>,
    /// What a proxy did to packets, by the events that sent them.
    pub faults: BTreeMap<EventNumber, Vec<ProxyFault>>,
    /// Where it is an observer's.
    pub observer: Option<ObserverId>,
    pub ticks: Ticks,
    /// What the game said that it believed.
    pub words: GameWords,
}

/// An end of a side of a track: its place there, and the first of its packets.
#[derive(Clone, Copy)]
struct Row {
    place: usize,
    number: EventNumber,
    time: Time,
    packet: u32,
}

impl Track {
    pub fn side(&self, side: Side) -> &Ends {
        &self.sides[side as usize]
    }

    /// Whether the first ends of each side are those of an earlier look, which has as many or more: the last
    /// of them is the same event, so that none came between.
    pub fn goes_on_from(&self, earlier: &Track) -> bool {
        Side::ALL.into_iter().all(|side| {
            let (now, before) = (self.side(side), earlier.side(side));
            let last = now.len().min(before.len()).checked_sub(1);
            let told = |ends: &Ends, at| (ends.number(at), ends.time(at), ends.length(at));
            last.is_none_or(|last| told(now, last) == told(before, last))
        })
    }

    /// When an end was, on the session's clock.
    pub fn time(&self, side: Side, place: usize) -> SessionTime {
        let ends = self.side(side);
        self.clock.time(ends.time(place), || ends.number(place))
    }

    /// When the ends of a side were, in the order of the reel.
    pub fn times(&self, side: Side) -> impl Iterator<Item = SessionTime> + '_ {
        self.clock.times(self.side(side))
    }

    /// When something else was than an end.
    pub fn time_of(&self, number: EventNumber, time: Time) -> SessionTime {
        self.clock.time(time, || number)
    }

    /// How far the clock may be off at an event.
    pub fn clock_error_ns(&self, number: EventNumber, time: Time) -> u64 {
        self.clock.error_ns(number, time)
    }

    pub fn stamp(&self, side: Side, place: usize) -> Stamp {
        let ends = self.side(side);
        Stamp {
            number: ends.number(place),
            time: self.time(side, place),
        }
    }

    /// Takes what a reel's scan holds of packets.
    pub fn take(&mut self, reel: &Arc<Reel>, scan: &mut Scan) {
        self.reel = Some(reel.clone());
        for (own, ends) in self.sides.iter_mut().zip(scan.sides_mut()) {
            *own = std::mem::take(ends);
            own.forget_hashes();
            own.shrink();
        }
        self.connections = std::mem::take(&mut scan.connections);
        self.faults = std::mem::take(&mut scan.faults);
        self.ticks = std::mem::take(&mut scan.turns);
        self.words = std::mem::take(&mut scan.words);
        self.words.shrink();
    }

    /// The ends of a side from a place on.
    fn rows_from(&self, side: Side, first: usize) -> impl Iterator<Item = Row> + '_ {
        let ends = self.side(side);
        let packets = self.packets[side as usize].iter_from(first);
        let rows = packets.zip(ends.numbers_from(first).zip(ends.times_from(first)));
        (first..)
            .zip(rows)
            .map(|(place, (packet, (number, time)))| Row {
                place,
                number,
                time,
                packet: packet as u32,
            })
    }

    pub fn faults(&self, number: EventNumber) -> &[ProxyFault] {
        self.faults.get(&number).map_or(&[], Vec::as_slice)
    }
}

/// All packets, ordered by the time of their first events, then by node and event number.
#[derive(Clone, Default)]
pub(crate) struct Rows {
    pub places: Places,
    pub tracks: Vec<Track>,
    /// From whom to whom, each pair once.
    pub links: Vec<Link>,
    /// For each packet its place in [`Rows::links`].
    pub link: Column,
    /// For each packet the end that tells it: its send, or else the first sighting, or else the
    /// first receipt.
    pub told: Column,
    /// For each packet its first receipt, where that is not what tells it.
    pub receipt: Column,
    /// For each packet its fate, whether it is in [`Rows::odd`], and whether that is in doubt.
    pub state: Column,
    /// Packets with more ends than a send and a receipt, or with ends that they share.
    pub odd: BTreeMap<u32, Odd>,
    /// Ends that several packets have, and all but the first of these.
    pub shared: BTreeMap<EndId, Vec<u32>>,
    /// For each node that was not recorded, the packets that were seen of it, and in the lowest bit
    /// whether they went to it.
    pub passing: Vec<Column>,
}

/// In [`Rows::state`]: the packet is in [`Rows::odd`].
pub(crate) const ODD: u64 = 8;
/// In [`Rows::state`]: see [`Packet::doubtful`].
pub(crate) const DOUBTFUL: u64 = 16;

impl Fate {
    /// That of a packet by its row of [`Rows::state`].
    pub(crate) fn of_state(state: u64) -> Fate {
        let known = Fate::ALL.get((state % ODD) as usize);
        known.copied().unwrap_or_default()
    }
}

impl Rows {
    pub fn len(&self) -> usize {
        self.told.len()
    }

    /// The end that tells a packet: its track, its side, its place there.
    pub fn told(&self, packet: PacketId) -> Option<EndAt> {
        let row = packet.0 as usize;
        (row < self.len()).then(|| self.find(self.told.get(row)))
    }

    /// The same, with the track itself.
    pub fn teller(&self, packet: PacketId) -> Option<(&Track, Side, usize)> {
        let (track, side, place) = self.told(packet)?;
        Some((self.tracks.get(track)?, side, place))
    }

    /// The track of an end, by what stands for that in a column, its side, its place there.
    pub fn find(&self, end: u64) -> EndAt {
        self.places.find(EndId(end as u32))
    }

    /// The same, with the track itself.
    pub fn end(&self, end: EndId) -> Option<(&Track, Side, usize)> {
        let (track, side, place) = self.places.find(end);
        Some((self.tracks.get(track)?, side, place))
    }

    /// Whether an end tells its packet.
    pub fn is_told_by(&self, track: usize, side: Side, place: usize) -> bool {
        let end = self.places.id(track, side, place);
        let packets = self.tracks.get(track).map(|it| &it.packets[side as usize]);
        let packet = packets.map_or(0, |packets| packets.get(place));
        self.told.get(packet as usize) == u64::from(end.0)
    }

    /// For each packet the end that tells it, and its link.
    pub fn tellers(&self) -> impl Iterator<Item = (EndAt, Option<&Link>)> {
        let links = self.link.iter().map(|link| self.links.get(link as usize));
        self.told.iter().map(|end| self.find(end)).zip(links)
    }

    /// For each packet its first receipt, where that does not tell it, and all ends where it has more.
    pub fn further_ends(&self) -> impl Iterator<Item = (Option<EndAt>, Vec<EndAt>)> {
        let mut odd = self.odd.iter().peekable();
        (0..)
            .zip(self.receipt.iter())
            .map(move |(packet, receipt)| {
                let receipt = receipt.checked_sub(1).map(|receipt| self.find(receipt));
                let odd = odd.next_if(|(id, _)| **id == packet);
                let ends = odd.into_iter().flat_map(|(_, odd)| odd.ends());
                let ends = ends.map(|end| self.places.find(end)).collect();
                (receipt, ends)
            })
    }

    pub fn stamp(&self, end: EndId) -> Option<Stamp> {
        let (track, side, place) = self.end(end)?;
        Some(track.stamp(side, place))
    }

    fn sighting(&self, end: EndId) -> Option<Sighting> {
        let (track, side, place) = self.end(end)?;
        Some(Sighting {
            observer: track.observer?,
            stamp: track.stamp(side, place),
        })
    }

    /// The end at which a packet left its sender, or was first seen.
    pub fn departure(&self, packet: PacketId) -> Option<EndId> {
        let row = packet.0 as usize;
        let (_, side, _) = self.told(packet)?;
        (side != Side::Receive).then(|| EndId(self.told.get(row) as u32))
    }

    /// The end at which a packet was last seen.
    pub fn last_sighting(&self, packet: PacketId) -> Option<EndId> {
        let odd = self.odd.get(&packet.0).and_then(|odd| odd.seen.last());
        let alone = || {
            let (_, side, _) = self.told(packet)?;
            (side == Side::Seen).then(|| EndId(self.told.get(packet.0 as usize) as u32))
        };
        odd.copied().or_else(alone)
    }

    /// A packet, put together from its columns.
    pub fn get(&self, id: PacketId) -> Option<Packet> {
        let row = id.0 as usize;
        let (told, side, place) = self.teller(id)?;
        let (from, to) = self.links.get(self.link.get(row) as usize).copied()?;
        let state = self.state.get(row);
        let ends = told.side(side);
        let kept = ends.length(place);
        let whole = ends.whole(place, kept);
        let stamp = told.stamp(side, place);
        let mut packet = Packet {
            from,
            to,
            fate: Fate::of_state(state),
            doubtful: state & DOUBTFUL != 0,
            length: whole,
            cut: (kept < whole).then_some(kept),
            ..Packet::default()
        };
        match side {
            Side::Send => {
                packet.sent = Some(stamp);
                packet.faults = told.faults(stamp.number).to_vec();
            }
            Side::Receive => packet.received = Some(stamp),
            Side::Seen => {
                let seen = told.observer.map(|observer| Sighting { observer, stamp });
                packet.seen.extend(seen);
                packet.faults = told.faults(stamp.number).to_vec();
            }
        }
        let receipt = self.receipt.get_some(row);
        if let Some(receipt) = receipt {
            packet.received = self.stamp(EndId(receipt as u32));
        }
        if state & ODD != 0
            && let Some(odd) = self.odd.get(&id.0)
        {
            packet.seen = odd
                .seen
                .iter()
                .filter_map(|&end| self.sighting(end))
                .collect();
            let again = odd.received.iter().skip(1);
            packet.duplicates = again.filter_map(|&end| self.stamp(end)).collect();
        }
        Some(packet)
    }

    /// The packets of a node that was recorded, in the order of its events.
    pub fn crossings(&self, track: usize) -> impl Iterator<Item = (EndId, Crossing, Stamp)> + '_ {
        let side = |side: Side| {
            let known = self.tracks.get(track);
            let rows = known.map(|known| known.rows_from(side, 0));
            rows.into_iter().flatten()
        };
        let (mut sends, mut receives) = (side(Side::Send), side(Side::Receive));
        let mut next = (sends.next(), receives.next());
        // All but the first of the packets of an event that is an end of several.
        let mut others: &[u32] = &[];
        let mut last = None;
        std::iter::from_fn(move || {
            if let Some((&packet, rest)) = others.split_first()
                && let Some((side, row)) = last
            {
                others = rest;
                return Some(self.crossing(track, side, &Row { packet, ..row }));
            }
            let out = match &next {
                (Some(one), Some(other)) => one.number <= other.number,
                (one, _) => one.is_some(),
            };
            let (side, row) = if out {
                (Side::Send, std::mem::replace(&mut next.0, sends.next())?)
            } else {
                (
                    Side::Receive,
                    std::mem::replace(&mut next.1, receives.next())?,
                )
            };
            if !self.shared.is_empty() {
                others = self.others(self.places.id(track, side, row.place));
                last = Some((side, row));
            }
            Some(self.crossing(track, side, &row))
        })
    }

    /// All but the first of the packets of an end.
    pub fn others(&self, end: EndId) -> &[u32] {
        self.shared.get(&end).map_or(&[], Vec::as_slice)
    }

    /// What an end is to a packet.
    fn crossing(&self, track: usize, side: Side, row: &Row) -> (EndId, Crossing, Stamp) {
        let end = self.places.id(track, side, row.place);
        let (number, packet) = (row.number, PacketId(row.packet));
        let way = match side {
            Side::Send => Way::Out,
            _ => self.way_in(packet, end),
        };
        let known = self.tracks.get(track);
        let time = known.map(|known| known.clock.time(row.time, || number));
        let crossing = Crossing {
            number,
            packet,
            way,
        };
        let time = time.unwrap_or_default();
        (end, crossing, Stamp { number, time })
    }

    /// Whether a receipt is a packet's first.
    fn way_in(&self, packet: PacketId, end: EndId) -> Way {
        let row = packet.0 as usize;
        let first = match self.receipt.get_some(row) {
            Some(first) => first,
            None => match self.odd.get(&packet.0).and_then(|odd| odd.received.first()) {
                Some(first) => u64::from(first.0),
                None => self.told.get(row),
            },
        };
        if first == u64::from(end.0) {
            Way::In
        } else {
            Way::Again
        }
    }

    /// The packet that an event of a track sent or received.
    pub fn at(&self, track: usize, number: EventNumber) -> Option<Crossing> {
        let known = self.tracks.get(track)?;
        [Side::Send, Side::Receive].into_iter().find_map(|side| {
            let place = known.side(side).find(number)?;
            let row = Row {
                place,
                number,
                time: known.side(side).time(place),
                packet: known.packets[side as usize].get(place) as u32,
            };
            Some(self.crossing(track, side, &row).1)
        })
    }

    /// The packet that an event of a track sent, received or saw; the first, where it is of several.
    pub fn packet_of(&self, track: usize, number: EventNumber) -> Option<PacketId> {
        let known = self.tracks.get(track)?;
        Side::ALL.into_iter().find_map(|side| {
            let place = known.side(side).find(number)?;
            let packet = known.packets[side as usize].get(place);
            Some(PacketId(packet as u32))
        })
    }

    /// How many bytes of memory each part takes, with its name.
    pub fn memory(&self) -> Vec<(&'static str, usize)> {
        let mut memory = vec![
            ("link", self.link.memory()),
            ("told", self.told.memory()),
            ("receipt", self.receipt.memory()),
            ("state", self.state.memory()),
        ];
        let odd = size_of::<(u32, Odd)>();
        memory.push(("odd", self.odd.len() * odd));
        memory.push(("passing", self.passing.iter().map(Column::memory).sum()));
        let words = self.tracks.iter().map(|track| track.words.memory()).sum();
        memory.push(("words of games", words));
        for track in &self.tracks {
            for (side, packets) in track.sides.iter().zip(&track.packets) {
                let columns = side.memory().into_iter();
                for (name, bytes) in columns.chain([("packets", packets.memory())]) {
                    match memory.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, sum)) => *sum += bytes,
                        None => memory.push((name, bytes)),
                    }
                }
            }
        }
        memory
    }
}
