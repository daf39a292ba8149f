//! Boot ids that are copies.
//!
//! Reels of one boot id read one clock, so that nothing between them can arrive before it was sent.
//! Where it does, the id was copied: with the image of a virtual machine, or into a container.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::ClockAnchor;

use crate::session::counted::packets;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;
use crate::session::read::source::Source;
use crate::session::weave::places::Places;
use crate::session::weave::woven::Woven;

/// What one machine writes down may be off by less: threads are stopped between reading the clock
/// and writing.
const EARLY_NS: u64 = 1_000_000;

/// How many packets of each reel are looked at, all over its time.
const LOOKED_AT: usize = 4096;

/// One in this many must be early: single ones may be taken for packets that they are not.
const ONE_IN: u64 = 10;

/// Pairs of reels that share a boot id and not a clock.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    boots: BTreeSet<String>,
    /// Of sender and receiver: how many are early of those that were looked at, and by how much.
    pairs: BTreeMap<(usize, usize), (u64, u64)>,
}

impl Copies {
    /// Looks at some packets between reels of one boot id.
    pub fn find(
        anchors: &[&ClockAnchor],
        scans: &[Scan],
        places: &Places,
        woven: &Woven,
    ) -> Copies {
        let boot = |reel: usize| anchors[reel].boot_id.as_str();
        let mut found: BTreeMap<(usize, usize), (u64, u64, u64)> = BTreeMap::new();
        for (reel, scan) in scans.iter().enumerate() {
            let beside = |other: usize| other != reel && boot(other) == boot(reel);
            if boot(reel).is_empty() || !(0..scans.len()).any(beside) {
                continue;
            }
            let sends = scan.side(Side::Send);
            let every = sends.len().div_ceil(LOOKED_AT).max(1);
            for place in (0..sends.len()).step_by(every) {
                let end = places.id(reel, Side::Send, place);
                let partner = woven.partner(end);
                let Some((other, side, at)) = partner.map(|it| places.find(it)) else {
                    continue;
                };
                if !beside(other) {
                    continue;
                }
                let received = scans[other].side(side).time(at).0;
                let early_ns = sends.time(place).0.saturating_sub(received);
                let known = found.entry((reel, other)).or_default();
                known.0 += 1;
                if early_ns >= EARLY_NS {
                    known.1 += 1;
                    known.2 = known.2.max(early_ns);
                }
            }
        }
        found.retain(|_, &mut (all, early, _)| early > 0 && early >= all / ONE_IN);
        Copies {
            boots: found
                .keys()
                .map(|&(reel, _)| boot(reel).to_owned())
                .collect(),
            pairs: found
                .into_iter()
                .map(|(pair, (_, early, worst_ns))| (pair, (early, worst_ns)))
                .collect(),
        }
    }

    /// Whether reels with this boot id have clocks of their own.
    pub fn has(&self, boot: &str) -> bool {
        self.boots.contains(boot)
    }

    pub fn is_empty(&self) -> bool {
        self.boots.is_empty()
    }

    /// Says it.
    pub fn warn(&self, sources: &[Source], warnings: &mut Vec<String>) {
        for (&(from, to), &(early, worst_ns)) in &self.pairs {
            let (from, to) = (&sources[from], &sources[to]);
            warnings.push(format!(
                "{} and {} have the same boot id, and yet {} from {} to {} would arrive up to {:.3} \
                 ms before they were sent: the id must be a copy, and their clocks are aligned as \
                 those of two machines",
                from.file,
                to.file,
                packets(early),
                from.node,
                to.node,
                worst_ns as f64 / 1e6,
            ));
        }
    }
}
