//! The streams of the selected packet: the packet itself, and what was unpacked from it or joined from
//! several packets. Bytes are shown of one stream at a time, and bits are of a stream.

use std::ops::Range;

use netreel_wire::{StreamId, TreeId, TreeNode};

use crate::detail::{BitOrder, Detail};

/// A stream whose bytes can be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRow {
    /// Which one; 0 is the packet.
    pub stream: StreamId,
    /// What it is called: `packet`, or the field that was unpacked into it, `clear`.
    pub name: String,
    /// Where that field stands, `message.scrambled.clear`; empty for the packet.
    pub path: String,
    /// How many bytes it has.
    pub length: usize,
}

/// One line of the hex view.
#[derive(Clone, Debug, PartialEq)]
pub struct HexRow {
    /// The first byte's place in the stream.
    pub offset: u32,
    /// Up to [`HEX_COLUMNS`] bytes.
    pub bytes: Vec<u8>,
}

/// Bytes in a line of the hex view.
pub const HEX_COLUMNS: usize = 16;

const PACKET: StreamId = StreamId(0);

impl Detail {
    /// The streams that fields are in, the packet first. One alone where nothing is unpacked.
    pub fn streams(&self) -> Vec<StreamRow> {
        let count = self.decoded.as_ref().map_or(0, |it| it.tree.streams());
        let inner = (1..count).filter_map(|number| {
            let stream = StreamId(u16::try_from(number).ok()?);
            let path = self.path(self.opener(stream)?);
            let length = self.stream_bytes(stream)?.len();
            let name = self.stream_name(stream);
            Some(StreamRow {
                stream,
                name,
                path,
                length,
            })
        });
        let packet = StreamRow {
            stream: PACKET,
            name: self.stream_name(PACKET),
            path: String::new(),
            length: self.bytes.as_ref().map_or(0, Vec::len),
        };
        std::iter::once(packet).chain(inner).collect()
    }

    /// What a stream is called.
    pub fn stream_name(&self, stream: StreamId) -> String {
        if stream == PACKET {
            return "packet".to_owned();
        }
        let Some(opener) = self.opener(stream) else {
            return stream.0.to_string();
        };
        let path = self.path(opener);
        path.rsplit('.').next().unwrap_or(&path).to_owned()
    }

    /// The field that is in a stream of its own.
    fn opener(&self, stream: StreamId) -> Option<TreeId> {
        self.decoded
            .as_ref()?
            .tree
            .iter()
            .find(|node| node.stream() == stream)?
            .parent()
    }

    /// The bytes of a stream; of stream 0, the packet's, which are there without a wire too.
    pub fn stream_bytes(&self, stream: StreamId) -> Option<&[u8]> {
        match stream {
            PACKET => self.bytes(),
            stream => self.decoded.as_ref()?.tree.stream(stream),
        }
    }

    /// The stream that a field's bits are in.
    pub(crate) fn stream_of(&self, field: TreeId) -> Option<StreamId> {
        self.decoded
            .as_ref()?
            .tree
            .get(field)
            .map(|node| node.stream())
    }

    /// The stream of this packet that is the same as one of another packet: the one that the same
    /// field opens; the packet, where there is none.
    pub(crate) fn same_stream(&self, other: &Detail, stream: StreamId) -> StreamId {
        if stream == PACKET {
            return PACKET;
        }
        let path = other.opener(stream).map(|field| other.path(field));
        self.streams()
            .into_iter()
            .find(|it| path.as_ref() == Some(&it.path))
            .map_or(PACKET, |it| it.stream)
    }

    /// The bits of a stream that a field has: its own, or those of the field that its stream was
    /// unpacked from. `None` where nothing of the stream became it.
    pub fn bits(&self, field: TreeId, stream: StreamId) -> Option<Range<u32>> {
        let tree = &self.decoded.as_ref()?.tree;
        std::iter::once(field)
            .chain(tree.ancestors(field))
            .filter_map(|id| tree.get(id))
            .find(|node| node.stream() == stream)
            .map(|node| node.bits())
    }

    /// The bits of one stream that bits of another became.
    pub(crate) fn bits_behind(
        &self,
        bits: &Range<u32>,
        of: StreamId,
        stream: StreamId,
    ) -> Option<Range<u32>> {
        if of == stream {
            let end = self.stream_bytes(stream)?.len().saturating_mul(8);
            // What was joined from several packets is not of this one's own bytes.
            return (bits.end as usize <= end).then(|| bits.clone());
        }
        self.bits(
            self.decoded.as_ref()?.tree.at_bit_of(of, bits.start)?,
            stream,
        )
    }

    /// The innermost fields that own bits of a byte of a stream, in wire order.
    pub fn fields_at(&self, byte: u32, stream: StreamId) -> Vec<TreeId> {
        let Some(decoded) = &self.decoded else {
            return Vec::new();
        };
        let start = u64::from(byte) * 8;
        let overlaps =
            |bits: &Range<u32>| u64::from(bits.start) < start + 8 && u64::from(bits.end) > start;
        decoded
            .tree
            .iter()
            .filter(|node| node.stream() == stream && overlaps(&node.bits()))
            .filter(|node| node.descendants() == 0 || self.ends_here(node))
            .map(|node| node.id())
            .collect()
    }

    /// Whether all that is below a field is in another stream.
    fn ends_here(&self, field: &TreeNode<'_>) -> bool {
        let Some(decoded) = &self.decoded else {
            return false;
        };
        let first = field.id().0.saturating_add(1);
        let mut below = first..first.saturating_add(field.descendants());
        let node = |id| decoded.tree.get(TreeId(id));
        below.all(|id| node(id).is_some_and(|it| it.stream() != field.stream()))
    }

    /// How many lines the hex view of a stream has.
    pub fn hex_row_count(&self, stream: StreamId) -> usize {
        let bytes = self.stream_bytes(stream);
        bytes.map_or(0, |bytes| bytes.len().div_ceil(HEX_COLUMNS))
    }

    /// One line of the hex view of a stream.
    pub fn hex_row(&self, row: usize, stream: StreamId) -> Option<HexRow> {
        let start = row.checked_mul(HEX_COLUMNS)?;
        let line = self.stream_bytes(stream)?.get(start..)?;
        Some(HexRow {
            offset: start as u32,
            bytes: line.iter().take(HEX_COLUMNS).copied().collect(),
        })
    }

    /// Which bits of byte `byte` of a stream belong to `bits`: bit i of the result is the bit of
    /// value 2^i.
    pub fn mask(&self, bits: &Range<u32>, byte: u32, stream: StreamId) -> u8 {
        mask(bits, byte, self.order_of(stream))
    }

    fn order_of(&self, stream: StreamId) -> BitOrder {
        match &self.decoded {
            Some(decoded) if stream != PACKET => {
                if decoded.tree.is_lsb_first(stream) {
                    BitOrder::Lsb
                } else {
                    BitOrder::Msb
                }
            }
            _ => self.order,
        }
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
