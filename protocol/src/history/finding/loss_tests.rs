//! What the losses of one link follow: the size of packets, their number, time, or the direction.
//!
//! Chance alone must not look like a pattern: packets that are lost independently of each other, each with
//! the same probability, are called a pattern once in 10^9 links at most ([`LN_CHANCE`]). Three things see
//! to it. Each test bounds the probability of what it saw from above (a Chernoff bound or a union bound, not
//! a normal approximation, which is wrong by orders of magnitude where few packets were lost), and
//! multiplies it by how many thresholds or numbers it tried. The share that is lost otherwise, which the
//! bound needs, is taken to be higher than it was seen to be, by three standard deviations and
//! three packets. And what is lost in a row counts once where the question is not whether losses come in
//! rows: an outage that met large packets alone says nothing of sizes.

/// The logarithm of how likely chance may be: 10^-9.
const LN_CHANCE: f64 = -20.7;

/// Every Nth packet is looked for up to this N.
const EVERY_MAX: u64 = 256;

/// Losses with at most so many packets between them that arrived are one burst.
const BETWEEN_MAX: usize = 3;

/// A burst has so many losses or more.
const BURST_MIN: u64 = 4;

/// A pattern needs so many things that follow it.
const GROUPS_MIN: u64 = 5;

/// A packet of a link, in the order in which they were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// Its number in the session.
    pub packet: u32,
    /// How many were sent on the link before it.
    pub place: u64,
    pub time_ns: i64,
    pub bytes: u32,
    pub is_lost: bool,
}

/// So many were lost of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub lost: u64,
    pub all: u64,
}

impl Share {
    fn count(&mut self, is_lost: bool) {
        self.lost += u64::from(is_lost);
        self.all += 1;
    }

    fn rate(self) -> f64 {
        self.lost as f64 / (self.all.max(1)) as f64
    }

    /// The rate that it may have been in truth: higher than what was seen.
    fn rate_at_most(self) -> f64 {
        let lost = self.lost as f64;
        let most = lost + 3.0 * (lost + 1.0).sqrt() + 3.0;
        (most / self.all.max(1) as f64).min(1.0)
    }

    /// Whether nine in ten or more were lost.
    fn is_nearly_all(self) -> bool {
        self.lost * 10 >= self.all * 9
    }
}

/// What is lost and why it is no chance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Packets of so many bytes and more, and the others.
    Size {
        bytes: u32,
        large: Share,
        small: Share,
    },
    /// Every `every`th packet, those of which `rest` is left, and the others.
    Number {
        every: u64,
        rest: u64,
        meant: Share,
        others: Share,
    },
    /// In bursts.
    Bursts {
        count: u64,
        /// Packets that were lost in them, of all that were lost.
        lost: Share,
        /// The longest in packets, with its begin and how long it was, in ns.
        longest: (u64, i64, i64),
    },
}

impl Pattern {
    /// Whether a packet is one of those that are lost by it.
    fn is_about(&self, it: &Passed) -> bool {
        match *self {
            Pattern::Size { bytes, .. } => it.bytes >= bytes,
            Pattern::Number { every, rest, .. } => it.place % every == rest,
            Pattern::Bursts { .. } => false,
        }
    }
}

/// What the losses follow, the packets that do, and the packets that do not.
pub(super) fn explained(all: &[Passed]) -> Option<(Pattern, Vec<Passed>, Vec<Passed>)> {
    let pattern = by_size(all).or_else(|| by_number(all))?;
    let (meant, others) = all.iter().copied().partition(|it| pattern.is_about(it));
    Some((pattern, meant, others))
}

/// Whether all large packets are lost.
fn by_size(all: &[Passed]) -> Option<Pattern> {
    let mut lengths: Vec<u32> = all
        .iter()
        .filter(|it| it.is_lost)
        .map(|it| it.bytes)
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    let tried = (lengths.len().max(1) as f64).ln();
    let mut sorted: Vec<(u32, bool)> = all.iter().map(|it| (it.bytes, it.is_lost)).collect();
    sorted.sort_unstable();
    let (mut large, mut small) = (Share::default(), Share::default());
    sorted.iter().for_each(|it| small.count(it.1));
    let mut shares = Vec::new();
    let mut next = sorted.len();
    for &bytes in lengths.iter().rev() {
        while let Some(&(length, is_lost)) = next.checked_sub(1).and_then(|it| sorted.get(it)) {
            if length < bytes {
                break;
            }
            large.count(is_lost);
            small.all -= 1;
            small.lost -= u64::from(is_lost);
            next -= 1;
        }
        shares.push((bytes, large, small));
    }
    // The smallest size from which on nearly all are lost says the most.
    let mut nearly = shares.into_iter().rev();
    nearly.find_map(|(bytes, large, small)| {
        if !large.is_nearly_all() || small.all == 0 {
            return None;
        }
        let groups = groups(all, bytes);
        let is_chance = groups.lost < GROUPS_MIN || {
            let ln = ln_at_least(groups, small.rate_at_most());
            ln + tried > LN_CHANCE
        };
        (!is_chance).then_some(Pattern::Size {
            bytes,
            large,
            small,
        })
    })
}

/// Large packets between which a smaller one arrived: how many, and how many of these were lost whole.
fn groups(all: &[Passed], bytes: u32) -> Share {
    let mut groups = Share::default();
    let mut open: Option<bool> = None;
    for it in all {
        if it.bytes >= bytes {
            open = Some(open.unwrap_or(true) && it.is_lost);
        } else if !it.is_lost {
            open.take()
                .into_iter()
                .for_each(|is_lost| groups.count(is_lost));
        }
    }
    open.into_iter().for_each(|is_lost| groups.count(is_lost));
    groups
}

/// Whether every Nth packet is lost.
fn by_number(all: &[Passed]) -> Option<Pattern> {
    let lost: Vec<u64> = all
        .iter()
        .filter(|it| it.is_lost)
        .map(|it| it.place)
        .collect();
    let tried = (EVERY_MAX * EVERY_MAX) as f64 / 2.0;
    let mut best = None;
    let mut most = 0;
    for every in 2..=EVERY_MAX {
        let mut counts = vec![0u64; every as usize];
        lost.iter()
            .for_each(|place| counts[(place % every) as usize] += 1);
        let Some((rest, &count)) = counts.iter().enumerate().max_by_key(|(_, count)| **count)
        else {
            continue;
        };
        let rest = rest as u64;
        // Of several that explain the same the first is the simplest: each 128th is each 64th.
        // Few passes over all packets: where far from nearly all of them can be lost, there is none.
        let is_few = count * every * 10 < all.len() as u64 * 8;
        if count < GROUPS_MIN || count <= most || is_few {
            continue;
        }
        let (mut meant, mut others) = (Share::default(), Share::default());
        for it in all {
            match it.place % every == rest {
                true => meant.count(it.is_lost),
                false => others.count(it.is_lost),
            }
        }
        let ln = ln_at_least(meant, others.rate_at_most());
        if meant.is_nearly_all() && ln + tried.ln() <= LN_CHANCE {
            most = count;
            best = Some(Pattern::Number {
                every,
                rest,
                meant,
                others,
            });
        }
    }
    best
}

/// Whether losses come in bursts; with the places in `all` of the longest.
pub(super) fn by_time(all: &[Passed]) -> Option<(Pattern, std::ops::RangeInclusive<usize>)> {
    let losses = all.iter().filter(|it| it.is_lost).count() as f64;
    let rows = all
        .windows(2)
        .filter(|two| two[0].is_lost && two[1].is_lost);
    let rows = rows.count() as f64;
    // Of losses by chance so many follow each other.
    let expected = losses * (losses - 1.0).max(0.0) / all.len().max(1) as f64;
    if rows <= expected || rows - expected - rows * (rows / expected).ln() > LN_CHANCE {
        return None;
    }
    let lost: Vec<usize> = (0..all.len()).filter(|&place| all[place].is_lost).collect();
    let bursts = lost.chunk_by(|one, next| next - one <= BETWEEN_MAX + 1);
    let bursts: Vec<&[usize]> = bursts.filter(|it| it.len() as u64 >= BURST_MIN).collect();
    let longest = bursts.iter().rev().max_by_key(|it| it.len())?;
    let (first, last) = (*longest.first()?, *longest.last()?);
    let within = bursts.iter().map(|it| it.len() as u64).sum();
    let since = all[first].time_ns;
    let pattern = Pattern::Bursts {
        count: bursts.len() as u64,
        lost: Share {
            lost: within,
            all: lost.len() as u64,
        },
        longest: (
            longest.len() as u64,
            since,
            all[last].time_ns.saturating_sub(since),
        ),
    };
    (within * 2 >= lost.len() as u64).then_some((pattern, first..=last))
}

/// Whether far more is lost one way than the other: the shares of both, where losses in a row count once.
pub(super) fn by_direction(there: &[Passed], back: &[Passed]) -> bool {
    let (one, other) = (in_rows(there), in_rows(back));
    if one.lost < GROUPS_MIN || one.rate() < 4.0 * other.rate() || one.rate() < 0.01 {
        return false;
    }
    let events = (one.lost + other.lost) as f64;
    let expected = one.all as f64 / (one.all + other.all).max(1) as f64;
    let seen = one.lost as f64 / events;
    seen > expected && -events * divergence(seen, expected) <= LN_CHANCE
}

/// Losses, where those in a row are one.
fn in_rows(all: &[Passed]) -> Share {
    let mut share = Share::default();
    let mut before = false;
    for it in all {
        if !(it.is_lost && before) {
            share.count(it.is_lost);
        }
        before = it.is_lost;
    }
    share
}

/// The logarithm of a bound of the probability that so many or more of so many are lost, where each is with
/// this probability: Chernoff's.
fn ln_at_least(share: Share, rate: f64) -> f64 {
    let seen = share.rate();
    if seen <= rate {
        return 0.0;
    }
    -(share.all as f64) * divergence(seen, rate)
}

/// How far two probabilities are apart: that of Kullback and Leibler, in nats.
fn divergence(seen: f64, expected: f64) -> f64 {
    let term = |seen: f64, expected: f64| match seen > 0.0 {
        true => seen * (seen / expected.max(f64::MIN_POSITIVE)).ln(),
        false => 0.0,
    };
    term(seen, expected) + term(1.0 - seen, 1.0 - expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers by chance: splitmix64.
    struct Draw(u64);

    impl Draw {
        fn unit(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }

        fn below(&mut self, most: u64) -> u64 {
            (self.unit() * most as f64) as u64
        }
    }

    /// A link whose packets have sizes of a few kinds, which are lost by chance or by `follows`.
    fn link(draw: &mut Draw, loss: f64, follows: impl Fn(u64, u32) -> bool) -> Vec<Passed> {
        let count = 64 + draw.below(2_000);
        let large = draw.unit();
        let passed = (0..count).map(|place| {
            let bytes = match draw.unit() < large {
                true => 1_000 + draw.below(400) as u32,
                false => 20 + draw.below(60) as u32,
            };
            Passed {
                packet: place as u32,
                place,
                time_ns: place as i64 * 16_000_000,
                bytes,
                is_lost: draw.unit() < loss || follows(place, bytes),
            }
        });
        passed.collect()
    }

    #[test]
    fn in_ten_thousand_links_with_loss_by_chance_there_is_no_pattern() {
        let mut draw = Draw(29);
        for world in 0..5_000 {
            let loss = draw.unit().powi(2) * 0.6;
            let never = |_: u64, _: u32| false;
            let (there, back) = (link(&mut draw, loss, never), link(&mut draw, loss, never));
            for way in [&there, &back] {
                assert_eq!(explained(way), None, "world {world}, loss {loss}");
                assert_eq!(by_time(way), None, "world {world}, loss {loss}");
            }
            assert!(!by_direction(&there, &back), "world {world}, loss {loss}");
            assert!(!by_direction(&back, &there), "world {world}, loss {loss}");
        }
    }

    #[test]
    fn a_size_that_nothing_passes_shows_through_loss_by_chance() {
        let mut draw = Draw(30);
        let mut seen = 0;
        for _ in 0..200 {
            let loss = draw.unit() * 0.2;
            let passed = link(&mut draw, loss, |_, bytes| bytes >= 1_200);
            let pattern = explained(&passed).map(|(pattern, ..)| pattern);
            seen += u64::from(matches!(
                pattern,
                Some(Pattern::Size {
                    bytes: 1_150..1_250,
                    ..
                })
            ));
        }
        assert!(seen >= 170, "{seen} of 200");
    }

    #[test]
    fn every_sixtyfourth_shows_through_loss_by_chance() {
        let mut draw = Draw(31);
        let (mut seen, mut long) = (0, 0);
        for _ in 0..200 {
            let loss = draw.unit() * 0.1;
            let passed = link(&mut draw, loss, |place, _| place % 64 == 63);
            if passed.len() < 1_200 {
                continue; // fewer than eighteen of them
            }
            long += 1;
            let pattern = explained(&passed).map(|(pattern, ..)| pattern);
            seen += u64::from(matches!(pattern, Some(Pattern::Number { every: 64, .. })));
        }
        assert!(seen * 10 >= long * 9, "{seen} of {long}");
    }
}
