//! Whether the nodes of several reels ever met.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use netreel_reel::{Endpoint, Header};

use crate::session::SessionError;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;
use crate::session::read::source::Source;
use crate::session::weave::end::End;

/// Pairs of reels that have packets in common.
#[derive(Default)]
pub(crate) struct Met {
    pub pairs: BTreeSet<(usize, usize)>,
    /// Some of them, each where its numbers say.
    recent: [(u16, u16); RECENT],
}

/// How many pairs are known without a search.
const RECENT: usize = 32;

impl Met {
    /// Notes the pairs of reels that have the packets of one group in common.
    pub fn note(&mut self, group: &[End]) {
        let Some(first) = group.first() else { return };
        for end in group {
            let watched = end.side == Side::Seen && end.reel != first.reel;
            if !watched && end.side == first.side {
                continue;
            }
            let pair = (first.reel, end.reel);
            let recent = &mut self.recent[usize::from(pair.0.wrapping_mul(7) ^ pair.1) % RECENT];
            // At first it is the first reel with itself.
            if *recent != pair || pair == (0, 0) {
                *recent = pair;
                self.pairs
                    .insert((usize::from(pair.0), usize::from(pair.1)));
            }
        }
    }
}

/// The pairs of reels that were made on one machine, or of one capture, and talked to the same
/// endpoint: clients of one server have no packet in common.
fn beside(sources: &[Source], scans: &[Scan]) -> Vec<(usize, usize)> {
    let mut first: BTreeMap<(&str, Endpoint), usize> = BTreeMap::new();
    let mut pairs = BTreeSet::new();
    for (place, (source, scan)) in sources.iter().zip(scans).enumerate() {
        let boot = source.reel.header().clock.boot_id.as_str();
        if boot.is_empty() {
            continue;
        }
        for connection in &scan.connections {
            for end in connection.ends() {
                let other = *first.entry((boot, end)).or_insert(place);
                if other != place {
                    pairs.insert((other, place));
                }
            }
        }
    }
    pairs.into_iter().collect()
}

/// The pairs of ends that the reel of one proxy tells of.
pub(crate) fn proxied(sources: &[Source]) -> Vec<(usize, usize)> {
    let pairs = sources.windows(2).enumerate();
    let same = pairs.filter(|(_, pair)| Arc::ptr_eq(&pair[0].reel, &pair[1].reel));
    same.map(|(place, _)| (place, place + 1)).collect()
}

/// Every reel with packets is tied to the first by packets in common, or at least by a session id.
pub(crate) fn one_meeting(
    sources: &[Source],
    scans: &[Scan],
    met: &BTreeSet<(usize, usize)>,
    warnings: &mut Vec<String>,
) -> Result<(), SessionError> {
    let talked = |place: usize| scans.get(place).is_some_and(|scan| scan.packets() > 0);
    let Some(first) = (0..sources.len()).find(|&place| talked(place)) else {
        return Ok(());
    };
    let met: Vec<(usize, usize)> = met.iter().copied().chain(beside(sources, scans)).collect();
    let mut reached = vec![false; sources.len()];
    reached[first] = true;
    spread(&met, &mut reached);
    loop {
        let apart: Vec<usize> = (0..sources.len())
            .filter(|&place| talked(place) && !reached[place])
            .collect();
        let Some(&alone) = apart.first() else {
            return Ok(());
        };
        let by_id = apart
            .into_iter()
            .find(|&place| same_session(sources, &reached, place));
        let place = by_id.unwrap_or(alone);
        let reel = sources[place].file.clone();
        let others: Vec<&str> = sources
            .iter()
            .zip(&reached)
            .filter(|(_, reached)| **reached)
            .map(|(source, _)| source.file.as_str())
            .collect();
        let others = others.join(", ");
        if by_id.is_none() {
            return Err(SessionError::NeverMet { reel, others });
        }
        warnings.push(format!(
            "{reel} is from the same session as {others}, but they have no packet in common"
        ));
        reached[place] = true;
        spread(&met, &mut reached);
    }
}

/// Whatever met one that is reached is reached.
fn spread(met: &[(usize, usize)], reached: &mut [bool]) {
    for _ in 0..reached.len() {
        for &(one, other) in met {
            let either = reached[one] || reached[other];
            reached[one] = either;
            reached[other] = either;
        }
    }
}

/// Whether its session id ties the reel at `place` to those that are reached. The ids of network
/// layers are all the same by now; unmodified programs have one for each recording.
fn same_session(sources: &[Source], reached: &[bool], place: usize) -> bool {
    let header = sources[place].reel.header();
    if header.session == [0; 16] || header.engine != Header::UNMODIFIED {
        return header.session != [0; 16];
    }
    let mut those = sources.iter().zip(reached).filter(|(_, reached)| **reached);
    those.any(|(other, _)| other.reel.header().session == header.session)
}
