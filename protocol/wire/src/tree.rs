//! A packet, decoded to the last field: an arena of nodes in wire order.

use std::ops::Range;
use std::sync::Arc;

/// A node of a [`Tree`], by its place in [`Tree::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u32);

/// All fields of one packet. The root, where there is one, is the first node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// In wire order: a parent stands before its children.
    pub nodes: Vec<TreeNode>,
}

/// A field, a struct or an element of a repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeNode {
    /// The field's name; an element of a repeat has its index.
    pub name: Name,
    /// The type as the wire spells it.
    pub type_name: Arc<str>,
    /// Its bits in the packet, numbered from the first in the wire's bit order.
    pub bits: Range<u32>,
    /// What it says.
    pub value: Value,
    /// The node around it.
    pub parent: Option<TreeId>,
    /// How many nodes below it follow it in the arena.
    pub descendants: u32,
    /// The annotation that gives it a meaning, as the wire spells it, without `@`.
    pub annotation: Option<Arc<str>>,
}

/// See [`TreeNode::name`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Name {
    Field(Arc<str>),
    Index(u32),
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
}
