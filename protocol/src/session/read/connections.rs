//! Connections: who talks to whom at one node.

use netreel_reel::{Endpoint, Event, Record, SocketId, ThreadId};
use netreel_wire::Context;
use serde::{Deserialize, Serialize};

/// All packets between a socket of a node and one endpoint, in the order of the node's reel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Connection {
    /// The node's socket.
    pub socket: SocketId,
    /// Its port; 0 where the reel does not say.
    pub port: u16,
    /// The other end.
    pub peer: Endpoint,
    /// Of a connection that an observer saw, the end that sent the first packet.
    pub local: Option<Endpoint>,
    /// Where an observer saw it: connections are kept apart for each interface.
    pub(crate) interface: ThreadId,
    /// Whether the node sent the first packet.
    pub began: bool,
    /// Whether a proxy recorded it: its events are those of the proxy's socket, whose peer is the
    /// node at this address.
    pub(crate) afar: Option<Endpoint>,
}

impl Connection {
    pub(crate) fn new(socket: SocketId, port: u16, peer: Endpoint, began: bool) -> Connection {
        Connection {
            socket,
            port,
            peer,
            local: None,
            interface: ThreadId(0),
            began,
            afar: None,
        }
    }

    /// A connection of which somebody saw a first packet, at an interface.
    pub(crate) fn seen(interface: ThreadId, from: Endpoint, to: Endpoint) -> Connection {
        Connection {
            local: Some(from),
            interface,
            ..Connection::new(SocketId(0), from.port(), to, true)
        }
    }

    /// A connection of the node at `own` with `peer`, as a proxy's `socket` saw it.
    pub(crate) fn seen_from_afar(
        socket: SocketId,
        own: Endpoint,
        peer: Endpoint,
        began: bool,
    ) -> Connection {
        Connection {
            afar: Some(own),
            ..Connection::new(socket, own.port(), peer, began)
        }
    }

    /// Whom a packet goes to or comes from; of what passed by, and goes the way of the first
    /// (`forward`) or not, whom it goes to.
    pub(crate) fn far(&self, forward: bool) -> Option<Endpoint> {
        if forward { Some(self.peer) } else { self.local }
    }

    /// Its ends, as far as they are known.
    pub(crate) fn ends(&self) -> impl Iterator<Item = Endpoint> + use<> {
        self.local.into_iter().chain([self.peer])
    }

    /// Whether an event of the reel is a packet of this connection, and goes out of its near end:
    /// the socket, or the end that was seen to send first, or the end that a proxy tells of.
    pub(crate) fn is_out(&self, record: &Record<'_>) -> Option<bool> {
        let afar = self.afar.is_some();
        match record.event {
            Event::Sent { socket, to, .. } => self.is(socket, to).then_some(!afar),
            Event::Received { socket, from, .. } => self.is(socket, from).then_some(afar),
            Event::Seen { .. } if self.interface != record.thread => None,
            Event::Seen { from, to, .. } => match self.local {
                Some(local) if (local, self.peer) == (from, to) => Some(true),
                Some(local) if (local, self.peer) == (to, from) => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    fn is(&self, socket: SocketId, peer: Endpoint) -> bool {
        self.local.is_none() && self.socket == socket && self.afar.unwrap_or(self.peer) == peer
    }

    /// What a wire may ask of a packet that the node sent (`out`) or received.
    pub fn context(&self, out: bool) -> Context {
        let (here, there) = (self.port, self.peer.port());
        let (source_port, destination_port) = if out { (here, there) } else { (there, here) };
        Context {
            source_port,
            destination_port,
            from_first: out == self.began,
        }
    }
}

/// The bytes of a packet.
pub(crate) fn payload<'a>(event: &Event<'a>) -> Option<&'a [u8]> {
    match *event {
        Event::Sent { payload, .. }
        | Event::Received { payload, .. }
        | Event::Seen { payload, .. } => Some(payload),
        _ => None,
    }
}
