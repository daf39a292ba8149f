//! What the bytes were by fields of the wire: of packets that lie evenly among all that are shown,
//! because each of them is decoded for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_protocol::session::Session;
use netreel_system::Cancel;
use netreel_wire::{Decoded, StreamId, TreeId};

use crate::bandwidth::LedgerRow;
use crate::taken::{Taken, packet_of};
use crate::{Model, text};

/// How many packets are decoded.
const DECODED_MAX: usize = 4_096;
/// How many names of a field's path are shown, the last.
const NAMES_MAX: usize = 3;
/// How many fields have a place of their own; the others are one.
const ROWS_MAX: usize = 60;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByField {
    /// How many packets were decoded.
    pub decoded: u64,
    /// Of how many.
    pub of: u64,
    /// By the path of the field, without the places in repeats.
    fields: BTreeMap<String, Counted>,
    bits: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counted {
    bits: u64,
    packets: u64,
    fields: u64,
}

impl ByField {
    /// Of those that a filter takes, or of all; `None` where nobody wants it any more.
    fn new(session: &Session, taken: Option<&Taken>, cancel: &Cancel) -> Option<ByField> {
        let rows = taken.map_or(session.packet_count(), Taken::len);
        let mut all = ByField {
            of: rows as u64,
            ..ByField::default()
        };
        let count = rows.min(DECODED_MAX);
        for number in 0..count {
            if !cancel.goes_on() {
                return None;
            }
            let row = (number as u128 * rows as u128 / count as u128) as usize;
            let Some(id) = packet_of(taken, row) else {
                continue;
            };
            let length = session.packet(id).map_or(0, |it| u64::from(it.length) * 8);
            all.take(session.decode(id).as_ref(), length);
        }
        Some(all)
    }

    fn take(&mut self, decoded: Option<&Decoded>, length: u64) {
        self.decoded += 1;
        self.bits += length;
        let mut own: BTreeMap<String, Counted> = BTreeMap::new();
        // What fields lie around each other is counted once: for the innermost.
        let mut end = 0;
        let mut told = 0;
        let tree = decoded.map(|decoded| &decoded.tree);
        for (tree, node) in tree
            .iter()
            .flat_map(|tree| tree.iter().map(move |node| (*tree, node)))
        {
            let below = tree.get(TreeId(node.id().0 + 1));
            let is_inner =
                node.descendants() == 0 || below.is_some_and(|below| below.stream() != StreamId(0));
            if node.stream() != StreamId(0) || !is_inner {
                continue;
            }
            let bits = node.bits();
            let (from, until) = (u64::from(bits.start).max(end), u64::from(bits.end));
            let until = until.min(length);
            if until <= from {
                continue;
            }
            end = until;
            told += until - from;
            let path = text::path_of(tree, node).unwrap_or_default();
            let counted = own.entry(path).or_default();
            counted.bits += until - from;
            counted.fields += 1;
        }
        if length > told {
            let name = if decoded.is_some() {
                "not explained"
            } else {
                "not decoded"
            };
            own.entry(name.to_owned()).or_default().bits += length - told;
        }
        for (path, counted) in own {
            let all = self.fields.entry(path).or_default();
            all.bits += counted.bits;
            all.fields += counted.fields;
            all.packets += 1;
        }
    }

    /// The fields, the largest first, each with its part of all bits that were looked at.
    pub fn rows(&self) -> Vec<LedgerRow> {
        let mut fields: Vec<(&String, &Counted)> = self.fields.iter().collect();
        fields.sort_by_key(|(_, counted)| std::cmp::Reverse(counted.bits));
        let part = |bits: u64| bits as f64 / self.bits.max(1) as f64;
        let row = |name: String, counted: &Counted| LedgerRow {
            name,
            bits: counted.bits,
            part: part(counted.bits),
            packets: counted.packets,
            messages: counted.fields,
            ..LedgerRow::default()
        };
        let mut rows: Vec<LedgerRow> = fields
            .iter()
            .take(ROWS_MAX)
            .map(|(path, counted)| row(text::last_names(path, NAMES_MAX), counted))
            .collect();
        let rest = fields
            .iter()
            .skip(ROWS_MAX)
            .fold(Counted::default(), |all, (_, counted)| Counted {
                bits: all.bits + counted.bits,
                packets: all.packets.max(counted.packets),
                fields: all.fields + counted.fields,
            });
        if rest.bits > 0 {
            rows.push(row("all others".to_owned(), &rest));
        }
        rows
    }

    /// Of how many packets this is, for people.
    pub fn of_text(&self) -> String {
        let bytes = text::bytes(self.bits.div_ceil(8));
        if self.decoded == self.of {
            format!("{bytes} of payload in {}", text::packets(self.of))
        } else {
            format!(
                "{bytes} in {} of {} packets, evenly taken",
                text::count(self.decoded),
                text::count(self.of)
            )
        }
    }
}

impl Model {
    /// What the bytes were by fields, of the packets that the filter takes; `None` until it is worked
    /// out, which this begins.
    pub fn by_field(&self) -> Option<Arc<ByField>> {
        if !self.session.looks_at_once() {
            return None;
        }
        let (filter, taken) = self.taken_by_now(&self.beside.by_field);
        let session = Arc::clone(&self.session);
        let work = move |cancel: &Cancel| ByField::new(&session, taken.as_ref(), cancel);
        let (found, _) = self.aside(&self.beside.by_field, filter, work)?;
        Some(found)
    }
}
