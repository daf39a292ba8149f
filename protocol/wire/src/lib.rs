//! The wire language: a protocol's bytes, described once.
//!
//! A [`Wire`] is compiled from text at run time. It gives the facts of a packet quickly
//! ([`Wire::facts`]) or every field of it ([`Wire::decode`]).

mod display;
mod error;
mod facts;
mod tree;

use std::ops::Range;

pub use error::{CompileError, Report};
pub use facts::{
    CreateRule, Kind, KindId, MessageFacts, PacketFacts, Role, Rules, RulesId, Sequence, StaleRule,
    UnknownDestroy, UnknownMigrate, UpdateFrom,
};
pub use tree::{Diagnostic, Name, Tree, TreeId, TreeNode, Value};

/// A compiled wire: one protocol, as its `.wire` file describes it.
#[derive(Clone, Debug)]
pub struct Wire {
    name: String,
    text: String,
    kinds: Vec<Kind>,
    rules: Vec<Rules>,
}

/// A packet, looked at closely.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// Every field; what could not be decoded is a node named `rest`.
    pub tree: Tree,
    /// What is wrong with the packet, in wire order. Empty where the wire explains every bit.
    pub diagnostics: Vec<Diagnostic>,
    /// The same as [`Wire::facts`] gives.
    pub facts: PacketFacts,
}

impl Wire {
    /// Compiles a wire's text. `name` is the file's name, as errors shall show it.
    ///
    /// # Errors
    /// The mistakes in the text, each with its place and what was expected there.
    pub fn compile(name: &str, text: &str) -> Result<Wire, CompileError> {
        let _ = (name, text);
        Ok(Wire {
            name: String::new(),
            text: text.to_owned(),
            kinds: Vec::new(),
            rules: Vec::new(),
        })
    }

    /// What the `wire` block calls the protocol.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text that it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The message kinds, in the order of their enum; [`KindId`] is a place in them.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The `rules` blocks, in the order of the text; [`RulesId`] is a place in them.
    pub fn rules(&self) -> &[Rules] {
        &self.rules
    }

    /// The facts of one packet. Clears `out` and refills it; allocates only where `out` has less
    /// room for messages than the packet needs.
    pub fn facts(&self, packet: &[u8], out: &mut PacketFacts) {
        let _ = packet;
        *out = PacketFacts::default();
    }

    /// Every field of one packet. Never fails as a whole: what can be decoded is, the rest is bytes.
    pub fn decode(&self, packet: &[u8]) -> Decoded {
        let _ = packet;
        Decoded::default()
    }

    /// The facts of one message that was joined from its fragments: `out.messages` has one entry.
    pub fn message_facts(&self, joined: &[u8], out: &mut PacketFacts) {
        self.facts(joined, out);
    }

    /// Every field of one message that was joined from its fragments. The joined bytes are the
    /// `@message` struct whole, its header fields included, padded to a byte.
    pub fn decode_message(&self, joined: &[u8]) -> Decoded {
        self.decode(joined)
    }

    /// The bytes that a bit range of a packet holds, in the wire's bit order: the text of an
    /// [`rpc_name`](MessageFacts::rpc_name), the data of a
    /// [`fragment`](MessageFacts::fragment_data). A last part of a byte is filled up with zeros;
    /// what lies past the packet's end is left out.
    pub fn bytes_at(&self, packet: &[u8], bits: Range<u32>) -> Vec<u8> {
        let _ = (packet, bits);
        Vec::new()
    }
}
