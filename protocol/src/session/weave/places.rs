//! Where the ends of all reels stand.

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

/// Where the ends of each side of each reel stand. A side whose reel grows has several stretches, with
/// room for more in the last, so that what has a number keeps it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Stretches", into = "Stretches")]
pub(crate) struct Places {
    stretches: Stretches,
    /// Of every so many numbers the stretch that has the first: where a search begins.
    nearby: Vec<u32>,
    /// The bits of a number that this does not tell.
    shift: u32,
}

/// The stretches of all sides.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Stretches {
    /// Where each begins.
    starts: Vec<u32>,
    /// Of each its side, counted over all reels, and its first place there.
    of: Vec<(u32, u32)>,
    /// Of each side its stretches: the first place, and where that stands. And for how many ends there
    /// is room.
    sides: Vec<(Vec<(u32, u32)>, u32)>,
    all: u32,
}

impl From<Stretches> for Places {
    fn from(stretches: Stretches) -> Places {
        let shift = (u32::BITS - stretches.all.leading_zeros()).saturating_sub(NEARBY_BITS);
        let firsts = (0..=stretches.all >> shift).map(|first| first << shift);
        let stretch = |first: u32| stretches.starts.partition_point(|&start| start <= first);
        let nearby = firsts.map(|first| stretch(first).saturating_sub(1) as u32);
        Places {
            nearby: nearby.collect(),
            shift,
            stretches,
        }
    }
}

impl From<Places> for Stretches {
    fn from(places: Places) -> Stretches {
        places.stretches
    }
}

/// How many ends are given room at least.
const ROOM_MIN: u64 = 1024;

/// A search begins at what this many bits of a number tell.
const NEARBY_BITS: u32 = 12;

impl Stretches {
    /// Gives each side room: `room` tells for how many more ends, by how many it is needed and for how
    /// many there was some.
    fn with(
        mut self,
        scans: &[Scan],
        room: impl Fn(u64, u64) -> u64,
    ) -> Result<Stretches, SessionError> {
        let count = scans.len() * Side::ALL.len();
        self.sides.resize_with(count, Default::default);
        let lengths = scans
            .iter()
            .flat_map(|scan| Side::ALL.map(|side| scan.side(side).len() as u64));
        let mut all = u64::from(self.all);
        for (of, (length, (stretches, known))) in lengths.zip(&mut self.sides).enumerate() {
            let before = u64::from(*known);
            if length <= before && !stretches.is_empty() {
                continue;
            }
            self.starts.push(all as u32);
            self.of.push((of as u32, *known));
            stretches.push((*known, all as u32));
            let more = room(length - before, before);
            *known = (before + more).min(u64::from(u32::MAX)) as u32;
            all += more;
        }
        // The highest ones mean something else.
        if all >= u64::from(EndId::END) {
            return Err(SessionError::TooLarge {
                what: format!("{all} sends and receipts, and ids go up to {}", u32::MAX),
            });
        }
        self.all = all as u32;
        Ok(self)
    }
}

impl Places {
    /// # Errors
    /// There are more ends than can be numbered.
    pub fn new(scans: &[Scan]) -> Result<Places, SessionError> {
        let stretches = Stretches::default();
        Ok(stretches.with(scans, |length, _| length)?.into())
    }

    /// The same for reels that have grown: all ends keep their numbers.
    ///
    /// # Errors
    /// As for [`Places::new`].
    pub fn grown(self, scans: &[Scan]) -> Result<Places, SessionError> {
        let room = |more: u64, before: u64| more.max(before / 2).max(ROOM_MIN);
        Ok(self.stretches.with(scans, room)?.into())
    }

    /// The stretches of a side: the first place, and where that stands.
    #[inline]
    fn side(&self, reel: usize, side: Side) -> &[(u32, u32)] {
        let sides = &self.stretches.sides;
        let own = sides.get(reel * Side::ALL.len() + side as usize);
        own.map_or(&[], |(stretches, _)| stretches)
    }

    /// For how many ends there is room.
    pub fn len(&self) -> usize {
        self.stretches.all as usize
    }

    #[inline]
    pub fn id(&self, reel: usize, side: Side, place: usize) -> EndId {
        let mut stretches = self.side(reel, side).iter().rev();
        let own = stretches.find(|(first, _)| *first as usize <= place);
        let &(first, start) = own.unwrap_or(&(0, 0));
        EndId(start + (place as u32 - first))
    }

    pub fn of(&self, end: &End) -> EndId {
        let (reel, side, place) = end.at();
        self.id(reel, side, place)
    }

    /// Its reel, its side, and its place there.
    #[inline]
    pub fn find(&self, end: EndId) -> EndAt {
        let Stretches { starts, of, .. } = &self.stretches;
        let nearby = self.nearby.get((end.0 >> self.shift) as usize);
        let mut at = nearby.map_or(0, |&at| at as usize);
        while starts.get(at + 1).is_some_and(|&start| start <= end.0) {
            at += 1;
        }
        let start = starts.get(at).copied().unwrap_or(0);
        let (of, first) = of.get(at).copied().unwrap_or_default();
        let (of, sides) = (of as usize, Side::ALL.len());
        let side = Side::ALL[of % sides];
        (of / sides, side, (end.0 - start + first) as usize)
    }

    /// The numbers of a side's first ends, in stretches.
    pub fn numbers(
        &self,
        (reel, side): (usize, Side),
        count: usize,
    ) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let stretches = self.side(reel, side);
        stretches
            .iter()
            .enumerate()
            .map(move |(at, &(first, start))| {
                let next = stretches.get(at + 1).map_or(count, |next| next.0 as usize);
                let length = next.min(count).saturating_sub(first as usize);
                start as usize..start as usize + length
            })
    }
}
