//! Packets whose payload came once on its link: that is most packets, and most arrive in the order in which
//! they were sent.
//!
//! The sends and the receipts of a link are walked side by side, so that nothing has to be sorted. A payload
//! that was sent once and never received, or the other way round, is a packet by itself. What came several
//! times is left to the [`Weaver`]; so is a payload that shares some bits of its hash with another one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::places::Places;
use super::weaver::Weaver;
use crate::session::bits::Bits;
use crate::session::parallel;
use crate::session::read::ends::{Ends, Side};
use crate::session::read::scan::Scan;

/// About this many ends are walked at a time, each of which takes 8 to 16 bytes meanwhile: those of as many
/// links as have no more together; of a longer link, those of one part of all hashes after the other.
const TOGETHER: usize = if cfg!(test) { 256 } else { 1 << 23 };

/// What was overtaken by more packets than this, or overtook more, is left to the [`Weaver`].
const OVERTAKEN: usize = 64;

/// Who sends, and who receives, by member.
type Way = (u16, u16);

/// How many sends and how many receipts a link has.
type Counts = [usize; 2];

/// The ends whose packets are known: pairs, and packets that have one end.
#[derive(Default)]
pub(super) struct Once {
    /// Of each side of each reel.
    pub ends: Vec<[Bits; 3]>,
    /// The pairs of reels that have a packet in common.
    pub met: BTreeSet<(usize, usize)>,
}

/// What is found is noted here.
struct Found<'a> {
    places: &'a Places,
    /// See [`Woven::partners`](super::woven::Woven::partners).
    partners: &'a [AtomicU32],
    /// Of each side of each reel a bit for each end, set once its packet is known.
    ends: Vec<[Vec<AtomicU64>; 3]>,
}

/// An end: its place among the ends of its side, and some bits of its hash.
type Short = (u32, u32);

/// The ends of a link, each side in the order of its reel.
#[derive(Default)]
struct OnLink {
    way: Way,
    sends: Vec<Short>,
    receipts: Vec<Short>,
}

impl Weaver<'_> {
    /// Puts together the packets whose payloads came once. `partners` has room for each end: see
    /// [`Woven::partners`](super::woven::Woven::partners).
    pub(super) fn once(&self, partners: &[AtomicU32]) -> Once {
        let mut once = Once::default();
        #[cfg(test)]
        if tests::IS_LEFT_OUT.get() {
            return once;
        }
        let mut links: Vec<(Way, Counts)> = self.links().into_iter().collect();
        if links.is_empty() {
            return once;
        }
        let found = Found::new(self.roads.scans, self.places, partners);
        while !links.is_empty() && self.cancel.goes_on() {
            let sums = links.iter().scan(0, |all, (_, counts)| {
                *all += counts.iter().sum::<usize>();
                Some(*all)
            });
            let fit = sums.take_while(|&all| all <= TOGETHER).count();
            let some: Vec<(Way, Counts)> = links.drain(..fit.max(1)).collect();
            let ends = some.iter().flat_map(|(_, counts)| counts);
            let parts = ends.sum::<usize>().div_ceil(TOGETHER);
            for part in 0..parts {
                let some = self.on_links(&some, (part, parts));
                let met = parallel::map(some, self.workers, |link| self.walk(link, &found));
                once.met.extend(met.into_iter().flatten());
            }
        }
        let bits = |words: Vec<AtomicU64>| Bits::of(words.into_iter().map(AtomicU64::into_inner));
        let ends = found.ends.into_iter().map(|sides| sides.map(bits));
        once.ends = ends.collect();
        once
    }

    /// The links that are walked, each with how many ends it has. Others are left out: there a link and a
    /// hash do not tell whose a packet is, or which ends it has.
    fn links(&self) -> BTreeMap<Way, Counts> {
        let scans = self.roads.scans;
        let is_plain = self.roads.is_direct() && self.roads.is_fixed();
        // Of a cut packet the hash is not of all bytes; what somebody saw on the way is an end too.
        let is_cut_or_seen = |scan: &Scan| {
            let cut = scan.sends.cut() + scan.receives.cut();
            cut > 0 || !scan.seen.is_empty()
        };
        if !is_plain || scans.iter().any(is_cut_or_seen) {
            return BTreeMap::new();
        }
        let mut links: BTreeMap<Way, Counts> = BTreeMap::new();
        for (reel, scan) in scans.iter().enumerate() {
            for side in [Side::Send, Side::Receive] {
                let mut counts = vec![0; scan.connections.len()];
                for (connection, _) in scan.side(side).ways() {
                    counts[connection as usize] += 1;
                }
                for (connection, count) in (0..).zip(counts) {
                    if let Some(way) = self.roads.fixed(reel, side, (connection, true)) {
                        links.entry(way).or_default()[side as usize] += count;
                    }
                }
            }
        }
        // Where nobody knows who is behind an endpoint, equal payloads of all links are held against those
        // between nodes that are known.
        let is_stranger = |member: u16| self.strangers.is_one(member);
        let is_known = |&(from, to): &Way| !is_stranger(from) && !is_stranger(to);
        if self.strangers.are_any() && links.keys().any(is_known) {
            return BTreeMap::new();
        }
        // What a proxy tells of, or may have dropped, and what a node sends itself is left to the [`Weaver`].
        links.retain(|&(from, to), _| {
            let is_whole = |scan: &Scan| !scan.told && scan.faults.is_empty();
            let is_whole = |member: u16| scans.get(usize::from(member)).is_none_or(is_whole);
            from != to && is_whole(from) && is_whole(to)
        });
        links
    }

    /// The ends of some links, whose hashes are in one of so many parts.
    fn on_links(&self, ways: &[(Way, Counts)], (part, parts): (usize, usize)) -> Vec<OnLink> {
        let number: BTreeMap<Way, usize> = ways.iter().map(|it| it.0).zip(0..).collect();
        let reels = 0..self.roads.scans.len();
        let sides = reels.flat_map(|reel| [Side::Send, Side::Receive].map(|side| (reel, side)));
        let found = parallel::map(sides.collect(), self.workers, |(reel, side)| {
            let scan = &self.roads.scans[reel];
            // Of each connection its link's place among those that this side has.
            let mut own: BTreeMap<usize, usize> = BTreeMap::new();
            let connections = (0..scan.connections.len() as u32).map(|connection| {
                let way = self.roads.fixed(reel, side, (connection, true))?;
                let next = own.len();
                Some(*own.entry(*number.get(&way)?).or_insert(next))
            });
            let connections: Vec<Option<usize>> = connections.collect();
            if own.is_empty() {
                return (side, Vec::new());
            }
            let mut ends = vec![Vec::new(); own.len()];
            for (&link, &at) in &own {
                // Parts differ by a little.
                let some = ways[link].1[side as usize] / parts;
                ends[at] = Vec::with_capacity(some + some / 64);
            }
            let all = scan.side(side);
            let hashes = all.hashes().iter();
            for ((place, hash), (connection, _)) in (0..).zip(hashes).zip(all.ways()) {
                if let Some(at) = connections[connection as usize]
                    && (parts == 1 || (hash >> 32) as usize % parts == part)
                {
                    ends[at].push((place, hash as u32));
                }
            }
            let own = own.into_iter();
            let ends = own.map(|(link, at)| (link, std::mem::take(&mut ends[at])));
            (side, ends.collect::<Vec<(usize, Vec<Short>)>>())
        });
        let of_way = |&(way, _): &(Way, Counts)| OnLink {
            way,
            ..OnLink::default()
        };
        let mut links: Vec<OnLink> = ways.iter().map(of_way).collect();
        for (side, own) in found {
            for (link, ends) in own {
                match side {
                    Side::Send => links[link].sends = ends,
                    _ => links[link].receipts = ends,
                }
            }
        }
        links
    }

    /// Walks the ends of a link. The two reels, where they have a packet in common.
    fn walk(&self, link: OnLink, found: &Found<'_>) -> Option<(usize, usize)> {
        let marks = Marks::new(&link.sends, &link.receipts);
        let (from, to) = link.way;
        let [sender, receiver] = [from, to].map(usize::from);
        // Keeps those that may have a partner. Others that came once have none, and are noted.
        let paired = |ends: Vec<Short>, reel: usize, side: Side| {
            let ends = ends.into_iter().filter(|&(place, bits)| {
                let marks = marks.of(bits);
                if marks == SENT || marks == RECEIVED {
                    found.note(reel, side, place);
                }
                marks == SENT | RECEIVED
            });
            ends.collect::<Vec<Short>>()
        };
        let sends = paired(link.sends, sender, Side::Send);
        let receipts = paired(link.receipts, receiver, Side::Receive);
        let payloads = |reel: usize, side: Side| {
            let ends = self.roads.scans.get(reel)?.side(side);
            let mut columns = (ends.hashes().cursor(), ends.length_column().cursor());
            Some(move |place: u32| {
                let place = place as usize;
                (columns.0.get(place), columns.1.get(place))
            })
        };
        let mut sent = payloads(sender, Side::Send)?;
        let mut received = payloads(receiver, Side::Receive)?;
        let mut have_met = None;
        // The send behind the last one that was found in order, and those that were passed over before it.
        let (mut next, mut passed) = (0, VecDeque::new());
        // How many receipts in a row were of none of the next sends.
        let mut astray = 0;
        for (place, bits) in receipts {
            let is_its = |&at: &usize| sends[at].1 == bits;
            let is_next = next < sends.len() && is_its(&next);
            let overtaken = || passed.iter().position(is_its);
            let overtaken = if is_next { None } else { overtaken() };
            let at = overtaken.and_then(|at| passed.remove(at)).or_else(|| {
                let end = sends.len().min(next + OVERTAKEN);
                let at = (next..end).find(is_its)?;
                passed.extend(next..at);
                passed.drain(..passed.len().saturating_sub(OVERTAKEN));
                next = at + 1;
                Some(at)
            });
            let Some((its, _)) = at.map(|at| sends[at]) else {
                astray += 1;
                if astray == OVERTAKEN {
                    // Theirs may be further ahead.
                    (next, astray) = (sends.len().min(next + OVERTAKEN), 0);
                }
                continue;
            };
            astray = 0;
            // Where the sender's reel may lack a send, this may be the receipt of that one.
            if sent(its) == received(place) && !self.missing.is_open(from, (to, place)) {
                found.pair((sender, its), (receiver, place));
                have_met = Some((sender, receiver));
            }
        }
        have_met
    }
}

impl<'a> Found<'a> {
    fn new(scans: &[Scan], places: &'a Places, partners: &'a [AtomicU32]) -> Found<'a> {
        let none = |ends: &Ends| {
            let words = 0..ends.len().div_ceil(64);
            words.map(|_| AtomicU64::new(0)).collect()
        };
        let ends = scans
            .iter()
            .map(|scan| Side::ALL.map(|side| none(scan.side(side))));
        Found {
            places,
            partners,
            ends: ends.collect(),
        }
    }

    /// A send and its receipt: the reel of each, and its place among the ends of its side.
    fn pair(&self, send: (usize, u32), receipt: (usize, u32)) {
        let ends = [(send, Side::Send), (receipt, Side::Receive)];
        let [send, receipt] = ends.map(|((reel, place), side)| {
            self.note(reel, side, place);
            self.places.id(reel, side, place as usize)
        });
        for (end, partner) in [(send, receipt), (receipt, send)] {
            if let Some(slot) = self.partners.get(end.0 as usize) {
                slot.store(partner.0, Ordering::Relaxed);
            }
        }
    }

    /// The packet of an end is known.
    fn note(&self, reel: usize, side: Side, place: u32) {
        let sides = self.ends.get(reel);
        let word = sides.and_then(|sides| sides[side as usize].get(place as usize / 64));
        if let Some(word) = word {
            word.fetch_or(1 << (place % 64), Ordering::Relaxed);
        }
    }
}

/// What was sent and received, and which of it more than once, by some bits of hashes: four marks each.
struct Marks(Vec<u8>);

const SENT: u8 = 1;
const RECEIVED: u8 = 4;

impl Marks {
    fn new(sends: &[Short], receipts: &[Short]) -> Marks {
        let count = sends.len().max(receipts.len());
        let mut marks = Marks(vec![0; (count * 4).next_power_of_two()]);
        for (ends, once) in [(sends, SENT), (receipts, RECEIVED)] {
            for &(_, bits) in ends {
                let (at, shift) = marks.place(bits);
                // Where the mark is there, the one beside it says that it came again.
                let is_again = marks.0[at] >> shift & once != 0;
                marks.0[at] |= once << u8::from(is_again) << shift;
            }
        }
        marks
    }

    /// The byte of some bits, and which half of it.
    fn place(&self, bits: u32) -> (usize, u32) {
        let at = (bits >> 1) as usize & (self.0.len() - 1);
        (at, (bits & 1) * 4)
    }

    /// The marks of all that has some bits.
    fn of(&self, bits: u32) -> u8 {
        let (at, shift) = self.place(bits);
        self.0[at] >> shift & 15
    }
}

#[cfg(test)]
mod tests;
