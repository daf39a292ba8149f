//! Who took part: a node for every reel, and one for every endpoint that no reel owns.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use netreel_reel::{Endpoint, Header, Time};

use crate::session::read::ends::{Ends, RawEnd};
use crate::session::read::scan::Scan;

/// How many packets of a foreign endpoint are looked at to see whose they are.
const LOOKED_AT: usize = 256;
/// Shorter payloads are too alike to tell whose they are.
const TELLING_LENGTH: u32 = 8;

/// The nodes of a session before they are put in order, and whose endpoint is whose.
pub(crate) struct Cast {
    /// First the reels' nodes, in the order of the reels.
    pub members: Vec<Member>,
    /// By canonical endpoints: a socket for both families sees IPv4 as `::ffff:0:0/96`.
    owners: BTreeMap<Endpoint, Vec<usize>>,
}

/// One node.
pub(crate) struct Member {
    pub name: String,
    /// Its reel, by place; `None` for a node that was not recorded.
    pub reel: Option<usize>,
    /// Whether it is no node, but watched.
    pub observer: bool,
    pub endpoints: Vec<Endpoint>,
    /// When its reel ran, in nanoseconds since 1970.
    pub utc: Option<(i128, i128)>,
}

impl Cast {
    /// Gathers the nodes. Says in `warnings` what had to be guessed.
    pub fn new(
        names: &[String],
        headers: &[&Header],
        scans: &[Scan],
        warnings: &mut Vec<String>,
    ) -> Cast {
        let mut cast = Cast {
            members: Vec::new(),
            owners: BTreeMap::new(),
        };
        let mut open_ports: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        let mut taken: BTreeMap<&str, u32> = BTreeMap::new();
        for (reel, (name, scan)) in names.iter().zip(scans).enumerate() {
            let times = taken.entry(name).or_insert(0);
            *times += u32::from(!scan.observer);
            let shown = if *times <= 1 {
                name.clone()
            } else {
                format!("{name} ({times})")
            };
            if *times > 1 && !scan.observer {
                warnings.push(format!(
                    "several reels call their node {name}: one of them is shown as {shown}"
                ));
            }
            let endpoints: BTreeSet<Endpoint> = scan.sockets.values().copied().collect();
            for &endpoint in endpoints.union(&scan.aliases) {
                if endpoint.ip().is_unspecified() {
                    open_ports.entry(endpoint.port()).or_default().push(reel);
                } else {
                    let owners = cast.owners.entry(canonical(endpoint)).or_default();
                    if !owners.contains(&reel) {
                        owners.push(reel);
                    }
                }
            }
            let utc = headers
                .get(reel)
                .zip(scan.span)
                .map(|(header, (first, last))| (utc_ns(header, first), utc_ns(header, last)));
            let endpoints = endpoints.into_iter().collect();
            cast.members.push(Member {
                name: shown,
                reel: Some(reel),
                observer: scan.observer,
                endpoints,
                utc,
            });
        }
        cast.adopt_foreign(scans, &open_ports, warnings);
        cast
    }

    /// The node that an endpoint belonged to at a moment; several reels may own it one after the
    /// other.
    pub fn member_at(&self, endpoint: Endpoint, utc_ns: i128) -> Option<usize> {
        let owners = self.owners.get(&canonical(endpoint))?;
        if let [only] = owners.as_slice() {
            return Some(*only);
        }
        let distance = |member: usize| {
            let (first, last) = self
                .members
                .get(member)
                .and_then(|each| each.utc)
                .unwrap_or((0, 0));
            (first - utc_ns).max(utc_ns - last).max(0)
        };
        owners
            .iter()
            .copied()
            .min_by_key(|&member| distance(member))
    }

    /// The node that an endpoint belongs to all the time: `Some(None)` where it is nobody's, and
    /// `None` where several have it one after the other.
    pub fn only_member(&self, endpoint: Endpoint) -> Option<Option<usize>> {
        match self.owners.get(&canonical(endpoint)).map(Vec::as_slice) {
            None | Some([]) => Some(None),
            Some([only]) => Some(Some(*only)),
            Some(_) => None,
        }
    }

    /// Each endpoint, with all members that it belongs to at some time.
    pub fn owners(&self) -> impl Iterator<Item = (Endpoint, &[usize])> {
        let owners = self.owners.iter();
        owners.map(|(&endpoint, owners)| (endpoint, owners.as_slice()))
    }

    /// The node that stands for a group: everybody who listens to a multicast address, or to a
    /// broadcast address; several recorded nodes may.
    pub fn group_at(&self, endpoint: Endpoint, utc_ns: i128) -> Option<usize> {
        let member = is_group(endpoint).then(|| self.member_at(endpoint, utc_ns))??;
        let group = self.members.get(member)?.reel.is_none();
        group.then_some(member)
    }

    /// Finds out who is behind each endpoint that no socket is bound to.
    fn adopt_foreign(
        &mut self,
        scans: &[Scan],
        open_ports: &BTreeMap<u16, Vec<usize>>,
        warnings: &mut Vec<String>,
    ) {
        let connections = scans.iter().flat_map(|scan| &scan.connections);
        let ends = connections.flat_map(|each| each.local.into_iter().chain([each.peer]));
        let foreign: BTreeSet<Endpoint> = ends
            .map(canonical)
            .filter(|end| !self.owners.contains_key(end))
            .collect();
        if foreign.is_empty() {
            return;
        }
        let senders = senders(scans, &foreign);
        let several = open_ports.values().any(|reels| reels.len() > 1);
        let hearers = match several {
            true => hearers(scans, &foreign),
            false => BTreeMap::new(),
        };
        for endpoint in foreign {
            let by_port = open_ports.get(&endpoint.port()).map(Vec::as_slice);
            let by_port = by_port.filter(|_| !is_certain_group(endpoint));
            let sender = senders.get(&endpoint);
            let by_port: Vec<usize> = match by_port.unwrap_or_default() {
                [only] => vec![*only],
                several => {
                    let sent = sender.map_or(Vec::new(), |votes| most(votes, several));
                    let heard = hearers.get(&endpoint).filter(|_| !is_group(endpoint));
                    let there = |reel: &&usize| {
                        sent.contains(reel) || heard.is_some_and(|heard| heard.contains(reel))
                    };
                    several.iter().filter(there).copied().collect()
                }
            };
            if !by_port.is_empty() {
                // A socket bound to every address of its machine is reached at each of them.
                for reel in by_port {
                    self.own(endpoint, reel);
                }
            } else if let Some(reel) = sender.and_then(translated) {
                // A damaged reel may have lost the word of where its socket was bound.
                if !scans.get(reel).is_some_and(|scan| scan.damaged) {
                    warnings.push(format!(
                        "{endpoint} is {}, seen through an address translation: the packets are \
                         the same",
                        self.members
                            .get(reel)
                            .map_or("", |member| member.name.as_str()),
                    ));
                }
                self.own(endpoint, reel);
            } else {
                let member = self.members.len();
                self.members.push(Member {
                    name: endpoint.to_string(),
                    reel: None,
                    observer: false,
                    endpoints: Vec::new(),
                    utc: None,
                });
                self.own(endpoint, member);
            }
        }
    }

    fn own(&mut self, endpoint: Endpoint, member: usize) {
        self.owners.entry(endpoint).or_default().push(member);
        if let Some(member) = self.members.get_mut(member) {
            member.endpoints.push(endpoint);
        }
    }
}

/// A reel's time on the calendar, by its anchor.
pub(crate) fn utc_ns(header: &Header, time: Time) -> i128 {
    i128::from(header.clock.utc_ns) + i128::from(time.0) - i128::from(header.clock.monotonic.0)
}

/// How many packets of an endpoint were looked at, and how many of them which reel alone sent.
type Votes = (usize, BTreeMap<usize, usize>);

/// Which recorded nodes sent, byte for byte, what came from each foreign endpoint. Of each endpoint
/// the first packets are looked at, so that what is kept does not grow with the reels.
fn senders(scans: &[Scan], foreign: &BTreeSet<Endpoint>) -> BTreeMap<Endpoint, Votes> {
    let mut looked_at: BTreeMap<Endpoint, Vec<(usize, u64, u32)>> = BTreeMap::new();
    for (reel, scan) in scans.iter().enumerate() {
        let peers = foreign_peers(scan, foreign);
        if peers.iter().all(Option::is_none) {
            continue;
        }
        for receive in telling(&scan.receives) {
            if let Some(peer) = peers.get(receive.connection as usize).copied().flatten() {
                let looked_at = looked_at.entry(peer).or_default();
                if looked_at.len() < LOOKED_AT {
                    looked_at.push((reel, receive.hash, receive.length));
                }
            }
        }
    }
    let all = looked_at.values().flatten();
    let all = all.map(|&(_, hash, length)| ((hash, length), Sender::Nobody));
    let mut senders: HashMap<(u64, u32), Sender> = all.collect();
    let is_asked = !senders.is_empty();
    for (reel, scan) in scans.iter().enumerate().filter(|_| is_asked) {
        for send in telling(&scan.sends) {
            if let Some(sender) = senders.get_mut(&(send.hash, send.length)) {
                *sender = match *sender {
                    Sender::Nobody => Sender::Only(reel),
                    Sender::Only(known) if known == reel => Sender::Only(reel),
                    _ => Sender::Several,
                };
            }
        }
    }
    let mut votes: BTreeMap<Endpoint, Votes> = BTreeMap::new();
    for (endpoint, looked_at) in looked_at {
        let (count, votes) = votes.entry(endpoint).or_default();
        *count = looked_at.len();
        for (reel, hash, length) in looked_at {
            match senders.get(&(hash, length)) {
                Some(&Sender::Only(sender)) if sender != reel => {
                    *votes.entry(sender).or_insert(0) += 1;
                }
                _ => {}
            }
        }
    }
    votes
}

/// Which reels have the send of a payload.
#[derive(Clone, Copy)]
enum Sender {
    Nobody,
    Only(usize),
    Several,
}

/// For each connection of a reel its far end, where that is foreign.
fn foreign_peers(scan: &Scan, foreign: &BTreeSet<Endpoint>) -> Vec<Option<Endpoint>> {
    let peers = scan.connections.iter().map(|each| canonical(each.peer));
    peers
        .map(|peer| foreign.contains(&peer).then_some(peer))
        .collect()
}

/// The one that sent most of what came from an endpoint.
fn translated(votes: &Votes) -> Option<usize> {
    let (&reel, _) = votes.1.iter().max_by_key(|&(_, count)| count)?;
    most(votes, &[reel]).pop()
}

/// Those of `reels` who sent something of an endpoint, if together they sent most of it.
fn most((looked_at, votes): &Votes, reels: &[usize]) -> Vec<usize> {
    let votes = votes.iter().filter(|(reel, _)| reels.contains(reel));
    let sum: usize = votes.clone().map(|(_, count)| count).sum();
    match sum * 2 > *looked_at {
        true => votes.map(|(&reel, _)| reel).collect(),
        false => Vec::new(),
    }
}

/// Which recorded nodes received, at its port, what was sent to each foreign endpoint alone. What
/// came from there was relayed.
fn hearers(scans: &[Scan], foreign: &BTreeSet<Endpoint>) -> BTreeMap<Endpoint, BTreeSet<usize>> {
    let port = |scan: &Scan, raw: &RawEnd| {
        let connection = scan.connections.get(raw.connection as usize);
        connection.map_or(0, |connection| connection.port)
    };
    let mut sent: HashMap<(u64, u32, u16), Option<Endpoint>> = HashMap::new();
    for scan in scans {
        for send in scan.sends.iter() {
            let Some(to) = scan.peer(&send).map(canonical) else {
                continue;
            };
            sent.entry((send.hash, send.length, port(scan, &send)))
                .and_modify(|known| *known = known.filter(|&known| known == to))
                .or_insert(Some(to));
        }
    }
    let mut hearers: BTreeMap<Endpoint, BTreeSet<usize>> = BTreeMap::new();
    for (reel, scan) in scans.iter().enumerate() {
        for receive in scan.receives.iter() {
            let Some(from) = scan.peer(&receive) else {
                continue;
            };
            let payload = (receive.hash, receive.length, from.port());
            if let Some(&Some(to)) = sent.get(&payload)
                && foreign.contains(&to)
                && to.port() == port(scan, &receive)
                && to != canonical(from)
            {
                hearers.entry(to).or_default().insert(reel);
            }
        }
    }
    hearers
}

/// An endpoint as it is looked up: with its IPv4 address where it has one in IPv6.
fn canonical(endpoint: Endpoint) -> Endpoint {
    // What is sent to the unspecified address goes to the machine itself.
    let here = endpoint.port() != 0 && endpoint.ip().to_canonical().is_unspecified();
    match endpoint.ip().to_canonical() {
        IpAddr::V4(_) if here => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), endpoint.port()),
        IpAddr::V6(_) if here => SocketAddr::new(Ipv6Addr::LOCALHOST.into(), endpoint.port()),
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, endpoint.port()),
        IpAddr::V6(_) => endpoint,
    }
}

/// Whether what is sent there may reach several: no reel knows the masks of networks, so the last
/// address of every small one may be a broadcast address.
pub(crate) fn is_group(endpoint: Endpoint) -> bool {
    let last = |ip: IpAddr| matches!(ip, IpAddr::V4(v4) if v4.octets()[3] == 255);
    is_certain_group(endpoint) || last(endpoint.ip().to_canonical())
}

/// Whether it is the address of nobody alone.
fn is_certain_group(endpoint: Endpoint) -> bool {
    let ip = endpoint.ip().to_canonical();
    ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST)
}

fn telling(ends: &Ends) -> impl Iterator<Item = RawEnd> + '_ {
    ends.iter().filter(|end| end.length >= TELLING_LENGTH)
}
