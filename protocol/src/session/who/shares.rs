//! Ends in parts, by the first bits of their hashes.

use std::ops::Range;

use netreel_table::CHUNK;

use super::roads::Roads;
use crate::session::bits::Bits;
use crate::session::read::ends::{EndAt, Side};
use crate::session::weave::end::{End, sort};

/// How many parts are gathered in one pass over all hashes at most. More take more memory.
const TOGETHER: usize = 6;

/// The parts, some of them together: as many as are gathered in one pass, and not so many that a worker
/// has nothing to do.
pub(crate) fn together(parts: u64, workers: usize) -> Vec<Range<u64>> {
    let each = (parts as usize / workers.max(1)).clamp(1, TOGETHER) as u64;
    let firsts = (0..parts).step_by(each as usize);
    firsts.map(|first| first..parts.min(first + each)).collect()
}

/// About this many ends are sorted at a time: what a processor holds close by.
const TRAY: usize = 256;

/// The ends of one part, in the order of the reels.
#[derive(Default)]
pub(crate) struct Share {
    /// What all have in common: this many of the first bits of their hashes.
    bits: u32,
    /// See [`End`]: a row an end.
    hashes: Vec<u64>,
    places: Vec<u32>,
    wholes: Vec<u32>,
    links: Vec<(u16, u16)>,
    /// Of those that follow each other the reel, the side, and whether they are shared; and where
    /// others begin.
    runs: Vec<((u16, Side, bool), usize)>,
}

/// The part that a hash belongs to, of `1 << bits`.
fn part_of(hash: u64, bits: u32) -> u64 {
    hash >> 1 >> (u64::BITS - 1 - bits)
}

impl Share {
    fn new(bits: u32, count: usize) -> Share {
        Share {
            bits,
            hashes: Vec::with_capacity(count),
            places: Vec::with_capacity(count),
            wholes: Vec::with_capacity(count),
            links: Vec::with_capacity(count),
            runs: Vec::new(),
        }
    }

    fn push(&mut self, end: &End) {
        self.hashes.push(end.hash);
        self.places.push(end.place);
        self.wholes.push(end.whole);
        self.links.push((end.from, end.to));
        let of = (end.reel, end.side, end.shared);
        let until = self.hashes.len();
        match self.runs.last_mut() {
            Some((last, own)) if *last == of => *own = until,
            _ => self.runs.push((of, until)),
        }
    }

    /// How many ends there are.
    fn len(&self) -> usize {
        self.hashes.len()
    }

    /// All.
    pub fn ends(&self) -> impl Iterator<Item = End> + '_ {
        let mut first = 0;
        self.runs.iter().flat_map(move |&(of, until)| {
            let own = std::mem::replace(&mut first, until)..until;
            let (reel, side, shared) = of;
            let places = self.places[own.clone()].iter();
            let wholes = self.wholes[own.clone()].iter();
            let links = self.links[own.clone()].iter();
            let rows = self.hashes[own].iter().zip(places).zip(wholes.zip(links));
            rows.map(move |((&hash, &place), (&whole, &(from, to)))| End {
                hash,
                whole,
                place,
                from,
                to,
                reel,
                side,
                shared,
            })
        })
    }

    /// Puts all into `ends`, in place of what that holds, as [`sort`] orders them. Each is laid into
    /// the tray of its hash, and each tray is sorted by itself.
    pub fn sorted(&self, ends: &mut Vec<End>) {
        let trays = (self.len() / TRAY).max(1).next_power_of_two();
        let bits = trays.trailing_zeros();
        let tray = |hash: u64| part_of(hash.checked_shl(self.bits).unwrap_or(0), bits) as usize;
        let mut until = vec![0; trays];
        for &hash in &self.hashes {
            until[tray(hash)] += 1;
        }
        // Where each begins; where it ends once all are laid.
        let mut all = 0;
        for each in &mut until {
            all += std::mem::replace(each, all);
        }
        ends.clear();
        ends.resize(self.len(), End::NONE);
        self.ends().for_each(|end| {
            let at = &mut until[tray(end.hash)];
            ends[*at] = end;
            *at += 1;
        });
        let mut from = 0;
        let mut scratch = Scratch::default();
        for until in until {
            scratch.sort(&mut ends[from..until], self.bits + bits);
            from = until;
        }
    }
}

/// Parts that are gathered together, one behind the other.
struct Gathering<'a> {
    roads: &'a Roads<'a>,
    first: u64,
    bits: u32,
    shares: Vec<Share>,
    /// The ends of an event.
    own: Vec<End>,
}

impl Gathering<'_> {
    /// Takes an end, where it is of one of them.
    fn push(&mut self, end: &End) {
        let at = part_of(end.hash, self.bits).wrapping_sub(self.first);
        if let Some(share) = self.shares.get_mut(at as usize) {
            share.push(end);
        }
    }

    /// Takes the ends of an event, whose bytes in the reel have this hash.
    fn take(&mut self, of: EndAt, hash: u64) {
        if self.roads.is_plain(of.1) {
            if let Some(end) = self.roads.only_end(of, hash) {
                self.push(&end);
            }
            return;
        }
        let mut own = std::mem::take(&mut self.own);
        self.roads.ends_at(of, &mut own);
        own.drain(..).for_each(|end| self.push(&end));
        self.own = own;
    }

    /// Takes the ends of a plain side that have these hashes, no more than a chunk, the first of which is of
    /// this place.
    fn take_all(&mut self, (reel, side): (usize, Side), first: usize, hashes: &[u64]) {
        let count = self.shares.len() as u64;
        let mut found = [0; CHUNK];
        let mut all = 0;
        for (at, &hash) in hashes.iter().enumerate().take(CHUNK) {
            // Whether it is one is not foreseen: it is noted, and the next one in its place where it is
            // not.
            found[all] = at;
            all += usize::from(part_of(hash, self.bits).wrapping_sub(self.first) < count);
        }
        for &at in &found[..all] {
            self.take((reel, side, first + at), hashes[at]);
        }
    }
}

/// Ends of a tray that are put in order.
#[derive(Default)]
struct Scratch {
    /// Of each end the bits of its hash behind those that all have in common, and its place.
    keys: Vec<u64>,
    ends: Vec<End>,
}

impl Scratch {
    /// Puts ends as [`sort`] orders them, whose hashes have the first `bits` in common.
    fn sort(&mut self, ends: &mut [End], bits: u32) {
        const PLACE: u64 = u16::MAX as u64;
        if ends.len() > PLACE as usize {
            return sort(ends);
        }
        let key = |hash: u64| hash.checked_shl(bits).unwrap_or(0) & !PLACE;
        let keys = (0..).zip(ends.iter());
        self.keys.clear();
        self.keys.extend(keys.map(|(at, end)| key(end.hash) | at));
        self.keys.sort_unstable();
        self.ends.clear();
        self.ends.extend_from_slice(ends);
        for (slot, at) in ends.iter_mut().zip(&self.keys) {
            *slot = self.ends[(at & PLACE) as usize];
        }
        let alike = |one: &End, other: &End| key(one.hash) == key(other.hash);
        ends.chunk_by_mut(alike)
            .filter(|alike| alike.len() > 1)
            .for_each(sort);
    }
}

impl Roads<'_> {
    /// The ends whose hash is of some parts of `1 << bits`, for each part by itself. Those that are
    /// `known`, of each side of each reel, are left out.
    pub fn shares(&self, parts: Range<u64>, bits: u32, known: &[[Bits; 3]]) -> Vec<Share> {
        let all: usize = self.scans.iter().map(|scan| scan.packets()).sum();
        let left_out: usize = known.iter().flatten().map(Bits::len).sum();
        let some = all.saturating_sub(left_out) >> bits;
        // Parts differ by a little.
        let share = |_| Share::new(bits, some + some / 64);
        let mut gathering = Gathering {
            roads: self,
            first: parts.start,
            bits,
            shares: parts.map(share).collect(),
            own: Vec::new(),
        };
        for (reel, scan) in self.scans.iter().enumerate() {
            for side in Side::ALL {
                let ends = scan.side(side);
                let hashes = ends.hashes();
                let known = known.get(reel).map(|it| &it[side as usize]);
                if let Some(known) = known.filter(|it| !it.is_empty()) {
                    let mut hash = hashes.cursor();
                    for place in known.others(ends.len() as u32) {
                        let place = place as usize;
                        if place < hashes.len() {
                            gathering.take((reel, side, place), hash.get(place));
                        }
                    }
                    continue;
                }
                hashes.for_each_chunk(|first, hashes| {
                    if self.is_plain(side) {
                        return gathering.take_all((reel, side), first, hashes);
                    }
                    for (place, &hash) in (first..).zip(hashes) {
                        gathering.take((reel, side, place), hash);
                    }
                });
            }
        }
        gathering.shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_gathered_once_whoever_works() {
        for (parts, workers) in [(1, 1), (1, 2), (2, 2), (32, 2), (32, 7), (64, 1)] {
            let all: Vec<u64> = together(parts, workers).into_iter().flatten().collect();
            assert_eq!(all, (0..parts).collect::<Vec<_>>());
        }
    }

    #[test]
    fn ends_that_are_laid_into_trays_are_in_order() {
        let mut drawn = 1_u64;
        for (bits, count) in [(0, 1), (0, 7), (3, 5000), (5, 100_000)] {
            let mut share = Share::new(bits, 0);
            for place in 0..count {
                drawn = drawn.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                // Some are equal.
                let hash = if place % 3 == 0 {
                    1 << 40
                } else {
                    drawn >> bits
                };
                share.push(&End {
                    hash,
                    place,
                    reel: 2,
                    side: Side::Receive,
                    from: (place % 5) as u16,
                    ..End::NONE
                });
            }
            let mut plain: Vec<End> = share.ends().collect();
            sort(&mut plain);
            let mut ends = Vec::new();
            share.sorted(&mut ends);
            assert_eq!(ends, plain);
        }
    }

    #[test]
    fn a_hash_is_of_the_part_that_its_first_bits_tell() {
        assert_eq!(part_of(u64::MAX, 0), 0);
        assert_eq!(part_of(u64::MAX, 3), 7);
        assert_eq!(part_of(1 << 63, 3), 4);
    }
}
