//! What reels tell of their clocks, and what explains all packets.

use super::aligned::Aligned;
use super::pieces::{Gaps, Gathered, Pieces, Reading, jumps};
use super::place::Placed;
use super::solve::Span;
use crate::session::read::scan::Scan;

/// What reels tell of their clocks.
#[derive(Clone, Copy)]
pub(crate) struct Reels<'a> {
    pub readings: &'a [Reading],
    /// Compares packets: of those between pieces it gives all that can bind.
    pub gather: &'a dyn Fn(&Pieces) -> Gathered,
    pub scans: &'a [Scan],
}

impl Reels<'_> {
    /// What a reel tells.
    pub fn of<T: Default>(&self, reel: usize, tell: impl FnOnce(&Scan) -> T) -> T {
        self.scans.get(reel).map(tell).unwrap_or_default()
    }

    /// Of each reel on a clock what [`jumps`] says.
    pub fn jumps(
        &self,
        clock: usize,
        span: Span,
        least_ns: u64,
    ) -> impl Iterator<Item = Vec<(u64, u64)>> {
        let own = self.readings.iter().enumerate();
        own.filter(move |(_, it)| it.clock == clock)
            .map(move |(reel, _)| self.of(reel, |scan| jumps(scan, span, least_ns)))
    }
}

/// Clocks that explain all packets.
pub(super) struct Known {
    pub aligned: Aligned,
    /// Where clocks were set, and what is between.
    pub gaps: Gaps,
    pub pieces: Pieces,
    pub placed: Vec<Placed>,
}
