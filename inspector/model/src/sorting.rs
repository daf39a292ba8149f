//! The packet table in another order than that of time: by any of its columns.
//!
//! The order is worked out beside the window, of a whole session or of what the filter takes. Of a
//! session that grows it is made anew for each look, one after the other: until then the rows that
//! came since stand behind those that are in order.

use std::collections::BTreeMap;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use netreel_protocol::history::History;
use netreel_protocol::packet_fields::{FieldType, FieldValue, PacketAt, PacketField, SHOWN};
use netreel_protocol::session::{Fate, Look, Packet, PacketId, Session};
use netreel_system::Cancel;
use netreel_wire::{MessageFacts, Value};

use crate::lead::most_telling_first;
use crate::links::LinkEnds;
use crate::table::Column;
use crate::taken::Taken;
use crate::times::first_time;
use crate::{Model, own_columns, text};

/// Of more packets than these the table is not sorted by a field: each would have to be decoded.
pub const SORTED_BY_FIELD_MAX: usize = 1_000_000;

/// Rows that are so near the one that was found last are looked at first.
const NEAR: usize = 64;

/// After this many packets the worker asks whether somebody still wants the order.
const BATCH: u32 = 4_096;

/// By which column the packet table is sorted, and which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sorting {
    /// The column. What is not known there stands last, whichever way; what is equal is in the order
    /// of time.
    pub by: Column,
    /// Whether the largest comes first.
    pub down: bool,
}

/// What the order of a table depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Of {
    sorting: Sorting,
    /// Of a column of a field.
    path: String,
    /// Which packets the table has.
    filter: String,
}

/// The rows of a table, in order: the numbers that they have in the order of time.
pub struct Order {
    of: Of,
    rows: Vec<u32>,
    /// Where somebody found a row last: whoever goes from row to row finds the next one near it.
    near: AtomicUsize,
}

impl Order {
    /// How many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<u32>()
    }

    /// How long nobody works on the next order: longer than this one took.
    fn pause(&self) -> Duration {
        let ns_per_row = match self.of.sorting.by {
            Column::Field(_) => 8_000,
            _ => 1_000,
        };
        Duration::from_nanos(ns_per_row * self.rows.len() as u64)
    }

    /// Where a row of the order of time stands.
    fn place(&self, row: usize) -> Option<usize> {
        let row = u32::try_from(row).ok()?;
        let near = self.near.load(Ordering::Relaxed);
        let near = near.saturating_sub(NEAR)..(near + NEAR).min(self.rows.len());
        let found = self
            .rows
            .get(near.clone())?
            .iter()
            .position(|it| *it == row);
        let place = match found {
            Some(place) => near.start + place,
            None => self.far(row)?,
        };
        self.near.store(place, Ordering::Relaxed);
        Some(place)
    }

    /// The same of any row.
    fn far(&self, row: u32) -> Option<usize> {
        // Many at once are compared faster than one after the other.
        let (number, part) = self
            .rows
            .chunks(1024)
            .enumerate()
            .find(|(_, part)| part.contains(&row))?;
        Some(number * 1024 + part.iter().position(|it| *it == row)?)
    }
}

impl Column {
    /// The fields that can be columns, each with the name by which settings keep it.
    pub fn fields() -> impl Iterator<Item = (&'static str, PacketField)> {
        SHOWN
            .into_iter()
            .map(|field| (field.declared().window, field))
            .filter(|(name, _)| !name.is_empty())
    }

    /// Whether its order is that of time.
    pub fn is_of_time(self) -> bool {
        use PacketField::{Packet, Time, Utc};
        matches!(self, Column::Of(Packet | Time | Utc) | Column::Selected)
    }

    /// Whether any words may stand in it: those of a few kinds have an order of their own.
    fn is_of_words(self) -> bool {
        use PacketField::{Fate, Link};
        match self {
            Column::Of(Fate | Link) => false,
            Column::Of(field) => matches!(
                field.declared().of,
                FieldType::Text | FieldType::Node | FieldType::Link
            ),
            by => matches!(by, Column::Field(_)),
        }
    }

    /// Whether lengths of time stand in it.
    pub fn is_of_durations(self) -> bool {
        match self {
            Column::Of(field) => field.declared().of == FieldType::Duration,
            Column::Since | Column::OnLink => true,
            Column::Selected | Column::Field(_) => false,
        }
    }
}

impl Model {
    /// By what the packet table is sorted; `None`: by time.
    pub fn sorting(&self) -> Option<Sorting> {
        self.sorting
    }

    /// Whether its rows are in that order by now, but for those that have come since.
    pub fn is_in_order(&self) -> bool {
        self.order_in_force().is_some()
    }

    /// What a click on the head of a column asks for: the column the way in which it is mostly looked
    /// for, then the other way, then the order of time.
    pub fn sorting_after(&self, by: Column) -> Option<Sorting> {
        let of_bytes = matches!(by, Column::Of(field) if field.declared().of == FieldType::Bytes);
        let first = of_bytes || by.is_of_durations() || by.is_of_time();
        let is_of_time = by.is_of_time();
        match self.sorting.filter(|now| now.by == by) {
            None => Some(Sorting { by, down: first }),
            Some(now) if now.down == first && !is_of_time => Some(Sorting { by, down: !first }),
            Some(_) => None,
        }
    }

    /// Why the table is not in the order that was asked for; `None` where it is, or nobody asked.
    pub fn why_not_sorted(&self) -> Option<String> {
        let sorting = self.sorting?;
        if self.is_in_order() {
            return None;
        }
        self.cannot_sort(sorting)
            .or_else(|| Some(self.why_waits().to_owned()))
    }

    /// Why nobody works on an order.
    fn cannot_sort(&self, sorting: Sorting) -> Option<String> {
        if let Some(why) = too_many(sorting.by, self.row_count()) {
            return Some(why);
        }
        if matches!(sorting.by, Column::Of(field) if field.declared().of_history) {
            return Some("the table cannot be sorted by this column".to_owned());
        }
        let told = match sorting.by {
            Column::Of(field) => field.declared().of_wire,
            by => matches!(by, Column::Field(_)),
        };
        (told && !self.session.looks_at_once())
            .then(|| "what packets carry is being worked out".to_owned())
    }

    /// Sorts the table, or shows it in the order of time again, without a way back. By a column that it
    /// does not have it is not sorted.
    pub fn sort(&mut self, sorting: Option<Sorting>) {
        // Rows are numbered by time.
        let is_other = |it: &Sorting| {
            let plain = it.by.is_of_time() && it.by != Column::Selected && !it.down;
            !plain && self.columns().contains(&it.by)
        };
        self.sorting = sorting.filter(is_other);
        self.look_order();
    }

    /// Begins to work out the order that is asked for, where nobody has yet, and takes in what has come.
    pub(crate) fn look_order(&mut self) {
        let Some(sorting) = self.sorting else {
            self.order = None;
            return;
        };
        let of = Of {
            sorting,
            path: self.column_path(sorting.by).to_owned(),
            filter: self.filter.text.clone(),
        };
        self.order = self.order.take().filter(|order| order.of == of);
        if self.cannot_sort(sorting).is_some() {
            return;
        }
        let pause = self.order.as_ref().map_or(Duration::ZERO, |it| it.pause());
        let wanted = of.clone();
        let work = |session: &Session, taken: Option<&Taken>, cancel: &Cancel| {
            Order::new(session, taken, wanted, cancel)
        };
        let found = self.of_taken(&self.beside.order, &of, (self.is_quick(), pause), work);
        if found.is_some() {
            self.order = found;
        }
    }

    /// The order, where the table has the rows that it speaks of.
    fn order_in_force(&self) -> Option<&Order> {
        let order = self.order.as_deref()?;
        (order.rows.len() <= self.row_count()).then_some(order)
    }

    /// The row in the order of time that stands in a row of the table.
    pub(crate) fn row_by_time(&self, row: usize) -> usize {
        let order = self.order_in_force();
        order
            .and_then(|order| order.rows.get(row))
            .map_or(row, |row| *row as usize)
    }

    /// The row of the table in which a row of the order of time stands.
    pub(crate) fn row_in_order(&self, row: usize) -> usize {
        let order = self.order_in_force();
        order.and_then(|order| order.place(row)).unwrap_or(row)
    }
}

impl Order {
    /// Of all packets, or of those that a filter takes; `None` where nobody wants it any more.
    fn new(session: &Session, taken: Option<&Taken>, of: Of, cancel: &Cancel) -> Option<Order> {
        let Sorting { by, down } = of.sorting;
        let rows = match by {
            _ if by.is_of_words() => {
                let known = Keys::new(session, by);
                let mut keys: Vec<(FieldKey, u32)> = Vec::new();
                each_row(session, taken, cancel, |id, row| {
                    let key = match by {
                        Column::Of(field) => match known.value((id, None), field).plain() {
                            unknown if unknown.is_empty() => FieldKey::Unknown,
                            words => FieldKey::Words(words),
                        },
                        _ => own_columns::first_value(session, id, &of.path).into(),
                    };
                    keys.push((key, row));
                })?;
                let known = |it: &(FieldKey, u32)| it.0 != FieldKey::Unknown;
                keys.sort_unstable();
                if down {
                    // What is equal stays in the order of time, and what is not known at the end.
                    let end = keys.partition_point(known);
                    keys.get_mut(..end)
                        .unwrap_or_default()
                        .sort_by(|one, other| other.0.cmp(&one.0));
                }
                keys.into_iter().map(|(_, row)| row).collect()
            }
            _ => {
                let mut keys = Keys::new(session, by);
                // The two halves of a key, and the row: twelve bytes a packet.
                let mut all_keys: Vec<[u32; 3]> = Vec::new();
                each_row(session, taken, cancel, |id, row| {
                    let key = match keys.of(id).map(|key| key.min(u64::MAX - 1)) {
                        None => u64::MAX,
                        Some(key) if down => u64::MAX - 1 - key,
                        Some(key) => key,
                    };
                    all_keys.push([(key >> 32) as u32, key as u32, row]);
                })?;
                if by == Column::Of(PacketField::Messages) {
                    keys.rank(&mut all_keys, down);
                }
                all_keys.sort_unstable();
                all_keys.into_iter().map(|[_, _, row]| row).collect()
            }
        };
        let near = AtomicUsize::new(0);
        Some(Order { of, rows, near })
    }
}

/// That a table has too many rows to be sorted by a column.
fn too_many(by: Column, rows: usize) -> Option<String> {
    (matches!(by, Column::Field(_)) && rows > SORTED_BY_FIELD_MAX).then(|| {
        format!(
            "{} packets are more than the {} that are decoded for it: filter first",
            text::count(rows as u64),
            text::count(SORTED_BY_FIELD_MAX as u64)
        )
    })
}

/// Calls for each row of a table in the order of time; `None` where nobody wants it any more.
fn each_row(
    session: &Session,
    taken: Option<&Taken>,
    cancel: &Cancel,
    mut call: impl FnMut(PacketId, u32),
) -> Option<()> {
    let mut row = 0;
    for id in (0..session.packet_count() as u32).map(PacketId) {
        if id.0.is_multiple_of(BATCH) && !cancel.goes_on() {
            return None;
        }
        if taken.is_none_or(|taken| taken.has(id)) {
            call(id, row);
            row += 1;
        }
    }
    Some(())
}

/// Messages of a packet: which kinds, and how many of each.
type Kinds = Vec<(Option<u16>, u32)>;

/// What rows are sorted by, as whole numbers.
struct Keys<'a> {
    session: &'a Session,
    by: Column,
    /// The places of links in the order of their names.
    links: BTreeMap<LinkEnds, u64>,
    /// When the row before was, and the last packet of each link.
    before: Option<i64>,
    on_link: OnLink,
    /// What messages packets have, numbered as they came.
    kinds: BTreeMap<Kinds, u32>,
    /// The table is not sorted by what followed from packets.
    none: History,
}

/// When the last packet of each link was.
#[derive(Default)]
struct OnLink {
    last: BTreeMap<LinkEnds, Option<i64>>,
    /// The first packet that was not looked at.
    next: u32,
}

impl OnLink {
    /// Takes all packets up to this one, and returns how long before it the one before was on its link.
    fn until(&mut self, session: &Session, id: PacketId) -> Option<i64> {
        let mut since = None;
        let packets = session.packets_from(PacketId(self.next));
        for (_, packet) in (self.next..=id.0).zip(packets) {
            let time = packet.first().map(|stamp| stamp.time.0);
            let before = self.last.insert((packet.from, packet.to), time).flatten();
            since = time.zip(before).map(|(now, before)| now - before);
        }
        self.next = id.0.saturating_add(1);
        since
    }
}

impl Keys<'_> {
    fn new(session: &Session, by: Column) -> Keys<'_> {
        let mut links: Vec<LinkEnds> = session.links().to_vec();
        links.sort_by_key(|&(from, to)| (session.name(from), session.name(to), from, to));
        Keys {
            session,
            by,
            links: links.into_iter().zip(0..).collect(),
            before: None,
            on_link: OnLink::default(),
            kinds: BTreeMap::new(),
            none: History::default(),
        }
    }

    /// `None` where it is not known, or there is nothing.
    fn of(&mut self, id: PacketId) -> Option<u64> {
        let session = self.session;
        match self.by {
            Column::Of(PacketField::Link) => self.links.get(&session.link(id)?).copied(),
            Column::Of(PacketField::Messages) => self.messages(&session.look(id).messages),
            Column::Of(PacketField::Fate) => Some(fate(&session.packet(id)?)),
            Column::Of(field) => {
                let look = field.declared().of_wire.then(|| session.look(id));
                match self.value((id, look.as_ref()), field) {
                    FieldValue::Number(it) if field.declared().of != FieldType::Number => {
                        Some(whole(it as i64))
                    }
                    FieldValue::Number(it) => Some(it as u64),
                    FieldValue::Numbers(all) => all.first().map(|it| *it as u64),
                    FieldValue::Truth(truth) => Some(truth.into()),
                    list => list.length().map(|it| it as u64),
                }
            }
            Column::Selected => first_time(session, id).map(|time| whole(time.0)),
            Column::Since => {
                let time = first_time(session, id).map(|time| time.0);
                let before = std::mem::replace(&mut self.before, time);
                time.zip(before).map(|(now, before)| whole(now - before))
            }
            Column::OnLink => self.on_link.until(session, id).map(whole),
            // Those have keys of another kind.
            Column::Field(_) => None,
        }
    }

    /// What a packet has in a field, without what followed from it.
    fn value(&self, at: (PacketId, Option<&Look>), field: PacketField) -> FieldValue {
        PacketAt::with(self.session, &|| &self.none, at, |it| it.named(field))
            .unwrap_or(FieldValue::Nothing)
    }

    fn messages(&mut self, messages: &[MessageFacts]) -> Option<u64> {
        if messages.is_empty() {
            return None;
        }
        let mut kinds: Kinds = Vec::new();
        for facts in most_telling_first(self.session, messages)
            .into_iter()
            .filter_map(|it| messages.get(it))
        {
            let kind = facts.kind.map(|kind| kind.0);
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((kind, 1)),
            }
        }
        let next = self.kinds.len() as u32;
        Some(u64::from(*self.kinds.entry(kinds).or_insert(next)))
    }

    /// Puts the places of messages by their names in the stead of the numbers that they have.
    fn rank(&self, keys: &mut [[u32; 3]], down: bool) {
        let names = self.session.kinds();
        let name = |kind: &Option<u16>| {
            let kind = kind.and_then(|kind| names.get(usize::from(kind)));
            kind.map_or("?", |kind| kind.name.as_str())
        };
        let mut named: Vec<_> = self
            .kinds
            .iter()
            .map(|(kinds, &number)| {
                let words: Vec<&str> = kinds.iter().map(|(kind, _)| name(kind)).collect();
                let counts: Vec<u32> = kinds.iter().map(|(_, count)| *count).collect();
                (words, counts, number)
            })
            .collect();
        named.sort();
        let mut places = vec![0; named.len()];
        for (place, (_, _, number)) in named.iter().enumerate() {
            places[*number as usize] = place as u32;
        }
        for [high, low, _] in keys {
            let key = u64::from(*high) << 32 | u64::from(*low);
            let number = match down {
                _ if key == u64::MAX => continue,
                true => (u64::MAX - 1 - key) as usize,
                false => key as usize,
            };
            let Some(&place) = places.get(number) else {
                continue;
            };
            let last = places.len() as u32 - 1;
            (*high, *low) = (0, if down { last - place } else { place });
        }
    }
}

/// A number as one without a sign, in the same order.
fn whole(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

/// What went wrong comes before what is not known, and what arrived comes last.
fn fate(packet: &Packet) -> u64 {
    let was_seen = packet.received.is_some() || !packet.seen.is_empty();
    match packet.fate {
        Fate::SendFailed => 0,
        Fate::Lost => 1,
        Fate::Unread => 2,
        Fate::Unknown if !was_seen => 3,
        Fate::Unknown => 4,
        Fate::Received if !packet.duplicates.is_empty() => 5,
        Fate::Received => 6,
    }
}

/// A value of a field: numbers before words, and what is not there last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FieldKey {
    /// The whole part of a number, rounded down, and the bits of the rest.
    Number(i128, u64),
    Words(String),
    Unknown,
}

impl From<Option<Value>> for FieldKey {
    fn from(value: Option<Value>) -> FieldKey {
        let whole = |number: i128| FieldKey::Number(number, 0);
        match value {
            None | Some(Value::None) => FieldKey::Unknown,
            Some(Value::Unsigned(it)) => whole(i128::from(it)),
            Some(Value::Signed(it)) => whole(i128::from(it)),
            Some(Value::Wide(it)) => whole(i128::try_from(it).unwrap_or(i128::MAX)),
            Some(Value::Bool(it)) => whole(i128::from(it)),
            Some(Value::Delta { value, .. }) => value.map_or(FieldKey::Unknown, whole),
            Some(Value::Enum { raw, name: None }) => whole(i128::from(raw)),
            Some(Value::Float(it) | Value::Quantized { value: it, .. }) if !it.is_nan() => {
                let floor = it.floor();
                // Nothing is left of one that is not finite.
                let rest = if it.is_finite() { it - floor } else { 0.0 };
                FieldKey::Number(floor as i128, rest.to_bits())
            }
            Some(it) => FieldKey::Words(text::value(&it)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_fields_are_sorted_as_numbers_before_words() {
        let float = |it| Some(Value::Float(it));
        let sorted = [
            float(f64::NEG_INFINITY),
            float(-2.5),
            Some(Value::Signed(-2)),
            float(-0.25),
            Some(Value::Unsigned(0)),
            float(0.5),
            Some(Value::Bool(true)),
            float(9.75),
            Some(Value::Unsigned(10)),
            Some(Value::Wide(u128::from(u64::MAX) + 1)),
            Some(Value::Text("9".to_owned())),
            Some(Value::Text("a".to_owned())),
            None,
        ];
        let keys: Vec<FieldKey> = sorted.into_iter().map(FieldKey::from).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        assert!(keys.windows(2).all(|two| two[0] != two[1]));
    }

    #[test]
    fn more_packets_than_are_decoded_are_not_sorted_by_a_field_and_that_is_told() {
        let told = too_many(Column::Field(0), SORTED_BY_FIELD_MAX + 1);
        let told = told.expect("it is told");
        assert!(told.starts_with("1 000 001 packets"), "{told}");
        assert_eq!(too_many(Column::Field(0), SORTED_BY_FIELD_MAX), None);
        assert_eq!(too_many(Column::Since, usize::MAX), None);
    }

    #[test]
    fn numbers_keep_their_order_without_a_sign() {
        let numbers = [i64::MIN, -7, 0, 7, i64::MAX].map(whole);
        assert!(numbers.is_sorted());
    }
}
