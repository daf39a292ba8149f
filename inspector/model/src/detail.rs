//! The selected packet from close up: its fields, its bytes, and which bits belong to which.

use std::collections::BTreeSet;
use std::ops::Range;

use netreel_wire::{Decoded, StreamId, TreeId, Value};

use crate::text;
use crate::variety::ByteColumn;

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
    bytes: Option<Vec<u8>>,
    decoded: Option<Decoded>,
    order: BitOrder,
    collapsed: BTreeSet<TreeId>,
    pub(crate) note: Option<String>,
    pub(crate) waits: bool,
    pub(crate) columns: Vec<ByteColumn>,
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
    /// The stream, where that is not the packet itself: what is unpacked from it, or joined from
    /// several packets.
    pub stream: Option<u16>,
    /// `@sequence`, without the sign.
    pub annotation: Option<String>,
    /// Whether there are fields below it, and whether they are shown.
    pub open: Option<bool>,
    /// What is wrong with it.
    pub problem: Option<String>,
}

/// One line of the hex view.
#[derive(Clone, Debug, PartialEq)]
pub struct HexRow {
    /// The first byte's place in the packet.
    pub offset: u32,
    /// Up to [`HEX_COLUMNS`] bytes.
    pub bytes: Vec<u8>,
}

/// Bytes in a line of the hex view.
pub const HEX_COLUMNS: usize = 16;

impl Detail {
    /// A packet's payload and its decoding, where there are any.
    pub fn new(bytes: Option<Vec<u8>>, decoded: Option<Decoded>, order: BitOrder) -> Detail {
        Detail {
            bytes,
            decoded,
            order,
            collapsed: BTreeSet::new(),
            note: None,
            waits: false,
            columns: Vec::new(),
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

    /// What is wrong with the packet as a whole, a sentence each.
    pub fn problems(&self) -> Vec<String> {
        let diagnostics = self.decoded.as_ref().map_or(&[][..], |d| &d.diagnostics);
        diagnostics
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
                stream: (node.stream() != StreamId(0)).then(|| node.stream().0),
                annotation: node.annotation().map(str::to_owned),
                open: (node.descendants() > 0).then_some(!closed),
                problem: self.problem(id),
            });
        }
        rows
    }

    /// The bits of the packet that a field has: its own, or those of the field of the packet that its
    /// stream was unpacked from.
    pub fn bits(&self, field: TreeId) -> Option<Range<u32>> {
        let decoded = self.decoded.as_ref()?;
        let mut node = decoded.tree.get(field)?;
        while node.stream() != StreamId(0) {
            node = decoded.tree.get(node.parent()?)?;
        }
        Some(node.bits())
    }

    /// How many bits the packet has.
    pub fn bit_length(&self) -> u32 {
        let bytes = self.bytes.as_ref().map_or(0, Vec::len);
        u32::try_from(bytes).unwrap_or(u32::MAX).saturating_mul(8)
    }

    /// The innermost fields that own bits of a byte, in wire order.
    pub fn fields_at(&self, byte: u32) -> Vec<TreeId> {
        let Some(decoded) = &self.decoded else {
            return Vec::new();
        };
        let start = u64::from(byte) * 8;
        let overlaps =
            |bits: &Range<u32>| u64::from(bits.start) < start + 8 && u64::from(bits.end) > start;
        decoded
            .tree
            .iter()
            .filter(|node| node.stream() == StreamId(0))
            .filter(|node| node.descendants() == 0 || self.ends_here(node.id()))
            .filter(|node| overlaps(&node.bits()))
            .map(|node| node.id())
            .collect()
    }

    /// Whether all that is below a field is in another stream.
    fn ends_here(&self, field: TreeId) -> bool {
        let Some(decoded) = &self.decoded else {
            return false;
        };
        let Some(node) = decoded.tree.get(field) else {
            return false;
        };
        let first = field.0.saturating_add(1);
        let mut below = first..first.saturating_add(node.descendants());
        let node = |id| decoded.tree.get(TreeId(id));
        below.all(|id| node(id).is_some_and(|it| it.stream() != StreamId(0)))
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
            StreamId(stream) => {
                format!(" of stream {stream}, which is inside the packet's marked bits")
            }
        };
        format!(
            "{path}: {}{value}, bits {}..{}{of}",
            node.type_name(),
            node.bits().start,
            node.bits().end
        )
    }

    /// How many lines the hex view has.
    pub fn hex_row_count(&self) -> usize {
        self.bytes
            .as_ref()
            .map_or(0, |b| b.len().div_ceil(HEX_COLUMNS))
    }

    /// One line of the hex view.
    pub fn hex_row(&self, row: usize) -> Option<HexRow> {
        let bytes = self.bytes.as_ref()?;
        let start = row.checked_mul(HEX_COLUMNS)?;
        let line = bytes.get(start..)?;
        Some(HexRow {
            offset: start as u32,
            bytes: line.iter().take(HEX_COLUMNS).copied().collect(),
        })
    }

    /// Which bits of byte `byte` belong to `bits`: bit i of the result is the bit of value 2^i.
    pub fn mask(&self, bits: &Range<u32>, byte: u32) -> u8 {
        mask(bits, byte, self.order)
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

/// See [`Detail::mask`].
pub fn mask(bits: &Range<u32>, byte: u32, order: BitOrder) -> u8 {
    let start = i64::from(byte) * 8;
    let first = (i64::from(bits.start) - start).clamp(0, 8) as u32;
    let last = (i64::from(bits.end) - start).clamp(0, 8) as u32;
    if first >= last {
        return 0;
    }
    let low = ((1_u32 << last) - (1_u32 << first)) as u8;
    match order {
        BitOrder::Lsb => low,
        BitOrder::Msb => low.reverse_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bits: Range<u32>, byte: u32, lsb: u8, msb: u8) {
        assert_eq!(mask(&bits, byte, BitOrder::Lsb), lsb, "lsb {bits:?}");
        assert_eq!(mask(&bits, byte, BitOrder::Msb), msb, "msb {bits:?}");
    }

    #[test]
    fn a_field_lights_exactly_its_bits() {
        check(0..8, 0, 0xff, 0xff);
        check(0..1, 0, 0b0000_0001, 0b1000_0000);
        check(4..12, 0, 0b1111_0000, 0b0000_1111);
        check(4..12, 1, 0b0000_1111, 0b1111_0000);
        check(4..12, 2, 0, 0);
        check(16..16, 2, 0, 0);
        check(0..u32::MAX, 100_000_000, 0xff, 0xff);
    }
}
