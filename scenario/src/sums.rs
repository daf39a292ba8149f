//! What many matches come to.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::judged::gravity;
use crate::played::{Match, Outcome};

/// How many of how many, and between which bounds the true share lies with a confidence of 95 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    /// So many.
    pub count: u64,
    /// Of so many.
    pub of: u64,
    /// The lower bound, 0 to 1 (Wilson's interval).
    pub least: f64,
    /// The upper bound, 0 to 1.
    pub most: f64,
}

/// What the matches of a run come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sums {
    /// How many were bad: a finding of the level or above, something unexpected, or a match that failed.
    pub bad: Share,
    /// How many of them could not be played to their end.
    pub failed: u64,
    /// In how many there was a finding of each rule, of the level or above.
    pub rules: BTreeMap<String, Share>,
    /// How long matches took, in seconds: the shortest, the mean, the longest.
    pub took: [f64; 3],
    /// How many packets were recorded.
    pub packets: u64,
}

impl Share {
    /// So many of so many.
    pub fn new(count: u64, of: u64) -> Share {
        let (least, most) = wilson(count as f64, of as f64);
        Share {
            count,
            of,
            least,
            most,
        }
    }
}

/// Wilson's interval for a share (E. B. Wilson, 1927), for 95 %.
fn wilson(count: f64, of: f64) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    if of == 0.0 {
        return (0.0, 1.0);
    }
    let (share, z2) = (count / of, Z * Z);
    let middle = share + z2 / (2.0 * of);
    let half = Z * (share * (1.0 - share) / of + z2 / (4.0 * of * of)).sqrt();
    let bound = |it: f64| (it / (1.0 + z2 / of)).clamp(0.0, 1.0);
    (bound(middle - half), bound(middle + half))
}

/// The chance that two shares are as far apart as these or farther, if the truth behind both is one: Fisher's
/// exact test, two-sided.
pub fn chance(one: Share, other: Share) -> f64 {
    let (all, bad) = (one.of + other.of, one.count + other.count);
    let least = bad.saturating_sub(other.of);
    let most = bad.min(one.of);
    let ln_of = |count: u64| {
        ln_choose(one.of, count) + ln_choose(other.of, bad - count) - ln_choose(all, bad)
    };
    let seen = ln_of(one.count);
    // What is as likely as this is as far apart, whatever the last digits are.
    let far = (least..=most).map(ln_of).filter(|it| *it <= seen + 1e-7);
    far.map(f64::exp).sum::<f64>().min(1.0)
}

/// The logarithm of how many choices of `some` out of `all` there are.
fn ln_choose(all: u64, some: u64) -> f64 {
    let some = some.min(all - some);
    (0..some)
        .map(|it| ((all - it) as f64).ln() - ((it + 1) as f64).ln())
        .sum()
}

impl Sums {
    /// What `matches` come to; bad is what has a finding of `level` or above.
    pub fn of(matches: &[Match], level: &str) -> Sums {
        let of = matches.len() as u64;
        let count =
            |is_so: &dyn Fn(&Match) -> bool| matches.iter().filter(|it| is_so(it)).count() as u64;
        let mut rules: BTreeMap<String, u64> = BTreeMap::new();
        for played in matches {
            let grave = played
                .judged
                .findings
                .iter()
                .filter(|found| gravity(&found.level) >= gravity(level));
            let mut names: Vec<&str> = grave.map(|found| found.rule.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                *rules.entry(name.to_owned()).or_default() += 1;
            }
        }
        let took = matches.iter().map(|it| it.took);
        let total: f64 = took.clone().sum();
        Sums {
            bad: Share::new(count(&|it| it.is_bad(level)), of),
            failed: count(&|it| matches!(it.outcome, Outcome::Failed(_))),
            rules: rules
                .into_iter()
                .map(|(name, count)| (name, Share::new(count, of)))
                .collect(),
            took: [
                took.clone().fold(f64::INFINITY, f64::min),
                total / of.max(1) as f64,
                took.fold(0.0, f64::max),
            ],
            packets: matches.iter().map(|it| it.judged.packets).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_is_fishers() {
        // Counted with exact fractions.
        let close = |one: (u64, u64), other: (u64, u64), known: f64| {
            let chance = chance(Share::new(one.0, one.1), Share::new(other.0, other.1));
            assert!((chance - known).abs() < known * 1e-3, "{chance} {known}");
        };
        close((3, 10), (7, 10), 0.178895);
        close((8, 10), (1, 6), 0.03497);
        close((90, 500), (0, 500), 1.97206e-29);
        close((5, 10), (5, 10), 1.0);
    }

    #[test]
    fn the_interval_is_wilsons() {
        // Values of R's prop.test(correct = FALSE).
        let close = |share: Share, least: f64, most: f64| {
            assert!((share.least - least).abs() < 5e-5, "{share:?}");
            assert!((share.most - most).abs() < 5e-5, "{share:?}");
        };
        close(Share::new(0, 500), 0.0, 0.00762);
        close(Share::new(3, 500), 0.00204, 0.01749);
        close(Share::new(250, 500), 0.45634, 0.54366);
        close(Share::new(0, 0), 0.0, 1.0);
    }
}
