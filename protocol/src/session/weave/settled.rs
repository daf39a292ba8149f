//! Pairs of ends that are packets for good: a later look at reels that grow need not match them again.
//!
//! A send and its receipt whose payload nothing else has stay one packet unless the same payload comes
//! once more. So a later look matches only ends that are in no pair yet. Where one of them has the hash
//! of a pair, that pair is taken apart, matched with all the others, and never kept again.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::matching::{End, groups};
use super::weaver::{EndId, Places, Weaver, Woven};
use crate::session::ask::firm::Firm;
use crate::session::bits::Bits;
use crate::session::read::ends::Side;
use crate::session::read::scan::Scan;
use crate::session::read::source::Source;
use crate::session::who::roads::{Roads, Ways};

/// A sender's reel that goes on for so long after a receipt lacks nothing that it could be of.
const SURE_NS: i64 = 1_000_000_000;

/// See the module.
#[derive(Default)]
pub(crate) struct Settled {
    /// What of each reel stays.
    firm: Vec<Firm>,
    /// Of the connections of each reel the links that pairs may have.
    links: Vec<Vec<Ways>>,
    pairs: Vec<Pair>,
    /// Of each side of each reel the ends that are in pairs.
    ends: Vec<[Bits; 3]>,
    /// Those of all pairs, and of some that were taken apart.
    hashes: Hashes,
    /// Those that more ends have than a pair.
    repeated: BTreeSet<u64>,
    /// The pairs of reels that have a packet in common.
    met: BTreeSet<(usize, usize)>,
}

/// A send and its receipt: the reels, and the places there.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    reels: (u16, u16),
    sent: u32,
    received: u32,
}

/// Pairs with their hash.
pub(super) type Pairs = SmallVec<[(Pair, u64); 1]>;

impl Pair {
    fn hash(&self, scans: &[Scan]) -> Option<u64> {
        let scan = scans.get(usize::from(self.reels.0))?;
        scan.sends.hashes().get(self.sent as usize).copied()
    }
}

impl Settled {
    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Goes on with these reels; keeps no pair that may not be one any more. Whether pairs can be kept
    /// at all: `is_plain` says that there is one clock, and no proxy.
    pub fn go_on(&mut self, is_plain: bool, roads: &Roads<'_>, sources: &[Source]) -> bool {
        let firm = sources.iter().map(|source| source.firm.clone());
        let is_plain = is_plain && roads.is_direct() && roads.scans.iter().all(is_whole);
        let firm = firm.collect::<Option<Vec<Firm>>>().filter(|_| is_plain);
        let Some(firm) = firm else {
            *self = Settled::default();
            return false;
        };
        let links = roads.between_reels();
        if !self.holds(&firm, &links) {
            *self = Settled::default();
        }
        (self.firm, self.links) = (firm, links);
        self.ends.resize_with(roads.scans.len(), Default::default);
        self.take_apart(roads.scans);
        true
    }

    /// Whether nothing of the reels was read anew since, and all connections go where they went.
    fn holds(&self, firm: &[Firm], links: &[Vec<Ways>]) -> bool {
        let mut reels = self.firm.iter().zip(firm);
        let mut known = self.links.iter().zip(links);
        self.firm.len() == firm.len()
            && reels.all(|(one, other)| one.goes_on_in(other))
            && known.all(|(before, now)| {
                let same = |(one, other): (_, &Option<_>)| Option::is_none(one) || one == other;
                let mut both = before.iter().zip(now);
                before.len() <= now.len() && both.all(|(one, two)| one.iter().zip(two).all(same))
            })
    }

    /// Takes those pairs apart whose payload others have as well by now.
    fn take_apart(&mut self, scans: &[Scan]) {
        let mut again = BTreeSet::new();
        for (scan, ends) in scans.iter().zip(&self.ends) {
            for (side, ends) in Side::ALL.into_iter().zip(ends) {
                let hashes = (0..).zip(scan.side(side).hashes());
                let free = hashes.filter(|(place, _)| !ends.contains(*place));
                let free = free.map(|(_, hash)| *hash);
                again.extend(free.filter(|hash| self.hashes.contains(*hash)));
            }
        }
        again.retain(|hash| !self.repeated.contains(hash));
        if again.is_empty() {
            return;
        }
        let is_alone = |pair: &Pair| pair.hash(scans).is_some_and(|it| !again.contains(&it));
        self.pairs.retain(is_alone);
        self.repeated.append(&mut again);
        let pairs = std::mem::take(&mut self.pairs);
        self.ends = scans.iter().map(|_| Default::default()).collect();
        pairs.into_iter().for_each(|pair| self.note(pair));
    }

    fn note(&mut self, pair: Pair) {
        let (from, to) = pair.reels;
        let ends = [
            (from, Side::Send, pair.sent),
            (to, Side::Receive, pair.received),
        ];
        for (reel, side, place) in ends {
            if let Some(sides) = self.ends.get_mut(usize::from(reel)) {
                sides[side as usize].insert(place);
            }
        }
        self.pairs.push(pair);
    }

    /// Keeps more pairs, each with its hash.
    pub fn keep(&mut self, more: Vec<(Pair, u64)>) {
        for &(pair, _) in &more {
            self.met
                .insert((usize::from(pair.reels.0), usize::from(pair.reels.1)));
            self.note(pair);
        }
        self.hashes
            .extend(more.into_iter().map(|(_, hash)| hash).collect());
    }

    /// The ends of a side of a reel that are in pairs.
    pub fn ends(&self, reel: usize, side: Side) -> Option<&Bits> {
        Some(&self.ends.get(reel)?[side as usize])
    }

    /// Tells of all pairs.
    pub(super) fn tell(&self, places: &Places, woven: &mut Woven) {
        for pair in &self.pairs {
            let end = |reel, side, place| -> EndId { places.id(usize::from(reel), side, place) };
            let (from, to) = pair.reels;
            let sent = end(from, Side::Send, pair.sent as usize);
            woven.pair(sent, end(to, Side::Receive, pair.received as usize));
        }
        woven.met.extend(&self.met);
    }
}

/// Whether a reel lacks nothing before its end, and its ends are what they seem.
fn is_whole(scan: &Scan) -> bool {
    let is_cut = Side::ALL.iter().any(|&side| scan.side(side).cut() > 0);
    let is_holed = !scan.holes.is_empty() || !scan.from_start || scan.begins_later;
    !is_cut && !is_holed && !scan.told && scan.faults.is_empty()
}

impl Weaver<'_> {
    /// The pairs that the ends with one hash are, where all of them are such for good.
    pub(super) fn stay(&self, equal: &[End]) -> Option<Pairs> {
        let settled = self.settled?;
        let hash = equal.first()?.hash;
        let pairs = groups(equal).map(|group| Some((self.pair(settled, group)?, hash)));
        (!settled.repeated.contains(&hash)).then(|| pairs.collect())?
    }

    /// The pair that a group is, if it stays one.
    fn pair(&self, settled: &Settled, group: &[End]) -> Option<Pair> {
        let [sent, received] = group else {
            return None;
        };
        let is_firm = |end: &End| {
            let reel = usize::from(end.reel);
            let ends = self.roads.scans.get(reel)?.side(end.side);
            let place = end.place as usize;
            let link = self.roads.fixed(reel, end.side, ends.way(place));
            let until = settled.firm.get(reel)?.until;
            Some(link.is_some() && ends.number(place) < until)
        };
        let sender = settled.firm.get(usize::from(sent.reel))?;
        let until = self.at(usize::from(sent.reel), sender.last, || sender.until);
        let at = self.time(received);
        let stays = self.is_plain(sent, received)
            && self.time(sent) <= at
            && at.saturating_add(SURE_NS) <= until.0
            && is_firm(sent)?
            && is_firm(received)?;
        stays.then_some(Pair {
            reels: (sent.reel, received.reel),
            sent: sent.place,
            received: received.place,
        })
    }
}

/// A set that grows: runs in order, each at least twice as long as the next.
#[derive(Default)]
struct Hashes(Vec<Vec<u64>>);

impl Hashes {
    fn contains(&self, hash: u64) -> bool {
        let mut runs = self.0.iter();
        runs.any(|run| run.binary_search(&hash).is_ok())
    }

    fn extend(&mut self, mut more: Vec<u64>) {
        more.sort_unstable();
        while let Some(mut run) = self.0.pop_if(|run| run.len() < 2 * more.len()) {
            run.append(&mut more);
            // Two runs in order are merged.
            run.sort();
            more = run;
        }
        if !more.is_empty() {
            self.0.push(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_hashes_stay_few_and_hold_all() {
        let mut hashes = Hashes::default();
        for look in 0..1000u64 {
            hashes.extend((0..look % 7).map(|nth| nth << 32 | look).collect());
        }
        assert!(hashes.0.len() <= 12, "{}", hashes.0.len());
        assert!(hashes.contains(5 << 32 | 6) && hashes.contains(998));
        assert!(!hashes.contains(6 << 32 | 6));
    }
}
