//! Whether the nodes of several reels ever met.

use super::SessionError;
use super::matching::{End, groups};
use super::scan::Scan;
use super::source::Source;

/// The pairs of reels that have a packet in common.
pub(super) fn met(ends: &[End], scans: &[Scan]) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = groups(ends, scans)
        .filter_map(|group| {
            let (first, last) = (group.first()?, group.last()?);
            (first.side != last.side).then_some((usize::from(first.reel), usize::from(last.reel)))
        })
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Every reel with packets is tied to the first by packets in common, or at least by a session id.
pub(super) fn one_meeting(
    sources: &[Source],
    scans: &[Scan],
    met: &[(usize, usize)],
    warnings: &mut Vec<String>,
) -> Result<(), SessionError> {
    let talked = |place: usize| {
        scans
            .get(place)
            .is_some_and(|scan| !(scan.sends.is_empty() && scan.receives.is_empty()))
    };
    let Some(first) = (0..sources.len()).find(|&place| talked(place)) else {
        return Ok(());
    };
    let mut reached = vec![false; sources.len()];
    reached[first] = true;
    for _ in 0..sources.len() {
        for &(one, other) in met {
            let either = reached[one] || reached[other];
            reached[one] = either;
            reached[other] = either;
        }
    }
    for place in (0..sources.len()).filter(|&place| talked(place) && !reached[place]) {
        let reel = sources[place].file.clone();
        let others: Vec<&str> = sources
            .iter()
            .enumerate()
            .filter(|&(other, _)| reached[other])
            .map(|(_, source)| source.file.as_str())
            .collect();
        let others = others.join(", ");
        if sources[place].reel.header().session == [0; 16] {
            return Err(SessionError::NeverMet { reel, others });
        }
        warnings.push(format!(
            "{reel} is from the same session as {others}, but they have no packet in common"
        ));
    }
    Ok(())
}
