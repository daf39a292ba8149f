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
    /// how long. What became of them may be known by now.
    pub fn in_common(&self, earlier: &Session) -> u32 {
        let names = self.nodes.iter().map(|it| &it.name);
        let clocks = self.rows.tracks.iter().map(|it| &it.clock);
        let is_same = self.start_utc_ns == earlier.start_utc_ns
            && names.eq(earlier.nodes.iter().map(|it| &it.name))
            && clocks.eq(earlier.rows.tracks.iter().map(|it| &it.clock));
        if !is_same {
            return 0;
        }
        let both = self.rows.told_by().zip(earlier.rows.told_by());
        both.take_while(|(now, before)| now == before).count() as u32
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
