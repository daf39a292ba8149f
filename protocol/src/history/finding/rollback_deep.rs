//! `rollback-deep`: an input came so late that a node has to play more ticks again than a bound.
//!
//! A warning, where the rules of the wire say that late inputs roll the game back. Whether the node did
//! so depends on what it had guessed: a guess that was right needs no rollback.

use netreel_wire::LateInput;

use super::input_late::{late_input, ticks};
use super::words::{came, sent};
use super::{Case, Found};
use crate::history::{Finding, Level, Punctuality};

pub(super) const RULE: &str = "rollback-deep";

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let bound = case.session.bounds.rollback_deep.ticks;
    let rolls = case
        .history
        .inputs
        .iter()
        .filter(|it| late_input(case, it.node) == Some(LateInput::Rollback));
    // A deeper one may come.
    let found = rolls.filter_map(|it| finding(case, it, bound).map(Found::from));
    found.collect()
}

fn finding(case: &Case<'_>, it: &Punctuality, bound: u64) -> Option<Finding> {
    let session = case.session;
    let worst = it.worst.filter(|worst| worst.depth() > bound)?;
    let pieces = [
        sent(session, worst.packet, "the late input sent"),
        came(session, worst.packet, "the late input came"),
    ];
    let evidence: Vec<_> = pieces.into_iter().flatten().collect();
    let node = session.name(it.node);
    Some(Finding {
        rule: RULE,
        level: Level::Warning,
        node: it.node,
        objects: Vec::new(),
        each: Vec::new(),
        time: worst.at,
        sentence: format!(
            "{node} has to play {} again, more than {bound}: the input of {} of tick {} came in packet {}, \
             when {node} was past tick {}; late inputs of {} came in {} of its ticks, with {} to play again in all",
            ticks(worst.depth()),
            it.player_name(session),
            worst.tick,
            worst.packet.0,
            worst.past,
            it.player_name(session),
            it.rollbacks,
            ticks(it.played_again),
        ),
        evidence,
    })
}
