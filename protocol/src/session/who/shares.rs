//! Ends in parts, by the first bits of their hashes.

use std::ops::Range;

use super::roads::Roads;
use crate::session::bits::Bits;
use crate::session::read::ends::Side;
use crate::session::weave::end::{End, sort};

/// So many parts are gathered in one pass over all hashes at most. More take more memory.
const TOGETHER: usize = 4;

/// The parts, some of them together: as many as are gathered in one pass, and not so many that a worker
/// has nothing to do.
pub(crate) fn together(parts: u64, workers: usize) -> Vec<Range<u64>> {
    let each = (parts as usize / workers.max(1)).clamp(1, TOGETHER) as u64;
    let firsts = (0..parts).step_by(each as usize);
    firsts.map(|first| first..parts.min(first + each)).collect()
}

/// About so many ends are sorted at a time: what a processor holds close by.
const TRAY: usize = 256;

/// The ends of one part.
#[derive(Default)]
pub(crate) struct Share {
    part: u64,
    bits: u32,
    /// Of each end the hash of its bytes, and its place among those of its side.
    hashes: Vec<u64>,
    places: Vec<u32>,
    /// Whose they are: the reel, the side, and where the next side's begin.
    sides: Vec<(usize, Side, usize)>,
}

/// The part that a hash belongs to, of `1 << bits`.
fn part_of(hash: u64, bits: u32) -> u64 {
    hash >> 1 >> (u64::BITS - 1 - bits)
}

impl Share {
    fn push(&mut self, place: usize, hash: u64) {
        self.places.push(place as u32);
        self.hashes.push(hash);
    }

    /// Whether a hash is of this part.
    pub fn has(&self, hash: u64) -> bool {
        part_of(hash, self.bits) == self.part
    }

    /// How many ends there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// All, each with its reel, its side, its place there, and its hash.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Side, usize, u64)> + '_ {
        let mut first = 0;
        self.sides.iter().flat_map(move |&(reel, side, until)| {
            let own = std::mem::replace(&mut first, until)..until;
            let places = self.places.get(own.clone()).unwrap_or(&[]).iter();
            let hashes = self.hashes.get(own).unwrap_or(&[]);
            let own = places.zip(hashes);
            own.map(move |(&place, &hash)| (reel, side, place as usize, hash))
        })
    }

    /// Puts the end of each place into `ends`, which is empty, as [`sort`] orders them. Each is laid
    /// into the tray of its hash, and each tray is sorted by itself. Returns whether all places have
    /// an end; `ends` is of no use where one has none.
    pub fn sort(
        &self,
        ends: &mut Vec<End>,
        end: impl Fn((usize, Side, usize), u64) -> Option<End>,
    ) -> bool {
        let trays = (self.len() / TRAY).max(1).next_power_of_two();
        let bits = trays.trailing_zeros();
        let tray = |hash: u64| part_of(hash.checked_shl(self.bits).unwrap_or(0), bits) as usize;
        let mut until = vec![0; trays];
        for &hash in &self.hashes {
            if let Some(count) = until.get_mut(tray(hash)) {
                *count += 1;
            }
        }
        // Where each begins; where it ends once all are laid.
        let mut all = 0;
        for each in &mut until {
            all += std::mem::replace(each, all);
        }
        ends.resize(self.len(), End::NONE);
        for (reel, side, place, hash) in self.iter() {
            let Some(end) = end((reel, side, place), hash) else {
                return false;
            };
            if let Some(at) = until.get_mut(tray(hash))
                && let Some(slot) = ends.get_mut(*at)
            {
                *slot = end;
                *at += 1;
            }
        }
        let mut from = 0;
        let mut scratch = Scratch::default();
        for until in until {
            let tray = ends.get_mut(from..until).unwrap_or(&mut []);
            scratch.sort(tray, self.bits + bits);
            from = until;
        }
        true
    }

    /// Takes those of some hashes that are of one of the parts that `shares` begin with, which are one
    /// behind the other; `first` is the place of the first hash.
    fn gather(shares: &mut [Share], first: usize, hashes: &[u64]) {
        let Some((part, bits)) = shares.first().map(|share| (share.part, share.bits)) else {
            return;
        };
        let count = shares.len() as u64;
        let mut found = [0; GATHERED];
        for (nth, some) in hashes.chunks(GATHERED).enumerate() {
            let mut all = 0;
            for (at, &hash) in some.iter().enumerate() {
                // Whether it is one is not foreseen: it is noted, and the next one in its place where
                // it is not.
                found[all] = at;
                all += usize::from(part_of(hash, bits).wrapping_sub(part) < count);
            }
            for &at in &found[..all] {
                let hash = some[at];
                let share = shares.get_mut((part_of(hash, bits) - part) as usize);
                if let Some(share) = share {
                    share.push(first + nth * GATHERED + at, hash);
                }
            }
        }
    }
}

/// So many hashes are looked at before those of them are taken that are wanted.
const GATHERED: usize = 512;

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
    /// settled, of each side of each reel, are left out.
    pub fn shares(&self, parts: Range<u64>, bits: u32, settled: &[[Bits; 3]]) -> Vec<Share> {
        let all: usize = self.scans.iter().map(|scan| scan.packets()).sum();
        let is_settled = settled.iter().flatten().any(|it| !it.is_empty());
        let some = if is_settled { 0 } else { all >> bits };
        let shares = parts.clone().map(|part| Share {
            part,
            bits,
            // Parts differ by a little.
            hashes: Vec::with_capacity(some + some / 64),
            places: Vec::with_capacity(some + some / 64),
            sides: Vec::new(),
        });
        let mut shares: Vec<Share> = shares.collect();
        let mut own: Vec<End> = Vec::new();
        for (reel, scan) in self.scans.iter().enumerate() {
            for side in Side::ALL {
                let ends = scan.side(side);
                let hashes = ends.hashes();
                let mut take = |place: usize, hash: u64| {
                    if !self.is_trimmed() {
                        let at = part_of(hash, bits).wrapping_sub(parts.start);
                        if let Some(share) = shares.get_mut(at as usize) {
                            share.push(place, hash);
                        }
                        return;
                    }
                    own.clear();
                    self.ends_at(reel, side, place, &mut own);
                    for share in &mut shares {
                        if own.iter().any(|end| share.has(end.hash)) {
                            share.push(place, hash);
                        }
                    }
                };
                let settled = settled.get(reel).map(|it| &it[side as usize]);
                match settled.filter(|it| !it.is_empty()) {
                    Some(settled) => {
                        let others = settled.others(ends.len() as u32);
                        let others = others.map(|place| place as usize);
                        others
                            .filter_map(|place| Some((place, *hashes.get(place)?)))
                            .for_each(|(place, hash)| take(place, hash));
                    }
                    None if !self.is_trimmed() => {
                        for (first, hashes) in hashes.pieces() {
                            Share::gather(&mut shares, first, hashes);
                        }
                    }
                    None => {
                        for (first, hashes) in hashes.pieces() {
                            let hashes = (first..).zip(hashes);
                            hashes.for_each(|(place, &hash)| take(place, hash));
                        }
                    }
                }
                for share in &mut shares {
                    share.sides.push((reel, side, share.places.len()));
                }
            }
        }
        shares
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
            let mut share = Share {
                bits,
                ..Share::default()
            };
            for place in 0..count {
                drawn = drawn.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                // Some are equal.
                let hash = if place % 3 == 0 {
                    1 << 40
                } else {
                    drawn >> bits
                };
                share.push(place, hash);
            }
            share.sides.push((2, Side::Receive, count));
            let end = |(reel, side, place): (usize, Side, usize), hash: u64| {
                Some(End {
                    hash,
                    place: place as u32,
                    reel: reel as u16,
                    side,
                    from: (place % 5) as u16,
                    ..End::NONE
                })
            };
            let mut plain: Vec<End> = share
                .iter()
                .filter_map(|(reel, side, place, hash)| end((reel, side, place), hash))
                .collect();
            sort(&mut plain);
            let mut ends = Vec::new();
            assert!(share.sort(&mut ends, end));
            assert_eq!(ends, plain);
            ends.clear();
            assert!(!share.sort(&mut ends, |_, _| None));
        }
    }

    #[test]
    fn a_hash_is_of_the_part_that_its_first_bits_tell() {
        assert_eq!(part_of(u64::MAX, 0), 0);
        assert_eq!(part_of(u64::MAX, 3), 7);
        assert_eq!(part_of(1 << 63, 3), 4);
    }
}
