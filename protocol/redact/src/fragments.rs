//! Messages that travelled in fragments: what becomes of the data of each.
//!
//! The whole is read, blanked and written anew, as packets are, and each fragment gets its piece.

use std::collections::BTreeMap;

use netreel_wire::{Decoded, Instead, TreeNode, Value, Wire};

use crate::fields::{Field, asked};
use crate::pieces::{INCOMPLETE, held_back};
use crate::rewrite::{PieceFate, Tally, rewritten, said, unexplained};
use crate::story::{Story, Whole};

/// What becomes of the data of fragments, which is told by its bytes: copies of a fragment, and both
/// ends of its packet, have the same.
pub(crate) struct Fragments {
    fates: BTreeMap<Vec<u8>, PieceFate>,
}

impl Fragments {
    /// Looks into all messages of a session that came in fragments.
    pub fn new(story: &Story, fields: &[Field], tally: &mut Tally) -> Fragments {
        let mut fates = BTreeMap::new();
        for whole in story.wholes() {
            let new = blanked(&whole, story.wire(), fields, tally);
            let mut at = 0;
            for old in whole.fragments {
                let range = at..at + old.len();
                at = range.end;
                let fate = match &new {
                    Ok(None) => PieceFate::Stays,
                    Ok(Some(new)) => match new.get(range) {
                        Some(new) if new == old => PieceFate::Stays,
                        Some(new) => PieceFate::Becomes(Instead::Bytes(new.to_vec())),
                        None => held_back(NOT_WRITTEN),
                    },
                    Err(why) => PieceFate::HeldBack(why.clone()),
                };
                let known = fates.entry(old).or_insert_with(|| fate.clone());
                if *known != fate {
                    let why = "the same bytes are parts of messages of which one has such a field";
                    *known = held_back(why);
                }
            }
        }
        Fragments { fates }
    }

    /// What becomes of a fragment's data.
    pub fn fate(&self, wire: &Wire, packet: &Decoded, data: &[u8]) -> PieceFate {
        if let Some(known) = self.fates.get(data) {
            return known.clone();
        }
        // What the wire calls bytes, whatever it is, holds no field.
        let alone = wire.decode_message(packet.facts.protocol, data);
        let mut leaves = alone.tree.iter().filter(|node| node.descendants() == 0);
        let is_bytes = |node: &TreeNode<'_>| {
            let is_bytes = matches!(node.value(), Value::Bytes(_)) && !node.is_rest();
            is_bytes && node.bits() == (0..8 * data.len() as u32)
        };
        if leaves.next().is_some_and(|node| is_bytes(&node)) && leaves.next().is_none() {
            return PieceFate::Stays;
        }
        held_back(INCOMPLETE)
    }
}

const NOT_WRITTEN: &str = "the message that it is a part of cannot be written without its fields";

/// The whole without what its fields said; `None`: it has no such field.
fn blanked(
    whole: &Whole,
    wire: &Wire,
    fields: &[Field],
    tally: &mut Tally,
) -> Result<Option<Vec<u8>>, String> {
    let decoded = wire.decode_message(whole.protocol, &whole.bytes);
    if let Some(why) = unexplained(&decoded, |_| true) {
        return Err(format!("of the message that it is a part of, {why}"));
    }
    if !tally.add(&decoded, fields) {
        return Ok(None);
    }
    let blank = |node: TreeNode<'_>| asked(fields, node).map(|_| Instead::Nothing);
    let encode = |json: &_| wire.encode_message(json);
    let decode = |bytes: &[u8]| wire.decode_message(whole.protocol, bytes);
    match rewritten(&decoded, fields, &blank, encode, decode) {
        Ok(Some(new)) if new.bytes.len() == whole.bytes.len() => Ok(Some(new.bytes)),
        Ok(None) => Ok(None),
        _ => Err(NOT_WRITTEN.to_owned()),
    }
}

/// The data of a fragment that is in the packet itself.
pub(crate) fn data(node: TreeNode<'_>) -> Option<Vec<u8>> {
    match node.value() {
        Value::Bytes(data)
            if node.annotation() == Some("fragment_data")
                && !data.is_empty()
                && !node.is_joined() =>
        {
            Some(data)
        }
        _ => None,
    }
}

/// A message of copies that came in fragments and says something which was to be blanked: the path of
/// the field.
pub(crate) fn left_in_wholes(story: &Story, fields: &[Field]) -> Option<String> {
    story.wholes().into_iter().find_map(|whole| {
        let decoded = story.wire().decode_message(whole.protocol, &whole.bytes);
        let says = |node: &TreeNode<'_>| {
            let is_asked = asked(fields, *node).is_some();
            is_asked && node.can_be_blank() && said(*node).is_some()
        };
        let left = decoded.tree.iter().find(says)?;
        Some(left.path())
    })
}
