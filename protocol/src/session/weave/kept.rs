//! Packets that stay in their order when reels grow: a later look puts what is new behind them.
//!
//! What is kept is what stood at the moment before the last look by as long as a packet may be on its
//! way. A look holds what it wove against that: the ends that it did not know for good must come to the
//! same packets, and no new packet may be before the last one. Else all packets are put in order anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_table::Column;

use super::fate::{Margins, Missing};
use super::filling::{Filled, Filling, with_fate};
use super::merge::{Merge, PacketSource, Stream};
use super::odd::Odd;
use super::order::{Key, Order, Ordered};
use super::ordering::BATCH;
use super::places::EndId;
use super::rows::{DOUBTFUL, ODD, Track};
use super::settled::Settled;
use super::woven::Woven;
use crate::session::clock::map::ClockMap;
use crate::session::read::ends::{EndAt, Side};
use crate::session::who::roads::Ways;
use crate::session::{Fate, NodeId, SessionError, SessionTime};

/// The first packets of reels that grow.
pub(super) struct Kept {
    /// Another one whenever packets were put in order anew.
    pub(super) since: Arc<()>,
    basis: Basis,
    filled: Filled,
    /// Where the last packet stands.
    last: Option<Key>,
    /// The packets that nobody is known to have received, and what became of them.
    missing: Vec<(u32, Missing, Fate)>,
    /// Of each side of each reel the packets of its first ends.
    packets: Vec<[Column; 3]>,
    /// Those of further ends whose packets are kept.
    strewn: BTreeMap<EndId, u32>,
}

/// What the packets rest on.
#[derive(Clone, PartialEq)]
pub(super) struct Basis {
    node_of: Vec<NodeId>,
    nodes: Vec<[bool; 2]>,
    clocks: Vec<ClockMap>,
    links: Vec<Vec<Ways>>,
    unread: Vec<BTreeMap<u16, SessionTime>>,
    /// How many sends failed of those whose packets are kept.
    failed: usize,
}

impl Basis {
    fn new(order: &Order<'_>, kept: &[[Column; 3]]) -> Basis {
        let clocks = order.clocks.iter().map(|clock| clock.map.clone());
        let scans = order.roads.scans.iter().zip(kept);
        let failed = scans.map(|(scan, kept)| {
            let sends = kept[Side::Send as usize].len() as u32;
            scan.sends.failed_before(sends)
        });
        Basis {
            node_of: order.node_of.to_vec(),
            nodes: order
                .nodes
                .iter()
                .map(|it| [it.recorded, it.group])
                .collect(),
            clocks: clocks.collect(),
            links: order.roads.all_fixed().to_vec(),
            unread: order.unread.to_vec(),
            failed: failed.sum(),
        }
    }

    /// Whether all of that is so by now, and perhaps more connections are known.
    fn goes_on_in(&self, now: &Basis) -> bool {
        let mut links = self.links.iter().zip(&now.links);
        let known = Basis {
            links: self.links.clone(),
            ..now.clone()
        };
        self.links.len() == now.links.len()
            && links.all(|(before, now)| now.starts_with(before))
            && *self == known
    }
}

impl Kept {
    /// Nothing yet.
    pub(super) fn new(order: &Order<'_>) -> Kept {
        let packets: Vec<[Column; 3]> = order
            .roads
            .scans
            .iter()
            .map(|_| Default::default())
            .collect();
        Kept {
            since: Arc::default(),
            basis: Basis::new(order, &packets),
            filled: Filled::new(order),
            last: None,
            missing: Vec::new(),
            packets,
            strewn: BTreeMap::new(),
        }
    }

    /// How many packets are kept.
    pub fn len(&self) -> u32 {
        self.filled.len() as u32
    }

    /// How long a packet may be on its way.
    pub fn wait_ns(&self) -> i64 {
        self.filled.fates.wait_ns()
    }

    /// The packets that were told apart from the others.
    pub fn odd(&self) -> impl Iterator<Item = &Odd> {
        self.filled.ordered.rows.odd.values()
    }

    /// The packet of an end, where it is kept.
    fn packet(&self, (reel, side, place): EndAt, end: EndId) -> Option<u32> {
        let packets = &self.packets[reel][side as usize];
        match place < packets.len() {
            true => Some(packets.get(place) as u32),
            false => self.strewn.get(&end).copied(),
        }
    }

    /// Whether the ends that were woven once more are the packets that they were.
    pub(super) fn holds(&self, order: &Order<'_>, woven: &Woven, settled: &Settled) -> bool {
        let now = Basis::new(order, &self.packets);
        if !self.basis.goes_on_in(&now) {
            return false;
        }
        let odd = woven.odd.iter();
        let odd: BTreeMap<EndId, &Odd> = odd.filter_map(|it| Some((it.source()?, it))).collect();
        let rows = &self.filled.ordered.rows;
        let is_same = |(reel, side, place): EndAt| {
            let end = order.places.id(reel, side, place);
            let Some(packet) = self.packet((reel, side, place), end) else {
                return true;
            };
            let row = packet as usize;
            let partner = woven.partners.get(end.0 as usize).copied();
            let odd = odd.get(&end).copied();
            let tells = odd.is_some() || partner.is_some_and(|partner| tells(side, partner));
            if tells != (rows.told.get(row) == u64::from(end.0)) {
                return false;
            }
            let receipt = match odd {
                Some(odd) => odd.received.first().copied().filter(|first| *first != end),
                None => woven.partner(end),
            };
            let receipt = receipt.map(|receipt| u64::from(receipt.0));
            let state = rows.state.get(row);
            let is_doubtful = woven.doubtful.binary_search(&end).is_ok();
            !tells
                || receipt == rows.receipt.get_some(row)
                    && is_doubtful == (state & DOUBTFUL != 0)
                    && odd.is_some() == (state & ODD != 0)
                    && odd == rows.odd.get(&packet)
        };
        settled.free(order.roads.scans).all(is_same)
    }

    /// Puts what is new behind what is kept, and keeps more of it: what was before `until` and stays.
    /// `None` where some of it is before what is kept.
    pub(super) fn go_on(
        &mut self,
        order: &Order<'_>,
        woven: &mut Woven,
        settled: &Settled,
        until: SessionTime,
    ) -> Result<Option<Ordered>, SessionError> {
        let odd = woven.odd.iter().filter(|odd| self.is_new(order, odd));
        let odd = odd.chain(&settled.odd).cloned().map(Some);
        let mut odd: Vec<Option<Odd>> = odd.collect();
        let mut streams = self.streams(order, &woven.partners);
        let keyed = odd.iter().enumerate();
        let keyed = keyed.filter_map(|(at, odd)| Some((at, odd.as_ref()?)));
        streams.push(order.stream_of_odd(keyed));
        let doubts = (woven.doubtful.clone(), woven.elsewhere.clone());
        self.filled.fates.set_margins(Margins::all(order));
        let mut filling = Filling::new(order, std::mem::take(&mut self.filled), doubts);
        filling.before = Some(Vec::new());
        let (mut last, mut is_disturbed) = (self.last, false);
        // All of the packets before that are kept.
        let mut kept: Option<Filled> = None;
        let partners = &mut woven.partners;
        for (nth, (key, told)) in Merge::new(streams).enumerate() {
            if nth % BATCH == BATCH - 1 && !order.cancel.goes_on() {
                return Err(SessionError::GivenUp);
            }
            if last.is_some_and(|last| key < last) {
                is_disturbed = true;
                break;
            }
            let Some(next) = order.packet(told, &mut odd, partners) else {
                continue;
            };
            let stays = || {
                let plain = [Some(next.told), next.receipt].into_iter().flatten();
                let mut ends = plain.chain(next.odd.iter().flat_map(|odd| odd.ends()));
                key.0 < until && ends.all(|end| settled.is_firm(order, end))
            };
            if kept.is_none() {
                if stays() {
                    last = Some(key);
                } else {
                    kept = Some(self.keep(&mut filling.filled));
                }
            }
            filling.push(next, key, partners)?;
        }
        if is_disturbed {
            // The first one was; nothing was put behind.
            self.filled = filling.filled;
            return Ok(None);
        }
        let mut kept = match kept {
            Some(kept) => kept,
            None => self.keep(&mut filling.filled),
        };
        self.last = last;
        let Filling {
            mut filled, before, ..
        } = filling;
        self.tell_fates(order, &mut kept, &mut filled);
        self.filled = kept;
        filled.conclude(order);
        let tracks = self.tracks(order, &woven.partners);
        for (reel, track) in tracks.iter().enumerate() {
            for side in Side::ALL {
                self.keep_ends(order, (reel, side), &track.packets[side as usize]);
            }
        }
        filled.ordered.rows.tracks = tracks;
        self.basis = Basis::new(order, &self.packets);
        for (end, partner) in before.unwrap_or_default().into_iter().rev() {
            if let Some(slot) = woven.partners.get_mut(end.0 as usize) {
                *slot = partner;
            }
        }
        Ok(Some(filled.ordered))
    }

    /// The tracks of all reels: what is kept of the packets of their ends, and behind that what stands for
    /// those that are new.
    fn tracks(&self, order: &Order<'_>, partners: &[u32]) -> Vec<Track> {
        let of_end = |(reel, side, place): EndAt| {
            let end = order.places.id(reel, side, place);
            let known = self.packet((reel, side, place), end);
            known.or_else(|| partners.get(end.0 as usize).copied())
        };
        order.tracks(|reel, side| {
            let mut packets = self.packets[reel][side as usize].clone();
            let count = order.roads.scans[reel].side(side).len();
            let new = (packets.len()..count).filter_map(|place| of_end((reel, side, place)));
            packets.extend(new.map(u64::from));
            packets
        })
    }

    /// Whether a packet is not kept.
    pub(super) fn is_new(&self, order: &Order<'_>, odd: &Odd) -> bool {
        let source = odd.source();
        source.is_none_or(|end| self.packet(order.places.find(end), end).is_none())
    }

    /// The ends that tell packets which are not kept, in several rows that are in order each.
    fn streams<'s>(&self, order: &Order<'_>, partners: &[u32]) -> Vec<Stream<'s>> {
        let mut streams: Vec<Stream<'s>> = Vec::new();
        for (reel, scan) in order.roads.scans.iter().enumerate() {
            for side in Side::ALL {
                let ends = scan.side(side);
                let kept = self.packets[reel][side as usize].len();
                let made = (kept..ends.len()).filter_map(|place| {
                    let told = order.places.id(reel, side, place);
                    let partner = partners.get(told.0 as usize).copied()?;
                    if !tells(side, partner) || self.strewn.contains_key(&told) {
                        return None;
                    }
                    order.source((reel, side), told, (place, ends.row_at(place)))
                });
                let mut made: Vec<(Key, PacketSource)> = made.collect();
                // In the order of the reel where times are equal.
                made.sort_by_key(|(key, _)| key.0);
                streams.push(Box::new(made.into_iter()));
            }
        }
        streams
    }

    /// Takes the packets so far; those that nobody is known to have received stand apart.
    fn keep(&mut self, filled: &mut Filled) -> Filled {
        let states = filled.states.drain(..).map(u64::from);
        filled.ordered.rows.state.extend(states);
        let missing = filled.missing.drain(..);
        self.missing
            .extend(missing.map(|(id, missing)| (id, missing, Fate::Unknown)));
        filled.clone()
    }

    /// What became of the packets that nobody is known to have received, as far as all that came since
    /// tells.
    fn tell_fates(&mut self, order: &Order<'_>, kept: &mut Filled, filled: &mut Filled) {
        for (id, missing, fate) in &mut self.missing {
            let now = filled.fates.of(missing, order.nodes, order.from_start);
            if now != *fate {
                let row = *id as usize;
                let state = with_fate(kept.ordered.rows.state.get(row) as u8, now);
                kept.ordered.rows.state.set(row, u64::from(state));
                filled.ordered.rows.state.set(row, u64::from(state));
                *fate = now;
            }
        }
    }

    /// Keeps the packets of more ends of a side.
    fn keep_ends(&mut self, order: &Order<'_>, (reel, side): (usize, Side), packets: &Column) {
        let count = self.filled.len() as u64;
        let known = &mut self.packets[reel][side as usize];
        let mut further = packets.iter_from(known.len());
        let mut place = known.len();
        for packet in further.by_ref() {
            place += 1;
            let end = order.places.id(reel, side, place - 1);
            if packet >= count {
                break;
            }
            self.strewn.remove(&end);
            known.push(packet);
        }
        for packet in further {
            if packet < count {
                let end = order.places.id(reel, side, place);
                self.strewn.insert(end, packet as u32);
            }
            place += 1;
        }
    }
}

/// Whether an end tells its packet, by what stands for it where receipts have their sends.
fn tells(side: Side, partner: u32) -> bool {
    partner != Woven::TAKEN && (side != Side::Receive || partner == Woven::ALONE)
}
