//! Messages that travelled in fragments: what becomes of the data of each.
//!
//! The whole is read, blanked and written anew, as packets are, and each fragment gets its piece.

use std::collections::{BTreeMap, BTreeSet};

use netreel_wire::{Decoded, TreeNode, Value, Wire};

use super::Field;
use super::blank::{differs, left, said, unexplained};
use crate::history::{History, Joined};
use crate::session::Session;

/// What becomes of the data of fragments, which is told by its bytes: copies of a fragment, and both
/// ends of its packet, have the same.
#[derive(Default)]
pub(super) struct Fragments {
    data: BTreeMap<Vec<u8>, Becomes>,
    /// How many fields of joined messages were blanked, by what asked for them.
    pub fields: BTreeMap<String, u64>,
    /// What they said.
    pub values: BTreeSet<Vec<u8>>,
}

/// What becomes of the data of one fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Becomes {
    Same,
    Other(Vec<u8>),
    /// Its packet is held back.
    HeldBack(String),
}

impl Fragments {
    /// Looks into all messages of a session that came in fragments.
    pub fn new(session: &Session, wire: &Wire, fields: &[Field]) -> Fragments {
        let mut fragments = Fragments::default();
        if session.fragments.is_empty() {
            return fragments;
        }
        for joined in &History::build(session).joined {
            let new = fragments.blanked(joined, wire, fields);
            let mut at = 0;
            for fragment in &joined.fragments {
                let Some(old) = session.fragments.get(fragment) else {
                    continue;
                };
                let range = at..at + old.len();
                at = range.end;
                let becomes = match &new {
                    Ok(None) => Becomes::Same,
                    Ok(Some(new)) => match new.get(range) {
                        Some(new) if new == old => Becomes::Same,
                        Some(new) => Becomes::Other(new.to_vec()),
                        None => Becomes::HeldBack(NOT_WRITTEN.to_owned()),
                    },
                    Err(why) => Becomes::HeldBack(why.clone()),
                };
                fragments.add(old, becomes);
            }
        }
        fragments
    }

    fn add(&mut self, data: &[u8], becomes: Becomes) {
        match self.data.get_mut(data) {
            Some(known) if *known == becomes => {}
            Some(known) => {
                let why = "the same bytes are parts of messages of which one has such a field";
                *known = Becomes::HeldBack(why.to_owned());
            }
            None => drop(self.data.insert(data.to_vec(), becomes)),
        }
    }

    /// The whole without what its fields said; `None`: it has no such field.
    fn blanked(
        &mut self,
        joined: &Joined,
        wire: &Wire,
        fields: &[Field],
    ) -> Result<Option<Vec<u8>>, String> {
        let decoded = wire.decode_message(joined.protocol, &joined.payload);
        if let Some(why) = unexplained(&decoded, &|_| true) {
            return Err(format!("of the message that it is a part of, {why}"));
        }
        let asked = |node: TreeNode<'_>| {
            let mut fields = fields.iter();
            fields.find(|field| field.takes(&decoded.tree, node))
        };
        let mut found = false;
        for node in decoded.tree.iter().filter(|node| node.can_be_blank()) {
            if let Some(field) = asked(node) {
                found = true;
                *self.fields.entry(field.text().to_owned()).or_default() += 1;
                self.values.extend(said(node));
            }
        }
        if !found {
            return Ok(None);
        }
        let blank = |node: TreeNode<'_>| asked(node).is_some();
        let encoded = wire.encode_message(&decoded.to_blank_json(&blank));
        let encoded = encoded.map_err(|_| NOT_WRITTEN.to_owned())?;
        let again = wire.decode_message(joined.protocol, &encoded.bytes);
        let worked_out = encoded.changes.into_iter().map(|change| change.path);
        let worked_out: BTreeSet<String> = worked_out.collect();
        let still = |node: TreeNode<'_>| {
            let mut fields = fields.iter();
            fields.any(|field| field.takes(&again.tree, node))
        };
        let is_right = encoded.bytes.len() == joined.payload.len()
            && differs(&decoded, &again, &blank, &worked_out).is_none()
            && left(&again, &still).is_none();
        match is_right {
            true => Ok(Some(encoded.bytes)),
            false => Err(NOT_WRITTEN.to_owned()),
        }
    }

    /// What becomes of a fragment's data.
    pub fn becomes(&self, wire: &Wire, packet: &Decoded, data: &[u8]) -> Becomes {
        if let Some(known) = self.data.get(data) {
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
            return Becomes::Same;
        }
        let why = "it holds a part of a message of which other parts are missing";
        Becomes::HeldBack(why.to_owned())
    }
}

const NOT_WRITTEN: &str = "the message that it is a part of cannot be written without its fields";

/// The data of a fragment.
pub(super) fn is_data(node: TreeNode<'_>) -> bool {
    node.annotation() == Some("fragment_data")
}

/// A joined message of copies that says something which was to be blanked: the path of the field.
pub(super) fn left_joined(session: &Session, wire: &Wire, fields: &[Field]) -> Option<String> {
    if session.fragments.is_empty() {
        return None;
    }
    let history = History::build(session);
    history.joined.iter().find_map(|joined| {
        let decoded = wire.decode_message(joined.protocol, &joined.payload);
        let says = |node: &TreeNode<'_>| {
            let asked = fields.iter().any(|field| field.takes(&decoded.tree, *node));
            asked && node.can_be_blank() && said(*node).is_some()
        };
        let left = decoded.tree.iter().find(says)?;
        Some(decoded.tree.path(left.id()))
    })
}
