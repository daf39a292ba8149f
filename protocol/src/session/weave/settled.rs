//! PacketEnds that are packets for good: a later look at reels that grow need not match them again.
//!
//! A send whose payload nothing else has, with its receipts, stays one packet unless the same payload
//! comes once more. So a later look matches only ends that are in no such packet yet. Where one of them
//! has the hash of one, that packet is taken apart, matched with all the others, and never kept again.

use std::collections::{BTreeMap, BTreeSet};

use super::odd::Odd;
use super::order::Order;
use super::places::{EndId, Places};
use super::woven::Woven;
use crate::session::ask::firm::Firm;
use crate::session::bits::Bits;
use crate::session::read::ends::{EndAt, Side};
use crate::session::read::scan::Scan;
use crate::session::who::roads::Ways;
use crate::session::{SessionError, SessionTime};

/// A sender's reel that goes on for so long after a receipt lacks nothing that it could be of.
pub(super) const SURE_NS: i64 = 1_000_000_000;

/// See the module.
#[derive(Default)]
pub(crate) struct Settled {
    /// What of each reel stays.
    firm: Vec<Firm>,
    /// Which of the reels had something new at the last look.
    is_new: Vec<bool>,
    /// Of the connections of each reel the links that packets may have.
    links: Vec<Vec<Ways>>,
    places: Places,
    /// What was woven, for the ends that stay.
    pub(super) partners: Vec<u32>,
    /// Of the packets that stay those that are more than a send and a receipt, and that are not kept
    /// in order.
    pub(super) odd: Vec<Odd>,
    /// Of each side of each reel the ends that are in packets that stay, and how many there are.
    ends: Vec<[Bits; 3]>,
    count: usize,
    /// How many packets that are.
    packets: usize,
    /// Of each side of each reel how many ends were held against `hashes`.
    looked_at: Vec<[u32; 3]>,
    /// Those of all packets that stay, and of some that were taken apart.
    hashes: Hashes,
    /// Those that more ends have than a packet.
    repeated: BTreeSet<u64>,
    /// The pairs of reels that have a packet in common.
    met: BTreeSet<(usize, usize)>,
}

impl Settled {
    /// How many packets stay.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// How many ends there are that stay in their packets.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Goes on with these reels; keeps no packet that may not be one any more.
    pub(super) fn go_on(&mut self, firm: Vec<Firm>, links: Vec<Vec<Ways>>, scans: &[Scan]) {
        let is_new = |(reel, now): (usize, &Firm)| {
            let before = self.firm.get(reel);
            before.is_none_or(|before| before.until != now.until)
        };
        self.is_new = firm.iter().enumerate().map(is_new).collect();
        (self.firm, self.links) = (firm, links);
        self.ends.resize_with(scans.len(), Default::default);
        self.looked_at.resize(scans.len(), [0; 3]);
        self.take_apart(scans);
    }

    /// What of a reel stays.
    pub(super) fn firm(&self, reel: usize) -> &Firm {
        &self.firm[reel]
    }

    /// Whether more ends have a hash than a packet.
    pub(super) fn is_repeated(&self, hash: u64) -> bool {
        self.repeated.contains(&hash)
    }

    /// Whether nothing of the reels was read anew since, and all connections go where they went.
    pub(super) fn holds(&self, firm: &[Firm], links: &[Vec<Ways>]) -> bool {
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

    /// Where all ends stand: what had a number keeps it.
    ///
    /// # Errors
    /// There are more ends than can be numbered.
    pub fn places(&mut self, scans: &[Scan]) -> Result<Places, SessionError> {
        self.places = std::mem::take(&mut self.places).grown(scans)?;
        Ok(self.places.clone())
    }

    /// What was woven before; of the ends that do not stay nothing.
    pub fn begin(&mut self, scans: &[Scan]) -> Vec<u32> {
        let mut partners = std::mem::take(&mut self.partners);
        partners.resize(self.places.len(), Woven::ALONE);
        for (reel, side, place) in self.free(scans) {
            if let Some(slot) = partners.get_mut(self.places.id(reel, side, place).0 as usize) {
                *slot = Woven::ALONE;
            }
        }
        partners
    }

    /// The ends that do not stay in packets: the reel, the side, and the place there.
    pub fn free<'a>(&'a self, scans: &'a [Scan]) -> impl Iterator<Item = EndAt> + 'a {
        let sides = scans
            .iter()
            .zip(&self.ends)
            .enumerate()
            .flat_map(|(reel, (scan, ends))| {
                let each = Side::ALL.into_iter().zip(ends);
                each.map(move |(side, ends)| (reel, side, scan.side(side).len(), ends))
            });
        sides.flat_map(|(reel, side, count, ends)| {
            let free = ends.others(count as u32);
            free.map(move |place| (reel, side, place as usize))
        })
    }

    /// Takes those packets apart whose payload others have as well by now.
    fn take_apart(&mut self, scans: &[Scan]) {
        let mut again = BTreeSet::new();
        for (reel, (scan, ends)) in scans.iter().zip(&self.ends).enumerate() {
            let until = self.firm[reel].until;
            for side in Side::ALL {
                let known = &mut self.looked_at[reel][side as usize];
                let (rows, ends) = (scan.side(side), &ends[side as usize]);
                // Of what comes from there on some may be another end at the next look.
                let firm = rows.lower_bound(until) as u32;
                let first = std::mem::replace(known, firm);
                let hashes = (first..).zip(rows.hashes().iter_from(first as usize));
                let free = hashes
                    .filter(|(place, _)| !ends.contains(*place))
                    .map(|(_, hash)| hash);
                again.extend(free.filter(|hash| self.hashes.contains(*hash)));
            }
        }
        again.retain(|hash| !self.repeated.contains(hash));
        if again.is_empty() {
            return;
        }
        for (scan, ends) in scans.iter().zip(&mut self.ends) {
            for (side, ends) in Side::ALL.into_iter().zip(ends) {
                let hashes = (0..).zip(scan.side(side).hashes().iter());
                for (place, _) in hashes.filter(|(_, hash)| again.contains(hash)) {
                    let was_there = usize::from(ends.contains(place));
                    self.count -= was_there;
                    self.packets -= was_there * usize::from(side == Side::Send);
                    ends.remove(place);
                }
            }
        }
        let odd = std::mem::take(&mut self.odd);
        self.odd = odd.into_iter().filter(|odd| self.stays(odd)).collect();
        self.repeated.append(&mut again);
    }

    /// Whether a packet that is more than a send and a receipt stays.
    fn stays(&self, odd: &Odd) -> bool {
        let source = odd.source().map(|source| self.places.find(source));
        source.is_some_and(|(reel, side, place)| {
            self.ends[reel][side as usize].contains(place as u32)
        })
    }

    /// These are not kept in order any more.
    pub(super) fn take_back<'a>(&mut self, odd: impl Iterator<Item = &'a Odd>) {
        let odd: Vec<Odd> = odd.filter(|odd| self.stays(odd)).cloned().collect();
        self.odd.extend(odd);
    }

    /// Keeps more packets, each with its hash, as they were woven.
    pub(super) fn keep(&mut self, woven: &mut Woven) {
        let mut more = Vec::new();
        let is_doubtful = |end: &EndId| woven.doubtful.binary_search(end).is_ok();
        let own: BTreeMap<Option<EndId>, &Odd> =
            woven.odd.iter().map(|odd| (odd.source(), odd)).collect();
        for (ends, hash) in std::mem::take(&mut woven.stay) {
            let Some(&(from, side, place)) = ends.first() else {
                continue;
            };
            let sent = self.places.id(usize::from(from), side, place as usize);
            let odd = own.get(&Some(sent)).copied();
            let is_one = match ends.len() {
                0..=2 => odd.is_none(),
                count => odd.is_some_and(|odd| odd.ends().count() == count),
            };
            if !is_one || is_doubtful(&sent) {
                continue;
            }
            self.odd.extend(odd.cloned());
            for &(to, side, place) in &ends {
                if side == Side::Receive {
                    self.met.insert((usize::from(from), usize::from(to)));
                }
                self.ends[usize::from(to)][side as usize].insert(place);
            }
            self.count += ends.len();
            self.packets += 1;
            more.push(hash);
        }
        self.hashes.extend(more);
    }

    /// Of each side of each reel the ends that stay in packets.
    pub fn ends(&self) -> &[[Bits; 3]] {
        &self.ends
    }

    /// The pairs of reels that have a packet in common that stays.
    pub(super) fn met(&self) -> &BTreeSet<(usize, usize)> {
        &self.met
    }

    /// Whether an end is read for good.
    pub(super) fn is_firm(&self, order: &Order<'_>, end: EndId) -> bool {
        let (reel, side, place) = order.places.find(end);
        let number = order.roads.scans[reel].side(side).number(place);
        number < self.firm[reel].until
    }

    /// Up to when all reels are firm that had something new at this look.
    pub(super) fn firm_until(&self, order: &Order<'_>) -> Option<SessionTime> {
        let reels = self.firm.iter().zip(&self.is_new).enumerate();
        let grown = reels.filter(|(_, (_, is_new))| **is_new);
        let times = grown.map(|(reel, (firm, _))| {
            let clock = &order.clocks[reel];
            clock.map.time(firm.last, || firm.until)
        });
        times.min()
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
