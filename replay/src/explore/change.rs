//! What an exploration does to the network of a recording.

use std::fmt;

/// When a packet is there for its receiver: in one of the receiver's turns, and by time within the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// What would come over a link from `since` on, had nothing been changed, comes at `until` or later, in
    /// its order. Where several hold a packet, it comes when the last of them lets it go.
    Hold {
        /// The sender, by its place among the nodes.
        from: usize,
        /// The receiver.
        to: usize,
        /// The first packet that is held is there then.
        since: Moment,
        /// All that is held comes then.
        until: Moment,
    },
    /// The packet of a link that would be there at this moment is lost.
    Lose {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
        /// When it would be there.
        at: Moment,
    },
    /// The packet of a link that is there at this moment comes once more.
    Repeat {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
        /// When it is there first.
        at: Moment,
        /// When it comes again.
        again: Moment,
    },
    /// The packet of a link that would be there at a moment comes later, and those behind it do not wait.
    Delay {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
        /// When it would be there.
        at: Moment,
        /// When it comes.
        until: Moment,
    },
    /// A node does nothing any more, from one of its turns on.
    Stop {
        /// The node.
        node: usize,
        /// Its first turn that is not played.
        turn: u32,
        /// When that is, on the session's clock, in nanoseconds.
        ns: i64,
    },
}

impl Change {
    /// When it begins, on the session's clock, in nanoseconds.
    pub fn begins_ns(&self) -> i64 {
        match self {
            Change::Hold { since, .. } => since.ns,
            Change::Lose { at, .. } | Change::Repeat { at, .. } | Change::Delay { at, .. } => at.ns,
            Change::Stop { ns, .. } => *ns,
        }
    }

    /// When its own effect is over; what follows from it goes on.
    pub fn ends_ns(&self) -> i64 {
        match self {
            Change::Hold { until, .. } | Change::Delay { until, .. } => until.ns,
            Change::Lose { at, .. } => at.ns,
            Change::Repeat { again, .. } => again.ns,
            Change::Stop { ns, .. } => *ns,
        }
    }

    /// How long the network is other than it was, in nanoseconds.
    pub fn length_ns(&self) -> i64 {
        self.ends_ns().saturating_sub(self.begins_ns())
    }

    /// The node, and its turn, before which it changes nothing.
    pub(super) fn first_turn(&self) -> (usize, u32) {
        match *self {
            Change::Hold { to, since, .. } => (to, since.turn),
            Change::Lose { to, at, .. }
            | Change::Repeat { to, at, .. }
            | Change::Delay { to, at, .. } => (to, at.turn),
            Change::Stop { node, turn, .. } => (node, turn),
        }
    }

    /// The node, and its turn, in which its own effect is over.
    pub(super) fn last_turn(&self) -> (usize, u32) {
        match *self {
            Change::Hold { to, until, .. } | Change::Delay { to, until, .. } => (to, until.turn),
            Change::Repeat { to, again, .. } => (to, again.turn),
            Change::Lose { .. } | Change::Stop { .. } => self.first_turn(),
        }
    }

    /// The receiver whose packets it moves, and the sender; `None` where it moves none.
    pub fn link(&self) -> Option<(usize, usize)> {
        match *self {
            Change::Hold { from, to, .. }
            | Change::Lose { from, to, .. }
            | Change::Repeat { from, to, .. }
            | Change::Delay { from, to, .. } => Some((from, to)),
            Change::Stop { .. } => None,
        }
    }

    /// In words, with the names of the nodes: `A -> X held for 31 ms from 1.204 s on`.
    pub fn words<'a>(&'a self, name: &'a dyn Fn(usize) -> String) -> impl fmt::Display + 'a {
        Words { change: self, name }
    }
}

struct Words<'a> {
    change: &'a Change,
    name: &'a dyn Fn(usize) -> String,
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        let seconds = |ns: i64| format!("{:.3} s", ns as f64 / 1e9);
        let begins = seconds(self.change.begins_ns());
        match *self.change {
            Change::Hold { from, to, .. } => {
                let ms = self.change.length_ns() as f64 / 1e6;
                let (from, to) = (name(from), name(to));
                write!(f, "{from} -> {to} held for {ms:.1} ms from {begins} on")
            }
            Change::Lose { from, to, .. } => {
                write!(
                    f,
                    "a packet {} -> {} lost at {begins}",
                    name(from),
                    name(to)
                )
            }
            Change::Repeat {
                from, to, again, ..
            } => {
                let again = seconds(again.ns);
                let (from, to) = (name(from), name(to));
                write!(
                    f,
                    "a packet {from} -> {to} of {begins} once more at {again}"
                )
            }
            Change::Delay {
                from, to, until, ..
            } => {
                let until = seconds(until.ns);
                let (from, to) = (name(from), name(to));
                write!(
                    f,
                    "a packet {from} -> {to} of {begins} comes at {until}, behind later ones"
                )
            }
            Change::Stop { node, .. } => write!(f, "{} dies at {begins}", name(node)),
        }
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

/// The fate of a packet under these changes, in whatever order they stand. Holds keep the order of a link: who
/// comes later is held by all that hold who comes before, or comes behind their ends.
pub(super) fn fate(changes: &[Change], link: (usize, usize), natural: Moment) -> Fate {
    let mut fate = Fate {
        comes: Some(natural),
        again: None,
    };
    for change in changes {
        if change.link() != Some(link) {
            continue;
        }
        match *change {
            Change::Hold { since, until, .. } => {
                let held = (since..until).contains(&natural);
                fate.comes = fate.comes.map(|at| if held { at.max(until) } else { at });
            }
            Change::Delay { at, until, .. } if at == natural => {
                fate.comes = fate.comes.map(|at| at.max(until));
            }
            Change::Lose { at, .. } if at == natural => fate.comes = None,
            Change::Repeat { at, again, .. } if at == natural => fate.again = Some(again),
            _ => {}
        }
    }
    fate
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(turn: u32) -> Moment {
        Moment {
            turn,
            ns: i64::from(turn) * 1_000_000,
        }
    }

    #[test]
    fn a_held_link_gives_all_at_its_end() {
        let hold = Change::Hold {
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
        let hold = |since, until| Change::Hold {
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
    fn a_change_in_words() {
        let hold = Change::Hold {
            from: 0,
            to: 1,
            since: at(3),
            until: at(7),
        };
        let name = |node: usize| ["A", "X"][node].to_owned();
        let words = hold.words(&name).to_string();
        assert_eq!(words, "A -> X held for 4.0 ms from 0.003 s on");
    }
}
