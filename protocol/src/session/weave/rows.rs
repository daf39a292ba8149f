//! The packets of a session, in columns.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use netreel_reel::{EventNumber, Reel, Time};
use netreel_table::Column;

use super::odd::Odd;
use super::places::{EndId, Places};
use crate::session::clock::map::ClockMap;
use crate::session::read::connections::Connection;
use crate::session::read::ends::{Ends, Side};
use crate::session::read::scan::Scan;
use crate::session::read::ticks::Ticks;
use crate::session::{
    Crossing, Fate, NodeId, ObserverId, Packet, PacketId, ProxyFault, SessionTime, Sighting, Stamp,
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
}

impl Track {
    pub fn side(&self, side: Side) -> &Ends {
        &self.sides[side as usize]
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
    }

    pub fn faults(&self, number: EventNumber) -> &[ProxyFault] {
        if self.faults.is_empty() {
            return &[];
        }
        self.faults.get(&number).map_or(&[], Vec::as_slice)
    }
}

/// All packets, ordered by the time of their first events, then by node and event number.
#[derive(Clone, Default)]
pub(crate) struct Rows {
    pub places: Places,
    pub tracks: Vec<Track>,
    /// From whom to whom, each pair once.
    pub links: Vec<(NodeId, NodeId)>,
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
    /// In the order of their numbers.
    pub(crate) const ALL: [Fate; 5] = [
        Fate::Received,
        Fate::Lost,
        Fate::SendFailed,
        Fate::Unread,
        Fate::Unknown,
    ];
}

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
    pub fn told(&self, packet: PacketId) -> Option<(usize, Side, usize)> {
        let row = packet.0 as usize;
        if row >= self.len() {
            return None;
        }
        Some(self.places.find(EndId(self.told.get(row) as u32)))
    }

    /// Whether an end tells its packet.
    pub fn is_told_by(&self, track: usize, side: Side, place: usize) -> bool {
        let end = self.places.id(track, side, place);
        let packets = self.tracks.get(track).map(|it| &it.packets[side as usize]);
        let packet = packets.map_or(0, |packets| packets.get(place));
        self.told.get(packet as usize) == u64::from(end.0)
    }

    pub fn stamp(&self, end: EndId) -> Option<Stamp> {
        let (track, side, place) = self.places.find(end);
        Some(self.tracks.get(track)?.stamp(side, place))
    }

    fn sighting(&self, end: EndId) -> Option<Sighting> {
        let (track, side, place) = self.places.find(end);
        let track = self.tracks.get(track)?;
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
        let (track, side, place) = self.told(id)?;
        let told = self.tracks.get(track)?;
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
            Side::Seen => packet
                .seen
                .extend(told.observer.map(|observer| Sighting { observer, stamp })),
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

    /// The packets of some events of a node that was recorded, in their order.
    pub fn crossings(
        &self,
        track: usize,
        events: Range<EventNumber>,
    ) -> impl Iterator<Item = (EndId, Crossing, Stamp)> + '_ {
        let is_all = events.end == EventNumber(u64::MAX);
        let side = |side: Side| {
            let ends = self.tracks.get(track).map(|track| track.side(side));
            let ends = ends.map(|ends| {
                let first = ends.lower_bound(events.start);
                let numbers = (first..).zip(ends.numbers_from(first));
                numbers.take_while(move |&(_, number)| number < events.end || is_all)
            });
            ends.into_iter().flatten()
        };
        let mut sends = side(Side::Send).peekable();
        let mut receives = side(Side::Receive).peekable();
        let merged = std::iter::from_fn(move || {
            let out = match (sends.peek(), receives.peek()) {
                (None, None) => return None,
                (Some((_, one)), Some((_, other))) => one <= other,
                (one, _) => one.is_some(),
            };
            match out {
                true => sends.next().map(|end| (Side::Send, end)),
                false => receives.next().map(|end| (Side::Receive, end)),
            }
        });
        merged.flat_map(move |(side, end)| self.crossings_of(track, side, end))
    }

    /// What an end is to its packets; most have one.
    fn crossings_of(
        &self,
        track: usize,
        side: Side,
        (place, number): (usize, EventNumber),
    ) -> impl Iterator<Item = (EndId, Crossing, Stamp)> + '_ {
        let end = self.places.id(track, side, place);
        let known = self.tracks.get(track);
        let first = known.map(|track| track.packets[side as usize].get(place) as u32);
        let others = match self.shared.is_empty() {
            true => None,
            false => self.shared.get(&end),
        };
        let stamp = known
            .map(|track| Stamp {
                number,
                time: track.clock.time(track.side(side).time(place), || number),
            })
            .unwrap_or_default();
        let packets = first
            .into_iter()
            .chain(others.into_iter().flatten().copied());
        packets.map(move |packet| {
            let packet = PacketId(packet);
            let way = match side {
                Side::Send => Way::Out,
                _ => self.way_in(packet, end),
            };
            (
                end,
                Crossing {
                    number,
                    packet,
                    way,
                },
                stamp,
            )
        })
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
        match first == u64::from(end.0) {
            true => Way::In,
            false => Way::Again,
        }
    }

    /// The packet that an event of a track sent or received.
    pub fn at(&self, track: usize, number: EventNumber) -> Option<Crossing> {
        let known = self.tracks.get(track)?;
        [Side::Send, Side::Receive].into_iter().find_map(|side| {
            let place = known.side(side).find(number)?;
            let (_, crossing, _) = self.crossings_of(track, side, (place, number)).next()?;
            Some(crossing)
        })
    }

    /// The packet that an event of a track sent, received or saw; the first, where it is of several.
    pub fn packet_of(&self, track: usize, number: EventNumber) -> Option<PacketId> {
        let known = self.tracks.get(track)?;
        [Side::Send, Side::Receive, Side::Seen]
            .into_iter()
            .find_map(|side| {
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
