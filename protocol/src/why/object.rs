//! Why a node believed of an object what it believed.

use super::prelude::*;
use crate::history::{Belief, Effect};
use crate::session::{NodeId, SessionTime};

/// How many of the messages that a node ignored are listed.
const IGNORED_MAX: usize = 4;

impl Telling<'_> {
    /// What a node believed of an object at a moment, what made it so, and what it was told and did
    /// not take. Where its owner believed otherwise, that as well.
    pub fn object(&mut self, object: u64, node: NodeId, at: SessionTime) -> Vec<StepId> {
        let mut roots = vec![self.believed(object, node, at)];
        let span = self.history.belief_at(object, node, at).cloned();
        roots.extend(self.ignored(object, node, at));
        if span.is_none() {
            let later = self.about(object, node).find(|&place| {
                let delivery = self.delivery(place);
                delivery.is_some_and(|it| it.at.time > at)
            });
            match later {
                Some(later) => roots.push(self.did(later)),
                None if roots.len() == 1 => roots.extend(self.never_came(object, node)),
                None => {}
            }
        }
        let owner = match span.map(|span| span.belief) {
            Some(Belief::Owned(peer) | Belief::Orphaned(peer)) => self.session.node_of_peer(peer),
            _ => None,
        };
        if let Some(owner) = owner.filter(|&owner| owner != node) {
            roots.extend(self.owner_differs(object, owner, at));
        }
        once_each(roots)
    }

    /// What a node was told of an object until a moment, since it last took something, and did not
    /// take; the last ones.
    fn ignored(&mut self, object: u64, node: NodeId, at: SessionTime) -> Vec<StepId> {
        let mut ignored = Vec::new();
        for place in self.about(object, node) {
            let Some(delivery) = self.delivery(place) else {
                continue;
            };
            if delivery.at.time > at {
                break;
            }
            use Effect::{IgnoredNotOwner, IgnoredStale, IgnoredUnknown, Queued};
            if matches!(
                delivery.effect,
                IgnoredUnknown | IgnoredStale | IgnoredNotOwner | Queued
            ) && !delivery.local
            {
                let is_update = self
                    .told(place)
                    .is_some_and(|told| told.role == netreel_wire::Role::Update);
                ignored.push((is_update, place));
            }
        }
        // Where there is more than updates, that is what matters.
        if ignored.iter().any(|&(is_update, _)| !is_update) {
            ignored.retain(|&(is_update, _)| !is_update);
        }
        let start = ignored.len().saturating_sub(IGNORED_MAX);
        let told: Vec<u32> = ignored[start..].iter().map(|&(_, place)| place).collect();
        told.into_iter().map(|place| self.did(place)).collect()
    }

    /// What the believed owner believed itself, where that is something else.
    fn owner_differs(&mut self, object: u64, owner: NodeId, at: SessionTime) -> Option<StepId> {
        let peer = self.session.node(owner)?.peer?;
        let span = self.history.belief_at(object, owner, at);
        let is_so = span.is_some_and(|span| span.belief == Belief::Owned(peer));
        let is_recorded = self.session.node(owner)?.recorded;
        (is_recorded && !is_so).then(|| self.believed(object, owner, at))
    }
}
