//! Which packets between two clocks can bind them.
//!
//! A packet that was sent at `s` on one clock and received at `r` on another says: the receipt was
//! not before the send. For two clocks that run evenly this is a line in the plane of `s` and
//! `r - s`, and of many packets those alone count that are corners of the lower convex hull (Zhang,
//! Liu, Xia, 2002), as far as the slope there is one that two clocks can have.

/// A packet: when it was sent on one clock, and when received on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Crossed {
    pub sent: u64,
    pub received: u64,
}

impl Crossed {
    /// How long it took, each end on its own clock.
    pub fn took(&self) -> i128 {
        i128::from(self.received) - i128::from(self.sent)
    }
}

/// No two clocks drift apart faster: parts of a million. A clock may be off the session's by 500,
/// so that two may be off each other by 1000, and a little more for each is measured on its own.
const SLOPE_PPM: i128 = 1_100;

/// How many packets are kept before those that cannot bind are dropped.
const ROOM: usize = 32;

/// The packets that can bind, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hull {
    corners: Vec<Crossed>,
    /// How many of the first are corners of all of these.
    clean: usize,
}

impl Hull {
    pub fn push(&mut self, crossed: Crossed) {
        self.corners.push(crossed);
        if self.corners.len() >= 2 * self.clean + ROOM {
            self.reduce();
        }
    }

    pub fn extend(&mut self, other: &Hull) {
        for &crossed in &other.corners {
            self.push(crossed);
        }
    }

    /// The corners, in the order of sending: whatever order the packets came in.
    pub fn corners(mut self) -> Vec<Crossed> {
        self.reduce();
        self.corners
    }

    fn reduce(&mut self) {
        self.corners
            .sort_unstable_by_key(|it| (it.sent, it.received));
        let mut kept: Vec<Crossed> = Vec::new();
        for &next in &self.corners {
            if kept.last().is_some_and(|last| last.sent == next.sent) {
                continue;
            }
            while let [.., before, last] = kept.as_slice()
                && !is_corner(before, last, &next)
            {
                kept.pop();
            }
            kept.push(next);
        }
        // Of the corners at the left the one before counts only where the edge behind it does not
        // fall too steeply, and so at the right.
        let slope = |one: &Crossed, other: &Crossed| {
            let run = i128::from(other.sent) - i128::from(one.sent);
            let rise = other.took() - one.took();
            (rise.saturating_mul(1_000_000), run * SLOPE_PPM)
        };
        let too_low = |pair: &&[Crossed]| {
            let (rise, most) = slope(&pair[0], &pair[1]);
            rise < -most
        };
        let too_high = |pair: &&[Crossed]| {
            let (rise, most) = slope(&pair[0], &pair[1]);
            rise > most
        };
        let left = kept.windows(2).take_while(too_low).count();
        let right = kept.windows(2).rev().take_while(too_high).count();
        let until = kept.len() - right;
        self.corners = kept.get(left..until).map(<[_]>::to_vec).unwrap_or(kept);
        self.clean = self.corners.len();
    }
}

/// Whether the middle one lies below the line through the others.
fn is_corner(before: &Crossed, middle: &Crossed, after: &Crossed) -> bool {
    let run = i128::from(middle.sent) - i128::from(before.sent);
    let whole = i128::from(after.sent) - i128::from(before.sent);
    let rise = middle.took() - before.took();
    let all = after.took() - before.took();
    match (rise.checked_mul(whole), all.checked_mul(run)) {
        (Some(own), Some(line)) => own < line,
        // Times that no clock has: all of them are kept.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crossed(sent: u64, took: i64) -> Crossed {
        Crossed {
            sent,
            received: sent.wrapping_add_signed(took),
        }
    }

    fn corners(points: &[(u64, i64)]) -> Vec<(u64, i64)> {
        let mut hull = Hull::default();
        for &(sent, took) in points {
            hull.push(crossed(sent, took));
        }
        let corners = hull.corners();
        let corners = corners.iter().map(|it| (it.sent, it.took() as i64));
        corners.collect()
    }

    #[test]
    fn what_lies_above_cannot_bind() {
        let points = [
            (0, 50),
            (1_000_000, 100),
            (2_000_000, 40),
            (3_000_000, 70),
            (4_000_000, 60),
        ];
        assert_eq!(
            corners(&points),
            [(0, 50), (2_000_000, 40), (4_000_000, 60)]
        );
    }

    #[test]
    fn what_only_impossible_clocks_could_touch_is_dropped() {
        // From 50 to 20 within 1000 is 30 000 parts of a million.
        assert_eq!(corners(&[(0, 50), (1_000, 20), (2_000, 90)]), [(1_000, 20)]);
    }

    #[test]
    fn the_order_and_the_parts_change_nothing() {
        let mut random = 7u64;
        let points: Vec<Crossed> = (0..5_000)
            .map(|at| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                crossed(
                    1_000_000 * (at * 7_919 % 5_000),
                    (random >> 40) as i64 % 90_000,
                )
            })
            .collect();
        let mut whole = Hull::default();
        points.iter().for_each(|&point| whole.push(point));
        let whole = whole.corners();
        assert!(whole.len() > 3 && whole.len() < 100);
        for parts in [2, 3, 7] {
            let mut merged = Hull::default();
            for part in 0..parts {
                let mut own = Hull::default();
                let those = points.iter().skip(part).step_by(parts);
                those.for_each(|&point| own.push(point));
                merged.extend(&own);
            }
            assert_eq!(merged.corners(), whole);
        }
    }

    #[test]
    fn times_at_the_ends_of_what_can_be_told_do_no_harm() {
        let ends = [
            Crossed {
                sent: 0,
                received: u64::MAX,
            },
            Crossed {
                sent: u64::MAX,
                received: 0,
            },
            Crossed {
                sent: u64::MAX / 2,
                received: u64::MAX / 2,
            },
        ];
        let mut hull = Hull::default();
        ends.iter().for_each(|&it| hull.push(it));
        assert!(!hull.corners().is_empty());
    }
}
