//! An exploration that ended before it was whole, and what it takes to go on with it.

use std::collections::{BTreeSet, VecDeque};

use super::bytes::{Bytes, fields};
use super::change::{Change, Moment};
use super::counts::Counts;
use super::outcome::Outcome;
use super::tables::Parting;
use super::waiting::{Waiting, Way};

/// So many ways are drawn before they are played, at most.
const DRAWN_AHEAD: u64 = 64;

/// How far an exploration came: what it has tried, what waits, and what was wrong. It goes on with the same
/// session, layers and limits only, those of runs and threads apart; whoever keeps it looks to that.
#[derive(Debug, Default)]
pub struct Kept {
    pub(super) counts: Counts,
    pub(super) waiting: Waiting,
    pub(super) outcomes: BTreeSet<Outcome>,
    /// How many ways were drawn by chance.
    pub(super) drawn: u64,
    /// Ways that are due, before any that wait.
    pub(super) due: VecDeque<Way>,
}

fields!(Kept {
    counts,
    waiting,
    outcomes,
    drawn,
    due,
});

impl Kept {
    /// How far it came.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    /// Reads [`Kept::to_bytes`]; `None` where the bytes are not whole.
    pub fn from_bytes(bytes: &[u8]) -> Option<Kept> {
        let mut bytes = bytes;
        let kept = Kept::read(&mut bytes)?;
        let is_drawn = kept.drawn <= kept.counts.runs.saturating_add(DRAWN_AHEAD);
        (bytes.is_empty() && is_drawn).then_some(kept)
    }
}

fields!(Moment { turn, ns });

fields!(Counts {
    runs,
    turns,
    orders,
    saved,
    unreached,
    wrong,
    waiting,
    given_up,
});

fields!(Outcome {
    partings,
    broken,
    panicked,
});

impl Bytes for Parting {
    fn write(&self, out: &mut Vec<u8>) {
        let number: u8 = match self {
            Parting::Existence => 0,
            Parting::Owner => 1,
            Parting::Values => 2,
        };
        number.write(out);
    }

    fn read(from: &mut &[u8]) -> Option<Parting> {
        match u8::read(from)? {
            0 => Some(Parting::Existence),
            1 => Some(Parting::Owner),
            2 => Some(Parting::Values),
            _ => None,
        }
    }
}

/// A change is a number for its kind, two for whom it meets, and two moments.
impl Bytes for Change {
    fn write(&self, out: &mut Vec<u8>) {
        let none = Moment::default();
        let row: (u8, (usize, usize), Moment, Moment) = match *self {
            Change::Hold {
                from,
                to,
                since,
                until,
            } => (0, (from, to), since, until),
            Change::Lose { from, to, at } => (1, (from, to), at, none),
            Change::Repeat {
                from,
                to,
                at,
                again,
            } => (2, (from, to), at, again),
            Change::Delay {
                from,
                to,
                at,
                until,
            } => (3, (from, to), at, until),
            Change::Stop { node, turn, ns } => (4, (node, 0), Moment { turn, ns }, none),
            Change::Pause { node, since, until } => (5, (node, 0), since, until),
        };
        row.write(out);
    }

    fn read(from: &mut &[u8]) -> Option<Change> {
        let (kind, (node, to), at, until) = <(u8, (usize, usize), Moment, Moment)>::read(from)?;
        let from = node;
        Some(match kind {
            0 => Change::Hold {
                from,
                to,
                since: at,
                until,
            },
            1 => Change::Lose { from, to, at },
            2 => Change::Repeat {
                from,
                to,
                at,
                again: until,
            },
            3 => Change::Delay {
                from,
                to,
                at,
                until,
            },
            4 => Change::Stop {
                node,
                turn: at.turn,
                ns: at.ns,
            },
            5 => Change::Pause {
                node,
                since: at,
                until,
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> Kept {
        let at = |turn: u32| Moment {
            turn,
            ns: i64::from(turn) - 5,
        };
        let (from, to) = (1, 2);
        let changes = [
            Change::Hold {
                from,
                to,
                since: at(1),
                until: at(9),
            },
            Change::Lose {
                from,
                to,
                at: at(2),
            },
            Change::Repeat {
                from,
                to,
                at: at(3),
                again: at(4),
            },
            Change::Delay {
                from,
                to,
                at: at(3),
                until: at(6),
            },
            Change::Stop {
                node: 3,
                turn: 7,
                ns: 8,
            },
            Change::Pause {
                node: 3,
                since: at(7),
                until: at(9),
            },
        ];
        let outcome = Outcome {
            partings: vec![(41, Parting::Owner, vec![0, 3])],
            broken: vec![(1, "it is".to_owned())],
            panicked: None,
        };
        Kept {
            drawn: 12,
            due: [Way {
                before: changes.into(),
                change: None,
                meant: None,
            }]
            .into(),
            outcomes: [outcome].into(),
            ..Kept::default()
        }
    }

    #[test]
    fn what_was_kept_is_taken_up() {
        let kept = kept();
        let bytes = kept.to_bytes();
        let again = Kept::from_bytes(&bytes).expect("it is whole");
        assert_eq!(format!("{again:?}"), format!("{kept:?}"));
    }

    #[test]
    fn what_is_not_whole_is_not_taken_up() {
        let bytes = kept().to_bytes();
        for length in 0..bytes.len() {
            assert!(Kept::from_bytes(&bytes[..length]).is_none());
        }
    }
}
