//! What the game can ask of the layer, in bytes that a recording keeps.

use std::fmt;

use crate::bits::{BitReader, BitWriter, Malformed};
use crate::message::{Argument, ObjectId, Peer, read_rpc, read_text, write_rpc, write_text};
use crate::types::Value;

/// One call of the game into the layer.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Creates an object that this node owns; its id is
    /// [`NetLayer::next_object`](crate::NetLayer::next_object) before the call.
    Spawn {
        /// The number of its type.
        kind: u8,
        /// A value for each field of the type.
        values: Vec<Value>,
    },
    /// Sets a field of an object that this node owns.
    Set {
        /// Which object.
        object: ObjectId,
        /// The place of the field in the type.
        field: u8,
        /// The new value.
        value: Value,
    },
    /// Destroys an object that this node owns.
    Destroy {
        /// Which object.
        object: ObjectId,
    },
    /// Asks HOST to be made the owner of an object.
    Request {
        /// Which object.
        object: ObjectId,
    },
    /// HOST alone: makes a peer the owner of an object.
    Migrate {
        /// Which object.
        object: ObjectId,
        /// Its new owner.
        to: Peer,
    },
    /// Calls a procedure of other peers.
    Rpc {
        /// One peer, or everybody.
        ///
        /// In client-server a client's call goes to the server, who relays it to everybody where
        /// it is reliable and keeps it for itself where it is not; there a client's call to one
        /// peer is refused, [`OnlyToAll`](crate::Refusal::OnlyToAll), but for an unreliable one
        /// to HOST. HOST itself can call anyone.
        to: Option<Peer>,
        /// Unreliable calls are sent once; the events `Arrived` and `Lost` tell what became of
        /// them.
        reliable: bool,
        /// The procedure: at most 255 bytes.
        name: String,
        /// At most 15.
        arguments: Vec<Argument>,
    },
    /// Leaves the session. When HOST leaves, it ends.
    Leave,
    /// Turns all time-outs off or on. What was silent before they are turned on is given its whole
    /// time from then.
    TimeOuts {
        /// Whether they are on from now.
        on: bool,
    },
}

impl Call {
    /// The bytes of the call.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = BitWriter::new();
        match self {
            Call::Spawn { kind, values } => {
                out.bits(0, 4);
                out.bits(u64::from(*kind), 4);
                out.leb128(values.len() as u64);
                values.iter().for_each(|value| write_value(value, &mut out));
            }
            Call::Set {
                object,
                field,
                value,
            } => {
                out.bits(1, 4);
                out.leb128(object.0);
                out.bits(u64::from(*field), 8);
                write_value(value, &mut out);
            }
            Call::Destroy { object } => {
                out.bits(2, 4);
                out.leb128(object.0);
            }
            Call::Request { object } => {
                out.bits(3, 4);
                out.leb128(object.0);
            }
            Call::Migrate { object, to } => {
                out.bits(4, 4);
                out.leb128(object.0);
                out.bits(u64::from(to.0), 4);
            }
            Call::Rpc {
                to,
                reliable,
                name,
                arguments,
            } => {
                out.bits(5, 4);
                out.flag(to.is_some());
                out.bits(to.map_or(0, |peer| u64::from(peer.0)), 4);
                out.flag(*reliable);
                write_rpc(name, arguments, &mut out);
            }
            Call::Leave => out.bits(6, 4),
            Call::TimeOuts { on } => {
                out.bits(7, 4);
                out.flag(*on);
            }
        }
        out.finish()
    }

    /// Reads what [`encode`](Call::encode) wrote.
    pub fn decode(bytes: &[u8]) -> Result<Call, Malformed> {
        let mut bits = BitReader::new(bytes);
        let call = match bits.bits(4)? {
            0 => {
                let kind = bits.bits(4)? as u8;
                let count = bits.leb128()?;
                let values = (0..count)
                    .map(|_| read_value(&mut bits))
                    .collect::<Result<_, _>>()?;
                Call::Spawn { kind, values }
            }
            1 => Call::Set {
                object: ObjectId(bits.leb128()?),
                field: bits.byte()?,
                value: read_value(&mut bits)?,
            },
            2 => Call::Destroy {
                object: ObjectId(bits.leb128()?),
            },
            3 => Call::Request {
                object: ObjectId(bits.leb128()?),
            },
            4 => Call::Migrate {
                object: ObjectId(bits.leb128()?),
                to: Peer(bits.bits(4)? as u8),
            },
            5 => {
                let to_one = bits.flag()?;
                let to = Peer(bits.bits(4)? as u8);
                let reliable = bits.flag()?;
                let (name, arguments) = read_rpc(&mut bits)?;
                Call::Rpc {
                    to: to_one.then_some(to),
                    reliable,
                    name,
                    arguments,
                }
            }
            6 => Call::Leave,
            7 => Call::TimeOuts { on: bits.flag()? },
            _ => return Err(bits.malformed("a call that nobody knows")),
        };
        bits.end()?;
        Ok(call)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Spawn { kind, values } => {
                write!(f, "spawn type {kind} (")?;
                listed(values, f)?;
                f.write_str(")")
            }
            Call::Set {
                object,
                field,
                value,
            } => write!(f, "set {} field {field} = {value}", object.0),
            Call::Destroy { object } => write!(f, "destroy {}", object.0),
            Call::Request { object } => write!(f, "request {}", object.0),
            Call::Migrate { object, to } => write!(f, "migrate {} to peer {}", object.0, to.0),
            Call::Rpc {
                to,
                reliable,
                name,
                arguments,
            } => {
                let how = if *reliable { "" } else { "unreliable " };
                write!(f, "{how}rpc {}(", name.escape_debug())?;
                listed(arguments, f)?;
                match to {
                    Some(peer) => write!(f, ") to peer {}", peer.0),
                    None => f.write_str(") to all"),
                }
            }
            Call::Leave => f.write_str("leave"),
            Call::TimeOuts { on: true } => f.write_str("time-outs on"),
            Call::TimeOuts { on: false } => f.write_str("time-outs off"),
        }
    }
}

fn listed(values: &[impl fmt::Display], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{value}")?;
    }
    Ok(())
}

fn write_value(value: &Value, out: &mut BitWriter) {
    match value {
        Value::Number(number) => {
            out.bits(0, 2);
            out.bits(number.to_bits(), 64);
        }
        Value::Vector(numbers) => {
            out.bits(1, 2);
            out.leb128(numbers.len() as u64);
            numbers
                .iter()
                .for_each(|number| out.bits(number.to_bits(), 64));
        }
        Value::Integer(number) => {
            out.bits(2, 2);
            out.zigzag(*number);
        }
        Value::Text(text) => {
            out.bits(3, 2);
            write_text(text, 16, out);
        }
    }
}

fn read_value(bits: &mut BitReader<'_>) -> Result<Value, Malformed> {
    Ok(match bits.bits(2)? {
        0 => Value::Number(f64::from_bits(bits.bits(64)?)),
        1 => {
            let count = bits.leb128()?;
            let number = |_| bits.bits(64).map(f64::from_bits);
            Value::Vector((0..count).map(number).collect::<Result<_, _>>()?)
        }
        2 => Value::Integer(bits.zigzag()?),
        _ => Value::Text(read_text(16, bits)?),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_call_is_read_as_it_was_written() {
        let object = ObjectId(300);
        let values = vec![
            Value::Vector(vec![1.0, -0.1, f64::MAX]),
            Value::Number(0.1),
            Value::Integer(-7),
            Value::Text("Zoë".into()),
        ];
        let arguments = vec![Argument::Int(3), Argument::Text("x".repeat(3000))];
        let name = "speech".to_owned();
        for call in [
            Call::Spawn { kind: 1, values },
            Call::Set {
                object,
                field: 2,
                value: Value::Number(-1.5),
            },
            Call::Destroy { object },
            Call::Request { object },
            Call::Migrate {
                object,
                to: Peer(15),
            },
            Call::Rpc {
                to: None,
                reliable: true,
                name: name.clone(),
                arguments,
            },
            Call::Rpc {
                to: Some(Peer(3)),
                reliable: false,
                name,
                arguments: vec![],
            },
            Call::Leave,
            Call::TimeOuts { on: true },
            Call::TimeOuts { on: false },
        ] {
            assert_eq!(Call::decode(&call.encode()), Ok(call));
        }
    }

    #[test]
    fn a_call_in_words() {
        let object = ObjectId(42);
        let value = Value::Vector(vec![1.0, -0.5]);
        let field = 0;
        let set = Call::Set {
            object,
            field,
            value,
        };
        assert_eq!(set.to_string(), "set 42 field 0 = (1, -0.5)");
        let rpc = Call::Rpc {
            to: Some(Peer(3)),
            reliable: false,
            name: "say".into(),
            arguments: vec![Argument::Int(1), Argument::Text("a\nb".into())],
        };
        assert_eq!(
            rpc.to_string(),
            "unreliable rpc say(1, \"a\\nb\") to peer 3"
        );
    }

    #[test]
    fn bytes_that_are_no_call_are_refused() {
        assert!(Call::decode(&[]).is_err());
        assert!(Call::decode(&[0xFF]).is_err());
        assert!(Call::decode(&[6, 0]).is_err(), "something is left over");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Call::decode(&bytes);
        }
    }
}
