//! Where exactly a clock was set forward.
//!
//! A clock that is set forward passes over times, so that each reel on it has none of them. Of a gap in
//! which it was set, only that part counts in which its reels pass over as much.

use super::known::Reels;
use super::map::on;
use super::pieces::{Gap, Gaps, Pieces};
use super::place::Placed;

/// Steps that may be smaller than this are not looked for.
const LEAST_NS: f64 = 1_000_000.0;

/// The gaps between pieces, those narrower in which clocks were set forward for sure.
pub(super) fn narrowed(pieces: &Pieces, placed: &[Placed], reels: &Reels<'_>) -> Gaps {
    let mut gaps = Gaps::new();
    for (place, piece) in pieces.all.iter().enumerate().filter(|(_, it)| it.is_gap) {
        let mut gap = Gap {
            last: piece.span.first,
            first: piece.span.last,
        };
        let least_ns = forward_ns(placed, place, gap);
        if least_ns > LEAST_NS {
            for jumps in reels.jumps(piece.clock, piece.span, least_ns as u64) {
                if let (Some(one), Some(other)) = (jumps.first(), jumps.last()) {
                    let last = gap.last.max(one.0);
                    let first = gap.first.min(other.1);
                    if last < first {
                        gap = Gap { last, first };
                    }
                }
            }
        }
        gaps.entry((piece.clock, piece.epoch))
            .or_default()
            .push(gap);
    }
    gaps
}

/// By how much at the least the clock was set forward in a gap.
fn forward_ns(placed: &[Placed], place: usize, gap: Gap) -> f64 {
    let (before, after) = (&placed[place - 1].course, &placed[place + 1].course);
    let base_ns = (before.base_ns - after.base_ns) as f64;
    let by = [gap.last, gap.first].map(|at| base_ns + on(&before.lower, at) - on(&after.upper, at));
    by[0].min(by[1])
}
