//! What the game can ask of the layer, in bytes that a recording keeps.

use std::fmt;

use crate::bits::{BitReader, BitWriter, Malformed};
use crate::message::{Argument, ObjectId, Peer};
use crate::travels::{Bits, Plain, Way, kinds_travel, travel_as};
use crate::types::{NO_TYPES, Types, Value};

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
        Plain.write(self, &NO_TYPES, &mut out);
        out.finish()
    }

    /// Reads what [`encode`](Call::encode) wrote.
    pub fn decode(bytes: &[u8]) -> Result<Call, Malformed> {
        let mut bits = BitReader::new(bytes);
        let call = Plain.read(&NO_TYPES, &mut bits)?;
        bits.end()?;
        Ok(call)
    }
}

kinds_travel! {
    Call in 4 bits, or "a call that nobody knows":
    0 Spawn { kind as Bits(4), values }
    1 Set { object, field as Bits(8), value }
    2 Destroy { object }
    3 Request { object }
    4 Migrate { object, to }
    5 Rpc { to as OneOrAll, reliable, name as Bits(8), arguments as Bits(4) }
    6 Leave {}
    7 TimeOuts { on }
}

kinds_travel! {
    Value in 2 bits, or "a kind of value that nobody knows":
    0 Number { 0: number }
    1 Vector { 0: numbers }
    2 Integer { 0: number }
    3 Text { 0: text as Bits(16) }
}

/// The way of a peer that may be all: there is room for a number in any case.
struct OneOrAll;

travel_as! {
    OneOrAll, Option<Peer>: |_, it, types, out| {
        let one = (it.is_some(), it.unwrap_or(Peer(0)));
        Plain.write(&one, types, out);
    }, |types, bits| {
        let (is_one, peer): (bool, Peer) = Plain.read(types, bits)?;
        Ok(is_one.then_some(peer))
    };
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
