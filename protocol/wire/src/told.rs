//! What the messages of a decoded packet tell of properties of replicated objects.

use crate::program::{FieldInfo, OfNode, Shown};
use crate::property::PropertyId;
use crate::tree::{Tree, TreeId, TreeNode, Value};
use crate::wire::Decoded;

/// What a message tells of a property.
#[derive(Clone, Debug, PartialEq)]
pub struct ToldProperty {
    /// The place of the message in the packet's [`messages`](crate::PacketFacts::messages).
    pub message: u32,
    /// Which property.
    pub property: PropertyId,
    /// One value, or those of its parts, in wire order.
    pub values: Vec<Value>,
}

/// A snapshot of objects that a message begins: the messages about objects that follow it in the packet
/// are a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldSnapshot {
    /// The place of the message in the packet's [`messages`](crate::PacketFacts::messages).
    pub message: u32,
    /// `@snapshot`: its number.
    pub number: u64,
    /// `@base`: the number of the snapshot that it tells the differences from.
    pub base: Option<u64>,
}

impl Decoded {
    /// What its messages tell of properties, in wire order.
    pub fn properties(&self) -> Vec<ToldProperty> {
        let tree = &self.tree;
        let mut told = Vec::new();
        if !tree.has_properties() {
            return told;
        }
        let mut open = Open::default();
        let mut next = 0;
        while let Some(node) = tree.get(TreeId(next)) {
            let asked = node.asked();
            let message = open.message(node, asked);
            if let (Some(property), Some(message)) = (asked.property, message) {
                let is_marked = node.info().is_some_and(|info| info.of_property.is_marked);
                let values = values(tree, node, is_marked);
                if !values.is_empty() {
                    told.push(ToldProperty {
                        message,
                        property: PropertyId(property),
                        values,
                    });
                }
                next = after(node);
                continue;
            }
            next += 1;
        }
        told
    }
}

impl Decoded {
    /// The snapshots that its messages begin, in wire order.
    pub fn snapshots(&self) -> Vec<ToldSnapshot> {
        let mut found: Vec<ToldSnapshot> = Vec::new();
        if !self.tree.has_snapshots() {
            return found;
        }
        let mut bases: Vec<(u32, u64)> = Vec::new();
        let mut open = Open::default();
        for node in self.tree.iter() {
            let number = || match node.value() {
                Value::Unsigned(number) => Some(number),
                Value::Signed(number) => u64::try_from(number).ok(),
                Value::Delta { value, .. } => u64::try_from(value?).ok(),
                _ => None,
            };
            let asked = node.asked();
            let Some(message) = open.message(node, asked) else {
                continue;
            };
            if asked.is_snapshot {
                found.extend(number().map(|number| ToldSnapshot {
                    message,
                    number,
                    base: None,
                }));
            } else if asked.is_base {
                bases.extend(number().map(|number| (message, number)));
            }
        }
        for each in &mut found {
            let base = bases.iter().find(|(message, _)| *message == each.message);
            each.base = base.map(|&(_, number)| number);
        }
        found
    }
}

/// The messages that hold a node, with the nodes after them.
#[derive(Default)]
struct Open {
    messages: Vec<(u32, u32)>,
    count: u32,
}

impl Open {
    /// The message that a node is of, or begins; nodes are asked for in their order.
    fn message(&mut self, node: TreeNode<'_>, asked: OfNode) -> Option<u32> {
        while self
            .messages
            .last()
            .is_some_and(|(_, end)| node.id().0 >= *end)
        {
            self.messages.pop();
        }
        if asked.is_message {
            self.messages.push((self.count, after(node)));
            self.count += 1;
        }
        self.messages.last().map(|(message, _)| *message)
    }
}

/// The node after one and all below it.
fn after(node: TreeNode<'_>) -> u32 {
    node.id()
        .0
        .saturating_add(node.descendants())
        .saturating_add(1)
}

fn values(tree: &Tree, node: TreeNode<'_>, is_marked: bool) -> Vec<Value> {
    let counts = |info: &FieldInfo| {
        if is_marked {
            info.of_property.is_value
        } else {
            info.of_property.is_plain && info.constant.is_none()
        }
    };
    let below = (node.id().0..after(node)).filter_map(|id| tree.get(TreeId(id)));
    let plain = below.filter(|node| {
        let info = node.info();
        info.is_some_and(|info| info.shown != Shown::Nothing && counts(info))
    });
    plain.map(TreeNode::value).collect()
}
