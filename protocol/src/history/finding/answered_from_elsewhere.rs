//! `answered-from-elsewhere`: a node asks at one address, and another one answers.
//!
//! A machine with several addresses, or a program that opens a socket for each answer. Nothing comes
//! from the address that was asked, packets come from one that nobody sent anything to, at the same
//! machine or the same port of another address, and the node goes on asking at the first: what it is
//! answered does not reach its game. A warning.

use std::net::{IpAddr, SocketAddr};

use super::prelude::*;
use crate::history::meetings::passed;

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
    let links = || traffic.keys().copied();
    let asked = links()
        .filter(|&(from, to)| is_silent(from, to) && place(to).is_some_and(|at| is_one(at.ip())));
    let pairs = asked.flat_map(|(asks, at)| {
        let others = links().filter(move |&(from, to)| to == asks && is_silent(from, asks));
        others.map(move |(from, _)| (asks, at, from))
    });
    let pairs: Vec<(NodeId, NodeId, NodeId)> = pairs
        .filter(|&(_, at, from)| place(at).zip(place(from)).is_some_and(is_near))
        .collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    let ways = ways(case);
    let found = pairs.into_iter().filter_map(|(asks, at, from)| {
        let (question, answer) = (ways.get(&(asks, at))?, ways.get(&(from, asks))?);
        let after_ns = answer.first.0.since(question.first.0);
        let is_answer = (0..=SOON_NS).contains(&after_ns)
            && question.count >= TIMES_MIN
            && answer.count >= TIMES_MIN
            && question.last.0 > answer.first.0;
        is_answer.then(|| finding(session, (asks, at, from), question, answer))
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

fn ways(case: &Case<'_>) -> BTreeMap<Link, Way> {
    let mut ways: BTreeMap<Link, Way> = BTreeMap::new();
    for (packet, link) in case.packets() {
        let Some(at) = passed(case.session, packet) else {
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
) -> Found {
    let pieces = [
        sent_or_came(session, question.first.1, "the first question sent"),
        sent_or_came(session, answer.first.1, "the first answer"),
        sent_or_came(session, question.last.1, "the last question sent"),
    ];
    let sentence = format!(
        "{} sends to {} ({} packets), from where nothing comes, and {}, to which it sends nothing, answers \
         ({} packets): who compares addresses takes none of them",
        session.name(asks),
        session.name(at),
        question.count,
        session.name(from),
        answer.count
    );
    // It may still be answered from where it asked.
    Found::new(Level::Warning, asks, answer.first.0, pieces, sentence)
}
