//! What tells packets, of all sides of all reels, in one order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use super::order::Key;
use super::places::EndId;
use super::woven::Woven;
use crate::session::Link;
use crate::session::read::ends::Side;

/// What tells a packet.
pub(super) enum PacketSource {
    /// An end, its reel, side and place there, and the link of its packet.
    End(EndId, (u16, Side, u32), Link),
    /// It is told apart from the others: its place among those.
    Odd(usize),
}

/// What tells packets, in order.
pub(super) type Stream<'a> = Box<dyn Iterator<Item = (Key, PacketSource)> + Send + 'a>;

/// Streams that become one: of those whose next have one key, the first stream's comes first.
pub(super) struct Merge<'a> {
    streams: Vec<Stream<'a>>,
    /// What is next of each stream.
    waiting: Vec<Option<PacketSource>>,
    /// The streams that have not ended.
    heap: BinaryHeap<Reverse<(Key, usize)>>,
}

impl<'a> Merge<'a> {
    pub fn new(mut streams: Vec<Stream<'a>>) -> Merge<'a> {
        let mut heap = BinaryHeap::new();
        let mut waiting = Vec::new();
        for (place, stream) in streams.iter_mut().enumerate() {
            let next = stream.next();
            heap.extend(next.as_ref().map(|(key, _)| Reverse((*key, place))));
            waiting.push(next.map(|(_, told)| told));
        }
        Merge {
            streams,
            waiting,
            heap,
        }
    }

    /// The same, this many together each time.
    pub fn batches(
        mut self,
        count: usize,
    ) -> impl Iterator<Item = Vec<(Key, PacketSource)>> + Send + 'a {
        std::iter::from_fn(move || {
            let batch: Vec<(Key, PacketSource)> = self.by_ref().take(count).collect();
            (!batch.is_empty()).then_some(batch)
        })
    }
}

impl Iterator for Merge<'_> {
    type Item = (Key, PacketSource);

    fn next(&mut self) -> Option<(Key, PacketSource)> {
        let mut top = self.heap.peek_mut()?;
        let Reverse((due_at, place)) = *top;
        let after = self.streams.get_mut(place)?.next();
        let slot = self.waiting.get_mut(place)?;
        let due = match after {
            Some((key, told)) => {
                *top = Reverse((key, place));
                slot.replace(told)
            }
            None => {
                PeekMut::pop(top);
                slot.take()
            }
        };
        Some((due_at, due?))
    }
}

/// Which ends tell packets, a bit each.
pub(super) struct Tells(Vec<u64>);

impl Tells {
    pub fn new(partners: &[u32]) -> Tells {
        let words = partners.chunks(64).map(|some| {
            let bits = some
                .iter()
                .enumerate()
                .map(|(at, &partner)| u64::from(partner != Woven::TAKEN) << at);
            bits.fold(0, |word, bit| word | bit)
        });
        Tells(words.collect())
    }

    /// How many of these tell packets.
    pub fn count(&self, ends: Range<usize>) -> usize {
        let words = self.words(ends);
        words.map(|(_, word)| word.count_ones() as usize).sum()
    }

    /// Those of these that tell packets, in order.
    pub fn those(&self, ends: Range<usize>) -> impl Iterator<Item = EndId> + '_ {
        self.words(ends).flat_map(|(first, mut word)| {
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some(EndId(first as u32 + bit))
            })
        })
    }

    /// The words that have some ends, each with its first one, without the bits of others.
    fn words(&self, ends: Range<usize>) -> impl Iterator<Item = (usize, u64)> + '_ {
        let words = ends.start / 64..ends.end.div_ceil(64);
        words.map(move |at| {
            let first = at * 64;
            let bits = |count: usize| u64::MAX.checked_shl(count as u32).unwrap_or(0);
            let own = bits(ends.start.saturating_sub(first)) & !bits(ends.end - first);
            (first, self.0.get(at).copied().unwrap_or(0) & own)
        })
    }

    pub fn get(&self, end: EndId) -> bool {
        let word = self.0.get(end.0 as usize / 64).copied().unwrap_or(0);
        word >> (end.0 % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_stretch_that_tell_packets_are_found_by_their_bits() {
        let taken = |end: usize| end.is_multiple_of(3) || (70..300).contains(&end);
        let partners: Vec<u32> = (0..1000)
            .map(|end| match taken(end) {
                true => Woven::TAKEN,
                false => Woven::ALONE,
            })
            .collect();
        let tells = Tells::new(&partners);
        for ends in [0..1000, 0..0, 5..64, 64..128, 63..65, 69..301, 999..1000] {
            let those: Vec<usize> = tells.those(ends.clone()).map(|it| it.0 as usize).collect();
            let expected: Vec<usize> = ends.clone().filter(|&end| !taken(end)).collect();
            assert_eq!(tells.count(ends), expected.len());
            assert_eq!(those, expected);
        }
    }
}
