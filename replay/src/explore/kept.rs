//! An exploration that ended before it was whole, and what it takes to go on with it.

use std::collections::{BTreeSet, VecDeque};

use bincode::config::standard;
use serde::{Deserialize, Serialize};

use super::run::Outcome;
use super::waiting::{Counts, Waiting, Way};

/// So many ways are drawn before they are played, at most.
const DRAWN_AHEAD: u64 = 64;

/// No exploration takes so many bytes: a length beyond it is not believed.
const BYTES_MAX: usize = 1 << 30;

/// How far an exploration came: what it has tried, what waits, and what was wrong. It goes on with the same
/// session, layers and limits only, those of runs and threads apart; whoever keeps it looks to that.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    pub(super) counts: Counts,
    pub(super) waiting: Waiting,
    pub(super) outcomes: BTreeSet<Outcome>,
    /// How many ways were drawn by chance.
    pub(super) drawn: u64,
    /// Ways that are due, before any that wait.
    pub(super) due: VecDeque<Way>,
}

impl Kept {
    /// How far it came.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        bincode::serde::encode_to_vec(self, standard()).unwrap_or_default()
    }

    /// Reads [`Kept::to_bytes`]; `None` where the bytes are not whole.
    pub fn from_bytes(bytes: &[u8]) -> Option<Kept> {
        let read = bincode::serde::decode_from_slice::<Kept, _>(
            bytes,
            standard().with_limit::<BYTES_MAX>(),
        );
        let (kept, taken) = read.ok()?;
        let is_drawn = kept.drawn <= kept.counts.runs.saturating_add(DRAWN_AHEAD);
        (taken == bytes.len() && is_drawn).then_some(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::super::change::{Change, ChangeKind, Moment};
    use super::super::tables::Parting;
    use super::*;

    fn kept() -> Kept {
        let at = |turn: u32| Moment {
            turn,
            ns: i64::from(turn) - 5,
        };
        let kinds = [
            ChangeKind::Hold,
            ChangeKind::Lose,
            ChangeKind::Repeat,
            ChangeKind::Delay,
            ChangeKind::Stop,
            ChangeKind::Pause,
        ];
        let changes = kinds.map(|kind| Change {
            kind,
            from: 1,
            to: 2,
            since: at(1),
            until: at(9),
        });
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
