//! `input-late`: inputs of a player came to a node that was past their tick.
//!
//! A warning where the rules of the wire say that the node drops them: what the player did has no effect
//! there, and where another node took it the two part. Info where the wire does not say what becomes of
//! them. A game that rolls back takes them all the same (`rollback-deep`), and one that waits is never past.

use netreel_wire::LateInput;

use super::prelude::*;
use crate::history::nodes::rules_of;
use crate::history::{Late, Punctuality};

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let found = case.history.inputs.iter().filter_map(|it| {
        let late = it.first.zip(it.worst)?;
        // More may come, and they are counted.
        match late_input(case, it.node) {
            None => Some(finding(case, it, late, false)),
            Some(LateInput::Drop) => Some(finding(case, it, late, true)),
            Some(LateInput::Rollback | LateInput::Wait) => None,
        }
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
) -> Found {
    let session = case.session;
    let pieces = [
        sent(session, first.packet, "the first late input sent"),
        came(session, first.packet, "the first late input came"),
        came(session, worst.packet, "the input that was latest came"),
    ];
    let is_one = first.packet == worst.packet;
    let pieces = pieces
        .into_iter()
        .flatten()
        .take(if is_one { 2 } else { 3 });
    let (level, fate) = if dropped {
        (Level::Warning, "which drops them")
    } else {
        (
            Level::Info,
            "and the wire does not say what becomes of them",
        )
    };
    let node = session.name(it.node);
    let sentence = format!(
        "{} of {} inputs of {} came too late for their tick to {node}, {fate}: first that of \
         tick {} in packet {}, when {node} was past tick {}; the latest by {}",
        it.late,
        it.ticks,
        it.player_name(session),
        first.tick,
        first.packet,
        first.past,
        counted(worst.depth(), "tick")
    );
    Found::new(level, it.node, worst.at.max(first.at), pieces, sentence)
}
