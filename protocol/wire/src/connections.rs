//! The packets of a whole capture, one after the other: what each connection keeps is kept for it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::{Map, Value as Json};

use crate::context::Context;
use crate::encode::EncodeError;
use crate::facts::PacketFacts;
use crate::json::{bytes_of_hex, hex};
use crate::limits::{FILE_STEPS_MAX, PACKET_STEPS};
use crate::run::Change;
use crate::state::ConnectionState;
use crate::states::States;
use crate::wire::{Decoded, Wire};

/// Reads and writes packets in the order in which one node, or one wire, saw them. A connection is an
/// unordered pair of endpoints.
///
/// As JSON, a packet of a session is one object:
/// `{"from": "10.0.0.1:5000", "to": "10.0.0.2:27960", "packet": {...}, "bytes": "ff..."}`. `bytes` is
/// what the packet was; whoever edits the rest leaves it alone, so that all packets that come out
/// other than they were can be told: the edited one, and later ones that depend on what it left in
/// the connection's state.
#[derive(Clone, Debug)]
pub struct Connections<'w> {
    wire: &'w Wire,
    known: BTreeMap<(SocketAddr, SocketAddr), Connection>,
    states: States,
    steps_left: u64,
    /// How many more with each packet.
    packet_steps: u64,
    spent: Spent,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    first_from: SocketAddr,
    /// Its place among the states.
    place: usize,
}

/// What packets took more of than there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// How often a connection was forgotten, because the states of all took too much memory.
    pub forgotten: u64,
    /// How many packets were not read, because the scripts had taken too many steps for those before.
    pub unread: u64,
}

/// A packet that was made from a line of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedPacket {
    /// Where it comes from.
    pub from: SocketAddr,
    /// Where it goes.
    pub to: SocketAddr,
    /// The packet.
    pub bytes: Vec<u8>,
    /// Derived fields that came out other than the JSON said.
    pub changes: Vec<Change>,
    /// The line as the packet reads now.
    pub line: Json,
    /// Whether the packet is not what its line said: other bytes than `bytes`, or fields that read
    /// otherwise, because it was edited or because it depends on a packet that was.
    pub differs: bool,
}

impl Decoded {
    /// The packet as a line of a session's JSON, as [`Connections::encode`] reads it.
    pub fn to_session_json(&self, from: SocketAddr, to: SocketAddr, packet: &[u8]) -> Json {
        let mut line = Map::new();
        line.insert("from".to_owned(), Json::String(from.to_string()));
        line.insert("to".to_owned(), Json::String(to.to_string()));
        if let Json::Object(fields) = self.to_json() {
            line.extend(fields);
        }
        line.insert("bytes".to_owned(), hex(packet));
        Json::Object(line)
    }
}

impl<'w> Connections<'w> {
    /// Before the first packet.
    pub fn new(wire: &'w Wire) -> Connections<'w> {
        Connections {
            wire,
            known: BTreeMap::new(),
            states: States::new(States::BYTES_MAX),
            steps_left: FILE_STEPS_MAX,
            packet_steps: PACKET_STEPS,
            spent: Spent::default(),
        }
    }

    /// The same with less of what there is, and no more with each packet.
    pub fn with_limits(mut self, states_bytes_max: usize, steps: u64) -> Connections<'w> {
        self.states = States::new(states_bytes_max);
        self.steps_left = steps;
        self.packet_steps = 0;
        self
    }

    /// What packets took more of than there is.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// Every field of the next packet.
    pub fn decode(&mut self, from: SocketAddr, to: SocketAddr, packet: &[u8]) -> Decoded {
        let wire = self.wire;
        if self.is_spent() {
            return wire.unread(packet);
        }
        let (place, context, state) = self.connection(from, to);
        let decoded = wire.decode_in(&context, state, packet);
        self.took(place, decoded.facts.charged());
        decoded
    }

    /// The facts of the next packet.
    pub fn facts(
        &mut self,
        from: SocketAddr,
        to: SocketAddr,
        packet: &[u8],
        out: &mut PacketFacts,
    ) {
        let wire = self.wire;
        if self.is_spent() {
            return wire.unread_facts(packet, out);
        }
        let (place, context, state) = self.connection(from, to);
        wire.facts_in(&context, state, packet, out);
        self.took(place, out.charged());
    }

    /// Whether the next packet is not read.
    fn is_spent(&mut self) -> bool {
        self.steps_left = self.steps_left.saturating_add(self.packet_steps);
        let is_spent = self.steps_left == 0;
        self.spent.unread += u64::from(is_spent);
        is_spent
    }

    /// A packet of a connection took this many steps.
    fn took(&mut self, place: usize, steps: u64) {
        self.steps_left = self.steps_left.saturating_sub(steps);
        if self.wire.has_state() {
            self.spent.forgotten += self.states.changed(place).len() as u64;
        }
    }

    /// The next packet as a line of a session's JSON.
    pub fn to_json(&mut self, from: SocketAddr, to: SocketAddr, packet: &[u8]) -> Json {
        let decoded = self.decode(from, to, packet);
        decoded.to_session_json(from, to, packet)
    }

    /// The next packet from its line.
    ///
    /// # Errors
    /// Where the JSON does not fit the wire. The connection's state stays what it was.
    pub fn encode(&mut self, line: &Json) -> Result<EncodedPacket, EncodeError> {
        let Json::Object(parts) = line else {
            let why = format!("expected {{...}}, found {line}");
            return Err(EncodeError::at("", why));
        };
        let endpoint = |key: &str| {
            let text = parts.get(key).and_then(Json::as_str).unwrap_or_default();
            text.parse::<SocketAddr>().map_err(|_| {
                let why = "expected an address and a port, such as \"10.0.0.1:5000\"";
                EncodeError::at(key, why)
            })
        };
        let (from, to) = (endpoint("from")?, endpoint("to")?);
        let was = parts.get("bytes").map(bytes_of_hex).transpose();
        let was = was.map_err(|why| EncodeError::at("bytes", why))?;
        let about = ["number", "time", "from", "to", "bytes", "diagnostics"];
        let packet = parts
            .iter()
            .filter(|(key, _)| !about.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()));
        let packet = Json::Object(packet.collect());
        let wire = self.wire;
        let (place, context, state) = self.connection(from, to);
        let mut before = state.clone();
        let encoded = wire.encode_in(&context, state, &packet)?;
        let reads = wire
            .decode_in(&context, &mut before, &encoded.bytes)
            .to_json();
        self.took(place, 0);
        let differs = was.is_some_and(|was| was != encoded.bytes) || !says(&reads, &packet);
        let mut line = parts.clone();
        if let Json::Object(reads) = reads {
            line.retain(|key, _| about.contains(&key.as_str()));
            line.extend(reads);
        }
        line.insert("bytes".to_owned(), hex(&encoded.bytes));
        Ok(EncodedPacket {
            from,
            to,
            bytes: encoded.bytes,
            changes: encoded.changes,
            line: Json::Object(line),
            differs,
        })
    }

    fn connection(
        &mut self,
        from: SocketAddr,
        to: SocketAddr,
    ) -> (usize, Context, &mut ConnectionState) {
        let wire = self.wire;
        let key = if from <= to { (from, to) } else { (to, from) };
        let place = self.known.len();
        let connection = *self.known.entry(key).or_insert(Connection {
            first_from: from,
            place,
        });
        let context = Context {
            source_port: from.port(),
            destination_port: to.port(),
            from_first: from == connection.first_from,
        };
        let state = self.states.of(wire, connection.place);
        (connection.place, context, state)
    }
}

/// Whether a packet reads as its line says: what the line leaves out does not count, and neither does
/// how a program on the way has spelled a number.
fn says(reads: &Json, line: &Json) -> bool {
    match (reads, line) {
        (Json::Object(reads), Json::Object(line)) => line
            .iter()
            .all(|(key, value)| reads.get(key).is_some_and(|it| says(it, value))),
        (Json::Array(reads), Json::Array(line)) => {
            reads.len() == line.len() && reads.iter().zip(line).all(|(a, b)| says(a, b))
        }
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        // A value in one of its shorter spellings.
        (Json::Object(reads), _) => ["value", "raw"]
            .iter()
            .any(|key| reads.get(*key).is_some_and(|it| says(it, line))),
        _ => reads == line,
    }
}
