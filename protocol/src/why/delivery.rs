//! Why a node was handed a message when it was, and did with it what it did.

use netreel_wire::{CreateRule, MessageFacts, Role, StaleRule};

use super::prelude::*;
use super::resend::first_arrived;
use super::transit::LATE_NS_MIN;
use crate::history::{
    Belief, Delivery, Effect, Span, Told, had_newer, is_about_object, request, rules_of, told,
};
use crate::session::{MessageId, NodeId, SessionTime};

impl<'a> Telling<'a> {
    /// What a node did with a message, or did itself, and what led to it.
    pub fn did(&mut self, place: u32) -> StepId {
        let fact = Fact::Did { delivery: place };
        let Some(delivery) = self.delivery(place) else {
            return self.end(fact, Certainty::Unknown);
        };
        // It may be a guess which packet brought it.
        let packet = self.session.carrier(delivery.message);
        let certainty = match delivery.effect {
            Effect::Unknown => Certainty::Unknown,
            _ => Certainty::but_for(packet.is_some_and(|packet| self.is_doubtful(packet))),
        };
        self.step(fact, certainty, |it| {
            if delivery.local {
                it.own_doing(place)
            } else {
                it.done(place, delivery)
            }
        })
    }

    fn done(&mut self, place: u32, delivery: Delivery) -> Vec<StepId> {
        let object = self.object_of(delivery.message);
        let mut because = match object.map(|object| (object, delivery.node)) {
            Some(about) => self.done_about(place, delivery, about),
            None => Vec::new(),
        };
        because.extend(self.waited(place));
        because.extend(self.came(delivery.message));
        because.extend(self.origin(delivery.message));
        because
    }

    /// What led to what a node did with a message about an object.
    fn done_about(&mut self, place: u32, delivery: Delivery, about: (u64, NodeId)) -> Vec<StepId> {
        let node = delivery.node;
        match delivery.effect {
            Effect::IgnoredUnknown | Effect::Queued => self.lacked(place, delivery, about),
            Effect::IgnoredStale => self.was_old(place, about),
            Effect::IgnoredNotOwner => self.not_owner(place, delivery, about),
            Effect::IgnoredOutOfOrder => self.overtaken(place, delivery, about),
            Effect::Updated => self.taken_late(place, node),
            Effect::Created => self.created_again(place, about),
            Effect::CreatedByMigrate => {
                let rule = self.rule(node, RuleWord::UnknownMigrate);
                [vec![rule], self.came_later(place, about)].concat()
            }
            Effect::CreatedByUpdate => vec![self.rule(node, RuleWord::UnknownUpdate)],
            Effect::Unknown => self.untold(delivery),
            _ => Vec::new(),
        }
    }

    /// How a message came, where that took longer than usual or more than one copy.
    fn came(&mut self, message: MessageId) -> Option<StepId> {
        let copies = self.copies(message);
        let first = *copies.first()?;
        let (at, packet, _) = first_arrived(&copies)?;
        let took_ns = at.since(first.sent);
        let link = self.session.link(packet)?;
        let fastest_ns = self.session.traffic().get(&link)?.latency_ns?.0;
        let more_ns = took_ns.saturating_sub(fastest_ns);
        let is_slow = more_ns >= LATE_NS_MIN.max(fastest_ns);
        (packet != first.packet || is_slow).then(|| self.reached(message))
    }

    pub fn rule(&mut self, node: NodeId, rule: RuleWord) -> StepId {
        self.certain(Fact::Rule { node, rule })
    }

    /// The deliveries about a delivery's object at its node, in order.
    pub fn about(
        &self,
        object: u64,
        node: NodeId,
    ) -> impl DoubleEndedIterator<Item = u32> + use<'a> {
        let history = self.history;
        let object = history.objects.get(&object);
        let deliveries = object.into_iter().flat_map(|object| &object.deliveries);
        deliveries.copied().filter(move |&place| {
            let delivery = history.deliveries.get(place as usize);
            delivery.is_some_and(|delivery| delivery.node == node)
        })
    }

    /// Those before a place, the last first, with what the node did with each.
    pub fn before(
        &self,
        place: u32,
        (object, node): (u64, NodeId),
    ) -> impl Iterator<Item = (u32, Delivery)> + use<'a> {
        let history = self.history;
        let before = self.about(object, node).rev();
        let before = before.filter(move |&it| it < place);
        before.filter_map(|it| Some((it, history.deliveries.get(it as usize)?)))
    }

    /// The first one after a place that tells such a thing.
    fn next_told(
        &self,
        place: u32,
        (object, node): (u64, NodeId),
        is_meant: impl Fn(&Told) -> bool,
    ) -> Option<u32> {
        let mut after = self.about(object, node).filter(|&it| it > place);
        after.find(|&it| self.told(it).is_some_and(|told| is_meant(&told)))
    }

    pub fn told(&self, place: u32) -> Option<Told> {
        told(self.session, self.history, place)
    }

    fn facts(&self, message: MessageId) -> Option<MessageFacts> {
        self.history.facts(self.session, message)
    }

    /// The object that a message is about.
    fn object_of(&self, message: MessageId) -> Option<u64> {
        self.facts(message)?.object
    }

    /// The node did not know the object.
    fn lacked(&mut self, place: u32, delivery: Delivery, about: (u64, NodeId)) -> Vec<StepId> {
        let mut because = Vec::new();
        let facts = self.facts(delivery.message);
        let rule = match facts.map(|facts| self.session.role(&facts)) {
            Some(Role::Update) => RuleWord::UnknownUpdate,
            Some(Role::Destroy) => RuleWord::UnknownDestroy,
            _ => RuleWord::UnknownMigrate,
        };
        let mut before = self.before(place, about);
        let ended =
            before.find(|(_, it)| matches!(it.effect, Effect::Destroyed | Effect::Tombstoned));
        match ended {
            Some((ended, _)) => because.push(self.did(ended)),
            None => because.extend(self.came_later(place, about)),
        }
        let (object, node) = about;
        if because.is_empty() {
            because.extend(self.never_came(object, node));
        }
        because.push(self.rule(node, rule));
        because
    }

    /// CREATE came after this, and what would have been had it come before.
    fn came_later(&mut self, place: u32, about: (u64, NodeId)) -> Vec<StepId> {
        let later = self.next_told(place, about, |told| {
            told.role == Role::Create && !told.delivery.local
        });
        later.map_or(Vec::new(), |later| self.later(place, later))
    }

    /// That a delivery came after one that lacked it, and what would have been otherwise.
    fn later(&mut self, place: u32, later: u32) -> Vec<StepId> {
        let fact = Fact::Later {
            delivery: place,
            later,
        };
        let came = self.step(fact, Certainty::Certain, |it| {
            let waited = it.waited(later);
            let reached = it.delivery(later).map(|later| it.reached(later.message));
            waited.into_iter().chain(reached).collect()
        });
        let mut steps = vec![came];
        steps.extend(self.would(place, later, place));
        steps
    }

    /// Why a node never heard of an object.
    pub fn never_came(&mut self, object: u64, node: NodeId) -> Vec<StepId> {
        let session = self.session;
        let is_meant = |message: &&MessageId| {
            let link = session.carrier(**message).and_then(|it| session.link(it));
            let facts = self.facts(**message);
            let facts = facts.filter(|it| it.object == Some(object));
            link.is_some_and(|(_, to)| to == node)
                && facts.is_some_and(|facts| is_about_object(session.role(&facts)))
        };
        let under_way = self.history.undelivered.iter().filter(is_meant);
        let under_way: Vec<MessageId> = under_way.take(2).copied().collect();
        let waiting = under_way.into_iter().map(|it| self.still_waits(it));
        let mut steps: Vec<StepId> = waiting.collect();
        if steps.is_empty() {
            let mut nodes = session.nodes.iter();
            let is_all_known = nodes.all(|node| node.recorded && node.complete);
            let certainty = Certainty::but_for(!is_all_known);
            steps.push(self.end(Fact::NeverTold { node, object }, certainty));
        }
        steps
    }

    /// That a message did not arrive, or arrived and waits for one that did not.
    fn still_waits(&mut self, message: MessageId) -> StepId {
        let reached = self.reached(message);
        let has_come = |it: &mut Self, message: MessageId| {
            let copies = it.copies(message);
            copies.iter().any(|copy| copy.received.is_some())
        };
        if !has_come(self, message) {
            return reached;
        }
        let session = self.session;
        let stream = |message: MessageId| {
            let known = session.message(message)?;
            known.facts.reliable_sequence?;
            Some((session.link(known.packet)?, known.facts.channel))
        };
        let undelivered = self.history.undelivered.iter().copied();
        let before: Vec<MessageId> = undelivered
            .take_while(|&it| it < message)
            .filter(|&it| stream(it) == stream(message))
            .collect();
        let missing = before.into_iter().find(|&it| !has_come(self, it));
        match missing {
            Some(behind) => {
                let fact = Fact::StillWaits { message, behind };
                self.step(fact, Certainty::Certain, |it| {
                    vec![it.reached(behind), reached]
                })
            }
            None => reached,
        }
    }

    /// The node had heard of something newer.
    fn was_old(&mut self, place: u32, about: (u64, NodeId)) -> Vec<StepId> {
        let mut because = Vec::new();
        // What the node heard last that counts.
        use Effect::{Created, CreatedByMigrate, CreatedByUpdate, Destroyed, Migrated, Tombstoned};
        let newer = self.before(place, about).find(|(_, it)| {
            let made = matches!(it.effect, Created | CreatedByMigrate | CreatedByUpdate);
            made || matches!(it.effect, Destroyed | Migrated | Tombstoned)
        });
        because.extend(newer.map(|(newer, _)| self.did(newer)));
        let rule = match self.told(place).map(|told| told.role) {
            Some(Role::Create) => RuleWord::Create,
            _ => RuleWord::Stale,
        };
        because.push(self.rule(about.1, rule));
        because.extend(self.would_earlier(place, about));
        because
    }

    /// The node believed that somebody else owns it.
    fn not_owner(&mut self, place: u32, delivery: Delivery, about: (u64, NodeId)) -> Vec<StepId> {
        let (object, node) = about;
        let mut because = vec![self.believed(object, node, delivery.at.time)];
        let speaker = self.told(place).and_then(|told| told.speaker);
        let later = self.next_told(place, about, |told| {
            matches!(told.role, Role::Migrate | Role::MigrateOrder) && told.owner == speaker
        });
        if let Some(later) = later.filter(|_| speaker.is_some()) {
            because.extend(self.later(place, later));
        }
        because.push(self.rule(node, RuleWord::UpdateFrom));
        because
    }

    /// What a node believed of an object at a moment, and the delivery that made it so.
    pub fn believed(&mut self, object: u64, node: NodeId, at: SessionTime) -> StepId {
        let fact = Fact::Believed { node, object, at };
        let span = self.history.belief_at(object, node, at);
        let because = span.map(|span| span.because);
        let because = because.filter(|&place| place != Span::NO_DELIVERY);
        let is_unknown = span.is_some_and(|span| span.belief == Belief::Unknown);
        let since = span.map(|span| span.time.start);
        let certainty = if is_unknown || self.session.lacks(node, since, at) {
            Certainty::Unknown
        } else {
            Certainty::Certain
        };
        self.step(fact, certainty, |it| {
            because.map(|place| it.did(place)).into_iter().collect()
        })
    }

    /// A newer UPDATE had come.
    fn overtaken(&mut self, place: u32, delivery: Delivery, about: (u64, NodeId)) -> Vec<StepId> {
        let from = |message: MessageId| {
            let packet = self.session.carrier(message)?;
            self.session.link(packet).map(|(from, _)| from)
        };
        let mut before = self.before(place, about);
        let newer = before.find(|(_, it)| {
            it.effect == Effect::Updated && from(it.message) == from(delivery.message)
        });
        let newer = newer.map(|(newer, _)| self.did(newer));
        let rule = self.rule(delivery.node, RuleWord::OlderUpdate);
        newer.into_iter().chain([rule]).collect()
    }

    /// A newer UPDATE had come, and the older one was taken all the same.
    fn taken_late(&mut self, place: u32, node: NodeId) -> Vec<StepId> {
        let Some(newer) = had_newer(self.session, self.history, place) else {
            return Vec::new();
        };
        let newer = self.did(newer);
        vec![newer, self.rule(node, RuleWord::OlderUpdate)]
    }

    /// It was created though the node had been told of its end.
    fn created_again(&mut self, place: u32, about: (u64, NodeId)) -> Vec<StepId> {
        let mut before = self.before(place, about);
        let told_end = before.any(|(it, _)| {
            let told = self.told(it);
            told.is_some_and(|told| told.role == Role::Destroy)
        });
        let node = self.session.node(about.1);
        let rules = node.and_then(|node| rules_of(self.session, node));
        let is_blind = rules.is_some_and(|rules| {
            rules.create == CreateRule::Always || rules.stale == StaleRule::Never
        });
        let rule = (told_end && is_blind).then(|| self.rule(about.1, RuleWord::Create));
        rule.into_iter().collect()
    }

    /// Nobody can say what the node did.
    fn untold(&mut self, delivery: Delivery) -> Vec<StepId> {
        let node = delivery.node;
        let Some(known) = self.session.node(node) else {
            return Vec::new();
        };
        if rules_of(self.session, known).is_none() {
            return vec![self.certain(Fact::NoRules { node })];
        }
        let holes = (0u32..).zip(&known.holes);
        let before = holes.filter(|(_, hole)| hole.before <= delivery.at.number);
        let last = before.last().map(|(place, _)| place);
        let hole = last.map(|hole| self.certain(Fact::Hole { node, hole }));
        hole.into_iter().collect()
    }

    /// That a message waited behind another one of its stream, and why that came late.
    pub fn waited(&mut self, place: u32) -> Option<StepId> {
        let fact = self.wait(place)?;
        let Fact::Waited { behind, .. } = fact else {
            return None;
        };
        Some(self.step(fact, Certainty::Certain, |it| vec![it.reached(behind)]))
    }

    /// The wait of a message that waited behind another one of its stream.
    pub fn wait(&mut self, place: u32) -> Option<Fact> {
        let (session, history) = (self.session, self.history);
        let delivery = history.deliveries.get(place as usize)?;
        let closing = session.packet_at(delivery.node, delivery.at.number)?.packet;
        if delivery.local {
            return None;
        }
        let mine = self.parts(delivery.message);
        let arrived = mine.into_iter();
        let arrived = arrived.filter_map(|message| first_arrived(&self.copies(message)));
        let (at, packet, _) = arrived.max()?;
        let waited_ns = delivery.at.time.since(at);
        if packet == closing || waited_ns <= 0 {
            return None;
        }
        let channel = self.facts(delivery.message)?.channel;
        let stands = |message: MessageId, facts: &MessageFacts| {
            let is_stream = facts.reliable_sequence.is_some() && facts.channel == channel;
            is_stream && message != delivery.message
        };
        let closers = session.messages_of(closing);
        let closers = closers.filter(|(message, facts)| stands(*message, facts));
        let closers: Vec<MessageId> = closers.map(|(message, _)| message).collect();
        let handed_over = |message: &MessageId| {
            let mut deliveries = history.deliveries_of(*message);
            deliveries.any(|it| {
                let other = history.deliveries.get(it as usize);
                it < place && other.is_some_and(|it| it.at == delivery.at)
            })
        };
        let behind = closers.iter().copied().find(handed_over).or_else(|| {
            // A fragment that is not its message's last is no delivery.
            let mut fragments = closers.iter().copied();
            fragments.find(|it| history.joined_of.contains_key(it))
        })?;
        Some(Fact::Waited {
            delivery: place,
            arrived: packet,
            at,
            behind,
            closed_by: closing,
            waited_ns,
        })
    }

    /// A message, or the fragments in which it travelled.
    fn parts(&self, message: MessageId) -> Vec<MessageId> {
        let whole = self.history.joined_of.get(&message);
        let joined = whole.and_then(|&whole| self.history.joined.get(whole as usize));
        match joined {
            Some(joined) => joined.fragments.clone(),
            None => vec![message],
        }
    }

    /// What the sender of a message about an object had been told of it, or had done itself.
    pub fn origin(&mut self, message: MessageId) -> Option<StepId> {
        let (session, history) = (self.session, self.history);
        let facts = self.facts(message)?;
        let (object, role) = (facts.object?, session.role(&facts));
        if !is_about_object(role) || role == Role::Update {
            return None;
        }
        let first = history.resend_of(message).unwrap_or(message);
        let packet = session.carrier(first)?;
        let (from, _) = session.link(packet)?;
        let sent = session.left(packet)?;
        let peer = session.node(from)?.peer;
        let is_own = facts.origin.is_none() || facts.origin == peer;
        let says = |role: Role| match role {
            Role::MigrateOrder => Role::Migrate,
            role => role,
        };
        let found = self.about(object, from).rev().find(|&place| {
            let told = self.told(place);
            told.is_some_and(|told| {
                let is_before = told.delivery.at.number <= sent.number;
                let is_it =
                    says(told.role) == says(role) && told.counter == facts.migration_counter;
                is_before && is_it && (told.delivery.local || !is_own)
            })
        })?;
        Some(self.did(found))
    }

    /// Why a node did something itself: no packet shows, but for who gets an object and had asked.
    fn own_doing(&mut self, place: u32) -> Vec<StepId> {
        let Some(told) = self.told(place) else {
            return Vec::new();
        };
        let node = told.delivery.node;
        if matches!(told.role, Role::Migrate | Role::MigrateOrder) {
            if let Some(order) = self.ordered(place, &told) {
                return vec![self.did(order)];
            }
            if let Some(asked) = self.asked(&told) {
                return vec![asked];
            }
            return vec![self.nothing(NotKnown::Program(node))];
        }
        let object = self.object_of(told.delivery.message);
        let object = object.filter(|_| told.role == Role::Destroy);
        let before = object.and_then(|object| {
            use Effect::{Created, CreatedByMigrate, Migrated};
            let mut before = self.before(place, (object, node));
            before.find(|(_, it)| matches!(it.effect, Created | CreatedByMigrate | Migrated))
        });
        // Who ends what was given to it could do so since then.
        let before = before.map(|(before, _)| self.did(before));
        before.into_iter().collect()
    }

    /// The order to migrate that a node had got when it announced its ownership.
    fn ordered(&self, place: u32, told: &Told) -> Option<u32> {
        let object = self.object_of(told.delivery.message)?;
        let before = self.before(place, (object, told.delivery.node));
        let mut before = before.map(|(it, _)| it);
        before.find(|&it| {
            let known = self.told(it);
            known.is_some_and(|it| {
                let is_order = it.role == Role::MigrateOrder && !it.delivery.local;
                is_order && it.counter == told.counter && it.owner == told.owner
            })
        })
    }

    /// A message about the object from its new owner, shortly before the node gave it away.
    fn asked(&mut self, told: &Told) -> Option<StepId> {
        let asked = request(self.session, self.history, told)?;
        let fact = Fact::Asked {
            message: asked.message,
            packet: asked.packet,
            at: asked.at,
            before_ns: asked.before_ns,
        };
        Some(self.end(fact, Certainty::Doubtful))
    }
}
