//! Messages, as `samples/wires/boxes.wire` lays them out.

use std::fmt;

use crate::bits::{BitReader, BitWriter, Malformed};
use crate::mode::Topology;
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

const CONNECT: u64 = 0;
const LEAVE: u64 = 1;
const CREATE: u64 = 2;
const UPDATE: u64 = 3;
const DESTROY: u64 = 4;
const MIGRATE: u64 = 5;
const ORDER: u64 = 6;
const REQUEST: u64 = 7;
const RPC: u64 = 8;
const FRAGMENT: u64 = 9;
const ASSIGN: u64 = 10;
const CONFIRM: u64 = 11;

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
        out.bits(self.body.code(), 4);
        out.flag(self.reliable.is_some());
        out.bits(u64::from(self.origin.0), 4);
        if let Some(sequence) = self.reliable {
            out.bits(u64::from(sequence), 16);
        }
        self.body.write(types, out);
    }

    /// Reads one message.
    pub fn read(types: &Types, bits: &mut BitReader<'_>) -> Result<Message, Malformed> {
        let code = bits.bits(4)?;
        let reliable = bits.flag()?;
        let origin = Peer(bits.bits(4)? as u8);
        let reliable = reliable.then(|| bits.short()).transpose()?;
        Ok(Message {
            origin,
            reliable,
            body: Body::read(code, types, bits)?,
        })
    }
}

impl Body {
    fn code(&self) -> u64 {
        match self {
            Body::Connect { .. } => CONNECT,
            Body::Leave => LEAVE,
            Body::Create { .. } => CREATE,
            Body::Update { .. } => UPDATE,
            Body::Destroy { .. } => DESTROY,
            Body::Migrate(_) => MIGRATE,
            Body::Order(_) => ORDER,
            Body::Request { .. } => REQUEST,
            Body::Rpc { .. } => RPC,
            Body::Fragment { .. } => FRAGMENT,
            Body::Assign { .. } => ASSIGN,
            Body::Confirm { .. } => CONFIRM,
        }
    }

    fn write(&self, types: &Types, out: &mut BitWriter) {
        match self {
            Body::Connect {
                version,
                topology,
                name,
            } => {
                out.bits(u64::from(*version), 8);
                out.flag(*topology == Topology::ClientServer);
                write_text(name, 8, out);
            }
            Body::Leave => {}
            Body::Create {
                object,
                counter,
                owner,
                state,
            } => {
                out.leb128(object.0);
                write_counter(*counter, out);
                out.bits(u64::from(owner.0), 4);
                state.write(types, out);
            }
            Body::Update {
                object,
                counter,
                kind,
                changes,
            } => {
                out.leb128(object.0);
                write_counter(*counter, out);
                out.bits(u64::from(*kind), 4);
                if let Some(object_type) = types.get(*kind) {
                    object_type.write_changes(changes, out);
                }
            }
            Body::Destroy { object, counter } => {
                out.leb128(object.0);
                write_counter(*counter, out);
            }
            Body::Migrate(migration) | Body::Order(migration) => migration.write(types, out),
            Body::Request { object } => out.leb128(object.0),
            Body::Assign {
                object,
                new_owner,
                counter,
            } => {
                out.leb128(object.0);
                out.bits(u64::from(new_owner.0), 4);
                out.leb128(counter.0);
            }
            Body::Confirm { object, counter } => {
                out.leb128(object.0);
                out.leb128(counter.0);
            }
            Body::Rpc { name, arguments } => {
                write_rpc(name, arguments, out);
            }
            Body::Fragment { index, total, data } => {
                out.bits(u64::from(*index), 8);
                out.bits(u64::from(*total), 8);
                let data = data.get(..usize::from(u16::MAX)).unwrap_or(data);
                out.bits(data.len() as u64, 16);
                out.bytes(data);
            }
        }
    }

    fn read(code: u64, types: &Types, bits: &mut BitReader<'_>) -> Result<Body, Malformed> {
        Ok(match code {
            CONNECT => {
                let version = bits.byte()?;
                let topology = match bits.flag()? {
                    true => Topology::ClientServer,
                    false => Topology::PeerToPeer,
                };
                Body::Connect {
                    version,
                    topology,
                    name: read_text(8, bits)?,
                }
            }
            LEAVE => Body::Leave,
            CREATE => Body::Create {
                object: ObjectId(bits.leb128()?),
                counter: read_counter(bits)?,
                owner: Peer(bits.bits(4)? as u8),
                state: State::read(types, bits)?,
            },
            UPDATE => {
                let object = ObjectId(bits.leb128()?);
                let counter = read_counter(bits)?;
                let kind = bits.bits(4)? as u8;
                Body::Update {
                    object,
                    counter,
                    kind,
                    changes: declared(kind, types, bits)?.read_changes(bits)?,
                }
            }
            DESTROY => Body::Destroy {
                object: ObjectId(bits.leb128()?),
                counter: read_counter(bits)?,
            },
            MIGRATE => Body::Migrate(Migration::read(types, bits)?),
            ORDER => Body::Order(Migration::read(types, bits)?),
            REQUEST => Body::Request {
                object: ObjectId(bits.leb128()?),
            },
            ASSIGN => Body::Assign {
                object: ObjectId(bits.leb128()?),
                new_owner: Peer(bits.bits(4)? as u8),
                counter: Counter(bits.leb128()?),
            },
            CONFIRM => Body::Confirm {
                object: ObjectId(bits.leb128()?),
                counter: Counter(bits.leb128()?),
            },
            RPC => {
                let (name, arguments) = read_rpc(bits)?;
                Body::Rpc { name, arguments }
            }
            FRAGMENT => {
                let (index, total) = (bits.byte()?, bits.byte()?);
                let length = bits.short()?;
                Body::Fragment {
                    index,
                    total,
                    data: bits.bytes(usize::from(length))?,
                }
            }
            _ => return Err(bits.malformed("a kind of message that nobody knows")),
        })
    }
}

impl Migration {
    fn write(&self, types: &Types, out: &mut BitWriter) {
        out.leb128(self.object.0);
        out.bits(u64::from(self.new_owner.0), 4);
        out.flag(self.full.is_some());
        if let Some((counter, state)) = &self.full {
            out.leb128(counter.0);
            state.write(types, out);
        }
    }

    fn read(types: &Types, bits: &mut BitReader<'_>) -> Result<Migration, Malformed> {
        let object = ObjectId(bits.leb128()?);
        let new_owner = Peer(bits.bits(4)? as u8);
        let full = if bits.flag()? {
            Some((Counter(bits.leb128()?), State::read(types, bits)?))
        } else {
            None
        };
        Ok(Migration {
            object,
            new_owner,
            full,
        })
    }
}

impl State {
    fn write(&self, types: &Types, out: &mut BitWriter) {
        out.bits(u64::from(self.kind), 4);
        if let Some(object_type) = types.get(self.kind) {
            object_type.write(&self.values, out);
        }
    }

    fn read(types: &Types, bits: &mut BitReader<'_>) -> Result<State, Malformed> {
        let kind = bits.bits(4)? as u8;
        let values = declared(kind, types, bits)?.read(bits)?;
        Ok(State { kind, values })
    }
}

impl Argument {
    /// Writes the argument: three bits of kind, then the value.
    pub(crate) fn write(&self, out: &mut BitWriter) {
        match self {
            Argument::Int(value) => {
                out.bits(0, 3);
                out.zigzag(*value);
            }
            Argument::Float(value) => {
                out.bits(1, 3);
                out.bits(u64::from(value.to_bits()), 32);
            }
            Argument::Bool(value) => {
                out.bits(2, 3);
                out.flag(*value);
            }
            Argument::Text(value) => {
                out.bits(3, 3);
                write_text(value, 16, out);
            }
            Argument::Object(value) => {
                out.bits(4, 3);
                out.leb128(value.0);
            }
        }
    }

    /// Reads what [`write`](Argument::write) wrote.
    pub(crate) fn read(bits: &mut BitReader<'_>) -> Result<Argument, Malformed> {
        Ok(match bits.bits(3)? {
            0 => Argument::Int(bits.zigzag()?),
            1 => Argument::Float(f32::from_bits(bits.bits(32)? as u32)),
            2 => Argument::Bool(bits.flag()?),
            3 => Argument::Text(read_text(16, bits)?),
            4 => Argument::Object(ObjectId(bits.leb128()?)),
            _ => return Err(bits.malformed("a kind of argument that nobody knows")),
        })
    }
}

fn write_counter(counter: Option<Counter>, out: &mut BitWriter) {
    out.flag(counter.is_some());
    if let Some(counter) = counter {
        out.leb128(counter.0);
    }
}

fn read_counter(bits: &mut BitReader<'_>) -> Result<Option<Counter>, Malformed> {
    let is_there = bits.flag()?;
    is_there.then(|| bits.leb128().map(Counter)).transpose()
}

fn declared<'t>(
    kind: u8,
    types: &'t Types,
    bits: &BitReader<'_>,
) -> Result<&'t ObjectType, Malformed> {
    let known = types.get(kind);
    known.ok_or_else(|| bits.malformed("an object type that nobody declared"))
}

/// Writes the name of a procedure, and the arguments of its call.
pub(crate) fn write_rpc(name: &str, arguments: &[Argument], out: &mut BitWriter) {
    write_text(name, 8, out);
    let arguments = arguments.get(..15).unwrap_or(arguments);
    out.bits(arguments.len() as u64, 4);
    arguments.iter().for_each(|argument| argument.write(out));
}

/// Reads what [`write_rpc`] wrote.
pub(crate) fn read_rpc(bits: &mut BitReader<'_>) -> Result<(String, Vec<Argument>), Malformed> {
    let name = read_text(8, bits)?;
    let count = bits.bits(4)?;
    let arguments = (0..count).map(|_| Argument::read(bits));
    Ok((name, arguments.collect::<Result<_, _>>()?))
}

/// Writes a length of `length_bits` bits and as much of the text as that can say.
pub(crate) fn write_text(text: &str, length_bits: u32, out: &mut BitWriter) {
    let most = (1usize << length_bits) - 1;
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    out.bits(end as u64, length_bits);
    out.bytes(&text.as_bytes()[..end]);
}

/// Reads what [`write_text`] wrote.
pub(crate) fn read_text(length_bits: u32, bits: &mut BitReader<'_>) -> Result<String, Malformed> {
    let length = bits.bits(length_bits)?;
    bits.text(length as usize)
}
