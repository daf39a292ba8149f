//! What becomes of a packet under changes.

use super::change::{Change, ChangeKind, Moment};
use super::pause::late;

/// What the network does to a packet of a link that would be there at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// When it is there; `None`: it is lost.
    pub comes: Option<Moment>,
    /// When it comes once more.
    pub again: Option<Moment>,
}

/// The fate of a packet under these changes, in whatever order they stand. Holds keep the order of a link:
/// who comes later is held by all that hold who comes before, or comes behind their ends.
pub(super) fn fate(changes: &[Change], link: (usize, usize), natural: Moment) -> Fate {
    let mut fate = Fate {
        comes: Some(natural),
        again: None,
    };
    for change in changes {
        if change.link() != Some(link) {
            continue;
        }
        let (since, until) = (change.since, change.until);
        let is_met = match change.kind {
            ChangeKind::Hold => (since..until).contains(&natural),
            _ => since == natural,
        };
        match change.kind {
            _ if !is_met => {}
            ChangeKind::Lose => fate.comes = None,
            ChangeKind::Repeat => fate.again = Some(until),
            _ => fate.comes = fate.comes.map(|at| at.max(until)),
        }
    }
    // Who stood still is given it in the first turn that is late.
    let found = |at: Moment| match late(changes, link.1, at.turn) {
        Some((first, _)) => Moment { turn: first, ..at },
        None => at,
    };
    fate.comes = fate.comes.map(found);
    fate.again = fate.again.map(found);
    fate
}

#[cfg(test)]
mod tests {
    use super::super::change::at;
    use super::*;

    #[test]
    fn a_held_link_gives_all_at_its_end() {
        let hold = Change {
            kind: ChangeKind::Hold,
            from: 0,
            to: 1,
            since: at(3),
            until: at(7),
        };
        let comes = |turn| fate(&[hold], (0, 1), at(turn)).comes;
        assert_eq!(
            [2, 3, 6, 7].map(comes),
            [2, 7, 7, 7].map(|turn| Some(at(turn)))
        );
        assert_eq!(fate(&[hold], (1, 0), at(4)).comes, Some(at(4)));
    }

    #[test]
    fn holds_of_one_link_keep_its_order_and_do_not_depend_on_theirs() {
        let hold = |since, until| Change {
            kind: ChangeKind::Hold,
            from: 0,
            to: 1,
            since: at(since),
            until: at(until),
        };
        let holds = [hold(1, 5), hold(3, 9), hold(4, 6)];
        let comes = |holds: &[Change]| -> Vec<Option<Moment>> {
            let turns = 0..12;
            turns
                .map(|turn| fate(holds, (0, 1), at(turn)).comes)
                .collect()
        };
        let reversed: Vec<Change> = holds.iter().rev().copied().collect();
        assert_eq!(comes(&holds), comes(&reversed));
        assert!(comes(&holds).is_sorted());
        // The first comes alone, and those behind it later.
        assert_eq!(comes(&holds)[1..4], [5, 5, 9].map(|turn| Some(at(turn))));
    }

    #[test]
    fn who_stood_still_finds_all_that_came_meanwhile_in_the_first_late_turn() {
        let pause = Change {
            kind: ChangeKind::Pause,
            from: 0,
            to: 0,
            since: at(2),
            until: at(5),
        };
        let comes = |turn| fate(&[pause], (1, 0), at(turn)).comes;
        let turns = [1, 2, 4, 5, 6].map(|turn| comes(turn).map(|at| at.turn));
        assert_eq!(turns, [1, 2, 2, 2, 6].map(Some));
    }
}
