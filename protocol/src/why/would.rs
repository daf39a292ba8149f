//! What would have been, had messages come in another order: decided by the rules that the wire
//! declares for the receiver, or not at all.

use netreel_wire::Promise;

use super::fact::Fact;
use super::step::{Certainty, StepId};
use super::telling::Telling;
use crate::history::{Believer, Effect, Speaker, rules_of};
use crate::session::{NodeId, Session};

/// How many places before one are tried.
const TRIED_MAX: usize = 64;

impl Telling<'_> {
    /// What the node would have done with `delivery`, had `first` come before `second`; nothing where
    /// that is the same, or cannot be told.
    pub fn would(&mut self, delivery: u32, first: u32, second: u32) -> Option<StepId> {
        let is_later = self.history.deliveries.get(delivery as usize)?;
        let facts = self.history.facts(self.session, is_later.message)?;
        let all: Vec<u32> = self.about(facts.object?, is_later.node).collect();
        if self.follows(first, second) || !self.was_sent_before(first, second) {
            return None;
        }
        // The rules have to explain what happened before they can say what would have.
        let (happened, _) = self.played(&all, delivery)?;
        if happened != is_later.effect {
            return None;
        }
        let mut other: Vec<u32> = all.iter().copied().filter(|&it| it != first).collect();
        let place = other.iter().position(|&it| it == second)?;
        other.insert(place, first);
        let (effect, _) = self.played(&other, delivery)?;
        if effect == is_later.effect || effect == Effect::Unknown {
            return None;
        }
        let fact = Fact::Would {
            delivery,
            first,
            second,
            effect,
        };
        Some(self.end(fact, Certainty::WouldHave))
    }

    /// What the node would have done with a message that was old, had it come before what made it
    /// old.
    pub fn would_earlier(&mut self, delivery: u32, object: u64) -> Option<StepId> {
        let node = self.history.deliveries.get(delivery as usize)?.node;
        let before: Vec<u32> = self
            .about(object, node)
            .take_while(|&it| it < delivery)
            .collect();
        let counts = before.into_iter().rev().filter(|&it| {
            let before = self.history.deliveries.get(it as usize);
            before.is_some_and(|it| it.effect != Effect::Updated)
        });
        let tried: Vec<u32> = counts.take(TRIED_MAX).collect();
        tried
            .into_iter()
            .find_map(|second| self.would(delivery, delivery, second))
    }

    /// Whether a message had been sent when another was handed over, so that it could have come first.
    fn was_sent_before(&self, first: u32, second: u32) -> bool {
        let sent = || {
            let message = self.history.deliveries.get(first as usize)?.message;
            let message = self.history.resend_of(message).unwrap_or(message);
            let (_, sent) = self.session.departed(self.session.carrier(message)?)?;
            Some(sent.time)
        };
        let second = self.history.deliveries.get(second as usize);
        sent()
            .zip(second)
            .is_some_and(|(sent, second)| sent < second.at.time)
    }

    /// Whether a message stands behind another one in the same stream, so that it cannot come first.
    fn follows(&self, first: u32, second: u32) -> bool {
        let stream = |place: u32| {
            let delivery = self.history.deliveries.get(place as usize)?;
            let link = self.session.link(self.session.carrier(delivery.message)?)?;
            let facts = self.session.message(delivery.message)?.facts;
            let sent_by = if delivery.local { return None } else { link.0 };
            facts
                .reliable_sequence
                .filter(|_| facts.promise == Promise::Ordered)?;
            Some((sent_by, facts.channel))
        };
        let is_local = |place: u32| {
            let delivery = self.history.deliveries.get(place as usize);
            delivery.is_none_or(|delivery| delivery.local)
        };
        let one = stream(first);
        is_local(first) || is_local(second) || one.is_some() && one == stream(second)
    }

    /// What the node's rules say that it does with a delivery and believes then, had these come in
    /// this order.
    fn played(&self, order: &[u32], of: u32) -> Option<(Effect, Option<crate::history::Belief>)> {
        let mut believer = Believer::default();
        for &place in order {
            let delivery = self.history.deliveries.get(place as usize)?;
            if delivery.effect == Effect::Unknown {
                return None;
            }
            let facts = self.history.facts(self.session, delivery.message)?;
            let node = self.session.node(delivery.node)?;
            let rules = rules_of(self.session, node)?;
            let from = if delivery.local {
                delivery.node
            } else {
                self.session
                    .link(self.session.carrier(delivery.message)?)?
                    .0
            };
            let peer = if delivery.local {
                node.peer
            } else {
                facts.origin.or_else(|| peer(self.session, from))
            };
            let speaker = Speaker {
                from,
                peer,
                place: None,
            };
            let role = self.session.role(&facts);
            let effect = believer.take(role, &facts, Some(rules), speaker);
            if place == of {
                return Some((effect, believer.belief()));
            }
        }
        None
    }
}

fn peer(session: &Session, node: NodeId) -> Option<u64> {
    session.node(node)?.peer
}
