//! Whose address is whose: what stands in the IP headers, and the names beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use netreel_reel::{Endpoint, SocketId};

use super::blocks::Station;
use super::datagram::{End, station};
use super::proxies::Proxies;
use crate::session::{NodeId, Session};

/// The first address that [`Naming::ByNode`] gives out, of the block for tests of network devices
/// (RFC 2544), and of the one for documentation (RFC 3849).
const MADE_UP_V4: u32 = 0xc612_0000;
const MADE_UP_V6: u128 = 0x2001_0db8 << 96;

/// Which IP addresses stand in the frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// Those that the reels have. Nodes on one machine share theirs, and Wireshark has no names for
    /// ports.
    #[default]
    Recorded,
    /// One made up for each node, so that every node has a name; ports stay.
    ByNode,
}

/// The names of IP addresses, in the order of the addresses.
#[derive(Default)]
pub(super) struct Names<'a> {
    /// Those that belong to one node alone.
    pub named: Vec<(IpAddr, &'a str)>,
    /// Those that several nodes share, with the nodes.
    pub shared: Vec<(IpAddr, Vec<&'a str>)>,
}

/// The addresses of a session.
pub(super) struct Addresses<'a> {
    session: &'a Session,
    proxies: &'a Proxies<'a>,
    naming: Naming,
    /// The addresses of each node that are not "any", by its place; then those of each proxy.
    known: Vec<Vec<SocketAddr>>,
    /// Whose each endpoint is; the first node, where several had it one after the other.
    owners: BTreeMap<SocketAddr, NodeId>,
}

impl<'a> Addresses<'a> {
    pub fn new(session: &'a Session, proxies: &'a Proxies<'a>, naming: Naming) -> Addresses<'a> {
        let mut owners = BTreeMap::new();
        for (id, node) in session.numbered_nodes() {
            for &endpoint in &node.endpoints {
                owners.entry(endpoint).or_insert(id);
            }
        }
        let known = session.nodes.iter().map(|node| {
            let bound = node.endpoints.iter().copied();
            bound.filter(|each| !each.ip().is_unspecified()).collect()
        });
        let passed = proxies.list.iter().map(|proxy| {
            let bound = proxy.endpoints();
            bound.filter(|each| !each.ip().is_unspecified()).collect()
        });
        Addresses {
            session,
            proxies,
            naming,
            known: known.chain(passed).collect(),
            owners,
        }
    }

    /// The node that an endpoint belongs to.
    pub fn owner(&self, endpoint: SocketAddr) -> Option<NodeId> {
        self.owners.get(&endpoint).copied()
    }

    /// Where a node's packet to or from `peer` passed its boundary. `bound` is what the reel says
    /// of the socket: often every address of the machine, sometimes nothing.
    pub fn local(&self, node: NodeId, bound: Option<Endpoint>, peer: Endpoint) -> SocketAddr {
        let any = bound.unwrap_or(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
        if !any.ip().is_unspecified() {
            return any;
        }
        let peer_ip = peer.ip().to_canonical();
        let known = self.known.get(usize::from(node.0));
        let fits = |each: &&SocketAddr| {
            let ip = each.ip().to_canonical();
            ip.is_ipv4() == peer_ip.is_ipv4()
                && (any.port() == 0 || each.port() == any.port())
                && ip.is_loopback() == peer_ip.is_loopback()
        };
        let mut fitting = known.into_iter().flatten().filter(fits);
        match (fitting.next(), peer_ip) {
            // Of a socket that never told its port, a port would be that of another.
            (Some(found), _) => SocketAddr::new(found.ip(), any.port()),
            // What comes from a loopback address goes to one.
            (None, IpAddr::V4(v4)) if v4.is_loopback() => (Ipv4Addr::LOCALHOST, any.port()).into(),
            (None, IpAddr::V6(v6)) if v6.is_loopback() => (Ipv6Addr::LOCALHOST, any.port()).into(),
            (None, IpAddr::V4(_)) => (Ipv4Addr::UNSPECIFIED, any.port()).into(),
            (None, IpAddr::V6(_)) => (Ipv6Addr::UNSPECIFIED, any.port()).into(),
        }
    }

    /// What stands in a frame for the endpoint of a node.
    pub fn shown(&self, node: Option<NodeId>, endpoint: SocketAddr) -> End {
        let endpoint = match (self.naming, node) {
            (Naming::ByNode, Some(node)) => {
                let v4 = endpoint.ip().to_canonical().is_ipv4();
                SocketAddr::new(made_up(node, v4), endpoint.port())
            }
            _ => endpoint,
        };
        End { node, endpoint }
    }

    /// The address that says whose a frame without a datagram is.
    pub fn own(&self, node: NodeId) -> IpAddr {
        let known = self.known.get(usize::from(node.0));
        let own = known.and_then(|known| known.first()).copied();
        let own = own.unwrap_or((Ipv4Addr::UNSPECIFIED, 0).into());
        self.shown(Some(node), own).endpoint.ip().to_canonical()
    }

    /// The name of each node by its Ethernet address.
    pub fn stations(&self) -> Vec<(Station, &'a str)> {
        let called = self.called();
        called.map(|(id, name)| (station(Some(id)), name)).collect()
    }

    /// The nodes and the proxies, each with its name.
    fn called(&self) -> impl Iterator<Item = (NodeId, &'a str)> + use<'a> {
        let nodes = self.session.numbered_nodes();
        let nodes = nodes.map(|(id, node)| (id, node.name.as_str()));
        let proxies = self.proxies.list.iter().map(|each| (each.id, each.name()));
        nodes.chain(proxies)
    }

    /// The names of IP addresses.
    pub fn names(&self) -> Names<'a> {
        let mut owners: BTreeMap<IpAddr, Vec<(NodeId, &'a str)>> = BTreeMap::new();
        for (id, name) in self.called() {
            for address in self.addresses(id) {
                // What has no reel of its own is called by its endpoint, which says no more than it.
                let called_by_endpoint = name.parse::<SocketAddr>().is_ok();
                if called_by_endpoint && self.naming == Naming::Recorded {
                    continue;
                }
                let owners = owners.entry(address).or_default();
                if !owners.iter().any(|(known, _)| *known == id) {
                    owners.push((id, name));
                }
            }
        }
        let mut names = Names::default();
        for (address, owners) in owners {
            match owners.as_slice() {
                [(_, name)] => names.named.push((address, *name)),
                _ => {
                    let owners = owners.into_iter().map(|(_, name)| name).collect();
                    names.shared.push((address, owners));
                }
            }
        }
        names
    }

    /// All addresses under which a node may stand in a frame.
    fn addresses(&self, node: NodeId) -> BTreeSet<IpAddr> {
        if self.naming == Naming::ByNode {
            return [true, false].map(|v4| made_up(node, v4)).into();
        }
        let place = usize::from(node.0);
        let known = self.known.get(place).into_iter().flatten();
        let mut addresses: BTreeSet<IpAddr> = known.map(|each| each.ip().to_canonical()).collect();
        // The sockets in a proxy's reel are not those of the nodes that it tells of.
        let known = self.session.nodes.get(place);
        if known.is_none_or(|node| node.proxied) {
            return addresses;
        }
        let reel = self.session.reel(node);
        let sockets: BTreeMap<SocketId, Endpoint> = reel
            .map(|reel| reel.endpoints().iter().copied().collect())
            .unwrap_or_default();
        for connection in self.session.connections(node) {
            let bound = sockets.get(&connection.socket).copied();
            let local = self.local(node, bound, connection.peer).ip().to_canonical();
            if !local.is_unspecified() {
                addresses.insert(local);
            }
        }
        addresses
    }
}

fn made_up(node: NodeId, v4: bool) -> IpAddr {
    let number = u32::from(node.0) + 1;
    if v4 {
        Ipv4Addr::from(MADE_UP_V4 + number).into()
    } else {
        Ipv6Addr::from(MADE_UP_V6 + u128::from(number)).into()
    }
}
