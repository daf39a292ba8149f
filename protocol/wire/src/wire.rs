//! A compiled wire and what can be asked of it.

use std::ops::Range;

use crate::bits::BitReader;
use crate::check::check;
use crate::check::model::{BitOrder, Model};
use crate::error::{CompileError, Report};
use crate::facts::{Kind, PacketFacts, Rules};
use crate::limits::{OPERATIONS_MAX, PACKET_BYTES_MAX, TEXT_BYTES_MAX};
use crate::lower::lower;
use crate::program::Program;
use crate::run::{Entry, FactsOnly, Full, read};
use crate::syntax::{Span, parse};
use crate::tree::{Diagnostic, Tree};

/// A compiled wire: one protocol, as its `.wire` file describes it.
#[derive(Clone, Debug)]
pub struct Wire {
    name: String,
    text: String,
    kinds: Vec<Kind>,
    rules: Vec<Rules>,
    program: Program,
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
        let mut reports = Vec::new();
        let failed = |reports| CompileError::new(name, text, reports);
        if text.len() > TEXT_BYTES_MAX {
            let message = format!("the file has more than {TEXT_BYTES_MAX} bytes");
            return Err(failed(vec![Report::at(Span::default(), message)]));
        }
        let file = parse(text, &mut reports);
        if !reports.is_empty() {
            return Err(failed(reports));
        }
        let Some(model) = check(text, &file, &mut reports) else {
            return Err(failed(reports));
        };
        let Ok(program) = lower(&model) else {
            let message = format!("the wire is too large: more than {OPERATIONS_MAX} operations");
            let mut report = Report::at(Span::default(), message);
            report.help("structs count once for every place that uses them");
            return Err(failed(vec![report]));
        };
        let Model {
            name, kinds, rules, ..
        } = model;
        Ok(Wire {
            name,
            text: text.to_owned(),
            kinds,
            rules,
            program,
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

    /// The message kinds, in the order of their enum; [`KindId`](crate::KindId) is a place in them.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The `rules` blocks, in the order of the text; [`RulesId`](crate::RulesId) is a place in
    /// them.
    pub fn rules(&self) -> &[Rules] {
        &self.rules
    }

    /// The facts of one packet. Clears `out` and refills it; allocates only where `out` has less
    /// room for messages than the packet needs.
    pub fn facts(&self, packet: &[u8], out: &mut PacketFacts) {
        self.run_facts(Entry::Packet, packet, out);
    }

    /// Every field of one packet. Never fails as a whole: what can be decoded is, the rest is bytes.
    pub fn decode(&self, packet: &[u8]) -> Decoded {
        self.run_full(Entry::Packet, packet)
    }

    /// The facts of one message that was joined from its fragments: `out.messages` has one entry.
    pub fn message_facts(&self, joined: &[u8], out: &mut PacketFacts) {
        self.run_facts(Entry::JoinedMessage, joined, out);
    }

    /// Every field of one message that was joined from its fragments. The joined bytes are the
    /// `@message` struct whole, its header fields included, padded to a byte.
    pub fn decode_message(&self, joined: &[u8]) -> Decoded {
        self.run_full(Entry::JoinedMessage, joined)
    }

    /// The bytes that a bit range of a packet holds, in the wire's bit order: the text of an
    /// [`rpc_name`](crate::MessageFacts::rpc_name), the data of a
    /// [`fragment`](crate::MessageFacts::fragment_data). A last part of a byte is filled up with zeros;
    /// what lies past the packet's end is left out.
    pub fn bytes_at(&self, packet: &[u8], bits: Range<u32>) -> Vec<u8> {
        BitReader::new(looked_at(packet), self.program.dictionary.order).bytes(bits.start, bits.end)
    }

    /// Whether the first field of a packet takes the lowest bits of the first byte.
    pub fn is_lsb_first(&self) -> bool {
        self.program.dictionary.order.bits == BitOrder::Lsb
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    fn run_facts(&self, entry: Entry, bytes: &[u8], out: &mut PacketFacts) {
        read(
            &self.program,
            &self.program.facts,
            entry,
            bytes,
            out,
            &mut FactsOnly,
        );
    }

    fn run_full(&self, entry: Entry, bytes: &[u8]) -> Decoded {
        let whole = if entry == Entry::Packet {
            "packet"
        } else {
            "message"
        };
        let mut full = Full::new(&self.program, whole, looked_at(bytes));
        let mut facts = PacketFacts::default();
        read(
            &self.program,
            &self.program.full,
            entry,
            bytes,
            &mut facts,
            &mut full,
        );
        Decoded {
            tree: full.tree,
            diagnostics: full.diagnostics,
            facts,
        }
    }
}

/// What of a packet is looked at.
fn looked_at(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(PACKET_BYTES_MAX)]
}
