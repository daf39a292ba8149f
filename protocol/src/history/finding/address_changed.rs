//! `address-changed`: one end of a connection goes on from another port.
//!
//! A translation on the way (NAT) gave it another one, or its program opened another socket. Without a word
//! of the protocol that tells who somebody is, the two ports look like two nodes. They are one where the
//! second begins when the first falls silent for good, at the same address and with the same partner, and
//! both say one token that the partner gave (`@takes`), or have one `@sender`, or the numbers of the packets
//! go on: those that the wire names, or else a counter in their bytes. Who say different tokens are two,
//! whatever their numbers. A warning where the partner went on sending to the old port for longer than a
//! second.

use std::collections::VecDeque;
use std::net::IpAddr;

use netreel_wire::Value;

use super::prelude::*;
use crate::history::sequence::unwrap;
use crate::history::streams::NumberedLink;
use crate::session::keyed::Keyed;

/// The second port must begin so soon, in ns, after the first falls silent, or in so many times the time
/// that lay between its packets.
const PAUSE_NS: i64 = 1_000_000_000;
const PAUSES: i64 = 16;

/// Packets of before that may still come, in ns.
const LATE_NS: i64 = 250_000_000;

/// Where both say one token, this much later, in ns.
const TOKEN_PAUSE_NS: i64 = 60_000_000_000;

/// Each port must have sent this many packets.
const PACKETS_MIN: usize = 8;

/// Numbers go on where this many at the most are missing.
const MISSING_MAX: i64 = 64;

/// A counter is looked for in this many bytes in front.
const COUNTER_BYTES: usize = 24;

/// A partner that sends to the old port for longer has not noticed.
const UNNOTICED_NS: i64 = 1_000_000_000;

/// An address, and the number in the protocol.
type Who = (IpAddr, Option<u64>);

/// What one port said to one partner, as far as it tells who that is.
struct Talk {
    begins: (SessionTime, PacketId),
    ends: (SessionTime, PacketId),
    packets: usize,
    /// Its first packets, and its last ones, in the order of packets.
    first: Vec<PacketId>,
    last: VecDeque<PacketId>,
    /// The tokens that these say back.
    tokens: [Tokens; 2],
}

impl Talk {
    fn new(at: SessionTime, packet: PacketId) -> Talk {
        Talk {
            begins: (at, packet),
            ends: (at, packet),
            packets: 0,
            first: Vec::new(),
            last: VecDeque::new(),
            tokens: Default::default(),
        }
    }

    fn take(&mut self, at: SessionTime, packet: PacketId) {
        self.ends = (at, packet);
        self.packets += 1;
        if self.first.len() < PACKETS_MIN {
            self.first.push(packet);
        }
        if self.last.len() == PACKETS_MIN {
            self.last.pop_front();
        }
        self.last.push_back(packet);
    }

    /// For how long, in ns, it may have been silent before it goes on at another port, where no token tells.
    fn pause_ns(&self) -> i64 {
        let length_ns = self.ends.0.since(self.begins.0);
        let apart_ns = length_ns / self.packets.max(1) as i64;
        PAUSE_NS.max(apart_ns.saturating_mul(PAUSES))
    }
}

/// What a partner said to a port where nobody is any more: how many packets, and the last.
#[derive(Clone, Copy, Default)]
struct Still {
    packets: usize,
    last: Option<(SessionTime, PacketId)>,
}

/// Of a port and a partner what the first said to the second.
type Talks = BTreeMap<(NodeId, NodeId), Talk>;

/// What packets say back, with what the wire calls it.
type Tokens = BTreeSet<(String, String)>;

pub(super) fn find(case: &Case<'_>) -> Vec<Found> {
    let session = case.session;
    let moved = may_have_moved(session);
    if moved.is_empty() {
        return Vec::new();
    }
    let mut talks = talks(session, &moved);
    if session.wire.as_ref().is_some_and(|wire| wire.says_back()) {
        for talk in talks.values_mut() {
            let last = talk.last.iter().rev();
            talk.tokens = [tokens(session, talk.first.iter()), tokens(session, last)];
        }
    }
    // By the partner and who it may be, when each talk begins, and its port.
    let mut begun: BTreeMap<(NodeId, Who), Vec<(SessionTime, NodeId)>> = BTreeMap::new();
    for (&(port, partner), talk) in &talks {
        if let Some(&who) = moved.get(&port) {
            let begun = begun.entry((partner, who)).or_default();
            begun.push((talk.begins.0, port));
        }
    }
    begun.values_mut().for_each(|begun| begun.sort_unstable());
    let mut moves = BTreeMap::new();
    for (&(old, partner), before) in &talks {
        let Some(&who) = moved.get(&old) else {
            continue;
        };
        let begun = begun.get(&(partner, who)).map_or(&[][..], Vec::as_slice);
        let silent = before.ends.0.0;
        let pause_max = before.pause_ns().max(TOKEN_PAUSE_NS);
        let until = silent.saturating_add(pause_max);
        let soonest = begun.partition_point(|(at, _)| at.0 < silent.saturating_sub(LATE_NS));
        let near = begun[soonest..].iter().take_while(|(at, _)| at.0 <= until);
        let mut next = near.filter(|&&(_, new)| {
            let after = talks.get(&(new, partner)).filter(|_| new != old);
            after.is_some_and(|after| follows(session, before, after, who.1.is_some()))
        });
        // Of two that could be it nobody can say which.
        if let (Some(&(_, new)), None) = (next.next(), next.next()) {
            moves.insert((old, partner), (new, Still::default()));
        }
    }
    if moves.is_empty() {
        return Vec::new();
    }
    heard_still(session, &talks, &moved, &mut moves);
    let found = moves
        .into_iter()
        .filter_map(|((old, partner), (new, still))| {
            let before = talks.get(&(old, partner))?;
            let after = talks.get(&(new, partner))?;
            finding(session, (old, new, partner), (before, after), still)
        });
    found.collect()
}

/// Nodes that are known by one endpoint alone, where several have one address and one number in the
/// protocol, or none.
fn may_have_moved(session: &Session) -> BTreeMap<NodeId, Who> {
    let nodes = session.numbered_nodes();
    let by_endpoint = nodes.filter_map(|(id, node)| match node.endpoints.as_slice() {
        [endpoint] if !node.recorded => Some((id, (endpoint.ip(), node.peer))),
        _ => None,
    });
    let mut all: BTreeMap<NodeId, Who> = by_endpoint.collect();
    let mut often: BTreeMap<Who, usize> = BTreeMap::new();
    all.values()
        .for_each(|who| *often.entry(*who).or_default() += 1);
    all.retain(|_, who| often.get(who).is_some_and(|&count| count > 1));
    all
}

fn talks(session: &Session, moved: &BTreeMap<NodeId, Who>) -> Talks {
    let is_moved: Vec<bool> = (0u16..)
        .zip(&session.nodes)
        .map(|(node, _)| moved.contains_key(&NodeId(node)))
        .collect();
    let mut talks: Keyed<NumberedLink, Talk> = Keyed::default();
    let mut reader = session.reader();
    for packet in session.packet_ids() {
        let Some(((from, to), at)) = reader.passed(packet) else {
            continue;
        };
        if is_moved.get(usize::from(from.0)) == Some(&true) {
            let talk = talks.entry((from, to, 0), || Talk::new(at, packet));
            talk.take(at, packet);
        }
    }
    let talks = talks.into_iter();
    talks
        .map(|((from, to, _), talk)| ((from, to), talk))
        .collect()
}

/// Counts what partners said to old ports after the new ones began; not of partners that may have moved.
fn heard_still(
    session: &Session,
    talks: &Talks,
    moved: &BTreeMap<NodeId, Who>,
    moves: &mut BTreeMap<(NodeId, NodeId), (NodeId, Still)>,
) {
    let mut reader = session.reader();
    for packet in session.packet_ids() {
        let Some(((partner, old), at)) = reader.passed(packet) else {
            continue;
        };
        let known = moves.get_mut(&(old, partner));
        let Some((new, still)) = known.filter(|_| !moved.contains_key(&partner)) else {
            continue;
        };
        let begins = talks.get(&(*new, partner)).map(|after| after.begins.0);
        if begins.is_some_and(|begins| at > begins) {
            still.packets += 1;
            still.last = Some((at, packet));
        }
    }
}

/// Whether the second is what became of the first.
fn follows(session: &Session, before: &Talk, after: &Talk, has_name: bool) -> bool {
    if before.packets < PACKETS_MIN || after.packets < PACKETS_MIN {
        return false;
    }
    let ((first, _), (last, last_packet)) = (before.begins, before.ends);
    let (begins, first_packet) = after.begins;
    let pause_ns = begins.since(last);
    if pause_ns < -LATE_NS || begins <= first {
        return false;
    }
    let ([_, one], [other, _]) = (&before.tokens, &after.tokens);
    let both_say = !one.is_empty() && !other.is_empty();
    let have_one_token = both_say.then(|| !one.is_disjoint(other));
    let pause_max = match have_one_token {
        Some(true) => TOKEN_PAUSE_NS,
        _ => before.pause_ns(),
    };
    if pause_ns > pause_max || have_one_token == Some(false) {
        return false;
    }
    if has_name || have_one_token == Some(true) {
        return true;
    }
    let number = |packet| session.said(packet)?.sequence;
    match number(last_packet).zip(number(first_packet)) {
        Some((last, next)) => {
            let near = i64::try_from(last.value).unwrap_or(i64::MAX);
            let ahead = unwrap(next, near).saturating_sub(near);
            (1..=MISSING_MAX).contains(&ahead) && last.value > MISSING_MAX as u64 / 8
        }
        None => counts_on(session, before, after),
    }
}

/// The tokens that some packets say back, with what the wire calls each.
fn tokens<'a>(session: &Session, packets: impl Iterator<Item = &'a PacketId>) -> Tokens {
    let decoded = packets.filter_map(|&packet| session.decode(packet));
    let mut tokens = Tokens::new();
    for decoded in decoded {
        let said = decoded
            .tree
            .iter()
            .filter_map(|it| Some((it.takes()?.to_owned(), it.value())));
        // Nobody has one yet who says nothing.
        let said = said.filter(|(_, value)| *value != Value::Unsigned(0));
        tokens.extend(said.map(|(name, value)| (name, format!("{value:?}"))));
    }
    tokens
}

/// Whether a number of two bytes in front of the packets counts each of them, and goes on.
fn counts_on(session: &Session, before: &Talk, after: &Talk) -> bool {
    let latest = before.last.iter().map(|&packet| session.payload(packet));
    let Some(latest) = latest.collect::<Option<Vec<_>>>() else {
        return false;
    };
    let next = session.payload(after.begins.1);
    let Some(next) = next else { return false };
    let read = |bytes: &[u8], at: usize, is_little: bool| -> Option<i64> {
        let pair = bytes.get(at..at + 2)?.try_into().ok()?;
        Some(i64::from(if is_little {
            u16::from_le_bytes(pair)
        } else {
            u16::from_be_bytes(pair)
        }))
    };
    (0..COUNTER_BYTES).any(|at| {
        [true, false].into_iter().any(|is_little| {
            let numbers = latest.iter().map(|bytes| read(bytes, at, is_little));
            let Some(numbers) = numbers.collect::<Option<Vec<i64>>>() else {
                return false;
            };
            let step = |one: i64, other: i64| (other - one).rem_euclid(1 << 16);
            let counts = numbers
                .array_windows()
                .all(|&[one, other]| step(one, other) == 1);
            let last = numbers.last().copied().unwrap_or_default();
            let goes_on = |next: i64| (1..=MISSING_MAX).contains(&step(last, next));
            counts && last > PACKETS_MIN as i64 && read(&next, at, is_little).is_some_and(goes_on)
        })
    })
}

fn finding(
    session: &Session,
    (old, new, partner): (NodeId, NodeId, NodeId),
    (before, after): (&Talk, &Talk),
    still: Still,
) -> Option<Found> {
    let (_, last) = before.ends;
    let (begins, first) = after.begins;
    let until = still.last.map_or(begins, |(at, _)| at);
    let unnoticed_ns = until.since(begins);
    let is_unnoticed = unnoticed_ns > UNNOTICED_NS && still.packets >= PACKETS_MIN;
    let port = |node: NodeId| Some(session.node(node)?.endpoints.first()?.port());
    let to_old = still.last.map(|(_, packet)| packet);
    let pieces = [
        sent_or_came(session, last, "the last packet from the old port"),
        sent_or_came(session, first, "the first from the new one"),
        to_old.and_then(|it| sent_or_came(session, it, "the last packet to the old port")),
    ];
    let partner = session.name(partner);
    let (level, went_on) = if is_unnoticed {
        (
            Level::Warning,
            format!(
                "; {partner} went on sending to port {} for {} ({} packets), where nobody is any more",
                port(old)?,
                duration(unnoticed_ns),
                still.packets
            ),
        )
    } else {
        (Level::Info, String::new())
    };
    let sentence = format!(
        "{} is {} on another port: it goes on with {partner} where that fell silent{went_on}",
        session.name(new),
        session.name(old),
    );
    // The old port may speak again.
    Some(Found::new(level, new, begins, pieces, sentence))
}
