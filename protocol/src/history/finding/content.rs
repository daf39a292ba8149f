//! What a message says, field by field, without what is another thing in each copy of it.

use netreel_wire::{Name, StreamId, TreeId, TreeNode, Value};

use crate::session::{MessageId, Session};

/// What is told with a message and is not of it: acks that travel with it, and when this copy was sent.
const OF_COPY: [&str; 9] = [
    "ack",
    "ack_bits",
    "nack",
    "acknowledges",
    "acknowledges_before",
    "sent_time",
    "echoes_time",
    "sequence",
    "tick",
];

/// The fields of a message with what they say, in wire order. Fields with these annotations are left out, as
/// are those that tell of the copy alone. `None` where the reel or the wire does not tell.
pub(super) fn content(
    session: &Session,
    message: MessageId,
    without: &[&str],
) -> Option<Vec<(String, String)>> {
    let told = session.message(message)?;
    let decoded = session.decoded(told.packet)?;
    let tree = &decoded.tree;
    let facts = &told.facts;
    let is_it = |it: &TreeNode<'_>| it.stream() == facts.stream && it.bits() == facts.bits;
    // The list of messages has the same bits where it has one alone.
    let is_element = |it: &TreeNode<'_>| matches!(it.name(), Name::Index(_));
    let mut elements = tree.iter().filter(is_it).filter(is_element);
    let around = elements.next().or_else(|| tree.iter().find(is_it))?;
    let (first, count) = (around.id().0, around.descendants());
    let prefix = around.path();
    // All that is in one of these is of the copy.
    let mut of_copy_until = 0;
    let mut is_content = |it: &TreeNode<'_>| {
        if it.is_per_copy() {
            of_copy_until = of_copy_until.max(it.id().0 + it.descendants() + 1);
        }
        let is_of_copy = |name: &str| OF_COPY.contains(&name) || without.contains(&name);
        let is_left_out = it.id().0 < of_copy_until || it.annotation().is_some_and(is_of_copy);
        it.descendants() == 0 && !it.is_padding() && !is_left_out
    };
    let fields = (first..=first + count).filter_map(|id| tree.get(TreeId(id)));
    let said = fields.filter(|it| is_content(it)).map(|it| {
        let path = it.path();
        let path = path.strip_prefix(&prefix).unwrap_or(&path);
        (path.trim_start_matches('.').to_owned(), says(&it.value()))
    });
    Some(said.collect())
}

/// The value in words that are the same for the same value. What is told as a change is what it comes to.
fn says(value: &Value) -> String {
    match value {
        Value::Delta {
            value: Some(value), ..
        } => value.to_string(),
        Value::Unsigned(value) => value.to_string(),
        Value::Signed(value) => value.to_string(),
        Value::Float(value) | Value::Quantized { value, .. } => value.to_string(),
        Value::Text(text) => format!("{text:?}"),
        Value::Bytes(bytes) => format!("{} bytes {:016x}", bytes.len(), digest(bytes)),
        value => format!("{value:?}"),
    }
}

/// A digest of bytes: FNV-1a, 64 bits.
fn digest(bytes: &[u8]) -> u64 {
    let begin: u64 = 0xCBF2_9CE4_8422_2325;
    bytes.iter().fold(begin, |digest, &byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// Whether two messages say the same, but for what is another thing in each copy.
pub(in crate::history) fn says_the_same(
    session: &Session,
    one: MessageId,
    other: MessageId,
) -> bool {
    if have_same_bits(session, one, other) {
        return true;
    }
    let [one, other] = [one, other].map(|message| content(session, message, &[]));
    one.is_some() && one == other
}

/// Whether two messages are the same bits, in either order of the bits of a byte.
pub(super) fn have_same_bits(session: &Session, one: MessageId, other: MessageId) -> bool {
    type Order = fn(u32) -> u32;
    let orders: [Order; 2] = [|bit| bit % 8, |bit| 7 - bit % 8];
    orders.into_iter().any(|order| {
        let [one, other] = [one, other].map(|message| bits_of(session, message, order));
        one.is_some() && one == other
    })
}

/// The bits of a message, where they are of the packet itself.
fn bits_of(session: &Session, message: MessageId, order: fn(u32) -> u32) -> Option<Vec<bool>> {
    let told = session.message(message)?;
    if told.facts.stream != StreamId(0) {
        return None;
    }
    let payload = session.payload(told.packet)?;
    let bit = |at: u32| Some(payload.get(at as usize / 8)? >> order(at) & 1 == 1);
    told.facts.bits.map(bit).collect()
}
