//! What the reel of a proxy tells of those whose packets it passed on.
//!
//! A proxy is no node of a session: it stands for the server before the clients and for each client
//! before the server. So its reel is taken apart into one part for the server and one for each
//! client. What the proxy received from a client is what the client sent; what the proxy sent to it
//! is what the client received. Where an end has a reel of its own, that one counts, and the part
//! only says under which addresses the others knew that end.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use netreel_reel::{
    Endpoint, EventNumber, Header, SocketId, Time, os_code_words, says_nobody_listens,
};

use crate::session::read::connections::Connection;
use crate::session::read::ends::{Ends, RawEnd};
use crate::session::read::scan::{RawRelay, Scan};
use crate::session::read::source::Source;
use crate::session::{ProxyFault, ProxyId, SessionError};

/// How many packets of an end are compared to see whether a reel is that end's.
const LOOKED_AT: usize = 256;
/// Shorter payloads are too alike to tell whose they are.
const TELLING_LENGTH: u32 = 8;

/// One end of what went through a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ProxySide {
    Client(Endpoint),
    Server(Endpoint),
}

impl ProxySide {
    fn endpoint(self) -> Endpoint {
        match self {
            ProxySide::Client(endpoint) | ProxySide::Server(endpoint) => endpoint,
        }
    }
}

/// Puts in the place of each proxy the ends that it tells of; the names of the proxies. What a network
/// between the nodes did to packets goes to whoever sent them.
///
/// # Errors
/// Two proxies tell of one end, and not of the same packets: neither has all that the end sent.
pub(crate) fn take_apart(
    sources: &mut Vec<Source>,
    warnings: &mut Vec<String>,
) -> Result<Vec<String>, SessionError> {
    let (proxies, mut ends): (Vec<Source>, Vec<Source>) = std::mem::take(sources)
        .into_iter()
        .partition(|source| is_proxy(source.reel.header(), &source.scan));
    let names = proxy_names(&proxies);
    for (id, proxy) in (0..).map(ProxyId).zip(proxies) {
        for ((server, code), count) in answers(&proxy.scan) {
            let answers = network_answers(server, code, count);
            warnings.push(format!("{}: {answers}", proxy.file));
        }
        let mut told = Vec::new();
        for (own, part) in parts(id, proxy) {
            match same_end(own, &part, &ends) {
                Some(place) => {
                    let end = &mut ends[place];
                    if end.proxied && differ(&part.scan, &end.scan) {
                        return Err(SessionError::ProxiesApart {
                            reel: part.file,
                            other: end.file.clone(),
                            end: end.node.clone(),
                        });
                    }
                    end.scan.take_over(part.scan);
                }
                None => told.push(part),
            }
        }
        if let Some(first) = told.first() {
            let names: Vec<&str> = told.iter().map(|part| part.node.as_str()).collect();
            warnings.push(format!(
                "{} is of a proxy: what {} sent and received, and when, is told from there",
                first.file,
                names.join(", ")
            ));
        }
        ends.extend(told);
    }
    tell_senders(&mut ends);
    *sources = ends;
    Ok(names)
}

/// Has senders tell what a network between the nodes, which saw their packets on their way, did to these, and
/// from which addresses they came. The ports and the order of what is alike are the same on both sides.
fn tell_senders(ends: &mut [Source]) {
    type Alike = (u16, Endpoint, u64, u32);
    let (networks, mut nodes): (Vec<&mut Source>, Vec<&mut Source>) =
        ends.iter_mut().partition(|it| is_network(it.reel.header()));
    if networks.is_empty() {
        return;
    }
    let mut sends: HashMap<Alike, Vec<(Time, usize, EventNumber)>> = HashMap::new();
    for (place, node) in nodes.iter().enumerate() {
        for raw in node.scan.sends.iter().filter(|raw| !raw.failed) {
            if let Some(of) = node.scan.connection(&raw) {
                let alike = (of.port, of.peer, raw.hash, raw.length);
                let sent = (raw.time, place, raw.number);
                sends.entry(alike).or_default().push(sent);
            }
        }
    }
    // They are recorded on one machine, whose clock all have.
    let mut sends: HashMap<Alike, VecDeque<_>> = sends
        .into_iter()
        .map(|(alike, mut all)| {
            all.sort_unstable();
            (alike, all.into())
        })
        .collect();
    for network in networks {
        let scan = &mut network.scan;
        for raw in scan.seen.iter() {
            let Some((from, to)) = scan.source(&raw).zip(scan.peer(&raw)) else {
                continue;
            };
            let alike = (from.port(), to, raw.hash, raw.length);
            let sent = sends.get_mut(&alike).and_then(VecDeque::pop_front);
            let Some((_, place, number)) = sent else {
                continue;
            };
            let node = &mut nodes[place];
            node.scan.aliases.insert(from);
            if let Some(faults) = scan.faults.remove(&raw.number) {
                node.scan.faults.entry(number).or_default().extend(faults);
            }
        }
    }
}

/// How often the network answered packets to which server with which error code.
fn answers(scan: &Scan) -> BTreeMap<(Endpoint, i32), u64> {
    let mut answers = BTreeMap::new();
    for (&(socket, code), &count) in &scan.receives_failed {
        if scan.relays.iter().any(|relay| relay.socket == socket) {
            let mut connections = scan.connections.iter();
            let server = connections.find(|each| each.socket == socket);
            if let Some(server) = server {
                *answers.entry((server.peer, code)).or_default() += count;
            }
        }
    }
    answers
}

/// What the network answered packets to a server, in a sentence without its end; `code` is the
/// operating system's, `count` how often.
pub fn network_answers(server: Endpoint, code: i32, count: u64) -> String {
    let error = os_code_words(code);
    let times = match count {
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    };
    let so = if says_nobody_listens(code) {
        "; nobody listened there then, and what was sent to it reached nobody"
    } else {
        ""
    };
    format!("packets to {server} were answered {times} by an error: {error}{so}")
}

/// What their reels call them; where several have one name, with where each listens.
fn proxy_names(proxies: &[Source]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for proxy in proxies {
        let own = &proxy.node;
        let same = proxies.iter().filter(|other| other.node == *own);
        let mut name = match (same.count(), proxy.scan.sockets.values().next()) {
            (0 | 1, _) | (_, None) => own.clone(),
            (_, Some(listens)) => format!("{own} at {listens}"),
        };
        // Every address of two machines is told alike.
        let counted = format!("{name} (");
        let taken = |known: &&String| **known == name || known.starts_with(&counted);
        let taken = names.iter().filter(taken);
        match taken.count() {
            0 => {}
            before => name += &format!(" ({})", before + 1),
        }
        names.push(name);
    }
    names
}

/// Whether a packet with these verdicts went no further than its proxy.
pub(crate) fn is_dropped(faults: &[ProxyFault]) -> bool {
    faults.iter().any(|fault| fault.verdict.ends())
}

/// Whether the reel is of a network between nodes: it names what its faults are drawn from, and is an
/// observer's.
fn is_network(header: &Header) -> bool {
    let mut seeds = header.seeds.iter();
    header.engine == Header::OBSERVER && seeds.any(|(of, _)| of == "faults")
}

fn is_proxy(header: &Header, scan: &Scan) -> bool {
    header.engine == Header::PROXY || !scan.relays.is_empty()
}

/// The ends that a proxy's reel tells of, each with its address; clients first.
fn parts(id: ProxyId, proxy: Source) -> Vec<(Endpoint, Source)> {
    let scan = &proxy.scan;
    let relays: BTreeMap<SocketId, RawRelay> = scan
        .relays
        .iter()
        .map(|each| (each.socket, *each))
        .collect();
    let targets = targets(scan, &relays);
    let listeners = listeners(proxy.reel.header(), scan);
    let target_of = |listener: SocketId| {
        if !listeners.contains(&listener) {
            return None;
        }
        let known = targets.get(&listener).or(scan.sockets.get(&listener));
        known.copied()
    };
    let mut parts: BTreeMap<ProxySide, OpenEnd> = BTreeMap::new();
    for (&listener, &local) in scan
        .sockets
        .iter()
        .filter(|(id, _)| !relays.contains_key(id))
    {
        if let Some(target) = target_of(listener) {
            let part = parts.entry(ProxySide::Server(target)).or_default();
            part.scan.aliases.extend([local, target]);
        }
    }
    for relay in &scan.relays {
        let part = parts.entry(ProxySide::Client(relay.client)).or_default();
        let local = scan.sockets.get(&relay.socket);
        part.scan.aliases.extend(local.copied());
    }
    let mut received = scan.receives.iter().peekable();
    let mut sent = scan.sends.iter().peekable();
    loop {
        let from_end = match (received.peek(), sent.peek()) {
            (None, None) => break,
            (Some(one), Some(other)) => one.number < other.number,
            (one, _) => one.is_some(),
        };
        let next = if from_end {
            received.next()
        } else {
            sent.next()
        };
        let Some(raw) = next.filter(|raw| !raw.failed) else {
            continue;
        };
        let Some(socket) = scan.connection(&raw) else {
            continue;
        };
        let (socket, peer) = (socket.socket, socket.peer);
        let (own, other) = match relays.get(&socket) {
            Some(relay) => (ProxySide::Server(peer), relay.client),
            None => match target_of(socket) {
                Some(target) => (ProxySide::Client(peer), target),
                None => continue,
            },
        };
        let part = parts.entry(own).or_default();
        part.take((id, scan), &raw, (socket, own.endpoint(), other), from_end);
    }
    let names = names(proxy.reel.header(), scan, &targets);
    let parts = parts.into_iter().map(|(side, part)| {
        let node = match side {
            ProxySide::Client(client) => client.to_string(),
            ProxySide::Server(server) => names.get(&server).cloned().unwrap_or(server.to_string()),
        };
        (side.endpoint(), part.source(side.endpoint(), node, &proxy))
    });
    parts.collect()
}

/// The sockets that clients send to: the first ones, as many as the header names. Another one
/// without a relay is of a client that went just where the reel begins: whose it was is unknown.
fn listeners(header: &Header, scan: &Scan) -> BTreeSet<SocketId> {
    let sockets = scan.sockets.keys().copied();
    match header.args.len() {
        0 => sockets.collect(),
        named => sockets.take(named).collect(),
    }
}

/// The server behind each listener, as far as anything was sent there.
fn targets(scan: &Scan, relays: &BTreeMap<SocketId, RawRelay>) -> BTreeMap<SocketId, Endpoint> {
    let mut targets = BTreeMap::new();
    for connection in &scan.connections {
        if let Some(relay) = relays.get(&connection.socket) {
            targets.entry(relay.listener).or_insert(connection.peer);
        }
    }
    targets
}

/// What people called the servers: the header has `LISTEN=NAME` for each listener, in the order of
/// their sockets.
fn names(
    header: &Header,
    scan: &Scan,
    targets: &BTreeMap<SocketId, Endpoint>,
) -> BTreeMap<Endpoint, String> {
    let mut names = BTreeMap::new();
    for (listener, words) in scan.sockets.keys().zip(&header.args) {
        if let (Some(target), Some((_, name))) = (targets.get(listener), words.split_once('=')) {
            names.entry(*target).or_insert(name.to_owned());
        }
    }
    names
}

/// An end under way.
#[derive(Default)]
struct OpenEnd {
    scan: Scan,
    known: BTreeMap<(SocketId, Endpoint), u32>,
}

impl OpenEnd {
    /// The reel of an end that a proxy tells of.
    fn source(mut self, own: Endpoint, node: String, proxy: &Source) -> Source {
        self.scan.sockets.insert(SocketId(0), own);
        self.scan.tells_like(&proxy.scan);
        Source {
            file: proxy.file.clone(),
            node,
            reel: proxy.reel.clone(),
            scan: self.scan,
            proxied: true,
            answers: None,
            firm: None,
        }
    }

    /// Takes a packet between `own` and `other` that went through the proxy's `socket`; `out`: it is
    /// one that `own` sent.
    fn take(
        &mut self,
        (id, proxy): (ProxyId, &Scan),
        raw: &RawEnd,
        (socket, own, other): (SocketId, Endpoint, Endpoint),
        out: bool,
    ) {
        let scan = &mut self.scan;
        let connection = *self.known.entry((socket, own)).or_insert_with(|| {
            let place = scan.connections.len() as u32;
            let connection = Connection::seen_from_afar(socket, own, other, out);
            scan.connections.push(connection);
            place
        });
        let raw = RawEnd { connection, ..*raw };
        if out {
            if let Some(verdicts) = proxy.faults.get(&raw.number) {
                let by_it = |fault: &ProxyFault| ProxyFault {
                    proxy: id,
                    ..*fault
                };
                let verdicts = verdicts.iter().map(by_it).collect();
                scan.faults.insert(raw.number, verdicts);
            }
            scan.sends.push(&raw);
        } else {
            scan.receives.push(&raw);
        }
    }
}

impl Scan {
    /// Takes from the whole reel what is true of each of its parts.
    fn tells_like(&mut self, whole: &Scan) {
        self.told = true;
        self.span = whole.span;
        self.from_start = whole.from_start;
        self.holes = whole.holes.clone();
        self.open_end = whole.open_end;
        self.begins_later = whole.begins_later;
        self.triggers = whole.triggers.clone();
        self.damaged = whole.damaged;
        self.events = whole.events;
        self.expected = whole.expected;
        self.notes = whole.notes.clone();
        self.limit = whole.limit.clone();
    }

    /// Takes what a proxy knows of this end beyond its own reel: its other addresses, and what was
    /// done to its packets.
    fn take_over(&mut self, part: Scan) {
        self.aliases.extend(part.aliases);
        let mut fates: HashMap<(u64, u32), VecDeque<EventNumber>> = HashMap::new();
        for raw in part.sends.iter() {
            let packets = fates.entry((raw.hash, raw.length)).or_default();
            packets.push_back(raw.number);
        }
        let mut faults: BTreeMap<EventNumber, Vec<ProxyFault>> = part.faults;
        for raw in self.sends.iter() {
            let at_proxy = fates.get_mut(&(raw.hash, raw.length));
            let number = at_proxy.and_then(VecDeque::pop_front);
            if let Some(verdicts) = number.and_then(|number| faults.remove(&number)) {
                // Another proxy on the way may have told of it as well. Which was first nobody
                // asks, but that nothing comes after the end.
                let known = self.faults.entry(raw.number).or_default();
                known.extend(verdicts);
                known.sort_by_key(|fault| fault.verdict.ends());
            }
        }
    }
}

/// The reel that is this end's own: it has its address, or else most of its packets, or else as the
/// only one its port.
fn same_end(own: Endpoint, part: &Source, ends: &[Source]) -> Option<usize> {
    let bound = |end: &Source, here: &dyn Fn(&Endpoint) -> bool| end.scan.bound().any(here);
    let addressed = ends
        .iter()
        .position(|end| bound(end, &|local| *local == own));
    let by_packets = || {
        let votes = ends.iter().enumerate().map(|(place, end)| {
            let (same_sent, sent) = common(&part.scan.sends, &end.scan.sends);
            let (same_received, received) = common(&part.scan.receives, &end.scan.receives);
            (same_sent + same_received, sent + received, place)
        });
        let (same, looked_at, place) =
            votes.max_by_key(|&(same, _, place)| (same, std::cmp::Reverse(place)))?;
        (same * 2 > looked_at).then_some(place)
    };
    let by_port = || {
        let open = |local: &Endpoint| local.ip().is_unspecified() && local.port() == own.port();
        let mut open = ends.iter().enumerate().filter(|(_, end)| bound(end, &open));
        let (place, _) = open.next()?;
        open.next().is_none().then_some(place)
    };
    addressed.or_else(by_packets).or_else(by_port)
}

/// Whether two proxies that tell of one end had other packets of it to pass on.
fn differ(some: &Scan, others: &Scan) -> bool {
    let key = |raw: RawEnd| (raw.hash, raw.length);
    let both = |scan: &Scan| -> HashSet<(u64, u32)> {
        let all = scan.sends.iter().chain(scan.receives.iter());
        all.map(key).collect()
    };
    let (some, others) = (both(some), both(others));
    let same = some.intersection(&others).count();
    same * 2 < some.len().min(others.len())
}

/// How many of the first packets of one list are in the other, and how many were looked at.
fn common(some: &Ends, others: &Ends) -> (usize, usize) {
    let telling = |raw: &RawEnd| raw.length >= TELLING_LENGTH;
    let key = |raw: RawEnd| (raw.hash, raw.length);
    let some: Vec<(u64, u32)> = some
        .iter()
        .filter(telling)
        .take(LOOKED_AT)
        .map(key)
        .collect();
    let wanted: HashSet<(u64, u32)> = some.iter().copied().collect();
    let others: HashSet<(u64, u32)> = others
        .iter()
        .filter(telling)
        .map(key)
        .filter(|each| wanted.contains(each))
        .collect();
    let same = some.iter().filter(|each| others.contains(each));
    (same.count(), some.len())
}
