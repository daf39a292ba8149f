//! A place in a tree, and what is to say of it.

use std::ops::Range;

use super::{NO_NODE, Node, REST, Tree, TreeId, UNRESOLVED, Value, show};
use crate::layout::{Order, StreamId};
use crate::program::{Dictionary, FieldInfo, OfNode, Shown};
use crate::values::codec::Codec;
use crate::values::text::unit_bytes;
use crate::values::uuid;

/// A field, a struct or an element of a repeat: a place in a [`Tree`].
#[derive(Clone, Copy, Debug)]
pub struct TreeNode<'t> {
    pub(super) tree: &'t Tree,
    pub(super) node: &'t Node,
    pub(super) id: TreeId,
}

impl<'t> TreeNode<'t> {
    /// Its place in the tree.
    pub fn id(self) -> TreeId {
        self.id
    }

    /// The field's name; an element of a repeat has its index.
    pub fn name(self) -> Name<'t> {
        match self.info() {
            Some(info) if info.is_element => Name::Index(self.node.index),
            Some(info) => Name::Field(&info.name),
            None if self.is_unresolved() => Name::Field("unresolved"),
            None => Name::Field("rest"),
        }
    }

    /// The type as the wire spells it.
    pub fn type_name(self) -> &'t str {
        self.info().map_or("bytes", |info| &info.type_name)
    }

    /// Its bits in its stream, numbered from the first in the stream's bit order.
    pub fn bits(self) -> Range<u32> {
        self.node.bits.clone()
    }

    /// The stream that its bits are in.
    pub fn stream(self) -> StreamId {
        self.node.stream
    }

    /// What it says.
    pub fn value(self) -> Value {
        let shown = self.info().map_or(Shown::Bytes, |info| info.shown);
        match shown {
            Shown::Text(encoding) | Shown::ZeroText(encoding) => {
                Value::Text(show::text(&self.content(), encoding))
            }
            Shown::PaddedText(encoding) => {
                Value::Text(show::padded_text(&self.content(), encoding))
            }
            Shown::Bytes => Value::Bytes(self.content()),
            Shown::Wide(_) => Value::Wide(self.wide()),
            Shown::Uuid => Value::Uuid(uuid::to_text(&self.content())),
            Shown::Hash => Value::Hash(self.content()),
            _ => {
                let value = show::value(self.node.raw, shown, &self.tree.dictionary);
                let change = match (self.tree.sum(self.id), &value) {
                    (Some(_), Value::Unsigned(change)) => i128::from(*change),
                    (Some(_), Value::Signed(change)) => i128::from(*change),
                    // A truth value, an enum or a float that is copied from what nobody has set.
                    (Some(None), _) => i128::from(self.node.raw),
                    _ => return value,
                };
                let value = self.tree.sum(self.id).flatten();
                Value::Delta { change, value }
            }
        }
    }

    /// It, and the nodes around it, from the inside out.
    pub fn around(self) -> impl Iterator<Item = TreeNode<'t>> {
        std::iter::successors(Some(self), |at| at.tree.get(at.parent()?))
    }

    /// Where it stands: see [`Tree::path`].
    pub fn path(self) -> String {
        self.tree.path(self.id)
    }

    /// The node around it.
    pub fn parent(self) -> Option<TreeId> {
        (self.node.parent != NO_NODE).then_some(TreeId(self.node.parent))
    }

    /// How many nodes below it follow it in the tree.
    pub fn descendants(self) -> u32 {
        self.node.descendants
    }

    /// The annotation that gives it a meaning, as the wire spells it, without `@`.
    pub fn annotation(self) -> Option<&'t str> {
        self.info()?.annotation.as_deref()
    }

    /// The name of the value that it gives to the other side to say back: `@gives(NAME)`.
    pub fn gives(self) -> Option<&'t str> {
        self.info()?.said_back.as_ref()?.gives.as_deref()
    }

    /// The name of the value of the other side that it says back: `@takes(NAME)`.
    pub fn takes(self) -> Option<&'t str> {
        self.info()?.said_back.as_ref()?.takes.as_deref()
    }

    pub(crate) fn asked(self) -> OfNode {
        self.tree.dictionary.of_node(self.node.field)
    }

    /// Whether it is another thing in each copy of its message: `@per_copy`.
    pub fn is_per_copy(self) -> bool {
        self.info().is_some_and(|info| info.is_per_copy)
    }

    /// What the wire does not explain, or not without packets that are not there.
    pub fn is_rest(self) -> bool {
        let of_window = |info: &FieldInfo| info.rest.is_some();
        let is_rest = self.node.field == REST || self.is_unresolved();
        is_rest || self.info().is_some_and(of_window)
    }

    /// What the wire explains only together with something that no packet so far has said.
    pub fn is_unresolved(self) -> bool {
        let of_window = |info: &FieldInfo| info.rest.is_some() && &*info.name == "unresolved";
        self.node.field == UNRESOLVED || self.info().is_some_and(of_window)
    }

    /// Whether it is a field with a value on the wire that the wire does not prescribe.
    pub fn can_be_blank(self) -> bool {
        let contents = &self.tree.dictionary.contents;
        let has_value = |info: &FieldInfo| {
            info.shown != Shown::Nothing
                && info.constant.is_none()
                && info.padding.is_none()
                && !contents.contains_key(&self.node.field)
        };
        let bits = &self.node.bits;
        bits.start < bits.end && !self.is_rest() && self.info().is_some_and(has_value)
    }

    /// Whether it is what `align` skips.
    pub fn is_padding(self) -> bool {
        self.info().is_some_and(|info| info.padding.is_some())
    }

    /// Whether its bits came in several packets, so that they are in none of them as they stand here.
    pub fn is_joined(self) -> bool {
        let mut node = self;
        while let Some(parent) = node.parent().and_then(|parent| self.tree.get(parent)) {
            let through_layer = |info: &FieldInfo| info.packed_key.is_some();
            let stream = self.tree.bit_stream(node.stream());
            let is_coded = stream.is_some_and(|stream| stream.coding.is_some());
            let is_unpacked = is_coded || parent.info().is_some_and(through_layer);
            if parent.stream() != node.stream() && !is_unpacked {
                return true;
            }
            node = parent;
        }
        false
    }

    pub(crate) fn dictionary(self) -> &'t Dictionary {
        &self.tree.dictionary
    }

    pub(crate) fn field(self) -> u32 {
        self.node.field
    }

    pub(crate) fn info(self) -> Option<&'t FieldInfo> {
        self.tree.dictionary.field(self.node.field)
    }

    /// An integer as it was on the wire.
    pub(crate) fn raw(self) -> u64 {
        self.node.raw
    }

    /// The bytes of a text without its prefix or the zero that ends it, of bytes, or of `rest`.
    pub(crate) fn content(self) -> Vec<u8> {
        // What nobody explains is bits as they stand.
        let mut bytes = self.bytes(self.node.raw as u32..self.node.bits.end, !self.is_rest());
        if let Some(Shown::ZeroText(encoding)) = self.info().map(|info| info.shown) {
            let zero = unit_bytes(encoding) as usize;
            bytes.truncate(bytes.len().saturating_sub(zero));
        }
        bytes
    }

    /// An integer of 128 bits.
    pub(crate) fn wide(self) -> u128 {
        let bytes = self.bytes(self.bits(), true);
        let bytes = bytes.first_chunk().copied().unwrap_or_default();
        match self.node.raw {
            0 => u128::from_le_bytes(bytes),
            _ => u128::from_be_bytes(bytes),
        }
    }

    /// The whole bytes that it was unpacked from, where it went through a layer.
    pub(crate) fn packed(self) -> Vec<u8> {
        let Range { start, end } = self.node.bits;
        self.bytes(start..end - (end - start) % 8, false)
    }

    /// The order of its stream.
    pub(crate) fn order(self) -> Order {
        let stream = self.tree.bit_stream(self.stream());
        stream.map_or(self.tree.dictionary.order, |stream| stream.order)
    }

    /// How many bits a codec asks for there. In a coded stream it gets others than it asks for.
    pub(crate) fn asked_bits(self, codec: Codec, bits: Range<u32>) -> u32 {
        let stream = self.tree.bit_stream(self.stream());
        let Some(stream) = stream.filter(|stream| stream.coding.is_some()) else {
            return bits.end - bits.start;
        };
        let mut reader = stream.reader(true);
        reader.skip(bits.start);
        let mut asked = 0;
        let _ = codec.read(stream.order, |bits| {
            asked += bits;
            reader.read(bits)
        });
        asked
    }

    fn bytes(self, bits: Range<u32>, coded: bool) -> Vec<u8> {
        let stream = self.tree.bit_stream(self.stream());
        stream.map_or(Vec::new(), |stream| {
            stream.reader(coded).bytes(bits.start, bits.end)
        })
    }
}

/// See [`TreeNode::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Name<'t> {
    Field(&'t str),
    Index(u32),
}

impl Name<'_> {
    /// Adds this name to a path: `.name` or `[index]`.
    pub(crate) fn append_to(self, path: &mut String) {
        match self {
            Name::Field(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            Name::Index(index) => {
                path.push('[');
                path.push_str(&index.to_string());
                path.push(']');
            }
        }
    }
}
