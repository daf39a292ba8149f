//! The selected packet from close up: its fields, its bytes, and which bits belong to which.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::OnceLock;

use netreel_protocol::session::PacketId;
use netreel_wire::{Decoded, StreamId, TreeId, Value};

use crate::text;

/// Where bit 0 of a byte is: which of the two ways the wire fills bytes with fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BitOrder {
    /// The first field takes the lowest bits of the first byte.
    #[default]
    Lsb,
    /// The first field takes the highest bits of the first byte.
    Msb,
}

/// The bytes and the fields of one packet.
#[derive(Clone, Debug, Default)]
pub struct Detail {
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) decoded: Option<Decoded>,
    pub(crate) order: BitOrder,
    collapsed: BTreeSet<TreeId>,
    pub(crate) note: Option<String>,
    pub(crate) waits: bool,
    pub(crate) columns: Vec<ByteColumn>,
    /// See [`Model::changes`](crate::Model::changes): worked out when somebody looks.
    pub(crate) changes: OnceLock<Option<Changes>>,
}

/// What is otherwise about a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It had this value.
    Was(String),
    /// There was no such field, or no such message.
    New,
}

impl Change {
    /// `was 7`
    pub fn words(&self) -> String {
        match self {
            Change::Was(value) => format!("was {value}"),
            Change::New => "new".to_owned(),
        }
    }
}

/// A packet held against those before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// What is otherwise, by field.
    pub fields: BTreeMap<TreeId, Change>,
    /// What has a field below it that is otherwise.
    pub around: BTreeSet<TreeId>,
    /// The packets that it was held against, the last first.
    pub before: Vec<PacketId>,
    /// How many fields were there that are not any more.
    pub gone: usize,
    /// What could be held against nothing: no packet of the last few on the link has it.
    pub first: Vec<String>,
}

/// How one byte varies.
#[derive(Clone, Debug, PartialEq)]
pub struct ByteColumn {
    /// Its place in the packets.
    pub offset: u32,
    /// How many packets reach so far.
    pub packets: usize,
    /// How many values it has in them.
    pub values: usize,
    /// In a few words: `always 16`, `counts up`, `3 values: 00 04 84`.
    pub what: String,
    /// How much it varies, from 0 (one value) to 1 (another in every packet).
    pub variety: f32,
}

/// One line of the field tree.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldRow {
    /// Which field.
    pub id: TreeId,
    /// How many fields are around it, the root not counted.
    pub depth: usize,
    /// Its name.
    pub name: String,
    /// Its type as the wire spells it.
    pub type_name: String,
    /// What it says.
    pub value: String,
    /// Its bits in its stream.
    pub bits: Range<u32>,
    /// The stream that its bits are in.
    pub stream: StreamId,
    /// `@sequence`, without the sign.
    pub annotation: Option<String>,
    /// Whether there are fields below it, and whether they are shown.
    pub open: Option<bool>,
    /// What is wrong with it.
    pub problem: Option<String>,
}

impl Detail {
    /// A packet's payload and its decoding, where there are any.
    pub fn new(bytes: Option<Vec<u8>>, decoded: Option<Decoded>, order: BitOrder) -> Detail {
        Detail {
            bytes,
            decoded,
            order,
            ..Detail::default()
        }
    }

    /// Why the bytes are not those that were on the wire, if they are not.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Where no wire describes it: how each byte varies among the packets of its link.
    pub fn columns(&self) -> &[ByteColumn] {
        &self.columns
    }

    /// Whether its fields depend on packets that nobody has read yet.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// The payload; `None` where the reel cannot give it.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// The bytes of its stream in which a field has bits; `None` where it has none, or they are not known.
    pub fn bytes_of(&self, row: &FieldRow) -> Option<&[u8]> {
        let (first, end) = (row.bits.start / 8, row.bits.end.div_ceil(8));
        let part = self
            .stream_bytes(row.stream)?
            .get(first as usize..end as usize)?;
        (!part.is_empty()).then_some(part)
    }

    /// What is wrong with the packet as a whole, a sentence each.
    pub fn problems(&self) -> Vec<String> {
        self.decoded
            .as_ref()
            .map_or(&[][..], |d| &d.diagnostics)
            .iter()
            .map(|d| format!("{}, bit {}: {}", d.path, d.bit, d.message))
            .collect()
    }

    /// Opens or closes a field that has fields below it.
    pub fn toggle(&mut self, field: TreeId) {
        if !self.collapsed.remove(&field) {
            self.collapsed.insert(field);
        }
    }

    /// The visible lines of the tree, in wire order; the root itself has no line.
    pub fn rows(&self) -> Vec<FieldRow> {
        let Some(decoded) = &self.decoded else {
            return Vec::new();
        };
        let nodes = &decoded.tree;
        let mut depths: Vec<usize> = Vec::with_capacity(nodes.len());
        let mut rows = Vec::new();
        let mut hidden_before = 0;
        for (place, node) in nodes.iter().enumerate() {
            let depth = node
                .parent()
                .and_then(|parent| depths.get(parent.0 as usize))
                .map_or(0, |depth| depth + 1);
            depths.push(depth);
            let id = TreeId(place as u32);
            let is_root = node.parent().is_none() && node.descendants() > 0;
            if place < hidden_before || is_root {
                continue;
            }
            let closed = self.collapsed.contains(&id);
            if closed {
                hidden_before = place + 1 + node.descendants() as usize;
            }
            rows.push(FieldRow {
                id,
                depth: depth.saturating_sub(1),
                name: text::name(node.name()),
                type_name: node.type_name().to_owned(),
                value: text::value(&node.value()),
                bits: node.bits(),
                stream: node.stream(),
                annotation: node.annotation().map(str::to_owned),
                open: (node.descendants() > 0).then_some(!closed),
                problem: self.problem(id),
            });
        }
        rows
    }

    /// The path of a field as diagnostics spell it: `messages[2].create.object`.
    pub fn path(&self, field: TreeId) -> String {
        let Some(decoded) = &self.decoded else {
            return String::new();
        };
        let mut parts = Vec::new();
        let mut at = Some(field);
        while let Some(id) = at
            && let Some(node) = decoded.tree.get(id)
            && parts.len() < 256
        {
            if node.parent().is_some() {
                parts.push(text::name(node.name()));
            }
            at = node.parent().filter(|parent| *parent < id);
        }
        let mut path = String::new();
        for part in parts.iter().rev() {
            if !path.is_empty() && !part.starts_with('[') {
                path.push('.');
            }
            path.push_str(part);
        }
        path
    }

    /// A field's name, type, bits and value on one line.
    pub fn sentence(&self, field: TreeId) -> String {
        let Some(node) = self
            .decoded
            .as_ref()
            .and_then(|decoded| decoded.tree.get(field))
        else {
            return String::new();
        };
        let path = self.path(field);
        let value = match node.value() {
            Value::None => String::new(),
            value => format!(" = {}", text::value(&value)),
        };
        let of = match node.stream() {
            StreamId(0) => String::new(),
            stream => format!(" of stream {}", self.stream_name(stream)),
        };
        format!(
            "{path}: {}{value}, bits {}..{}{of}",
            node.type_name(),
            node.bits().start,
            node.bits().end
        )
    }

    fn problem(&self, field: TreeId) -> Option<String> {
        let decoded = self.decoded.as_ref()?;
        if decoded.diagnostics.is_empty() {
            return None;
        }
        let path = self.path(field);
        decoded
            .diagnostics
            .iter()
            .find(|d| d.path == path)
            .map(|d| d.message.clone())
    }
}
