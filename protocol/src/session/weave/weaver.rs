//! The ends of all reels, put together to packets.
//!
//! Ends are matched part by part, each part with the payloads whose hashes begin alike: this much
//! memory is taken at a time, and several processors work at once.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use netreel_reel::{EventNumber, Time};
use netreel_system::Cancel;

use super::end::End;
use super::matching::{Matched, assign, doubt, groups, sight};
use super::missing::{Held, Missing};
use super::neighbours::Known;
use super::odd::Odd;
use super::places::{EndId, Places};
use super::sockets::{BySockets, OwnPorts, in_stretches};
use super::strangers::{Strangers, mark};
use super::woven::Woven;
use crate::session::SessionTime;
use crate::session::bits::Bits;
use crate::session::clock::Alignment;
use crate::session::parallel;
use crate::session::read::ends::Side;
use crate::session::who::cast::utc_ns;
use crate::session::who::meeting::Met;
use crate::session::who::proxied::is_dropped;
use crate::session::who::roads::Roads;
use crate::session::who::shares::together;

/// A part has about this many ends. They are laid in order in 12 MB.
const PART: usize = 1 << 19;

impl Woven {
    /// Takes what a part came to; those of all packets that may be one of which nobody has the send.
    fn take(&mut self, mut part: WovenPart) -> impl Iterator<Item = (usize, usize)> {
        let before = self.odd.len();
        self.odd.append(&mut part.odd);
        self.met.append(&mut part.met);
        self.doubtful.append(&mut part.doubtful);
        let strays = part.strays.into_iter();
        strays.map(move |(first, count)| (before + first, count))
    }
}

/// What one part of the ends came to.
#[derive(Default)]
struct WovenPart {
    pairs: Vec<(EndId, EndId)>,
    odd: Vec<Odd>,
    /// Of [`WovenPart::odd`], those that may be one packet of which nobody has the send: the first, and
    /// how many follow.
    strays: Vec<(usize, usize)>,
    met: BTreeSet<(usize, usize)>,
    /// See [`Woven::doubtful`].
    doubtful: Vec<EndId>,
    /// See [`Strangers::suspects`].
    suspects: Vec<EndId>,
    /// Groups that wait until all is known of which there is no doubt: how many ends each has.
    later: Vec<usize>,
    later_ends: Vec<End>,
}

impl WovenPart {
    /// Notes what stands for its ends: see [`Woven::partners`].
    fn note(&mut self, mut note: impl FnMut(EndId, u32)) {
        for (sent, received) in std::mem::take(&mut self.pairs) {
            note(sent, received.0);
            note(received, sent.0);
        }
        let odd = self.odd.iter().flat_map(Odd::ends);
        odd.for_each(|end| note(end, Woven::TAKEN));
    }

    /// Lets a group wait.
    fn wait(&mut self, group: &[End]) {
        self.later.push(group.len());
        self.later_ends.extend_from_slice(group);
    }
}

/// What matching needs to know.
pub(crate) struct Weaver<'a> {
    pub roads: &'a Roads<'a>,
    pub places: &'a Places,
    pub clocks: &'a [Alignment],
    pub missing: &'a Missing,
    pub strangers: &'a Strangers,
    pub ports: &'a OwnPorts,
    pub workers: usize,
    /// Of receipts of which nobody has the send, whether equal ones are one packet.
    pub join: &'a (dyn Fn(&[EndId]) -> Vec<bool> + Sync),
    /// Whether somebody still wants it: it is asked once for each part.
    pub cancel: &'a Cancel,
}

/// Whether a receipt of a group may be of several sends.
fn has_choice(group: &[End]) -> bool {
    let sends = group.partition_point(|end| end.side == Side::Send);
    let receipt = group.get(sends);
    sends > 1 && receipt.is_some_and(|end| end.side == Side::Receive)
}

/// The bits of a hash that tell its part, and how many parts there are.
pub(super) fn parts(ends: usize) -> (u32, u64) {
    let bits = (ends / PART + 1).next_power_of_two().trailing_zeros();
    (bits, 1 << bits)
}

impl Weaver<'_> {
    /// Puts all ends together. Nobody may look at what comes where it is no longer wanted.
    pub fn weave(&self) -> Woven {
        // An end is of one part, and nobody else notes its partner. One that was sent to several may be
        // of several parts: all of them note that it is taken.
        let alone = || AtomicU32::new(Woven::ALONE);
        let mut partners: Vec<AtomicU32> = Vec::new();
        partners.resize_with(self.places.len(), alone);
        let mut woven = Woven::default();
        let once = self.once(&partners);
        woven.met.extend(once.met);
        let known: usize = once.ends.iter().flatten().map(Bits::len).sum();
        let (bits, parts) = parts(self.places.len() - known);
        let mut suspects = Vec::new();
        let mut strays = Vec::new();
        // A few at a time, so that what they came to does not pile up.
        let workers = self.workers.max(1);
        let mut later = Vec::new();
        for some in together(parts, workers).chunks(workers) {
            if !self.cancel.goes_on() {
                return woven;
            }
            let done = parallel::map(some.to_vec(), workers, |parts| {
                let shares = self.roads.shares(parts, bits, &once.ends);
                let mut ends = Vec::new();
                let done = shares.into_iter().map(|share| {
                    share.sorted(&mut ends);
                    drop(share);
                    let mut part = self.part(&ends);
                    part.note(|end, partner| {
                        if let Some(slot) = partners.get(end.0 as usize) {
                            slot.store(partner, Ordering::Relaxed);
                        }
                    });
                    part
                });
                done.collect::<Vec<WovenPart>>()
            });
            for mut part in done.into_iter().flatten() {
                let ends = std::mem::take(&mut part.later_ends);
                suspects.append(&mut part.suspects);
                later.push((std::mem::take(&mut part.later), ends));
                strays.extend(woven.take(part));
            }
        }
        let partners = partners.into_iter().map(AtomicU32::into_inner);
        woven.partners = partners.collect();
        if !self.cancel.goes_on() {
            return woven;
        }
        let known = self.neighbours(&later, &woven.partners);
        for mut part in parallel::map(later, workers, |some| self.later(&some, &known)) {
            part.note(|end, partner| woven.note(end, partner));
            strays.extend(woven.take(part));
        }
        suspects.sort_unstable();
        let is_receipt = |end: EndId| self.places.find(end).1 == Side::Receive;
        mark(&mut woven, &suspects, is_receipt);
        woven.settle(self.roads.scans.len(), self.places);
        self.join_strays(&strays, &mut woven.odd);
        self.unheard(&mut woven.odd);
        woven.doubtful.sort_unstable();
        woven.doubtful.dedup();
        woven
    }

    /// Equal payloads that nobody is known to have sent: with a sequence number in them they are
    /// one packet that was received several times.
    fn join_strays(&self, strays: &[(usize, usize)], odd: &mut Vec<Odd>) {
        if strays.is_empty() {
            return;
        }
        let first = |&(first, _): &(usize, usize)| odd.get(first).and_then(Odd::source);
        let firsts: Vec<EndId> = strays.iter().filter_map(first).collect();
        let joined = (self.join)(&firsts);
        for (&(first, count), _) in strays.iter().zip(joined).filter(|(_, join)| *join) {
            let group = odd.get_mut(first..first + count);
            if let Some((one, others)) = group.and_then(<[Odd]>::split_first_mut) {
                for other in others {
                    one.received.extend(other.received.drain(..));
                }
            }
        }
        odd.retain(|odd| odd.source().is_some());
    }

    /// What sorted ends of one part come to.
    fn part(&self, ends: &[End]) -> WovenPart {
        let mut part = WovenPart::default();
        let mut matched = Vec::new();
        let mut by_sockets = BySockets::default();
        let mut met = Met::default();
        for equal in ends.chunk_by(|a, b| a.hash == b.hash) {
            self.strangers.suspects(
                equal,
                |end| self.time(end),
                |from, to| self.tolerance_ns((from, to), &[]),
                |end| part.suspects.push(self.places.of(end)),
            );
        }
        for group in groups(ends) {
            met.note(group);
            let mut take = |some: &[End]| self.take(some, &mut matched, &mut part);
            if has_choice(group) && by_sockets.split(group, self.roads.scans, self.ports) {
                by_sockets.groups().for_each(&mut take);
            } else {
                take(group);
            }
        }
        part.met = met.pairs;
        part
    }

    /// Matches ends of one payload, or lets them wait.
    fn take(&self, group: &[End], matched: &mut Vec<Matched>, part: &mut WovenPart) {
        match group {
            [alone] if !alone.shared => {}
            [sent, received] if self.is_plain(sent, received) => {
                let pair = (self.places.of(sent), self.places.of(received));
                match self.held(sent, received) {
                    Held::Surely => part.pairs.push(pair),
                    Held::Maybe => part.wait(group),
                    Held::Never => {}
                }
            }
            _ if has_choice(group) || self.is_open(group) => part.wait(group),
            _ => self.group(group, &Known::default(), matched, part),
        }
    }

    /// What is known of the receipts that may be of several sends.
    fn neighbours(&self, later: &[(Vec<usize>, Vec<End>)], partners: &[u32]) -> Known {
        let ends = later.iter().flat_map(|(_, ends)| ends);
        let receipts: Vec<EndId> = ends
            .filter(|end| end.side == Side::Receive)
            .map(|end| self.places.of(end))
            .collect();
        if receipts.is_empty() {
            return Known::default();
        }
        let at = |reel: usize, time: Time, number: &dyn Fn() -> EventNumber| {
            self.at(reel, time, number).0
        };
        let ends = (self.roads.scans, self.places);
        Known::new(receipts, partners, ends, at, self.workers)
    }

    /// Marks those of several packets of one payload that may have an end where its clock was set:
    /// nobody knows when that was.
    fn doubt_of_clocks(&self, matched: &mut [Matched], tolerance_ns: i64) {
        if matched.len() < 2 || self.clocks.iter().all(|clock| clock.steps.is_empty()) {
            return;
        }
        let ends = |each: &Matched| each.sent.into_iter().chain(each.received.clone());
        let unsure: Vec<(i64, i64)> = matched
            .iter()
            .flat_map(ends)
            .filter_map(|end| Some((self.time(&end), self.error_ns(&end)?)))
            .filter(|(_, error_ns)| *error_ns > tolerance_ns)
            .collect();
        let took = matched.iter().filter_map(|each| {
            let (sent, received) = each.sent.as_ref().zip(each.received.first())?;
            Some(self.time(received).saturating_sub(self.time(sent)))
        });
        let longest_ns = took.max().unwrap_or(0).max(0);
        for each in matched.iter_mut().filter(|_| !unsure.is_empty()) {
            let near = |end: &End| {
                let at = self.time(end);
                let mut unsure = unsure.iter();
                unsure.any(|(time, error_ns)| {
                    let reach_ns = error_ns.saturating_add(longest_ns);
                    time.saturating_sub(at).saturating_abs() <= reach_ns
                })
            };
            each.doubtful |= ends(each).any(|end| near(&end));
        }
    }

    /// The groups that waited.
    fn later(&self, (counts, ends): &(Vec<usize>, Vec<End>), known: &Known) -> WovenPart {
        let mut part = WovenPart::default();
        let mut matched = Vec::new();
        for group in in_stretches(ends, counts) {
            self.group(group, known, &mut matched, &mut part);
        }
        part
    }

    /// Whether two ends of one group are a send and its receipt, and there is nothing more to ask.
    pub(super) fn is_plain(&self, sent: &End, received: &End) -> bool {
        (sent.side, received.side) == (Side::Send, Side::Receive)
            && !sent.shared
            && !self.dropped(sent)
    }

    /// Whether the receipt is of the send, as far as the sender's reel tells.
    fn held(&self, sent: &End, received: &End) -> Held {
        if !self
            .missing
            .is_open(sent.reel, (received.reel, received.place))
        {
            return Held::Surely;
        }
        let error_ns = |end: &End| self.error_ns(end).unwrap_or(i64::MAX);
        let tolerance_ns = error_ns(sent).saturating_add(error_ns(received));
        let (at, received) = (self.time(sent), self.time(received));
        self.missing.held((sent.reel, at), received, tolerance_ns)
    }

    /// Whether the receipts of one send may be of others that its sender's reel lacks.
    fn is_open(&self, group: &[End]) -> bool {
        let Some(sent) = group.first().filter(|end| end.side == Side::Send) else {
            return false;
        };
        let mut receipts = group
            .iter()
            .filter(|end| end.side == Side::Receive)
            .filter(|end| !end.shared);
        receipts.any(|it| self.missing.is_open(sent.reel, (it.reel, it.place)))
    }

    /// How far times of two members, and of what was seen between them, may be off each other.
    fn tolerance_ns(&self, (from, to): (u16, u16), seen: &[End]) -> i64 {
        let error_ns = |reel: usize| self.clocks[reel].error_ns;
        let end_error_ns = |member: u16| {
            let member = &self.roads.cast.members[usize::from(member)];
            member.reel.map_or(0, error_ns)
        };
        let watched = seen.iter().map(|end| error_ns(usize::from(end.reel)));
        let tolerance = end_error_ns(from)
            .saturating_add(end_error_ns(to))
            .saturating_add(watched.max().unwrap_or(0));
        i64::try_from(tolerance).unwrap_or(i64::MAX)
    }

    /// How far the time of an end may be off; `None` where nobody knows.
    fn error_ns(&self, end: &End) -> Option<i64> {
        let raw = end.raw(self.roads.scans)?;
        let clock = &self.clocks[usize::from(end.reel)];
        let of_clock = clock.map.error_ns(raw.number, raw.time);
        i64::try_from(of_clock.max(clock.error_ns)).ok()
    }

    /// When an end was, on the session's clock.
    pub(super) fn time(&self, end: &End) -> i64 {
        let (reel, _, place) = end.at();
        let ends = end.ends(self.roads.scans);
        let number = || ends.map_or(EventNumber(0), |ends| ends.number(place));
        ends.map_or(0, |ends| self.at(reel, ends.time(place), number).0)
    }

    /// Matches the ends of one payload.
    fn group(
        &self,
        group: &[End],
        known: &Known,
        matched: &mut Vec<Matched>,
        part: &mut WovenPart,
    ) {
        let Some(first) = group.first() else { return };
        let (crossed, seen) = group.split_at(group.partition_point(|end| end.side != Side::Seen));
        let tolerance_ns = self.tolerance_ns((first.from, first.to), seen);
        let scans = self.roads.scans;
        let time = |end: &End| self.time(end);
        let lacks_sends = self.lacks_sends(first.from, first.to);
        let dropped = |end: &End| self.dropped(end);
        matched.clear();
        let neighbours = |end: &End| known.of(self.places.of(end));
        assign(
            crossed,
            tolerance_ns,
            lacks_sends,
            time,
            dropped,
            neighbours,
            matched,
        );
        doubt(matched, tolerance_ns, time, neighbours);
        self.doubt_of_clocks(matched, tolerance_ns);
        if self.is_open(group) {
            self.missing
                .part(first.reel, tolerance_ns, time, neighbours, matched);
        }
        let hash = |end: &End| end.raw(scans).map(|raw| (raw.hash, raw.length));
        let equal = |end: &End| hash(end) == hash(first);
        let strays = first.side == Side::Receive && crossed.len() > 1 && crossed.iter().all(equal);
        if strays && !seen.is_empty() && (self.join)(&[self.places.of(first)]) == [true] {
            let received = matched.drain(..).flat_map(|stray| stray.received).collect();
            matched.push(Matched {
                received,
                ..Matched::default()
            });
        }
        let strays = strays && seen.is_empty();
        if strays {
            // Whether they are one is asked of all at once, in the order of the reels.
            part.strays.push((part.odd.len(), matched.len()));
        }
        let interface = |end: &End| end.raw(scans).map_or(0, |raw| raw.connection);
        let told = |end: &End| end.is_told(scans);
        sight(seen, tolerance_ns, time, told, interface, matched);
        for each in matched.drain(..) {
            let source = each.source().filter(|_| each.doubtful);
            part.doubtful.extend(source.map(|end| self.places.of(&end)));
            let plain = match (each.sent, each.received.as_slice(), each.seen.as_slice()) {
                (Some(end), [], []) | (None, [], &[end]) => !end.shared,
                (None, [_], []) => !strays,
                (Some(sent), [received], []) if !sent.shared => {
                    let pair = (self.places.of(&sent), self.places.of(received));
                    part.pairs.push(pair);
                    true
                }
                _ => false,
            };
            if let (false, Some(source)) = (plain, each.source()) {
                let id = |end: &End| self.places.of(end);
                part.odd.push(Odd {
                    from: source.from,
                    to: source.to,
                    sent: each.sent.as_ref().map(id),
                    received: each.received.iter().map(id).collect(),
                    seen: each.seen.iter().map(id).collect(),
                });
            }
        }
    }

    /// Of what was sent to a group there is a packet for each node that heard it. What nobody heard
    /// is one packet, to the group.
    fn unheard(&self, odd: &mut Vec<Odd>) {
        let group = |end: EndId| {
            let (reel, side, place) = self.places.find(end);
            let scan = &self.roads.scans[reel];
            let raw = scan.side(side).get(place)?;
            let utc = utc_ns(self.roads.headers[reel], raw.time);
            self.roads.cast.group_at(scan.peer(&raw)?, utc)
        };
        let heard = odd.iter().filter(|each| !each.received.is_empty());
        let mut told: BTreeSet<EndId> = heard
            .flat_map(|each| each.sent.iter().chain(&each.seen))
            .copied()
            .filter(|&end| group(end).is_some())
            .collect();
        odd.retain_mut(|each| {
            let first = each.sent.or(each.seen.first().copied());
            let Some(first) = first.filter(|_| each.received.is_empty()) else {
                return true;
            };
            let Some(group) = group(first) else {
                return true;
            };
            let is_new = told.insert(first);
            told.extend(each.ends());
            each.to = group as u16;
            is_new
        });
    }

    /// A reel's time on the session's clock.
    pub(super) fn at(
        &self,
        reel: usize,
        time: Time,
        number: impl FnOnce() -> EventNumber,
    ) -> SessionTime {
        self.clocks[reel].map.time(time, number)
    }

    fn dropped(&self, end: &End) -> bool {
        let scan = end.scan(self.roads.scans);
        scan.filter(|scan| !scan.faults.is_empty())
            .is_some_and(|scan| {
                let number = scan.side(end.side).number(end.place as usize);
                is_dropped(scan.faults_of(number))
            })
    }

    /// Whether a receipt that comes before every send was of a send that is not there: the
    /// sender's reel lacks some, and its clock is known.
    fn lacks_sends(&self, from: u16, to: u16) -> bool {
        let sender = &self.roads.cast.members[usize::from(from)];
        let is_holed = sender
            .reel
            .is_some_and(|reel| self.missing.is_holed(reel as u16));
        is_holed && self.tolerance_ns((from, to), &[]) < i64::MAX
    }
}
