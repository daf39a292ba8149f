//! What messages hold beside what they are about: their fields, to be compared.

use std::collections::BTreeMap;

use netreel_system::Cancel;
use netreel_wire::{Decoded, MessageFacts, TreeNode, Value};
use twox_hash::XxHash3_64;

use super::sides::ComparedSession;
use crate::session::facts::values::write;
use crate::session::{MessageId, PacketId};

/// Fields that every run counts anew, by their annotations.
const COUNTED: [&str; 17] = [
    "sequence",
    "ack",
    "ack_bits",
    "nack",
    "range_first",
    "range_last",
    "reliable_sequence",
    "ordered_sequence",
    "acknowledges",
    "acknowledges_before",
    "sent_time",
    "echoes_time",
    "fragment_id",
    "fragment_index",
    "fragment_count",
    "snapshot",
    "base",
];

/// A field that is not the same in two messages that are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// Its path in the message; in the packet, where the message is not a field of it.
    pub path: String,
    /// What the first and the second say; `None` where it is not there.
    pub values: [Option<String>; 2],
}

/// For each message that says something, a number of what its fields say.
pub(super) fn hashes(
    side: ComparedSession<'_>,
    asked: &BTreeMap<MessageId, ()>,
    counts: bool,
    cancel: &Cancel,
) -> BTreeMap<MessageId, u64> {
    let ComparedSession { session, history } = side;
    let is_asked = |packet: PacketId| {
        let mut messages = session.messages_of(packet);
        cancel.goes_on() && messages.any(|(id, _)| asked.contains_key(&id))
    };
    let pieces = session.decode_all(
        is_asked,
        |packet, decoded, gathered: &mut Vec<(MessageId, u64)>| {
            let messages: Vec<(MessageId, MessageFacts)> = session.messages_of(packet).collect();
            let mut told: Vec<Vec<u8>> = vec![Vec::new(); messages.len()];
            let owners = Owners::new(messages.iter().map(|(_, facts)| facts));
            for node in decoded.tree.iter().filter(|&node| says(node, counts)) {
                if let Some(told) = owners.of(node).and_then(|owner| told.get_mut(owner)) {
                    told.extend_from_slice(name(node).as_bytes());
                    write(&[node.value()], told);
                }
            }
            let all = messages.iter().zip(told);
            gathered.extend(all.map(|((id, _), told)| (*id, XxHash3_64::oneshot(&told))));
        },
    );
    let mut hashes: BTreeMap<MessageId, u64> = pieces.into_iter().flatten().collect();
    hashes.retain(|id, _| asked.contains_key(id));
    // What travelled in fragments is what they come to together.
    for joined in &history.joined {
        if let Some(&first) = joined.fragments.first() {
            let bytes = history.payload(session, joined);
            hashes.insert(first, XxHash3_64::oneshot(&bytes));
        }
    }
    hashes
}

/// The fields in which two messages differ. Nothing where that cannot be told: the reels can no longer
/// be read, or the messages travelled in fragments and do not fit the wire.
pub(super) fn changes(
    sides: [ComparedSession<'_>; 2],
    messages: [MessageId; 2],
    counts: bool,
) -> Vec<FieldChange> {
    let told = [0, 1].map(|side| fields(sides[side], messages[side], counts));
    let [Some(one), Some(other)] = told else {
        return Vec::new();
    };
    let mut changes = Vec::new();
    for (path, value) in &one {
        let now = other.get(path);
        if now != Some(value) {
            changes.push(FieldChange {
                path: path.clone(),
                values: [Some(value.clone()), now.cloned()],
            });
        }
    }
    let added = other.iter().filter(|(path, _)| !one.contains_key(*path));
    changes.extend(added.map(|(path, value)| FieldChange {
        path: path.clone(),
        values: [None, Some(value.clone())],
    }));
    changes
}

/// The fields of a message, by their paths in it.
fn fields(
    side: ComparedSession<'_>,
    message: MessageId,
    counts: bool,
) -> Option<BTreeMap<String, String>> {
    let ComparedSession { session, history } = side;
    if let Some(&whole) = history.joined_of.get(&message) {
        let joined = history.joined.get(whole as usize)?;
        let wire = session.wire.as_ref()?;
        let payload = history.payload(session, joined);
        let decoded = wire.decode_message(joined.protocol, &payload);
        return Some(told(&decoded, &|node| says(node, counts), ""));
    }
    let packet = session.carrier(message)?;
    let decoded = session.decode(packet)?;
    let messages: Vec<(MessageId, MessageFacts)> = session.messages_of(packet).collect();
    let place = messages.iter().position(|(id, _)| *id == message)?;
    let (_, facts) = messages.get(place)?;
    let mut nodes = decoded.tree.iter();
    let root = nodes.find(|node| {
        let is_message = node.annotation() == Some("message");
        is_message && node.bits() == facts.bits && node.stream() == facts.stream
    });
    let above = root.map(TreeNode::path);
    let owners = Owners::new(messages.iter().map(|(_, facts)| facts));
    let is_own = |node: TreeNode<'_>| says(node, counts) && owners.of(node) == Some(place);
    Some(told(&decoded, &is_own, &above.unwrap_or_default()))
}

fn told(
    decoded: &Decoded,
    is_own: &dyn Fn(TreeNode<'_>) -> bool,
    above: &str,
) -> BTreeMap<String, String> {
    let nodes = decoded.tree.iter().filter(|&node| is_own(node));
    let fields = nodes.map(|node| {
        let path = node.path();
        let inside = path.strip_prefix(above).unwrap_or(&path);
        let inside = inside.trim_start_matches('.').to_owned();
        (inside, node.value().to_string())
    });
    fields.collect()
}

/// Whether a field says something that could be another thing in another run.
fn says(node: TreeNode<'_>, counts: bool) -> bool {
    let is_counted = |annotation: &str| {
        COUNTED.contains(&annotation) || !counts && annotation == "migration_counter"
    };
    !matches!(node.value(), Value::None)
        && !node.is_padding()
        && !node.annotation().is_some_and(is_counted)
}

fn name(node: TreeNode<'_>) -> String {
    match node.name() {
        netreel_wire::Name::Field(name) => name.to_owned(),
        netreel_wire::Name::Index(index) => index.to_string(),
    }
}

/// The messages of a packet by where they begin.
struct Owners {
    /// Stream, first bit, the bit after the last, and the message's place in the packet.
    begins: Vec<(u16, u32, u32, usize)>,
}

/// How many messages may stand in one another.
const NESTED_MAX: usize = 8;

impl Owners {
    fn new<'a>(messages: impl Iterator<Item = &'a MessageFacts>) -> Owners {
        let mut begins: Vec<_> = messages
            .enumerate()
            .map(|(place, facts)| {
                let bits = &facts.bits;
                (facts.stream.0, bits.start, bits.end, place)
            })
            .collect();
        begins.sort_unstable();
        Owners { begins }
    }

    /// The innermost message that a field is in.
    fn of(&self, node: TreeNode<'_>) -> Option<usize> {
        let (bits, stream) = (node.bits(), node.stream().0);
        let after = |&(of, start, ..): &(u16, u32, u32, usize)| (of, start) <= (stream, bits.start);
        let after = self.begins.partition_point(after);
        let before = self.begins.get(..after)?.iter().rev().take(NESTED_MAX);
        let mut around = before.filter(|&&(of, _, end, _)| of == stream && bits.end <= end);
        around.next().map(|&(.., place)| place)
    }
}
