//! What is known of each link: how long packets take there, and where they are among all.

use std::collections::BTreeMap;

use netreel_protocol::session::{Fate, NodeId, Packet, PacketId, Session};
use netreel_table::Column;

/// From whom to whom.
pub type LinkEnds = (NodeId, NodeId);

/// How long a stub of an arrow is where the link's latency is not known, in ns.
const LATENCY_UNKNOWN_NS: i64 = 1_000_000;

/// Less than this over a link's shortest latency is not late, in ns.
const LATE_NS_MIN: i64 = 25_000_000;

/// So many packets are a block.
const BLOCK: u32 = 1024;

/// All links, by who sends to whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    links: BTreeMap<(NodeId, NodeId), Link>,
}

#[derive(Clone, Debug, Default)]
struct Link {
    /// From send to receipt in ns: the shortest and the middle one.
    latency_ns: Option<(i64, i64)>,
    /// How many packets took much longer than the quickest.
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
            let latency_ns = link.and_then(|link| link.latency_ns);
            latency_ns.map_or(LATENCY_UNKNOWN_NS, |(_, middle)| middle.max(0))
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
        let blocks = known.into_iter().flat_map(|known| known.blocks.iter());
        let ids = blocks.flat_map(|block| {
            let start = (block as u32).saturating_mul(BLOCK);
            start..start.saturating_add(BLOCK)
        });
        let ids = ids.map(PacketId);
        ids.filter(move |&id| session.link(id) == Some(link))
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
            let end = at(place)?.end;
            let near = (id.0.saturating_add(1)..end).find(is_of);
            near.or_else(|| at(place + 1)?.find(is_of))
        } else {
            let start = at(place)?.start;
            let near = (start..id.0).rev().find(is_of);
            near.or_else(|| at(place.checked_sub(1)?)?.rev().find(is_of))
        };
        found.map(PacketId)
    }

    /// How many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let links = self.links.values();
        let link = |link: &Link| size_of::<((NodeId, NodeId), Link)>() + link.blocks.memory();
        links.map(link).sum()
    }
}

fn late_above(quickest_ns: i64) -> i64 {
    let well_over = quickest_ns.saturating_add(LATE_NS_MIN);
    well_over.max(quickest_ns.saturating_mul(3))
}

/// Links under way.
#[derive(Default)]
pub(crate) struct Measuring {
    links: BTreeMap<(NodeId, NodeId), Measures>,
}

#[derive(Default)]
struct Measures {
    latencies: Column,
    blocks: Column,
    /// The last of those.
    block: Option<u32>,
}

impl Measuring {
    /// Takes the next packet.
    pub fn push(&mut self, id: PacketId, packet: &Packet) {
        let link = self.links.entry((packet.from, packet.to)).or_default();
        let block = id.0 / BLOCK;
        if link.block != Some(block) {
            link.block = Some(block);
            link.blocks.push(u64::from(block));
        }
        if let (Some(sent), Some(received), Fate::Received) =
            (packet.sent, packet.received, packet.fate)
        {
            let latency_ns = received.time.0.saturating_sub(sent.time.0);
            link.latencies
                .push(latency_ns.wrapping_sub(i64::MIN) as u64);
        }
    }

    /// What is known of all links.
    pub fn finish(self) -> Links {
        let links = self.links.into_iter().map(|(nodes, mut measures)| {
            let ns = |key: u64| (key as i64).wrapping_add(i64::MIN);
            let latency_ns = spread(&measures.latencies);
            let latency_ns = latency_ns.map(|(least, middle)| (ns(least), ns(middle)));
            measures.blocks.shrink();
            let late = latency_ns.map_or(0, |(quickest, _)| {
                let latencies = measures.latencies.iter();
                latencies
                    .filter(|&it| ns(it) > late_above(quickest))
                    .count()
            });
            let link = Link {
                latency_ns,
                late: late as u64,
                blocks: measures.blocks,
            };
            (nodes, link)
        });
        Links {
            links: links.collect(),
        }
    }
}

/// So many parts a range of values is cut into at a time.
const PARTS: u64 = 1024;

/// The least value, and the one in the middle: of an even number the second of the two. The range
/// in which the middle one lies is cut again and again, so that no values need to be sorted.
fn spread(values: &Column) -> Option<(u64, u64)> {
    let least = values.iter().min()?;
    let (mut low, mut high) = (least, values.iter().max()?);
    // How many values of the range are before the middle one.
    let mut rank = values.len() / 2;
    while low < high {
        let step = (high - low) / PARTS + 1;
        let mut counts = [0usize; PARTS as usize];
        for value in values.iter().filter(|value| (low..=high).contains(value)) {
            if let Some(count) = counts.get_mut(((value - low) / step) as usize) {
                *count += 1;
            }
        }
        let mut part = 0;
        for count in counts {
            if rank < count {
                break;
            }
            rank -= count;
            part += 1;
        }
        low = low.saturating_add(step.saturating_mul(part)).min(high);
        high = low.saturating_add(step - 1).min(high);
    }
    Some((least, low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: impl Iterator<Item = u64>) {
        let column: Column = values.collect();
        let mut sorted: Vec<u64> = column.iter().collect();
        sorted.sort_unstable();
        let middle = sorted.get(sorted.len() / 2);
        let expected = sorted.first().copied().zip(middle.copied());
        assert_eq!(spread(&column), expected);
    }

    #[test]
    fn the_middle_is_found_without_sorting() {
        check(std::iter::empty());
        check([7].into_iter());
        check([7, 9].into_iter());
        check([0, u64::MAX].into_iter());
        check([0, 0, u64::MAX].into_iter());
        check((0..10_000).map(|value| value * 7_919 % 10_007));
        check((0..10_001).map(|value: u64| value.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        check(std::iter::repeat_n(1 << 63, 999));
    }
}
