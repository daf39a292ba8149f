//! A compiled wire and what can be asked of it.

use std::sync::Arc;

use crate::bits::BitReader;
use crate::check::check;
use crate::check::model::{Model, Selection};
use crate::context::Context;
use crate::error::CompileError;
use crate::facts::{Kind, PacketFacts, Piece, Place, ProtocolId, Rules};
use crate::files::Files;
use crate::layers::Keys;
use crate::layout::BitOrder;
use crate::layout::StreamId;
use crate::limits::{OPERATIONS_MAX, PACKET_BYTES_MAX, TEXT_BYTES_MAX};
use crate::lower::{NotLowered, lower};
use crate::program::{FieldInfo, Program};
use crate::property::Property;
use crate::report::{Report, Span};
use crate::run::{Entry, FactsOnly, Full, Surroundings, read};
use crate::select::{first_at_once, takes};
use crate::state::ConnectionState;
use crate::tree::{Diagnostic, Tree};

/// A compiled wire: one or several protocols, as a `.wire` file describes them.
#[derive(Clone, Debug)]
pub struct Wire {
    /// The first file's name, as errors show it.
    file: String,
    text: String,
    kinds: Vec<Kind>,
    rules: Vec<Rules>,
    properties: Vec<Property>,
    /// One at least.
    protocols: Vec<Protocol>,
    /// How many `test` blocks there are.
    tests: usize,
}

/// One `wire` block.
#[derive(Clone, Debug)]
struct Protocol {
    name: Arc<str>,
    version: Option<u32>,
    selection: Selection,
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
    /// Bytes of the packet that `join` and `follow` put together with those of others.
    pub pieces: Vec<Piece>,
}

impl Wire {
    /// Compiles a wire's text: one file without imports, or a bundle as [`Wire::text`] gives it.
    /// `name` is the file's name, as errors shall show it.
    ///
    /// # Errors
    /// The mistakes in the text, each with its place and what was expected there.
    pub fn compile(name: &str, text: &str) -> Result<Wire, CompileError> {
        short_enough(name, text)?;
        let mut reports = Vec::new();
        let files = Files::of_text(name, text, &mut reports);
        Wire::of_files(name, files, reports)
    }

    /// Compiles a wire of several files. `load` is asked for the text of each imported file, by its
    /// path from the first file's folder, with `/` between its parts; it is asked once for each.
    ///
    /// # Errors
    /// The mistakes in the texts, each with its place and what was expected there; files that `load`
    /// cannot give.
    pub fn compile_with(
        name: &str,
        text: &str,
        load: &mut dyn FnMut(&str) -> std::io::Result<String>,
    ) -> Result<Wire, CompileError> {
        short_enough(name, text)?;
        let mut reports = Vec::new();
        let files = Files::gather(name, text, load, &mut reports);
        Wire::of_files(name, files, reports)
    }

    fn of_files(name: &str, files: Files, mut reports: Vec<Report>) -> Result<Wire, CompileError> {
        let failed = |files: &Files, reports| CompileError::new(name, files, reports);
        let mut file = files.parse(&mut reports);
        if !reports.is_empty() {
            return Err(failed(&files, reports));
        }
        let model = check(&files, &mut file, &mut reports);
        let Some(model) = model.filter(|_| reports.is_empty()) else {
            return Err(failed(&files, reports));
        };
        let protocols = match protocols(&model) {
            Ok(protocols) => protocols,
            Err(why) => return Err(failed(&files, vec![not_lowered(why)])),
        };
        let tests = model.tests.len();
        let Model {
            kinds,
            rules,
            properties,
            ..
        } = model;
        Ok(Wire {
            file: name.to_owned(),
            text: files.text,
            kinds,
            rules,
            properties,
            protocols,
            tests,
        })
    }

    /// What the first `wire` block calls its protocol.
    pub fn name(&self) -> &str {
        self.protocols.first().map_or("", |first| &first.name)
    }

    /// The names and versions of the protocols, in the order in which they are asked whether a
    /// packet is theirs; [`ProtocolId`] is a place in them.
    pub fn protocols(&self) -> impl ExactSizeIterator<Item = (&str, Option<u32>)> {
        let protocols = self.protocols.iter();
        protocols.map(|protocol| (protocol.name.as_ref(), protocol.version))
    }

    /// How many `test` blocks there are; [`Wire::run_tests`] runs them.
    pub fn tests(&self) -> usize {
        self.tests
    }

    /// The protocol that claims a packet: the first whose conditions hold.
    pub fn protocol_of(
        &self,
        context: &Context,
        state: &ConnectionState,
        packet: &[u8],
    ) -> Option<ProtocolId> {
        self.protocol_among(context, state, packet, &|_| true)
    }

    /// The first of some protocols that claims a packet.
    pub(crate) fn protocol_among(
        &self,
        context: &Context,
        state: &ConnectionState,
        packet: &[u8],
        is_asked: &dyn Fn(ProtocolId) -> bool,
    ) -> Option<ProtocolId> {
        let packet = looked_at(packet);
        let claims = |protocol: &Protocol| {
            let selection = &protocol.selection;
            let fields = &protocol.program.state;
            let order = protocol.program.dictionary.order;
            selection.is_empty() || takes(selection, context, (fields, state), order, packet)
        };
        let mut asked = (0..)
            .map(ProtocolId)
            .zip(&self.protocols)
            .filter(|(id, _)| is_asked(*id));
        asked
            .find(|(_, protocol)| claims(protocol))
            .map(|(id, _)| id)
    }

    /// What people call the wire: the protocol's name; of several all names, of many the first ones.
    pub fn names(&self) -> String {
        const SHOWN: usize = 4;
        let names = self.protocols().map(|(name, _)| name);
        let shown: Vec<&str> = names.take(SHOWN).collect();
        match self.protocols.len().saturating_sub(SHOWN) {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }

    /// The text that it was compiled from; where it was several files, all of them in one bundle,
    /// which compiles to the same wire by itself.
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

    /// The properties of objects that messages tell, in the order of the text;
    /// [`PropertyId`](crate::PropertyId) is a place in them.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    /// The facts of one packet, as if it were the only one of its connection. Clears `out` and
    /// refills it; allocates only where `out` has less room for messages than the packet needs.
    pub fn facts(&self, packet: &[u8], out: &mut PacketFacts) {
        self.facts_in(&Context::default(), &mut self.new_state(), packet, out);
    }

    /// What a connection keeps before its first packet.
    pub fn new_state(&self) -> ConnectionState {
        ConnectionState::new(&self.program(None).state)
    }

    /// Whether packets set or read what a connection keeps, so that they have to be looked at in
    /// order.
    pub fn has_state(&self) -> bool {
        !self.program(None).state.is_empty()
    }

    /// Whether packets say back what the other side gave: some field has `@takes(NAME)`.
    pub fn says_back(&self) -> bool {
        let said_back = |field: &FieldInfo| Some(field.said_back.as_ref()?.takes.is_some());
        self.fields().any(|field| said_back(field) == Some(true))
    }

    /// The facts of one packet of a connection, after the packets that advanced `state`; advances it
    /// by this one. Clears `out` and refills it.
    pub fn facts_in(
        &self,
        context: &Context,
        state: &mut ConnectionState,
        packet: &[u8],
        out: &mut PacketFacts,
    ) {
        let (protocol, entry) = self.entry(context, state, packet);
        let around = Surroundings {
            context: *context,
            state,
        };
        self.run_facts(protocol, entry, around, packet, out);
    }

    /// The facts of a packet as if none came before it. Whether those do not matter: it reads nothing of what
    /// its connection keeps, and changes nothing. Otherwise the facts may be wrong.
    pub fn facts_alone(&self, context: &Context, packet: &[u8], out: &mut PacketFacts) -> bool {
        let mut state = ConnectionState::default();
        self.facts_in(context, &mut state, packet, out);
        !state.was_asked()
    }

    /// The same with every field.
    pub fn decode_alone(&self, context: &Context, packet: &[u8]) -> (Decoded, bool) {
        let mut state = ConnectionState::default();
        let decoded = self.decode_in(context, &mut state, packet);
        (decoded, !state.was_asked())
    }

    /// Every field of one packet, as if it were the only one of its connection. Never fails as a
    /// whole: what can be decoded is, the rest is bytes.
    pub fn decode(&self, packet: &[u8]) -> Decoded {
        self.decode_in(&Context::default(), &mut self.new_state(), packet)
    }

    /// Every field of one packet of a connection, after the packets that advanced `state`; advances
    /// it by this one, as [`Wire::facts_in`] does.
    pub fn decode_in(
        &self,
        context: &Context,
        state: &mut ConnectionState,
        packet: &[u8],
    ) -> Decoded {
        let (protocol, entry) = self.entry(context, state, packet);
        let around = Surroundings {
            context: *context,
            state,
        };
        self.run_full(protocol, entry, around, packet)
    }

    /// The protocol that claims a packet, and where its plan begins.
    fn entry(
        &self,
        context: &Context,
        state: &ConnectionState,
        packet: &[u8],
    ) -> (Option<ProtocolId>, Entry) {
        let protocol = self.protocol_of(context, state, packet);
        let entry = protocol.map_or(Entry::Unclaimed, |_| Entry::Packet);
        (protocol, entry)
    }

    /// The facts of a packet that is not read, because the scripts of those before it have taken all
    /// the steps that there may be: a diagnostic alone.
    pub fn unread_facts(&self, packet: &[u8], out: &mut PacketFacts) {
        let mut state = ConnectionState::default();
        self.run_facts(None, Entry::Unread, alone(&mut state), packet, out);
    }

    /// The same as a tree: the packet is one node of bytes.
    pub fn unread(&self, packet: &[u8]) -> Decoded {
        let mut state = ConnectionState::default();
        self.run_full(None, Entry::Unread, alone(&mut state), packet)
    }

    /// The facts of one message that was joined from its fragments, which came in packets of a
    /// protocol (`None`: the first one): `out.messages` has one entry.
    pub fn message_facts(
        &self,
        protocol: Option<ProtocolId>,
        joined: &[u8],
        out: &mut PacketFacts,
    ) {
        let mut state = self.new_state();
        let around = alone(&mut state);
        self.run_facts(protocol, Entry::JoinedMessage, around, joined, out);
    }

    /// Every field of one message that was joined from its fragments. The joined bytes are the
    /// `@message` struct whole, its header fields included, padded to a byte.
    pub fn decode_message(&self, protocol: Option<ProtocolId>, joined: &[u8]) -> Decoded {
        let mut state = self.new_state();
        self.run_full(protocol, Entry::JoinedMessage, alone(&mut state), joined)
    }

    /// Whether some field is called so, or has this annotation.
    pub fn has_field(&self, name: Option<&str>, annotation: Option<&str>) -> bool {
        self.fields().any(|field| {
            name.is_none_or(|name| *field.name == *name)
                && annotation.is_none_or(|wanted| field.annotation.as_deref() == Some(wanted))
        })
    }

    /// What fields are called, each name once, in order.
    pub fn field_names(&self) -> std::collections::BTreeSet<&str> {
        self.fields().map(|field| &*field.name).collect()
    }

    /// The fields of all protocols.
    fn fields(&self) -> impl Iterator<Item = &FieldInfo> {
        let dictionaries = self.protocols.iter().map(|each| &each.program.dictionary);
        dictionaries.flat_map(|dictionary| &dictionary.fields)
    }

    /// The same wire with these keys, for layers that ask a key log.
    pub fn with_keys(mut self, keys: Keys) -> Wire {
        let keys = Arc::new(keys);
        for protocol in &mut self.protocols {
            protocol.program.keys = keys.clone();
        }
        self
    }

    /// The bytes that facts point to, in the packet or in a stream inside it. A last part of a byte is
    /// filled up with zeros; what lies past the end is left out.
    pub fn bytes_at(&self, facts: &PacketFacts, packet: &[u8], place: &Place) -> Vec<u8> {
        let mut contents = facts.contents.iter();
        if let Some(content) = contents.find(|content| content.place == *place) {
            return content.bytes.clone();
        }
        if place.stream != StreamId(0) {
            return Vec::new();
        }
        let order = self.protocol(facts.protocol).program.dictionary.order;
        BitReader::new(looked_at(packet), order).bytes(place.bits.start, place.bits.end)
    }

    /// Whether the first field of a protocol's packet takes the lowest bits of the first byte.
    pub fn is_lsb_first(&self, protocol: Option<ProtocolId>) -> bool {
        self.protocol(protocol).program.dictionary.order.bits == BitOrder::Lsb
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    pub(crate) fn program_at(&self, place: usize) -> &Program {
        let id = u16::try_from(place).ok().map(ProtocolId);
        &self.protocol(id).program
    }

    /// The program of a protocol, or of the first.
    pub(crate) fn program(&self, protocol: Option<ProtocolId>) -> &Program {
        &self.protocol(protocol).program
    }

    /// The protocol with this id, or the first.
    fn protocol(&self, id: Option<ProtocolId>) -> &Protocol {
        let found = id.and_then(|id| self.protocols.get(usize::from(id.0)));
        found.unwrap_or(&self.protocols[0])
    }

    fn run_facts(
        &self,
        protocol: Option<ProtocolId>,
        entry: Entry,
        around: Surroundings<'_>,
        bytes: &[u8],
        out: &mut PacketFacts,
    ) {
        let program = &self.protocol(protocol).program;
        let (plan, sink) = (&program.facts, &mut FactsOnly);
        read(program, plan, entry, bytes, around, out, sink);
        out.protocol = protocol;
    }

    fn run_full(
        &self,
        protocol: Option<ProtocolId>,
        entry: Entry,
        around: Surroundings<'_>,
        bytes: &[u8],
    ) -> Decoded {
        let mut decoded = decode(self.program(protocol), entry, around, bytes);
        decoded.facts.protocol = protocol;
        decoded
    }
}

/// Every field of what a program reads.
pub(crate) fn decode(
    program: &Program,
    entry: Entry,
    around: Surroundings<'_>,
    bytes: &[u8],
) -> Decoded {
    let whole = match entry {
        Entry::Packet | Entry::Unclaimed | Entry::Unread => "packet",
        Entry::JoinedMessage => "message",
    };
    let mut full = Full::new(program, whole, looked_at(bytes));
    let mut facts = PacketFacts::default();
    let plan = &program.full;
    read(program, plan, entry, bytes, around, &mut facts, &mut full);
    Decoded {
        tree: full.tree,
        diagnostics: full.diagnostics,
        facts,
        pieces: full.pieces,
    }
}

/// A packet without a connection.
fn alone(state: &mut ConnectionState) -> Surroundings<'_> {
    let context = Context::default();
    Surroundings { context, state }
}

/// Refuses a text that nobody wrote by hand.
pub(crate) fn short_enough(name: &str, text: &str) -> Result<(), CompileError> {
    if text.len() <= TEXT_BYTES_MAX {
        return Ok(());
    }
    let files = Files::of_text(name, "", &mut Vec::new());
    let message = format!("the file has more than {TEXT_BYTES_MAX} bytes");
    let report = Report::at(Span::default(), message);
    Err(CompileError::new(name, &files, vec![report]))
}

fn not_lowered(why: NotLowered) -> Report {
    let (message, help) = match why {
        NotLowered::TooLarge => (
            format!("the wire is too large: more than {OPERATIONS_MAX} operations"),
            "structs count once for every place that uses them",
        ),
        NotLowered::Unchecked(what) => (
            format!("the compiler does not know what to do with {what}"),
            "this is a mistake in netreel, not in the wire",
        ),
    };
    let mut report = Report::at(Span::default(), message);
    report.help(help);
    report
}

/// The protocols of a model, each with its program.
fn protocols(model: &Model) -> Result<Vec<Protocol>, NotLowered> {
    let mut operations = 0;
    let mut protocols = Vec::new();
    for protocol in &model.protocols {
        let program = lower(model, protocol)?;
        operations += program.full.operations.len() + program.facts.operations.len();
        if operations > 2 * OPERATIONS_MAX {
            return Err(NotLowered::TooLarge);
        }
        protocols.push(Protocol {
            name: protocol.name.clone(),
            version: protocol.version,
            selection: Selection {
                when: protocol.selection.when.clone().map(first_at_once),
                ..protocol.selection.clone()
            },
            program,
        });
    }
    Ok(protocols)
}

/// What of a packet is looked at.
fn looked_at(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(PACKET_BYTES_MAX)]
}
