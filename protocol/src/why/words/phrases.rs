//! Effects and rules in words.

use netreel_wire::Rules;

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
        RuleWord::UnknownMigrate => ("unknown_migrate", rules.unknown_migrate.name()),
        RuleWord::UnknownUpdate => ("unknown_update", rules.unknown_update.name()),
        RuleWord::UnknownDestroy => ("unknown_destroy", rules.unknown_destroy.name()),
        RuleWord::Create => ("create", rules.create.name()),
        RuleWord::Stale => ("stale", rules.stale.name()),
        RuleWord::UpdateFrom => ("update_from", rules.update_from.name()),
        RuleWord::OlderUpdate => ("older_update", rules.older_update.name()),
    }
}
