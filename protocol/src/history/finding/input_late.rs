//! `input-late`: inputs of a player came to a node that was past their tick.
//!
//! A warning where the rules of the wire say that the node drops them: what the player did has no effect
//! there, and where another node took it the two part. Info where the wire does not say what becomes of
//! them. A game that rolls back takes them all the same (`rollback-deep`), and one that waits is never past.

use netreel_wire::LateInput;

use super::words::{came, sent};
use super::{Case, Found};
use crate::history::nodes::rules_of;
use crate::history::{Finding, Late, Level, Punctuality};
use crate::session::NodeId;

pub(super) const RULE: &str = "input-late";

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let found = case.history.inputs.iter().filter_map(|it| {
        let (first, worst) = it.first.zip(it.worst)?;
        let dropped = match late_input(case, it.node) {
            None => false,
            Some(LateInput::Drop) => true,
            Some(LateInput::Rollback | LateInput::Wait) => return None,
        };
        // More may come, and they are counted.
        Some(finding(case, it, (first, worst), dropped).into())
    });
    found.collect()
}

/// What a node does with an input that comes after its tick.
pub(super) fn late_input(case: &Case<'_>, node: NodeId) -> Option<LateInput> {
    let node = case.session.node(node)?;
    rules_of(case.session, node)?.late_input
}

fn finding(
    case: &Case<'_>,
    it: &Punctuality,
    (first, worst): (Late, Late),
    dropped: bool,
) -> Finding {
    let session = case.session;
    let pieces = [
        sent(session, first.packet, "the first late input sent"),
        came(session, first.packet, "the first late input came"),
        came(session, worst.packet, "the input that was latest came"),
    ]
    .into_iter()
    .flatten();
    let is_one = first.packet == worst.packet;
    let evidence: Vec<_> = pieces.take(if is_one { 2 } else { 3 }).collect();
    let fate = if dropped {
        "which drops them"
    } else {
        "and the wire does not say what becomes of them"
    };
    let node = session.name(it.node);
    Finding {
        rule: RULE,
        level: if dropped { Level::Warning } else { Level::Info },
        node: it.node,
        objects: Vec::new(),
        each: Vec::new(),
        time: worst.at.max(first.at),
        sentence: format!(
            "{} of {} inputs of {} came too late for their tick to {node}, {fate}: first that of tick {} in \
             packet {}, when {node} was past tick {}; the latest by {}",
            it.late,
            it.ticks,
            it.player_name(session),
            first.tick,
            first.packet.0,
            first.past,
            ticks(worst.depth()),
        ),
        evidence,
    }
}

/// `1 tick`, `3 ticks`.
pub(super) fn ticks(count: u64) -> String {
    match count {
        1 => "1 tick".to_owned(),
        count => format!("{count} ticks"),
    }
}
