//! Packets of an open capture: what fields say in them, and which packets do not fit.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use netreel_wire::{
    Connections, Decoded, FilePlace, Misfits, Name, Outline, SymbolId, SymbolKind, TreeNode, Value,
    Wire,
};

/// The first packets of a recording.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// What people call it.
    pub name: String,
    /// In the order of the recording, numbered from 0.
    pub packets: Vec<CapturedPacket>,
    /// Whether the recording has more of them.
    pub has_more: bool,
}

/// A packet and its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// Who sent it.
    pub from: SocketAddr,
    /// Whom it was sent to.
    pub to: SocketAddr,
    /// Its bytes.
    pub payload: Vec<u8>,
}

/// Opens recordings. The server knows none of their formats.
pub trait OpenCapture {
    /// The first packets of a recording, [`PACKETS_MAX`] and [`BYTES_MAX`] at most.
    ///
    /// # Errors
    /// Why it cannot be read, in a sentence.
    fn open(&mut self, path: &Path) -> Result<Capture, String>;
}

/// More packets of a capture are not looked at: they are read again whenever the wire changes.
pub const PACKETS_MAX: usize = 1000;

/// More bytes of a capture are not looked at.
pub const BYTES_MAX: usize = 1 << 20;

/// The steps that scripts may take for all of them.
const STEPS_MAX: u64 = 50_000_000;

/// What all connections of them may keep.
const STATES_BYTES_MAX: usize = 64 << 20;

/// How many different values of a field are told apart.
const VALUES_KEPT: usize = 256;

/// A value that is shown is no longer.
const VALUE_CHARACTERS_MAX: usize = 40;

/// What the packets of a capture say under a wire.
#[derive(Clone, Debug, Default)]
pub struct Values {
    fields: BTreeMap<SymbolId, FieldValues>,
    /// What does not fit.
    pub misfits: Misfits,
    /// How many packets were not read, because scripts took too many steps.
    pub unread: u64,
}

/// What a field said.
#[derive(Clone, Debug, Default)]
pub struct FieldValues {
    /// The first value, and the packet that has it.
    pub first: Option<(usize, String)>,
    /// How many packets have the field.
    pub packets: usize,
    /// The last packet that was counted.
    last: Option<usize>,
    /// How often each value was there.
    counts: BTreeMap<String, usize>,
    /// There are more values than are kept.
    pub has_more: bool,
}

impl FieldValues {
    /// The most frequent values with how often they were there, and how many there are besides.
    pub fn frequent(&self, most: usize) -> (Vec<(&str, usize)>, usize) {
        let mut counts: Vec<(&str, usize)> = self
            .counts
            .iter()
            .map(|(value, count)| (value.as_str(), *count))
            .collect();
        counts.sort_by_key(|&(value, count)| (std::cmp::Reverse(count), value));
        let more = counts.len().saturating_sub(most);
        counts.truncate(most);
        (counts, more)
    }
}

impl Values {
    /// Reads all packets of a capture.
    pub fn new(wire: &Wire, outline: &Outline, capture: &Capture) -> Values {
        let mut values = Values::default();
        let connections = Connections::new(wire);
        let mut connections = connections.with_limits(STATES_BYTES_MAX, STEPS_MAX);
        let names: Vec<&str> = wire.protocols().map(|(name, _)| name).collect();
        let roots: Vec<Option<SymbolId>> =
            names.iter().map(|name| root_of(outline, name)).collect();
        for (number, packet) in capture.packets.iter().enumerate() {
            let decoded = connections.decode(packet.from, packet.to, &packet.payload);
            values.misfits.take(number, &decoded.diagnostics);
            let protocol = decoded.facts.protocol.map_or(0, |id| usize::from(id.0));
            if let Some(Some(root)) = roots.get(protocol) {
                values.take(number, &decoded, outline, *root);
            }
        }
        values.unread = connections.spent().unread;
        values
    }

    /// What a field said.
    pub fn of(&self, field: SymbolId) -> Option<&FieldValues> {
        self.fields.get(&field)
    }

    fn take(&mut self, number: usize, decoded: &Decoded, outline: &Outline, root: SymbolId) {
        // Of each node the field, and the structs that its fields are looked up in.
        let mut known: Vec<(Option<SymbolId>, Vec<SymbolId>)> = Vec::new();
        for node in decoded.tree.iter() {
            let parent = node
                .parent()
                .and_then(|parent| known.get(parent.0 as usize));
            let here = match (parent, node.name()) {
                (None, _) => (None, vec![root]),
                (Some(parent), Name::Index(_)) => parent.clone(),
                (Some((_, structs)), Name::Field(name)) => {
                    let mut structs = structs.iter();
                    let field = structs.find_map(|&of| outline.child(of, name));
                    let types = field.and_then(|field| outline.symbol(field));
                    (field, types.map_or(Vec::new(), |field| field.types.clone()))
                }
            };
            if let (Some(field), false) = (here.0, node.is_rest()) {
                self.fields.entry(field).or_default().take(number, node);
            }
            known.push(here);
        }
    }
}

impl FieldValues {
    fn take(&mut self, number: usize, node: TreeNode<'_>) {
        if self.last != Some(number) {
            self.last = Some(number);
            self.packets += 1;
        }
        let value = node.value();
        if value == Value::None {
            return;
        }
        let value = short(&value.to_string());
        if self.first.is_none() {
            self.first = Some((number, value.clone()));
        }
        if self.counts.len() < VALUES_KEPT || self.counts.contains_key(&value) {
            *self.counts.entry(value).or_default() += 1;
        } else {
            self.has_more = true;
        }
    }
}

fn short(value: &str) -> String {
    let mut shown: String = value.chars().take(VALUE_CHARACTERS_MAX).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    shown
}

/// The struct that a protocol's packet is.
pub fn root_of(outline: &Outline, protocol: &str) -> Option<SymbolId> {
    let mut symbols = outline.symbols();
    let (_, block) = symbols
        .find(|(_, symbol)| symbol.kind == SymbolKind::Protocol && symbol.name == protocol)?;
    let place = block.places.first()?;
    let extent = block.extents.first()?;
    let text = &outline.files().get(place.file)?.text;
    let mut pieces = netreel_wire::lexemes(text.get(extent.clone())?);
    pieces.retain(|piece| !piece.is_comment());
    let spelled = |at: usize| {
        let piece = pieces.get(at)?;
        text.get(extent.start + piece.range.start..extent.start + piece.range.end)
    };
    let setting = (0..pieces.len()).find(|&at| {
        let ends = at.checked_sub(1).and_then(spelled);
        spelled(at) == Some("root") && matches!(ends, Some("{" | ";"))
    })?;
    let value = pieces.get(setting + 2)?;
    let (id, _) = outline.at(place.file, extent.start + value.range.start)?;
    let is_struct = outline.symbol(id)?.kind == SymbolKind::Struct;
    is_struct.then_some(id)
}

/// The field that a path of a diagnostic, without places in repeats, names: `messages[].body.kind`.
pub fn field_of(outline: &Outline, protocols: &[&str], path: &str) -> Option<FilePlace> {
    let names = || path.split('.').map(|name| name.trim_end_matches("[]"));
    let found = protocols.iter().find_map(|protocol| {
        let mut structs = vec![root_of(outline, protocol)?];
        let mut found = None;
        for name in names() {
            let field = structs.iter().find_map(|&of| outline.child(of, name))?;
            structs = outline.symbol(field)?.types.clone();
            found = Some(field);
        }
        found
    });
    outline.symbol(found?)?.places.first().cloned()
}
