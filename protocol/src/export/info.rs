//! `info`: who took part, and what happened in numbers.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::history::History;
use crate::session::{Fate, Hole, Interface, Node, NodeId, Observer, Session, Triggered};
use crate::verdict::Counts;

/// The answer of `netreel info --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    /// What the wire calls the protocol, all names where there are several; `null` where there is no wire.
    pub wire: Option<String>,
    /// Where the session's clock starts, in nanoseconds since 1970-01-01T00:00:00Z, in decimal.
    pub start_utc_ns: String,
    /// From the first event to the last.
    pub duration_ns: i64,
    /// In the session's order.
    pub nodes: Vec<NodeJson>,
    /// Who watched packets pass.
    pub observers: Vec<ObserverJson>,
    /// How many packets there are.
    pub packets: u64,
    /// How many messages there are; `null` where that was not asked for.
    pub messages: Option<u64>,
    /// What became of the packets.
    pub fates: Fates,
    /// How many messages there are of each kind that occurs; `null` where that was not asked for.
    pub kinds: Option<BTreeMap<String, u64>>,
    /// Ordered by sender, then receiver.
    pub links: Vec<LinkJson>,
    /// Ordered by nodes, then by epoch; `null` where that was not asked for.
    pub connections: Option<Vec<ConnectionJson>>,
    /// How many objects were heard of; `null` where that was not asked for.
    pub objects: Option<u64>,
    /// How many findings there are; `null` where that was not asked for.
    pub findings: Option<Counts>,
    /// What could not be read or is not certain.
    pub warnings: Vec<String>,
}

/// A node in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct NodeJson {
    /// Its name.
    pub name: String,
    /// Its number in the protocol.
    pub peer: Option<u64>,
    /// Whether its reel is there.
    pub recorded: bool,
    /// Whether its reel reached its end.
    pub complete: bool,
    /// Whether its reel was made of a packet capture: what it received is what came by at the wire.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub captured: bool,
    /// Where it was captured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceJson>,
    /// Addresses and ports.
    pub endpoints: Vec<String>,
    /// The wire's name of the rules that it goes by.
    pub rules: Option<String>,
    /// Its first event; `null` for a node that was not recorded.
    pub start_ns: Option<i64>,
    /// Its last event; `null` for a node that was not recorded.
    pub end_ns: Option<i64>,
    /// How far its clock may be off; `null` where nothing tells.
    pub clock_error_ns: Option<u64>,
    /// Packets that its reel says it sent; `null` without a reel.
    pub sent: Option<u64>,
    /// Packets that its reel says it received, each once; `null` without a reel.
    pub received: Option<u64>,
    /// Stretches that its reel does not hold.
    pub holes: Vec<HoleJson>,
    /// How many packets its kernel dropped because a receive buffer was full.
    #[serde(skip_serializing_if = "is_zero")]
    pub kernel_drops: u64,
    /// Whether its reel is the window that a trigger kept of a recording which went on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub window: bool,
    /// The limit that ended its recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// What stands in its reel for people, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What triggers said in its reel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<TriggerJson>,
    /// Events of its reel that were skipped because their kind is not known here; `null` without a
    /// reel.
    pub unknown_events: Option<u64>,
}

/// An observer in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct ObserverJson {
    /// Its name.
    pub name: String,
    /// Whether its reel reached its end.
    pub complete: bool,
    /// Its first event.
    pub start_ns: i64,
    /// Its last event.
    pub end_ns: i64,
    /// How far its clock may be off; `null` where nothing tells.
    pub clock_error_ns: Option<u64>,
    /// Packets that it saw.
    pub packets: u64,
    /// Of how many of them it kept the first bytes only.
    pub cut: u64,
    /// How many more it is known to have missed.
    pub missed: u64,
    /// Where it saw them.
    pub interfaces: Vec<InterfaceJson>,
    /// Stretches that its reel does not hold.
    pub holes: Vec<HoleJson>,
    /// Whether its reel is the window that a trigger kept of a recording which went on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub window: bool,
    /// What triggers said in its reel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<TriggerJson>,
    /// What stands in its reel for people.
    pub notes: Vec<String>,
}

/// An interface of a packet capture.
#[derive(Clone, Debug, Serialize)]
pub struct InterfaceJson {
    /// What the capture calls it; `null` where it does not.
    pub name: Option<String>,
    /// A `LINKTYPE_` number of the tcpdump group's registry; `null` where the reel does not say.
    pub link_type: Option<u32>,
    /// Packets that were seen there.
    pub packets: u64,
}

/// A moment around which a node kept its recording.
#[derive(Clone, Debug, Serialize)]
pub struct TriggerJson {
    /// When.
    pub time_ns: i64,
    /// `call`, `key`, `signal`, `finding` or `panic`.
    pub cause: &'static str,
    /// What was said of it.
    pub text: String,
    /// Whether another node asked for it.
    pub from_peer: bool,
    /// The same at every node that was asked.
    pub id: String,
}

/// A stretch that a reel does not hold.
#[derive(Clone, Debug, Serialize)]
pub struct HoleJson {
    /// Where it starts.
    pub from_ns: i64,
    /// Where it ends.
    pub to_ns: i64,
    /// Why, and how much.
    pub why: String,
}

/// What became of the packets.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)] // the variants of `Fate`
pub struct Fates {
    pub received: u64,
    pub lost: u64,
    pub send_failed: u64,
    pub unread: u64,
    pub unknown: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A directed link in numbers.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // the fields of `Link`
pub struct LinkJson {
    pub from: String,
    pub to: String,
    pub packets: u64,
    pub bytes: u64,
    pub lost: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub doubtful: u64,
    pub duplicated: u64,
    pub reordered: u64,
    pub resent: Option<u64>,
    pub latency_ns: Option<Spread>,
    /// Where a proxy tells of one end or both, what `latency_ns` is the time of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<&'static str>,
    pub rtt_ns: Option<Spread>,
}

/// A connection in numbers.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // the fields of `Connection`
pub struct ConnectionJson {
    pub nodes: [String; 2],
    pub epoch: u16,
    pub from_ns: i64,
    pub to_ns: i64,
    pub packets: [u64; 2],
    pub goes_on: Option<String>,
}

/// Shortest, middle, longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Spread {
    pub min: i64,
    pub median: i64,
    pub max: i64,
}

/// A session in numbers.
pub fn info(session: &Session, history: &History) -> Info {
    let links = history
        .links(session)
        .iter()
        .map(|(&(from, to), each)| LinkJson {
            resent: Some(each.resent),
            rtt_ns: each.rtt_ns.map(spread),
            ..link(session, from, to)
        });
    Info {
        messages: Some(session.message_count() as u64),
        kinds: Some(kinds(session)),
        objects: Some(history.objects.len() as u64),
        findings: Some(Counts::of(&history.findings)),
        links: links.collect(),
        connections: Some(connections(session, history)),
        ..info_of_packets(session)
    }
}

/// A session in numbers, as far as its packets tell without what the wire says of them: nothing of
/// messages, objects, findings, of what was resent, and of round trips.
pub fn info_of_packets(session: &Session) -> Info {
    let count = |fate: Fate| session.traffic().values().map(|it| it.fate(fate)).sum();
    let nodes = session.numbered_nodes();
    let links = session.traffic().keys();
    Info {
        wire: session.wire.as_ref().map(|wire| wire.names()),
        start_utc_ns: session.start_utc_ns.to_string(),
        duration_ns: session.span.end.since(session.span.start),
        nodes: nodes.map(|(id, each)| node(session, id, each)).collect(),
        observers: session.observers.iter().map(observer).collect(),
        packets: session.packet_count() as u64,
        messages: None,
        fates: Fates {
            received: count(Fate::Received),
            lost: count(Fate::Lost),
            send_failed: count(Fate::SendFailed),
            unread: count(Fate::Unread),
            unknown: count(Fate::Unknown),
        },
        kinds: None,
        links: links.map(|&(from, to)| link(session, from, to)).collect(),
        connections: None,
        objects: None,
        findings: None,
        warnings: session.warnings(),
    }
}

fn connections(session: &Session, history: &History) -> Vec<ConnectionJson> {
    let all = history.connections(session).into_iter();
    let json = all.map(|each| ConnectionJson {
        nodes: [each.nodes.0, each.nodes.1].map(|node| session.name(node)),
        epoch: each.epoch,
        from_ns: each.time.start.0,
        to_ns: each.time.end.0,
        packets: each.packets,
        goes_on: each.goes_on.map(|node| session.name(node)),
    });
    json.collect()
}

/// How many messages there are of each kind that occurs.
fn kinds(session: &Session) -> BTreeMap<String, u64> {
    let kinds = session.kinds();
    let mut counts = vec![0u64; kinds.len()];
    for message in session.messages() {
        let kind = message.kind().map(|kind| usize::from(kind.0));
        if let Some(count) = kind.and_then(|kind| counts.get_mut(kind)) {
            *count += 1;
        }
    }
    let named = kinds.iter().zip(counts).filter(|(_, count)| *count > 0);
    named
        .map(|(kind, count)| (kind.name.clone(), count))
        .collect()
}

fn node(session: &Session, id: NodeId, node: &Node) -> NodeJson {
    let rules = node.rules.and_then(|rules| {
        session
            .wire
            .as_ref()?
            .rules()
            .get(usize::from(rules.0))
            .map(|rules| rules.name.clone())
    });
    // Of a node without a reel nothing is known but what the others say.
    let recorded = node.recorded.then_some(node);
    let counts = session.counts(id);
    NodeJson {
        name: node.name.clone(),
        peer: node.peer,
        recorded: node.recorded,
        complete: node.complete,
        captured: node.captured,
        interfaces: node.interfaces.iter().map(interface).collect(),
        endpoints: node.endpoints.iter().map(ToString::to_string).collect(),
        rules,
        start_ns: recorded.map(|node| node.span.start.0),
        end_ns: recorded.map(|node| node.span.end.0),
        clock_error_ns: recorded
            .map(|node| node.clock_error_ns)
            .filter(|&error| error != u64::MAX),
        sent: counts.map(|(sent, _)| sent),
        received: counts.map(|(_, received)| received),
        holes: holes(&node.holes),
        kernel_drops: session.kernel_drops(id),
        window: node.window,
        limit: node.limit.clone(),
        notes: node.notes.clone(),
        triggers: triggers(&node.triggers),
        unknown_events: session.reel(id).map(|reel| reel.unknown().values().sum()),
    }
}

fn observer(observer: &Observer) -> ObserverJson {
    ObserverJson {
        name: observer.name.clone(),
        complete: observer.complete,
        start_ns: observer.span.start.0,
        end_ns: observer.span.end.0,
        clock_error_ns: Some(observer.clock_error_ns).filter(|&error| error != u64::MAX),
        packets: observer.packets,
        cut: observer.cut,
        missed: observer.missed,
        interfaces: observer.interfaces.iter().map(interface).collect(),
        holes: holes(&observer.holes),
        window: observer.window,
        triggers: triggers(&observer.triggers),
        notes: observer.notes.clone(),
    }
}

fn interface(interface: &Interface) -> InterfaceJson {
    InterfaceJson {
        name: Some(interface.name.clone()).filter(|name| !name.is_empty()),
        link_type: interface.link_type,
        packets: interface.packets,
    }
}

fn triggers(triggers: &[Triggered]) -> Vec<TriggerJson> {
    triggers
        .iter()
        .map(|triggered| TriggerJson {
            time_ns: triggered.time.0,
            cause: triggered.trigger.cause.name(),
            text: triggered.text.clone(),
            from_peer: triggered.trigger.from_peer,
            id: triggered.trigger.id.to_string(),
        })
        .collect()
}

fn holes(holes: &[Hole]) -> Vec<HoleJson> {
    let hole = |hole: &Hole| HoleJson {
        from_ns: hole.time.start.0,
        to_ns: hole.time.end.0,
        why: hole.why.clone(),
    };
    holes.iter().map(hole).collect()
}

fn spread((min, median, max): (i64, i64, i64)) -> Spread {
    Spread { min, median, max }
}

/// What is told of a link without a history.
fn link(session: &Session, from: NodeId, to: NodeId) -> LinkJson {
    let traffic = session
        .traffic()
        .get(&(from, to))
        .cloned()
        .unwrap_or_default();
    LinkJson {
        from: session.name(from),
        to: session.name(to),
        packets: traffic.packets,
        bytes: traffic.bytes,
        lost: traffic.fate(Fate::Lost),
        doubtful: traffic.doubtful,
        duplicated: traffic.duplicated,
        reordered: traffic.reordered,
        resent: None,
        latency_ns: traffic.latency_ns.map(spread),
        latency: session.measured(from, to).words(),
        rtt_ns: None,
    }
}
