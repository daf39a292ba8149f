//! Where the ends of all reels stand.

use serde::{Deserialize, Serialize};

use super::matching::End;
use super::weaver::Woven;
use crate::session::SessionError;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;

/// An end, by its place among all ends of the session: those of the first reel first, of each reel
/// the sends, the receipts, and what was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct EndId(pub u32);

/// Where the ends of each side of each reel begin.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Places {
    starts: Vec<u32>,
    all: u32,
}

impl Places {
    /// # Errors
    /// There are more ends than can be numbered.
    pub fn new(scans: &[Scan]) -> Result<Places, SessionError> {
        let mut starts = Vec::with_capacity(scans.len() * Side::ALL.len());
        let mut all = 0u64;
        for scan in scans {
            for side in Side::ALL {
                starts.push(all as u32);
                all += scan.side(side).len() as u64;
            }
        }
        // The highest ones mean something else.
        if all >= u64::from(Woven::TAKEN) {
            return Err(SessionError::TooLarge {
                what: format!("{all} sends and receipts, and ids go up to {}", u32::MAX),
            });
        }
        let all = all as u32;
        Ok(Places { starts, all })
    }

    /// How many ends there are.
    pub fn len(&self) -> usize {
        self.all as usize
    }

    pub fn id(&self, reel: usize, side: Side, place: usize) -> EndId {
        let start = self.starts.get(reel * Side::ALL.len() + side as usize);
        EndId(start.copied().unwrap_or(0) + place as u32)
    }

    pub fn of(&self, end: &End) -> EndId {
        self.id(usize::from(end.reel), end.side, end.place as usize)
    }

    /// Its reel, its side, and its place there.
    pub fn find(&self, end: EndId) -> (usize, Side, usize) {
        let after = self.starts.partition_point(|&start| start <= end.0);
        let at = after.saturating_sub(1);
        let start = self.starts.get(at).copied().unwrap_or(0);
        let side = Side::ALL[at % Side::ALL.len()];
        (at / Side::ALL.len(), side, (end.0 - start) as usize)
    }
}
