//! What became of a packet's messages: where they were delivered, and what the node did with them.

use netreel_protocol::history::{Delivery, Effect};
use netreel_protocol::session::PacketId;

use crate::{Model, text};

/// What a node did with a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// `create 42`
    pub message: String,
    /// Where.
    pub node: String,
    /// When.
    pub time: String,
    /// `created the object`
    pub effect: &'static str,
    /// Whether the node made nothing of it.
    pub ignored: bool,
}

impl Outcome {
    /// `create 42 at X: created the object`
    pub fn sentence(&self) -> String {
        format!("{} at {}: {}", self.message, self.node, self.effect)
    }
}

impl Model {
    /// What the nodes did with a packet's messages about objects, in wire order; at most `limit`.
    /// A message that was sent several times has its outcome at the copy that arrived first. None
    /// before the history is known.
    pub fn outcomes(&self, id: PacketId, limit: usize) -> Vec<Outcome> {
        if self.lacks_history() {
            return Vec::new();
        }
        let history = self.history();
        self.messages_of(id)
            .flat_map(|(message, _)| history.deliveries_of(message))
            .filter_map(|place| history.deliveries.get(place as usize))
            .filter(|delivery| delivery.effect != Effect::Plain && !delivery.local)
            .filter_map(|delivery| self.outcome(&delivery))
            .take(limit)
            .collect()
    }

    fn outcome(&self, delivery: &Delivery) -> Option<Outcome> {
        // Of a fragment, what the whole says.
        let facts = self.history().facts(&self.session, delivery.message)?;
        let kind = self.kind_name(facts.kind);
        Some(Outcome {
            message: match facts.object {
                Some(object) => format!("{kind} {object}"),
                None => kind.to_owned(),
            },
            node: self.node_name(delivery.node).to_owned(),
            time: text::seconds(delivery.at.time),
            effect: words(delivery.effect),
            ignored: matches!(
                delivery.effect,
                Effect::IgnoredUnknown
                    | Effect::IgnoredStale
                    | Effect::IgnoredNotOwner
                    | Effect::IgnoredOutOfOrder
            ),
        })
    }
}

fn words(effect: Effect) -> &'static str {
    match effect {
        Effect::Created => "created the object",
        Effect::CreatedByMigrate => "created the object by MIGRATE",
        Effect::CreatedByUpdate => "created the object by UPDATE",
        Effect::Queued => "kept until CREATE comes",
        Effect::Updated => "updated",
        Effect::Migrated => "changed the owner",
        Effect::Destroyed => "destroyed",
        Effect::Tombstoned => "left a tombstone, the object is unknown here",
        Effect::IgnoredUnknown => "ignored, the object is unknown here",
        Effect::IgnoredStale => "ignored as old",
        Effect::IgnoredNotOwner => "ignored, not from the owner",
        Effect::IgnoredOutOfOrder => "ignored, older than one already taken",
        Effect::Unknown => "nobody can say",
        _ => "taken",
    }
}
