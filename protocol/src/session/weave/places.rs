//! Where the ends of all reels stand.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::end::End;
use crate::session::SessionError;
use crate::session::read::ends::{EndAt, Side};
use crate::session::read::scan::Scan;

/// An end, by its place among all ends of the session: those of the first reel first, of each reel
/// the sends, the receipts, and what was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct EndId(pub u32);

impl EndId {
    /// Numbers from here on are no ends.
    pub const END: u32 = u32::MAX - 1;
}

/// Where the ends of each side of each reel stand.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Starts", into = "Starts")]
pub(crate) struct Places {
    starts: Starts,
    /// Of every so many numbers the side that has the first: where a search begins.
    nearby: Vec<u32>,
    /// The bits of a number that this does not tell.
    shift: u32,
}

/// Where each side begins, counted over all reels, and how many ends there are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Starts {
    sides: Vec<u32>,
    all: u32,
}

impl From<Starts> for Places {
    fn from(starts: Starts) -> Places {
        let shift = (u32::BITS - starts.all.leading_zeros()).saturating_sub(NEARBY_BITS);
        let firsts = (0..=starts.all >> shift).map(|first| first << shift);
        let side = |first: u32| starts.sides.partition_point(|&start| start <= first);
        let nearby = firsts.map(|first| side(first).saturating_sub(1) as u32);
        Places {
            nearby: nearby.collect(),
            shift,
            starts,
        }
    }
}

impl From<Places> for Starts {
    fn from(places: Places) -> Starts {
        places.starts
    }
}

/// A search begins at what this many bits of a number tell.
const NEARBY_BITS: u32 = 12;

impl Places {
    /// # Errors
    /// There are more ends than can be numbered.
    pub fn new(scans: &[Scan]) -> Result<Places, SessionError> {
        let mut all = 0;
        let lengths = scans
            .iter()
            .flat_map(|scan| Side::ALL.map(|side| scan.side(side).len() as u64));
        let starts = lengths.map(|length| {
            all += length;
            (all - length) as u32
        });
        let sides = starts.collect();
        // The highest ones mean something else.
        if all >= u64::from(EndId::END) {
            return Err(SessionError::TooLarge {
                what: format!("{all} sends and receipts, and ids go up to {}", u32::MAX),
            });
        }
        let all = all as u32;
        Ok(Starts { sides, all }.into())
    }

    /// How many ends there are.
    pub fn len(&self) -> usize {
        self.starts.all as usize
    }

    #[inline]
    fn start(&self, reel: usize, side: Side) -> u32 {
        let own = reel * Side::ALL.len() + side as usize;
        self.starts.sides.get(own).copied().unwrap_or(0)
    }

    #[inline]
    pub fn id(&self, reel: usize, side: Side, place: usize) -> EndId {
        EndId(self.start(reel, side) + place as u32)
    }

    pub fn of(&self, end: &End) -> EndId {
        let (reel, side, place) = end.at();
        self.id(reel, side, place)
    }

    /// Its reel, its side, and its place there.
    #[inline]
    pub fn find(&self, end: EndId) -> EndAt {
        let starts = &self.starts.sides;
        let nearby = self.nearby.get((end.0 >> self.shift) as usize);
        let mut at = nearby.map_or(0, |&at| at as usize);
        while starts.get(at + 1).is_some_and(|&start| start <= end.0) {
            at += 1;
        }
        let start = starts.get(at).copied().unwrap_or(0);
        let sides = Side::ALL.len();
        (at / sides, Side::ALL[at % sides], (end.0 - start) as usize)
    }

    /// The numbers of a side's ends.
    pub fn numbers(&self, reel: usize, side: Side) -> Range<usize> {
        let own = reel * Side::ALL.len() + side as usize;
        let next = self.starts.sides.get(own + 1).unwrap_or(&self.starts.all);
        self.start(reel, side) as usize..*next as usize
    }
}
