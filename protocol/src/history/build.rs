//! From a session to its history.

use std::collections::BTreeMap;

use netreel_wire::MessageFacts;

use super::acks::Acks;
use super::join::Joins;
use super::nodes::{Facts, NodeHistory};
use super::streams::{Stream, Streams};
use super::{Belief, Finding, History, Span, finding, lanes, links};
use crate::session::{MessageId, NodeId, PacketId, Session, SessionTime};

impl History {
    /// Works out what followed from the packets of a session.
    pub fn build(session: &Session) -> History {
        let streams = Streams::new(session);
        let acks = Acks::new(session, &streams);
        let joins = Joins::new(session, &streams);
        let born = born(session, &joins);
        let facts = Facts {
            session,
            acks: &acks,
            streams: &streams,
            joins: &joins,
            born: &born,
        };
        let mut nodes: Vec<(NodeId, NodeHistory)> = Vec::new();
        for (place, node) in session.nodes.iter().enumerate() {
            let id = NodeId(place as u16);
            if node.recorded {
                nodes.push((id, facts.node(id, node)));
            }
        }
        let undelivered = undelivered(session, &streams, &nodes);
        let joined_of = joins.of_messages(session, &streams);
        let links = links::links(session, &acks.acked, |message| {
            streams.is_resend(MessageId(message))
        });
        let mut history = History {
            acked: acks.acked,
            resends: streams.resends,
            links,
            joined: joins.joined,
            joined_of,
            undelivered,
            ..History::default()
        };
        lanes::merge(session, nodes, &mut history);
        let places = (0u32..).zip(&history.deliveries);
        history.delivered = places
            .map(|(place, delivery)| (delivery.message, place))
            .collect();
        history.delivered.sort_unstable();
        lanes::orphan(session, &mut history);
        history.findings = finding::all(session, &history);
        history.proofs = proofs(&history.findings);
        history
    }

    /// What the wire says of a message; of a fragment, what it says of the whole, once all of it
    /// was sent.
    pub fn facts<'a>(
        &'a self,
        session: &'a Session,
        message: MessageId,
    ) -> Option<&'a MessageFacts> {
        match self.joined_of.get(&message) {
            Some(&whole) => self.joined.get(whole as usize).map(|joined| &joined.facts),
            None => session.message(message).map(|message| &message.facts),
        }
    }

    /// The deliveries of a message: places in [`History::deliveries`].
    pub fn deliveries_of(&self, message: MessageId) -> impl Iterator<Item = &u32> {
        let start = self.delivered.partition_point(|&(each, _)| each < message);
        self.delivered
            .iter()
            .skip(start)
            .take_while(move |&&(each, _)| each == message)
            .map(|(_, place)| place)
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

    /// What a node believed of an object at a moment; `None` before it heard of it.
    pub fn belief_at(&self, object: u64, node: NodeId, time: SessionTime) -> Option<&Span> {
        let lane = self.objects.get(&object)?.lanes.get(&node)?;
        let after = lane.partition_point(|span| span.time.start <= time);
        lane.get(after.checked_sub(1)?)
    }

    /// What a node believed of an object when its reel ended.
    pub fn last_belief(&self, object: u64, node: NodeId) -> Option<Belief> {
        Some(self.objects.get(&object)?.lanes.get(&node)?.last()?.belief)
    }
}

/// See [`History::proofs`].
fn proofs(findings: &[Finding]) -> Vec<(PacketId, u32)> {
    let mut proofs: Vec<(PacketId, u32)> = (0u32..)
        .zip(findings)
        .flat_map(|(place, finding)| {
            let evidence = finding.evidence.iter();
            evidence.map(move |evidence| (evidence.packet, place))
        })
        .collect();
    proofs.sort_unstable();
    proofs.dedup();
    proofs
}

/// When each object was first spoken of: sent, or received where the send is not recorded.
fn born(session: &Session, joins: &Joins) -> BTreeMap<u64, SessionTime> {
    let mut born: BTreeMap<u64, SessionTime> = BTreeMap::new();
    let whole = joins.joined.iter().filter_map(|joined| {
        Some((
            &joined.facts,
            session.message(*joined.fragments.first()?)?.packet,
        ))
    });
    let plain = session
        .messages
        .iter()
        .map(|message| (&message.facts, message.packet));
    for (facts, packet) in whole.chain(plain) {
        let packet = session.packet(packet);
        let stamp = packet.and_then(|packet| packet.first());
        if let (Some(object), Some(stamp)) = (facts.object, stamp) {
            let first = born.entry(object).or_insert(stamp.time);
            *first = stamp.time.min(*first);
        }
    }
    born
}

/// See [`History::undelivered`]. What was sent to or by a node that left is not under way, unless
/// the receiver's reel ended before either of them knew: then it was when the reel ended.
fn undelivered(
    session: &Session,
    streams: &Streams,
    nodes: &[(NodeId, NodeHistory)],
) -> Vec<MessageId> {
    let history = |node: NodeId| {
        nodes
            .iter()
            .find(|(id, _)| *id == node)
            .map(|(_, each)| each)
    };
    let knew = |node: NodeId, (from, to): (NodeId, NodeId)| {
        let gone = history(node).map(|each| &each.gone);
        let end = session
            .nodes
            .get(usize::from(to.0))
            .map(|node| node.span.end);
        let peers = [from, to].map(|id| session.nodes.get(usize::from(id.0)));
        let mut peers = peers.into_iter().flatten().filter_map(|node| node.peer);
        peers.any(|peer| {
            let since = gone.and_then(|gone| gone.get(&peer));
            since.is_some_and(|&since| end.is_none_or(|end| since <= end))
        })
    };
    let mut undelivered = Vec::new();
    for (&key, stream) in &streams.links {
        let Stream { from, to, .. } = key;
        let Some(receiver) = history(to) else {
            continue;
        };
        if knew(from, (from, to)) || knew(to, (from, to)) {
            continue;
        }
        if streams.unordered.contains(&key) {
            if !receiver.is_blind {
                let missing = stream.values().filter(|id| !receiver.seen.contains(id));
                undelivered.extend(missing);
            }
            continue;
        }
        let missing = match receiver.waits_for.get(&key) {
            Some(&next) => stream.range(next..),
            None if receiver.is_blind => continue,
            None => stream.range(..),
        };
        undelivered.extend(missing.map(|(_, &message)| message));
    }
    undelivered.sort_unstable();
    undelivered
}
