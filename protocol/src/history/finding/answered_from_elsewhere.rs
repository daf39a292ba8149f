//! `answered-from-elsewhere`: a node asks at one address, and another one answers.
//!
//! A machine with several addresses, or a program that opens a socket for each answer. Nothing comes
//! from the address that was asked, packets come from one that nobody sent anything to, at the same
//! machine or the same port of another address, and the node goes on asking at the first: what it is
//! answered does not reach its game. A warning.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::words::{came, sent};
use super::{Case, Found};
use crate::history::meetings::passed;
use crate::history::{Finding, Level};
use crate::session::{NodeId, PacketId, Session, SessionTime};

pub(super) const RULE: &str = "answered-from-elsewhere";

/// So often a node must have asked, been answered, and asked again.
const TIMES_MIN: usize = 3;

/// The answer must come so soon after the first question, in ns.
const SOON_NS: i64 = 2_000_000_000;

/// What one node sent another one.
#[derive(Clone, Copy)]
struct Way {
    count: usize,
    first: (SessionTime, PacketId),
    last: (SessionTime, PacketId),
}

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    // Nodes that are known by one endpoint alone.
    let place = |id: NodeId| -> Option<SocketAddr> {
        let node = session.node(id)?;
        match node.endpoints.as_slice() {
            [endpoint] if !node.recorded => Some(*endpoint),
            _ => None,
        }
    };
    let traffic = session.traffic();
    let is_silent = |from: NodeId, to: NodeId| {
        traffic.contains_key(&(from, to)) && !traffic.contains_key(&(to, from))
    };
    let asked: Vec<(NodeId, NodeId)> = traffic
        .keys()
        .copied()
        .filter(|&(from, to)| is_silent(from, to) && place(to).is_some_and(|at| is_one(at.ip())))
        .collect();
    let pairs: Vec<(NodeId, NodeId, NodeId)> = asked
        .iter()
        .flat_map(|&(asks, at)| {
            let others = traffic
                .keys()
                .filter(move |&&(_, to)| to == asks)
                .filter(move |&&(from, _)| is_silent(from, asks));
            others.map(move |&(from, _)| (asks, at, from))
        })
        .filter(|&(_, at, from)| place(at).zip(place(from)).is_some_and(is_near))
        .collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    let ways = ways(session);
    let found = pairs.into_iter().filter_map(|(asks, at, from)| {
        let (question, answer) = (ways.get(&(asks, at))?, ways.get(&(from, asks))?);
        let after_ns = answer.first.0.0.saturating_sub(question.first.0.0);
        let is_answer = (0..=SOON_NS).contains(&after_ns)
            && question.count >= TIMES_MIN
            && answer.count >= TIMES_MIN
            && question.last.0 > answer.first.0;
        is_answer.then(|| finding(session, (asks, at, from), question, answer))?
    });
    found.collect()
}

/// Whether an address is one machine's.
fn is_one(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => !v4.is_multicast() && !v4.is_unspecified() && v4.octets()[3] != 255,
        IpAddr::V6(v6) => !v6.is_multicast() && !v6.is_unspecified(),
    }
}

/// Whether two places may be of one machine: its other port, or the same port at its other address.
fn is_near((one, other): (SocketAddr, SocketAddr)) -> bool {
    one.ip() == other.ip() || one.port() == other.port()
}

fn ways(session: &Session) -> BTreeMap<(NodeId, NodeId), Way> {
    let mut ways: BTreeMap<(NodeId, NodeId), Way> = BTreeMap::new();
    for packet in (0..session.packet_count() as u32).map(PacketId) {
        let (Some(link), Some(at)) = (session.link(packet), passed(session, packet)) else {
            continue;
        };
        let now = (at, packet);
        let way = ways.entry(link).or_insert(Way {
            count: 0,
            first: now,
            last: now,
        });
        way.count += 1;
        way.last = now;
    }
    ways
}

fn finding(
    session: &Session,
    (asks, at, from): (NodeId, NodeId, NodeId),
    question: &Way,
    answer: &Way,
) -> Option<Found> {
    let pieces = [
        (question.first.1, "the first question sent"),
        (answer.first.1, "the first answer"),
        (question.last.1, "the last question sent"),
    ];
    let evidence: Vec<_> = pieces
        .into_iter()
        .filter_map(|(packet, what)| {
            sent(session, packet, what).or_else(|| came(session, packet, what))
        })
        .collect();
    let (asks_name, at, from) = (session.name(asks), session.name(at), session.name(from));
    let finding = Finding {
        rule: RULE,
        level: Level::Warning,
        node: asks,
        objects: Vec::new(),
        each: Vec::new(),
        time: answer.first.0,
        sentence: format!(
            "{asks_name} sends to {at} ({} packets), from where nothing comes, and {from}, to which it \
             sends nothing, answers ({} packets): who compares addresses takes none of them",
            question.count, answer.count
        ),
        evidence,
    };
    // It may still be answered from where it asked.
    Some(finding.into())
}
