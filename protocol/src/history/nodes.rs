//! One node's history: what its engine was handed, in which order, and what it made of it.

mod late;

use std::cell::OnceCell;
use std::collections::VecDeque;

use netreel_reel::EventNumber;
use netreel_wire::{MessageFacts, Role, Rules};

use super::acts::{Act, acts};
use super::belief::{Believer, Speaker};
use super::facts::Facts;
use super::node_end::NodeEnd;
use super::roles::is_about_object;
use super::streams::{HandedOver, StreamNumber};
use super::walked::{Inbox, NodeHistory, Walked};
use super::wholes::FragmentPart;
use super::{Belief, Delivery, Effect, Parting, Span};
use crate::session::{Hole, MessageId, Node, NodeId, PacketId, Session, SessionTime, Stamp, Way};

/// For this long after a hole, what is sent may be a repetition of what was sent in the hole.
const DOUBT_NS: i64 = 1_000_000_000;

/// No sender has more messages under way that nobody acked, so that more than these are not lacking: its
/// numbers begin elsewhere.
const LACKING_MAX: i64 = 64;

impl Facts<'_> {
    /// Begins the walk of a node.
    pub fn follow<'a>(&'a self, (id, node): (NodeId, &'a Node)) -> Walk<'a> {
        let mut ahead = VecDeque::from(acts(self, (id, node)));
        ahead.make_contiguous().sort_by_key(|act| act.at.number);
        Walk {
            facts: self,
            id,
            node,
            rules: rules_of(self.session, node),
            ahead,
            own: Walked::default(),
        }
    }

    fn peer(&self, node: NodeId) -> Option<u64> {
        self.session.node(node).and_then(|node| node.peer)
    }
}

/// The rules that a node goes by; one that never said gets what the others say.
pub(crate) fn rules_of<'a>(session: &'a Session, node: &Node) -> Option<&'a Rules> {
    let said = node
        .rules
        .or_else(|| session.nodes.iter().find_map(|other| other.rules));
    session.wire.as_ref()?.rules().get(usize::from(said?.0))
}

/// A packet that arrives.
struct Arrived<'a> {
    session: &'a Session,
    id: PacketId,
    from: NodeId,
    /// What its messages say, once that matters.
    said: OnceCell<Vec<(MessageId, MessageFacts)>>,
}

impl<'a> Arrived<'a> {
    fn new(session: &'a Session, id: PacketId, from: NodeId) -> Arrived<'a> {
        Arrived {
            session,
            id,
            from,
            said: OnceCell::new(),
        }
    }

    fn messages(&self) -> impl Iterator<Item = MessageId> + use<> {
        self.session.message_numbers(self.id).map(MessageId)
    }

    /// What one of its messages says; `None` of a message that another packet brought.
    fn says(&self, message: MessageId) -> Option<&MessageFacts> {
        let all = || self.session.messages_of(self.id).collect();
        let all = self.said.get_or_init(all);
        let place = all.binary_search_by_key(&message, |(each, _)| *each).ok()?;
        all.get(place).map(|(_, facts)| facts)
    }
}

/// A walk along one node's events.
pub(super) struct Walk<'a> {
    facts: &'a Facts<'a>,
    id: NodeId,
    node: &'a Node,
    rules: Option<&'a Rules>,
    /// What the node is still to do itself.
    ahead: VecDeque<Act>,
    own: Walked,
}

impl Walk<'_> {
    /// Takes the next of the node's ends.
    pub fn take(&mut self, end: &NodeEnd) {
        let (crossing, stamp) = (end.crossing, end.stamp);
        let met = self.meets(end);
        if crossing.way != Way::In {
            return;
        }
        let is_before = |act: &mut Act| act.at.number < crossing.number;
        while let Some(act) = self.ahead.pop_front_if(is_before) {
            self.holes_before(act.at.number);
            if self.is_answer(&act) && act.sent.number > crossing.number {
                self.own.answers.push_back(act);
            } else {
                self.did(&act, act.at);
            }
        }
        let is_sent = |act: &mut Act| act.sent.number < crossing.number;
        while let Some(act) = self.own.answers.pop_front_if(is_sent) {
            self.did(&act, act.sent);
        }
        self.holes_before(crossing.number);
        let packet = Arrived::new(self.facts.session, crossing.packet, end.link.0);
        match met {
            None => self.received(&packet, stamp),
            Some(over) => self.comes_late(over, &packet, stamp),
        }
    }

    /// The history of the node, of whose ends there are no more.
    pub fn finish(mut self) -> NodeHistory {
        for act in std::mem::take(&mut self.own.answers) {
            self.did(&act, act.sent);
        }
        for act in std::mem::take(&mut self.ahead) {
            self.holes_before(act.at.number);
            self.did(&act, act.at);
        }
        self.holes_before(EventNumber(u64::MAX));
        self.own.finish(self.node)
    }

    /// A node that does not own an object says DESTROY only in answer to what arrived.
    fn is_answer(&self, act: &Act) -> bool {
        let belief = act
            .facts
            .object
            .and_then(|object| self.own.objects.get(&object)?.belief());
        act.role == Role::Destroy && belief != self.node.peer.map(Belief::Owned)
    }

    /// The node did something itself.
    fn did(&mut self, act: &Act, at: Stamp) {
        let peer = self.node.peer;
        if act.role == Role::Disconnect {
            self.parts_from(act.facts.origin.or(peer), at);
            return;
        }
        if self.own.blind_until.is_some_and(|until| at.time <= until) {
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

    fn received(&mut self, packet: &Arrived<'_>, stamp: Stamp) {
        for message in packet.messages() {
            if self.is_deaf_to(packet.from) {
                return;
            }
            let (stream, place) = match self.facts.streams.turn(message) {
                HandedOver::Now => {
                    self.hand_over(message, packet, stamp);
                    continue;
                }
                HandedOver::Once => {
                    if self.is_first_arrival(message) {
                        self.hand_over(message, packet, stamp);
                    }
                    continue;
                }
                HandedOver::Newest(stream, place) => {
                    self.is_first_arrival(message);
                    let newest = self.own.newest.entry(stream, || i64::MIN);
                    if place > *newest {
                        *newest = place;
                        self.hand_over(message, packet, stamp);
                    }
                    continue;
                }
                HandedOver::InOrder(stream, place) => (stream, place),
            };
            let streams = self.facts.streams;
            let is_ordered = streams.stream_of(stream).is_some_and(|it| it.ordered);
            if is_ordered && !self.is_first_arrival(message) {
                continue;
            }
            if self.own.inboxes.get(stream).is_none() {
                let (floor, next) = (i64::MIN, self.first_place(stream, i64::MIN));
                let mut inbox = Inbox::new(floor, next);
                inbox.lacks_begin = self.lacks_begin(stream, next);
                self.own.inboxes.entry(stream, || inbox);
            }
            let Some(inbox) = self.own.inboxes.get_mut(stream) else {
                continue;
            };
            if inbox.lacks_begin {
                self.doubt_arrival(message, packet, stamp);
                continue;
            }
            if inbox.takes_at_once(place) && streams.count_at(stream, place) <= 1 {
                inbox.next = streams.place_after(stream, place);
                self.hand_over(message, packet, stamp);
                continue;
            }
            if place >= inbox.next {
                let waiting = inbox.waiting.entry(place).or_default();
                if is_ordered || waiting.is_empty() {
                    waiting.push(message);
                }
            } else if is_ordered {
                // A sequenced message has the number of an ordered one.
                self.hand_over(message, packet, stamp);
            } else if place >= inbox.floor && self.own.blind_until.is_some() {
                self.doubt_arrival(message, packet, stamp);
            }
            self.empty_inbox(stream, packet, stamp);
        }
    }

    /// Hands over what no longer waits.
    fn empty_inbox(&mut self, stream: StreamNumber, latest: &Arrived<'_>, stamp: Stamp) {
        let streams = self.facts.streams;
        let Some(known) = streams.stream_of(stream) else {
            return;
        };
        while let Some(inbox) = self.own.inboxes.get_mut(stream) {
            let Some(messages) = inbox.waiting.remove(&inbox.next) else {
                break;
            };
            inbox.taken += messages.len();
            if inbox.taken >= streams.count_at(stream, inbox.next) {
                inbox.next = streams.place_after(stream, inbox.next);
                inbox.taken = 0;
            }
            for message in messages {
                self.hand_over(message, latest, stamp);
                if self.is_deaf_to(known.from) {
                    return;
                }
            }
        }
    }

    /// Whether no copy of a message has arrived before, where its place does not tell.
    fn is_first_arrival(&mut self, message: MessageId) -> bool {
        let first = self.facts.streams.first_copy(message);
        self.own.history.seen.insert(first.0)
    }

    /// A peer is no longer in the session.
    fn parts_from(&mut self, peer: Option<u64>, at: Stamp) {
        if let Some(peer) = peer {
            self.own.gone.entry(peer).or_insert(at.time);
        }
    }

    /// Whether a message from this node reaches nobody any more.
    fn is_deaf_to(&self, from: NodeId) -> bool {
        let is_gone =
            |peer: Option<u64>| peer.is_some_and(|peer| self.own.gone.contains_key(&peer));
        !self.own.gone.is_empty() && (is_gone(self.node.peer) || is_gone(self.facts.peer(from)))
    }

    /// Where a stream begins, as far as anybody recorded it; after a hole, the first place from
    /// `floor` on that cannot have been delivered in it.
    fn first_place(&self, stream: StreamNumber, floor: i64) -> i64 {
        let session = self.facts.session;
        let sent_after_hole = |message: MessageId| {
            let Some(until) = self.own.blind_until else {
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

    /// Whether a stream of a sender without a reel begins behind the place at which those of others begin:
    /// what stood there was lost, and the engine waits for it.
    fn lacks_begin(&self, stream: StreamNumber, next: i64) -> bool {
        let session = self.facts.session;
        let Some(stream) = self.facts.streams.stream_of(stream) else {
            return false;
        };
        let sender = session.node(stream.from);
        if sender.is_none_or(|node| node.recorded) {
            return false;
        }
        let usual = self.facts.usual_begin(stream.ordered);
        usual.is_some_and(|usual| usual < next && next - usual <= LACKING_MAX)
    }

    /// A message arrives that may have been delivered already, in a hole, or that the engine may not take.
    fn doubt_arrival(&mut self, message: MessageId, packet: &Arrived<'_>, at: Stamp) {
        if !self.facts.streams.may_matter.contains(message.0) {
            return;
        }
        let facts = match self.part(message) {
            Some(part) if part.is_last => self.whole(part.whole),
            Some(_) => None,
            None => packet.says(message),
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
        let because = self.own.history.next_place();
        let believer = self.own.objects.entry(object).or_default();
        believer.forget();
        let (belief, counter) = (believer.belief(), believer.counter());
        self.believe(object, belief, counter, at.time, because);
        self.note(message, Some((facts, role)), (at, local, Effect::Unknown));
    }

    /// A message reaches the engine. Most waited for nothing: they are of the packet that has just arrived.
    fn hand_over(&mut self, message: MessageId, latest: &Arrived<'_>, stamp: Stamp) {
        if !self.facts.streams.may_matter.contains(message.0) {
            return self.note(message, None, (stamp, false, Effect::Plain));
        }
        let session = self.facts.session;
        let earlier;
        let (carrier, known) = match latest.says(message) {
            Some(facts) => (latest.id, facts),
            None => match session.message(message) {
                Some(it) => {
                    earlier = it;
                    (earlier.packet, &earlier.facts)
                }
                None => return,
            },
        };
        let facts = match self.part(message) {
            Some(part) if self.completes(part) => match self.whole(part.whole) {
                Some(whole) => whole,
                None => return,
            },
            Some(_) => return,
            None => known,
        };
        let role = session.role(facts);
        let place = self.facts.streams.packet_place(carrier);
        let from = latest.from;
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
        let because = self.own.history.next_place();
        let effect = match facts.object.filter(|_| is_about_object(role)) {
            None => Effect::Plain,
            Some(object) => {
                let born = self.facts.streams.born.get(&object);
                let is_older = |until| born.is_none_or(|&at| at <= until);
                let unseen = self.own.blind_until.is_some_and(is_older);
                let believer = self.own.objects.entry(object).or_insert_with(|| {
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
        if role == Role::Disconnect
            && let Some(peer) = speaker.peer
        {
            self.own.history.partings.push(Parting {
                delivery: self.own.history.next_place(),
                peer,
                is_named: facts.origin.is_some(),
            });
        }
        self.note(message, Some((facts, role)), (at, local, effect));
    }

    /// Notes a delivery, and what it is about.
    fn note(
        &mut self,
        message: MessageId,
        says: Option<(&MessageFacts, Role)>,
        (at, local, effect): (Stamp, bool, Effect),
    ) {
        let about = says.filter(|(_, role)| is_about_object(*role));
        let object = about.and_then(|(facts, _)| facts.object);
        let place = self.own.history.next_place();
        self.own.history.deliveries.push(&Delivery {
            node: self.id,
            at,
            message,
            local,
            effect,
        });
        self.own.history.about.push_some(object);
        let object_type = about.and_then(|(facts, _)| facts.object_type);
        if let Some((object, object_type)) = object.zip(object_type) {
            let types = &mut self.own.history.types;
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
        let lanes = &mut self.own.history.lanes;
        let lane = lanes.entry(object).or_default();
        let last = lane.last();
        if last.is_some_and(|last| (last.belief, last.counter) == (belief, counter)) {
            return;
        }
        if let Some(last) = lane.last_mut() {
            last.time.end = time;
        }
        lane.push(Span {
            time: time..time,
            belief,
            counter,
            because,
            said: None,
        });
    }

    /// The holes that lie before an event.
    fn holes_before(&mut self, number: EventNumber) {
        let node = self.node;
        while let Some(hole) = node.holes.get(self.own.holes) {
            if hole.before > number {
                return;
            }
            self.own.holes += 1;
            self.hole(hole);
        }
    }

    /// The reel lacks what came here: what was waited for may have arrived, and anything may have
    /// happened to any object.
    fn hole(&mut self, hole: &Hole) {
        let time = hole.time.start;
        let until = SessionTime(hole.time.end.0.saturating_add(DOUBT_NS));
        self.own.blind_until = self.own.blind_until.max(Some(until));
        let reached = self.own.inboxes.iter();
        let reached: Vec<(StreamNumber, i64, i64, bool)> = reached
            .map(|(stream, it)| (stream, it.next.max(it.floor), it.floor, it.lacks_begin))
            .collect();
        for (stream, reached, known, lacks_begin) in reached {
            let floor = if reached == i64::MAX { known } else { reached };
            let next = self.first_place(stream, floor);
            if let Some(inbox) = self.own.inboxes.get_mut(stream) {
                *inbox = Inbox::new(floor, next);
                inbox.lacks_begin = lacks_begin;
            }
        }
        let objects: Vec<u64> = self.own.objects.keys().copied().collect();
        for object in objects {
            let Some(believer) = self.own.objects.get_mut(&object) else {
                continue;
            };
            believer.forget();
            let (belief, counter) = (believer.belief(), believer.counter());
            let lane = self.own.history.lanes.get(&object);
            if let Some(because) = lane.and_then(|lane| lane.last()).map(|span| span.because) {
                self.believe(object, belief, counter, time, because);
            }
        }
    }

    fn part(&self, message: MessageId) -> Option<FragmentPart> {
        let first = self.facts.streams.first_copy(message);
        self.facts.wholes.part(first)
    }

    /// Whether this fragment is the one after which the whole can be handed over.
    fn completes(&mut self, part: FragmentPart) -> bool {
        let Some(count) = part.any_order else {
            return part.is_last;
        };
        let joined = self.facts.wholes.joined.get(part.whole as usize);
        let Some(&first) = joined.and_then(|joined| joined.fragments.first()) else {
            return false;
        };
        let arrived = self.own.arrived.entry(first).or_default();
        *arrived += 1;
        *arrived == count
    }
}

impl<'a> Walk<'a> {
    fn whole(&self, place: u32) -> Option<&'a MessageFacts> {
        self.facts
            .wholes
            .joined
            .get(place as usize)
            .map(|joined| &*joined.facts)
    }
}
