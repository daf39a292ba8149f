//! What of a session whose reels grow stays as it is at the next look.

use std::sync::Arc;

use netreel_reel::{EventNumber, Time};

use crate::session::{MessageId, NodeId, Packet, PacketId, Session};

/// What of a reel that grows was read, and the wire asked about, once and for all.
#[derive(Clone, Debug)]
pub(crate) struct Firm {
    /// The same one as long as nothing of the reel was read anew.
    pub since: Arc<()>,
    /// The first event that may be read anew.
    pub until: EventNumber,
    /// When the last one before it was.
    pub last: Time,
}

/// The first packets of reels that grow: they are the same ones at the next look, with the same
/// numbers, times and messages. What became of one that nobody is known to have received may show
/// later.
#[derive(Clone, Debug)]
pub struct Same {
    /// The same one as long as the packets are the same ones.
    pub(crate) since: Arc<()>,
    /// How many there are.
    pub(crate) packets: u32,
}

impl Same {
    /// How many there are.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Whether they are among the first packets of a later look, which are these.
    pub fn goes_on_in(&self, later: &Same) -> bool {
        Arc::ptr_eq(&self.since, &later.since) && self.packets <= later.packets
    }
}

impl Firm {
    /// Whether what is firm by now is this, and perhaps more.
    pub fn goes_on_in(&self, now: &Firm) -> bool {
        Arc::ptr_eq(&self.since, &now.since)
    }
}

impl Session {
    /// The packets that are the same ones at the next look, as long as none is told anew; `None` of
    /// reels that were read at once, or of which no packet stays.
    pub fn same(&self) -> Option<&Same> {
        self.same.as_ref()
    }

    /// The first event of a node that may be read anew; `None` where it was not recorded.
    pub(crate) fn firm_until(&self, node: NodeId) -> Option<EventNumber> {
        Some(self.firm.get(self.track(node)?)?.until)
    }

    /// Whether an event of a node is read for good. What somebody else tells of a node that was not
    /// recorded is.
    pub(crate) fn is_firm(&self, node: NodeId, number: EventNumber) -> bool {
        self.firm_until(node).is_none_or(|until| number < until)
    }

    /// How many of the first packets of an earlier look are the same ones here: from whom to whom, when,
    /// how long. What became of them may be known by now.
    pub fn in_common(&self, earlier: &Session) -> u32 {
        let names = self.nodes.iter().map(|it| &it.name);
        let is_same = names.eq(earlier.nodes.iter().map(|it| &it.name));
        if !is_same || self.start_utc_ns != earlier.start_utc_ns {
            return 0;
        }
        let kept = earlier
            .same()
            .zip(self.same())
            .filter(|(before, now)| before.goes_on_in(now));
        let known = kept.map_or(0, |(before, _)| before.packets);
        let of = |session: &Session, packet: PacketId| {
            let packet = session.packet(packet)?;
            Some((packet.from, packet.to, packet.first()?, packet.length))
        };
        let most = earlier.rows.len().min(self.rows.len()) as u32;
        let mut rest = (known..most).map(PacketId);
        let other = rest.find(|&packet| of(self, packet) != of(earlier, packet));
        other.map_or(most, |other| other.0)
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
