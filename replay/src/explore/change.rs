//! What an exploration does to the network of a recording: what becomes of a packet under changes, and which
//! turns a node that stands still plays when.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// When a packet is there for its receiver: in one of the receiver's turns, and by time within the turn.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Moment {
    /// The receiver's turn, from 0.
    pub turn: u32,
    /// On the session's clock, in nanoseconds.
    pub ns: i64,
}

impl Moment {
    /// The moment this many nanoseconds later, in the same turn.
    pub fn behind(self, ns: i64) -> Moment {
        Moment {
            turn: self.turn,
            ns: self.ns.saturating_add(ns),
        }
    }
}

/// One thing that the network does otherwise than it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Change {
    /// What becomes otherwise.
    pub kind: ChangeKind,
    /// The sender, by its place among the nodes; of what a node itself does, the node.
    pub from: usize,
    /// The receiver; of what a node itself does, the node.
    pub to: usize,
    /// When it begins: of one packet, when that would be there.
    pub since: Moment,
    /// When its own effect is over.
    pub until: Moment,
}

/// What a [`Change`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// What would come over a link from `since` on, had nothing been changed, comes at `until` or later, in
    /// its order. Where several hold a packet, it comes when the last of them lets it go.
    Hold,
    /// The packet of a link that would be there at `since` is lost.
    Lose,
    /// The packet of a link that is there at `since` comes once more, at `until`.
    Repeat,
    /// The packet of a link that would be there at `since` comes at `until`, and those behind it do not wait.
    Delay,
    /// A node does nothing any more, from the turn of `since` on.
    Stop,
    /// A node stands still from the turn of `since` on, and plays before that of `until` at once what it
    /// would have played meanwhile: its ticks and its game's calls. It finds all packets there that came
    /// meanwhile, and what it sends leaves then.
    Pause,
}

impl Change {
    /// A change of a packet, or of a node, that is over where it begins.
    pub fn at(kind: ChangeKind, (from, to): (usize, usize), since: Moment) -> Change {
        Change {
            kind,
            from,
            to,
            since,
            until: since,
        }
    }

    /// How long the network is other than it was, in nanoseconds.
    pub fn length_ns(&self) -> i64 {
        self.until.ns.saturating_sub(self.since.ns)
    }

    /// The node, and its turn, before which it changes nothing.
    pub(super) fn first_turn(&self) -> (usize, u32) {
        (self.to, self.since.turn)
    }

    /// The node, and its turn, in which its own effect is over.
    pub(super) fn last_turn(&self) -> (usize, u32) {
        (self.to, self.until.turn)
    }

    /// The node that does something else by itself; `None` where the network does.
    pub fn node(&self) -> Option<usize> {
        matches!(self.kind, ChangeKind::Stop | ChangeKind::Pause).then_some(self.to)
    }

    /// The sender whose packets it moves, and the receiver; `None` where it moves none.
    pub fn link(&self) -> Option<(usize, usize)> {
        self.node().is_none().then_some((self.from, self.to))
    }

    /// The node that is given packets at other times than without it; `None` where none is.
    pub(super) fn moves_at(&self) -> Option<usize> {
        (self.kind != ChangeKind::Stop).then_some(self.to)
    }

    /// In words, with the names of the nodes: `A -> X held for 31 ms from 1.204 s on`.
    pub fn words(&self, name: &dyn Fn(usize) -> String) -> String {
        let [begins, ends] =
            [self.since, self.until].map(|it| format!("{:.3} s", it.ns as f64 / 1e9));
        let ms = self.length_ns() as f64 / 1e6;
        let (from, to) = (name(self.from), name(self.to));
        match self.kind {
            ChangeKind::Hold => format!("{from} -> {to} held for {ms:.1} ms from {begins} on"),
            ChangeKind::Lose => format!("a packet {from} -> {to} lost at {begins}"),
            ChangeKind::Repeat => {
                format!("a packet {from} -> {to} of {begins} once more at {ends}")
            }
            ChangeKind::Delay => {
                format!("a packet {from} -> {to} of {begins} comes at {ends}, behind later ones")
            }
            ChangeKind::Stop => format!("{to} dies at {begins}"),
            ChangeKind::Pause => format!("{to} stands still for {ms:.1} ms from {begins} on"),
        }
    }
}

/// For tests: a moment in a turn, a millisecond behind that of the turn before.
#[cfg(test)]
pub(super) fn at(turn: u32) -> Moment {
    Moment {
        turn,
        ns: i64::from(turn) * 1_000_000,
    }
}

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
    use super::*;

    #[test]
    fn a_change_in_words() {
        let hold = Change {
            kind: ChangeKind::Hold,
            from: 0,
            to: 1,
            since: at(3),
            until: at(7),
        };
        let name = |node: usize| ["A", "X"][node].to_owned();
        let words = hold.words(&name);
        assert_eq!(words, "A -> X held for 4.0 ms from 0.003 s on");
    }
}

#[cfg(test)]
mod fate_tests {
    use super::at;
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

#[cfg(test)]
mod pause_tests {
    use super::at;
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
