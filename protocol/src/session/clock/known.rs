//! What reels tell of their clocks, and what explains all packets.

use netreel_reel::EventNumber;

use super::aligned::Aligned;
use super::pieces::{Epoch, Gaps, Gathered, Pauses, Pieces};
use super::place::Placed;
use super::solve::Span;

/// What reels tell of their clocks.
pub(crate) struct Reels<'a> {
    /// Compares packets: of those between pieces it gives all that can bind.
    pub gather: &'a dyn Fn(&Pieces) -> Gathered,
    /// How a reel's times go on around a stretch of them, and at all others.
    pub pauses: &'a dyn Fn(usize, Span) -> Pauses,
    /// Around a stretch of a reel's time where it is passed over for this long at least.
    pub jumps: &'a dyn Fn(usize, Span, u64) -> Vec<(u64, u64)>,
    /// Where a reel's times fall by a little, and by how much.
    pub falls: &'a dyn Fn(usize) -> Vec<(EventNumber, u64)>,
    /// Takes a reel apart where it falls by much, and before some events.
    pub epochs: &'a dyn Fn(usize, &[EventNumber]) -> Vec<Epoch>,
}

/// Clocks that explain all packets.
pub(super) struct Known {
    pub aligned: Aligned,
    /// Where clocks were set, and what is between.
    pub gaps: Gaps,
    pub pieces: Pieces,
    pub placed: Vec<Placed>,
}
