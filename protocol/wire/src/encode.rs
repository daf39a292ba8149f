//! JSON to a packet.

use std::fmt;

use serde_json::Value as Json;

use crate::context::Context;
use crate::facts::{PacketFacts, ProtocolId};
use crate::json::{Instead, bytes_of_rest};
use crate::run::{Change, Entry, Source, Written, write};
use crate::state::ConnectionState;
use crate::suggest;
use crate::tree::TreeNode;
use crate::wire::{Decoded, Wire};

/// A packet made from JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encoded {
    /// The packet.
    pub bytes: Vec<u8>,
    /// Derived fields that came out other than the JSON said, in wire order.
    pub changes: Vec<Change>,
}

/// JSON that is no packet of this wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// Each with the path of the field that it is about; at least one.
    pub problems: Vec<(String, String)>,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (path, why)) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            match path.as_str() {
                "" => f.write_str(why)?,
                path => write!(f, "{path}: {why}")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for EncodeError {}

impl EncodeError {
    /// One problem of one field.
    pub(crate) fn at(path: &str, why: impl Into<String>) -> EncodeError {
        EncodeError {
            problems: vec![(path.to_owned(), why.into())],
        }
    }
}

/// What a packet's JSON is.
const SHAPE: &str = "a packet is an object with `packet` and `rest`";

impl Decoded {
    /// The packet as JSON, from which [`Wire::encode`] makes the same bytes.
    pub fn to_json(&self) -> Json {
        crate::json::packet(&self.tree, &|_| None)
    }

    /// The same, with other bytes or numbers where `instead` has some. It is asked of fields for which
    /// [`TreeNode::can_be_blank`] holds; other fields, such as those that are worked out from others,
    /// follow when the packet is written.
    pub fn to_other_json(&self, instead: &dyn Fn(TreeNode<'_>) -> Option<Instead>) -> Json {
        crate::json::packet(&self.tree, instead)
    }
}

/// Bytes, and how many bits of them.
type Bits = (Vec<u8>, u32);

impl Wire {
    /// A packet from its JSON: `{"packet": {...}, "rest": {...}}`, as [`Decoded::to_json`] gives it;
    /// with `"wire": "NAME"`, of that protocol, otherwise of the first.
    /// Constants, padding and derived fields may be left out.
    ///
    /// # Errors
    /// Where the JSON does not fit the wire, with the path of each field and what was expected.
    pub fn encode(&self, json: &Json) -> Result<Encoded, EncodeError> {
        self.encode_in(&Context::default(), &mut self.new_state(), json)
    }

    /// A packet of a connection from its JSON, after the packets that advanced `state`; advances it
    /// by this one. On an error the state stays what it was.
    ///
    /// # Errors
    /// As for [`Wire::encode`].
    pub fn encode_in(
        &self,
        context: &Context,
        state: &mut ConnectionState,
        json: &Json,
    ) -> Result<Encoded, EncodeError> {
        let encoded = self.encoded(json, context, &mut state.clone(), Entry::Packet)?;
        // Writing opens no streams: what was joined comes from reading.
        if self.has_state() {
            self.facts_in(context, state, &encoded.bytes, &mut PacketFacts::default());
        }
        Ok(encoded)
    }

    /// A message that was joined from fragments, from its JSON as [`Wire::decode_message`] and
    /// [`Decoded::to_json`] give it.
    ///
    /// # Errors
    /// As for [`Wire::encode`].
    pub fn encode_message(&self, json: &Json) -> Result<Encoded, EncodeError> {
        let mut state = self.new_state();
        self.encoded(json, &Context::default(), &mut state, Entry::JoinedMessage)
    }

    fn encoded(
        &self,
        json: &Json,
        context: &Context,
        state: &mut ConnectionState,
        entry: Entry,
    ) -> Result<Encoded, EncodeError> {
        let (protocol, rest) = self.around(json)?;
        let source = Source {
            root: json.get("packet"),
            rest: rest.as_ref(),
            context,
            entry,
        };
        match write(self.program(protocol), source, state) {
            Written::Packet { bytes, changes } => Ok(Encoded { bytes, changes }),
            Written::Refused(problems) => Err(EncodeError { problems }),
        }
    }

    /// What stands around a packet's fields: the protocol, and the bits that the wire does not explain.
    fn around(&self, json: &Json) -> Result<(Option<ProtocolId>, Option<Bits>), EncodeError> {
        let Json::Object(whole) = json else {
            return Err(EncodeError::at("", SHAPE));
        };
        let known = ["wire", "packet", "rest"];
        if let Some(key) = whole.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(EncodeError::at(key, SHAPE));
        }
        let protocol = whole.get("wire").map(|name| self.named(name)).transpose();
        let protocol = protocol.map_err(|why| EncodeError::at("wire", why))?;
        let rest = whole.get("rest").map(bytes_of_rest).transpose();
        let rest = rest.map_err(|why| EncodeError::at("rest", why))?;
        Ok((protocol, rest))
    }

    fn named(&self, name: &Json) -> Result<ProtocolId, String> {
        let wanted = name.as_str();
        let place = self.protocols().position(|(name, _)| Some(name) == wanted);
        let id = place.and_then(|place| u16::try_from(place).ok());
        id.map(ProtocolId).ok_or_else(|| {
            let names = self.protocols().map(|(name, _)| name);
            let hint = suggest::hint(wanted.unwrap_or_default(), names);
            format!("there is no protocol {name}{hint}")
        })
    }
}
