//! The proxies of a session. A proxy is no node: its one reel tells of several.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use netreel_reel::Reel;

use super::whose::Whose;
use crate::session::{NodeId, Session};

/// A proxy.
pub(super) struct Proxy<'a> {
    pub reel: &'a Arc<Reel>,
    /// The nodes that its reel tells of.
    pub ends: Vec<NodeId>,
    /// Stands for it where a node has a number: the first one that no node has.
    pub id: NodeId,
}

impl<'a> Proxy<'a> {
    /// What its reel calls it.
    pub fn name(&self) -> &'a str {
        match self.reel.header().node.as_str() {
            "" => "proxy",
            name => name,
        }
    }

    /// Where its sockets are bound.
    pub fn endpoints(&self) -> impl Iterator<Item = SocketAddr> + 'a {
        self.reel.endpoints().iter().map(|&(_, local)| local)
    }
}

/// All proxies, and whom each stands for.
pub(super) struct Proxies<'a> {
    pub list: Vec<Proxy<'a>>,
    of: BTreeMap<NodeId, u16>,
}

impl<'a> Proxies<'a> {
    pub fn new(session: &'a Session) -> Proxies<'a> {
        let mut list: Vec<Proxy<'a>> = Vec::new();
        let mut of = BTreeMap::new();
        let nodes = session.numbered_nodes().zip(&session.reels);
        let proxied = nodes.filter(|((_, node), _)| node.proxied);
        for ((node, _), reel) in proxied.filter_map(|(node, reel)| Some((node, reel.as_ref()?))) {
            let known = list.iter().position(|each| Arc::ptr_eq(each.reel, reel));
            let place = known.unwrap_or(list.len());
            match list.get_mut(place) {
                Some(proxy) => proxy.ends.push(node),
                None => list.push(Proxy {
                    reel,
                    ends: vec![node],
                    id: NodeId(u16::try_from(session.nodes.len() + place).unwrap_or(u16::MAX)),
                }),
            }
            of.insert(node, place as u16);
        }
        Proxies { list, of }
    }

    /// A proxy by its place.
    pub fn get(&self, place: u16) -> Option<&Proxy<'a>> {
        self.list.get(usize::from(place))
    }

    /// A node that a reel tells of: a proxy's tells the same of each.
    pub fn node(&self, whose: Whose) -> Option<NodeId> {
        match whose {
            Whose::Node(node) => Some(node),
            Whose::Proxy(place) => self.get(place)?.ends.first().copied(),
            Whose::Observer(_) => None,
        }
    }

    /// In whose reel a node's packets are.
    pub fn whose(&self, node: NodeId) -> Whose {
        match self.of.get(&node) {
            Some(&place) => Whose::Proxy(place),
            None => Whose::Node(node),
        }
    }
}
