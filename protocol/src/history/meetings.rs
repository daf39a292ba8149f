//! Each time that two nodes met: whoever connects anew counts anew.
//!
//! Two nodes meet again where one said that it leaves, and then one connects with a message that
//! would otherwise be a copy of an earlier one; and where they talk between other ports than before,
//! both ways, and one connects there. Ports that change without such a word are those of a
//! translation on the way, or of sockets for one way each: counting goes on.

use std::collections::BTreeMap;

use netreel_table::Column;
use netreel_wire::Role;

use crate::session::{NodeId, PacketId, Ports, Session, SessionTime};

/// Two nodes, the lower one first.
pub(super) type Pair = (NodeId, NodeId);

/// For each two nodes that met more than once, the packets with which they met anew, in order.
pub(super) type Again = Vec<(Pair, Vec<PacketId>)>;

/// The pair of a link.
pub(super) fn pair((from, to): (NodeId, NodeId)) -> Pair {
    (from.min(to), from.max(to))
}

/// All meetings of nodes that met more than once.
#[derive(Default)]
pub(super) struct Meetings {
    /// For each packet the talk that it is of, as a place in [`Meetings::of_talks`]; empty where ports tell
    /// of no meetings.
    talks: Column,
    /// For each talk the meetings between its two ports; of one that begins no meeting there are none.
    of_talks: Vec<Vec<Meeting>>,
    pairs: BTreeMap<Pair, Met>,
}

/// The packet with which two nodes met, and the number of the meeting.
type Meeting = (PacketId, u16);

/// The meetings of two nodes, in order.
#[derive(Default)]
struct Met {
    all: Vec<Meeting>,
    /// Whether ports told of them.
    by_ports: bool,
}

/// What passed between two ports of two nodes.
struct Talk {
    pair: Pair,
    first: PacketId,
    /// Whether there are packets from the lower node to the higher one, and back.
    ways: [bool; 2],
    connects: bool,
}

impl Meetings {
    /// The meetings that ports tell. They do so backwards: what passed between two of them counts from its
    /// first packet on, once packets have gone both ways.
    pub fn between_ports(session: &Session) -> Meetings {
        if !session.has_role(Role::Connect) || !session.has_several_ports() {
            return Meetings::default();
        }
        let (talks, of_packets) = talks(session);
        let mut of_talks = vec![Vec::new(); talks.len()];
        let mut pairs: BTreeMap<Pair, Met> = BTreeMap::new();
        for (_, those) in by_pair(&talks) {
            // Talks are in the order of their first packets.
            let begin = those.iter().enumerate().filter(|(nth, (_, talk))| {
                let is_known = talk.connects || *nth == 0;
                talk.ways == [true; 2] && is_known
            });
            let begin: Vec<_> = begin.map(|(_, it)| *it).collect();
            if begin.len() < 2 {
                continue;
            }
            for (number, (at, talk)) in (0..=u16::MAX).zip(begin) {
                let met = pairs.entry(talk.pair).or_default();
                met.by_ports = true;
                met.all.push((talk.first, number));
                of_talks[at].push((talk.first, number));
            }
        }
        match pairs.is_empty() {
            true => Meetings::default(),
            false => Meetings {
                talks: of_packets,
                of_talks,
                pairs,
            },
        }
    }

    /// Two nodes meet again with this packet.
    pub fn again(&mut self, packet: PacketId, link: (NodeId, NodeId)) {
        let met = self.pairs.entry(pair(link)).or_default();
        let numbers = met.all.iter().map(|&(_, number)| number);
        let number = numbers.max().unwrap_or(0).saturating_add(1);
        let place = met.all.partition_point(|&(first, _)| first <= packet);
        met.all.insert(place, (packet, number));
        let talk = self.talks.get_some(packet.0 as usize);
        let own = talk.and_then(|talk| self.of_talks.get_mut(talk as usize));
        if let Some(own) = own.filter(|own| !own.is_empty()) {
            own.push((packet, number));
        }
    }

    /// Takes those of other pairs, of which no ports tell.
    pub fn take(&mut self, mut others: Meetings) {
        self.pairs.append(&mut others.pairs);
    }

    /// Where nodes met more than once.
    pub fn again_all(&self) -> Again {
        let pairs = self.pairs.iter().map(|(&pair, met)| {
            let again = met.all.iter().filter(|&&(_, number)| number > 0);
            (pair, again.map(|&(first, _)| first).collect())
        });
        pairs.collect()
    }

    /// Whether no two nodes met more than once.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The number of the meeting in which a packet left, from 0 on.
    pub fn number(&self, packet: PacketId, link: (NodeId, NodeId)) -> u16 {
        let Some((met, _)) = self.between(packet, link) else {
            return 0;
        };
        let after = met.partition_point(|&(first, _)| first <= packet);
        let last = after.checked_sub(1).and_then(|last| met.get(last));
        last.map_or(0, |&(_, number)| number)
    }

    /// With which packet the meeting began in which a packet left, and the number of the one before
    /// between the same ports.
    pub fn before(&self, packet: PacketId, link: (NodeId, NodeId)) -> Option<(PacketId, u16)> {
        let (met, is_all) = self.between(packet, link)?;
        let at = met.partition_point(|&(first, _)| first <= packet);
        let at = at.checked_sub(1)?;
        let &(began, number) = met.get(at)?;
        let before = at.checked_sub(1).and_then(|before| met.get(before));
        let before = before.map(|&(_, number)| number);
        // The first of all has no packet with which it begins, where ports do not tell.
        let first = (is_all && number > 0).then_some(0);
        Some((began, before.or(first)?))
    }

    /// The meetings after one between the ports of a packet; `None` where its nodes met once.
    pub fn later(
        &self,
        (packet, number): (PacketId, u16),
        link: (NodeId, NodeId),
    ) -> Option<impl Iterator<Item = u16> + '_> {
        let (met, _) = self.between(packet, link)?;
        let from = met.partition_point(|&(_, each)| each <= number);
        Some(met[from..].iter().map(|&(_, each)| each))
    }

    /// The meetings between the ports of a packet, in order; of all, where ports do not tell them. And
    /// whether ports tell of none between the two nodes.
    fn between(&self, packet: PacketId, link: (NodeId, NodeId)) -> Option<(&[Meeting], bool)> {
        if self.pairs.is_empty() {
            return None;
        }
        let talk = self.talks.get_some(packet.0 as usize);
        let own = talk.and_then(|talk| self.of_talks.get(talk as usize));
        if let Some(own) = own.filter(|own| !own.is_empty()) {
            return Some((own, false));
        }
        let met = self.pairs.get(&pair(link))?;
        Some((&met.all, !met.by_ports))
    }
}

/// What passed between two ports of two nodes each, in the order of first packets; and for each packet of
/// which that is known its place among these, for [`Column::get_some`].
fn talks(session: &Session) -> (Vec<Talk>, Column) {
    let mut ports = Ports::new(session);
    let mut talks: Vec<Talk> = Vec::new();
    let mut of_packets = Column::new();
    let mut known: BTreeMap<(Pair, (u16, u16)), u32> = BTreeMap::new();
    let mut reader = session.reader();
    for packet in (0..session.packet_count()).map(|place| PacketId(place as u32)) {
        let (link, end) = (reader.link(packet), reader.end(packet));
        let found = link.and_then(|link| {
            let talk = ports.talk(session, (end, link), |between| {
                let next = talks.len() as u32;
                let key = (pair(link), ordered(link, between));
                *known.entry(key).or_insert_with(|| {
                    talks.push(Talk {
                        pair: pair(link),
                        first: packet,
                        ways: [false; 2],
                        connects: false,
                    });
                    next
                })
            })?;
            Some((link, talk))
        });
        of_packets.push_some(found.map(|(_, talk)| u64::from(talk)));
        let Some((link, talk)) = found else { continue };
        let Some(talk) = talks.get_mut(talk as usize) else {
            continue;
        };
        talk.ways[usize::from(link.0 > link.1)] = true;
        if !talk.connects {
            let mut messages = session.messages_of(packet);
            talk.connects = messages.any(|(_, facts)| session.role(&facts) == Role::Connect);
        }
    }
    of_packets.shrink();
    (talks, of_packets)
}

/// The talks of each pair, with their places.
fn by_pair(talks: &[Talk]) -> BTreeMap<Pair, Vec<(usize, &Talk)>> {
    let mut of: BTreeMap<Pair, Vec<(usize, &Talk)>> = BTreeMap::new();
    for (at, talk) in talks.iter().enumerate() {
        of.entry(talk.pair).or_default().push((at, talk));
    }
    of
}

/// The ports of a link's sender and receiver, the lower node's first.
fn ordered((from, to): (NodeId, NodeId), (left, reached): (u16, u16)) -> (u16, u16) {
    match from <= to {
        true => (left, reached),
        false => (reached, left),
    }
}

/// When a packet passed whoever recorded it.
pub(super) fn passed(session: &Session, packet: PacketId) -> Option<SessionTime> {
    let departed = session.departed(packet).map(|(_, at)| at.time);
    departed.or_else(|| Some(session.packet(packet)?.received?.time))
}
