//! Packets of which a capture kept the first bytes only, recognised by these.
//!
//! Of the ends of one link whose packets had the same length, those that begin alike, as far as the
//! shortest of them is known, are compared by that much. What was recorded whole at its ends stays
//! told apart by all its bytes: where two such packets begin alike, what was cut is neither's.

use std::collections::BTreeSet;

use super::matching::{End, Side};
use super::scan::{Scan, hash};

/// Lets ends that may be of one packet be equal, although one of them was cut.
pub(super) fn trim(ends: &mut [End], scans: &[Scan]) {
    let class = |end: &End| Some((end.from, end.to, end.raw(scans)?.whole));
    let cut = ends.iter().filter(|end| is_cut(end, scans));
    let classes: BTreeSet<(u16, u16, u32)> = cut.filter_map(class).collect();
    if classes.is_empty() {
        return;
    }
    let places = ends.iter().enumerate();
    let mut some: Vec<((u16, u16, u32), usize)> = places
        .filter_map(|(place, end)| Some((class(end)?, place)))
        .filter(|(class, _)| classes.contains(class))
        .collect();
    let payload =
        |ends: &[End], place: usize| ends.get(place).map_or(&[][..], |end| end.payload(scans));
    some.sort_by(|(a_class, a), (b_class, b)| {
        let payloads = || payload(ends, *a).cmp(payload(ends, *b));
        a_class.cmp(b_class).then_with(payloads)
    });
    let mut rest = some.as_slice();
    while let Some(&(class, root)) = rest.first() {
        // In this order, what begins like a payload stands behind it.
        let start = payload(ends, root);
        let alike = rest.iter().take_while(|(other, place)| {
            *other == class && payload(ends, *place).starts_with(start)
        });
        let family = alike.count();
        let equal = rest.iter().take(family);
        let equal = equal.take_while(|(_, place)| payload(ends, *place).len() == start.len());
        let equal = equal.count();
        let members = || rest.iter().take(family).map(|(_, place)| *place);
        let told_apart = equal == family || {
            let crossed = members().filter_map(|place| ends.get(place));
            apart(crossed.filter(|end| end.side != Side::Seen), scans)
        };
        if !told_apart {
            let hash = hash(start);
            for place in members() {
                if let Some(end) = ends.get_mut(place) {
                    end.compare_first(start.len(), hash);
                }
            }
        }
        let done = if told_apart { equal } else { family };
        rest = rest.get(done..).unwrap_or(&[]);
    }
}

fn is_cut(end: &End, scans: &[Scan]) -> bool {
    end.raw(scans).is_some_and(|raw| raw.length < raw.whole)
}

/// Whether these ends are all whole, and not all of equal packets.
fn apart<'a>(ends: impl Iterator<Item = &'a End>, scans: &[Scan]) -> bool {
    let mut payloads = BTreeSet::new();
    for end in ends {
        if is_cut(end, scans) {
            return false;
        }
        payloads.insert(end.payload(scans));
    }
    payloads.len() > 1
}
