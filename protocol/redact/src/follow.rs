//! The connections of one reel, in the order of its events: as they were, and as they are in the copy.

use std::collections::BTreeMap;

use netreel_reel::{Endpoint, Event, Reel, SocketId};
use netreel_wire::{ConnectionState, Context, Wire};

/// What is known so far.
pub(crate) struct Follow {
    ports: BTreeMap<SocketId, u16>,
    connections: BTreeMap<Key, Connection>,
}

/// A connection of a node's socket with a peer, which stands twice; or of two others who were
/// observed, the lower end first.
pub(crate) type Key = (Option<SocketId>, Endpoint, Endpoint);

pub(crate) struct Connection {
    pub before: ConnectionState,
    pub after: ConnectionState,
    /// Who sent its first packet: this node, or the lower end.
    first_out: bool,
}

/// A packet of a reel, and the connection that it belongs to.
pub(crate) struct Packet<'f, 'p> {
    pub key: Key,
    pub connection: &'f mut Connection,
    /// What the wire may ask of the packet.
    pub context: Context,
    pub payload: &'p [u8],
}

impl Follow {
    /// Before the first event. The sockets that parts of the recording begin with are known.
    pub fn new(reel: &Reel) -> Follow {
        let mut ports = BTreeMap::new();
        for opened in reel.parts() {
            for (socket, local) in &opened.part.sockets {
                ports.entry(*socket).or_insert(local.port());
            }
        }
        Follow {
            ports,
            connections: BTreeMap::new(),
        }
    }

    /// The packet that the next event is, if it is one.
    pub fn packet<'p>(&mut self, wire: &Wire, event: &Event<'p>) -> Option<Packet<'_, 'p>> {
        let port = |socket: SocketId| self.ports.get(&socket).copied().unwrap_or(0);
        let (key, out, source_port, destination_port, payload) = match *event {
            Event::SocketOpened { socket, local } => {
                self.ports.insert(socket, local.port());
                return None;
            }
            Event::Sent {
                socket,
                to,
                payload,
            } => (
                (Some(socket), to, to),
                true,
                port(socket),
                to.port(),
                payload,
            ),
            Event::Received {
                socket,
                from,
                payload,
            } => {
                let key = (Some(socket), from, from);
                (key, false, from.port(), port(socket), payload)
            }
            Event::Seen { from, to, payload } => {
                let key = (None, from.min(to), from.max(to));
                (key, from <= to, from.port(), to.port(), payload)
            }
            _ => return None,
        };
        let connection = self.connections.entry(key).or_insert_with(|| Connection {
            before: wire.new_state(),
            after: wire.new_state(),
            first_out: out,
        });
        let context = Context {
            source_port,
            destination_port,
            from_first: out == connection.first_out,
        };
        Some(Packet {
            key,
            connection,
            context,
            payload,
        })
    }
}
