//! Reels that are still recorded: what passes each node's boundary, as it comes.
//!
//! Nothing is known yet of a packet's other end, so that there is no fate, no number of a packet,
//! and no finding: those are the session's, once it is recorded.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_reel::{Endpoint, Event, EventNumber, Header, Record, SendOutcome, SocketId};
use netreel_wire::{ConnectionState, PacketFacts, Wire};

use super::Connection;

/// The nodes that are followed.
#[derive(Default)]
pub struct Live {
    wire: Option<Arc<Wire>>,
    nodes: Vec<LiveNode>,
    /// Whose endpoint is whose, and when.
    holders: BTreeMap<Endpoint, Vec<Holder>>,
    /// The nodes of sockets that are bound to every address, by port; `None` for two of them.
    open_ports: BTreeMap<u16, Option<usize>>,
    /// For each boot, added to a monotonic time it gives nanoseconds since 1970.
    clocks: BTreeMap<String, i128>,
}

/// A node that has an endpoint, or had it.
struct Holder {
    node: usize,
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

struct LiveNode {
    name: String,
    utc_offset_ns: i128,
    /// The time of its latest event.
    latest_ns: i128,
    sockets: BTreeMap<SocketId, Endpoint>,
    connections: BTreeMap<(SocketId, Endpoint), (Connection, ConnectionState)>,
    observed: BTreeMap<(Endpoint, Endpoint), (Endpoint, Connection, ConnectionState)>,
}

/// Something that is worth a line.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveEvent {
    /// The node, by its place: the order of [`Live::add`].
    pub node: usize,
    /// The event in its reel.
    pub event: EventNumber,
    /// Nanoseconds since 1970-01-01T00:00:00Z. Nodes with one boot id share a clock; the others are
    /// placed by the calendar.
    pub utc_ns: i128,
    /// What it is.
    pub what: LiveWhat,
}

/// See [`LiveEvent::what`].
#[derive(Clone, Debug, PartialEq)]
pub enum LiveWhat {
    /// A packet.
    Packet {
        /// Which way it went.
        way: LiveWay,
        /// Who sent it: a node's name, or an endpoint.
        from: String,
        /// To whom.
        to: String,
        /// Bytes of payload.
        length: usize,
        /// What the wire says of it; nothing without a wire.
        facts: Box<PacketFacts>,
    },
    /// The send of an earlier event failed, or took less than the whole payload.
    SendFailed {
        /// The event that sent.
        of: EventNumber,
        /// Why.
        why: String,
    },
    /// The reel does not hold everything here. A sentence.
    Lacks(String),
}

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveWay {
    /// The node sent it.
    Sent,
    /// The node received it.
    Received,
    /// It passed an observer.
    Seen,
}

impl LiveWay {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            LiveWay::Sent => "sent",
            LiveWay::Received => "received",
            LiveWay::Seen => "seen",
        }
    }
}

impl Live {
    /// Without nodes; packets are read by `wire`, or else by the first wire inside a reel that
    /// compiles.
    pub fn new(wire: Option<Arc<Wire>>) -> Live {
        Live {
            wire,
            ..Live::default()
        }
    }

    /// The wire that packets are read by.
    pub fn wire(&self) -> Option<&Arc<Wire>> {
        self.wire.as_ref()
    }

    /// Adds a node; `file` names one whose reel does not.
    pub fn add(&mut self, header: &Header, file: &str) -> usize {
        if self.wire.is_none() {
            let compiled = header
                .wires
                .iter()
                .find_map(|wire| Wire::compile(&wire.name, &wire.text).ok());
            self.wire = compiled.map(Arc::new);
        }
        let own = i128::from(header.clock.utc_ns) - i128::from(header.clock.monotonic.0);
        let utc_offset_ns = match header.clock.boot_id.as_str() {
            "" => own,
            boot => *self.clocks.entry(boot.to_owned()).or_insert(own),
        };
        self.nodes.push(LiveNode {
            name: match header.node.as_str() {
                "" => file.to_owned(),
                node => node.to_owned(),
            },
            utc_offset_ns,
            latest_ns: 0,
            sockets: BTreeMap::new(),
            connections: BTreeMap::new(),
            observed: BTreeMap::new(),
        });
        self.nodes.len() - 1
    }

    /// A node's name.
    pub fn name(&self, node: usize) -> &str {
        self.nodes.get(node).map_or("?", |node| node.name.as_str())
    }

    /// Takes the next event of a node; what it says, if it is worth a line. Names of peers are known
    /// from the event on that opened their sockets.
    pub fn take(&mut self, node: usize, record: &Record<'_>) -> Option<LiveEvent> {
        let own = self.nodes.get_mut(node)?;
        let utc_ns = i128::from(record.time.0) + own.utc_offset_ns;
        own.latest_ns = own.latest_ns.max(utc_ns);
        let what = match record.event {
            Event::SocketOpened { socket, local } => {
                self.opened(node, socket, local, utc_ns);
                return None;
            }
            Event::SocketClosed { socket } => {
                self.closed(node, socket, utc_ns);
                return None;
            }
            Event::Sent {
                socket,
                to,
                payload,
            } => {
                let facts = self.facts(node, socket, to, true, payload);
                let from = self.name(node).to_owned();
                self.packet(LiveWay::Sent, (from, self.who(to, utc_ns)), payload, facts)
            }
            Event::Received {
                socket,
                from,
                payload,
            } => {
                let facts = self.facts(node, socket, from, false, payload);
                let to = self.name(node).to_owned();
                let from = self.who(from, utc_ns);
                self.packet(LiveWay::Received, (from, to), payload, facts)
            }
            Event::Seen { from, to, payload } => {
                let facts = self.observed(node, from, to, payload);
                let ends = (self.who(from, utc_ns), self.who(to, utc_ns));
                self.packet(LiveWay::Seen, ends, payload, facts)
            }
            Event::SendResult { of, outcome } => LiveWhat::SendFailed {
                of,
                why: match outcome {
                    SendOutcome::Sent => return None,
                    SendOutcome::Short(taken) => format!("only {taken} bytes were taken"),
                    SendOutcome::Failed(code) => os_error(code),
                },
            },
            Event::Dropped { count } => LiveWhat::Lacks(format!("{count} events were dropped")),
            Event::CaptureDrops { count } => {
                LiveWhat::Lacks(format!("{count} packets passed unseen"))
            }
            Event::Switched { on: false } => LiveWhat::Lacks("switched off".to_owned()),
            Event::Switched { on: true } => LiveWhat::Lacks("switched on".to_owned()),
            Event::WriteFailed { code } => {
                LiveWhat::Lacks(format!("recording stopped: {}", os_error(code)))
            }
            _ => return None,
        };
        Some(LiveEvent {
            node,
            event: record.number,
            utc_ns,
            what,
        })
    }

    fn packet(
        &self,
        way: LiveWay,
        (from, to): (String, String),
        payload: &[u8],
        facts: Box<PacketFacts>,
    ) -> LiveWhat {
        LiveWhat::Packet {
            way,
            from,
            to,
            length: payload.len(),
            facts,
        }
    }

    /// Says that a node had a socket before the first of its events that is shown.
    pub fn opened_before(&mut self, node: usize, socket: SocketId, local: Endpoint) {
        self.opened(node, socket, local, i128::from(i64::MIN));
    }

    /// Says that no more events of a node will come.
    pub fn ended(&mut self, node: usize) {
        let latest_ns = self.nodes.get(node).map_or(0, |node| node.latest_ns);
        let holders = self.holders.values_mut().flatten();
        for holder in holders.filter(|holder| holder.node == node) {
            holder.until_ns.get_or_insert(latest_ns);
        }
    }

    fn opened(&mut self, node: usize, socket: SocketId, local: Endpoint, utc_ns: i128) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.sockets.insert(socket, local);
        }
        if local.ip().is_unspecified() {
            let port = self.open_ports.entry(local.port()).or_insert(Some(node));
            *port = port.filter(|known| *known == node);
            return;
        }
        let holders = self.holders.entry(local).or_default();
        match holders.iter_mut().find(|holder| holder.node == node) {
            Some(again) => again.until_ns = None,
            None => holders.push(Holder {
                node,
                since_ns: utc_ns,
                until_ns: None,
            }),
        }
    }

    fn closed(&mut self, node: usize, socket: SocketId, utc_ns: i128) {
        let Some(sockets) = self.nodes.get_mut(node).map(|node| &mut node.sockets) else {
            return;
        };
        let Some(local) = sockets.remove(&socket) else {
            return;
        };
        if sockets.values().any(|other| *other == local) {
            return;
        }
        let holders = self.holders.get_mut(&local).into_iter().flatten();
        for holder in holders.filter(|holder| holder.node == node) {
            holder.until_ns = Some(utc_ns);
        }
    }

    /// The name of the node at an endpoint, or the endpoint: also where several have it at once,
    /// because whose a packet is shows at its other end alone.
    fn who(&self, endpoint: Endpoint, utc_ns: i128) -> String {
        let holders = self.holders.get(&endpoint).map_or(&[][..], Vec::as_slice);
        let mut having = holders.iter().filter(|holder| holder.has_it(utc_ns));
        let node = match (having.next(), having.next()) {
            (Some(_), Some(_)) => None,
            (Some(only), None) => Some(only.node),
            (None, _) => {
                let nearest = holders.iter().min_by_key(|holder| holder.distance(utc_ns));
                let by_port = || self.open_ports.get(&endpoint.port()).copied().flatten();
                nearest.map(|holder| holder.node).or_else(by_port)
            }
        };
        match node {
            Some(node) => self.name(node).to_owned(),
            None => endpoint.to_string(),
        }
    }

    fn facts(
        &mut self,
        node: usize,
        socket: SocketId,
        peer: Endpoint,
        out: bool,
        payload: &[u8],
    ) -> Box<PacketFacts> {
        let mut facts = Box::<PacketFacts>::default();
        let (Some(wire), Some(node)) = (&self.wire, self.nodes.get_mut(node)) else {
            return facts;
        };
        let port = node.sockets.get(&socket).map_or(0, |local| local.port());
        let (connection, state) = node
            .connections
            .entry((socket, peer))
            .or_insert_with(|| (Connection::new(socket, port, peer, out), wire.new_state()));
        wire.facts_in(&connection.context(out), state, payload, &mut facts);
        facts
    }

    fn observed(
        &mut self,
        node: usize,
        from: Endpoint,
        to: Endpoint,
        payload: &[u8],
    ) -> Box<PacketFacts> {
        let mut facts = Box::<PacketFacts>::default();
        let (Some(wire), Some(node)) = (&self.wire, self.nodes.get_mut(node)) else {
            return facts;
        };
        let pair = (from.min(to), from.max(to));
        // Seen from the end that spoke first.
        let (first, connection, state) = node.observed.entry(pair).or_insert_with(|| {
            let connection = Connection::new(SocketId(0), from.port(), to, true);
            (from, connection, wire.new_state())
        });
        let context = connection.context(*first == from);
        wire.facts_in(&context, state, payload, &mut facts);
        facts
    }
}

fn os_error(code: i32) -> String {
    std::io::Error::from_raw_os_error(code).to_string()
}
