//! Nodes that stand still: which of their turns are played when.

use std::ops::RangeInclusive;

use super::change::{Change, ChangeKind};

/// The turns that a node plays one behind the other where `turn` is one of them: the first one, and the last
/// one, at whose time they are played. `None` where it plays the turn at its own time and no other one then.
pub(super) fn late(changes: &[Change], node: usize, turn: u32) -> Option<(u32, u32)> {
    let pauses = || {
        let pauses = changes.iter().filter(|it| it.kind == ChangeKind::Pause);
        let own = pauses.filter(move |it| it.to == node);
        own.map(|it| (it.since.turn, it.until.turn))
    };
    let (mut first, mut last) = (turn, turn);
    while let Some((_, until)) = pauses().find(|it| (it.0..it.1).contains(&last)) {
        last = until;
    }
    while let Some((since, _)) = pauses().find(|it| it.0 < first && first <= it.1) {
        first = since;
    }
    (first < last).then_some((first, last))
}

/// The turns that a node plays when `turn` is due, in their order: none where that one is late.
pub(super) fn due(changes: &[Change], node: usize, turn: u32) -> RangeInclusive<u32> {
    match late(changes, node, turn) {
        None => turn..=turn,
        Some((first, last)) if last == turn => first..=last,
        Some(_) => RangeInclusive::new(1, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::change::at;
    use super::*;

    fn pause(since: u32, until: u32) -> Change {
        Change {
            kind: ChangeKind::Pause,
            from: 0,
            to: 0,
            since: at(since),
            until: at(until),
        }
    }

    fn played(changes: &[Change]) -> Vec<u32> {
        (0..10).flat_map(|turn| due(changes, 0, turn)).collect()
    }

    #[test]
    fn every_turn_is_played_once_and_in_order_however_pauses_lie() {
        let all: Vec<u32> = (0..10).collect();
        let pauses: [&[Change]; 4] = [
            &[],
            &[pause(2, 5)],
            &[pause(4, 8), pause(2, 5)],
            &[pause(2, 5), pause(5, 7), pause(3, 4)],
        ];
        for changes in pauses {
            assert_eq!(played(changes), all, "{changes:?}");
        }
        assert_eq!(due(&[pause(4, 8), pause(2, 5)], 0, 8), 2..=8);
        assert_eq!(due(&[pause(2, 5), pause(5, 7)], 0, 7), 2..=7);
        assert!(due(&[pause(2, 5)], 0, 4).is_empty());
        assert_eq!(due(&[pause(2, 5)], 1, 4), 4..=4);
    }
}
