//! The packets of a node in the order of its own events.

use std::ops::Range;

use netreel_reel::EventNumber;

use crate::session::read::ends::Side;
use crate::session::weave::places::EndId;
use crate::session::{Crossing, NodeId, PacketId, Session, Stamp, Way};

impl Session {
    /// All events of a node.
    pub(crate) const EVENTS: Range<EventNumber> = EventNumber(0)..EventNumber(u64::MAX);

    /// The packets of a node in the order of its own events, with the moment of each.
    pub fn crossings(&self, node: NodeId) -> impl Iterator<Item = (Crossing, Stamp)> + '_ {
        self.ends(node)
            .map(|(_, crossing, stamp)| (crossing, stamp))
    }

    /// The same, with the end that each is.
    pub(crate) fn ends(&self, node: NodeId) -> impl Iterator<Item = (EndId, Crossing, Stamp)> + '_ {
        self.ends_in(node, Session::EVENTS)
    }

    /// The same of some of its events; of a node that was not recorded, always of all.
    pub(crate) fn ends_in(
        &self,
        node: NodeId,
        events: Range<EventNumber>,
    ) -> impl Iterator<Item = (EndId, Crossing, Stamp)> + '_ {
        let track = self.track(node);
        let recorded = track.map(|track| self.rows.crossings(track, events));
        let passing = match recorded {
            Some(_) => None,
            None => Some(self.passing(node)),
        };
        recorded
            .into_iter()
            .flatten()
            .chain(passing.into_iter().flatten())
    }

    /// What a receipt of a node is called by the node: its place among the node's receipts, which is the
    /// same when reels have grown. Of a node that was not recorded, the end itself.
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
    pub(super) fn passing(
        &self,
        node: NodeId,
    ) -> impl Iterator<Item = (EndId, Crossing, Stamp)> + '_ {
        let passing = self.rows.passing.get(usize::from(node.0));
        let passing = passing.into_iter().flat_map(|column| column.iter());
        passing.filter_map(|row| {
            let packet = PacketId((row >> 1) as u32);
            let (way, end) = match row & 1 {
                0 => (Way::Out, self.rows.departure(packet)?),
                _ => (Way::Passing, self.rows.last_sighting(packet)?),
            };
            let stamp = self.rows.stamp(end)?;
            let number = stamp.number;
            Some((
                end,
                Crossing {
                    number,
                    packet,
                    way,
                },
                stamp,
            ))
        })
    }
}
