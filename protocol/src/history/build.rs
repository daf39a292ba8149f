//! From a session to its history.

use std::collections::BTreeMap;

use netreel_system::Cancel;
use netreel_wire::MessageFacts;

use super::delivered::Delivered;
use super::derive::derive;
use super::finding::LOSS_PATTERN;
use super::found::proofs;
use super::streams::Streams;
use super::{Belief, Finding, History, Joined, Link, Object, Span, kept, links};
use crate::session::{MessageId, NodeId, PacketId, Session, SessionTime, Stamp};

impl History {
    /// Works out what followed from the packets of a session, or takes it from the session's index,
    /// where it was kept.
    pub fn build(session: &Session) -> History {
        History::while_wanted(session, &Cancel::default()).unwrap_or_default()
    }

    /// The same, as long as it is wanted; `None` where it no longer is.
    pub fn while_wanted(session: &Session, cancel: &Cancel) -> Option<History> {
        // What an index keeps was judged by the bounds that hold without a file.
        let kept = session
            .kept_history()
            .filter(|_| session.bounds.is_default());
        if let Some(kept) = kept.and_then(kept::take) {
            return Some(kept);
        }
        derive(session, Streams::while_wanted(session, cancel)?, cancel)
    }

    /// What the wire says of a message; of a fragment, what it says of the whole, once all of it
    /// was sent.
    pub fn facts(&self, session: &Session, message: MessageId) -> Option<MessageFacts> {
        match self.joined_of.get(&message) {
            Some(&whole) => self
                .joined
                .get(whole as usize)
                .map(|it| (*it.facts).clone()),
            None => session.message(message).map(|message| message.facts),
        }
    }

    /// When a packet's sender learnt that it had arrived; of a sender that was not recorded, when
    /// the word of it was seen on its way there.
    pub fn acked(&self, session: &Session, packet: PacketId) -> Option<Stamp> {
        let receipt = self.acked.get_some(packet.0 as usize)?;
        let (sender, _) = session.link(packet)?;
        session.receipt_stamp(sender, receipt as u32)
    }

    /// When the sender of a message learnt from an ack that names the message that it had arrived; ask
    /// by the copy that was sent first.
    pub(crate) fn named(&self, session: &Session, first: MessageId) -> Option<Stamp> {
        let place = self.named.partition_point(|&(each, _)| each < first);
        let &(_, receipt) = self.named.get(place).filter(|&&(each, _)| each == first)?;
        let (sender, _) = session.link(session.carrier(first)?)?;
        session.receipt_stamp(sender, receipt)
    }

    /// When the sender of a copy of a message (`first`: the copy that was sent first) learnt that the
    /// message had arrived: an ack named it, or the packet that carried the copy. An ack that names
    /// another message of that packet tells its sender nothing of this one.
    pub(crate) fn heard_of(
        &self,
        session: &Session,
        first: MessageId,
        packet: PacketId,
    ) -> Option<Stamp> {
        let named = self.named(session, first);
        let of_packet = self.acked(session, packet).filter(|at| {
            let sender = session.link(packet).map(|(sender, _)| sender);
            let ack = sender.and_then(|sender| session.packet_at(sender, at.number));
            let said = ack.and_then(|ack| session.said(ack.packet));
            said.is_some_and(|said| said.ack.is_some() || !said.ack_ranges.is_empty())
        });
        let both = named.into_iter().chain(of_packet);
        both.min_by_key(|at| (at.time, at.number))
    }

    /// The packets of which their senders learnt that they had arrived, in order.
    pub(crate) fn acked_packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        let acked = (0u32..).zip(self.acked.iter());
        acked
            .filter(|&(_, end)| end != 0)
            .map(|(id, _)| PacketId(id))
    }

    /// Whether the ack of a packet may mean an earlier copy of what it carried.
    pub fn is_ambiguous(&self, packet: PacketId) -> bool {
        self.ambiguous.binary_search(&packet).is_ok()
    }

    /// The earlier message that a message repeats (same link, same place in the stream).
    pub fn resend_of(&self, message: MessageId) -> Option<MessageId> {
        let place = self.resends.partition_point(|&(copy, _)| copy < message);
        let found = self.resends.get(place);
        found
            .filter(|(copy, _)| *copy == message)
            .map(|&(_, first)| first)
    }

    /// The messages that repeat an earlier one, in order, each with that one.
    pub fn resends(&self) -> impl Iterator<Item = (MessageId, MessageId)> + '_ {
        self.resends.iter().copied()
    }

    /// The messages that repeat one, in the order in which they were sent.
    pub fn copies_of(&self, first: MessageId) -> impl Iterator<Item = MessageId> + '_ {
        let start = self.copies.partition_point(|&(each, _)| each < first);
        let copies = self
            .copies
            .iter()
            .skip(start)
            .take_while(move |&&(each, _)| each == first);
        copies.map(|&(_, copy)| copy)
    }

    /// The copy that was sent before a message that repeats an earlier one.
    pub fn copy_before(&self, message: MessageId) -> Option<MessageId> {
        let first = self.resend_of(message)?;
        let place = self.copies.partition_point(|&it| it < (first, message));
        let before = place
            .checked_sub(1)
            .and_then(|at| self.copies.get(at))
            .filter(|&&(each, _)| each == first);
        Some(before.map_or(first, |&(_, copy)| copy))
    }

    /// What each link did, for each ordered pair of nodes that sent packets. Worked out when it is
    /// first asked for.
    pub fn links(&self, session: &Session) -> &BTreeMap<(NodeId, NodeId), Link> {
        self.links.get_or_init(|| links::links(session, self))
    }

    /// How many bytes of memory its rows take, by what they are for.
    pub fn memory(&self) -> Vec<(&'static str, usize)> {
        let objects = self.objects.values();
        let told = |object: &Object| {
            let spans = object
                .lanes
                .values()
                .map(|lane| size_of::<Span>() * lane.capacity());
            size_of::<u32>() * object.deliveries.capacity() + spans.sum::<usize>()
        };
        vec![
            (
                "acked",
                self.acked.memory() + self.named.capacity() * size_of::<(MessageId, u32)>(),
            ),
            (
                "resends",
                (self.resends.capacity() + self.copies.capacity())
                    * size_of::<(MessageId, MessageId)>(),
            ),
            ("deliveries", self.deliveries.memory()),
            ("objects", objects.map(told).sum()),
        ]
    }

    /// The bytes of a message that travelled in fragments.
    pub fn payload(&self, session: &Session, joined: &Joined) -> Vec<u8> {
        super::wholes::carried(session, &joined.fragments)
    }

    /// The deliveries of a message: places in [`History::deliveries`], in order.
    pub fn deliveries_of(&self, message: MessageId) -> impl Iterator<Item = u32> + '_ {
        let index = self
            .delivered
            .get_or_init(|| Delivered::new(&self.deliveries));
        index.of(message)
    }

    /// The findings that a packet is evidence of, in their order.
    pub fn findings_of(&self, packet: PacketId) -> impl Iterator<Item = &Finding> {
        let start = self.proofs.partition_point(|&(each, _)| each < packet);
        self.proofs
            .iter()
            .skip(start)
            .take_while(move |&&(each, _)| each == packet)
            .filter_map(|&(_, place)| self.findings.get(place as usize))
    }

    /// The number by which people call the finding at a place: from 1, in the order of all findings.
    pub fn finding_number(&self, place: usize) -> u32 {
        let known = self.numbers.as_ref().and_then(|numbers| numbers.get(place));
        known.copied().unwrap_or(place as u32 + 1)
    }

    /// Forgets the findings that do not fit. The others keep their numbers.
    pub fn keep_findings(&mut self, fits: impl FnMut(&Finding) -> bool) {
        let kept: Vec<bool> = self.findings.iter().map(fits).collect();
        let places = (0..kept.len()).filter(|&place| kept[place]);
        let numbers: Vec<u32> = places.map(|place| self.finding_number(place)).collect();
        let mut kept = kept.into_iter();
        self.findings.retain(|_| kept.next().unwrap_or(false));
        self.numbers = Some(numbers);
        self.fixed = vec![None; self.findings.len()];
        self.proofs = proofs(&self.findings);
    }

    /// Adds findings of other rules behind those that there are.
    pub fn add_findings(&mut self, more: Vec<Finding>) {
        if let Some(numbers) = &mut self.numbers {
            let next = numbers.iter().max().map_or(1, |last| last + 1);
            numbers.extend((next..).take(more.len()));
        }
        self.findings.extend(more);
        self.fixed.resize(self.findings.len(), None);
        self.proofs = proofs(&self.findings);
    }

    /// The findings that say what the losses of links follow, where that is not chance alone.
    pub fn loss_patterns(&self) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.rule == LOSS_PATTERN)
    }

    /// The deliveries about an object that rules ask for: places in [`History::deliveries`], in order.
    pub(super) fn telling(&self, object: u64) -> &[u32] {
        self.telling.get(&object).map_or(&[], Vec::as_slice)
    }

    /// What a node believed of an object at a moment; `None` before it heard of it.
    pub fn belief_at(&self, object: u64, node: NodeId, time: SessionTime) -> Option<&Span> {
        let lane = self.objects.get(&object)?.lanes.get(&node)?;
        let after = lane.partition_point(|span| span.time.start <= time);
        lane.get(after.checked_sub(1)?)
    }

    /// Whether an object lived at a node when its reel ended.
    pub(crate) fn lives_at_end(&self, object: u64, node: NodeId) -> bool {
        let last = self.last_belief(object, node);
        matches!(last, Some(Belief::Owned(_) | Belief::Orphaned(_)))
    }

    /// What a node believed of an object when its reel ended.
    pub fn last_belief(&self, object: u64, node: NodeId) -> Option<Belief> {
        Some(self.objects.get(&object)?.lanes.get(&node)?.last()?.belief)
    }
}
