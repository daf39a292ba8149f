//! Packets whose payloads came once on their links: most of them, in the order in which they were sent.
//!
//! Sends and receipts of a link between two reels are walked side by side. Nothing is sorted for that, and
//! what is left to the [`Weaver`] is what came several times, or not at all. Whether a payload came once is
//! told by some bits of its hash: where these are another one's too, it is left as well.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::places::EndId;
use super::weaver::Weaver;
use crate::session::bits::Bits;
use crate::session::parallel;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;

/// Links are walked together that have no more ends than this, which take some 12 bytes each meanwhile.
const TOGETHER: usize = 1 << 23;

/// A packet is overtaken by no more than this many.
const OVERTAKEN: usize = 64;

/// Who sends, and who receives: members that are reels.
type Way = (u16, u16);

/// The ends that are in packets, or are packets by themselves.
#[derive(Default)]
pub(super) struct Once {
    /// Of each side of each reel.
    pub ends: Vec<[Bits; 3]>,
    /// How many that are.
    pub count: usize,
    /// The pairs of reels that have a packet in common.
    pub met: BTreeSet<(usize, usize)>,
}

/// Where is noted what is found.
struct Found<'a> {
    /// See [`Woven::partners`](super::woven::Woven::partners).
    partners: &'a [AtomicU32],
    /// A bit for each end: whether it needs no more.
    ends: Vec<AtomicU64>,
}

/// An end: its place in its reel, and some bits of its hash.
type Short = (u32, u32);

/// The ends of a link, each side in the order of its reel.
#[derive(Default)]
struct OnLink {
    way: Way,
    sends: Vec<Short>,
    receipts: Vec<Short>,
}

impl Weaver<'_> {
    /// Puts them together. `partners` has room for each end: see
    /// [`Woven::partners`](super::woven::Woven::partners).
    pub(super) fn once(&self, partners: &[AtomicU32]) -> Once {
        let mut once = Once::default();
        let mut links: Vec<(Way, usize)> = self.walked().into_iter().collect();
        if links.is_empty() {
            return once;
        }
        let words = 0..self.places.len().div_ceil(64);
        let found = Found {
            partners,
            ends: words.map(|_| AtomicU64::new(0)).collect(),
        };
        while !links.is_empty() && self.cancel.goes_on() {
            let sums = links.iter().scan(0, |all, (_, ends)| {
                *all += ends;
                Some(*all)
            });
            let count = sums.take_while(|&all| all <= TOGETHER).count().max(1);
            let some: Vec<Way> = links.drain(..count).map(|(way, _)| way).collect();
            let met = parallel::map(self.on_links(&some), self.workers, |link| {
                let (from, to) = link.way;
                let is_met = self.walk(link, &found);
                is_met.then_some((usize::from(from), usize::from(to)))
            });
            once.met.extend(met.into_iter().flatten());
        }
        let reels: Vec<usize> = (0..self.roads.scans.len()).collect();
        let sides = parallel::map(reels, self.workers, |reel| {
            Side::ALL.map(|side| self.found_of((reel, side), &found))
        });
        let counts = sides.iter().flatten().map(|(_, count)| count);
        once.count = counts.sum();
        let ends = sides.into_iter().map(|of| of.map(|(ends, _)| ends));
        once.ends = ends.collect();
        once
    }

    /// The links that are walked, each with how many ends it has. Of others it does not show here whose
    /// their packets are, or which of them there were.
    fn walked(&self) -> BTreeMap<Way, usize> {
        let scans = self.roads.scans;
        let is_plain = self.roads.is_direct() && self.roads.is_fixed();
        // Hashes are of whole packets, and nobody else saw them.
        let is_beside = |scan: &Scan| {
            let cut = scan.sends.cut() + scan.receives.cut();
            cut > 0 || !scan.seen.is_empty()
        };
        let is_plain = is_plain && !scans.iter().any(is_beside);
        // What is between others may be a stranger's where payloads are equal.
        let are_strange = scans.len() > 1 && self.strangers.are_any();
        if self.settled.is_some() || !is_plain || are_strange {
            return BTreeMap::new();
        }
        let mut links: BTreeMap<Way, usize> = BTreeMap::new();
        for (reel, scan) in scans.iter().enumerate() {
            for side in [Side::Send, Side::Receive] {
                let mut counts = vec![0; scan.connections.len()];
                for (connection, _) in scan.side(side).ways() {
                    counts[connection as usize] += 1;
                }
                for (connection, count) in (0..).zip(counts) {
                    if let Some(way) = self.roads.fixed(reel, side, (connection, true)) {
                        *links.entry(way).or_default() += count;
                    }
                }
            }
        }
        links.retain(|&(from, to), _| {
            let is_whole = |scan: &Scan| !scan.told && scan.faults.is_empty();
            let is_told = |reel: u16| scans.get(usize::from(reel)).is_none_or(is_whole);
            from != to && is_told(from) && is_told(to)
        });
        links
    }

    /// The ends of some links.
    fn on_links(&self, ways: &[Way]) -> Vec<OnLink> {
        let number: BTreeMap<Way, usize> = ways.iter().copied().zip(0..).collect();
        let reels = 0..self.roads.scans.len();
        let sides = reels.flat_map(|reel| [Side::Send, Side::Receive].map(|side| (reel, side)));
        let found = parallel::map(sides.collect(), self.workers, |(reel, side)| {
            let scan = &self.roads.scans[reel];
            let mut own: BTreeMap<usize, usize> = BTreeMap::new();
            let connections = (0..scan.connections.len() as u32).map(|connection| {
                let way = self.roads.fixed(reel, side, (connection, true))?;
                let next = own.len();
                Some(*own.entry(*number.get(&way)?).or_insert(next))
            });
            let connections: Vec<Option<usize>> = connections.collect();
            let mut ends = vec![Vec::new(); own.len()];
            let all = scan.side(side);
            let hashes = all.hashes().iter();
            for ((place, hash), (connection, _)) in (0..).zip(hashes).zip(all.ways()) {
                if let Some(own) = connections[connection as usize] {
                    ends[own].push((place, hash as u32));
                }
            }
            let ends = own
                .into_iter()
                .map(|(link, own)| (link, std::mem::take(&mut ends[own])));
            (side, ends.collect::<Vec<(usize, Vec<Short>)>>())
        });
        let link = |&way| OnLink {
            way,
            ..OnLink::default()
        };
        let mut links: Vec<OnLink> = ways.iter().map(link).collect();
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

    /// Walks the ends of a link; whether there was a packet with both.
    fn walk(&self, link: OnLink, found: &Found<'_>) -> bool {
        let marks = Marks::new(&link.sends, &link.receipts);
        let (from, to) = link.way;
        let [sender, receiver] = [from, to].map(usize::from);
        let send = |place: u32| self.places.id(sender, Side::Send, place as usize);
        let receipt = |place: u32| self.places.id(receiver, Side::Receive, place as usize);
        // Those that may have a partner; all else that came once has none.
        let paired = |ends: Vec<Short>, end: &dyn Fn(u32) -> EndId| {
            let ends = ends.into_iter().filter(|&(place, bits)| {
                let marks = marks.of(bits);
                if marks == SENT || marks == RECEIVED {
                    found.note(end(place));
                }
                marks == SENT | RECEIVED
            });
            ends.collect::<Vec<Short>>()
        };
        let sends = paired(link.sends, &send);
        let receipts = paired(link.receipts, &receipt);
        let hashes = |reel: usize, side: Side| {
            let scan = self.roads.scans.get(reel);
            scan.map(|scan| scan.side(side).hashes().cursor())
        };
        let hashes = hashes(sender, Side::Send).zip(hashes(receiver, Side::Receive));
        let Some((mut sent, mut received)) = hashes else {
            return false;
        };
        let mut is_met = false;
        // The first send behind all that were found, and those that were passed over before it.
        let (mut next, mut passed) = (0, VecDeque::new());
        for (place, bits) in receipts {
            let is_its = |&at: &usize| sends[at].1 == bits;
            let is_next = next < sends.len() && is_its(&next);
            let overtaken = passed.iter().position(is_its).filter(|_| !is_next);
            let at = overtaken
                .and_then(|place| passed.remove(place))
                .or_else(|| {
                    let end = sends.len().min(next + OVERTAKEN);
                    let at = (next..end).find(is_its)?;
                    passed.extend(next..at);
                    passed.drain(..passed.len().saturating_sub(OVERTAKEN));
                    next = at + 1;
                    Some(at)
                });
            let Some((its, _)) = at.map(|at| sends[at]) else {
                continue;
            };
            let is_one = sent.get(its as usize) == received.get(place as usize);
            // Where something may be missing, it may be the receipt of that.
            if is_one && !self.missing.is_open(from, (to, place)) {
                found.pair(send(its), receipt(place));
                is_met = true;
            }
        }
        is_met
    }

    /// What was found of a side, and how many ends that are.
    fn found_of(&self, (reel, side): (usize, Side), found: &Found<'_>) -> (Bits, usize) {
        let (mut ends, mut count) = (Bits::default(), 0);
        for place in 0..self.roads.scans[reel].side(side).len() {
            if found.contains(self.places.id(reel, side, place)) {
                ends.insert(place as u32);
                count += 1;
            }
        }
        (ends, count)
    }
}

impl Found<'_> {
    fn pair(&self, send: EndId, receipt: EndId) {
        for (end, partner) in [(send, receipt), (receipt, send)] {
            if let Some(slot) = self.partners.get(end.0 as usize) {
                slot.store(partner.0, Ordering::Relaxed);
            }
            self.note(end);
        }
    }

    fn note(&self, end: EndId) {
        if let Some(word) = self.ends.get(end.0 as usize / 64) {
            word.fetch_or(1 << (end.0 % 64), Ordering::Relaxed);
        }
    }

    fn contains(&self, end: EndId) -> bool {
        let word = self.ends.get(end.0 as usize / 64);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (end.0 % 64) & 1 == 1)
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
                // The second of the same is marked next to the first.
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
