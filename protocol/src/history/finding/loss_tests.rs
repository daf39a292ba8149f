//! What the losses of one link follow: the size of packets, their number, time, or the direction.
//!
//! Chance alone must not look like a pattern: packets that are lost independently of each other, each with
//! the same probability, are called a pattern once in 10^9 links at most ([`LN_CHANCE`]). Three things see to
//! it. Each test bounds the probability of what it saw from above (Fisher's exact test, or a Chernoff bound,
//! not a normal approximation, which is wrong by orders of magnitude where few packets were lost), and
//! multiplies it by how many thresholds, numbers or times it tried. Fisher's test asks how the losses that
//! there were are spread, so that nobody has to guess how many are lost otherwise. And what is lost in a row
//! counts once where the question is not whether losses come in rows: an outage that met large packets alone
//! says nothing of sizes.

use std::collections::BTreeMap;
use std::ops::Range;

/// The logarithm of how likely chance may be: 10^-9.
const LN_CHANCE: f64 = -20.7;

/// Every Nth packet is looked for up to this N.
const EVERY_MAX: u64 = 256;

/// Losses with at most so many packets between them that arrived are one burst.
const BETWEEN_MAX: usize = 3;

/// A burst has this many losses or more.
const BURST_MIN: u64 = 4;

/// A pattern needs so many things that follow it.
const GROUPS_MIN: u64 = 5;

/// A size that does not explain what is lost of a link may explain what is lost of some of so many parts of
/// it that follow each other: a path may become narrow, and wide again.
const PARTS: usize = 8;

/// How many stretches of parts there are.
const STRETCHES: usize = PARTS * (PARTS + 1) / 2;

/// What was lost of each size in each part.
type Sizes = BTreeMap<u32, [Share; PARTS]>;

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

/// How many packets were lost, and of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub lost: u64,
    pub all: u64,
}

impl Share {
    pub(super) fn add(&mut self, other: Share) {
        self.lost += other.lost;
        self.all += other.all;
    }

    fn count(&mut self, is_lost: bool) {
        self.lost += u64::from(is_lost);
        self.all += 1;
    }

    pub(super) fn rate(self) -> f64 {
        self.lost as f64 / (self.all.max(1)) as f64
    }

    /// Whether nine in ten or more were lost.
    fn is_nearly_all(self) -> bool {
        self.lost * 10 >= self.all * 9
    }
}

/// What is lost and why it is no chance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Packets of this many bytes and more, and the others: of all, or of those that were sent from the first
    /// of these times to the second.
    Size {
        bytes: u32,
        large: Share,
        small: Share,
        within: Option<(i64, i64)>,
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
            Pattern::Size { bytes, within, .. } => {
                let is_within = |(since, until)| (since..=until).contains(&it.time_ns);
                it.bytes >= bytes && within.is_none_or(is_within)
            }
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

/// Whether all large packets are lost: of all, or of the stretch of parts of which that is the least likely
/// by chance.
fn by_size(all: &[Passed]) -> Option<Pattern> {
    let part = all.len().div_ceil(PARTS).max(1);
    let mut sizes = Sizes::new();
    for (place, it) in all.iter().enumerate() {
        sizes.entry(it.bytes).or_default()[place / part].count(it.is_lost);
    }
    let mut best: Option<(f64, Pattern)> = None;
    for length in (1..=PARTS).rev() {
        for first in 0..=PARTS - length {
            let end = first + length;
            let some = &all[(first * part).min(all.len())..(end * part).min(all.len())];
            let tried = if length == PARTS { 1 } else { STRETCHES };
            let Some((ln, bytes)) = nothing_passes_from(some, &sizes, first..end, tried) else {
                continue;
            };
            if best.as_ref().is_none_or(|it| ln < it.0) {
                let within = (length < PARTS).then(|| narrow_within(all, some, bytes));
                best = Some((ln, size_pattern(all, bytes, within)));
            }
        }
    }
    best.map(|it| it.1)
}

/// From how many bytes on nearly all of `some` are lost, which are those of these parts, and the logarithm of
/// how likely that is by chance.
fn nothing_passes_from(
    some: &[Passed],
    sizes: &Sizes,
    parts: Range<usize>,
    stretches: usize,
) -> Option<(f64, u32)> {
    let share_of = |shares: &[Share; PARTS]| {
        let mut sum = Share::default();
        shares[parts.clone()].iter().for_each(|it| sum.add(*it));
        sum
    };
    let (mut large, mut small) = (Share::default(), Share::default());
    sizes.values().for_each(|it| small.add(share_of(it)));
    let mut thresholds = Vec::new();
    for (&bytes, shares) in sizes.iter().rev() {
        let share = share_of(shares);
        large.add(share);
        small.all -= share.all;
        small.lost -= share.lost;
        if share.lost > 0 {
            thresholds.push((bytes, large, small));
        }
    }
    let tried = ((thresholds.len() * stretches).max(1) as f64).ln();
    let nearly = thresholds.into_iter().filter(|&(_, large, small)| {
        large.is_nearly_all() && large.lost >= GROUPS_MIN && small.all > 0
    });
    // Of several the one that tells best what is lost from what arrives.
    let likely = nearly.map(|(bytes, large, small)| (ln_among(large, small), bytes, small));
    let (_, bytes, small) = likely.min_by(|one, other| one.0.total_cmp(&other.0))?;
    let groups = groups(some, bytes);
    let ln = ln_among(groups, small) + tried;
    (groups.lost >= GROUPS_MIN && ln <= LN_CHANCE).then_some((ln, bytes))
}

/// From when to when nearly all large packets are lost: those of `some`, and the losses around them.
fn narrow_within(all: &[Passed], some: &[Passed], bytes: u32) -> (i64, i64) {
    let is_large = |it: &&Passed| it.bytes >= bytes;
    let lost = || some.iter().filter(is_large).filter(|it| it.is_lost);
    let (first, last) = lost()
        .next()
        .zip(lost().next_back())
        .map_or((0, 0), |(first, last)| (first.place, last.place));
    let before = all.iter().rev().filter(|it| it.place <= first);
    let since = before.filter(is_large).take_while(|it| it.is_lost).last();
    let after = all.iter().filter(|it| it.place >= last);
    let until = after.filter(is_large).take_while(|it| it.is_lost).last();
    let time = |it: Option<&Passed>| it.map_or(0, |it| it.time_ns);
    (time(since), time(until))
}

fn size_pattern(all: &[Passed], bytes: u32, within: Option<(i64, i64)>) -> Pattern {
    let (mut large, mut small) = (Share::default(), Share::default());
    let is_within =
        |it: &&Passed| within.is_none_or(|(since, until)| (since..=until).contains(&it.time_ns));
    for it in all.iter().filter(is_within) {
        match it.bytes >= bytes {
            true => large.count(it.is_lost),
            false => small.count(it.is_lost),
        }
    }
    Pattern::Size {
        bytes,
        large,
        small,
        within,
    }
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
        let ln = ln_among(meant, others);
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
    // Of losses by chance this many follow each other.
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

/// Whether far more is lost at one node than between all others: `at` with losses in a row as one
/// ([`in_rows`]), of so many nodes that were looked at.
pub(super) fn by_place(at: Share, others: Share, nodes: usize) -> bool {
    at.lost >= GROUPS_MIN
        && at.rate() >= 0.01
        && at.rate() >= 4.0 * others.rate()
        && ln_among(at, others) + (nodes.max(1) as f64).ln() <= LN_CHANCE
}

/// Losses, where those in a row are one.
pub(super) fn in_rows(all: &[Passed]) -> Share {
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

/// The logarithm of how likely so many losses or more are among `some`, if of all that were lost each could
/// have been any of `some` and `others`: from above (Fisher's exact test, its tail as often as the likeliest
/// of it).
fn ln_among(some: Share, others: Share) -> f64 {
    if some.rate() <= others.rate() {
        return 0.0;
    }
    let (all, lost) = (some.all + others.all, some.lost + others.lost);
    let ways = ln_choose(some.all, some.lost) + ln_choose(others.all, others.lost);
    let more = some.all.min(lost).saturating_sub(some.lost) + 1;
    (ways - ln_choose(all, lost) + (more as f64).ln()).min(0.0)
}

/// The logarithm of how many choices of `some` out of `all` there are.
fn ln_choose(all: u64, some: u64) -> f64 {
    ln_factorial(all) - ln_factorial(some) - ln_factorial(all.saturating_sub(some))
}

/// That of a factorial: by Stirling's series, which is off by less than 10^-6 from 16 on.
fn ln_factorial(of: u64) -> f64 {
    if of < 16 {
        return (2..=of).map(|it| (it as f64).ln()).sum();
    }
    let of = of as f64;
    of * of.ln() - of + (std::f64::consts::TAU * of).ln() / 2.0 + 1.0 / (12.0 * of)
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
            let (one, other) = (in_rows(&there), in_rows(&back));
            assert!(!by_place(one, other, 2), "world {world}, loss {loss}");
            assert!(!by_place(other, one, 2), "world {world}, loss {loss}");
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

    // A path that becomes narrow in the middle, and one that is wide again later.
    #[test]
    fn a_size_that_nothing_passes_for_a_while_shows_with_the_time() {
        let mut draw = Draw(32);
        for (since, until) in [(0.4, 1.0), (0.0, 0.6), (0.3, 0.7)] {
            let (mut seen, mut long) = (0, 0);
            for _ in 0..200 {
                let loss = draw.unit() * 0.1;
                let mut passed = link(&mut draw, loss, |_, _| false);
                let count = passed.len() as f64;
                let is_narrow = |it: &Passed| {
                    let place = it.place as f64 / count;
                    it.bytes >= 1_000 && (since..until).contains(&place)
                };
                passed.iter_mut().for_each(|it| it.is_lost |= is_narrow(it));
                let large = passed.iter().filter(|it| is_narrow(it)).count();
                if large < 40 || passed.len() - large < 100 {
                    continue;
                }
                long += 1;
                if let Some((Pattern::Size { within, .. }, meant, _)) = explained(&passed) {
                    let right = meant.iter().filter(|it| is_narrow(it)).count();
                    let is_near = right * 10 >= large * 8 && right * 10 >= meant.len() * 9;
                    seen += u64::from(is_near && within.is_some());
                }
            }
            assert!(long >= 50 && seen * 5 >= long * 4, "{seen} of {long}");
        }
    }

    #[test]
    fn every_sixtyfourth_shows_through_loss_by_chance() {
        let mut draw = Draw(31);
        let (mut seen, mut long) = (0, 0);
        for _ in 0..200 {
            let loss = draw.unit() * 0.1;
            let passed = link(&mut draw, loss, |place, _| place % 64 == 63);
            if passed.len() < 800 {
                continue; // fewer than a dozen of them
            }
            long += 1;
            let pattern = explained(&passed).map(|(pattern, ..)| pattern);
            seen += u64::from(matches!(pattern, Some(Pattern::Number { every: 64, .. })));
        }
        assert!(seen * 10 >= long * 9, "{seen} of {long}");
    }
}
