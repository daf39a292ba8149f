//! Places on a line, each with what stands there first.

use std::collections::BTreeMap;

/// How many places are kept together: numbers that follow each other take little more than
/// themselves, and one far from all others takes no more than these.
const CHUNK: usize = 32;

/// Nobody has this number.
const NONE: u32 = u32::MAX;

/// For each place of a line the number of what stands there first, and of what stands there too.
#[derive(Debug, Default)]
pub(super) struct Line {
    chunks: BTreeMap<i64, Box<[u32; CHUNK]>>,
    /// At places with several, all but the first, in their order.
    more: BTreeMap<i64, Vec<u32>>,
}

/// The chunk of a place, and where in it that is.
fn find(place: i64) -> (i64, usize) {
    let chunk = place.div_euclid(CHUNK as i64);
    (chunk, place.rem_euclid(CHUNK as i64) as usize)
}

impl Line {
    /// Puts a number at a place; the first number that stands there, where it is another one.
    pub fn put(&mut self, place: i64, number: u32) -> Option<u32> {
        let (chunk, at) = find(place);
        let chunk = self.chunks.entry(chunk);
        let slot = &mut chunk.or_insert_with(|| Box::new([NONE; CHUNK]))[at];
        if *slot == NONE {
            *slot = number;
            return None;
        }
        Some(*slot)
    }

    /// Puts a number at a place behind those that stand there.
    pub fn append(&mut self, place: i64, number: u32) {
        if self.put(place, number).is_some() {
            self.more.entry(place).or_default().push(number);
        }
    }

    /// What stands first at a place.
    pub fn first(&self, place: i64) -> Option<u32> {
        let (chunk, at) = find(place);
        let chunk = self.chunks.get(&chunk)?;
        Some(chunk[at]).filter(|&number| number != NONE)
    }

    /// What else stands at a place.
    pub fn others(&self, place: i64) -> &[u32] {
        if self.more.is_empty() {
            return &[];
        }
        self.more.get(&place).map_or(&[], Vec::as_slice)
    }

    /// The places with several, in order, each with all but the first.
    pub fn shared(&self) -> impl Iterator<Item = (i64, &[u32])> + '_ {
        let more = self.more.iter();
        more.map(|(&place, others)| (place, others.as_slice()))
    }

    /// All that stands at a place, in order.
    pub fn at(&self, place: i64) -> impl Iterator<Item = u32> + '_ {
        let first = self.first(place);
        let others = first.map_or(&[][..], |_| self.others(place));
        first.into_iter().chain(others.iter().copied())
    }

    /// Whether no place has more than one number.
    pub fn is_plain(&self) -> bool {
        self.more.is_empty()
    }

    /// The first place that is taken.
    pub fn start(&self) -> Option<i64> {
        self.from(i64::MIN).next().map(|(place, _)| place)
    }

    /// The places from one on that are taken, each with what stands there first, in order.
    pub fn from(&self, floor: i64) -> impl Iterator<Item = (i64, u32)> + '_ {
        let (first, _) = find(floor);
        let places = self.chunks.range(first..).flat_map(|(&chunk, slots)| {
            let start = chunk.saturating_mul(CHUNK as i64);
            (start..=start.saturating_add(CHUNK as i64 - 1)).zip(slots.iter().copied())
        });
        places.filter(move |&(place, number)| number != NONE && place >= floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_in_their_order_and_the_first_number_stays() {
        let mut line = Line::default();
        for (place, number) in [(70, 1), (-3, 2), (70, 3), (i64::MAX, 4), (71, 5)] {
            line.append(place, number);
        }
        let all: Vec<(i64, u32)> = line.from(i64::MIN).collect();
        assert_eq!(all, [(-3, 2), (70, 1), (71, 5), (i64::MAX, 4)]);
        assert_eq!(line.at(70).collect::<Vec<u32>>(), [1, 3]);
        assert_eq!(line.from(71).next(), Some((71, 5)));
        assert_eq!(line.first(72), None);
    }
}
