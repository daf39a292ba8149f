//! Why a node was handed a message when it was, and did with it what it did.

use netreel_wire::{CreateRule, MessageFacts, Role, StaleRule};

use super::fact::{Fact, NotKnown, RuleWord};
use super::step::{Certainty, StepId};
use super::telling::Telling;
use super::transit::LATE_NS_MIN;
use crate::history::{
    Belief, Delivery, Effect, Span, Told, had_newer, is_about_object, request, rules_of, told,
};
use crate::session::{MessageId, NodeId, SessionTime};

impl<'a> Telling<'a> {
    /// What a node did with a message, or did itself, and what led to it.
    pub fn did(&mut self, place: u32) -> StepId {
        let fact = Fact::Did { delivery: place };
        let Some(delivery) = self.history.deliveries.get(place as usize) else {
            return self.end(fact, Certainty::Unknown);
        };
        let certainty = match delivery.effect {
            Effect::Unknown => Certainty::Unknown,
            _ => {
                if self.came_by_guess(delivery) {
                    Certainty::Doubtful
                } else {
                    Certainty::Certain
                }
            }
        };
        self.step(fact, certainty, |it| {
            if delivery.local {
                it.own_doing(place)
            } else {
                it.done(place, delivery)
            }
        })
    }

    /// Whether it is a guess which packet brought it.
    fn came_by_guess(&self, delivery: Delivery) -> bool {
        let packet = self.session.carrier(delivery.message);
        let packet = packet.and_then(|packet| self.session.packet(packet));
        packet.is_some_and(|packet| packet.doubtful)
    }

    fn done(&mut self, place: u32, delivery: Delivery) -> Vec<StepId> {
        let mut because = Vec::new();
        match delivery.effect {
            Effect::IgnoredUnknown | Effect::Queued => because.extend(self.lacked(place, delivery)),
            Effect::IgnoredStale => because.extend(self.was_old(place, delivery)),
            Effect::IgnoredNotOwner => because.extend(self.not_owner(place, delivery)),
            Effect::IgnoredOutOfOrder => because.extend(self.overtaken(place, delivery)),
            Effect::Updated => because.extend(self.taken_late(place, delivery)),
            Effect::Created => because.extend(self.created_again(place, delivery)),
            Effect::CreatedByMigrate => {
                because.push(self.rule(delivery.node, RuleWord::UnknownMigrate));
                because.extend(self.came_later(place, delivery));
            }
            Effect::CreatedByUpdate => {
                because.push(self.rule(delivery.node, RuleWord::UnknownUpdate));
            }
            Effect::Unknown => because.extend(self.untold(delivery)),
            _ => {}
        }
        because.extend(self.waited(place));
        because.extend(self.came(delivery.message));
        because.extend(self.origin(delivery.message));
        because
    }

    /// How a message came, where that took longer than usual or more than one copy.
    fn came(&mut self, message: MessageId) -> Option<StepId> {
        let copies = self.copies(message);
        let first = *copies.first()?;
        let arrived = copies
            .iter()
            .filter_map(|copy| Some((copy.received?, copy.packet)));
        let (at, packet) = arrived.min()?;
        let took_ns = at.0.saturating_sub(first.sent.0);
        let link = self.session.link(packet)?;
        let fastest_ns = self.session.traffic().get(&link)?.latency_ns?.0;
        let more_ns = took_ns.saturating_sub(fastest_ns);
        let is_slow = more_ns >= LATE_NS_MIN.max(fastest_ns);
        (packet != first.packet || is_slow).then(|| self.reached(message))
    }

    pub fn rule(&mut self, node: NodeId, rule: RuleWord) -> StepId {
        self.end(Fact::Rule { node, rule }, Certainty::Certain)
    }

    /// The deliveries about a delivery's object at its node, in order.
    pub fn about(&self, object: u64, node: NodeId) -> impl Iterator<Item = u32> + use<'a> {
        let history = self.history;
        let object = history.objects.get(&object);
        let deliveries = object.into_iter().flat_map(|object| &object.deliveries);
        deliveries.copied().filter(move |&place| {
            let delivery = history.deliveries.get(place as usize);
            delivery.is_some_and(|delivery| delivery.node == node)
        })
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
    fn lacked(&mut self, place: u32, delivery: Delivery) -> Vec<StepId> {
        let mut because = Vec::new();
        let Some(facts) = self.facts(delivery.message) else {
            return because;
        };
        let Some(object) = facts.object else {
            return because;
        };
        let rule = match self.session.role(&facts) {
            Role::Update => RuleWord::UnknownUpdate,
            Role::Destroy => RuleWord::UnknownDestroy,
            _ => RuleWord::UnknownMigrate,
        };
        let before: Vec<u32> = self
            .about(object, delivery.node)
            .take_while(|&it| it < place)
            .collect();
        let ended = before.iter().rev().find(|&&it| {
            let before = self.history.deliveries.get(it as usize);
            before.is_some_and(|it| matches!(it.effect, Effect::Destroyed | Effect::Tombstoned))
        });
        match ended {
            Some(&ended) => because.push(self.did(ended)),
            None => because.extend(self.came_later(place, delivery)),
        }
        if because.is_empty() {
            because.extend(self.never_came(object, delivery.node));
        }
        because.push(self.rule(delivery.node, rule));
        because
    }

    /// CREATE came after this, and what would have been had it come before.
    fn came_later(&mut self, place: u32, delivery: Delivery) -> Vec<StepId> {
        let object = self.object_of(delivery.message);
        let Some(object) = object else {
            return Vec::new();
        };
        let after: Vec<u32> = self
            .about(object, delivery.node)
            .filter(|&it| it > place)
            .collect();
        let later = after.into_iter().find(|&it| {
            let told = self.told(it);
            told.is_some_and(|told| told.role == Role::Create && !told.delivery.local)
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
            let message = it.history.deliveries.get(later as usize);
            let waited = it.waited(later);
            let reached = message.map(|delivery| it.reached(delivery.message));
            waited.into_iter().chain(reached).collect()
        });
        let mut steps = vec![came];
        steps.extend(self.would(place, later, place));
        steps
    }

    /// Why a node never heard of an object.
    pub fn never_came(&mut self, object: u64, node: NodeId) -> Vec<StepId> {
        let session = self.session;
        let under_way: Vec<MessageId> = self
            .history
            .undelivered
            .iter()
            .copied()
            .filter(|&message| {
                let packet = session.carrier(message);
                let link = packet.and_then(|packet| session.link(packet));
                link.is_some_and(|(_, to)| to == node)
                    && self.facts(message).is_some_and(|facts| {
                        let role = session.role(&facts);
                        facts.object == Some(object) && is_about_object(role)
                    })
            })
            .collect();
        let mut steps: Vec<StepId> = under_way
            .into_iter()
            .take(2)
            .map(|message| self.still_waits(message))
            .collect();
        if steps.is_empty() {
            let all = session
                .nodes
                .iter()
                .all(|node| node.recorded && node.complete);
            let certainty = if all {
                Certainty::Certain
            } else {
                Certainty::Doubtful
            };
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
    fn was_old(&mut self, place: u32, delivery: Delivery) -> Vec<StepId> {
        let mut because = Vec::new();
        let Some(object) = self.object_of(delivery.message) else {
            return because;
        };
        let before: Vec<u32> = self
            .about(object, delivery.node)
            .take_while(|&it| it < place)
            .collect();
        // What the node heard last that counts.
        let newer = before.into_iter().rev().find(|&it| {
            use Effect::{Created, CreatedByMigrate, CreatedByUpdate};
            use Effect::{Destroyed, Migrated, Tombstoned};
            let effect = self.history.deliveries.get(it as usize).map(|it| it.effect);
            effect.is_some_and(|effect| {
                let counts = [Created, CreatedByMigrate, CreatedByUpdate];
                counts.contains(&effect) || [Destroyed, Migrated, Tombstoned].contains(&effect)
            })
        });
        if let Some(newer) = newer {
            because.push(self.did(newer));
        }
        let role = self.told(place).map(|told| told.role);
        because.push(self.rule(
            delivery.node,
            match role {
                Some(Role::Create) => RuleWord::Create,
                _ => RuleWord::Stale,
            },
        ));
        because.extend(self.would_earlier(place, object));
        because
    }

    /// The node believed that somebody else owns it.
    fn not_owner(&mut self, place: u32, delivery: Delivery) -> Vec<StepId> {
        let mut because = Vec::new();
        let Some(object) = self.object_of(delivery.message) else {
            return because;
        };
        because.push(self.believed(object, delivery.node, delivery.at.time));
        let speaker = self.told(place).and_then(|told| told.speaker);
        let after: Vec<u32> = self
            .about(object, delivery.node)
            .filter(|&it| it > place)
            .collect();
        let later = after.into_iter().find(|&it| {
            let told = self.told(it);
            told.is_some_and(|told| {
                matches!(told.role, Role::Migrate | Role::MigrateOrder) && told.owner == speaker
            })
        });
        if let Some(later) = later.filter(|_| speaker.is_some()) {
            because.extend(self.later(place, later));
        }
        because.push(self.rule(delivery.node, RuleWord::UpdateFrom));
        because
    }

    /// What a node believed of an object at a moment, and the delivery that made it so.
    pub fn believed(&mut self, object: u64, node: NodeId, at: SessionTime) -> StepId {
        let fact = Fact::Believed { node, object, at };
        let span = self.history.belief_at(object, node, at);
        let because = span
            .map(|span| span.because)
            .filter(|&place| place != Span::NO_DELIVERY);
        let certainty = match span.map(|span| span.belief) {
            Some(Belief::Unknown) => Certainty::Unknown,
            _ if self
                .session
                .lacks(node, span.map(|span| span.time.start), at) =>
            {
                Certainty::Unknown
            }
            _ => Certainty::Certain,
        };
        self.step(fact, certainty, |it| {
            because.map(|place| it.did(place)).into_iter().collect()
        })
    }

    /// A newer UPDATE had come.
    fn overtaken(&mut self, place: u32, delivery: Delivery) -> Vec<StepId> {
        let Some(object) = self.object_of(delivery.message) else {
            return Vec::new();
        };
        let from = |message: MessageId| {
            let packet = self.session.carrier(message)?;
            self.session.link(packet).map(|(from, _)| from)
        };
        let before: Vec<u32> = self
            .about(object, delivery.node)
            .take_while(|&it| it < place)
            .collect();
        let newer = before.into_iter().rev().find(|&it| {
            let before = self.history.deliveries.get(it as usize);
            before.is_some_and(|before| {
                before.effect == Effect::Updated && from(before.message) == from(delivery.message)
            })
        });
        let newer = newer.map(|newer| self.did(newer));
        let rule = self.rule(delivery.node, RuleWord::OlderUpdate);
        newer.into_iter().chain([rule]).collect()
    }

    /// A newer UPDATE had come, and the older one was taken all the same.
    fn taken_late(&mut self, place: u32, delivery: Delivery) -> Vec<StepId> {
        let Some(newer) = had_newer(self.session, self.history, place) else {
            return Vec::new();
        };
        let newer = self.did(newer);
        vec![newer, self.rule(delivery.node, RuleWord::OlderUpdate)]
    }

    /// It was created though the node had been told of its end.
    fn created_again(&mut self, place: u32, delivery: Delivery) -> Vec<StepId> {
        let Some(object) = self.object_of(delivery.message) else {
            return Vec::new();
        };
        let before: Vec<u32> = self
            .about(object, delivery.node)
            .take_while(|&it| it < place)
            .collect();
        let told_end = before.iter().any(|&it| {
            let told = self.told(it);
            told.is_some_and(|told| told.role == Role::Destroy)
        });
        let node = self.session.node(delivery.node);
        let rules = node.and_then(|node| rules_of(self.session, node));
        let is_blind = rules.is_some_and(|rules| {
            rules.create == CreateRule::Always || rules.stale == StaleRule::Never
        });
        if told_end && is_blind {
            vec![self.rule(delivery.node, RuleWord::Create)]
        } else {
            Vec::new()
        }
    }

    /// Nobody can say what the node did.
    fn untold(&mut self, delivery: Delivery) -> Vec<StepId> {
        let node = delivery.node;
        let Some(known) = self.session.node(node) else {
            return Vec::new();
        };
        if rules_of(self.session, known).is_none() {
            return vec![self.end(Fact::NoRules { node }, Certainty::Certain)];
        }
        let holes = (0u32..).zip(&known.holes);
        let before = holes.filter(|(_, hole)| hole.before <= delivery.at.number);
        let last = before.last().map(|(place, _)| place);
        let hole = last.map(|hole| Fact::Hole { node, hole });
        hole.map(|fact| self.end(fact, Certainty::Certain))
            .into_iter()
            .collect()
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
        let arrived = mine.into_iter().filter_map(|message| {
            let copies = self.copies(message);
            let came = copies
                .iter()
                .filter_map(|it| Some((it.received?, it.packet)));
            came.min()
        });
        let (at, packet) = arrived.max()?;
        let waited_ns = delivery.at.time.0.saturating_sub(at.0);
        if packet == closing || waited_ns <= 0 {
            return None;
        }
        let channel = self.facts(delivery.message)?.channel;
        let stands = |message: MessageId, facts: &MessageFacts| {
            let is_stream = facts.reliable_sequence.is_some() && facts.channel == channel;
            is_stream && message != delivery.message
        };
        let closers: Vec<MessageId> = session
            .messages_of(closing)
            .filter(|(message, facts)| stands(*message, facts))
            .map(|(message, _)| message)
            .collect();
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
        let (_, sent) = session.departed(packet)?;
        let peer = session.node(from)?.peer;
        let is_own = facts.origin.is_none() || facts.origin == peer;
        let says = |role: Role| match role {
            Role::MigrateOrder => Role::Migrate,
            role => role,
        };
        let deliveries: Vec<u32> = self.about(object, from).collect();
        let found = deliveries.into_iter().rev().find(|&place| {
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
        let facts = self.facts(told.delivery.message);
        let object = facts.and_then(|facts| facts.object);
        let before = object
            .filter(|_| told.role == Role::Destroy)
            .and_then(|object| {
                let mut before: Vec<u32> = self
                    .about(object, node)
                    .take_while(|&it| it < place)
                    .collect();
                before.reverse();
                before.into_iter().find(|&it| {
                    let delivery = self.history.deliveries.get(it as usize);
                    use Effect::{Created, CreatedByMigrate, Migrated};
                    delivery.is_some_and(|it| {
                        matches!(it.effect, Created | CreatedByMigrate | Migrated)
                    })
                })
            });
        // Who ends what was given to it could do so since then.
        before.map(|before| self.did(before)).into_iter().collect()
    }

    /// The order to migrate that a node had got when it announced its ownership.
    fn ordered(&self, place: u32, told: &Told) -> Option<u32> {
        let object = self.object_of(told.delivery.message)?;
        let mut before: Vec<u32> = self
            .about(object, told.delivery.node)
            .take_while(|&it| it < place)
            .collect();
        before.reverse();
        before.into_iter().find(|&it| {
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
