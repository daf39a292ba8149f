//! The packets of a node in the order of its own events.

use netreel_reel::EventNumber;

use super::seen::Seen;
use crate::session::read::ends::Side;
use crate::session::weave::places::EndId;
use crate::session::{Crossing, NodeId, PacketId, Session, Stamp, Way};

impl Session {
    /// The packets of a node in the order of its own events, with the moment of each.
    pub fn crossings(&self, node: NodeId) -> impl Iterator<Item = (Crossing, Stamp)> + '_ {
        self.ends(node)
            .map(|(_, crossing, stamp)| (crossing, stamp))
    }

    /// The same, with the end that each is.
    pub(crate) fn ends(&self, node: NodeId) -> impl Iterator<Item = (EndId, Crossing, Stamp)> + '_ {
        let track = self.track(node);
        let recorded = track.map(|track| self.rows.crossings(track));
        let passing = track.is_none().then(|| self.passing(node));
        let recorded = recorded.into_iter().flatten();
        recorded.chain(passing.into_iter().flatten())
    }

    /// Those of some packets that a node's reel says it sent, with the moment of each, in the order of its
    /// events.
    pub(crate) fn sends(&self, node: NodeId, packets: &[PacketId]) -> Vec<(PacketId, Stamp)> {
        let Some(own) = self.track(node) else {
            return Vec::new();
        };
        let place = |packet: PacketId| match self.rows.told(packet)? {
            (track, Side::Send, place) if track == own => Some((place, packet)),
            _ => None,
        };
        let mut sends: Vec<_> = packets.iter().filter_map(|&packet| place(packet)).collect();
        sends.sort_unstable();
        let track = self.rows.tracks.get(own);
        let stamp = |place: usize| Some(track?.stamp(Side::Send, place));
        let sends = sends.into_iter();
        sends
            .filter_map(|(place, packet)| Some((packet, stamp(place)?)))
            .collect()
    }

    /// What a receipt of a node is called by the node: its place among the node's receipts. Of a node that
    /// was not recorded, the end itself.
    pub(crate) fn receipt(&self, node: NodeId, end: EndId) -> u32 {
        match self.track(node) {
            Some(_) => self.rows.places.find(end).2 as u32,
            None => end.0,
        }
    }

    /// The moment of what is called so.
    pub(crate) fn receipt_stamp(&self, node: NodeId, receipt: u32) -> Option<Stamp> {
        match self.track(node) {
            Some(track) => {
                let track = self.rows.tracks.get(track)?;
                Some(track.stamp(Side::Receive, receipt as usize))
            }
            None => self.rows.stamp(EndId(receipt)),
        }
    }

    /// The packets that were seen of a node that was not recorded, in the order of time.
    fn passing(&self, node: NodeId) -> impl Iterator<Item = (EndId, Crossing, Stamp)> + '_ {
        let passing = node.of(&self.rows.passing);
        let passing = passing.into_iter().flat_map(|column| column.iter());
        passing.filter_map(|row| self.passed(row))
    }

    /// What a row of a node's passing packets says.
    fn passed(&self, row: u64) -> Option<(EndId, Crossing, Stamp)> {
        let packet = PacketId((row >> 1) as u32);
        let (way, end) = match row & 1 {
            0 => (Way::Out, self.rows.departure(packet)?),
            _ => (Way::Passing, self.rows.last_sighting(packet)?),
        };
        let stamp = self.rows.stamp(end)?;
        let crossing = Crossing {
            number: stamp.number,
            packet,
            way,
        };
        Some((end, crossing, stamp))
    }

    /// The first packet that was seen of a node that was not recorded as this event of an observer.
    pub(super) fn seen_at(&self, node: NodeId, number: EventNumber) -> Option<Crossing> {
        let rows = node.of(&self.rows.passing)?;
        let seen = self.seen.get_or_init(|| {
            let all = self.rows.passing.iter();
            all.map(|rows| Seen::of(rows.len(), |place| self.passed_number(rows.get(place))))
                .collect()
        });
        let crossing = |place: usize| self.passed(rows.get(place)).map(|it| it.1);
        let place = node.of(seen)?.find(number, |place| {
            crossing(place).map(|crossing| crossing.number)
        })?;
        crossing(place)
    }

    fn passed_number(&self, row: u64) -> Option<EventNumber> {
        self.passed(row).map(|it| it.1.number)
    }
}
