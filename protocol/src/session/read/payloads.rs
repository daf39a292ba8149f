//! Events that are read again from a reel, in their order.

use netreel_reel::{EventNumber, Record, Reel};

use super::connections::payload;
use super::ends::{EndAt, RawEnd};
use super::scan::Scan;

/// Shows events, whose numbers are in order. What cannot be read any more is passed over.
pub(crate) fn records(reel: &Reel, numbers: &[EventNumber], mut show: impl FnMut(&Record<'_>)) {
    each(reel, numbers, |_, record| show(record));
}

/// Shows the payloads of events, whose numbers are in order, with the place of each in `numbers`.
pub(crate) fn read(reel: &Reel, numbers: &[EventNumber], mut show: impl FnMut(usize, &[u8])) {
    each(reel, numbers, |place, record| {
        if let Some(payload) = payload(&record.event) {
            show(place, payload);
        }
    });
}

/// Shows the payloads of ends, with the place of each among `ends`; of each reel in its order.
pub(crate) fn of_ends<'a>(
    reels: impl Iterator<Item = (&'a Reel, &'a Scan)>,
    ends: &[EndAt],
    mut show: impl FnMut(usize, &RawEnd, &[u8]),
) {
    for (at_reel, (reel, scan)) in reels.enumerate() {
        let own = ends.iter().enumerate().filter(|(_, end)| end.0 == at_reel);
        let raw = |(nth, &(_, side, at)): (usize, &EndAt)| Some((scan.side(side).get(at)?, nth));
        let mut own: Vec<(RawEnd, usize)> = own.filter_map(raw).collect();
        own.sort_by_key(|(raw, _)| raw.number);
        let numbers: Vec<_> = own.iter().map(|(raw, _)| raw.number).collect();
        read(reel, &numbers, |place, payload| {
            if let Some((raw, nth)) = own.get(place) {
                show(*nth, raw, payload);
            }
        });
    }
}

fn each(reel: &Reel, numbers: &[EventNumber], mut show: impl FnMut(usize, &Record<'_>)) {
    let mut next = 0;
    while let Some(&number) = numbers.get(next) {
        let block = reel.find(number).and_then(|index| reel.block(index).ok());
        let Some(block) = block else {
            next += 1;
            continue;
        };
        block.records().show_each(&mut |record| {
            while numbers.get(next).is_some_and(|&it| it < record.number) {
                next += 1;
            }
            while numbers.get(next) == Some(&record.number) {
                show(next, record);
                next += 1;
            }
        });
        // The block did not have it.
        if numbers.get(next) == Some(&number) {
            next += 1;
        }
    }
}
