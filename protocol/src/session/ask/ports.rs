//! Between which ports packets go.

use std::collections::{BTreeMap, BTreeSet};

use netreel_reel::Endpoint;

use crate::session::read::connections::Connection;
use crate::session::read::ends::{EndAt, Side};
use crate::session::{Link, NodeId, Session};

/// What tells between which ports of two nodes a packet goes.
pub(crate) struct Ports {
    /// The ports of each node.
    own: BTreeSet<(NodeId, u16)>,
    /// Of each connection of each track, and each way of it, what the last packet was told.
    latest: Vec<Vec<[Latest; 2]>>,
}

/// Between whom the last packet went, and what was told of it.
type Latest = Option<(Link, Option<u32>)>;

impl Ports {
    pub fn new(session: &Session) -> Ports {
        let nodes = (0u16..).map(NodeId).zip(&session.nodes);
        let own = nodes.flat_map(|(id, node)| {
            let ports = node.endpoints.iter().map(|endpoint| endpoint.port());
            ports.map(move |port| (id, port))
        });
        let tracks = session.rows.tracks.iter();
        Ports {
            own: own.collect(),
            latest: tracks
                .map(|track| vec![[None; 2]; track.connections.len()])
                .collect(),
        }
    }

    /// What `number` tells of the two ports of a packet that an end tells: the one that it left, and the one
    /// that it went to. `None` where one of them is not a port of its node: it was translated on the way, or
    /// a proxy tells of the packet.
    pub fn talk(
        &mut self,
        session: &Session,
        ((track, side, place), link): (EndAt, Link),
        number: impl FnOnce((u16, u16)) -> u32,
    ) -> Option<u32> {
        let known = session.rows.tracks.get(track)?;
        let (at, forward) = known.side(side).way(place);
        let connection = known.connections.get(at as usize)?;
        let ways = self.latest.get_mut(track)?.get_mut(at as usize)?;
        let goes_out = side.goes_out(forward);
        let latest = &mut ways[usize::from(goes_out)];
        if let Some((of, told)) = *latest
            && of == link
        {
            return told;
        }
        let own = &self.own;
        let told = between(connection, side, goes_out).filter(|&(left, reached)| {
            own.contains(&(link.0, left)) && own.contains(&(link.1, reached))
        });
        let told = told.map(number);
        *latest = Some((link, told));
        told
    }
}

/// The port that a packet of a connection left, and the one that it went to.
fn between(connection: &Connection, side: Side, goes_out: bool) -> Option<(u16, u16)> {
    if connection.afar.is_some() {
        return None;
    }
    let near = match side {
        Side::Seen => connection.local?.port(),
        Side::Send | Side::Receive => connection.port,
    };
    let far = connection.peer.port();
    Some(match goes_out {
        true => (near, far),
        false => (far, near),
    })
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
