//! The rules that say what went wrong. Each has its own file.

mod clock_disagreement;
mod incomplete_reel;
mod migrate_before_create;
mod stale_message_ignored;
mod two_owners;
mod undecodable_packet;
mod words;
mod zombie_object;

use super::{Finding, History};
use crate::session::Session;

/// The ids of all rules.
pub const RULES: [&str; 7] = [
    clock_disagreement::RULE,
    incomplete_reel::RULE,
    migrate_before_create::RULE,
    stale_message_ignored::RULE,
    two_owners::RULE,
    undecodable_packet::RULE,
    zombie_object::RULE,
];

/// All findings, ordered by time, then node, then rule.
pub(super) fn all(session: &Session, history: &History) -> Vec<Finding> {
    let rules = [
        clock_disagreement::find,
        incomplete_reel::find,
        migrate_before_create::find,
        stale_message_ignored::find,
        two_owners::find,
        undecodable_packet::find,
        zombie_object::find,
    ];
    let mut findings: Vec<Finding> = rules
        .iter()
        .flat_map(|rule| rule(session, history))
        .collect();
    findings.sort_by(|a, b| (a.time, a.node, a.rule).cmp(&(b.time, b.node, b.rule)));
    findings
}
