//! Columns of the packet table that somebody has added: fields of the wire, and the time since the row
//! before. Only the packets on the screen are decoded for them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use netreel_protocol::session::{PacketId, Session};
use netreel_wire::{Name, Tree, TreeId, TreeNode, Value};

use crate::table::Column;
use crate::{Command, Model, text};

/// So many fields can be columns.
pub const FIELDS_MAX: usize = 6;

/// Of so many packets it is remembered what stands in them.
const KNOWN_MAX: usize = 1 << 12;

/// So many values of a packet stand in a cell, the others are counted.
const VALUES_MAX: usize = 4;

/// So many fields of the selected packet are looked at to offer them.
const LOOKED_AT_MAX: usize = 2_048;
/// So many of them are offered.
const OFFERS_MAX: usize = 24;

/// What stands for a packet in the columns of fields, in their order.
pub(crate) type Cells = Arc<[String]>;

/// Which columns somebody has added to the packet table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnColumns {
    /// The time since the row before.
    pub since: bool,
    /// Fields by their paths, without the places in repeats: `messages.create.object`. At most
    /// [`FIELDS_MAX`].
    pub fields: Vec<String>,
}

impl OwnColumns {
    /// The same with a field as the last of them; unchanged where it is there, or there is no room for
    /// another one.
    pub fn with(&self, path: &str) -> OwnColumns {
        let mut columns = self.clone();
        if columns.fields.len() < FIELDS_MAX && !self.has(path) {
            columns.fields.push(path.to_owned());
        }
        columns
    }

    /// The same without a field.
    pub fn without(&self, path: &str) -> OwnColumns {
        let mut columns = self.clone();
        columns.fields.retain(|known| known != path);
        columns
    }

    /// Whether a field is a column.
    pub fn has(&self, path: &str) -> bool {
        self.fields.iter().any(|known| known == path)
    }
}

/// The columns, and what was found in packets for them.
#[derive(Debug, Default)]
pub(crate) struct Own {
    columns: Arc<OwnColumns>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    cells: HashMap<PacketId, Cells>,
    /// How many packets were decoded for it.
    decoded: u64,
}

impl Own {
    /// What stood in packets is asked again: they have other places, or another wire.
    pub fn forget(&mut self) {
        let known = self.known.get_mut();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        known.cells.clear();
    }

    fn cells(&self, session: &Session, id: PacketId) -> Cells {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cells) = known.cells.get(&id) {
            return Arc::clone(cells);
        }
        let decoded = session.decode(id);
        let tree = decoded.as_ref().map(|decoded| &decoded.tree);
        let fields = self.columns.fields.iter();
        let cells: Cells = fields
            .map(|path| tree.map_or_else(String::new, |tree| cell(tree, path)))
            .collect();
        if known.cells.len() >= KNOWN_MAX {
            known.cells.clear();
        }
        known.cells.insert(id, Arc::clone(&cells));
        known.decoded += 1;
        cells
    }
}

impl Model {
    /// Which columns somebody has added to the packet table.
    pub fn own_columns(&self) -> &Arc<OwnColumns> {
        &self.own.columns
    }

    /// Adds these columns and no others, without a way back: those that were kept.
    pub fn set_own_columns(&mut self, columns: OwnColumns) {
        if *self.own.columns != columns {
            self.own.columns = Arc::new(columns);
            self.own.forget();
        }
    }

    /// How many packets were decoded so far for the columns of fields: what they cost a frame.
    pub fn decoded_for_columns(&self) -> u64 {
        let known = self.own.known.lock();
        known.unwrap_or_else(PoisonError::into_inner).decoded
    }

    /// The columns of fields that the wire has.
    pub(crate) fn field_columns(&self) -> impl Iterator<Item = Column> + '_ {
        let wire = self.session().wire.as_ref();
        let fields = self.own.columns.fields.iter().enumerate();
        let known = fields.filter(move |(_, path)| {
            let last = path.rsplit('.').next();
            wire.is_some_and(|wire| wire.has_field(last, None))
        });
        known.filter_map(|(place, _)| u8::try_from(place).ok().map(Column::Field))
    }

    /// The path of a column that is a field; empty where it is none.
    pub fn column_path(&self, column: Column) -> &str {
        match column {
            Column::Field(place) => {
                let path = self.own.columns.fields.get(usize::from(place));
                path.map_or("", String::as_str)
            }
            _ => "",
        }
    }

    /// What stands for a packet in the columns of fields, in the order of [`OwnColumns::fields`];
    /// nothing while only decoding all packets could tell.
    pub(crate) fn cells(&self, id: PacketId) -> Cells {
        let session = self.session();
        match self.own.columns.fields.is_empty() || !session.looks_at_once() {
            true => Cells::default(),
            false => self.own.cells(session, id),
        }
    }

    /// The time from the row before to a row of the filtered table: `1.2 ms`. Empty in the first row;
    /// `?` where one of the two times is not known.
    pub fn since(&self, row: usize) -> String {
        let Some(before) = row.checked_sub(1) else {
            return String::new();
        };
        let time = |row: usize| Some(self.packet(self.packet_at(row)?)?.first()?.time.0);
        match (time(before), time(row)) {
            (Some(before), Some(now)) => text::duration(now.saturating_sub(before)),
            _ => "?".to_owned(),
        }
    }

    /// The path by which a field of the selected packet can be a column; `None` where nothing would
    /// stand in it.
    pub fn path_for_column(&self, field: TreeId) -> Option<String> {
        let tree = &self.detail().decoded.as_ref()?.tree;
        let node = tree.get(field)?;
        says(&node).then(|| path_of(tree, node))?
    }

    /// What can be changed about the columns, each with its name: those that are there go, the fields
    /// of the selected packet come.
    pub fn column_offers(&self) -> Vec<(String, Command)> {
        let own = self.own_columns();
        let offer = |name: String, columns: OwnColumns| (name, Command::SetColumns(columns));
        let mut offers = Vec::new();
        let word = if own.since { "remove" } else { "add" };
        let since = OwnColumns {
            since: !own.since,
            ..OwnColumns::clone(own)
        };
        offers.push(offer(
            format!("{word} column: time since the row before"),
            since,
        ));
        for path in &own.fields {
            offers.push(offer(format!("remove column: {path}"), own.without(path)));
        }
        if own.fields.len() >= FIELDS_MAX {
            return offers;
        }
        let mut paths = BTreeSet::new();
        let tree = self.detail().decoded.as_ref().map(|it| &it.tree);
        let nodes = tree
            .iter()
            .flat_map(|tree| tree.iter().map(move |it| (tree, it)));
        for (tree, node) in nodes.take(LOOKED_AT_MAX).filter(|(_, node)| says(node)) {
            let Some(path) = path_of(tree, node) else {
                continue;
            };
            if own.has(&path) || !paths.insert(path.clone()) {
                continue;
            }
            offers.push(offer(format!("add column: {path}"), own.with(&path)));
            if paths.len() >= OFFERS_MAX {
                break;
            }
        }
        offers
    }
}

/// Whether a field has a value of its own.
fn says(node: &TreeNode<'_>) -> bool {
    !matches!(node.value(), Value::None)
}

/// The names of a field and of those around it, the innermost first, without the places in repeats.
fn names<'t>(tree: &'t Tree, node: TreeNode<'t>) -> impl Iterator<Item = &'t str> {
    let mut at = Some(node);
    std::iter::from_fn(move || {
        while let Some(it) = at {
            // The root has no name.
            let parent = it.parent()?;
            at = tree.get(parent);
            if let Name::Field(name) = it.name() {
                return Some(name);
            }
        }
        None
    })
}

/// The path of a field: `messages.create.object`; `None` for the root.
fn path_of(tree: &Tree, node: TreeNode<'_>) -> Option<String> {
    let mut names: Vec<&str> = names(tree, node).collect();
    names.reverse();
    (!names.is_empty()).then(|| names.join("."))
}

/// The values of a packet's fields of this path, in wire order: `42 43 44 45 +2`.
fn cell(tree: &Tree, path: &str) -> String {
    let mut out = String::new();
    let mut found = 0;
    for node in tree.iter() {
        let is_it = names(tree, node).eq(path.rsplit('.')) && says(&node);
        if !is_it {
            continue;
        }
        found += 1;
        if found > VALUES_MAX {
            continue;
        }
        let value = text::value(&node.value());
        // What a name or a step stands for is in the field tree.
        let value = value.split("  (").next().unwrap_or_default();
        if found > 1 {
            out.push(' ');
        }
        out.push_str(value);
    }
    if found > VALUES_MAX {
        out.push_str(&format!(" +{}", found - VALUES_MAX));
    }
    out
}
