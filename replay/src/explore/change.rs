//! What an exploration does to the network of a recording.

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
