//! Effects and rules in words.

use netreel_wire::UpdateFrom;
use netreel_wire::{
    CreateRule, OlderUpdate, Rules, StaleRule, UnknownDestroy, UnknownMigrate, UnknownUpdate,
};

use crate::history::Effect;
use crate::why::RuleWord;

pub(super) fn effect_words(effect: Effect) -> &'static str {
    match effect {
        Effect::Plain => "read it",
        Effect::Created => "created the object",
        Effect::CreatedByMigrate | Effect::CreatedByUpdate => {
            "created the object by it, which it did not know"
        }
        Effect::Queued => "kept it until CREATE comes, because it did not know the object",
        Effect::Updated => "took it",
        Effect::Migrated => "took it",
        Effect::Destroyed => "took the object for destroyed",
        Effect::Tombstoned => "remembered it, though it did not know the object",
        Effect::IgnoredUnknown => "dropped it, because it did not know the object",
        Effect::IgnoredStale => "ignored it as old",
        Effect::IgnoredNotOwner => "ignored it, because it believed in another owner",
        Effect::IgnoredOutOfOrder => "ignored it, because it had taken a newer one",
        Effect::Unknown => "nobody can say what it did with it",
    }
}

pub(super) fn would_words(effect: Effect, message: &str) -> String {
    match effect {
        Effect::Plain | Effect::Updated | Effect::Migrated => format!("taken {message}"),
        Effect::Created => format!("created the object by {message}"),
        Effect::CreatedByMigrate | Effect::CreatedByUpdate => {
            format!("created the object by {message}")
        }
        Effect::Queued => format!("kept {message} until CREATE comes"),
        Effect::Destroyed => format!("destroyed the object by {message}"),
        Effect::Tombstoned => format!("remembered {message}"),
        Effect::IgnoredUnknown
        | Effect::IgnoredStale
        | Effect::IgnoredNotOwner
        | Effect::IgnoredOutOfOrder
        | Effect::Unknown => format!("ignored {message}"),
    }
}

pub(super) fn rule_words(rules: &Rules, rule: RuleWord) -> (&'static str, &'static str) {
    match rule {
        RuleWord::UnknownMigrate => (
            "unknown_migrate",
            match rules.unknown_migrate {
                UnknownMigrate::Drop => "drop",
                UnknownMigrate::Create => "create",
                UnknownMigrate::Queue => "queue",
            },
        ),
        RuleWord::UnknownUpdate => (
            "unknown_update",
            match rules.unknown_update {
                UnknownUpdate::Drop => "drop",
                UnknownUpdate::Create => "create",
                UnknownUpdate::Queue => "queue",
            },
        ),
        RuleWord::UnknownDestroy => (
            "unknown_destroy",
            match rules.unknown_destroy {
                UnknownDestroy::Drop => "drop",
                UnknownDestroy::Tombstone => "tombstone",
                UnknownDestroy::Queue => "queue",
            },
        ),
        RuleWord::Create => (
            "create",
            match rules.create {
                CreateRule::Always => "always",
                CreateRule::Newer => "newer",
            },
        ),
        RuleWord::Stale => (
            "stale",
            match rules.stale {
                StaleRule::Never => "never",
                StaleRule::Counter => "counter",
            },
        ),
        RuleWord::UpdateFrom => (
            "update_from",
            match rules.update_from {
                UpdateFrom::Anyone => "anyone",
                UpdateFrom::Owner => "owner",
            },
        ),
        RuleWord::OlderUpdate => (
            "older_update",
            match rules.older_update {
                OlderUpdate::Take => "take",
                OlderUpdate::Drop => "drop",
            },
        ),
    }
}
