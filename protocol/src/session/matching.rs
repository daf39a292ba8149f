//! Which receipt belongs to which send.
//!
//! On each directed link, equal payloads of equal length are one group; of one that a capture cut,
//! the bytes that are known ([`super::cut`]). Within a group the oldest send that is not
//! taken gets the next receipt; a receipt with no send left is a further receipt of the last one.

use super::clock::Sample;
use super::scan::{RawPacket, Scan};

/// One end of a packet's way.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// The nodes that it goes from and to, by member.
    pub from: u16,
    pub to: u16,
    pub side: Side,
    /// The reel, by place.
    pub reel: u16,
    /// In the reel's packets of this side.
    pub place: u32,
    /// How many bytes of the payload are compared.
    compared: u32,
    hash: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    Send,
    Receive,
    Seen,
}

impl Side {
    /// Whether a packet goes out of the near end of its connection.
    pub fn is_out(self, raw: &RawPacket) -> bool {
        match self {
            Side::Send => true,
            Side::Receive => false,
            Side::Seen => raw.forward,
        }
    }
}

impl Scan {
    /// The packets of one side.
    pub(super) fn side(&self, side: Side) -> &[RawPacket] {
        match side {
            Side::Send => &self.sends,
            Side::Receive => &self.receives,
            Side::Seen => &self.seen,
        }
    }
}

/// A packet with all its ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Matched {
    pub sent: Option<End>,
    /// In the order of the receiver's reel.
    pub received: Vec<End>,
    /// Where somebody watched: at most one a place, or one for each receipt.
    pub seen: Vec<End>,
}

impl Matched {
    /// The end whose view of the packet counts: the sender's, or an observer's, or the receiver's.
    pub fn source(&self) -> Option<End> {
        let seen = self.seen.first().copied();
        self.sent.or(seen).or(self.received.first().copied())
    }
}

impl End {
    pub fn new(from: u16, to: u16, side: Side, reel: u16, place: u32, raw: &RawPacket) -> End {
        End {
            from,
            to,
            side,
            reel,
            place,
            compared: raw.length,
            hash: raw.hash,
        }
    }

    /// The packet in its reel.
    pub fn raw<'a>(&self, scans: &'a [Scan]) -> Option<&'a RawPacket> {
        let scan = scans.get(usize::from(self.reel))?;
        scan.side(self.side).get(self.place as usize)
    }

    /// The packet's bytes.
    pub fn payload<'a>(&self, scans: &'a [Scan]) -> &'a [u8] {
        let scan = scans.get(usize::from(self.reel));
        scan.zip(self.raw(scans))
            .map_or(&[], |(scan, raw)| scan.payload(raw))
    }

    /// Compares the first bytes of its payload only, of which this is the hash.
    pub fn compare_first(&mut self, bytes: usize, hash: u64) {
        self.compared = u32::try_from(bytes).unwrap_or(self.compared);
        self.hash = hash;
    }

    /// How long the packet was, and the bytes by which it is told from others.
    pub fn telling<'a>(&self, scans: &'a [Scan]) -> (u32, &'a [u8]) {
        let whole = self.raw(scans).map_or(0, |raw| raw.whole);
        let payload = self.payload(scans);
        let compared = payload.get(..self.compared as usize);
        (whole, compared.unwrap_or(payload))
    }

    /// Whether a proxy tells of it.
    pub fn is_told(&self, scans: &[Scan]) -> bool {
        let scan = scans.get(usize::from(self.reel));
        scan.is_some_and(|scan| scan.told)
    }

    fn link(&self) -> (u16, u16, u64) {
        (self.from, self.to, self.hash)
    }
}

/// Puts ends of equal payload on the same link next to each other.
pub(super) fn sort(ends: &mut [End], scans: &[Scan]) {
    ends.sort_unstable_by(|a, b| {
        a.link()
            .cmp(&b.link())
            .then_with(|| a.telling(scans).cmp(&b.telling(scans)))
            .then_with(|| (a.side, a.reel, a.place).cmp(&(b.side, b.reel, b.place)))
    });
}

/// Groups of sorted ends with the same link and payload.
pub(super) fn groups<'a>(ends: &'a [End], scans: &'a [Scan]) -> impl Iterator<Item = &'a [End]> {
    ends.chunk_by(|a, b| a.link() == b.link() && a.telling(scans) == b.telling(scans))
}

/// The packets that leave no doubt which send a receipt belongs to.
pub(super) fn samples(ends: &[End], scans: &[Scan]) -> Vec<Sample> {
    let mut samples = Vec::new();
    for group in groups(ends, scans) {
        if group.len() > ENDS_MAX || group.len() < 2 {
            continue;
        }
        let once = |end: &End| {
            let same = |other: &&End| (other.reel, other.side) == (end.reel, end.side);
            group.iter().filter(same).count() == 1
        };
        let ends = |side| group.iter().filter(move |end| end.side == side);
        if ends(Side::Send).count() > 1 || ends(Side::Receive).count() > 1 {
            continue;
        }
        let mut sample = |before: &End, after: &End| {
            if let (Some(sent), Some(received)) = (before.raw(scans), after.raw(scans)) {
                samples.push(Sample {
                    from: usize::from(before.reel),
                    to: usize::from(after.reel),
                    sent: sent.time,
                    received: received.time,
                });
            }
        };
        // An observer is on the way: it sees a packet after its send and before its receipt. Not
        // so where a proxy tells of these.
        let seen = |by: &End| {
            let told = by.is_told(scans);
            ends(Side::Seen).filter(move |end| !told && once(end))
        };
        for send in ends(Side::Send) {
            seen(send)
                .chain(ends(Side::Receive))
                .for_each(|after| sample(send, after));
        }
        for receive in ends(Side::Receive) {
            seen(receive).for_each(|before| sample(before, receive));
        }
    }
    samples
}

/// Larger groups leave doubt.
const ENDS_MAX: usize = 16;

/// Matches one group. `time` places an end on the session's clock; clocks may be off each other by
/// `tolerance_ns`. With `lacks_sends` what was received before every send is of one that no reel
/// holds. A send that `dropped` says a proxy dropped has no receipt.
pub(super) fn assign(
    group: &[End],
    tolerance_ns: i64,
    lacks_sends: bool,
    time: impl Fn(&End) -> i64,
    dropped: impl Fn(&End) -> bool,
    matched: &mut Vec<Matched>,
) {
    let split = group.partition_point(|end| end.side == Side::Send);
    let (sends, receives) = group.split_at(split);
    let (dropped, sends): (Vec<End>, Vec<End>) = sends.iter().copied().partition(dropped);
    matched.extend(dropped.into_iter().map(|send| Matched {
        sent: Some(send),
        ..Matched::default()
    }));
    let base = matched.len();
    matched.extend(sends.iter().map(|&send| Matched {
        sent: Some(send),
        ..Matched::default()
    }));
    if let ([_], false) = (sends.as_slice(), lacks_sends) {
        // By far the most frequent group: one send.
        matched[base].received = receives.to_vec();
        return;
    }
    let mut taken = 0;
    for &receive in receives {
        let latest_ns = time(&receive).saturating_add(tolerance_ns);
        let possible = sends.partition_point(|send| time(send) <= latest_ns);
        let least = usize::from(taken == 0 && !lacks_sends);
        if taken < possible.max(least).min(sends.len()) {
            matched[base + taken].received.push(receive);
            taken += 1;
        } else if taken > 0 {
            matched[base + taken - 1].received.push(receive);
        } else {
            matched.push(Matched {
                received: vec![receive],
                ..Matched::default()
            });
        }
    }
}

/// So long a packet may take between a proxy and a place where somebody watches.
const TO_PROXY_NS: i64 = 1_000_000_000;

/// Finds for each sighting of one payload the packet that was seen. `group` are the sightings, in
/// the order of their reels; `matched` from `base` on has the packets that are known, and gets
/// those that nobody else knows of. `time` places an end on the session's clock, `told` says
/// whether a proxy tells of it, and `point` where it was seen. A packet can be seen once for each
/// of its receipts: who duplicates it stands before the place.
///
/// At one place packets keep their order. Of the packets that come into question a sighting is of
/// the one nearest in time: an observer may have come late, or missed some.
pub(super) fn sight(
    group: &[End],
    base: usize,
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
        let mut known: Vec<(i64, usize)> = Vec::new();
        for (place, each) in matched.iter().enumerate().skip(base) {
            known.extend(each.source().map(|end| (time(&end), place)));
            let again = each.received.iter().skip(1);
            known.extend(again.map(|end| (time(end), place)));
        }
        known.sort_unstable();
        let one_each = known.len() == sightings.len();
        let mut next = 0;
        for (at, end) in sightings {
            let fits = |packet: &Matched| {
                let after = packet
                    .sent
                    .map_or(i64::MIN, |sent| time(&sent).saturating_sub(way(&sent)));
                let last = packet.received.last();
                let before = last.map_or(i64::MAX, |end| time(end).saturating_add(way(end)));
                after.saturating_sub(tolerance_ns) <= at
                    && at <= before.saturating_add(tolerance_ns)
            };
            let rank = |place: usize| {
                let &(then, place) = known.get(place)?;
                let misfit = !fits(matched.get(place)?);
                Some((misfit, then.abs_diff(at)))
            };
            let mut best = next;
            if !one_each || rank(best).is_some_and(|(misfit, _)| misfit) {
                while let (Some(this), Some(after)) = (rank(best), rank(best + 1))
                    && after < this
                {
                    best += 1;
                }
            }
            match (rank(best), known.get(best)) {
                (Some((false, _)), Some(&(_, place))) => {
                    next = best + 1;
                    if let Some(packet) = matched.get_mut(place) {
                        packet.seen.push(end);
                    }
                }
                _ => matched.push(Matched {
                    seen: vec![end],
                    ..Matched::default()
                }),
            }
        }
    }
    for each in matched.iter_mut().skip(base) {
        each.seen.sort_by_key(&time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends and receipts of one payload at these times; gives for each send its receipts.
    fn check(sends: &[i64], receives: &[i64], expected: &[&[i64]], strays: usize) {
        matched(false, sends, receives, expected, strays);
    }

    fn matched(
        lacks_sends: bool,
        sends: &[i64],
        receives: &[i64],
        expected: &[&[i64]],
        strays: usize,
    ) {
        let end = |side, place: usize| End {
            from: 0,
            to: 1,
            side,
            reel: u16::from(side == Side::Receive),
            place: place as u32,
            compared: 0,
            hash: 0,
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
        assign(&group, 0, lacks_sends, time, |_| false, &mut matched);
        let found: Vec<Vec<i64>> = matched
            .iter()
            .filter(|each| each.sent.is_some())
            .map(|each| each.received.iter().map(time).collect())
            .collect();
        assert_eq!(found, expected);
        assert_eq!(
            matched.iter().filter(|each| each.sent.is_none()).count(),
            strays
        );
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
        matched(true, &[10, 40], &[5, 15, 45], &[&[15], &[45]], 1);
        matched(true, &[10], &[5, 15], &[&[15]], 1);
    }
}
