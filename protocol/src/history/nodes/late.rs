//! Which connection a packet is of that a node sends or receives, and what comes of one that is over.

use super::{Arrived, Walk};
use crate::history::model::{Over, Straggler};
use crate::history::node_end::NodeEnd;
use crate::session::{Stamp, Way};

impl Walk<'_> {
    /// Notes of which meeting of two nodes a packet is that was sent or received. Where it came when that
    /// was over, why it was.
    pub(super) fn meets(&mut self, end: &NodeEnd) -> Option<Over> {
        let streams = self.facts.streams;
        let (id, way, link, at) = (end.crossing.packet, end.crossing.way, end.link, end.meeting);
        if let Some(&send) = streams.elsewhere.get(&id) {
            return (way == Way::In).then_some(Over::OfAnother(send));
        }
        let (peer, is_in) = match way {
            Way::In => (link.0, true),
            Way::Out => (link.1, false),
            Way::Again | Way::Passing => return None,
        };
        let later = streams.meetings.later((id, at), link)?;
        let mut begun = later.filter_map(|later| self.own.met.get((peer, later)));
        if let Some(&began) = begun.next() {
            return is_in.then_some(Over::Since(began.0, began.1));
        }
        self.own.met.entry((peer, at), || (id, end.stamp.time));
        None
    }

    /// A packet comes of a connection that is over: nobody can say what becomes of it.
    pub(super) fn comes_late(&mut self, over: Over, packet: &Arrived<'_>, at: Stamp) {
        let straggler = Straggler {
            packet: packet.id,
            at,
            over,
        };
        self.own.history.stragglers.push(straggler);
        for message in packet.messages() {
            self.is_first_arrival(message);
            self.doubt_arrival(message, packet, at);
        }
    }
}
