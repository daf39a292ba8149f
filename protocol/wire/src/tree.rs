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

impl Tree {
    /// The node with this id.
    pub fn get(&self, id: TreeId) -> Option<&TreeNode> {
        self.nodes.get(id.0 as usize)
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
        let (next, end) = match self.get(id) {
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
        std::iter::successors(self.get(id).and_then(|node| node.parent), |&above| {
            self.get(above).and_then(|node| node.parent)
        })
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
            node.name.append_to(&mut path);
        }
        path
    }

    /// The smallest node that covers a bit of the packet.
    pub fn at_bit(&self, bit: u32) -> Option<TreeId> {
        let covers = |&id: &TreeId| self.get(id).is_some_and(|node| node.bits.contains(&bit));
        let mut found = self.roots().find(covers)?;
        while let Some(inner) = self.children(found).find(covers) {
            found = inner;
        }
        Some(found)
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
        self.next += 1 + self.tree.get(id)?.descendants;
        Some(id)
    }
}

impl Name {
    /// Adds this name to a path: `.name` or `[index]`.
    pub(crate) fn append_to(&self, path: &mut String) {
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
