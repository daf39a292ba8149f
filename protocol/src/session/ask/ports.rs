//! Between which ports packets go.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::Endpoint;

use crate::session::read::ends::Side;
use crate::session::{NodeId, PacketId, Session};

/// What tells between which ports of two nodes a packet goes.
#[derive(Clone)]
pub(crate) struct Ports {
    /// The ports of each node.
    own: BTreeSet<(NodeId, u16)>,
}

impl Ports {
    pub fn new(session: &Session) -> Ports {
        let nodes = (0u16..).map(NodeId).zip(&session.nodes);
        let own = nodes.flat_map(|(id, node)| {
            let ports = node.endpoints.iter().map(|endpoint| endpoint.port());
            ports.map(move |port| (id, port))
        });
        Ports { own: own.collect() }
    }

    /// The port that a packet left, and the one that it went to. `None` where one of them is not a
    /// port of its node: it was translated on the way, or a proxy tells of the packet.
    pub fn of(&self, session: &Session, packet: PacketId) -> Option<(u16, u16)> {
        let (from, to) = session.link(packet)?;
        let (track, side, place) = session.rows.told(packet)?;
        let known = session.rows.tracks.get(track)?;
        let (connection, forward) = known.side(side).way(place);
        let connection = known.connections.get(connection as usize)?;
        if connection.afar.is_some() {
            return None;
        }
        let near = match side {
            Side::Seen => connection.local?.port(),
            Side::Send | Side::Receive => connection.port,
        };
        let far = connection.peer.port();
        let (left, reached) = match side.goes_out(forward) {
            true => (near, far),
            false => (far, near),
        };
        let is_own = |node: NodeId, port: u16| self.own.contains(&(node, port));
        (is_own(from, left) && is_own(to, reached)).then_some((left, reached))
    }
}

impl Session {
    /// Whether two nodes may have talked between several ports, by what connections there are.
    pub(crate) fn has_several_ports(&self) -> bool {
        let nodes = (0u16..).map(NodeId).zip(&self.nodes);
        let endpoints = nodes.flat_map(|(id, node)| node.endpoints.iter().map(move |&it| (it, id)));
        let node_of: BTreeMap<Endpoint, NodeId> = endpoints.collect();
        // Who is at an endpoint that is not known may be anybody at its address.
        let far = |peer: Endpoint| node_of.get(&peer).copied().ok_or(peer.ip());
        self.rows.tracks.iter().any(|track| {
            let mut first = BTreeMap::new();
            track.connections.iter().any(|connection| {
                let near = connection.local.map(far);
                let ports = (
                    connection.local.map_or(connection.port, |it| it.port()),
                    connection.peer.port(),
                );
                let known = first.entry((near, far(connection.peer))).or_insert(ports);
                *known != ports
            })
        })
    }
}
