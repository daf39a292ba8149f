//! What a packet says otherwise than those before it on its link: each of its messages against the last
//! one of its kind about the same object, or else the last one of its kind; what is around the messages
//! against the last packet of the same protocol.

use std::collections::{BTreeMap, BTreeSet};

use netreel_protocol::session::{Look, PacketId};
use netreel_wire::{KindId, MessageFacts, Name, Tree, TreeId, TreeNode, Value};

use crate::detail::{Change, Changes, Detail};
use crate::plotted::is_within;
use crate::{Model, bit_order, text};

/// How many packets of the link are looked through.
const STEPS_MAX: usize = 256;

/// Of a packet with more fields than these none is compared.
const FIELDS_MAX: usize = 8_192;

/// What messages are held against each other by: their kind, and the object that they are about.
type About = (KindId, Option<u64>);

/// Fields that have values: by their paths from the message that they are in, or from the packet.
type Fields = BTreeMap<String, (TreeId, String)>;

impl Model {
    /// What the selected packet says otherwise than those before it on its link; `None` where none is
    /// selected, no wire describes it, or that is not known yet.
    pub fn changes(&self) -> Option<&Changes> {
        let packet = self.selection.packet?;
        let detail = &self.detail;
        if detail.waits || detail.decoded.is_none() {
            return None;
        }
        detail
            .changes
            .get_or_init(|| self.changes_of(packet))
            .as_ref()
    }

    /// What was compared and how much is otherwise, in a sentence.
    pub fn changes_text(&self) -> Option<String> {
        let changes = self.changes()?;
        let new = changes
            .fields
            .values()
            .filter(|it| **it == Change::New)
            .count();
        let counts: Vec<String> = [
            (changes.fields.len() - new, "changed"),
            (new, "new"),
            (changes.gone, "gone"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
        let mut said = Vec::new();
        let packets: Vec<String> = changes.before.iter().map(|id| id.0.to_string()).collect();
        if !packets.is_empty() {
            let noun = match packets.len() {
                1 => "packet",
                _ => "packets",
            };
            let counts = if counts.is_empty() {
                "nothing changed".to_owned()
            } else {
                format!("fields: {}", counts.join(", "))
            };
            said.push(format!("against {noun} {}: {counts}", packets.join(", ")));
        }
        if !changes.first.is_empty() {
            said.push(format!(
                "the first {} of the link",
                changes.first.join(", ")
            ));
        }
        (!said.is_empty()).then(|| said.join("; "))
    }

    fn changes_of(&self, packet: PacketId) -> Option<Changes> {
        let tree = &self.detail.decoded.as_ref()?.tree;
        let look = self.look(packet)?;
        // What no protocol claims says nothing, and has nothing in common with what else says nothing.
        look.protocol?;
        if tree.len() > FIELDS_MAX {
            return None;
        }
        let found = self.found_before(packet, &look);
        let order = bit_order(&self.session);
        let decoded = |(id, was): &(PacketId, Look)| {
            (
                *id,
                Detail::new(None, self.session.decode(*id), order).by_message(&was.messages),
            )
        };
        let old: BTreeMap<PacketId, Vec<Fields>> = found.all().map(decoded).collect();
        let mine = self.detail.by_message(&look.messages);
        let mut changes = Changes::default();
        let mut first = BTreeSet::new();
        for (place, facts) in look.messages.iter().enumerate() {
            let Some((kind, mine)) = facts.kind.zip(mine.get(place)) else {
                continue;
            };
            // The first is held against the first, the second against the second.
            let nth = |is_same: &dyn Fn(&MessageFacts) -> bool, (id, was): &(PacketId, Look)| {
                let number = look
                    .messages
                    .iter()
                    .take(place)
                    .filter(|it| is_same(it))
                    .count();
                let mut same = was
                    .messages
                    .iter()
                    .enumerate()
                    .filter(|(_, it)| is_same(it));
                old.get(id)?.get(same.nth(number)?.0)
            };
            let of_kind = |it: &MessageFacts| it.kind == Some(kind);
            let of_both = |it: &MessageFacts| of_kind(it) && it.object == facts.object;
            if let Some(was) = found.about.get(&(kind, facts.object)) {
                changes.compare(mine, nth(&of_both, was));
            } else if let Some(was) = found.kinds.get(&kind) {
                changes.compare(mine, nth(&of_kind, was));
            } else {
                first.insert(kind);
            }
        }
        if let Some((id, _)) = &found.last
            && let Some(mine) = mine.last()
        {
            changes.compare(mine, old.get(id).and_then(|old| old.last()));
        } else {
            changes.first.push("packet".to_owned());
        }
        changes.first.extend(
            first
                .into_iter()
                .map(|kind| self.kind_name(Some(kind)))
                .map(str::to_owned),
        );
        changes.before = old.into_keys().rev().collect();
        changes.around = changes
            .fields
            .keys()
            .flat_map(|id| tree.ancestors(*id))
            .collect();
        Some(changes)
    }

    /// The packets before this one on its link that its parts are held against.
    fn found_before(&self, packet: PacketId, look: &Look) -> Found {
        let links = &self.index.links;
        let step = |id: &PacketId| links.neighbour(&self.session, *id, false);
        let about = |look: &Look| -> BTreeSet<About> {
            look.messages
                .iter()
                .filter_map(|it| Some((it.kind?, it.object)))
                .collect()
        };
        let mut wanted = about(look);
        let kinds: BTreeSet<KindId> = wanted.iter().map(|(kind, _)| *kind).collect();
        let mut found = Found::default();
        for id in std::iter::successors(step(&packet), step).take(STEPS_MAX) {
            let Some(was) = self.look(id).filter(|was| was.protocol == look.protocol) else {
                continue;
            };
            for said in about(&was) {
                if wanted.remove(&said) {
                    found.about.insert(said, (id, was.clone()));
                }
                if kinds.contains(&said.0) {
                    found
                        .kinds
                        .entry(said.0)
                        .or_insert_with(|| (id, was.clone()));
                }
            }
            found.last.get_or_insert((id, was));
            if wanted.is_empty() {
                break;
            }
        }
        // Those of which each message has one of its object are not looked at.
        let of_object = |kind: &KindId| !wanted.iter().any(|(it, _)| it == kind);
        found.kinds.retain(|kind, _| !of_object(kind));
        found
    }
}

/// Packets before another one on its link, the last of each.
#[derive(Default)]
struct Found {
    /// Of the same protocol.
    last: Option<(PacketId, Look)>,
    /// With a message of a kind about an object.
    about: BTreeMap<About, (PacketId, Look)>,
    /// With a message of a kind.
    kinds: BTreeMap<KindId, (PacketId, Look)>,
}

impl Found {
    fn all(&self) -> impl Iterator<Item = &(PacketId, Look)> {
        self.last
            .iter()
            .chain(self.about.values().chain(self.kinds.values()))
    }
}

impl Changes {
    fn compare(&mut self, mine: &Fields, his: Option<&Fields>) {
        for (path, (field, value)) in mine {
            match his.and_then(|his| his.get(path)) {
                Some((_, was)) if was == value => {}
                Some((_, was)) => drop(self.fields.insert(*field, Change::Was(was.clone()))),
                None => drop(self.fields.insert(*field, Change::New)),
            }
        }
        self.gone += his
            .into_iter()
            .flatten()
            .filter(|(path, _)| !mine.contains_key(*path))
            .count();
    }
}

impl Detail {
    /// The fields that have values, of each of these messages of the packet; behind them those that are
    /// in none.
    fn by_message(&self, messages: &[MessageFacts]) -> Vec<Fields> {
        let mut fields = vec![Fields::new(); messages.len() + 1];
        let Some(tree) = self.decoded.as_ref().map(|decoded| &decoded.tree) else {
            return fields;
        };
        let roots: Vec<Option<TreeId>> = messages.iter().map(|it| root(tree, it)).collect();
        // Which message each field is in, and how much of its path is that of the message.
        let mut within: Vec<Option<(usize, usize)>> = Vec::new();
        for (place, node) in tree.iter().enumerate() {
            let id = TreeId(place as u32);
            let around = node
                .parent()
                .and_then(|it| within.get(it.0 as usize).copied());
            let is_root = roots
                .iter()
                .position(|root| *root == Some(id))
                .map(|message| (message, self.path(id).len()));
            let begins = || {
                let is_in = |(facts, root): (&MessageFacts, &Option<TreeId>)| {
                    root.is_none() && is_within(&node, facts)
                };
                let message = messages.iter().zip(&roots).position(is_in)?;
                let around = node.parent().map(|it| self.path(it));
                Some((message, around.unwrap_or_default().len()))
            };
            // A message may lie in another one.
            let own = is_root.or(around.flatten()).or_else(begins);
            within.push(own);
            let value = node.value();
            if matches!(value, Value::None) {
                continue;
            }
            let path = self.path(id);
            let (message, whole) = own.unwrap_or((messages.len(), 0));
            let path = path.get(whole..).unwrap_or_default().to_owned();
            if let Some(fields) = fields.get_mut(message) {
                fields.insert(path, (id, text::value(&value)));
            }
        }
        fields
    }
}

/// The field that is a message: of those that have its bits the innermost element of a repeat, else the
/// outermost; `None` where its bits are several fields.
fn root(tree: &Tree, facts: &MessageFacts) -> Option<TreeId> {
    let is_it = |node: &TreeNode<'_>| node.stream() == facts.stream && node.bits() == facts.bits;
    let mut all = tree.iter().filter(is_it);
    let first = all.next()?;
    let is_element = |node: &TreeNode<'_>| !matches!(node.name(), Name::Field(_));
    let elements = std::iter::once(first).chain(all).filter(is_element);
    Some(elements.last().unwrap_or(first).id())
}
