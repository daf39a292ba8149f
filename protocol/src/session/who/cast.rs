//! Who took part: a node for every reel, and one for every endpoint that no reel owns.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr};

use netreel_reel::{Endpoint, Header, Time};

use super::canonical::{canonical, peers};
use super::votes::{SENT_MIN, Votes, most, only_sender, senders, translated};
use crate::session::NodeId;
use crate::session::read::connections::Connection;
use crate::session::read::scan::Scan;

/// A node with a whole reel that did not send this many of an endpoint's packets does not have the
/// endpoint: somebody else sent them.
const OTHERS_MIN: usize = 16;

/// The nodes of a session before they are put in order, and whose endpoint is whose.
pub(crate) struct Cast {
    /// First the reels' nodes, in the order of the reels.
    pub members: Vec<Member>,
    /// By canonical endpoints: a socket for both families sees IPv4 as `::ffff:0:0/96`.
    owners: BTreeMap<Endpoint, Vec<usize>>,
    /// Whom a reel means by an endpoint that is another's elsewhere: networks use the same private
    /// addresses.
    seen: BTreeMap<(usize, Endpoint), usize>,
    /// How many nodes without a reel are at an endpoint.
    unrecorded: BTreeMap<Endpoint, u32>,
}

/// The reels with a socket bound to every address, by its port.
type Ports = BTreeMap<u16, Vec<usize>>;
/// Endpoints with the reels that may have them.
type Contested = BTreeMap<Endpoint, Vec<usize>>;

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
            seen: BTreeMap::new(),
            unrecorded: BTreeMap::new(),
        };
        let mut open_ports = Ports::new();
        let utc = |reel: usize| {
            let (header, (first, last)) = (headers[reel], scans[reel].span?);
            Some((utc_ns(header, first), utc_ns(header, last)))
        };
        let times = times(names, scans, utc);
        for (reel, ((name, scan), times)) in names.iter().zip(scans).zip(times).enumerate() {
            let shown = match times {
                0 | 1 => name.clone(),
                times => format!("{name} ({times})"),
            };
            if times > 1 && !scan.observer {
                warnings.push(format!(
                    "several reels call their node {name}: one of them is shown as {shown}"
                ));
            }
            let endpoints: BTreeSet<Endpoint> = scan.bound().copied().collect();
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
            let endpoints = endpoints.into_iter().collect();
            cast.members.push(Member {
                name: shown,
                reel: Some(reel),
                observer: scan.observer,
                endpoints,
                utc: utc(reel),
            });
        }
        cast.at_other_times(headers, scans, &open_ports);
        cast.loopback(headers, scans, &open_ports);
        let contested = cast.contested(headers, scans, &open_ports);
        cast.adopt_foreign(headers, scans, (&open_ports, &contested), warnings);
        cast
    }

    /// The reels of nodes, and the nodes; `node_of` has each member's.
    pub fn recorded(&self, node_of: &[NodeId]) -> impl Iterator<Item = (usize, NodeId)> {
        let members = self.members.iter().zip(node_of);
        let members = members.filter(|(member, _)| !member.observer);
        members.filter_map(|(member, &node)| Some((member.reel?, node)))
    }

    /// The node that a reel means by an endpoint at a moment.
    pub fn member_seen(&self, reel: usize, endpoint: Endpoint, utc_ns: i128) -> Option<usize> {
        let seen = self.seen.get(&(reel, canonical(endpoint))).copied();
        seen.or_else(|| self.member_at(endpoint, utc_ns))
    }

    /// The node that a reel means by an endpoint all the time; see [`Cast::only_member`].
    pub fn only_seen(&self, reel: usize, endpoint: Endpoint) -> Option<Option<usize>> {
        match self.seen.get(&(reel, canonical(endpoint))) {
            Some(&seen) => Some(Some(seen)),
            None => self.only_member(endpoint),
        }
    }

    /// The node that an endpoint belonged to at a moment; several reels may own it one after the
    /// other.
    pub fn member_at(&self, endpoint: Endpoint, utc_ns: i128) -> Option<usize> {
        let owners = self.owners.get(&canonical(endpoint))?;
        if let [only] = owners.as_slice() {
            return Some(*only);
        }
        let distance = |member: usize| {
            let (first, last) = self.members[member].utc.unwrap_or((0, 0));
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
        let group = self.members[member].reel.is_none();
        group.then_some(member)
    }

    /// Finds out who is behind each endpoint that no socket is bound to.
    fn adopt_foreign(
        &mut self,
        headers: &[&Header],
        scans: &[Scan],
        (open_ports, contested): (&Ports, &Contested),
        warnings: &mut Vec<String>,
    ) {
        let connections = scans.iter().flat_map(|scan| &scan.connections);
        let ends = connections.flat_map(Connection::ends);
        let foreign: BTreeSet<Endpoint> = ends
            .map(canonical)
            .filter(|end| !self.owners.contains_key(end))
            .collect();
        if foreign.is_empty() && contested.is_empty() {
            return;
        }
        // With one reel nobody else can be found: all that can show is that an endpoint is its own, at a
        // port that it has open to every address.
        let is_alone = scans.len() == 1;
        let may_tell = |end: &&Endpoint| !is_alone || open_ports.contains_key(&end.port());
        let asked = foreign.iter().filter(may_tell);
        let asked = asked.chain(contested.keys()).copied().collect();
        let direct = self.direct(scans, contested);
        let senders = senders(scans, &asked, &direct);
        for (&endpoint, candidates) in contested {
            let votes = senders.get(&endpoint);
            self.tell_apart(endpoint, candidates, votes);
        }
        let several = open_ports.values().any(|reels| reels.len() > 1);
        let hearers = if several {
            hearers(scans, &foreign)
        } else {
            BTreeMap::new()
        };
        for endpoint in foreign {
            let all = open_ports.get(&endpoint.port());
            let all = all.map_or(&[][..], Vec::as_slice);
            let sender = senders.get(&endpoint);
            let by_port = if is_certain_group(endpoint) {
                Vec::new()
            } else {
                let heard = hearers.get(&endpoint).filter(|_| !is_group(endpoint));
                by_port(endpoint, all, (headers, scans), (sender, heard))
            };
            if !by_port.is_empty() {
                // A socket bound to every address of its machine is reached at each of them.
                // Other networks may have it too, each for another machine.
                if is_private(endpoint) {
                    self.tell_apart(endpoint, all, sender);
                }
                for reel in by_port {
                    self.own(endpoint, reel);
                }
            } else if let Some(reel) = sender.and_then(|votes| translated(votes)) {
                // A damaged reel may have lost the word of where its socket was bound.
                if !scans[reel].damaged {
                    warnings.push(format!(
                        "{endpoint} is {}, seen through an address translation: the packets are \
                         the same",
                        self.members[reel].name,
                    ));
                }
                self.own(endpoint, reel);
            } else {
                let member = self.unrecorded(endpoint);
                self.owners.entry(endpoint).or_default().push(member);
            }
        }
    }

    /// Finds out whom each reel means by an endpoint that several have.
    fn tell_apart(&mut self, endpoint: Endpoint, candidates: &[usize], votes: Option<&Votes>) {
        for heard in votes.into_iter().flatten() {
            let sender =
                translated(std::slice::from_ref(heard)).filter(|it| candidates.contains(it));
            if let Some(sender) = sender.or_else(|| only_sender(heard, candidates)) {
                self.seen.insert((heard.reel, endpoint), sender);
            }
        }
        // What comes to a reel from there and none of those sent is of a node without a reel, in another
        // network than theirs.
        let mut unknown = None;
        for heard in votes.into_iter().flatten() {
            let mut senders = heard.senders.iter().flatten();
            let is_known = self.seen.contains_key(&(heard.reel, endpoint))
                || heard.own > 0
                || senders.any(|sender| candidates.contains(sender));
            if !is_known && heard.senders.len() >= SENT_MIN {
                let unknown = *unknown.get_or_insert_with(|| self.unrecorded(endpoint));
                self.seen.insert((heard.reel, endpoint), unknown);
            }
        }
    }

    /// Gives a loopback endpoint that a reel's socket was bound to also to the reels of that machine
    /// that had its port open to every address before or after: systems give ports out again.
    fn at_other_times(&mut self, headers: &[&Header], scans: &[Scan], open_ports: &Ports) {
        let boot = |reel: usize| boot(headers, reel);
        let peers: BTreeSet<Endpoint> = scans.iter().flat_map(peers).collect();
        for peer in peers.into_iter().filter(|peer| peer.ip().is_loopback()) {
            let owners = self.owners.get(&peer).cloned().unwrap_or_default();
            if owners.is_empty() {
                continue;
            }
            for &reel in open_ports.get(&peer.port()).into_iter().flatten() {
                let is_apart =
                    |&owner: &usize| boot(owner) == boot(reel) && self.never_met(owner, reel);
                if owners.iter().all(is_apart) {
                    self.own(peer, reel);
                }
            }
        }
    }

    /// Whether one of two reels ended before the other began.
    fn never_met(&self, one: usize, other: usize) -> bool {
        let utc = |reel: usize| self.members[reel].utc;
        let spans = utc(one).zip(utc(other));
        spans.is_some_and(|((first, last), (begin, end))| last < begin || end < first)
    }

    /// Whom reels of several machines mean by addresses that are each machine's own.
    fn loopback(&mut self, headers: &[&Header], scans: &[Scan], open_ports: &Ports) {
        let boot = |reel: usize| boot(headers, reel);
        let mut unknown: BTreeMap<(&str, Endpoint), usize> = BTreeMap::new();
        for (reel, scan) in scans.iter().enumerate() {
            for peer in peers(scan).filter(|peer| peer.ip().is_loopback()) {
                let explicit: Vec<usize> = self.owners.get(&peer).cloned().unwrap_or_default();
                let is_bound = !explicit.is_empty();
                let open = open_ports.get(&peer.port()).into_iter().flatten();
                let all: Vec<usize> = explicit.into_iter().chain(open.copied()).collect();
                let is_here = |other: &usize| boot(*other) == boot(reel);
                let is_told = all.iter().all(|&other| !boot(other).is_empty());
                if !is_told || boot(reel).is_empty() || all.iter().all(is_here) {
                    continue;
                }
                let here: Vec<usize> = all.iter().copied().filter(is_here).collect();
                let whose = match here.as_slice() {
                    // Boot ids may differ where a machine does not.
                    [] if is_bound => continue,
                    [] => {
                        let new = unknown.entry((boot(reel), peer));
                        *new.or_insert_with(|| self.unrecorded(peer))
                    }
                    [only] => *only,
                    _ => continue,
                };
                self.seen.insert((reel, peer), whose);
            }
        }
    }

    /// A new node without a reel, at this endpoint. Several machines may have such.
    fn unrecorded(&mut self, endpoint: Endpoint) -> usize {
        let times = self.unrecorded.entry(endpoint).or_insert(0);
        *times += 1;
        let name = match *times {
            1 => endpoint.to_string(),
            times => format!("{endpoint} ({times})"),
        };
        self.members.push(Member {
            name,
            reel: None,
            observer: false,
            endpoints: vec![endpoint],
            utc: None,
        });
        self.members.len() - 1
    }

    /// Which reels are known to others by an endpoint of their own: the one that sees it first.
    fn direct(&self, scans: &[Scan], contested: &Contested) -> BTreeSet<(usize, usize)> {
        let all = scans.iter().enumerate().flat_map(|(reel, scan)| {
            let own = peers(scan).filter(|peer| !contested.contains_key(peer));
            let owners = own.filter_map(|peer| self.owners.get(&peer)).flatten();
            owners.map(move |&owner| (reel, owner))
        });
        all.collect()
    }

    /// The private endpoints that reels of several machines may have, with these.
    fn contested(&self, headers: &[&Header], scans: &[Scan], open_ports: &Ports) -> Contested {
        let boot = |reel: &usize| boot(headers, *reel);
        let peers: BTreeSet<Endpoint> = scans.iter().flat_map(peers).collect();
        let its = self.owners.iter();
        let private =
            its.filter(|(endpoint, _)| peers.contains(endpoint) && is_private(**endpoint));
        let contested = private.filter_map(|(&endpoint, owners)| {
            let mut all = owners.clone();
            all.extend(open_ports.get(&endpoint.port()).into_iter().flatten());
            let boots: BTreeSet<&str> = all.iter().map(boot).collect();
            (boots.len() > 1).then_some((endpoint, all))
        });
        contested.collect()
    }

    fn own(&mut self, endpoint: Endpoint, member: usize) {
        self.owners.entry(endpoint).or_default().push(member);
        self.members[member].endpoints.push(endpoint);
    }
}

/// Of reels whose nodes have one name, which this is: 1 for the one that begins first. An observer is
/// none of them.
fn times(
    names: &[String],
    scans: &[Scan],
    utc: impl Fn(usize) -> Option<(i128, i128)>,
) -> Vec<u32> {
    let mut order: Vec<usize> = (0..names.len().min(scans.len())).collect();
    order.sort_by_key(|&reel| (utc(reel), reel));
    let mut taken: BTreeMap<&str, u32> = BTreeMap::new();
    let mut times = vec![0; names.len()];
    for reel in order {
        let taken = taken.entry(&names[reel]).or_insert(0);
        *taken += u32::from(!scans[reel].observer);
        times[reel] = *taken;
    }
    times
}

/// Of the reels with a port open to every address those that are at a loopback address of it: one of
/// them talks with that address, which is its own port then, and the others of its machine may share
/// the socket with it since a fork.
fn at_own_port(
    endpoint: Endpoint,
    open: &[usize],
    headers: &[&Header],
    scans: &[Scan],
) -> Vec<usize> {
    let talks = |reel: &&usize| peers(&scans[**reel]).any(|peer| peer == endpoint);
    let speaker = open
        .iter()
        .find(talks)
        .filter(|_| endpoint.ip().is_loopback());
    let here = speaker.map(|&speaker| boot(headers, speaker));
    let own = open.iter().copied();
    own.filter(|&reel| Some(boot(headers, reel)) == here)
        .collect()
}

/// Which start of which machine a reel is of.
pub(super) fn boot<'a>(headers: &[&'a Header], reel: usize) -> &'a str {
    &headers[reel].clock.boot_id
}

/// A reel's time on the calendar, by its anchor.
pub(crate) fn utc_ns(header: &Header, time: Time) -> i128 {
    i128::from(header.clock.utc_ns) + i128::from(time.0) - i128::from(header.clock.monotonic.0)
}

/// Whether somebody else is behind an endpoint than the reel whose socket is open at that port: there
/// is another machine that uses the same port. The reel talks with it and does not hear itself, or
/// it sent nothing of what others heard from there.
fn is_another((endpoint, reel): (Endpoint, usize), scan: &Scan, votes: Option<&Votes>) -> bool {
    if endpoint.ip().is_loopback() {
        return false;
    }
    let talks = peers(scan).any(|peer| peer == endpoint);
    let has_sent = scan.sends.len() >= OTHERS_MIN;
    let heard: usize = votes.map_or(0, |votes| votes.iter().map(|it| it.senders.len()).sum());
    let own: usize = votes.map_or(0, |votes| votes.iter().map(|it| it.own).sum());
    let is_silent = votes.is_none_or(|votes| most(votes, &[reel]).is_empty()) && own == 0;
    is_silent && (talks || has_sent && heard >= OTHERS_MIN)
}

/// Of the reels with a port open to every address those that are behind an endpoint with that port, as far
/// as what was sent from there and heard of it tells.
fn by_port(
    endpoint: Endpoint,
    open: &[usize],
    (headers, scans): (&[&Header], &[Scan]),
    (sender, heard): (Option<&Votes>, Option<&BTreeSet<usize>>),
) -> Vec<usize> {
    if let [only] = open {
        let is_other = is_another((endpoint, *only), &scans[*only], sender);
        return (!is_other).then_some(*only).into_iter().collect();
    }
    let sent = sender.map_or(Vec::new(), |votes| most(votes, open));
    let own = at_own_port(endpoint, open, headers, scans);
    let there = |reel: &&usize| {
        sent.contains(reel) || heard.is_some_and(|heard| heard.contains(reel)) || own.contains(reel)
    };
    open.iter().filter(there).copied().collect()
}

/// Which recorded nodes received, at its port, what was sent to each foreign endpoint alone. What
/// came from there was relayed.
fn hearers(scans: &[Scan], foreign: &BTreeSet<Endpoint>) -> BTreeMap<Endpoint, BTreeSet<usize>> {
    let mut sent: HashMap<(u64, u32, u16), Option<Endpoint>> = HashMap::new();
    for scan in scans {
        for send in scan.sends.iter() {
            let Some(to) = scan.peer(&send).map(canonical) else {
                continue;
            };
            sent.entry((send.hash, send.length, scan.port(&send)))
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
                && to.port() == scan.port(&receive)
                && to != canonical(from)
            {
                hearers.entry(to).or_default().insert(reel);
            }
        }
    }
    hearers
}

/// Whether several networks may have it, each for another machine.
fn is_private(endpoint: Endpoint) -> bool {
    matches!(endpoint.ip().to_canonical(), IpAddr::V4(ip) if ip.is_private())
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
