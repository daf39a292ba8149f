//! Numbers that go up, each as wide as its carries show.

use std::collections::BTreeMap;

use super::fields::{Field, Order, Role};
use super::packets::{Group, Packets};

/// A step that is not longer still counts on: packets are lost, or of another kind.
const STEP_MAX: u64 = 16;
/// So many steps show something.
pub(super) const PAIRS_MIN: usize = 16;

/// Where a number stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    pub place: usize,
    pub width: usize,
    pub order: Order,
}

impl Shape {
    pub fn read(self, head: &[u8]) -> Option<u64> {
        let bytes = head.get(self.place..self.place + self.width)?;
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(match self.order {
            Order::Big => bytes.iter().fold(0, add),
            Order::Little => bytes.iter().rev().fold(0, add),
        })
    }

    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.width.clamp(1, 8))
    }

    pub fn low(self) -> usize {
        match self.order {
            Order::Little => self.place,
            Order::Big => self.place + self.width - 1,
        }
    }

    pub fn fits(self, group: &Group) -> bool {
        group.begin <= self.place && self.place + self.width <= group.end
    }

    pub fn meets(self, other: Shape) -> bool {
        self.place < other.place + other.width && other.place < self.place + self.width
    }

    pub fn words(self) -> String {
        let order = match (self.width, self.order) {
            (1, _) => "",
            (_, Order::Big) => " big endian",
            (_, Order::Little) => " little endian",
        };
        format!("{} bits{order}", 8 * self.width)
    }
}

impl Packets {
    /// A number of a packet.
    pub(super) fn read(&self, shape: Shape, member: usize) -> Option<u64> {
        shape.read(&self.packets[member].head)
    }
}

/// How a number goes on from packet to packet of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steps {
    pub pairs: usize,
    /// By one.
    pub one: usize,
    /// By 1 to [`STEP_MAX`].
    ahead: usize,
    same: usize,
    /// By as much the other way.
    back: usize,
    /// Ahead, and past the highest value.
    wraps: usize,
}

impl Steps {
    /// Whether it goes up and hardly ever does anything else.
    fn counts(&self) -> bool {
        let known = self.ahead + self.same + self.back;
        self.ahead >= PAIRS_MIN
            && known * 10 >= self.pairs * 9
            && self.ahead * 6 >= self.pairs
            && self.back * 6 <= self.ahead
    }

    /// Whether each packet has a number of its own.
    pub fn numbers_packets(&self) -> bool {
        let known = self.ahead + self.same + self.back;
        self.counts()
            && known * 100 >= self.pairs * 97
            && self.same * 20 <= self.pairs
            && self.one * 2 >= self.pairs
    }

    fn words(&self, shape: Shape) -> String {
        let share = |count: usize| percent(count, self.pairs.max(1));
        let wraps = match self.wraps {
            0 => "wraps never seen".to_owned(),
            1 => "wrapped once".to_owned(),
            many => format!("wrapped {many} times"),
        };
        format!(
            "{}, +1 in {:.1} % of {} steps, up to +{STEP_MAX} in {:.1} %, the same in {:.1} %, {wraps}",
            shape.words(),
            share(self.one),
            self.pairs,
            share(self.ahead),
            share(self.same)
        )
    }
}

/// A number that goes up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    pub shape: Shape,
    pub steps: Steps,
    /// Whether a carry into the highest byte was seen.
    proven: bool,
}

impl Field {
    pub(super) fn new(shape: Shape, role: Role, evidence: String, confidence: f64) -> Field {
        Field {
            place: shape.place,
            width: shape.width,
            order: shape.order,
            role,
            evidence,
            confidence,
            values: Vec::new(),
        }
    }

    /// One that does `what` in most of the packets, or of whatever there is: in how many, and of how many.
    pub(super) fn of_most(
        shape: Shape,
        role: Role,
        what: &str,
        (agree, total, of): (usize, usize, &str),
    ) -> Field {
        let share = percent(agree, total);
        let evidence = format!("{}, {what} in {share:.1} % of {total} {of}", shape.words());
        Field::new(shape, role, evidence, trust(agree, total))
    }

    /// Where it stands.
    pub(super) fn shape(&self) -> Shape {
        Shape {
            place: self.place,
            width: self.width,
            order: self.order,
        }
    }
}

/// Whether no field has a byte of a number.
pub(super) fn is_free(fields: &[Field], shape: Shape) -> bool {
    fields.iter().all(|field| !field.shape().meets(shape))
}

pub(super) fn percent(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all as f64
}

/// How much `agree` of `total` packets say.
pub(super) fn trust(agree: usize, total: usize) -> f64 {
    agree as f64 / (total as f64 + 5.0)
}

impl Packets {
    /// Calls `each` with the packets that follow one another on a link.
    pub(super) fn pairs(&self, members: &[usize], mut each: impl FnMut(usize, usize)) {
        let mut last: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for &member in members {
            if let Some(before) = last.insert(self.packets[member].link, member) {
                each(before, member);
            }
        }
    }

    fn steps(&self, members: &[usize], shape: Shape) -> Steps {
        let mut steps = Steps::default();
        self.pairs(members, |before, after| {
            let (Some(before), Some(after)) = (self.read(shape, before), self.read(shape, after))
            else {
                return;
            };
            let step = after.wrapping_sub(before) & shape.mask();
            steps.pairs += 1;
            match step {
                0 => steps.same += 1,
                1..=STEP_MAX => {
                    steps.one += usize::from(step == 1);
                    steps.ahead += 1;
                    steps.wraps += usize::from(after < before);
                }
                _ if shape.mask() - step < STEP_MAX => steps.back += 1,
                _ => {}
            }
        });
        steps
    }

    /// The numbers of a group that go up, each as wide as its carries show.
    pub(super) fn counters(&self, group: &Group) -> Vec<Counter> {
        let mut found = Vec::new();
        for place in group.begin..group.end {
            let low = Shape {
                place,
                width: 1,
                order: Order::Little,
            };
            let steps = self.steps(&group.members, low);
            if steps.counts()
                && self.distinct(group, place) >= PAIRS_MIN
                && !self.is_filling(group, place)
            {
                found.push(self.widened(group, low));
            }
        }
        // A place is part of one number: of the one that was seen to carry into it, else of the longer one.
        found.sort_by_key(|counter| {
            (
                !counter.proven,
                std::cmp::Reverse(counter.shape.width),
                counter.shape,
            )
        });
        let mut kept: Vec<Counter> = Vec::new();
        for counter in found {
            if kept.iter().all(|other| !other.shape.meets(counter.shape)) {
                kept.push(counter);
            }
        }
        kept.sort_by_key(|counter| counter.shape);
        kept
    }

    pub(super) fn distinct(&self, group: &Group, place: usize) -> usize {
        self.histogram(group, place)
            .iter()
            .filter(|count| **count > 0)
            .count()
    }

    /// Whether the byte is that beside it, as in a text of one letter.
    pub(super) fn is_filling(&self, group: &Group, place: usize) -> bool {
        [place.checked_sub(1), Some(place + 1)]
            .into_iter()
            .flatten()
            .any(|beside| {
                let same = |member: &&usize| {
                    let byte = self.byte(**member, place);
                    byte.is_some() && byte == self.byte(**member, beside)
                };
                group.members.iter().filter(same).count() * 3 >= group.members.len() * 2
            })
    }

    /// Goes from the lowest byte up, as far as carries or zeros show that the number goes.
    fn widened(&self, group: &Group, low: Shape) -> Counter {
        let mut best = Counter {
            shape: low,
            steps: self.steps(&group.members, low),
            proven: false,
        };
        for order in [Order::Little, Order::Big] {
            let mut shape = Shape { order, ..low };
            let mut proven = false;
            while shape.width < 4 {
                let Some(wider) = wider(shape).filter(|wider| wider.fits(group)) else {
                    break;
                };
                match self.carries(&group.members, shape, wider) {
                    Some(true) => proven = true,
                    None if self.is_zero(group, wider) => {}
                    _ => break,
                }
                shape = wider;
            }
            // Where nothing was seen to carry, zeros on both sides could be either's: fields stand at even
            // places.
            let rank =
                |proven: bool, shape: Shape| (proven, shape.width, shape.place.is_multiple_of(2));
            let is_better = rank(proven, shape) > rank(best.proven, best.shape);
            if shape.width > 1 && is_better {
                best = Counter {
                    shape,
                    steps: self.steps(&group.members, shape),
                    proven,
                };
            }
        }
        best
    }

    /// Whether the byte that is added goes up where the others wrap, and only there; `None` where they
    /// never do.
    fn carries(&self, members: &[usize], shape: Shape, wider: Shape) -> Option<bool> {
        let (mut wraps, mut carried, mut others, mut still) = (0, 0, 0, 0);
        self.pairs(members, |before, after| {
            let step = |shape: Shape| {
                let (before, after) = (self.read(shape, before)?, self.read(shape, after)?);
                Some((after.wrapping_sub(before) & shape.mask(), after < before))
            };
            let (Some((narrow, has_wrapped)), Some((wide, _))) = (step(shape), step(wider)) else {
                return;
            };
            if !(1..=STEP_MAX).contains(&narrow) {
                return;
            }
            let agrees = usize::from(narrow == wide);
            if has_wrapped {
                wraps += 1;
                carried += agrees;
            } else {
                others += 1;
                still += agrees;
            }
        });
        (wraps > 0).then_some(carried * 5 >= wraps * 4 && still * 100 >= others * 97)
    }

    fn is_zero(&self, group: &Group, shape: Shape) -> bool {
        let highest = match shape.order {
            Order::Little => shape.place + shape.width - 1,
            Order::Big => shape.place,
        };
        let counts = self.histogram(group, highest);
        let total: usize = counts.iter().sum();
        counts[0] * 200 >= total * 199
    }

    /// A number that several kinds share: with all of them it goes up more steadily than without one.
    pub(super) fn merge(&self, groups: &[Group], counters: &mut [Vec<Counter>]) {
        let mut found: Vec<Counter> = counters.iter().flatten().copied().collect();
        found.sort_by_key(|counter| {
            (
                !counter.proven,
                std::cmp::Reverse(counter.shape.width),
                std::cmp::Reverse(counter.steps.pairs),
            )
        });
        let mut done: Vec<usize> = Vec::new();
        for best in found {
            let shape = best.shape;
            if done.contains(&shape.low()) {
                continue;
            }
            done.push(shape.low());
            let has = |group: usize| counters[group].iter().any(|counter| counter.shape == shape);
            let Some(first) = (0..groups.len())
                .filter(|group| has(*group))
                .max_by_key(|group| groups[*group].members.len())
            else {
                continue;
            };
            let (mut members, mut steps) = (
                groups[first].members.clone(),
                self.steps(&groups[first].members, shape),
            );
            let mut same = vec![first];
            for (number, group) in groups.iter().enumerate() {
                let is_free =
                    |other: &Counter| other.shape.low() == shape.low() || !other.shape.meets(shape);
                if number == first || !shape.fits(group) || !counters[number].iter().all(is_free) {
                    continue;
                }
                let mut with = [&members[..], &group.members[..]].concat();
                with.sort_unstable();
                let together = self.steps(&with, shape);
                if together.counts()
                    && together.one * steps.pairs * 100 >= steps.one * together.pairs * 99
                {
                    (members, steps) = (with, together);
                    same.push(number);
                }
            }
            for group in same {
                counters[group].retain(|counter| !counter.shape.meets(shape));
                counters[group].push(Counter { steps, ..best });
                counters[group].sort_by_key(|counter| counter.shape);
            }
        }
    }
}

impl Counter {
    pub fn meaning(&self, role: Role) -> Field {
        let (shape, steps) = (self.shape, &self.steps);
        let confidence = trust(steps.ahead + steps.same, steps.pairs);
        Field::new(shape, role, steps.words(shape), confidence)
    }
}

fn wider(shape: Shape) -> Option<Shape> {
    let width = shape.width + 1;
    match shape.order {
        Order::Little => Some(Shape { width, ..shape }),
        Order::Big => Some(Shape {
            width,
            place: shape.place.checked_sub(1)?,
            ..shape
        }),
    }
}
