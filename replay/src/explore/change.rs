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
    /// A node stands still, and then plays at once what it would have played meanwhile: its ticks and its
    /// game's calls. It finds all packets there that came meanwhile, and what it sends leaves then.
    Pause {
        /// The node.
        node: usize,
        /// Its first turn that is late.
        since: Moment,
        /// The turn before which all that were late are played.
        until: Moment,
    },
}

impl Change {
    /// When it begins, on the session's clock, in nanoseconds.
    pub fn begins_ns(&self) -> i64 {
        match self {
            Change::Hold { since, .. } | Change::Pause { since, .. } => since.ns,
            Change::Lose { at, .. } | Change::Repeat { at, .. } | Change::Delay { at, .. } => at.ns,
            Change::Stop { ns, .. } => *ns,
        }
    }

    /// When its own effect is over; what follows from it goes on.
    pub fn ends_ns(&self) -> i64 {
        match self {
            Change::Hold { until, .. }
            | Change::Delay { until, .. }
            | Change::Pause { until, .. } => until.ns,
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
            Change::Pause { node, since, .. } => (node, since.turn),
        }
    }

    /// The node, and its turn, in which its own effect is over.
    pub(super) fn last_turn(&self) -> (usize, u32) {
        match *self {
            Change::Hold { to, until, .. } | Change::Delay { to, until, .. } => (to, until.turn),
            Change::Repeat { to, again, .. } => (to, again.turn),
            Change::Pause { node, until, .. } => (node, until.turn),
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
            Change::Stop { .. } | Change::Pause { .. } => None,
        }
    }

    /// The node that is given packets at other times than without it; `None` where none is.
    pub(super) fn moves_at(&self) -> Option<usize> {
        match *self {
            Change::Pause { node, .. } => Some(node),
            _ => self.link().map(|(_, to)| to),
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
            Change::Pause { node, .. } => {
                let ms = self.change.length_ns() as f64 / 1e6;
                let node = name(node);
                write!(f, "{node} stands still for {ms:.1} ms from {begins} on")
            }
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

#[cfg(test)]
mod tests {
    use super::*;

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
