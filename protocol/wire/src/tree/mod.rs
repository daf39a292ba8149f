//! A packet, decoded to the last field: an arena of nodes in wire order.

mod node;
pub(crate) mod show;

use std::ops::Range;
use std::sync::Arc;

pub use self::node::{Name, TreeNode};
use crate::bits::BitReader;
use crate::layers::HuffmanTable;
use crate::layout::{BitOrder, Order, StreamId};
use crate::program::Dictionary;
use crate::values::rotation::Axes;

/// A node of a [`Tree`], by its place in wire order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u32);

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
    streams: Vec<BitStream>,
    /// What nodes stand for that are added to another value, in the order of nodes.
    sums: Vec<(u32, Option<i128>)>,
    /// Decoding ended before the wire did, or before the packet did.
    pub(crate) is_cut: bool,
    /// Derived fields that are not what they are worked out to be.
    kept: Vec<TreeId>,
    /// Something is left in a window or in a layer.
    pub(crate) has_window_rest: bool,
}

/// How much was in a tree at some point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    nodes: usize,
    streams: usize,
    sums: usize,
}

/// A row of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BitStream {
    bytes: Vec<u8>,
    order: Order,
    coding: Option<Arc<HuffmanTable>>,
}

impl BitStream {
    /// Its bits; `coded`: as the stream's code reads them.
    fn reader(&self, coded: bool) -> BitReader<'_> {
        let coding = self.coding.as_ref().filter(|_| coded);
        BitReader::new(&self.bytes, self.order).coded(coding)
    }
}

/// What the arena keeps of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// In the dictionary, or [`REST`].
    pub field: u32,
    /// The place in the repeat around it, of an element.
    pub index: u32,
    pub bits: Range<u32>,
    /// [`NO_NODE`]: none.
    pub parent: u32,
    pub descendants: u32,
    pub stream: StreamId,
    /// An integer as it was on the wire; of a text or bytes, the first bit of the content; of an
    /// integer of 128 bits, whether its highest byte is the first.
    pub raw: u64,
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

    /// Whether the wire declares properties of objects.
    pub(crate) fn has_properties(&self) -> bool {
        self.dictionary.has_properties
    }

    /// Whether the wire has snapshots of objects.
    pub(crate) fn has_snapshots(&self) -> bool {
        self.dictionary.has_snapshots
    }

    pub(crate) fn dictionary(&self) -> &Arc<Dictionary> {
        &self.dictionary
    }

    /// Adds a stream's bytes.
    pub(crate) fn add_stream(&mut self, stream: &BitReader<'_>) -> StreamId {
        self.streams.push(BitStream {
            bytes: stream.all().to_vec(),
            order: stream.order(),
            coding: stream.coding().cloned(),
        });
        StreamId((self.streams.len() - 1) as u16)
    }

    // Written where it is to be: a copy of it would wait for its fields to be written one by one.
    #[inline]
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

    /// A stream has only this many bytes.
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
        let stream = self.bit_stream(stream);
        stream.is_none_or(|stream| stream.order.bits == BitOrder::Lsb)
    }

    /// The bytes of a stream; of stream 0, the packet.
    pub fn stream(&self, stream: StreamId) -> Option<&[u8]> {
        Some(&self.bit_stream(stream)?.bytes)
    }

    fn bit_stream(&self, stream: StreamId) -> Option<&BitStream> {
        self.streams.get(usize::from(stream.0))
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

/// What a field says.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A struct, a repeat or a switch arm: its children say it.
    None,
    /// An unsigned integer.
    Unsigned(u64),
    /// An unsigned integer of 128 bits.
    Wide(u128),
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
    /// Whether the field was read, and has another value than others say that it has: a length, a
    /// count, a checksum.
    pub is_derived: bool,
}
