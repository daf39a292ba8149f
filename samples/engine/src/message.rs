//! Messages, as `samples/wires/boxes.wire` lays them out.

use std::borrow::Borrow;
use std::fmt;

use crate::bits::{BitReader, BitWriter, Malformed};
use crate::mode::Topology;
use crate::travels::{Bits, Plain, Way, kinds_travel, travel_as};
use crate::types::{ObjectType, Types, Value};

/// A peer's number in the session; HOST is 0. At most 15.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Peer(pub u8);

/// The name of a peer: HOST, A, B, X, then C, D, E and so on.
pub fn node_name(peer: Peer) -> String {
    match peer.0 {
        0 => "HOST".to_owned(),
        1 => "A".to_owned(),
        2 => "B".to_owned(),
        3 => "X".to_owned(),
        number => {
            let letter = b'C'.saturating_add(number - 4);
            char::from(letter).to_string()
        }
    }
}

/// A replicated object's id. Never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u64);

/// How often an object has migrated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Counter(pub u64);

impl Peer {
    /// The peer that runs the session.
    pub const HOST: Peer = Peer(0);
}

/// One unit inside a packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who said it first.
    pub origin: Peer,
    /// The place in the reliable stream of the link; `None` for an unreliable message.
    pub reliable: Option<u16>,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the fields are named as in the wire
pub enum Body {
    /// I am here.
    Connect {
        version: u8,
        topology: Topology,
        name: String,
    },
    /// The origin has left.
    Leave,
    /// An object lives.
    Create {
        object: ObjectId,
        counter: Option<Counter>,
        owner: Peer,
        state: State,
    },
    /// Fields of it have changed.
    Update {
        object: ObjectId,
        counter: Option<Counter>,
        kind: u8,
        changes: Vec<Option<Value>>,
    },
    /// It lives no more.
    Destroy {
        object: ObjectId,
        counter: Option<Counter>,
    },
    /// It has a new owner.
    Migrate(Migration),
    /// HOST to the new owner: take it.
    Order(Migration),
    /// To HOST: let me own it.
    Request { object: ObjectId },
    /// HOST to all: it has a new owner. Creates nothing.
    Assign {
        object: ObjectId,
        new_owner: Peer,
        counter: Counter,
    },
    /// The origin knows of the object's owner at this counter.
    Confirm { object: ObjectId, counter: Counter },
    /// A remote procedure call.
    Rpc {
        name: String,
        arguments: Vec<Argument>,
    },
    /// A piece of a message too large for a packet.
    Fragment { index: u8, total: u8, data: Vec<u8> },
}

/// A change of owner. `full` where [`Mode::migrate_creates`](crate::Mode): enough to create what does not
/// exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Migration {
    /// Which object.
    pub object: ObjectId,
    /// Who owns it from now on.
    pub new_owner: Peer,
    /// The counter and everything that the object is.
    pub full: Option<(Counter, State)>,
}

/// All of an object's fields.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The number of its type.
    pub kind: u8,
    /// In the order of the type's fields.
    pub values: Vec<Value>,
}

impl State {
    /// A number that is equal where the fields are, and hardly ever where they are not.
    pub(crate) fn number(&self) -> u64 {
        let values = self.values.iter();
        values.fold(u64::from(self.kind), |before, value| {
            value.mixed_into(before)
        })
    }
}

/// An argument of an RPC.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Argument {
    Int(i64),
    Float(f32),
    Bool(bool),
    Text(String),
    Object(ObjectId),
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Int(number) => write!(f, "{number}"),
            Argument::Float(number) => write!(f, "{number}"),
            Argument::Bool(yes) => write!(f, "{yes}"),
            Argument::Text(text) => write!(f, "{text:?}"),
            Argument::Object(object) => write!(f, "object {}", object.0),
        }
    }
}

impl Message {
    /// One that has no place in a reliable stream yet.
    pub(crate) fn new(origin: Peer, body: Body) -> Message {
        Message {
            origin,
            reliable: None,
            body,
        }
    }

    /// Writes the message. Names are cut to 255 bytes, arguments to 15 and their texts to 65 535.
    pub fn write(&self, types: &Types, out: &mut BitWriter) {
        out.bits(self.body.number(), 4);
        out.flag(self.reliable.is_some());
        out.bits(u64::from(self.origin.0), 4);
        if let Some(sequence) = self.reliable {
            out.bits(u64::from(sequence), 16);
        }
        self.body.write_fields(types, out);
    }

    /// Reads one message.
    pub fn read(types: &Types, bits: &mut BitReader<'_>) -> Result<Message, Malformed> {
        let number = bits.bits(4)?;
        let reliable = bits.flag()?;
        let origin = Peer(bits.bits(4)? as u8);
        let reliable = reliable.then(|| bits.short()).transpose()?;
        Ok(Message {
            origin,
            reliable,
            body: Body::read_fields(number, types, bits)?,
        })
    }
}

kinds_travel! {
    Body in 4 bits, or "a kind of message that nobody knows":
    0 Connect { version as Bits(8), topology, name as Bits(8) }
    1 Leave {}
    2 Create { object, counter, owner, state }
    3 Update { object, counter, kind as Bits(4), changes as ChangesOf::kind(kind) }
    4 Destroy { object, counter }
    5 Migrate { 0: migration }
    6 Order { 0: migration }
    7 Request { object }
    8 Rpc { name as Bits(8), arguments as Bits(4) }
    9 Fragment { index as Bits(8), total as Bits(8), data as Bits(16) }
    10 Assign { object, new_owner, counter }
    11 Confirm { object, counter }
}

kinds_travel! {
    Argument in 3 bits, or "a kind of argument that nobody knows":
    0 Int { 0: number }
    1 Float { 0: number }
    2 Bool { 0: yes }
    3 Text { 0: text as Bits(16) }
    4 Object { 0: object }
}

travel_as! {
    Plain, ObjectId: |_, it, _, out| out.leb128(it.0), |_, bits| bits.leb128().map(ObjectId);
    Plain, Counter: |_, it, _, out| out.leb128(it.0), |_, bits| bits.leb128().map(Counter);
    Plain, Peer: |_, it, _, out| out.bits(it.0.into(), 4), |_, bits| Ok(Peer(bits.bits(4)? as u8));
    Bits, Vec<Argument>: |own, it, types, out| {
        let all = it.get(..own.most()).unwrap_or(it);
        out.bits(all.len() as u64, own.0);
        all.iter().for_each(|it| Plain.write(it, types, out));
    }, |types, bits| {
        let count = bits.bits(own.0)?;
        (0..count).map(|_| Plain.read(types, bits)).collect()
    };
    Plain, Migration: |_, it, types, out| {
        Plain.write(&it.object, types, out);
        Plain.write(&it.new_owner, types, out);
        Plain.write(&it.full, types, out);
    }, |types, bits| Ok(Migration {
        object: Plain.read(types, bits)?,
        new_owner: Plain.read(types, bits)?,
        full: Plain.read(types, bits)?,
    });
    Plain, State: |_, it, types, out| {
        out.bits(u64::from(it.kind), 4);
        if let Some(object_type) = types.get(it.kind) {
            object_type.write(&it.values, out);
        }
    }, |types, bits| {
        let kind = bits.bits(4)? as u8;
        let values = declared(kind, types, bits)?.read(bits)?;
        Ok(State { kind, values })
    };
    ChangesOf, Vec<Option<Value>>: |own, it, types, out| {
        if let Some(object_type) = types.get(own.0) {
            object_type.write_changes(it, out);
        }
    }, |types, bits| declared(own.0, types, bits)?.read_changes(bits);
}

/// The way of changes to an object of this type.
struct ChangesOf(u8);

impl ChangesOf {
    fn kind(kind: impl Borrow<u8>) -> ChangesOf {
        ChangesOf(*kind.borrow())
    }
}

fn declared<'t>(
    kind: u8,
    types: &'t Types,
    bits: &BitReader<'_>,
) -> Result<&'t ObjectType, Malformed> {
    let known = types.get(kind);
    known.ok_or_else(|| bits.malformed("an object type that nobody declared"))
}
