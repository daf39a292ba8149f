//! A packet, decoded to the last field: an arena of nodes in wire order.

use std::ops::Range;
use std::sync::Arc;

use crate::bits::BitReader;
use crate::check::model::{BitOrder, Order};
use crate::layers::HuffmanTable;
use crate::program::{Dictionary, FieldInfo, Shown};
use crate::run::{Mark, show};
use crate::values::codec::Codec;
use crate::values::rotation::Axes;
use crate::values::text::unit_bytes;
use crate::values::uuid;

/// A node of a [`Tree`], by its place in wire order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u32);

/// A row of bits that fields stand in: the packet itself is stream 0; a layer opens another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u16);

/// All fields of one packet. The root, where there is one, is the first node.
///
/// A node is a handful of numbers; its names are the wire's, and its value is read from the bytes
/// when somebody asks.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    dictionary: Arc<Dictionary>,
    /// A parent stands before its children.
    nodes: Vec<Node>,
    /// The bytes of each stream, the packet's first.
    streams: Vec<Stream>,
    /// What nodes stand for that are added to another value, in the order of nodes.
    sums: Vec<(u32, Option<i128>)>,
    /// Decoding ended before the wire did, or before the packet did.
    pub(crate) is_cut: bool,
    /// Derived fields that are not what they are worked out to be.
    kept: Vec<TreeId>,
    /// Something is left in a window or in a layer.
    pub(crate) has_window_rest: bool,
}

/// A row of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stream {
    bytes: Vec<u8>,
    order: Order,
    coding: Option<Arc<HuffmanTable>>,
}

/// What the arena keeps of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// In the dictionary, or [`REST`].
    pub(crate) field: u32,
    /// The place in the repeat around it, of an element.
    pub(crate) index: u32,
    pub(crate) bits: Range<u32>,
    /// [`NO_NODE`]: none.
    pub(crate) parent: u32,
    pub(crate) descendants: u32,
    pub(crate) stream: StreamId,
    /// An integer as it was on the wire; of a text or bytes, the first bit of the content.
    pub(crate) raw: u64,
}

/// The field of a node that holds what the wire does not explain.
pub(crate) const REST: u32 = u32::MAX;

/// The field of a node that holds what the wire explains only together with packets that are not
/// there.
pub(crate) const UNRESOLVED: u32 = u32::MAX - 1;

/// The parent of a root.
pub(crate) const NO_NODE: u32 = u32::MAX;

impl Tree {
    pub(crate) fn new(dictionary: Arc<Dictionary>, nodes: usize) -> Tree {
        Tree {
            dictionary,
            nodes: Vec::with_capacity(nodes),
            streams: Vec::with_capacity(1),
            sums: Vec::new(),
            is_cut: false,
            kept: Vec::new(),
            has_window_rest: false,
        }
    }

    pub(crate) fn dictionary(&self) -> &Arc<Dictionary> {
        &self.dictionary
    }

    /// Adds a stream's bytes.
    pub(crate) fn add_stream(&mut self, stream: &BitReader<'_>) -> StreamId {
        self.streams.push(Stream {
            bytes: stream.all().to_vec(),
            order: stream.order(),
            coding: stream.coding().cloned(),
        });
        StreamId((self.streams.len() - 1) as u16)
    }

    pub(crate) fn push(&mut self, node: Node) -> TreeId {
        self.nodes.push(node);
        TreeId(self.nodes.len() as u32 - 1)
    }

    /// The children of a node whose end is not known yet.
    pub(crate) fn children_of_open(&self, id: TreeId) -> impl Iterator<Item = TreeNode<'_>> {
        let children = Siblings {
            tree: self,
            next: id.0 + 1,
            end: self.nodes.len() as u32,
        };
        children.filter_map(|child| self.get(child))
    }

    /// A derived field is not what it is worked out to be.
    pub(crate) fn keep(&mut self, id: TreeId) {
        self.kept.push(id);
    }

    pub(crate) fn is_kept(&self, id: TreeId) -> bool {
        self.kept.contains(&id)
    }

    /// A stream has only so many bytes.
    pub(crate) fn cut_stream(&mut self, stream: StreamId, bytes: usize) {
        if let Some(stream) = self.streams.get_mut(usize::from(stream.0)) {
            stream.bytes.truncate(bytes);
        }
    }

    /// How much is in it.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            nodes: self.nodes.len(),
            streams: self.streams.len(),
            sums: self.sums.len(),
            ..Mark::default()
        }
    }

    /// Forgets what was added since.
    pub(crate) fn go_back(&mut self, mark: Mark) {
        self.nodes.truncate(mark.nodes);
        self.streams.truncate(mark.streams);
        self.sums.truncate(mark.sums);
        self.kept.retain(|kept| (kept.0 as usize) < mark.nodes);
    }

    /// Says what the last node stands for.
    pub(crate) fn add_sum(&mut self, sum: Option<i128>) {
        if let Some(last) = self.nodes.len().checked_sub(1) {
            self.sums.push((last as u32, sum));
        }
    }

    /// What a node stands for, if it is added to another value.
    fn sum(&self, id: TreeId) -> Option<Option<i128>> {
        let place = self.sums.binary_search_by_key(&id.0, |&(node, _)| node);
        self.sums.get(place.ok()?).map(|&(_, sum)| sum)
    }

    pub(crate) fn node_mut(&mut self, id: TreeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.0 as usize)
    }

    /// How many nodes there are; [`TreeId`] counts from 0 to it.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing could be decoded and nothing is left.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node with this id.
    pub fn get(&self, id: TreeId) -> Option<TreeNode<'_>> {
        let node = self.nodes.get(id.0 as usize)?;
        Some(TreeNode {
            tree: self,
            node,
            id,
        })
    }

    /// All nodes in wire order, a parent before its children.
    pub fn iter(&self) -> impl Iterator<Item = TreeNode<'_>> {
        (0u32..).zip(&self.nodes).map(|(id, node)| TreeNode {
            tree: self,
            node,
            id: TreeId(id),
        })
    }

    /// How many streams there are: one, and one for each layer.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Whether the first field of a stream takes the lowest bits of the first byte.
    pub fn is_lsb_first(&self, stream: StreamId) -> bool {
        let stream = self.streams.get(usize::from(stream.0));
        stream.is_none_or(|stream| stream.order.bits == BitOrder::Lsb)
    }

    /// The bytes of a stream; of stream 0, the packet.
    pub fn stream(&self, stream: StreamId) -> Option<&[u8]> {
        let stream = self.streams.get(usize::from(stream.0))?;
        Some(&stream.bytes)
    }

    /// The nodes that no other node holds: the root struct and, where the packet has bits that the
    /// wire does not explain, `rest`.
    pub fn roots(&self) -> impl Iterator<Item = TreeId> + '_ {
        Siblings {
            tree: self,
            next: 0,
            end: self.nodes.len() as u32,
        }
    }

    /// The nodes directly below this one, in wire order.
    pub fn children(&self, id: TreeId) -> impl Iterator<Item = TreeId> + '_ {
        let (next, end) = match self.nodes.get(id.0 as usize) {
            Some(node) => (id.0 + 1, id.0 + 1 + node.descendants),
            None => (0, 0),
        };
        Siblings {
            tree: self,
            next,
            end,
        }
    }

    /// The nodes around this one, the nearest first.
    pub fn ancestors(&self, id: TreeId) -> impl Iterator<Item = TreeId> + '_ {
        std::iter::successors(self.parent(id), |&above| self.parent(above))
    }

    fn parent(&self, id: TreeId) -> Option<TreeId> {
        let parent = self.nodes.get(id.0 as usize)?.parent;
        (parent != NO_NODE).then_some(TreeId(parent))
    }

    /// Where a node stands, as people say it: `messages[2].create.object`. The root struct adds
    /// nothing, and its own path is its name.
    pub fn path(&self, id: TreeId) -> String {
        let mut steps: Vec<TreeId> = self.ancestors(id).collect();
        steps.pop();
        steps.reverse();
        steps.push(id);
        let mut path = String::new();
        for node in steps.into_iter().filter_map(|step| self.get(step)) {
            node.name().append_to(&mut path);
        }
        path
    }

    /// The smallest node that covers a bit of the packet.
    pub fn at_bit(&self, bit: u32) -> Option<TreeId> {
        self.at_bit_of(StreamId(0), bit)
    }

    /// The smallest node that covers a bit of a stream.
    pub fn at_bit_of(&self, stream: StreamId, bit: u32) -> Option<TreeId> {
        let covers = |node: &&Node| node.stream == stream && node.bits.contains(&bit);
        // Children follow their parents, and no two of a stream's nodes cross.
        let last = self.nodes.iter().rposition(|node| covers(&node))?;
        Some(TreeId(last as u32))
    }
}

impl PartialEq for Tree {
    /// Whether both say the same of the same bytes by the same names.
    fn eq(&self, other: &Tree) -> bool {
        self.streams == other.streams
            && self.sums == other.sums
            && self.nodes.len() == other.nodes.len()
            && (Arc::ptr_eq(&self.dictionary, &other.dictionary)
                || self.iter().zip(other.iter()).all(|(a, b)| {
                    a.name() == b.name() && a.type_name() == b.type_name() && a.value() == b.value()
                }))
            && self.nodes.iter().zip(&other.nodes).all(|(a, b)| {
                (&a.bits, a.parent, a.stream, a.raw) == (&b.bits, b.parent, b.stream, b.raw)
            })
    }
}

/// Steps over each node's descendants.
struct Siblings<'a> {
    tree: &'a Tree,
    next: u32,
    end: u32,
}

impl Iterator for Siblings<'_> {
    type Item = TreeId;

    fn next(&mut self) -> Option<TreeId> {
        if self.next >= self.end {
            return None;
        }
        let id = TreeId(self.next);
        self.next += 1 + self.tree.nodes.get(id.0 as usize)?.descendants;
        Some(id)
    }
}

/// A field, a struct or an element of a repeat: a place in a [`Tree`].
#[derive(Clone, Copy, Debug)]
pub struct TreeNode<'t> {
    tree: &'t Tree,
    node: &'t Node,
    id: TreeId,
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
            Shown::Uuid => Value::Uuid(uuid::to_text(&self.content())),
            Shown::Hash => Value::Hash(self.content()),
            _ => {
                let value = show::value(self.node.raw, shown, &self.tree.dictionary);
                let change = match (self.tree.sum(self.id), &value) {
                    (Some(_), Value::Unsigned(change)) => i128::from(*change),
                    (Some(_), Value::Signed(change)) => i128::from(*change),
                    _ => return value,
                };
                let value = self.tree.sum(self.id).flatten();
                Value::Delta { change, value }
            }
        }
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
            let stream = self.tree.streams.get(usize::from(node.stream().0));
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

    /// The whole bytes that it was unpacked from, where it went through a layer.
    pub(crate) fn packed(self) -> Vec<u8> {
        let Range { start, end } = self.node.bits;
        self.bytes(start..end - (end - start) % 8, false)
    }

    /// The order of its stream.
    pub(crate) fn order(self) -> Order {
        let stream = self.tree.streams.get(usize::from(self.node.stream.0));
        stream.map_or(self.tree.dictionary.order, |stream| stream.order)
    }

    /// How many bits a codec asks for there. In a coded stream it gets others than it asks for.
    pub(crate) fn asked_bits(self, codec: Codec, bits: Range<u32>) -> u32 {
        let stream = self.tree.streams.get(usize::from(self.node.stream.0));
        let Some(stream) = stream.filter(|stream| stream.coding.is_some()) else {
            return bits.end - bits.start;
        };
        let reader = BitReader::new(&stream.bytes, stream.order);
        let mut reader = reader.coded(stream.coding.as_ref());
        reader.skip(bits.start);
        let mut asked = 0;
        let _ = codec.read(stream.order, |bits| {
            asked += bits;
            reader.read(bits)
        });
        asked
    }

    fn bytes(self, bits: Range<u32>, coded: bool) -> Vec<u8> {
        let place = usize::from(self.node.stream.0);
        let Some(stream) = self.tree.streams.get(place) else {
            return Vec::new();
        };
        let coding = stream.coding.as_ref().filter(|_| coded);
        let reader = BitReader::new(&stream.bytes, stream.order).coded(coding);
        reader.bytes(bits.start, bits.end)
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

/// What a field says.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A struct, a repeat or a switch arm: its children say it.
    None,
    /// An unsigned integer.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// One bit, declared as `bool`.
    Bool(bool),
    /// A float as it was on the wire.
    Float(f64),
    /// A quantised float: the integer on the wire and what it stands for.
    Quantized {
        /// On the wire.
        raw: u64,
        /// What it stands for.
        value: f64,
    },
    /// An enum: the number on the wire and its name, where it has one.
    Enum {
        /// On the wire.
        raw: u64,
        /// In the wire file.
        name: Option<Arc<str>>,
    },
    /// An integer that is added to another value.
    Delta {
        /// On the wire.
        change: i128,
        /// The sum; `None` where the other value is not known.
        value: Option<i128>,
    },
    /// A rotation.
    Rotation {
        /// On the wire.
        raw: u64,
        /// x, y, z, w, of unit length.
        quaternion: [f64; 4],
        /// The same rotation, in the order of the axes.
        euler_degrees: [f64; 3],
        /// Which axes the angles turn about, the first first.
        axes: Axes,
    },
    /// Single bits.
    Flags {
        /// On the wire.
        raw: u64,
        /// The names of those that are set, from the lowest bit up.
        set: Vec<Arc<str>>,
        /// Bits that are set and have no name.
        unnamed: u64,
    },
    /// A UUID, with hyphens.
    Uuid(String),
    /// Bytes that are shown whole.
    Hash(Vec<u8>),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// Something that a decode has to say of a packet. Decoding goes on where it can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The path of the field: `messages[2].create.object`.
    pub path: String,
    /// The first bit of the field.
    pub bit: u32,
    /// What is wrong, in a sentence without a full stop: what was needed, what was there, and which
    /// field set the limit.
    pub message: String,
    /// The stream that the bit is in.
    pub stream: StreamId,
}
