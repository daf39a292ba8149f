//! Which receipt belongs to which send.
//!
//! On each directed link, equal payloads of equal length are one group; of one that a capture cut,
//! the bytes that are known ([`crate::session::read::cut`]). A receipt of the only send of a group leaves
//! no doubt; of several sends [`super::explain`] tells which one it is of.

use std::collections::BTreeSet;

use super::end::End;
use super::explain::Payload;
use super::neighbours::Neighbours;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;

/// A packet with all its ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matched {
    pub sent: Option<End>,
    /// In the order of the receiver's reel.
    pub received: Vec<End>,
    /// Where somebody watched: at most one a place, or one for each receipt.
    pub seen: Vec<End>,
    /// Whether its receipt may be another's: a packet with the same payload was on its way too.
    pub doubtful: bool,
}

impl Matched {
    /// The end whose view of the packet counts: the sender's, or an observer's, or the receiver's.
    pub fn source(&self) -> Option<End> {
        let seen = self.seen.first().copied();
        self.sent.or(seen).or(self.received.first().copied())
    }
}

/// Groups of sorted ends with the same link and payload.
pub(crate) fn groups(ends: &[End]) -> impl Iterator<Item = &[End]> {
    ends.chunk_by(|a, b| a.group() == b.group())
}

/// The pairs of ends of a group that leave no doubt which send a receipt belongs to, the earlier
/// one first.
pub(crate) fn certain(group: &[End], scans: &[Scan], mut pair: impl FnMut(&End, &End)) {
    if group.len() > ENDS_MAX || group.len() < 2 {
        return;
    }
    let once = |end: &End| {
        let same = |other: &&End| (other.reel, other.side) == (end.reel, end.side);
        group.iter().filter(same).count() == 1
    };
    let ends = |side| group.iter().filter(move |end| end.side == side);
    if ends(Side::Send).count() > 1 || ends(Side::Receive).count() > 1 {
        return;
    }
    // An observer is on the way: it sees a packet after its send and before its receipt. Not so
    // where a proxy tells of these.
    let seen = |by: &End| {
        let told = by.is_told(scans);
        ends(Side::Seen).filter(move |end| !told && once(end))
    };
    for send in ends(Side::Send) {
        seen(send)
            .chain(ends(Side::Receive))
            .for_each(|after| pair(send, after));
    }
    for receive in ends(Side::Receive) {
        seen(receive).for_each(|before| pair(before, receive));
    }
}

/// Larger groups leave doubt.
const ENDS_MAX: usize = 16;

/// Matches one group. `time` places an end on the session's clock; clocks may be off each other by
/// `tolerance_ns`. With `lacks_sends` what was received before every send is of one that no reel
/// holds. A send that `dropped` says a proxy dropped has no receipt. `neighbours` tells what arrived
/// next to a receipt.
pub(crate) fn assign(
    group: &[End],
    tolerance_ns: i64,
    lacks_sends: bool,
    time: impl Fn(&End) -> i64,
    dropped: impl Fn(&End) -> bool,
    neighbours: impl Fn(&End) -> Neighbours,
    matched: &mut Vec<Matched>,
) {
    let split = group.partition_point(|end| end.side == Side::Send);
    let (sends, receives) = group.split_at(split);
    let (dropped, mut sends): (Vec<End>, Vec<End>) = sends.iter().copied().partition(dropped);
    matched.extend(dropped.into_iter().map(|send| Matched {
        sent: Some(send),
        ..Matched::default()
    }));
    let base = matched.len();
    if let ([send], false) = (sends.as_slice(), lacks_sends) {
        // By far the most frequent group: one send.
        return matched.push(Matched {
            sent: Some(*send),
            received: receives.to_vec(),
            ..Matched::default()
        });
    }
    sends.sort_by_cached_key(&time);
    matched.extend(sends.iter().map(|&send| Matched {
        sent: Some(send),
        ..Matched::default()
    }));
    let mut receives = receives.to_vec();
    receives.sort_by_cached_key(&time);
    let [send_times, receipt_times] =
        [&sends, &receives].map(|ends| ends.iter().map(&time).collect::<Vec<i64>>());
    let neighbours: Vec<Neighbours> = receives.iter().map(neighbours).collect();
    let payload = Payload {
        sends: &send_times,
        receipts: &receipt_times,
        neighbours: &neighbours,
        tolerance_ns,
        lacks_sends,
        goes_on: false,
    };
    let explained = payload.explain();
    for send in explained.doubtful {
        matched[base + send].doubtful = true;
    }
    for (receive, send) in receives.into_iter().zip(explained.pairs) {
        match send {
            Some(send) => matched[base + send].received.push(receive),
            None => matched.push(Matched {
                received: vec![receive],
                ..Matched::default()
            }),
        }
    }
}

/// A packet that was sent this long before another may have been overtaken by it.
const OVERTAKEN_NS: i64 = 1_000_000_000;

/// Marks the packets of one payload, in the order of their sends, whose receipt may as well be that
/// of another: of one that was sent while they were on their way, or of those that were sent shortly
/// before and that nobody received, unless that one would have overtaken what arrived next to it.
pub(crate) fn doubt(
    matched: &mut [Matched],
    tolerance_ns: i64,
    time: impl Fn(&End) -> i64,
    neighbours: impl Fn(&End) -> Neighbours,
) {
    let ends: Vec<Option<Ends>> = matched.iter().map(|each| Ends::new(each, &time)).collect();
    let may_be = |place: usize, receipt: &End| {
        let neighbours = neighbours(receipt);
        ends[place].as_ref().is_some_and(|end| {
            end.sent <= time(receipt).saturating_add(tolerance_ns)
                && !neighbours.exclude(end.sent, tolerance_ns)
        })
    };
    let took = ends.iter().flatten().filter_map(|end| {
        let (first, _) = end.received?;
        Some(time(&first).saturating_sub(end.sent))
    });
    let longest = took.max().unwrap_or(0);
    let mut doubtful: BTreeSet<usize> = BTreeSet::new();
    for (place, end) in ends.iter().enumerate() {
        let Some((end, (first, last))) = end.as_ref().and_then(|end| Some((end, end.received?)))
        else {
            continue;
        };
        let mut others: Vec<usize> = Vec::new();
        let near = |other: &Ends| end.sent.saturating_sub(other.sent) <= OVERTAKEN_NS;
        // The receipt is of the packet before where others of this payload took as long; one of
        // several receipts may be a copy of it.
        let before = place.checked_sub(1);
        let before = before.filter(|&before| {
            let other = ends[before].as_ref();
            let took = |other: &Ends| time(&first).saturating_sub(other.sent);
            let is_usual = other.is_some_and(|other| took(other) <= longest);
            let is_copy = first != last && other.is_some_and(near);
            (is_usual || is_copy) && may_be(before, &first)
        });
        others.extend(before);
        for before in (0..place).rev() {
            match &ends[before] {
                Some(other) if other.received.is_none() && near(other) => {
                    others.extend(may_be(before, &first).then_some(before));
                }
                _ => break,
            }
        }
        for (after, other) in ends.iter().enumerate().skip(place + 1) {
            let Some(other) = other else {
                break;
            };
            if other.sent > time(&last).saturating_add(tolerance_ns) {
                break;
            }
            let swaps = other
                .received
                .is_none_or(|(first, _)| may_be(place, &first));
            let is_possible = swaps && (may_be(after, &first) || may_be(after, &last));
            others.extend(is_possible.then_some(after));
            if other.received.is_some() {
                break;
            }
        }
        if !others.is_empty() {
            doubtful.insert(place);
            doubtful.extend(others);
        }
    }
    for place in doubtful {
        matched[place].doubtful = true;
    }
}

/// When a packet was sent, and its first and last receipt.
struct Ends {
    sent: i64,
    received: Option<(End, End)>,
}

impl Ends {
    fn new(packet: &Matched, time: impl Fn(&End) -> i64) -> Option<Ends> {
        let received = packet.received.first().zip(packet.received.last());
        Some(Ends {
            sent: time(&packet.sent?),
            received: received.map(|(first, last)| (*first, *last)),
        })
    }
}

/// How long a packet may take between a proxy and a place where somebody watches.
const TO_PROXY_NS: i64 = 1_000_000_000;

/// Finds for each sighting of one payload the packet that was seen. `group` are the sightings, in
/// the order of their reels; `matched` has the packets that are known, and gets
/// those that nobody else knows of. `time` places an end on the session's clock, `told` says
/// whether a proxy tells of it, and `point` where it was seen. A packet can be seen once for each
/// of its receipts: who duplicates it stands before the place.
///
/// At one place packets keep their order. Of the packets that come into question a sighting is of
/// the one nearest in time: an observer may have come late, or missed some.
pub(crate) fn sight(
    group: &[End],
    tolerance_ns: i64,
    time: impl Fn(&End) -> i64,
    told: impl Fn(&End) -> bool,
    point: impl Fn(&End) -> u32,
    matched: &mut Vec<Matched>,
) {
    let way = |end: &End| if told(end) { TO_PROXY_NS } else { 0 };
    let mut places: Vec<(u16, u32)> = group.iter().map(|end| (end.reel, point(end))).collect();
    places.sort_unstable();
    places.dedup();
    for place in places {
        let mut sightings: Vec<(i64, End)> = group
            .iter()
            .filter(|end| (end.reel, point(end)) == place)
            .map(|end| (time(end), *end))
            .collect();
        sightings.sort_by_key(|&(at, _)| at);
        let known = when_to_be_seen(matched, &time);
        let one_each = known.len() == sightings.len();
        // Those before `next` have their sighting. Those from there to `from` had all arrived when
        // something was seen that was none of them, and so it is with whatever is seen later.
        let (mut next, mut from) = (0, 0);
        for (at, end) in sightings {
            let is_over = |packet: &Matched| {
                let last = packet.received.last();
                let before = last.map_or(i64::MAX, |end| time(end).saturating_add(way(end)));
                at > before.saturating_add(tolerance_ns)
            };
            let fits = |packet: &Matched| {
                let after = packet
                    .sent
                    .map_or(i64::MIN, |sent| time(&sent).saturating_sub(way(&sent)));
                after.saturating_sub(tolerance_ns) <= at && !is_over(packet)
            };
            let rank = |place: usize| {
                let &(then, place) = known.get(place)?;
                let misfit = !fits(&matched[place]);
                Some((misfit, then.abs_diff(at)))
            };
            let mut best = from;
            if !one_each || from > next || rank(best).is_some_and(|(misfit, _)| misfit) {
                while let (Some(this), Some(after)) = (rank(best), rank(best + 1))
                    && after < this
                {
                    best += 1;
                }
            }
            let is_passed = |place: usize| {
                let after = known.get(place + 1);
                after.is_some_and(|&(then, _)| then <= at) && is_over(&matched[known[place].1])
            };
            while from < best && is_passed(from) {
                from += 1;
            }
            match (rank(best), known.get(best)) {
                (Some((false, _)), Some(&(_, place))) => {
                    next = best + 1;
                    from = next;
                    matched[place].seen.push(end);
                }
                _ => matched.push(Matched {
                    seen: vec![end],
                    ..Matched::default()
                }),
            }
        }
    }
    for each in matched {
        each.seen.sort_by_key(&time);
    }
}

/// For each packet its place, with each of the times at which it can have been seen, in order.
fn when_to_be_seen(matched: &[Matched], time: impl Fn(&End) -> i64) -> Vec<(i64, usize)> {
    let mut known = Vec::new();
    for (place, each) in matched.iter().enumerate() {
        known.extend(each.source().map(|end| (time(&end), place)));
        let again = each.received.iter().skip(1);
        known.extend(again.map(|end| (time(end), place)));
    }
    known.sort_unstable();
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matches sends and receipts of one payload at these times, and looks at what came of it.
    fn matched<R>(
        lacks_sends: bool,
        sends: &[i64],
        receives: &[i64],
        look: impl FnOnce(&mut [Matched], &dyn Fn(&End) -> i64) -> R,
    ) -> R {
        let end = |side, place: usize| End {
            from: 0,
            to: 1,
            side,
            reel: u16::from(side == Side::Receive),
            place: place as u32,
            whole: 0,
            hash: 0,
            shared: false,
        };
        let mut group: Vec<End> = (0..sends.len())
            .map(|place| end(Side::Send, place))
            .collect();
        group.extend((0..receives.len()).map(|place| end(Side::Receive, place)));
        let time = |end: &End| match end.side {
            Side::Send => sends[end.place as usize],
            Side::Receive | Side::Seen => receives[end.place as usize],
        };
        let mut matched = Vec::new();
        let alone = |_: &End| Neighbours::default();
        assign(&group, 0, lacks_sends, time, |_| false, alone, &mut matched);
        look(&mut matched, &time)
    }

    /// For each send its receipts, and how many receipts are of no send.
    #[track_caller]
    fn check(sends: &[i64], receives: &[i64], expected: &[&[i64]], strays: usize) {
        check_lacking(false, sends, receives, expected, strays);
    }

    #[track_caller]
    fn check_lacking(
        lacks_sends: bool,
        sends: &[i64],
        receives: &[i64],
        expected: &[&[i64]],
        strays: usize,
    ) {
        matched(lacks_sends, sends, receives, |matched, time| {
            let (sent, unsent): (Vec<_>, Vec<_>) =
                matched.iter().partition(|each| each.sent.is_some());
            let found: Vec<Vec<i64>> = sent
                .iter()
                .map(|each| each.received.iter().map(time).collect())
                .collect();
            assert_eq!(found, expected);
            assert_eq!(unsent.len(), strays);
        });
    }

    /// Of sends and receipts of one payload at these times, the sends whose receipt is in doubt.
    #[track_caller]
    fn check_doubt(sends: &[i64], receives: &[i64], expected: &[bool]) {
        let found = matched(false, sends, receives, |matched, time| {
            doubt(matched, 0, time, |_| Neighbours::default());
            matched.iter().map(|each| each.doubtful).collect::<Vec<_>>()
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn one_payload_after_the_other_leaves_no_doubt() {
        check_doubt(&[10, 40], &[20, 50], &[false, false]);
    }

    #[test]
    fn equal_payloads_on_their_way_together_are_in_doubt() {
        check_doubt(&[10, 15, 40], &[20, 30, 50], &[true, true, false]);
    }

    #[test]
    fn an_equal_payload_that_nobody_received_may_be_the_one_that_came() {
        // The second receipt is before the third send, so that it is of the second.
        check_doubt(&[10, 40], &[50], &[true, true]);
    }

    #[test]
    fn one_send_takes_every_receipt() {
        check(&[10], &[20, 30], &[&[20, 30]], 0);
    }

    #[test]
    fn a_send_without_a_receipt_has_none() {
        check(&[10], &[], &[&[]], 0);
    }

    #[test]
    fn a_receipt_without_a_send_is_a_stray() {
        check(&[], &[20], &[], 1);
    }

    #[test]
    fn equal_payloads_are_taken_in_order() {
        check(&[10, 11], &[20, 30], &[&[20], &[30]], 0);
    }

    #[test]
    fn a_second_receipt_before_the_second_send_is_a_duplicate_of_the_first() {
        check(&[10, 40], &[20, 30], &[&[20, 30], &[]], 0);
    }

    #[test]
    fn a_receipt_before_every_send_still_goes_to_the_first() {
        check(&[10, 40], &[5], &[&[5], &[]], 0);
    }

    #[test]
    fn where_sends_are_missing_a_receipt_before_the_others_is_of_one_of_them() {
        check_lacking(true, &[10, 40], &[5, 15, 45], &[&[15], &[45]], 1);
        check_lacking(true, &[10], &[5, 15], &[&[15]], 1);
    }
}
