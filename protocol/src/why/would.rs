//! What would have been, had messages come in another order: decided by the rules that the wire
//! declares for the receiver, or not at all.

use netreel_wire::Promise;

use super::prelude::*;
use crate::history::{Believer, Effect, Speaker, rules_of};
use crate::session::NodeId;

/// How many places before one are tried.
const TRIED_MAX: usize = 64;

impl Telling<'_> {
    /// What the node would have done with `delivery`, had `first` come before `second`; nothing where
    /// that is the same, or cannot be told.
    pub fn would(&mut self, delivery: u32, first: u32, second: u32) -> Option<StepId> {
        let is_later = self.delivery(delivery)?;
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
    pub fn would_earlier(&mut self, delivery: u32, about: (u64, NodeId)) -> Option<StepId> {
        let before = self.before(delivery, about);
        let counts = before.filter(|(_, it)| it.effect != Effect::Updated);
        let mut tried = counts.take(TRIED_MAX);
        tried.find_map(|(second, _)| self.would(delivery, delivery, second))
    }

    /// Whether a message had been sent when another was handed over, so that it could have come first.
    fn was_sent_before(&self, first: u32, second: u32) -> bool {
        let sent = || {
            let message = self.delivery(first)?.message;
            let message = self.history.resend_of(message).unwrap_or(message);
            let sent = self.session.left(self.session.carrier(message)?)?;
            Some(sent.time)
        };
        let both = sent().zip(self.delivery(second));
        both.is_some_and(|(sent, second)| sent < second.at.time)
    }

    /// Whether a message stands behind another one in the same stream, so that it cannot come first.
    fn follows(&self, first: u32, second: u32) -> bool {
        let stream = |place: u32| {
            let delivery = self.delivery(place)?;
            let link = self.session.link(self.session.carrier(delivery.message)?)?;
            let facts = self.session.message(delivery.message)?.facts;
            let sequence = facts.reliable_sequence.filter(|_| !delivery.local);
            sequence.filter(|_| facts.promise == Promise::Ordered)?;
            Some((link.0, facts.channel))
        };
        let is_local = |place: u32| self.delivery(place).is_none_or(|it| it.local);
        let one = stream(first);
        is_local(first) || is_local(second) || one.is_some() && one == stream(second)
    }

    /// What the node's rules say that it does with a delivery and believes then, had these come in
    /// this order.
    fn played(&self, order: &[u32], of: u32) -> Option<(Effect, Option<crate::history::Belief>)> {
        let mut believer = Believer::default();
        for &place in order {
            let delivery = self.delivery(place)?;
            if delivery.effect == Effect::Unknown {
                return None;
            }
            let facts = self.history.facts(self.session, delivery.message)?;
            let node = self.session.node(delivery.node)?;
            let rules = rules_of(self.session, node)?;
            let (from, peer) = if delivery.local {
                (delivery.node, node.peer)
            } else {
                let packet = self.session.carrier(delivery.message)?;
                let (from, _) = self.session.link(packet)?;
                let peer = || self.session.node(from)?.peer;
                (from, facts.origin.or_else(peer))
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
