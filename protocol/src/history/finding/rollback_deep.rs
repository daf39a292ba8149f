//! `rollback-deep`: an input came so late that a node has to play more ticks again than a bound.
//!
//! A warning, where the rules of the wire say that late inputs roll the game back. Whether the node did
//! so depends on what it had guessed: a guess that was right needs no rollback.

use netreel_wire::LateInput;

use super::input_late::late_input;
use super::prelude::*;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let bound = session.bounds.rollback_deep.ticks;
    let inputs = case.history.inputs.iter();
    let rolls = inputs.filter(|it| late_input(case, it.node) == Some(LateInput::Rollback));
    let found = rolls.filter_map(|it| {
        let worst = it.worst.filter(|worst| worst.depth() > bound)?;
        let pieces = [
            sent(session, worst.packet, "the late input sent"),
            came(session, worst.packet, "the late input came"),
        ];
        let (node, player) = (session.name(it.node), it.player_name(session));
        let sentence = format!(
            "{node} has to play {} again, more than {bound}: the input of {player} of tick {} \
             came in packet {}, when {node} was past tick {}; late inputs of {player} came in \
             {} of its ticks, with {} to play again in all",
            counted(worst.depth(), "tick"),
            worst.tick,
            worst.packet,
            worst.past,
            it.rollbacks,
            counted(it.played_again, "tick")
        );
        // A deeper one may come.
        Some(Found::new(
            Level::Warning,
            it.node,
            worst.at,
            pieces,
            sentence,
        ))
    });
    found.collect()
}
