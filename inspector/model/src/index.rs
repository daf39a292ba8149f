//! What is computed once, when a session is opened, so that a frame costs the same for any length.

use std::collections::{BTreeMap, BTreeSet};

use netreel_protocol::history::{History, Level};
use netreel_protocol::session::{Fate, NodeId, Packet, PacketId, Session, SessionTime};
use netreel_wire::{KindId, Role};

use crate::interval::Intervals;

/// How long a stub of an arrow is where the link's latency is not known, in ns.
const LATENCY_UNKNOWN_NS: i64 = 1_000_000;

/// Sorted arrays over a whole session.
pub(crate) struct Index {
    /// All packets.
    pub all: Crowd,
    /// For each packet, the kind of its most telling message.
    pub lead: Vec<Option<KindId>>,
    /// All sends and receipts.
    pub events: Vec<i64>,
    /// When lost packets were sent.
    pub lost: Vec<i64>,
    /// The packets of each link, in the order of their first event.
    pub links: BTreeMap<(NodeId, NodeId), Vec<PacketId>>,
    /// The worst finding that a packet proves.
    pub worst: BTreeMap<PacketId, Level>,
    /// For each node, from the worst level down: the times of its flags and the findings.
    pub flags: Vec<[Vec<(i64, u32)>; 3]>,
    /// Receipts beyond the first: time, packet; sorted.
    pub duplicates: Vec<(i64, u32)>,
    /// The kinds of all packets' most telling messages.
    pub leading: Vec<KindId>,
    /// Of how many packets nobody can say what became of them.
    pub unknown: usize,
    /// Whether any packet has a sequence number.
    pub has_sequences: bool,
}

/// Some packets, ready to be drawn as arrows or as density.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crowd {
    /// From an arrow's first moment to its last, by packet.
    pub arrows: Intervals,
    /// For each node, its sends and receipts.
    pub lanes: Vec<Lane>,
}

/// The moments of one node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lane {
    pub events: Vec<i64>,
    pub lost: Vec<i64>,
}

impl Crowd {
    /// Sorts the moments of some packets.
    pub fn new(
        session: &Session,
        history: &History,
        packets: impl Iterator<Item = PacketId>,
    ) -> Crowd {
        let mut lanes = vec![Lane::default(); session.nodes.len()];
        let mut arrows = Vec::with_capacity(packets.size_hint().0);
        for id in packets {
            let Some(packet) = session.packets.get(id.0 as usize) else {
                continue;
            };
            let (start, end) = stretch(packet, history);
            arrows.push((start.0.min(end.0), start.0.max(end.0), id.0));
            if let Some(stamp) = packet.departed() {
                push(&mut lanes, packet.from, |lane| &mut lane.events, stamp.time);
                if is_lost(packet) {
                    push(&mut lanes, packet.from, |lane| &mut lane.lost, stamp.time);
                }
            }
            for stamp in packet.received.iter().chain(&packet.duplicates) {
                push(&mut lanes, packet.to, |lane| &mut lane.events, stamp.time);
            }
        }
        for lane in &mut lanes {
            lane.events.sort_unstable();
            lane.lost.sort_unstable();
        }
        Crowd {
            arrows: Intervals::new(arrows),
            lanes,
        }
    }
}

impl Index {
    pub fn new(session: &Session, history: &History) -> Index {
        let all = (0..session.packets.len()).map(|place| PacketId(place as u32));
        let all = Crowd::new(session, history, all);
        let merged = |part: fn(&Lane) -> &Vec<i64>| {
            let mut times: Vec<i64> = all.lanes.iter().flat_map(part).copied().collect();
            times.sort_unstable();
            times
        };
        let (events, lost) = (merged(|lane| &lane.events), merged(|lane| &lane.lost));
        let mut links: BTreeMap<(NodeId, NodeId), Vec<PacketId>> = BTreeMap::new();
        let mut duplicates = Vec::new();
        for (place, packet) in session.packets.iter().enumerate() {
            let id = place as u32;
            links
                .entry((packet.from, packet.to))
                .or_default()
                .push(PacketId(id));
            for stamp in &packet.duplicates {
                duplicates.push((stamp.time.0, id));
            }
        }
        duplicates.sort_unstable();
        let (worst, flags) = findings(session, history);
        let packets = || session.packets.iter();
        let lead = leads(session);
        let leading: BTreeSet<KindId> = lead.iter().flatten().copied().collect();
        Index {
            all,
            leading: leading.into_iter().collect(),
            lead,
            events,
            lost,
            links,
            worst,
            flags,
            duplicates,
            unknown: packets().filter(|it| it.fate == Fate::Unknown).count(),
            has_sequences: packets().any(|it| it.sequence.is_some()),
        }
    }

    /// The kind of a packet's most telling message.
    pub fn lead(&self, packet: PacketId) -> Option<KindId> {
        self.lead.get(packet.0 as usize).copied().flatten()
    }
}

/// From where to where a packet's arrow is drawn. Where one end is unknown, the link's usual latency
/// stands in for it.
pub(crate) fn stretch(packet: &Packet, history: &History) -> (SessionTime, SessionTime) {
    let usual = || {
        history
            .links
            .get(&(packet.from, packet.to))
            .and_then(|link| link.latency_ns)
            .map_or(LATENCY_UNKNOWN_NS, |(_, middle, _)| middle.max(0))
    };
    match (packet.departed(), packet.received) {
        (Some(sent), Some(received)) => (sent.time, received.time),
        (Some(sent), None) => (sent.time, SessionTime(sent.time.0.saturating_add(usual()))),
        (None, Some(received)) => (
            SessionTime(received.time.0.saturating_sub(usual())),
            received.time,
        ),
        (None, None) => (SessionTime(0), SessionTime(0)),
    }
}

/// Whether a packet is known not to have arrived.
pub(crate) fn is_lost(packet: &Packet) -> bool {
    matches!(packet.fate, Fate::Lost | Fate::SendFailed)
}

/// How much a message tells about a packet that carries it: the highest names and colours it.
pub(crate) fn weight(role: Role) -> u8 {
    match role {
        Role::Migrate => 9,
        Role::Destroy => 8,
        Role::Create => 7,
        Role::MigrateOrder => 6,
        Role::Connect | Role::Disconnect => 5,
        Role::Other => 4,
        Role::Rpc => 3,
        Role::Fragment => 2,
        Role::Update => 1,
        Role::Ack | Role::Ping | Role::Pong => 0,
    }
}

type Flags = Vec<[Vec<(i64, u32)>; 3]>;

/// Where a level stands in an entry of [`Index::flags`].
pub(crate) fn rank(level: Level) -> usize {
    match level {
        Level::Error => 0,
        Level::Warning => 1,
        Level::Info => 2,
    }
}

fn leads(session: &Session) -> Vec<Option<KindId>> {
    let kinds = session.wire.as_ref().map_or(&[][..], |wire| wire.kinds());
    let mut lead: Vec<Option<(u8, KindId)>> = vec![None; session.packets.len()];
    for message in &session.messages {
        let Some(kind) = message.kind() else { continue };
        let role = kinds
            .get(usize::from(kind.0))
            .map_or(Role::Other, |k| k.role);
        let weight = weight(role);
        if let Some(slot) = lead.get_mut(message.packet.0 as usize)
            && slot.is_none_or(|(heaviest, _)| weight > heaviest)
        {
            *slot = Some((weight, kind));
        }
    }
    lead.into_iter()
        .map(|slot| slot.map(|(_, kind)| kind))
        .collect()
}

fn findings(session: &Session, history: &History) -> (BTreeMap<PacketId, Level>, Flags) {
    let mut worst: BTreeMap<PacketId, Level> = BTreeMap::new();
    let mut flags: Flags = vec![Default::default(); session.nodes.len()];
    for (place, finding) in history.findings.iter().enumerate() {
        for evidence in &finding.evidence {
            let level = worst.entry(evidence.packet).or_insert(finding.level);
            *level = finding.level.max(*level);
        }
        if let Some(lane) = flags.get_mut(usize::from(finding.node.0)) {
            lane[rank(finding.level)].push((finding.time.0, place as u32));
        }
    }
    for lane in &mut flags {
        for level in lane {
            level.sort_unstable();
        }
    }
    (worst, flags)
}

fn push(
    lanes: &mut [Lane],
    node: NodeId,
    part: impl Fn(&mut Lane) -> &mut Vec<i64>,
    time: SessionTime,
) {
    if let Some(lane) = lanes.get_mut(usize::from(node.0)) {
        part(lane).push(time.0);
    }
}
