//! What is known of each link: how long packets take there, and where they are among all.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_protocol::session::{Fate, NodeId, Packet, PacketId, Session};
use netreel_table::Column;

/// From whom to whom.
pub type LinkEnds = (NodeId, NodeId);

/// How long a stub of an arrow is where the link's latency is not known, in ns.
const LATENCY_UNKNOWN_NS: i64 = 1_000_000;

/// Less than this over a link's shortest latency is not late, in ns.
const LATE_NS_MIN: i64 = 25_000_000;

/// How many packets are a block.
const BLOCK: u32 = 1024;

/// All links, by who sends to whom.
#[derive(Clone, Debug, Default)]
pub struct Links {
    links: BTreeMap<LinkEnds, Link>,
}

#[derive(Clone, Debug, Default)]
struct Link {
    /// From send to receipt in ns: the shortest and the middle one, the latter to a 128th.
    latency_ns: Option<(i64, i64)>,
    /// How many packets took much longer than the quickest; those that are over it by less than a
    /// 128th may be missing.
    late: u64,
    /// The blocks of packets in which it has some.
    blocks: Column,
}

impl Links {
    /// A packet of a link that took longer than this is late, in ns: much longer than the quickest one.
    /// `None` where none has a latency.
    pub fn late_above_ns(&self, link: LinkEnds) -> Option<i64> {
        let (quickest, _) = self.links.get(&link)?.latency_ns?;
        Some(late_above(quickest))
    }

    /// How many packets of a link were late.
    pub fn late(&self, link: LinkEnds) -> u64 {
        self.links.get(&link).map_or(0, |link| link.late)
    }

    /// Whether any packet has a latency, or there are no packets.
    pub fn have_latency(&self) -> bool {
        let mut links = self.links.values();
        self.links.is_empty() || links.any(|link| link.latency_ns.is_some())
    }

    /// From where to where a packet's arrow is drawn, in ns. Where one end is unknown, the link's
    /// usual latency stands in for it.
    pub fn stretch(&self, packet: &Packet) -> (i64, i64) {
        let usual = || {
            let link = self.links.get(&(packet.from, packet.to));
            link.and_then(|link| link.latency_ns)
                .map_or(LATENCY_UNKNOWN_NS, |(_, middle)| middle.max(0))
        };
        match (packet.departed(), packet.received) {
            (Some(sent), Some(received)) => (sent.time.0, received.time.0),
            (Some(sent), None) => (sent.time.0, sent.time.0.saturating_add(usual())),
            (None, Some(received)) => {
                let received = received.time.0;
                (received.saturating_sub(usual()), received)
            }
            (None, None) => (0, 0),
        }
    }

    /// All packets of a link, in their order.
    pub fn packets<'a>(
        &'a self,
        session: &'a Session,
        link: LinkEnds,
    ) -> impl Iterator<Item = PacketId> + 'a {
        let known = self.links.get(&link);
        known
            .into_iter()
            .flat_map(|known| known.blocks.iter())
            .flat_map(|block| {
                let start = (block as u32).saturating_mul(BLOCK);
                start..start.saturating_add(BLOCK)
            })
            .map(PacketId)
            .filter(move |&id| session.link(id) == Some(link))
    }

    /// The next packet of the same link, or the one before.
    pub fn neighbour(&self, session: &Session, id: PacketId, is_next: bool) -> Option<PacketId> {
        let own = session.link(id)?;
        let blocks = &self.links.get(&own)?.blocks;
        let is_of = |id: &u32| session.link(PacketId(*id)) == Some(own);
        let block = id.0 / BLOCK;
        let place = blocks.find(u64::from(block))?;
        let at = |place: usize| {
            let block = (place < blocks.len()).then(|| blocks.get(place) as u32)?;
            let start = block.saturating_mul(BLOCK);
            Some(start..start.saturating_add(BLOCK))
        };
        let found = if is_next {
            let near = (id.0.saturating_add(1)..at(place)?.end).find(is_of);
            near.or_else(|| at(place + 1)?.find(is_of))
        } else {
            let near = (at(place)?.start..id.0).rev().find(is_of);
            near.or_else(|| at(place.checked_sub(1)?)?.rev().find(is_of))
        };
        found.map(PacketId)
    }

    /// How many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let links = self.links.values();
        let link = |link: &Link| size_of::<(LinkEnds, Link)>() + link.blocks.memory();
        links.map(link).sum()
    }
}

/// What takes longer than this is late, in ns, on a link whose quickest packet took this long.
fn late_above(quickest_ns: i64) -> i64 {
    quickest_ns
        .saturating_add(LATE_NS_MIN)
        .max(quickest_ns.saturating_mul(3))
}

/// Links under way. Copies share the links that neither of them has measured since.
#[derive(Clone, Default)]
pub struct Measuring {
    links: BTreeMap<LinkEnds, Arc<Measures>>,
}

#[derive(Clone, Default)]
struct Measures {
    latencies: Spread,
    blocks: Column,
    /// The last of those.
    block: Option<u32>,
}

impl Measuring {
    /// Takes the next packet.
    pub fn push(&mut self, id: PacketId, packet: &Packet) {
        let link = Arc::make_mut(self.links.entry((packet.from, packet.to)).or_default());
        let block = id.0 / BLOCK;
        if link.block != Some(block) {
            link.block = Some(block);
            link.blocks.push(u64::from(block));
        }
        if let (Some(sent), Some(received), Fate::Received) =
            (packet.sent, packet.received, packet.fate)
        {
            link.latencies
                .push(received.time.0.saturating_sub(sent.time.0));
        }
    }

    /// What is known of all links.
    pub fn finish(self) -> Links {
        let links = self.links.into_iter().map(|(nodes, measures)| {
            let Measures {
                latencies,
                mut blocks,
                ..
            } = Arc::unwrap_or_clone(measures);
            blocks.shrink();
            let latency_ns = latencies.least_and_middle();
            let late = latency_ns.map_or(0, |(quickest, _)| {
                latencies.count_above(late_above(quickest))
            });
            let link = Link {
                latency_ns,
                late,
                blocks,
            };
            (nodes, link)
        });
        Links {
            links: links.collect(),
        }
    }
}

/// How many values apart, of those that have the same highest bit, are counted together.
const STEPS: usize = 128;

/// How long things took, in ns, counted by their highest bits: what is asked of them is known at any
/// time, and costs no memory for each.
#[derive(Clone, Default)]
struct Spread {
    /// The least of all.
    least: Option<i64>,
    count: u64,
    /// By the highest bit of values that are not below 0.
    octaves: Vec<Option<Box<[Step; STEPS]>>>,
}

/// Values that are counted together.
#[derive(Clone, Copy, Default)]
struct Step {
    count: u64,
    least: u64,
}

impl Spread {
    fn push(&mut self, value: i64) {
        self.least = Some(self.least.map_or(value, |least| least.min(value)));
        self.count += 1;
        // What is shown is never below 0.
        let value = value.max(0) as u64;
        let bits = (u64::BITS - value.leading_zeros()) as usize;
        // The seven bits behind the highest one.
        let step = (value >> bits.saturating_sub(STEPS.ilog2() as usize + 1)) as usize % STEPS;
        if self.octaves.len() <= bits {
            self.octaves.resize_with(bits + 1, || None);
        }
        if let Some(octave) = self.octaves.get_mut(bits) {
            let step = &mut octave.get_or_insert_with(|| Box::new([Step::default(); STEPS]))[step];
            step.least = match step.count {
                0 => value,
                _ => step.least.min(value),
            };
            step.count += 1;
        }
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.octaves.iter().flatten().flat_map(|it| it.iter())
    }

    /// How many values are above one, without those that are counted together with it.
    fn count_above(&self, value: i64) -> u64 {
        self.steps()
            .filter(|step| step.least as i64 > value)
            .map(|step| step.count)
            .sum()
    }

    /// The least of all, and the least of those that are counted together with the one in the middle:
    /// of an even number the second of the two.
    fn least_and_middle(&self) -> Option<(i64, i64)> {
        let mut rank = self.count / 2;
        let middle = self.steps().find(|step| {
            let is_here = rank < step.count;
            rank = rank.saturating_sub(step.count);
            is_here
        });
        Some((self.least?, middle?.least as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: impl Iterator<Item = i64>) {
        let mut sorted: Vec<i64> = values.collect();
        let mut spread = Spread::default();
        sorted.iter().for_each(|&value| spread.push(value));
        sorted.sort_unstable();
        let Some((least, middle)) = spread.least_and_middle() else {
            return assert!(sorted.is_empty());
        };
        assert_eq!(Some(&least), sorted.first());
        let exact = sorted[sorted.len() / 2].max(0);
        let off = exact - middle;
        assert!(
            (0..=exact / STEPS as i64).contains(&off),
            "{middle}, {exact}"
        );
    }

    #[test]
    fn the_middle_is_found_without_sorting() {
        check(std::iter::empty());
        check([7].into_iter());
        check([-7, -9, -1].into_iter());
        check([7, 9].into_iter());
        check([i64::MIN, i64::MAX].into_iter());
        check(0..600);
        check((0..10_000).map(|value| value * 7_919 % 10_007 - 100));
        check((0..10_001).map(|value: i64| value.wrapping_mul(0x1e37_79b9_7f4a_7c15)));
        check((0..9_999).map(|value: i64| 20_000_000 + value * value));
    }

    #[test]
    fn what_is_well_above_a_value_is_counted() {
        let mut spread = Spread::default();
        (0..1000).for_each(|value| spread.push(value * 1_000_000));
        assert_eq!(spread.count_above(1_000_000_000), 0);
        assert_eq!(spread.count_above(-1), 1000);
        let above = spread.count_above(500_000_000);
        assert!((490..=499).contains(&above), "{above}");
    }

    #[test]
    fn what_always_takes_the_same_time_is_known_to_the_nanosecond() {
        let mut spread = Spread::default();
        (0..999).for_each(|_| spread.push(20_000_001));
        assert_eq!(spread.least_and_middle(), Some((20_000_001, 20_000_001)));
    }
}
