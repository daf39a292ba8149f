//! Of the packets in the gap in which a clock was set, which were before it and which after.

use std::collections::BTreeMap;

use super::hull::Crossed;
use super::known::{Known, Reels};
use super::pieces::{Gap, Gaps, Pieces};
use super::place::Placed;
use super::solve::{Sample, Span};
use super::steps::joined;

/// What clocks tell of themselves where they were cut: the packet before that came before the one after.
pub(super) fn order_at(
    pieces: &Pieces,
    cuts: &BTreeMap<usize, u64>,
    reels: &Reels<'_>,
) -> Vec<Sample> {
    let mut order = Vec::new();
    for (&gap, &cut) in cuts {
        let ends = pieces.all.get(gap).zip(pieces.around(gap));
        let Some((piece, (from, to))) = ends else {
            continue;
        };
        let (first, last) = (cut.saturating_sub(1), cut);
        let jumps = reels.jumps(piece.clock, Span { first, last }, 0);
        for (sent, received) in jumps.flatten() {
            if sent < cut && cut <= received {
                order.push(Sample::new(from, to, Crossed { sent, received }));
            }
        }
    }
    order
}

/// How many packets around a step of one clock tell nothing of others: too few to show what latency hides.
const AROUND: usize = 16;

/// How many are left before and behind, if there are this many.
const LEFT: usize = 8;

/// Where clocks were set, and around each step all but the one that they are read on.
pub(super) fn all_at(
    (whole, reference): (&Pieces, usize),
    samples: &[Sample],
    known: &Known,
) -> Gaps {
    let (pieces, placed) = (&known.pieces, &known.placed);
    // When clocks were set, between these times.
    let mut set: Vec<(i128, i128)> = Vec::new();
    for (place, pair) in pieces.all.windows(2).enumerate() {
        let [one, other] = pair else { continue };
        // Where that one was set, all others were, as it looks to it: nothing would tie them across.
        if one.clock == reference || one.clock != other.clock || one.is_gap {
            continue;
        }
        let after = place + if other.is_gap { 2 } else { 1 };
        let last = placed[place].time(one.span.last);
        let first = placed[after].time(pieces.all[after].span.first);
        set.push((last.min(first), last.max(first)));
    }
    let mut gaps = known.gaps.clone();
    for (place, own) in whole.all.iter().enumerate() {
        if own.clock == reference {
            continue;
        }
        let mut times: Vec<(i128, u64)> = Vec::new();
        for it in samples {
            let ends = [(it.from, it.crossed.sent), (it.to, it.crossed.received)];
            for (_, at) in ends.into_iter().filter(|end| end.0 == place) {
                let piece = pieces.at(own.clock, own.epoch, at);
                times.extend(piece.map(|piece| (placed[piece].time(at), at)));
            }
        }
        times.sort_unstable();
        let own_gaps = known.gaps.get(&(own.clock, own.epoch));
        for &(last, first) in &set {
            let before = times.partition_point(|it| it.0 < last);
            let after = times.partition_point(|it| it.0 <= first);
            // A third of what lies between this and the clock's own steps, at the most.
            let (mut least, mut most) = (0, times.len());
            for gap in own_gaps.into_iter().flatten() {
                let begin = times.partition_point(|it| it.1 <= gap.last);
                let end = times.partition_point(|it| it.1 < gap.first);
                if end < before {
                    least = least.max(end);
                }
                if after < begin {
                    most = most.min(begin);
                }
            }
            let room = |count: usize| AROUND.min(count / 3).min(count.saturating_sub(LEFT));
            let from = before - room(before - least);
            let until = after + room(most - after);
            let those = times[from..until].iter().map(|it| it.1);
            if let (Some(last), Some(first)) = (those.clone().min(), those.max()) {
                let gap = Gap { last, first };
                gaps.entry((own.clock, own.epoch)).or_default().push(gap);
            }
        }
    }
    for own in gaps.values_mut() {
        *own = joined(std::mem::take(own));
    }
    gaps
}

/// Each gap is looked at this many times: packets between two gaps tell more once one is known.
const ROUNDS: usize = 3;

/// For each gap the first time in it at which the clock had been set, as far as the packets in the
/// gap tell; and these packets, each with the piece that it is then of.
pub(super) fn cut(
    pieces: &Pieces,
    placed: &[Placed],
    within: &[Sample],
) -> (BTreeMap<usize, u64>, Vec<Sample>) {
    let mut cuts: BTreeMap<usize, u64> = BTreeMap::new();
    // The piece of a time, where the cuts tell.
    let side = |cuts: &BTreeMap<usize, u64>, place: usize, at: u64| match pieces.is_gap(place) {
        false => Some(place),
        true => {
            let (before, after) = pieces.around(place)?;
            let cut = cuts.get(&place)?;
            Some(if at < *cut { before } else { after })
        }
    };
    let sided = |cuts: &BTreeMap<usize, u64>, it: &Sample| {
        Some(Sample {
            from: side(cuts, it.from, it.crossed.sent)?,
            to: side(cuts, it.to, it.crossed.received)?,
            ..*it
        })
    };
    let is_early = |it: &Sample| {
        placed[it.to].time(it.crossed.received) < placed[it.from].time(it.crossed.sent)
    };
    let gaps = (0..pieces.all.len()).filter(|&place| pieces.is_gap(place));
    let gaps: Vec<usize> = gaps.collect();
    for gap in (0..ROUNDS).flat_map(|_| gaps.iter().copied()) {
        // When, and whether it is early if that is before the cut, and if it is after it.
        let mut those: Vec<(u64, bool, bool)> = Vec::new();
        for it in within.iter().filter(|it| it.from == gap || it.to == gap) {
            let mut tried = cuts.clone();
            let mut early = |cut: u64| {
                tried.insert(gap, cut);
                sided(&tried, it).map(|it| is_early(&it))
            };
            if let (Some(before), Some(after)) = (early(u64::MAX), early(0)) {
                those.push((it.at(gap), before, after));
            }
        }
        those.sort_unstable();
        // This many are wrong where all are after the cut; and one after the other is before it. A clock
        // that was set forward passed over times, more of them than where it was not.
        let span = pieces.all[gap].span;
        let is_forward = pieces.around(gap).is_some_and(|(before, after)| {
            placed[before].time(span.first) > placed[after].time(span.first)
        });
        let passed = |place: usize| {
            let from = place.checked_sub(1).and_then(|before| those.get(before));
            let until = those.get(place).map_or(span.last, |it| it.0);
            let ns = until.saturating_sub(from.map_or(span.first, |it| it.0));
            std::cmp::Reverse(if is_forward { ns } else { 0 })
        };
        let mut wrong = those.iter().filter(|it| it.2).count() as i64;
        let mut best = (wrong, passed(0), 0);
        for (place, &(_, before, after)) in those.iter().enumerate() {
            wrong += i64::from(before) - i64::from(after);
            best = best.min((wrong, passed(place + 1), place + 1));
        }
        let first = those.get(best.2).map(|it| it.0);
        let after = those.last().map(|it| it.0.saturating_add(1));
        cuts.insert(gap, first.or(after).unwrap_or(span.last));
    }
    let all = within.iter().filter_map(|it| sided(&cuts, it)).collect();
    (cuts, all)
}
