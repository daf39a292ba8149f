//! What of a session whose reels grow stays as it is at the next look.

use netreel_reel::EventNumber;

use crate::session::{MessageId, NodeId, Packet, PacketId, Session};

impl Session {
    /// Whether an event of a node is read for good. What somebody else tells of a node that was not
    /// recorded is.
    pub(crate) fn is_firm(&self, node: NodeId, number: EventNumber) -> bool {
        let until = self.track(node).and_then(|track| self.firm.get(track));
        until.is_none_or(|&until| number < until)
    }

    /// How many of the first packets of an earlier look are the same ones here: from whom to whom, when,
    /// how long. And how many of these, from the first on, were received as they were at that look, and no
    /// more often.
    pub fn in_common(&self, earlier: &Session) -> (u32, u32) {
        let names = self.nodes.iter().map(|it| &it.name);
        let mut tracks = self.rows.tracks.iter().zip(&earlier.rows.tracks);
        let is_same = self.start_utc_ns == earlier.start_utc_ns
            && names.eq(earlier.nodes.iter().map(|it| &it.name))
            && tracks.clone().all(|(now, before)| now.goes_on_from(before));
        if !is_same {
            return (0, 0);
        }
        // Clocks that were placed anew may still tell the same times.
        let is_one_time = tracks.all(|(now, before)| now.clock == before.clock);
        let time = |session: &Session, packet: u32| {
            let (track, side, place) = session.rows.teller(PacketId(packet))?;
            Some(track.time(side, place))
        };
        let both = self.rows.tellers().zip(earlier.rows.tellers());
        let same = (0..).zip(both).take_while(|(packet, (now, before))| {
            now == before && (is_one_time || time(self, *packet) == time(earlier, *packet))
        });
        let same = same.count();
        let both = self.rows.further_ends().zip(earlier.rows.further_ends());
        let both = both.take(same);
        let unchanged = both.take_while(|(now, before)| now == before).count();
        (same as u32, unchanged as u32)
    }

    /// The packets from one on, in order.
    pub fn packets_from(&self, first: PacketId) -> impl ExactSizeIterator<Item = Packet> + '_ {
        let ids = (first.0 as usize).min(self.rows.len())..self.rows.len();
        ids.map(|place| self.rows.get(PacketId(place as u32)).unwrap_or_default())
    }

    /// The first message that no packet before this one has.
    pub(crate) fn first_message(&self, packet: PacketId) -> MessageId {
        MessageId(self.told().messages_before(packet))
    }
}
