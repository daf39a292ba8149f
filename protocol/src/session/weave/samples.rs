//! The packets that tell how far clocks are off each other: those of which there is no doubt.

use netreel_reel::{EventNumber, Time};

use super::end::End;
use super::matching::{certain, groups};
use super::places::Places;
use super::weaver::parts;
use crate::session::clock::pieces::{Gathered, Moment, Pieces};
use crate::session::parallel;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;
use crate::session::who::roads::Roads;
use crate::session::who::shares::together;

/// Of the packets between pieces of clocks those that can bind them.
pub(crate) fn samples(
    roads: &Roads<'_>,
    places: &Places,
    pieces: &Pieces,
    workers: usize,
) -> Gathered {
    let (bits, parts) = parts(places.len());
    let lacks: Vec<bool> = roads.scans.iter().map(|scan| !is_whole(scan)).collect();
    let found = parallel::map(together(parts, workers), workers, |parts| {
        let (mut gathered, mut unsure) = (Gathered::default(), Vec::new());
        let mut ends = Vec::new();
        for share in roads.shares(parts, bits, &[]) {
            share.sorted(&mut ends);
            drop(share);
            for group in groups(&ends) {
                let mut pair = |before: &End, after: &End| {
                    let lacks = lacks[usize::from(before.reel)];
                    if before.side == Side::Send && lacks {
                        unsure.push((Place::of(before), Place::of(after)));
                    } else if let (Some(from), Some(to)) = (
                        Place::of(before).moment(roads.scans),
                        Place::of(after).moment(roads.scans),
                    ) {
                        gathered.add(pieces, from, to);
                    }
                };
                certain(group, roads.scans, &mut pair);
                repeated(group, roads.scans, pieces, &mut pair);
            }
        }
        (gathered, unsure)
    });
    let (mut all, mut unsure) = (Gathered::default(), Vec::new());
    for (gathered, own) in found {
        all.extend(&gathered);
        unsure.extend(own);
    }
    for (from, to) in likely(unsure, roads.scans) {
        all.add(pieces, from, to);
    }
    all
}

/// Where a packet's end stands: there may be one for each packet.
#[derive(Clone, Copy)]
struct Place {
    place: u32,
    reel: u16,
    side: Side,
}

impl Place {
    fn of(end: &End) -> Place {
        Place {
            place: end.place,
            reel: end.reel,
            side: end.side,
        }
    }

    fn moment(self, scans: &[Scan]) -> Option<Moment> {
        let reel = usize::from(self.reel);
        let raw = scans.get(reel)?.side(self.side).get(self.place as usize)?;
        Some((reel, raw.number, raw.time))
    }
}

/// How long after a reel may have lacked something, a receipt may be of an equal packet before.
const SETTLING_NS: u64 = 2_000_000_000;

/// Or so many packets after it that are in one order: of those that were sent again few are.
const SETTLING: usize = 16;

/// Of sends, of whose equals the sender's reel may lack some, and their receipts those that belong
/// together: as many as can be that are in one order, and not those that were sent just after what is
/// lacking. Receipts of what was sent before came before all others, so that few of them fit in.
fn likely(mut pairs: Vec<(Place, Place)>, scans: &[Scan]) -> Vec<(Moment, Moment)> {
    pairs.sort_unstable_by_key(|(from, to)| (from.reel, to.reel, from.place));
    let mut likely = Vec::new();
    for own in pairs.chunk_by(|(a, b), (c, d)| (a.reel, b.reel) == (c.reel, d.reel)) {
        let moments = own
            .iter()
            .filter_map(|(from, to)| from.moment(scans).zip(to.moment(scans)));
        let own: Vec<(Moment, Moment)> = moments.collect();
        let scan = own.first().and_then(|(from, _)| scans.get(from.0));
        let begins = scan.and_then(|scan| scan.span).map(|(first, _)| first);
        let holes = scan.into_iter().flat_map(|scan| &scan.holes);
        let mut until: Vec<Time> = begins.into_iter().chain(holes.map(|it| it.until)).collect();
        until.sort_unstable();
        let since = |at: Time| {
            let before = until.partition_point(|from| *from <= at).checked_sub(1);
            before.and_then(|place| until.get(place)).copied()
        };
        let receipts: Vec<EventNumber> = own.iter().map(|(_, to)| to.1).collect();
        let some: Vec<&(Moment, Moment)> = in_order(&receipts)
            .into_iter()
            .filter_map(|place| own.get(place))
            .collect();
        let is_settled = |(place, (from, _)): &(usize, &(Moment, Moment))| {
            let at = from.2;
            let before = place
                .checked_sub(SETTLING)
                .and_then(|place| some.get(place));
            since(at).is_none_or(|since| {
                let is_after = before.is_some_and(|(before, _)| before.2 >= since);
                is_after || at.0 - since.0 >= SETTLING_NS
            })
        };
        let settled: Vec<&(Moment, Moment)> = some
            .iter()
            .copied()
            .enumerate()
            .filter(is_settled)
            .map(|(_, pair)| pair)
            .collect();
        // A short reel has nothing better.
        let taken = if settled.is_empty() { some } else { settled };
        likely.extend(taken.into_iter().copied());
    }
    likely
}

/// The places of as many numbers as can be of which each is greater than the one before (Schensted).
fn in_order(numbers: &[EventNumber]) -> Vec<usize> {
    // Of each length the place of the least number that a row this long may end with.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(numbers.len());
    for (place, number) in numbers.iter().enumerate() {
        let is_less = |end: &usize| numbers.get(*end).is_some_and(|it| it < number);
        let length = ends.partition_point(is_less);
        before.push(length.checked_sub(1).and_then(|at| ends.get(at).copied()));
        match ends.get_mut(length) {
            Some(end) => *end = place,
            None => ends.push(place),
        }
    }
    let last = ends.last().copied();
    let mut row: Vec<usize> =
        std::iter::successors(last, |&place| before.get(place).copied().flatten()).collect();
    row.reverse();
    row
}

/// Whether a reel holds all that its node sent until it ends.
fn is_whole(scan: &Scan) -> bool {
    scan.from_start && !scan.begins_later && !scan.damaged && scan.holes.is_empty()
}

/// Of equal payloads between two reels, where [`certain`] finds no pair: the first receipt was not
/// before the first send, if the sender's reel holds all that it sent.
fn repeated(group: &[End], scans: &[Scan], pieces: &Pieces, mut pair: impl FnMut(&End, &End)) {
    let split = group.partition_point(|end| end.side == Side::Send);
    let (sends, others) = group.split_at(split);
    let until = others.partition_point(|end| end.side == Side::Receive);
    let receives = others.get(..until).unwrap_or(&[]);
    let (Some(send), Some(receive)) = (sends.first(), receives.first()) else {
        return;
    };
    let of_one = |ends: &[End], reel: u16| ends.iter().all(|end| end.reel == reel);
    if group.len() < 3 || !of_one(sends, send.reel) || !of_one(receives, receive.reel) {
        return;
    }
    let is_whole = |reel: u16| is_whole(&scans[usize::from(reel)]);
    let is_even = |ends: &[End]| {
        let mut own = ends.iter().map(|end| {
            let raw = end.raw(scans)?;
            pieces.of(usize::from(end.reel), raw.number, raw.time)
        });
        let first = own.next();
        own.all(|piece| Some(piece) == first)
    };
    if is_whole(send.reel) && is_even(sends) && is_even(receives) {
        let time = |end: &&End| end.raw(scans).map(|raw| raw.time);
        let first = |ends: &[End]| ends.iter().min_by_key(time).copied();
        if let (Some(send), Some(receive)) = (first(sends), first(receives)) {
            pair(&send, &receive);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_row_in_order_leaves_out_what_came_before_its_time() {
        let numbers = [5, 6, 1, 7, 2, 8, 3, 9].map(EventNumber);
        let places = in_order(&numbers);
        let row: Vec<u64> = places.iter().map(|&place| numbers[place].0).collect();
        assert_eq!(row, [5, 6, 7, 8, 9]);
    }
}
