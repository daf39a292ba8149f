//! One node's history: what its engine was handed, in which order, and what it made of it.

use std::collections::{BTreeMap, VecDeque};
use std::iter::Peekable;
use std::slice::Iter;

use netreel_reel::EventNumber;
use netreel_table::Column;
use netreel_wire::{MessageFacts, Role, Rules};

use super::acts::{Act, acts};
use super::belief::{Believer, Speaker};
use super::bits::Bits;
use super::delivered::Deliveries;
use super::join::{Joins, Part};
use super::streams::{Sent, Stream, Streams, Turn};
use super::{Belief, Delivery, Effect, Parting, Span};
use crate::session::{Hole, MessageId, Node, NodeId, PacketId, Session, SessionTime, Stamp, Way};

/// For so long after a hole, what is sent may be a repetition of what was sent in the hole.
const DOUBT_NS: i64 = 1_000_000_000;

/// What the packets of all nodes say together.
pub(super) struct Facts<'a> {
    pub session: &'a Session,
    pub streams: &'a Streams,
    pub joins: &'a Joins,
}

/// The history of one node.
#[derive(Default)]
pub(super) struct NodeHistory {
    /// In the order of the node's events.
    pub deliveries: Deliveries,
    /// For each delivery the object that it is about.
    pub about: Column,
    /// The type of each object, and the delivery that first told it.
    pub types: BTreeMap<u64, (u32, u64)>,
    /// Deliveries that say that somebody leaves.
    pub partings: Vec<Parting>,
    /// Per object, spans whose `because` is a place in [`NodeHistory::deliveries`].
    pub lanes: BTreeMap<u64, Vec<Span>>,
    /// For each stream the place that the engine waits for at the end.
    pub waits_for: BTreeMap<Stream, i64>,
    /// Of streams whose numbers say nothing of the order, the messages that arrived; by the copy
    /// that was sent first.
    pub seen: Bits,
    /// Whether the node's reel has a hole.
    pub is_blind: bool,
    /// The peers that left or were dropped, as far as the node knows, and since when it knows;
    /// itself, once it has left.
    pub gone: BTreeMap<u64, SessionTime>,
}

impl Facts<'_> {
    /// Goes through a node's sends and receipts.
    pub fn node(&self, id: NodeId, node: &Node) -> NodeHistory {
        let mut walk = Walk {
            facts: self,
            id,
            node,
            rules: rules_of(self.session, node),
            inboxes: BTreeMap::new(),
            arrived: BTreeMap::new(),
            objects: BTreeMap::new(),
            gone: BTreeMap::new(),
            blind_until: None,
            history: NodeHistory::default(),
        };
        let acts = acts(self, id, node);
        let mut acts = acts.iter().peekable();
        let mut answers: VecDeque<&Act> = VecDeque::new();
        let mut holes = node.holes.iter().peekable();
        let mut packet = Vec::new();
        for (_, crossing, stamp) in self.session.ends(id) {
            if crossing.way != Way::In {
                continue;
            }
            while let Some(act) = acts.next_if(|act| act.at.number < crossing.number) {
                walk.holes_before(&mut holes, act.at.number);
                if walk.is_answer(act) && act.sent.number > crossing.number {
                    answers.push_back(act);
                } else {
                    walk.did(act, act.at);
                }
            }
            while let Some(act) = answers.pop_front_if(|act| act.sent.number < crossing.number) {
                walk.did(act, act.sent);
            }
            walk.holes_before(&mut holes, crossing.number);
            if let Some(link) = self.session.link(crossing.packet) {
                packet.clear();
                packet.extend(self.session.messages_of(crossing.packet));
                walk.received(crossing.packet, link, &packet, stamp);
            }
        }
        for act in answers {
            walk.did(act, act.sent);
        }
        for act in acts {
            walk.holes_before(&mut holes, act.at.number);
            walk.did(act, act.at);
        }
        for hole in holes {
            walk.hole(hole);
        }
        walk.finish()
    }

    fn peer(&self, node: NodeId) -> Option<u64> {
        self.session
            .nodes
            .get(usize::from(node.0))
            .and_then(|node| node.peer)
    }
}

/// The rules that a node goes by; one that never said gets what the others say.
pub(crate) fn rules_of<'a>(session: &'a Session, node: &Node) -> Option<&'a Rules> {
    let said = node
        .rules
        .or_else(|| session.nodes.iter().find_map(|other| other.rules));
    session.wire.as_ref()?.rules().get(usize::from(said?.0))
}

/// A walk along one node's events.
struct Walk<'a> {
    facts: &'a Facts<'a>,
    id: NodeId,
    node: &'a Node,
    rules: Option<&'a Rules>,
    inboxes: BTreeMap<Stream, Inbox>,
    /// For each whole whose fragments may come in any order, how many have arrived.
    arrived: BTreeMap<u32, usize>,
    objects: BTreeMap<u64, Believer>,
    /// The peers that left or were dropped; the node itself, once it has left.
    gone: BTreeMap<u64, SessionTime>,
    /// Until when what happened may have happened in a hole.
    blind_until: Option<SessionTime>,
    history: NodeHistory,
}

/// What has arrived of one sender's stream.
struct Inbox {
    /// What lies before this was delivered before the last hole.
    floor: i64,
    /// The place that is delivered next. What lies between may have been delivered in a hole.
    next: i64,
    /// How many messages of that place were delivered.
    taken: usize,
    /// Arrived, but behind a gap.
    waiting: BTreeMap<i64, Vec<MessageId>>,
}

impl Walk<'_> {
    /// A node that does not own an object says DESTROY only in answer to what arrived.
    fn is_answer(&self, act: &Act) -> bool {
        let belief = act
            .facts
            .object
            .and_then(|object| self.objects.get(&object)?.belief());
        act.role == Role::Destroy && belief != self.node.peer.map(Belief::Owned)
    }

    /// The node did something itself.
    fn did(&mut self, act: &Act, at: Stamp) {
        let peer = self.node.peer;
        if act.role == Role::Disconnect {
            self.parts_from(act.facts.origin.or(peer), at);
            return;
        }
        if self.blind_until.is_some_and(|until| at.time <= until) {
            // What it tells again after a hole it may have told, and undone, in the hole.
            return self.doubt(act.message, &act.facts, act.role, at, true);
        }
        let speaker = Speaker {
            from: self.id,
            peer,
            place: None,
        };
        self.deliver(act.message, &act.facts, act.role, speaker, at, true);
    }

    fn received(
        &mut self,
        id: PacketId,
        link: (NodeId, NodeId),
        messages: &[(MessageId, MessageFacts)],
        stamp: Stamp,
    ) {
        for (message, facts) in messages {
            if self.is_deaf_to(link.0) {
                return;
            }
            let message = *message;
            let sent = Sent {
                link,
                message,
                facts,
            };
            let (stream, place) = match self.facts.streams.turn(self.facts.session, sent) {
                Turn::Now => {
                    self.hand_over(sent, id, stamp);
                    continue;
                }
                Turn::Once => {
                    if self.is_first_arrival(message) {
                        self.hand_over(sent, id, stamp);
                    }
                    continue;
                }
                Turn::InOrder(stream, place) => (stream, place),
            };
            if stream.ordered && !self.is_first_arrival(message) {
                continue;
            }
            if !self.inboxes.contains_key(&stream) {
                let (floor, next) = (i64::MIN, self.first_place(stream, i64::MIN));
                self.inboxes.insert(stream, Inbox::new(floor, next));
            }
            let Some(inbox) = self.inboxes.get_mut(&stream) else {
                continue;
            };
            if place >= inbox.next {
                let waiting = inbox.waiting.entry(place).or_default();
                if stream.ordered || waiting.is_empty() {
                    waiting.push(message);
                }
            } else if stream.ordered {
                // A sequenced message has the number of an ordered one.
                self.hand_over(sent, id, stamp);
            } else if place >= inbox.floor && self.blind_until.is_some() {
                self.doubt_arrival(message, facts, stamp);
            }
            self.empty_inbox(stream, (id, messages), stamp);
        }
    }

    /// Hands over what no longer waits.
    fn empty_inbox(
        &mut self,
        stream: Stream,
        latest: (PacketId, &[(MessageId, MessageFacts)]),
        stamp: Stamp,
    ) {
        while let Some(inbox) = self.inboxes.get_mut(&stream) {
            let Some(messages) = inbox.waiting.remove(&inbox.next) else {
                break;
            };
            inbox.taken += messages.len();
            if inbox.taken >= self.facts.streams.count_at(stream, inbox.next) {
                let after = inbox.next.saturating_add(1);
                let next = match stream.ordered {
                    true => self.facts.streams.next_place(stream, after, |_| true),
                    false => None,
                };
                inbox.next = next.unwrap_or(after);
                inbox.taken = 0;
            }
            for message in messages {
                self.hand_over_waiting(message, latest, stream.from, stamp);
                if self.is_deaf_to(stream.from) {
                    return;
                }
            }
        }
    }

    /// Whether no copy of a message has arrived before, where its place does not tell.
    fn is_first_arrival(&mut self, message: MessageId) -> bool {
        let first = self.facts.streams.first_copy(message);
        self.history.seen.insert(first.0)
    }

    /// A peer is no longer in the session.
    fn parts_from(&mut self, peer: Option<u64>, at: Stamp) {
        if let Some(peer) = peer {
            self.gone.entry(peer).or_insert(at.time);
        }
    }

    /// Whether a message from this node reaches nobody any more.
    fn is_deaf_to(&self, from: NodeId) -> bool {
        let is_gone = |peer: Option<u64>| peer.is_some_and(|peer| self.gone.contains_key(&peer));
        !self.gone.is_empty() && (is_gone(self.node.peer) || is_gone(self.facts.peer(from)))
    }

    /// Where a stream begins, as far as anybody recorded it; after a hole, the first place from
    /// `floor` on that cannot have been delivered in it.
    fn first_place(&self, stream: Stream, floor: i64) -> i64 {
        let session = self.facts.session;
        let sent_after_hole = |message: MessageId| {
            let Some(until) = self.blind_until else {
                return true;
            };
            let packet = session.carrier(message);
            let departed = packet.and_then(|packet| session.departed(packet));
            departed.is_some_and(|(is_sent, at)| is_sent && at.time > until)
        };
        let streams = self.facts.streams;
        let first = streams.next_place(stream, floor, sent_after_hole);
        first.unwrap_or(i64::MAX)
    }

    /// A message arrives that may have been delivered already, in a hole.
    fn doubt_arrival(&mut self, message: MessageId, known: &MessageFacts, at: Stamp) {
        let facts = match self.part(message) {
            Some(part) if part.is_last => self.whole(part.whole),
            Some(_) => None,
            None => Some(known),
        };
        if let Some(facts) = facts {
            self.doubt(message, facts, self.facts.session.role(facts), at, false);
        }
    }

    /// Nobody can say whether a message did anything.
    fn doubt(
        &mut self,
        message: MessageId,
        facts: &MessageFacts,
        role: Role,
        at: Stamp,
        local: bool,
    ) {
        let Some(object) = facts.object.filter(|_| is_about_object(role)) else {
            return;
        };
        let because = self.history.deliveries.len() as u32;
        let believer = self.objects.entry(object).or_default();
        believer.forget();
        let (belief, counter) = (believer.belief(), believer.counter());
        self.believe(object, belief, counter, at.time, because);
        let (node, effect) = (self.id, Effect::Unknown);
        let delivery = Delivery {
            node,
            at,
            message,
            local,
            effect,
        };
        self.note(&delivery, facts, role);
    }

    /// A message that waited reaches the engine. Most waited for nothing: they are of the packet
    /// that has just arrived.
    fn hand_over_waiting(
        &mut self,
        message: MessageId,
        (packet, latest): (PacketId, &[(MessageId, MessageFacts)]),
        from: NodeId,
        stamp: Stamp,
    ) {
        let link = (from, self.id);
        let place = latest.binary_search_by_key(&message, |(each, _)| *each);
        if let Some((_, facts)) = place.ok().and_then(|place| latest.get(place)) {
            let sent = Sent {
                link,
                message,
                facts,
            };
            self.hand_over(sent, packet, stamp);
        } else if let Some(earlier) = self.facts.session.message(message) {
            let sent = Sent {
                link,
                message,
                facts: &earlier.facts,
            };
            self.hand_over(sent, earlier.packet, stamp);
        }
    }

    /// A message reaches the engine.
    fn hand_over(&mut self, sent: Sent<'_>, carrier: PacketId, stamp: Stamp) {
        let message = sent.message;
        let facts = match self.part(message) {
            Some(part) if self.completes(part) => match self.whole(part.whole) {
                Some(whole) => whole,
                None => return,
            },
            Some(_) => return,
            None => sent.facts,
        };
        let role = self.facts.session.role(facts);
        let place = self.facts.streams.packet_place(carrier);
        let from = sent.link.0;
        let peer = facts.origin.or_else(|| self.facts.peer(from));
        if role == Role::Disconnect {
            self.parts_from(peer, stamp);
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
                let born = self.facts.streams.born.get(&object);
                let is_older = |until| born.is_none_or(|&at| at <= until);
                let unseen = self.blind_until.is_some_and(is_older);
                let believer = self.objects.entry(object).or_insert_with(|| {
                    let mut believer = Believer::default();
                    if unseen {
                        believer.forget();
                    }
                    believer
                });
                let effect = believer.take(role, facts, self.rules, speaker);
                let (belief, counter) = (believer.belief(), believer.counter());
                self.believe(object, belief, counter, at.time, because);
                effect
            }
        };
        let delivery = Delivery {
            node: self.id,
            at,
            message,
            local,
            effect,
        };
        if role == Role::Disconnect
            && let Some(peer) = speaker.peer
        {
            self.history.partings.push(Parting {
                delivery: self.history.deliveries.len() as u32,
                peer,
                is_named: facts.origin.is_some(),
            });
        }
        self.note(&delivery, facts, role);
    }

    /// Notes a delivery, and what it is about.
    fn note(&mut self, delivery: &Delivery, facts: &MessageFacts, role: Role) {
        let object = facts.object.filter(|_| is_about_object(role));
        let place = self.history.deliveries.len() as u32;
        self.history.deliveries.push(delivery);
        self.history.about.push_some(object);
        if let (Some(object), Some(object_type)) = (object, facts.object_type) {
            let types = &mut self.history.types;
            types.entry(object).or_insert((place, object_type));
        }
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
            self.hole(hole);
        }
    }

    /// The reel lacks what came here: what was waited for may have arrived, and anything may have
    /// happened to any object.
    fn hole(&mut self, hole: &Hole) {
        let time = hole.time.start;
        let until = SessionTime(hole.time.end.0.saturating_add(DOUBT_NS));
        self.blind_until = self.blind_until.max(Some(until));
        let streams: Vec<(Stream, i64)> = self
            .inboxes
            .iter()
            .map(|(&stream, inbox)| (stream, inbox.next.max(inbox.floor)))
            .collect();
        for (stream, reached) in streams {
            let known = self
                .inboxes
                .get(&stream)
                .map_or(i64::MIN, |inbox| inbox.floor);
            let floor = if reached == i64::MAX { known } else { reached };
            let next = self.first_place(stream, floor);
            self.inboxes.insert(stream, Inbox::new(floor, next));
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
        for (&stream, inbox) in &self.inboxes {
            self.history.waits_for.insert(stream, inbox.next);
        }
        self.history.is_blind = self.blind_until.is_some();
        self.history.gone = self.gone;
        self.history
    }

    fn part(&self, message: MessageId) -> Option<Part> {
        let first = self.facts.streams.first_copy(message);
        self.facts.joins.part(first)
    }

    /// Whether this fragment is the one after which the whole can be handed over.
    fn completes(&mut self, part: Part) -> bool {
        let Some(count) = part.any_order else {
            return part.is_last;
        };
        let arrived = self.arrived.entry(part.whole).or_default();
        *arrived += 1;
        *arrived == count
    }
}

impl Inbox {
    fn new(floor: i64, next: i64) -> Inbox {
        Inbox {
            floor,
            next,
            taken: 0,
            waiting: BTreeMap::new(),
        }
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
pub(crate) fn is_about_object(role: Role) -> bool {
    matches!(
        role,
        Role::Create | Role::Update | Role::Destroy | Role::Migrate | Role::MigrateOrder
    )
}
