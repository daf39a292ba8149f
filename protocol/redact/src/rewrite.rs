//! What was read with a wire, written anew with some of its fields others.

use std::collections::{BTreeMap, BTreeSet};

use netreel_wire::{Decoded, EncodeError, Encoded, Instead, Place, StreamId, TreeNode, Value};
use serde_json::Value as Json;

use crate::fields::{Field, asked};

/// Bytes in which some fields are others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub bytes: Vec<u8>,
    /// The paths of fields that were worked out anew.
    pub worked_out: BTreeSet<String>,
}

/// Writes what was read with other values `instead`, and reads it again; `None`: it is the same bytes.
/// Where it would then say anything else that it did not say before, or still says what was asked for,
/// it is an error, in words.
pub(crate) fn rewritten(
    old: &Decoded,
    fields: &[Field],
    instead: &dyn Fn(TreeNode<'_>) -> Option<Instead>,
    encode: impl FnOnce(&Json) -> Result<Encoded, EncodeError>,
    decode: impl FnOnce(&[u8]) -> Decoded,
) -> Result<Option<Written>, String> {
    let encoded = encode(&old.to_other_json(instead)).map_err(|error| {
        let (path, why) = error.problems.first().cloned().unwrap_or_default();
        format!("it cannot be written without them: {path}: {why}")
    })?;
    if old.tree.stream(StreamId::default()) == Some(encoded.bytes.as_slice()) {
        return Ok(None);
    }
    let new = decode(&encoded.bytes);
    let worked_out: BTreeSet<String> = encoded
        .changes
        .into_iter()
        .map(|change| change.path)
        .collect();
    let changes = |node: TreeNode<'_>| instead(node).is_some();
    let differs = differs(old, &new, &changes, &worked_out);
    match differs.or_else(|| left(&new, fields)) {
        Some(path) => Err(format!("`{path}` would not stay what it is")),
        None => Ok(Some(Written {
            bytes: encoded.bytes,
            worked_out,
        })),
    }
}

/// The first field that says something else, and is none that may.
pub(crate) fn differs(
    old: &Decoded,
    new: &Decoded,
    may: &dyn Fn(TreeNode<'_>) -> bool,
    worked_out: &BTreeSet<String>,
) -> Option<String> {
    // What takes no bits was worked out, and padding follows from where it stands.
    let counts = |node: &TreeNode<'_>| {
        let is_worked_out = node.bits().is_empty() && node.descendants() == 0;
        !node.is_joined() && !node.is_padding() && !is_worked_out
    };
    let mut news = new.tree.iter().filter(counts);
    for was in old.tree.iter().filter(counts) {
        let Some(is) = news.next() else {
            return Some(was.path());
        };
        let is_same = was.value() == is.value() || may(was) || worked_out.contains(&was.path());
        if was.name() != is.name() || !is_same {
            return Some(was.path());
        }
    }
    news.next().map(|more| more.path())
}

/// A field that is asked for and says something.
pub(crate) fn left(decoded: &Decoded, fields: &[Field]) -> Option<String> {
    let left = decoded.tree.iter().find(|&node| {
        let is_own = node.can_be_blank() && !node.is_joined();
        is_own && asked(fields, node).is_some() && !says_nothing(&node.value())
    })?;
    Some(left.path())
}

/// Whether a value is one that stands where another was taken away. Numbers may be what they were.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.bytes().all(|byte| byte == b'x'),
        Value::Bytes(bytes) | Value::Hash(bytes) => bytes.iter().all(|&byte| byte == 0),
        Value::Uuid(text) => text.bytes().all(|byte| matches!(byte, b'0' | b'-')),
        _ => true,
    }
}

/// Shorter values stand elsewhere by chance.
const VALUE_MIN: usize = 4;

/// What a field says that can be searched for.
pub(crate) fn said(node: TreeNode<'_>) -> Option<Vec<u8>> {
    let said = match node.value() {
        Value::Text(text) => text.into_bytes(),
        Value::Bytes(bytes) | Value::Hash(bytes) => bytes,
        _ => return None,
    };
    let says_nothing = said.iter().all(|byte| matches!(byte, 0 | b'x'));
    (said.len() >= VALUE_MIN && !says_nothing).then_some(said)
}

/// Why nobody can say that something says nothing of what is to be blanked.
pub(crate) fn unexplained<'d>(
    decoded: &'d Decoded,
    counts: impl FnMut(&TreeNode<'d>) -> bool,
) -> Option<String> {
    let rest = decoded.tree.iter().filter(counts).find(|node| {
        let bits = node.bits();
        let is_empty = || match node.value() {
            Value::Bytes(bytes) => bytes.iter().all(|&byte| byte == 0),
            _ => false,
        };
        node.is_rest() && bits.start < bits.end && !is_empty()
    })?;
    let path = rest.path();
    Some(format!("the wire does not explain all of it (`{path}`)"))
}

/// The field of bytes that stands there.
pub(crate) fn node_at<'d>(decoded: &'d Decoded, place: &Place) -> Option<TreeNode<'d>> {
    decoded.tree.iter().find(|node| {
        let bits = node.bits();
        node.stream() == place.stream
            && node.descendants() == 0
            && bits.end == place.bits.end
            && bits.start <= place.bits.start
            && node.can_be_blank()
    })
}

/// What becomes of the bytes of a piece of something that runs over packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PieceFate {
    Stays,
    /// A field is in it, whole or cut.
    Becomes(Instead),
    /// Nobody can say: its packet is held back, for this reason.
    HeldBack(String),
}

/// The fields that are blanked.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// How many there are, by what asked for them.
    pub counts: BTreeMap<String, u64>,
    /// What they said that says nothing now.
    pub values: BTreeSet<Vec<u8>>,
}

impl Tally {
    /// Counts the fields of a packet or a message that are blanked; `false`: there are none.
    pub fn add(&mut self, decoded: &Decoded, fields: &[Field]) -> bool {
        let mut found = false;
        for node in decoded.tree.iter().filter(|node| node.can_be_blank()) {
            if let Some(field) = asked(fields, node) {
                found = true;
                *self.counts.entry(field.text().to_owned()).or_default() += 1;
                self.values.extend(said(node));
            }
        }
        found
    }
}
