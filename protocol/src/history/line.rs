//! Places on a line, each with what stands there first.

use std::collections::BTreeMap;

/// How many places are kept together: numbers that follow each other take some three bytes, and one far from
/// all others hardly more than these.
const CHUNK: usize = 32;

/// Nobody has this number.
const NONE: u32 = u32::MAX;

/// For each place of a line the number of what stands there first, and of what stands there too.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The chunk of the first of these.
    start: i64,
    /// The chunks from there on.
    near: Vec<Slots>,
    /// Those that lie apart from all of these.
    far: BTreeMap<i64, Slots>,
    /// At places with several, all but the first, each with its place; in order once they are settled.
    more: Vec<(i64, u32)>,
}

/// The numbers of a chunk.
#[derive(Debug, Default)]
enum Slots {
    #[default]
    None,
    /// They lie near each other: a base, and how far each is from that, or [`FREE`].
    Near(Box<(u32, [u16; CHUNK])>),
    Any(Box<[u32; CHUNK]>),
}

/// There is no number.
const FREE: u16 = u16::MAX;

/// A chunk's base lies this far before the number that came first.
const BEFORE: u32 = 1 << 12;

impl Slots {
    fn get(&self, at: usize) -> u32 {
        match self {
            Slots::None => NONE,
            Slots::Near(near) => match near.1[at] {
                FREE => NONE,
                after => near.0.saturating_add(u32::from(after)),
            },
            Slots::Any(any) => any[at],
        }
    }

    fn put(&mut self, at: usize, number: u32) {
        if matches!(self, Slots::None) {
            *self = Slots::Near(Box::new((number.saturating_sub(BEFORE), [FREE; CHUNK])));
        }
        if let Slots::Near(near) = self {
            let after = number.checked_sub(near.0);
            let after = after.and_then(|after| u16::try_from(after).ok());
            match after.filter(|&after| after != FREE) {
                Some(after) => near.1[at] = after,
                None => {
                    let any = std::array::from_fn(|at| self.get(at));
                    *self = Slots::Any(Box::new(any));
                }
            }
        }
        if let Slots::Any(any) = self {
            any[at] = number;
        }
    }
}

/// A chunk lies apart where this many are missing before it.
const APART: i64 = 8;

/// The chunk of a place, and where in it that is.
fn find(place: i64) -> (i64, usize) {
    let chunk = place.div_euclid(CHUNK as i64);
    (chunk, place.rem_euclid(CHUNK as i64) as usize)
}

impl Line {
    /// Puts a number at a place; the first number that stands there, where it is another one.
    pub fn put(&mut self, place: i64, number: u32) -> Option<u32> {
        let (chunk, at) = find(place);
        let slots = self.slots(chunk);
        let known = slots.get(at);
        if known != NONE {
            return Some(known);
        }
        slots.put(at, number);
        None
    }

    /// A chunk to put numbers into.
    fn slots(&mut self, chunk: i64) -> &mut Slots {
        if self.near.is_empty() {
            self.start = chunk;
        }
        let at = chunk - self.start;
        let known = self.near.len() as i64;
        if at < 0 || at >= known + APART {
            return self.far.entry(chunk).or_default();
        }
        if at >= known {
            let more = (at + 1 - known) as usize;
            if self.near.len() + more > self.near.capacity() {
                self.near.reserve_exact(more + self.near.len() / 4);
            }
            self.near.resize_with(at as usize + 1, Slots::default);
            let reached: Vec<i64> = self.far.range(self.start..=chunk).map(|it| *it.0).collect();
            for far in reached {
                self.near[(far - self.start) as usize] = self.far.remove(&far).unwrap_or_default();
            }
        }
        &mut self.near[at as usize]
    }

    /// To be said once all numbers are put: what stands at one place is together from here on. Gives back
    /// memory that was taken for more.
    pub fn settle(&mut self) {
        self.near.shrink_to_fit();
        // Those of one place stay in their order.
        self.more.sort_by_key(|&(place, _)| place);
        self.more.shrink_to_fit();
    }

    /// Puts a number at a place behind those that stand there.
    pub fn append(&mut self, place: i64, number: u32) {
        if self.put(place, number).is_some() {
            self.more.push((place, number));
        }
    }

    /// What stands first at a place.
    pub fn first(&self, place: i64) -> Option<u32> {
        let (chunk, at) = find(place);
        let near = usize::try_from(chunk - self.start).ok();
        let slots = match near.and_then(|near| self.near.get(near)) {
            Some(known) => known,
            None => self.far.get(&chunk)?,
        };
        Some(slots.get(at)).filter(|&number| number != NONE)
    }

    /// What else stands at a place, in order, each with the place.
    pub fn others(&self, place: i64) -> &[(i64, u32)] {
        let start = self.more.partition_point(|&(it, _)| it < place);
        let behind = &self.more[start..];
        &behind[..behind.partition_point(|&(it, _)| it == place)]
    }

    /// What else stands at the places with several, in order, each with its place.
    pub fn shared(&self) -> &[(i64, u32)] {
        &self.more
    }

    /// All that stands at a place, in order.
    pub fn at(&self, place: i64) -> impl Iterator<Item = u32> + '_ {
        let first = self.first(place);
        let others = first.map_or(&[][..], |_| self.others(place));
        first
            .into_iter()
            .chain(others.iter().map(|&(_, other)| other))
    }

    /// Whether no place has more than one number.
    pub fn is_plain(&self) -> bool {
        self.more.is_empty()
    }

    /// Whether no place is taken.
    pub fn is_empty(&self) -> bool {
        self.near.is_empty()
    }

    /// The first place that is taken.
    pub fn start(&self) -> Option<i64> {
        self.next(i64::MIN).map(|(place, _)| place)
    }

    /// The first place from one on that is taken, with what stands there first.
    pub fn next(&self, floor: i64) -> Option<(i64, u32)> {
        let here = self.first(floor).map(|number| (floor, number));
        here.or_else(|| self.from(floor).next())
    }

    /// The places from one on that are taken, each with what stands there first, in order.
    pub fn from(&self, floor: i64) -> impl Iterator<Item = (i64, u32)> + '_ {
        let (first, _) = find(floor);
        let end = self.start + self.near.len() as i64;
        let far = |from: i64, to: i64| {
            let chunks = self.far.range(from.min(to)..to);
            chunks.map(|(&chunk, slots)| (chunk, slots))
        };
        let skipped = first
            .saturating_sub(self.start)
            .clamp(0, self.near.len() as i64);
        let near = (self.start + skipped..).zip(&self.near[skipped as usize..]);
        let near = near.filter(|(_, slots)| !matches!(slots, Slots::None));
        let before = far(first, self.start);
        let chunks = before.chain(near).chain(far(first.max(end), i64::MAX));
        let places = chunks.flat_map(|(chunk, slots)| {
            let start = chunk.saturating_mul(CHUNK as i64);
            let places = start..=start.saturating_add(CHUNK as i64 - 1);
            places
                .zip(0..CHUNK)
                .map(move |(place, at)| (place, slots.get(at)))
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
        line.settle();
        let all: Vec<(i64, u32)> = line.from(i64::MIN).collect();
        assert_eq!(all, [(-3, 2), (70, 1), (71, 5), (i64::MAX, 4)]);
        assert_eq!(line.at(70).collect::<Vec<u32>>(), [1, 3]);
        assert_eq!(line.next(71), Some((71, 5)));
        assert_eq!(line.first(72), None);
    }

    #[test]
    fn what_lay_apart_is_found_once_the_others_reach_it() {
        let mut line = Line::default();
        let apart = 100 * CHUNK as i64;
        let places = [0, apart, -apart, apart - 7].into_iter();
        for (number, place) in (0..).zip(places.chain((0..apart + 40).step_by(5))) {
            line.put(place, number);
        }
        let expected: Vec<i64> = (-apart..apart + 40)
            .filter(|it| (*it >= 0 && it % 5 == 0) || [apart, -apart, apart - 7].contains(it))
            .collect();
        let all: Vec<i64> = line.from(i64::MIN).map(|(place, _)| place).collect();
        assert_eq!(all, expected);
        assert_eq!(line.first(apart), Some(1));
        for floor in [-apart - 1, -apart + 1, 3, apart - 8, apart + 41] {
            let next = expected.iter().find(|it| **it >= floor);
            assert_eq!(line.next(floor).map(|it| it.0), next.copied(), "{floor}");
        }
    }
}
