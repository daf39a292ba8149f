//! One node's history: what its engine was handed, in which order, and what it made of it.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::ops::Range;
use std::slice::Iter;

use netreel_reel::EventNumber;
use netreel_wire::{MessageFacts, Role, Rules};

use super::acks::Acks;
use super::acts::{Act, acts};
use super::belief::{Believer, Speaker};
use super::join::Joins;
use super::streams::Streams;
use super::{Belief, Delivery, Effect, Span};
use crate::session::{
    Hole, MessageId, Node, NodeId, Packet, PacketId, Session, SessionTime, Stamp, Way,
};

/// What the packets of all nodes say together.
pub(super) struct Facts<'a> {
    pub session: &'a Session,
    pub acks: &'a Acks,
    pub streams: &'a Streams,
    pub joins: &'a Joins,
}

/// The history of one node.
#[derive(Default)]
pub(super) struct NodeHistory {
    /// In the order of the node's events.
    pub deliveries: Vec<Delivery>,
    /// Per object, spans whose `because` is a place in [`NodeHistory::deliveries`].
    pub lanes: BTreeMap<u64, Vec<Span>>,
    /// For each sender the place in its stream that the engine waits for at the end.
    pub waits_for: BTreeMap<NodeId, i64>,
    /// The senders of whose stream nothing came after a hole.
    pub lost_track: Vec<NodeId>,
    /// The peers that left or were dropped, as far as the node knows; itself, once it has left.
    pub gone: BTreeSet<u64>,
}

impl Facts<'_> {
    /// Goes through a node's sends and receipts.
    pub fn node(&self, id: NodeId, node: &Node) -> NodeHistory {
        let mut walk = Walk {
            facts: self,
            id,
            node,
            rules: self.rules(node),
            inboxes: BTreeMap::new(),
            objects: BTreeMap::new(),
            gone: BTreeSet::new(),
            history: NodeHistory::default(),
        };
        let acts = acts(self, id, node);
        let mut acts = acts.iter().peekable();
        let mut holes = node.holes.iter().peekable();
        for (crossing, stamp) in self.session.crossings(id) {
            if crossing.way != Way::In {
                continue;
            }
            while let Some(act) = acts.next_if(|act| act.at.number < crossing.number) {
                walk.holes_before(&mut holes, act.at.number);
                walk.did(act);
            }
            walk.holes_before(&mut holes, crossing.number);
            if let Some(packet) = self.session.packet(crossing.packet) {
                walk.received(crossing.packet, packet, stamp);
            }
        }
        for act in acts {
            walk.holes_before(&mut holes, act.at.number);
            walk.did(act);
        }
        for hole in holes {
            walk.hole(hole.time.start);
        }
        walk.finish()
    }

    /// The rules that a node goes by; one that never said gets what the others say.
    fn rules(&self, node: &Node) -> Option<&Rules> {
        let said = node
            .rules
            .or_else(|| self.session.nodes.iter().find_map(|other| other.rules));
        self.session
            .wire
            .as_ref()?
            .rules()
            .get(usize::from(said?.0))
    }

    fn peer(&self, node: NodeId) -> Option<u64> {
        self.session
            .nodes
            .get(usize::from(node.0))
            .and_then(|node| node.peer)
    }
}

/// A walk along one node's events.
struct Walk<'a> {
    facts: &'a Facts<'a>,
    id: NodeId,
    node: &'a Node,
    rules: Option<&'a Rules>,
    inboxes: BTreeMap<NodeId, Inbox>,
    objects: BTreeMap<u64, Believer>,
    /// The peers that left or were dropped; the node itself, once it has left.
    gone: BTreeSet<u64>,
    history: NodeHistory,
}

/// What has arrived of one sender's stream.
#[derive(Default)]
struct Inbox {
    /// The place that is delivered next; `None` after a hole, until something arrives.
    next: Option<i64>,
    /// Arrived, but behind a gap.
    waiting: BTreeMap<i64, MessageId>,
}

impl Walk<'_> {
    /// The node did something itself.
    fn did(&mut self, act: &Act<'_>) {
        let peer = self.node.peer;
        if act.role == Role::Disconnect {
            self.gone.extend(act.facts.origin.or(peer));
            return;
        }
        let speaker = Speaker {
            from: self.id,
            peer,
            place: None,
        };
        self.deliver(act.message, act.facts, act.role, speaker, act.at, true);
    }

    fn received(&mut self, id: PacketId, packet: &Packet, stamp: Stamp) {
        for message in ids(&packet.messages) {
            if self.is_deaf_to(packet.from) {
                return;
            }
            let Some(place) = self.facts.streams.place(message) else {
                self.hand_over(message, Some(id), packet.from, stamp);
                continue;
            };
            let first = self.first_place(packet.from);
            let inbox = self.inboxes.entry(packet.from).or_insert_with(|| Inbox {
                next: first,
                waiting: BTreeMap::new(),
            });
            let next = *inbox.next.get_or_insert(place);
            if place >= next {
                inbox.waiting.entry(place).or_insert(message);
            }
            while let Some(inbox) = self.inboxes.get_mut(&packet.from) {
                let Some(next) = inbox.next else { break };
                let Some(message) = inbox.waiting.remove(&next) else {
                    break;
                };
                inbox.next = Some(next + 1);
                self.hand_over(message, None, packet.from, stamp);
                if self.is_deaf_to(packet.from) {
                    return;
                }
            }
        }
    }

    /// Whether a message from this node reaches nobody any more.
    fn is_deaf_to(&self, from: NodeId) -> bool {
        let is_gone = |peer: Option<u64>| peer.is_some_and(|peer| self.gone.contains(&peer));
        !self.gone.is_empty() && (is_gone(self.node.peer) || is_gone(self.facts.peer(from)))
    }

    /// Where the stream of a sender begins, as far as anybody recorded it.
    fn first_place(&self, from: NodeId) -> Option<i64> {
        let stream = self.facts.streams.links.get(&(from, self.id))?;
        stream.first_key_value().map(|(&place, _)| place)
    }

    /// A message reaches the engine.
    fn hand_over(
        &mut self,
        message: MessageId,
        packet: Option<PacketId>,
        from: NodeId,
        stamp: Stamp,
    ) {
        let Some(known) = self.facts.session.message(message) else {
            return;
        };
        let carrier = packet.unwrap_or(known.packet);
        let part = self
            .facts
            .session
            .packet(carrier)
            .and_then(|each| self.part(each, message));
        let facts = match part {
            Some(part) if part.is_last => match self.whole(part.whole) {
                Some(whole) => whole,
                None => return,
            },
            Some(_) => return,
            None => &known.facts,
        };
        let role = self.facts.session.role(facts);
        let place = self
            .facts
            .acks
            .places
            .get(carrier.0 as usize)
            .copied()
            .flatten();
        let peer = facts.origin.or_else(|| self.facts.peer(from));
        if role == Role::Disconnect {
            self.gone.extend(peer);
        }
        self.deliver(
            message,
            facts,
            role,
            Speaker { from, peer, place },
            stamp,
            false,
        );
    }

    fn deliver(
        &mut self,
        message: MessageId,
        facts: &MessageFacts,
        role: Role,
        speaker: Speaker,
        at: Stamp,
        local: bool,
    ) {
        let because = self.history.deliveries.len() as u32;
        let effect = match facts.object.filter(|_| is_about_object(role)) {
            None => Effect::Plain,
            Some(object) => {
                let believer = self.objects.entry(object).or_default();
                let effect = believer.take(role, facts, self.rules, speaker);
                let (belief, counter) = (believer.belief(), believer.counter());
                self.believe(object, belief, counter, at.time, because);
                effect
            }
        };
        self.history.deliveries.push(Delivery {
            node: self.id,
            at,
            message,
            local,
            effect,
        });
    }

    /// Begins a span where a belief changed.
    fn believe(
        &mut self,
        object: u64,
        belief: Option<Belief>,
        counter: Option<u64>,
        time: SessionTime,
        because: u32,
    ) {
        let Some(belief) = belief else { return };
        let lane = self.history.lanes.entry(object).or_default();
        if let Some(last) = lane.last_mut() {
            if (last.belief, last.counter) == (belief, counter) {
                return;
            }
            last.time.end = time;
        }
        let end = self.node.span.end.max(time);
        lane.push(Span {
            time: time..end,
            belief,
            counter,
            because,
        });
    }

    /// The holes that lie before an event.
    fn holes_before(&mut self, holes: &mut Peekable<Iter<'_, Hole>>, number: EventNumber) {
        while let Some(hole) = holes.next_if(|hole| hole.before <= number) {
            self.hole(hole.time.start);
        }
    }

    /// The reel lacks what came here: what was waited for may have arrived, and anything may have
    /// happened to any object.
    fn hole(&mut self, time: SessionTime) {
        for inbox in self.inboxes.values_mut() {
            inbox.next = None;
            inbox.waiting.clear();
        }
        let objects: Vec<u64> = self.objects.keys().copied().collect();
        for object in objects {
            let Some(believer) = self.objects.get_mut(&object) else {
                continue;
            };
            believer.forget();
            let (belief, counter) = (believer.belief(), believer.counter());
            let lane = self.history.lanes.get(&object);
            if let Some(because) = lane.and_then(|lane| lane.last()).map(|span| span.because) {
                self.believe(object, belief, counter, time, because);
            }
        }
    }

    fn finish(mut self) -> NodeHistory {
        for (&from, inbox) in &self.inboxes {
            match inbox.next {
                Some(next) => drop(self.history.waits_for.insert(from, next)),
                None => self.history.lost_track.push(from),
            }
        }
        self.history.gone = self.gone;
        self.history
    }

    fn part(&self, packet: &Packet, message: MessageId) -> Option<super::join::Part> {
        let place = self.facts.streams.place(message)?;
        self.facts.joins.part((packet.from, packet.to), place)
    }
}

impl<'a> Walk<'a> {
    fn whole(&self, place: u32) -> Option<&'a MessageFacts> {
        self.facts
            .joins
            .joined
            .get(place as usize)
            .map(|joined| &joined.facts)
    }
}

/// Whether messages of this role change what a node believes of an object.
pub(super) fn is_about_object(role: Role) -> bool {
    matches!(
        role,
        Role::Create | Role::Update | Role::Destroy | Role::Migrate | Role::MigrateOrder
    )
}

fn ids(messages: &Range<u32>) -> impl Iterator<Item = MessageId> + use<> {
    messages.clone().map(MessageId)
}
