//! Which node has a socket at an endpoint, while reels are followed.
//!
//! That is less than [`super::cast`] finds out for a session. Who is meant by an address that no
//! socket is bound to shows in the payloads of all reels, up to their ends; whoever follows them has
//! to name a packet at once, and has kept none.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::{Endpoint, SocketId};

use super::canonical::canonical;

/// The nodes that have endpoints, or had them, which are canonical. Moments are nanoseconds since
/// 1970.
#[derive(Default)]
pub(crate) struct Bound {
    holders: BTreeMap<Endpoint, Vec<Holder>>,
    /// The nodes of sockets that are bound to every address, by port; `None` for two of them.
    open_ports: BTreeMap<u16, Option<usize>>,
}

/// A node that has an endpoint, or had it.
struct Holder {
    node: usize,
    sockets: BTreeSet<SocketId>,
    since_ns: i128,
    /// When it closed its last socket there, or the last that is known of it once it has ended.
    until_ns: Option<i128>,
}

impl Holder {
    fn has_it(&self, utc_ns: i128) -> bool {
        self.since_ns <= utc_ns && self.until_ns.is_none_or(|until| utc_ns <= until)
    }

    /// How long before a moment it had it last, or after that it had it first.
    fn distance(&self, utc_ns: i128) -> i128 {
        let after = self.until_ns.map_or(0, |until| utc_ns - until);
        after.max(self.since_ns - utc_ns).max(0)
    }
}

impl Bound {
    /// A node opens a socket.
    pub fn opened(&mut self, node: usize, socket: SocketId, local: Endpoint, utc_ns: i128) {
        if local.ip().is_unspecified() {
            let port = self.open_ports.entry(local.port()).or_insert(Some(node));
            *port = port.filter(|known| *known == node);
            return;
        }
        let holders = self.holders.entry(canonical(local)).or_default();
        let place = holders
            .iter()
            .position(|holder| holder.node == node)
            .unwrap_or_else(|| {
                holders.push(Holder {
                    node,
                    sockets: BTreeSet::new(),
                    since_ns: utc_ns,
                    until_ns: None,
                });
                holders.len() - 1
            });
        holders[place].until_ns = None;
        holders[place].sockets.insert(socket);
    }

    /// A node closes a socket.
    pub fn closed(&mut self, node: usize, socket: SocketId, local: Endpoint, utc_ns: i128) {
        let holders = self
            .holders
            .get_mut(&canonical(local))
            .into_iter()
            .flatten();
        for holder in holders.filter(|holder| holder.node == node) {
            if holder.sockets.remove(&socket) && holder.sockets.is_empty() {
                holder.until_ns = Some(utc_ns);
            }
        }
    }

    /// No more will come of a node.
    pub fn ended(&mut self, node: usize, utc_ns: i128) {
        let holders = self.holders.values_mut().flatten();
        for holder in holders.filter(|holder| holder.node == node) {
            holder.until_ns.get_or_insert(utc_ns);
        }
    }

    /// The node at an endpoint; `None` also where several have it at once, because whose a packet is
    /// shows at its other end alone.
    pub fn at(&self, endpoint: Endpoint, utc_ns: i128) -> Option<usize> {
        let holders = self
            .holders
            .get(&canonical(endpoint))
            .map_or(&[][..], Vec::as_slice);
        let mut having = holders.iter().filter(|holder| holder.has_it(utc_ns));
        match (having.next(), having.next()) {
            (Some(_), Some(_)) => None,
            (Some(only), None) => Some(only.node),
            (None, _) => {
                let nearest = holders.iter().min_by_key(|holder| holder.distance(utc_ns));
                let by_port = || self.open_ports.get(&endpoint.port()).copied().flatten();
                nearest.map(|holder| holder.node).or_else(by_port)
            }
        }
    }
}
