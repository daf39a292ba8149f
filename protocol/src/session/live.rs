//! Reels that are still recorded: what passes each node's boundary, as it comes.
//!
//! Nothing is known yet of a packet's other end, so that there is no fate, no number of a packet,
//! and no finding: those are the session's.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_reel::{
    Endpoint, Event, EventNumber, Header, Record, SendOutcome, SocketId, os_code_words,
};
use netreel_wire::{PacketFacts, Wire};

use super::ask::rpc::{Rpc, rpcs_in};
use super::facts::asking::{Asking, Of};
use super::facts::told::CHECKPOINTS;
use super::read::connections::payload;
use super::read::ends::Side;
use super::read::pass::Pass;
use super::who::bound::Bound;

/// The nodes that are followed.
pub struct Live {
    wire: Option<Arc<Wire>>,
    nodes: Vec<LiveNode>,
    bound: Bound,
    /// For each boot, added to a monotonic time it gives nanoseconds since 1970.
    clocks: BTreeMap<String, i128>,
    /// How many steps the wire's scripts took for the packets of all nodes.
    steps: u64,
    /// How many they may take.
    steps_max: u64,
    /// How many more with each packet.
    packet_steps: u64,
    unread: u64,
}

struct LiveNode {
    name: String,
    utc_offset_ns: i128,
    /// The time of its latest event.
    latest_ns: i128,
    /// The scan of its reel, which keeps no packets.
    pass: Pass,
    asking: Asking,
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
    Packet(LivePacket),
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

/// What is known of a packet of one node alone.
#[derive(Clone, Debug, PartialEq)]
pub struct LivePacket {
    /// Which way it went.
    pub way: LiveWay,
    /// Who sent it: a node's name, or an endpoint.
    pub from: String,
    /// To whom.
    pub to: String,
    /// Bytes of payload.
    pub length: usize,
    /// What the wire says of it; nothing without a wire.
    pub facts: Box<PacketFacts>,
    /// For each of its messages the RPC that it is, where the wire names it; empty where none is.
    pub rpcs: Vec<Option<Rpc>>,
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
            nodes: Vec::new(),
            bound: Bound::default(),
            clocks: BTreeMap::new(),
            steps: 0,
            steps_max: CHECKPOINTS.budget.steps,
            packet_steps: CHECKPOINTS.budget.packet_steps,
            unread: 0,
        }
    }

    /// The same, whose wire's scripts may take this many steps for all packets.
    pub fn with_steps(self, steps_max: u64) -> Live {
        Live {
            steps_max,
            packet_steps: 0,
            ..self
        }
    }

    /// How many packets were not read, because the wire's scripts had taken all steps that they may
    /// take for those before.
    pub fn unread(&self) -> u64 {
        self.unread
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
            pass: Pass::that_forgets(),
            asking: Asking::new(Default::default(), CHECKPOINTS),
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
        // The work is that of all nodes together, as in a session.
        let before = own.asking.steps();
        if let Event::SocketOpened { socket, .. } = record.event
            && let Some(&former) = own.pass.scan.sockets.get(&socket)
        {
            self.bound.closed(node, socket, former, utc_ns);
        }
        let is_packet = payload(&record.event).is_some();
        if is_packet {
            self.steps_max = self.steps_max.saturating_add(self.packet_steps);
        }
        let left = self.steps_max.saturating_sub(self.steps);
        own.asking.allow(before.saturating_add(left));
        let (facts, rpcs) = own.take(self.wire.as_deref(), record);
        self.steps = self.steps.saturating_add(own.asking.steps() - before);
        self.unread += u64::from(left == 0 && is_packet && self.wire.is_some());
        let own_name = || self.name(node).to_owned();
        let who = |endpoint| self.who(endpoint, utc_ns);
        let ends = match record.event {
            Event::Sent { to, .. } => Some((LiveWay::Sent, own_name(), who(to))),
            Event::Received { from, .. } => Some((LiveWay::Received, who(from), own_name())),
            Event::Seen { from, to, .. } => Some((LiveWay::Seen, who(from), who(to))),
            _ => None,
        };
        let what = match ends {
            Some((way, from, to)) => LiveWhat::Packet(LivePacket {
                way,
                from,
                to,
                length: payload(&record.event).map_or(0, <[u8]>::len),
                facts,
                rpcs,
            }),
            None => self.other(node, record, utc_ns)?,
        };
        Some(LiveEvent {
            node,
            event: record.number,
            utc_ns,
            what,
        })
    }

    /// What an event says that is no packet.
    fn other(&mut self, node: usize, record: &Record<'_>, utc_ns: i128) -> Option<LiveWhat> {
        Some(match record.event {
            Event::SocketOpened { socket, local } => {
                self.bound.opened(node, socket, local, utc_ns);
                return None;
            }
            Event::SocketClosed { socket } => {
                let own = self.nodes.get(node)?;
                let local = *own.pass.scan.sockets.get(&socket)?;
                self.bound.closed(node, socket, local, utc_ns);
                return None;
            }
            Event::SendResult { of, outcome } => LiveWhat::SendFailed {
                of,
                why: match outcome {
                    SendOutcome::Sent => return None,
                    SendOutcome::Short(taken) => format!("only {taken} bytes were taken"),
                    SendOutcome::Failed(code) => os_code_words(code),
                },
            },
            Event::Dropped { count } => LiveWhat::Lacks(format!("{count} events were dropped")),
            Event::CaptureDrops { count } => {
                LiveWhat::Lacks(format!("{count} packets passed unseen"))
            }
            Event::Switched { on: false } => LiveWhat::Lacks("switched off".to_owned()),
            Event::Switched { on: true } => LiveWhat::Lacks("switched on".to_owned()),
            Event::WriteFailed { code } => {
                LiveWhat::Lacks(format!("recording stopped: {}", os_code_words(code)))
            }
            _ => return None,
        })
    }

    /// Says that a node had a socket before the first of its events that is shown.
    pub fn opened_before(&mut self, node: usize, socket: SocketId, local: Endpoint) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.pass.scan.sockets.insert(socket, local);
        }
        let always = i128::from(i64::MIN);
        self.bound.opened(node, socket, local, always);
    }

    /// Says that no more events of a node will come.
    pub fn ended(&mut self, node: usize) {
        let latest_ns = self.nodes.get(node).map_or(0, |node| node.latest_ns);
        self.bound.ended(node, latest_ns);
    }

    /// The name of the node at an endpoint, or the endpoint.
    fn who(&self, endpoint: Endpoint, utc_ns: i128) -> String {
        match self.bound.at(endpoint, utc_ns) {
            Some(node) => self.name(node).to_owned(),
            None => endpoint.to_string(),
        }
    }
}

impl LiveNode {
    /// Scans an event, and asks the wire where it is a packet: what it says, and what RPCs that is.
    fn take(
        &mut self,
        wire: Option<&Wire>,
        record: &Record<'_>,
    ) -> (Box<PacketFacts>, Vec<Option<Rpc>>) {
        let taken: Option<(Side, _)> = self.pass.take(record);
        let (Some(wire), Some((side, raw)), Some(payload)) = (wire, taken, payload(&record.event))
        else {
            return Default::default();
        };
        let Some(of) = Of::end(side, &raw, &self.pass.scan, payload) else {
            return Default::default();
        };
        // A packet is decoded as it came: after those before it.
        let names = wire.has_field(None, Some("rpc_name"));
        let before = names.then(|| self.asking.before(wire, &raw));
        let facts = self.asking.say(wire, of);
        let is_rpc = facts.messages.iter().any(|it| it.rpc_name.is_some());
        let rpcs = before.filter(|_| is_rpc).map(|mut state| {
            let decoded = wire.decode_in(&of.context, &mut state, payload);
            rpcs_in(&decoded, &facts.messages)
        });
        (Box::new(facts.clone()), rpcs.unwrap_or_default())
    }
}
