//! A history of the first packets alone: what is told of them at one look at reels that grow holds at a
//! later one too, where packets that came since may have taken the numbers of the others.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::History;
use crate::session::{MessageId, PacketId, Session};

impl History {
    /// What of the history of `session` is about packets before this one alone, and about events that
    /// are read for good: acks of them, what nodes were handed until the first of them was handed
    /// something else, what they believed from that, and the findings that nothing else proves. These keep
    /// their numbers.
    #[must_use]
    pub fn before(mut self, session: &Session, packet: PacketId) -> History {
        let message = session.first_message(packet);
        let is_before = |each: &MessageId| *each < message;
        self.forget_acks(session, packet);
        self.ambiguous.retain(|each| *each < packet);
        let both = |(one, other): &(MessageId, MessageId)| is_before(one) && is_before(other);
        self.resends.retain(both);
        self.copies.retain(both);
        let handed = self.deliveries.first_that(|node, number, message| {
            is_before(&message) && session.is_firm(node, number)
        });
        self.deliveries.truncate(handed);
        self.keep_objects(handed as u32);
        self.keep_joined(is_before);
        self.undelivered.retain(is_before);
        self.partings
            .retain(|parting| (parting.delivery as usize) < handed);
        self.parting_messages.retain(is_before);
        self.keep_findings(|finding| {
            let mut evidence = finding.proof();
            evidence.all(|it| it.packet < packet && session.is_firm(it.node, it.number))
        });
        self.standing.clear();
        self.unknown_values = None;
        self.delivered = OnceLock::new();
        self.links = OnceLock::new();
        self
    }

    /// Forgets acks of this packet and those after it, and acks that were heard by what may be read anew.
    fn forget_acks(&mut self, session: &Session, packet: PacketId) {
        let is_firm = |packet: PacketId, receipt: u64| {
            let receipt = receipt.checked_sub(1)?;
            let (sender, _) = session.link(packet)?;
            let stamp = session.receipt_stamp(sender, receipt as u32)?;
            Some(session.is_firm(sender, stamp.number))
        };
        let acked = (0..packet.0).map(PacketId).zip(self.acked.iter());
        let kept = acked.map(|(packet, receipt)| match is_firm(packet, receipt) {
            Some(false) => 0,
            _ => receipt,
        });
        self.acked = kept.collect();
    }

    /// What nodes believed because of the first deliveries.
    fn keep_objects(&mut self, deliveries: u32) {
        let is_before = |place: &u32| *place < deliveries;
        self.objects.retain(|_, object| {
            object.deliveries.retain(is_before);
            for lanes in [&mut object.lanes, &mut object.by_rules] {
                lanes.retain(|_, lane| {
                    lane.retain(|span| is_before(&span.because));
                    !lane.is_empty()
                });
            }
            !object.deliveries.is_empty() || !object.lanes.is_empty()
        });
        self.telling.retain(|_, places| {
            places.retain(is_before);
            !places.is_empty()
        });
    }

    /// The messages whose fragments all are such.
    fn keep_joined(&mut self, is_before: impl Fn(&MessageId) -> bool) {
        let mut places = BTreeMap::new();
        let joined = std::mem::take(&mut self.joined);
        for (place, joined) in (0u32..).zip(joined) {
            if joined.fragments.iter().all(&is_before) {
                places.insert(place, self.joined.len() as u32);
                self.joined.push(joined);
            }
        }
        let parts = std::mem::take(&mut self.joined_of)
            .into_iter()
            .filter(|(message, _)| is_before(message))
            .filter_map(|(message, place)| Some((message, *places.get(&place)?)));
        self.joined_of = parts.collect();
    }
}
