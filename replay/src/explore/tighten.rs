//! Changes as few and as short as they can be.

use std::sync::Arc;

use super::change::{Change, ChangeKind, Moment};
use super::run::Runner;
use super::search::Outcome;

/// Makes every change as short as it can be while the run still comes to all that is wrong in `outcome`:
/// drops those that are not needed, and halves holds.
///
/// # Errors
/// A layer that cannot be made anew.
pub fn tighten<E>(
    runner: &mut Runner<'_, E>,
    changes: &[Change],
    outcome: &Outcome,
) -> Result<Vec<Change>, E> {
    let mut trace = Vec::new();
    let mut changes = changes.to_vec();
    let ground = Arc::clone(runner.ground());
    let mut fails = |changes: &[Change]| {
        let ran = runner.run(changes, &mut trace);
        ran.map(|ran| outcome.is_in(&Outcome::of(&ran)))
    };
    let mut place = 0;
    while place < changes.len() && changes.len() > 1 {
        let mut fewer = changes.clone();
        fewer.remove(place);
        if fails(&fewer)? {
            changes = fewer
        } else {
            place += 1
        }
    }
    for place in 0..changes.len() {
        let Change {
            kind,
            to,
            since,
            until,
            ..
        } = changes[place];
        if kind != ChangeKind::Hold {
            continue;
        }
        // The shortest lies in a turn between: it is looked for by halves, as far as halves tell.
        let (mut low, mut high) = (since.turn, until.turn);
        while high.saturating_sub(low) > 1 {
            let middle = low + (high - low) / 2;
            let ns = ground.turn_ns(to, middle).unwrap_or(until.ns);
            let mut tried = changes.clone();
            tried[place].until = Moment { turn: middle, ns };
            if fails(&tried)? {
                (changes, high) = (tried, middle)
            } else {
                low = middle
            }
        }
    }
    Ok(changes)
}
