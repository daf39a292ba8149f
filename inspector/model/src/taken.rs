//! Which packets a filter takes: a bit for each.

use netreel_protocol::session::PacketId;

/// Words between two counts.
const WORDS: usize = 8;

/// The packets that were taken of those that were looked at so far, in their order: a bit and an
/// eighth for each that was looked at.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    words: Vec<u64>,
    /// How many are taken before each [`WORDS`] words.
    before: Vec<u32>,
    looked: usize,
    count: usize,
}

impl Taken {
    /// Takes the next packet, or leaves it out.
    pub fn push(&mut self, is_taken: bool) {
        let bit = self.looked % 64;
        if bit == 0 {
            if self.words.len().is_multiple_of(WORDS) {
                self.before.push(self.count as u32);
            }
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut().filter(|_| is_taken) {
            *word |= 1 << bit;
            self.count += 1;
        }
        self.looked += 1;
    }

    /// How many were taken.
    pub fn len(&self) -> usize {
        self.count
    }

    /// How many were looked at.
    pub fn looked(&self) -> usize {
        self.looked
    }

    /// The packet of a row.
    pub fn get(&self, row: usize) -> Option<PacketId> {
        if row >= self.count {
            return None;
        }
        let block = self
            .before
            .partition_point(|&before| before as usize <= row)
            .checked_sub(1)?;
        let mut left = row - *self.before.get(block)? as usize;
        let words = self.words.iter().enumerate().skip(block * WORDS);
        for (place, &word) in words {
            let ones = word.count_ones() as usize;
            if left < ones {
                return Some(PacketId((place * 64) as u32 + nth(word, left)));
            }
            left -= ones;
        }
        None
    }

    /// Whether a packet is taken.
    pub fn has(&self, packet: PacketId) -> bool {
        let word = self.words.get(packet.0 as usize / 64);
        word.is_some_and(|word| word >> (packet.0 % 64) & 1 == 1)
    }

    /// How many packets before this one are taken: its row, where it is taken itself.
    pub fn row(&self, packet: PacketId) -> usize {
        let at = packet.0 as usize / 64;
        let Some(&word) = self.words.get(at) else {
            return self.count;
        };
        let block = at / WORDS;
        let before = self.before.get(block).copied().unwrap_or(0) as usize;
        let between: u32 = self
            .words
            .get(block * WORDS..at)
            .unwrap_or_default()
            .iter()
            .map(|word| word.count_ones())
            .sum();
        let below = (1u64 << (packet.0 % 64)) - 1;
        before + between as usize + (word & below).count_ones() as usize
    }

    /// How many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        self.words.capacity() * size_of::<u64>() + self.before.capacity() * size_of::<u32>()
    }
}

/// The packet of a row of those that were taken, or of all.
pub fn packet_of(taken: Option<&Taken>, row: usize) -> Option<PacketId> {
    match taken {
        Some(taken) => taken.get(row),
        None => Some(PacketId(row as u32)),
    }
}

/// The place of a word's set bit with this number.
fn nth(mut word: u64, number: usize) -> u32 {
    for _ in 0..number {
        word &= word.wrapping_sub(1);
    }
    word.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(count: u32, is_taken: impl Fn(u32) -> bool) {
        let mut taken = Taken::default();
        (0..count).for_each(|packet| taken.push(is_taken(packet)));
        let expected: Vec<u32> = (0..count).filter(|&packet| is_taken(packet)).collect();
        assert_eq!(
            (taken.len(), taken.looked()),
            (expected.len(), count as usize)
        );
        let rows = (0..=expected.len()).map_while(|row| taken.get(row));
        assert!(rows.map(|packet| packet.0).eq(expected.iter().copied()));
        for packet in 0..count + 3 {
            let before = expected.partition_point(|&each| each < packet);
            assert_eq!(taken.row(PacketId(packet)), before, "{packet}");
            let is_taken = expected.binary_search(&packet).is_ok();
            assert_eq!(taken.has(PacketId(packet)), is_taken, "{packet}");
        }
    }

    #[test]
    fn rows_and_packets_find_each_other() {
        check(0, |_| true);
        check(2_000, |_| true);
        check(2_000, |_| false);
        check(2_000, |packet| packet % 3 == 0);
        check(2_001, |packet| packet == 2_000 || packet == 0);
        check(1_537, |packet| packet.is_multiple_of(513));
    }
}
