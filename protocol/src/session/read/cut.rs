//! Packets of which a capture kept the first bytes only, recognised by these.
//!
//! Of the ends of one link whose packets had the same length, those that begin alike, as far as the
//! shortest of them is known, are compared by that much. What was recorded whole at its ends stays
//! told apart by all its bytes: where two such packets begin alike, what was cut is neither's.

use std::collections::{BTreeMap, BTreeSet};

use super::ends::{EndAt, Side};
use super::payloads;
use super::scan::hash;
use super::source::Source;
use crate::session::weave::end::End;
use crate::session::who::roads::{EndKey, Roads};
use crate::session::who::shares::Share;

/// The ends that may be of one packet although one of them was cut, and the hash of the bytes that
/// they are to be compared by.
pub(crate) fn trim(roads: &Roads<'_>, sources: &[Source]) -> BTreeMap<EndKey, u64> {
    let mut trimmed = BTreeMap::new();
    let is_cut = roads
        .scans
        .iter()
        .any(|scan| Side::ALL.iter().any(|&side| scan.side(side).cut() > 0));
    if !is_cut {
        return trimmed;
    }
    let all = roads.shares(0..1, 0, &[]);
    let ends: Vec<End> = all.iter().flat_map(Share::ends).collect();
    let class = |end: &End| (end.from, end.to, end.whole);
    let kept = |end: &End| {
        let ends = end.ends(roads.scans);
        ends.map_or(0, |ends| ends.length(end.place as usize))
    };
    let cut = ends.iter().filter(|end| kept(end) < end.whole);
    let classes: BTreeSet<(u16, u16, u32)> = cut.map(class).collect();
    let mut some: Vec<(End, Vec<u8>)> = ends
        .into_iter()
        .filter(|end| classes.contains(&class(end)))
        .map(|end| (end, Vec::new()))
        .collect();
    let places: Vec<EndAt> = some.iter().map(|(end, _)| end.at()).collect();
    let reels = sources.iter().map(|source| &*source.reel);
    payloads::of_ends(reels.zip(roads.scans), &places, |nth, _, payload| {
        some[nth].1.extend_from_slice(payload);
    });
    some.sort_by(|(a, a_bytes), (b, b_bytes)| {
        let place = |end: &End| (end.side, end.reel, end.place);
        let bytes = || a_bytes.cmp(b_bytes);
        class(a)
            .cmp(&class(b))
            .then_with(bytes)
            .then_with(|| place(a).cmp(&place(b)))
    });
    let mut rest = some.as_slice();
    while let Some((root, start)) = rest.first() {
        // In this order, what begins like a payload stands behind it.
        let alike = rest
            .iter()
            .take_while(|(other, bytes)| class(other) == class(root) && bytes.starts_with(start));
        let family = alike.count();
        let equal = rest
            .iter()
            .take(family)
            .take_while(|(_, bytes)| bytes.len() == start.len())
            .count();
        let (members, behind) = rest.split_at(family);
        if equal != family && !apart(members) {
            let hash = hash(start);
            for (end, _) in members {
                trimmed.insert((end.reel, end.side, end.place, end.to), hash);
            }
            rest = behind;
        } else {
            rest = &rest[equal..];
        }
    }
    trimmed
}

/// Whether the ends that sent or received are all whole, and not all of equal packets.
fn apart(members: &[(End, Vec<u8>)]) -> bool {
    let mut payloads = BTreeSet::new();
    for (end, bytes) in members.iter().filter(|(end, _)| end.side != Side::Seen) {
        if (bytes.len() as u64) < u64::from(end.whole) {
            return false;
        }
        payloads.insert(bytes);
    }
    payloads.len() > 1
}
