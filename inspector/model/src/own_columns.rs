//! Columns of the packet table that somebody has added: fields of the wire, and the time since the row
//! before. Only the packets on the screen are decoded for them.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use netreel_protocol::packet_fields::PacketField;
use netreel_protocol::session::{PacketId, Session};
use netreel_wire::{Tree, TreeId, TreeNode, Value};

use crate::latest::lock;
use crate::table::Column;
use crate::times::first_time;
use crate::{Command, Model, Sorting, text};

/// How many fields can be columns.
pub const FIELDS_MAX: usize = 6;

/// How many packets' values are kept: those that were decoded last.
const KNOWN_MAX: usize = 1 << 12;

/// How many values of a packet stand in a cell, the others are counted.
const VALUES_MAX: usize = 4;

/// How many fields of the selected packet are looked at to offer them.
const LOOKED_AT_MAX: usize = 2_048;
/// How many of them are offered.
const OFFERS_MAX: usize = 24;

/// What stands for a packet in the columns of fields, in their order.
pub type Cells = Arc<[String]>;

/// Which columns somebody has added to the packet table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnColumns {
    /// The time on the wall clock.
    pub clock: bool,
    /// The time since the row before.
    pub since: bool,
    /// The time since the packet before of the same link.
    pub on_link: bool,
    /// The time from the selected packet.
    pub selected: bool,
    /// Fields by their paths, without the places in repeats: `messages.create.object`. At most
    /// [`FIELDS_MAX`].
    pub fields: Vec<String>,
}

/// A column of times: its name, and where it is said whether it is there.
type TimeColumn = (Column, &'static str, fn(&mut OwnColumns) -> &mut bool);

impl OwnColumns {
    /// The times that can be columns beside that of the session.
    const TIMES: [TimeColumn; 4] = [
        (
            Column::Of(PacketField::Utc),
            "time on the wall clock",
            |it| &mut it.clock,
        ),
        (Column::Since, "time since the row before", |it| {
            &mut it.since
        }),
        (
            Column::OnLink,
            "time since the packet before of the link",
            |it| &mut it.on_link,
        ),
        (Column::Selected, "time from the selected packet", |it| {
            &mut it.selected
        }),
    ];

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == OwnColumns::default()
    }

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

impl Column {
    /// What a column of times that somebody has added is called.
    pub fn time_name(self) -> Option<&'static str> {
        let mut times = OwnColumns::TIMES.iter();
        Some(times.find(|(column, ..)| *column == self)?.1)
    }
}

/// The columns, and what was found in packets for them.
#[derive(Debug, Default)]
pub struct Own {
    columns: Arc<OwnColumns>,
    known: Mutex<Known>,
}

/// What stands in packets, of those that were decoded last.
#[derive(Debug, Default)]
struct Known {
    cells: HashMap<PacketId, Cells>,
    /// Those packets, in the order in which they were decoded.
    order: VecDeque<PacketId>,
    /// How many packets were decoded for it.
    decoded: u64,
}

impl Known {
    /// Keeps what stands in a packet; what was kept longest makes room for it. Whoever was quicker
    /// found the same.
    fn keep(&mut self, id: PacketId, cells: Cells) -> Cells {
        self.decoded += 1;
        if let Some(known) = self.cells.get(&id) {
            return Arc::clone(known);
        }
        if self.order.len() >= KNOWN_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.cells.remove(&oldest);
        }
        self.order.push_back(id);
        self.cells.insert(id, Arc::clone(&cells));
        cells
    }
}

impl Own {
    /// What stood in packets is asked again: they have other places, or another wire.
    pub fn forget(&mut self) {
        let mut known = self.lock();
        known.cells.clear();
        known.order.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    fn cells(&self, session: &Session, id: PacketId) -> Cells {
        self.found(id, || {
            let decoded = session.decode(id);
            let tree = decoded.as_ref().map(|decoded| &decoded.tree);
            let fields = self.columns.fields.iter();
            let cell = |path: &String| tree.map_or_else(String::new, |tree| cell(tree, path));
            fields.map(cell).collect()
        })
    }

    /// What is known of a packet, else what `decode` finds. Nobody waits for that who asks about
    /// another packet.
    fn found(&self, id: PacketId, decode: impl FnOnce() -> Cells) -> Cells {
        let known = self.lock().cells.get(&id).map(Arc::clone);
        known.unwrap_or_else(|| {
            let cells = decode();
            self.lock().keep(id, cells)
        })
    }
}

/// Whether the wire of a session has a field of that name.
pub fn has_path(session: &Session, path: &str) -> bool {
    let last = path.rsplit('.').next();
    let wire = session.wire.as_ref();
    wire.is_some_and(|wire| wire.has_field(last, None))
}

impl Model {
    /// Which columns somebody has added to the packet table.
    pub fn own_columns(&self) -> &Arc<OwnColumns> {
        &self.own.columns
    }

    /// Adds these columns and no others, without a way back: those that were kept.
    pub fn set_own_columns(&mut self, columns: OwnColumns) {
        if *self.own.columns == columns {
            return;
        }
        // Whatever the table is sorted by keeps its name, and may have another place.
        let path = self.sorting.map(|it| self.column_path(it.by).to_owned());
        self.own.columns = Arc::new(columns);
        self.own.forget();
        let place = |path: String| self.own.columns.fields.iter().position(|it| *it == path);
        let sorting = self.sorting.and_then(|it| match it.by {
            Column::Field(_) => {
                let by = Column::Field(u8::try_from(place(path?)?).ok()?);
                Some(Sorting { by, ..it })
            }
            _ => Some(it),
        });
        self.sort(sorting);
    }

    /// How many packets were decoded so far for the columns of fields: what they cost a frame.
    pub fn decoded_for_columns(&self) -> u64 {
        self.own.lock().decoded
    }

    /// The columns of fields that the wire has.
    pub(crate) fn field_columns(&self) -> impl Iterator<Item = Column> + '_ {
        let session = &self.session;
        self.own
            .columns
            .fields
            .iter()
            .enumerate()
            .filter(move |(_, path)| has_path(session, path))
            .filter_map(|(place, _)| u8::try_from(place).ok().map(Column::Field))
    }

    /// The path of a column that is a field; empty where it is none.
    pub fn column_path(&self, column: Column) -> &str {
        match column {
            Column::Field(place) => self
                .own
                .columns
                .fields
                .get(usize::from(place))
                .map_or("", String::as_str),
            _ => "",
        }
    }

    /// What stands for a packet in the columns of fields, in the order of [`OwnColumns::fields`];
    /// nothing while only decoding all packets could tell.
    pub(crate) fn cells(&self, id: PacketId) -> Cells {
        let session = &self.session;
        if self.own.columns.fields.is_empty() || !session.looks_at_once() {
            Cells::default()
        } else {
            self.own.cells(session, id)
        }
    }

    /// The time to a row of the filtered table from the row that is before it in the order of time,
    /// however the table is sorted: `1.2 ms`. Empty for the first one; `?` where one of the two times
    /// is not known.
    pub fn since(&self, row: usize) -> String {
        let row = self.row_by_time(row);
        match row.checked_sub(1) {
            Some(before) => self.between(self.packet_by_time(before), self.packet_by_time(row)),
            None => String::new(),
        }
    }

    /// The time to a packet from the one before it on its link, whatever the filter takes. Empty for
    /// the link's first one; `?` where one of the two times is not known.
    pub fn since_on_link(&self, id: PacketId) -> String {
        let before = self.index.links.neighbour(&self.session, id, false);
        match before {
            Some(_) => self.between(before, Some(id)),
            None => String::new(),
        }
    }

    /// The time from the selected packet to another one: `+1.2 ms`, `-25.0 ms`. Empty where none is
    /// selected; `?` where one of the two times is not known.
    pub fn since_selected(&self, id: PacketId) -> String {
        let Some(selected) = self.selection.packet else {
            return String::new();
        };
        let since = self.between(Some(selected), Some(id));
        if since.starts_with(['-', '?']) {
            since
        } else {
            format!("+{since}")
        }
    }

    fn between(&self, before: Option<PacketId>, now: Option<PacketId>) -> String {
        let time = |id: Option<PacketId>| first_time(&self.session, id?);
        match (time(before), time(now)) {
            (Some(before), Some(now)) => text::duration(now.0.saturating_sub(before.0)),
            _ => "?".to_owned(),
        }
    }

    /// The path by which a field of the selected packet can be a column; `None` where nothing would
    /// stand in it.
    pub fn path_for_column(&self, field: TreeId) -> Option<String> {
        let tree = &self.detail.decoded.as_ref()?.tree;
        let node = tree.get(field)?;
        says(&node).then(|| text::path_of(tree, node))?
    }

    /// What can be changed about the columns, each with its name: those that are there go, the fields
    /// of the selected packet come.
    pub fn column_offers(&self) -> Vec<(String, Command)> {
        let own = self.own_columns();
        let offer = |name: String, columns: OwnColumns| (name, Command::SetColumns(columns));
        let mut offers = Vec::new();
        for (_, name, flag) in OwnColumns::TIMES {
            let mut columns = OwnColumns::clone(own);
            let is_there = flag(&mut columns);
            let word = if *is_there { "remove" } else { "add" };
            *is_there = !*is_there;
            offers.push(offer(format!("{word} column: {name}"), columns));
        }
        for path in &own.fields {
            offers.push(offer(format!("remove column: {path}"), own.without(path)));
        }
        if own.fields.len() >= FIELDS_MAX {
            return offers;
        }
        for (_, path) in self.paths_offered() {
            if !own.has(&path) {
                offers.push(offer(format!("add column: {path}"), own.with(&path)));
            }
        }
        offers
    }

    /// What can be drawn over time, each with its name: the fields of the selected packet.
    pub fn plot_offers(&self) -> Vec<(String, Command)> {
        let mut offers: Vec<(String, Command)> = self
            .paths_offered()
            .into_iter()
            .filter_map(|(field, path)| {
                let plotted = self.plot_of(field)?;
                let is_it = self.plotted() == Some(&plotted);
                (!is_it).then(|| (format!("over time: {path}"), Command::Plot(Some(plotted))))
            })
            .collect();
        if self.plotted().is_some() {
            offers.push((
                "over time: the value in focus".to_owned(),
                Command::Plot(None),
            ));
        }
        offers
    }

    /// Fields of the selected packet, each path once.
    fn paths_offered(&self) -> Vec<(TreeId, String)> {
        let mut known = BTreeSet::new();
        let mut paths = Vec::new();
        let tree = self.detail.decoded.as_ref().map(|it| &it.tree);
        for (tree, node) in tree
            .iter()
            .flat_map(|tree| tree.iter().map(move |it| (tree, it)))
            .take(LOOKED_AT_MAX)
            .filter(|(_, node)| says(node))
        {
            let Some(path) = text::path_of(tree, node) else {
                continue;
            };
            if known.insert(path.clone()) {
                paths.push((node.id(), path));
            }
            if paths.len() >= OFFERS_MAX {
                break;
            }
        }
        paths
    }
}

/// Whether a field has a value of its own.
fn says(node: &TreeNode<'_>) -> bool {
    !matches!(node.value(), Value::None)
}

/// The first value of a packet's fields of this path; `None` where it has none.
pub fn first_value(session: &Session, id: PacketId, path: &str) -> Option<Value> {
    let tree = session.decode(id)?.tree;
    Some(tree.iter().find(|node| is_at(&tree, *node, path))?.value())
}

/// Whether a field has this path, and a value of its own.
pub fn is_at(tree: &Tree, node: TreeNode<'_>, path: &str) -> bool {
    text::names(tree, node).eq(path.rsplit('.')) && says(&node)
}

/// The values of a packet's fields of this path, in wire order: `42 43 44 45 +2`.
fn cell(tree: &Tree, path: &str) -> String {
    let mut found = tree.iter().filter(|node| is_at(tree, *node, path));
    let shown = found.by_ref().take(VALUES_MAX).map(|node| {
        let value = text::value(&node.value());
        // What a name or a step stands for is in the field tree.
        value.split("  (").next().unwrap_or_default().to_owned()
    });
    let shown = shown.collect::<Vec<_>>().join(" ");
    match found.count() {
        0 => shown,
        more => format!("{shown} +{more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(number: u32) -> Cells {
        [number.to_string()].into()
    }

    #[test]
    fn what_was_decoded_longest_ago_makes_room() {
        let own = Own::default();
        let ask = |number: u32| own.found(PacketId(number), || cells(number));
        let last = KNOWN_MAX as u32 + 9;
        (0..=last).for_each(|number| drop(ask(number)));
        let decoded = own.lock().decoded;
        // All but the first ten are known.
        for number in 10..=last {
            assert_eq!(ask(number)[..], [number.to_string()]);
        }
        assert_eq!(own.lock().decoded, decoded);
        ask(9);
        assert_eq!(own.lock().decoded, decoded + 1);
        assert_eq!(own.lock().cells.len(), KNOWN_MAX);
    }

    #[test]
    fn while_a_packet_is_decoded_others_can_be_asked_about() {
        let own = Own::default();
        let outer = own.found(PacketId(1), || {
            let known = own.known.try_lock().is_ok();
            assert!(known, "it is locked while somebody decodes");
            own.found(PacketId(2), || cells(2));
            cells(1)
        });
        assert_eq!(outer[..], ["1".to_owned()]);
        assert_eq!(own.lock().order, [PacketId(2), PacketId(1)]);
    }

    #[test]
    fn who_was_quicker_found_the_same() {
        let own = Own::default();
        own.found(PacketId(1), || {
            own.found(PacketId(1), || cells(1));
            cells(1)
        });
        assert_eq!(own.lock().order.len(), 1);
    }
}
