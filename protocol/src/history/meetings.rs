//! Each time that two nodes met: whoever connects anew counts anew.
//!
//! Two nodes meet again where one said that it leaves, and then one connects with a message that
//! would otherwise be a copy of an earlier one; and where they talk between other ports than before,
//! both ways, and one connects there. Ports that change without such a word are those of a
//! translation on the way, or of sockets for one way each: counting goes on.

use std::collections::BTreeMap;

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
#[derive(Clone, Default)]
pub(super) struct Meetings {
    /// Where two nodes met between several ports.
    ports: Option<Ports>,
    pairs: BTreeMap<Pair, Met>,
}

/// The meetings of two nodes: with which packet each began, in order, and its number.
#[derive(Clone, Default)]
struct Met {
    all: Vec<(PacketId, u16)>,
    /// The same between two ports, the lower node's first.
    between: BTreeMap<(u16, u16), Vec<(PacketId, u16)>>,
}

/// What passed between two ports.
struct Talk {
    first: PacketId,
    /// Whether there are packets from the lower node to the higher one, and back.
    ways: [bool; 2],
    connects: bool,
}

/// Whether ports may tell of meetings. They do so backwards: what passed between two of them counts
/// from its first packet on, once packets have gone both ways.
pub(super) fn may_be_told(session: &Session) -> bool {
    session.has_role(Role::Connect) && session.has_several_ports()
}

impl Meetings {
    /// The meetings that ports tell.
    pub fn between_ports(session: &Session) -> Meetings {
        if !may_be_told(session) {
            return Meetings::default();
        }
        let ports = Ports::new(session);
        let mut talks: BTreeMap<Pair, BTreeMap<(u16, u16), Talk>> = BTreeMap::new();
        for packet in (0..session.packet_count()).map(|place| PacketId(place as u32)) {
            let (Some(link), Some(between)) = (session.link(packet), ports.of(session, packet))
            else {
                continue;
            };
            let talks = talks.entry(pair(link)).or_default();
            let talk = talks.entry(ordered(link, between)).or_insert(Talk {
                first: packet,
                ways: [false; 2],
                connects: false,
            });
            talk.ways[usize::from(link.0 > link.1)] = true;
            if !talk.connects
                && let Some((.., messages)) = session.spoken(packet, |_| true)
            {
                let mut roles = messages.map(|(_, facts)| session.role(&facts));
                talk.connects = roles.any(|role| role == Role::Connect);
            }
        }
        let pairs = talks.into_iter().filter_map(|(pair, talks)| {
            let first = talks.values().map(|talk| talk.first).min();
            let talks = talks.into_iter().filter(|(_, talk)| {
                let is_known = talk.connects || Some(talk.first) == first;
                talk.ways == [true; 2] && is_known
            });
            let mut talks: Vec<((u16, u16), PacketId)> =
                talks.map(|(ports, talk)| (ports, talk.first)).collect();
            talks.sort_unstable_by_key(|&(_, first)| first);
            let mut met = Met::default();
            for (number, &(ports, first)) in (0..=u16::MAX).zip(&talks) {
                met.all.push((first, number));
                met.between.insert(ports, vec![(first, number)]);
            }
            (talks.len() > 1).then_some((pair, met))
        });
        let pairs: BTreeMap<Pair, Met> = pairs.collect();
        Meetings {
            ports: (!pairs.is_empty()).then_some(ports),
            pairs,
        }
    }

    /// Two nodes meet again with this packet.
    pub fn again(&mut self, session: &Session, packet: PacketId, link: (NodeId, NodeId)) {
        let between = self.between(session, packet, link);
        let met = self.pairs.entry(pair(link)).or_default();
        let numbers = met.all.iter().map(|&(_, number)| number);
        let number = numbers.max().unwrap_or(0).saturating_add(1);
        let place = met.all.partition_point(|&(first, _)| first <= packet);
        met.all.insert(place, (packet, number));
        if let Some(own) = between.and_then(|ports| met.between.get_mut(&ports)) {
            own.push((packet, number));
        }
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
    pub fn number(&self, session: &Session, packet: PacketId, link: (NodeId, NodeId)) -> u16 {
        let Some((met, _)) = self.road(session, packet, link) else {
            return 0;
        };
        let after = met.partition_point(|&(first, _)| first <= packet);
        let last = after.checked_sub(1).and_then(|last| met.get(last));
        last.map_or(0, |&(_, number)| number)
    }

    /// With which packet the meeting began in which a packet left, and the number of the one before
    /// between the same ports.
    pub fn before(
        &self,
        session: &Session,
        packet: PacketId,
        link: (NodeId, NodeId),
    ) -> Option<(PacketId, u16)> {
        let (met, is_all) = self.road(session, packet, link)?;
        let at = met.partition_point(|&(first, _)| first <= packet);
        let at = at.checked_sub(1)?;
        let &(began, number) = met.get(at)?;
        let before = at.checked_sub(1).and_then(|before| met.get(before));
        let before = before.map(|&(_, number)| number);
        // The first of all has no packet with which it begins, where ports do not tell.
        let first = (is_all && number > 0).then_some(0);
        Some((began, before.or(first)?))
    }

    /// The meetings after one between the ports of a packet.
    pub fn later(
        &self,
        session: &Session,
        (packet, number): (PacketId, u16),
        link: (NodeId, NodeId),
    ) -> impl Iterator<Item = u16> + '_ {
        let met = self.road(session, packet, link).map_or(&[][..], |it| it.0);
        let from = met.partition_point(|&(_, each)| each <= number);
        met.get(from..).unwrap_or(&[]).iter().map(|&(_, each)| each)
    }

    /// The meetings between the ports of a packet, in order; of all, where ports do not tell them.
    #[allow(clippy::type_complexity)] // taken apart where it is called
    fn road(
        &self,
        session: &Session,
        packet: PacketId,
        link: (NodeId, NodeId),
    ) -> Option<(&[(PacketId, u16)], bool)> {
        if self.pairs.is_empty() {
            return None;
        }
        let met = self.pairs.get(&pair(link))?;
        let own = self.between(session, packet, link);
        let own = own.and_then(|ports| met.between.get(&ports));
        Some((own.unwrap_or(&met.all), met.between.is_empty()))
    }

    fn between(
        &self,
        session: &Session,
        packet: PacketId,
        link: (NodeId, NodeId),
    ) -> Option<(u16, u16)> {
        let ports = self.ports.as_ref()?.of(session, packet)?;
        Some(ordered(link, ports))
    }
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
