//! When a reel may lack what its node sent: before it began, in its holes, and after its end unless the
//! node closed it in order.
//!
//! A receipt whose payload was sent before such a stretch may be of an equal packet that was sent in
//! it. Of packets that look alike nobody can tell but by how long they took.

use std::ops::Range;

use super::end::End;
use super::matching::Matched;
use super::neighbours::Neighbours;
use crate::session::SessionTime;
use crate::session::clock::Alignment;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;
use crate::session::read::source::{Source, is_closed};

/// The stretches that reels may lack, on the session's clock.
pub(crate) struct Missing {
    /// Of each reel, in order and apart from each other, without what comes after its end.
    stretches: Vec<Vec<Range<i64>>>,
    /// When each reel ends, where its node may have gone on.
    ends: Vec<i64>,
    /// For each reel, and each other one, from which of its receipts on the other has ended.
    after: Vec<Vec<u32>>,
}

/// Stretches in order, those that touch as one. Empty ones are left out.
fn united(mut stretches: Vec<Range<i64>>) -> Vec<Range<i64>> {
    stretches.retain(|it| it.start < it.end);
    stretches.sort_unstable_by_key(|it| it.start);
    stretches.dedup_by(|next, kept| {
        let touch = next.start <= kept.end;
        if touch {
            kept.end = kept.end.max(next.end);
        }
        touch
    });
    stretches
}

/// Whether a receipt can be of a send, by what the sender's reel may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// There is no other send that it could be of.
    Surely,
    Maybe,
    /// It came before.
    Never,
}

impl Missing {
    pub fn new(sources: &[Source], scans: &[Scan], clocks: &[Alignment]) -> Missing {
        let mut missing = Missing {
            stretches: Vec::new(),
            ends: Vec::new(),
            after: Vec::new(),
        };
        for ((source, scan), clock) in sources.iter().zip(scans).zip(clocks) {
            let time = |time| clock.map.time_alone(time).0;
            let Some((first, last)) = scan.span else {
                missing.stretches.push(Vec::new());
                missing.ends.push(i64::MAX);
                continue;
            };
            let (start, end) = clock.map.span_ns(first, last);
            let ns = |at: i128| SessionTime::of_ns(at).0;
            let mut own: Vec<Range<i64>> = Vec::new();
            // What a proxy tells of was sent before it had it.
            if !scan.told {
                if !scan.from_start || scan.begins_later {
                    own.push(i64::MIN..ns(start));
                }
                let holes = scan.holes.iter();
                own.extend(holes.map(|hole| hole.from.map_or(i64::MIN, time)..time(hole.until)));
            }
            missing.stretches.push(united(own));
            let is_closed = is_closed(&source.reel) && scan.limit.is_none() && !scan.open_end;
            missing
                .ends
                .push(if is_closed { i64::MAX } else { ns(end) });
        }
        for (scan, clock) in scans.iter().zip(clocks) {
            let receives = scan.side(Side::Receive);
            let place = |&end: &i64| clock.map.place_of(receives, SessionTime(end));
            let after = missing.ends.iter().map(|end| place(end) as u32).collect();
            missing.after.push(after);
        }
        missing
    }

    /// Whether a reel may lack what was sent before its end.
    pub fn is_holed(&self, reel: u16) -> bool {
        !self.stretches[usize::from(reel)].is_empty()
    }

    /// Whether a receipt, given by its reel and its place there, came when the sender's reel may lack
    /// something.
    pub fn is_open(&self, sender: u16, (reel, place): (u16, u32)) -> bool {
        let after = self.after[usize::from(reel)][usize::from(sender)];
        self.is_holed(sender) || place >= after
    }

    /// Whether a reel may lack something that was sent between two moments.
    fn between(&self, reel: u16, since: i64, until: i64) -> bool {
        let reel = usize::from(reel);
        let own = &self.stretches[reel];
        let next = own.partition_point(|hole| hole.end <= since);
        self.ends[reel] < until || own.get(next).is_some_and(|hole| hole.start < until)
    }

    /// Of the only send and the only receipt of a payload.
    pub fn held(&self, sent: (u16, i64), received: i64, tolerance_ns: i64) -> Held {
        let (reel, at) = sent;
        let latest = received.saturating_add(tolerance_ns);
        match latest < at {
            true => Held::Never,
            false if self.between(reel, at, latest) => Held::Maybe,
            false => Held::Surely,
        }
    }

    /// Takes receipts of one payload from the sends that were put together with them, where they
    /// are rather of a send that is not there: the sender's reel may lack one since, and they took
    /// longer than the packets next to them, or would have been overtaken by these. What is not
    /// certain is marked.
    pub fn part(
        &self,
        reel: u16,
        tolerance_ns: i64,
        time: impl Fn(&End) -> i64,
        neighbours: impl Fn(&End) -> Neighbours,
        matched: &mut Vec<Matched>,
    ) {
        let receipts = matched
            .iter()
            .map(|each| each.received.len())
            .sum::<usize>();
        let is_repeated = matched.len() > 1 || receipts > 1;
        let mut strays: Vec<End> = Vec::new();
        for each in matched.iter_mut() {
            let Some(sent) = each.sent.as_ref().map(&time) else {
                continue;
            };
            let mut is_unsure = false;
            each.received.retain(|receipt| {
                let at = time(receipt);
                let next = neighbours(receipt);
                let latest = at.saturating_add(tolerance_ns);
                if !self.between(reel, sent, latest) {
                    // Equal ones that were sent before it may be missing, and have come then.
                    let took = next.took_ns().map_or(0, |(_, most)| most.max(0));
                    let since = latest.min(sent).saturating_sub(took);
                    let since = since.saturating_sub(tolerance_ns);
                    is_unsure |= is_repeated && self.between(reel, since, sent);
                    return true;
                }
                let Some((_, most)) = next.took_ns() else {
                    is_unsure = true;
                    return true;
                };
                let longest = most
                    .saturating_add(most / 2)
                    .saturating_add(next.sooner_ns)
                    .saturating_add(tolerance_ns);
                let is_stray =
                    at.saturating_sub(sent) > longest || next.exclude(sent, tolerance_ns);
                is_unsure |= is_stray || is_repeated;
                strays.extend(is_stray.then_some(*receipt));
                !is_stray
            });
            each.doubtful |= is_unsure;
        }
        matched.extend(strays.into_iter().map(|receipt| Matched {
            received: vec![receipt],
            doubtful: true,
            ..Matched::default()
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_touch_are_one() {
        let stretches = vec![7..9, 1..3, 2..5, 5..6, 8..8];
        assert_eq!(united(stretches), [1..6, 7..9]);
    }

    #[test]
    fn a_moment_is_looked_for_in_the_stretch_that_ends_next() {
        let missing = Missing {
            stretches: vec![vec![10..20, 30..40]],
            ends: vec![i64::MAX],
            after: Vec::new(),
        };
        for (since, until, lacks) in [
            (0, 10, false),
            (0, 11, true),
            (19, 25, true),
            (20, 30, false),
            (20, 31, true),
            (40, 90, false),
        ] {
            assert_eq!(missing.between(0, since, until), lacks, "{since}..{until}");
        }
    }
}
