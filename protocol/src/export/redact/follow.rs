//! The connections of one reel, in the order of its events: as they were, and as they are in the copy.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use netreel_reel::{Endpoint, Event, EventNumber, Reel, SocketId};
use netreel_wire::{ConnectionState, Context, Wire};

/// What is known so far.
pub(super) struct Follow {
    ports: BTreeMap<SocketId, u16>,
    connections: BTreeMap<Key, Connection>,
}

/// A connection at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Own(SocketId, Endpoint),
    /// Of others, who were observed: the lower end first.
    Others(SocketAddr, SocketAddr),
}

pub(super) struct Connection {
    pub before: ConnectionState,
    pub after: ConnectionState,
    /// Who sent its first packet: this node, or the lower end.
    first_out: bool,
}

/// A packet of a reel.
pub(super) struct Crossing<'p> {
    pub number: EventNumber,
    pub key: Key,
    /// From this node, or from the lower end.
    pub out: bool,
    pub ports: (u16, u16),
    pub payload: &'p [u8],
    pub received: bool,
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

    /// A packet, if the event is one.
    pub fn crossing<'p>(&mut self, number: EventNumber, event: &Event<'p>) -> Option<Crossing<'p>> {
        let port = |socket: SocketId| self.ports.get(&socket).copied().unwrap_or(0);
        match *event {
            Event::SocketOpened { socket, local } => {
                self.ports.insert(socket, local.port());
                None
            }
            Event::Sent {
                socket,
                to,
                payload,
            } => Some(Crossing {
                number,
                key: Key::Own(socket, to),
                out: true,
                ports: (port(socket), to.port()),
                payload,
                received: false,
            }),
            Event::Received {
                socket,
                from,
                payload,
            } => Some(Crossing {
                number,
                key: Key::Own(socket, from),
                out: false,
                ports: (from.port(), port(socket)),
                payload,
                received: true,
            }),
            Event::Seen { from, to, payload } => Some(Crossing {
                number,
                key: Key::Others(from.min(to), from.max(to)),
                out: from <= to,
                ports: (from.port(), to.port()),
                payload,
                received: false,
            }),
            _ => None,
        }
    }

    /// The connection of a packet, and what the wire may ask of the packet.
    pub fn connection(
        &mut self,
        wire: &Wire,
        crossing: &Crossing<'_>,
    ) -> (Context, &mut Connection) {
        let new = || Connection {
            before: wire.new_state(),
            after: wire.new_state(),
            first_out: crossing.out,
        };
        let connection = self.connections.entry(crossing.key).or_insert_with(new);
        let context = Context {
            source_port: crossing.ports.0,
            destination_port: crossing.ports.1,
            from_first: crossing.out == connection.first_out,
        };
        (context, connection)
    }
}
