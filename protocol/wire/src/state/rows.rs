//! Whole structs that a connection keeps, one or many, under up to three keys.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Table;
use crate::limits::{STATE_KEYS_MAX, STATE_ROWS_BYTES_MAX};

/// The structs in one field of the state. Copies share what they hold until one of them changes it,
/// so that a snapshot that begins as its base costs what is different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rows {
    shape: RowsShape,
    /// Everything.
    kept: Option<Kept>,
}

/// How many entries each key may have, 0 where there is no such key, and how many values a struct has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RowsShape {
    pub capacities: [u16; STATE_KEYS_MAX],
    pub values: u16,
}

/// All that is kept under some keys: a struct where all keys are said, and else a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Kept {
    Row(Arc<Row>),
    Table(Arc<Level>),
}

/// The values of a struct.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    values: Vec<RowValue>,
    /// Of texts and bytes.
    bytes: usize,
}

/// One value of a struct.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum RowValue {
    #[default]
    Unset,
    Signed(i64),
    Unsigned(u64),
    Content(Arc<Vec<u8>>),
}

/// The entries under one key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Level {
    table: Table<Kept>,
    /// Of all entries.
    bytes: usize,
}

impl RowValue {
    /// The value of an integer; those that need more than 64 bits are none.
    pub(crate) fn of(value: i128) -> RowValue {
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => RowValue::Signed(value),
            (_, Ok(value)) => RowValue::Unsigned(value),
            _ => RowValue::Unset,
        }
    }

    pub(crate) fn integer(&self) -> Option<i128> {
        match *self {
            RowValue::Signed(value) => Some(value.into()),
            RowValue::Unsigned(value) => Some(value.into()),
            RowValue::Unset | RowValue::Content(_) => None,
        }
    }

    pub(crate) fn content(&self) -> Option<&Arc<Vec<u8>>> {
        match self {
            RowValue::Content(content) => Some(content),
            _ => None,
        }
    }

    fn bytes(&self) -> usize {
        let content = |content: &Arc<Vec<u8>>| {
            SHARED_BYTES + size_of::<Vec<u8>>() + BLOCK_BYTES + content.capacity()
        };
        self.content().map_or(0, content)
    }
}

impl RowsShape {
    /// How many keys lead to a struct.
    pub(crate) fn keys(&self) -> usize {
        let is_key = |capacity: &&u16| **capacity > 0;
        self.capacities.iter().take_while(is_key).count()
    }
}

impl Kept {
    /// About how many bytes it takes, what copies share included.
    fn bytes(&self) -> usize {
        match self {
            Kept::Row(row) => {
                let values = row.values.len() * size_of::<RowValue>();
                SHARED_BYTES + size_of::<Row>() + BLOCK_BYTES + values + row.bytes
            }
            Kept::Table(level) => LEVEL_BYTES + level.bytes,
        }
    }

    fn get(&self, keys: &[i128]) -> Option<&Kept> {
        match (self, keys) {
            (kept, []) => Some(kept),
            (Kept::Table(level), [key, inner @ ..]) => level.table.get(*key)?.get(inner),
            (Kept::Row(_), _) => None,
        }
    }

    /// How many entries are copied with it where it changes: those of its own table.
    pub(crate) fn entries(&self) -> usize {
        match self {
            Kept::Row(_) => 1,
            Kept::Table(level) => level.table.len(),
        }
    }
}

impl Rows {
    pub(crate) fn new(shape: RowsShape) -> Rows {
        Rows { shape, kept: None }
    }

    /// About how many bytes it takes, what copies share included.
    pub(crate) fn bytes(&self) -> usize {
        self.kept.as_ref().map_or(0, Kept::bytes)
    }

    /// What is kept under these keys.
    pub(crate) fn get(&self, keys: &[i128]) -> Option<&Kept> {
        self.kept.as_ref()?.get(keys)
    }

    /// One value of the struct under these keys.
    pub(crate) fn value(&self, keys: &[i128], value: u16) -> Option<&RowValue> {
        match self.get(keys)? {
            Kept::Row(row) => row.values.get(usize::from(value)),
            Kept::Table(_) => None,
        }
    }

    /// Sets one value of a struct; the others of a struct that was not there are unset.
    pub(crate) fn set(&mut self, keys: &[i128], place: u16, value: RowValue) {
        let count = usize::from(self.shape.values);
        self.edit(keys, |old| {
            let mut row = match old {
                Some(Kept::Row(row)) => row,
                _ => Arc::new(Row {
                    values: vec![RowValue::Unset; count],
                    bytes: 0,
                }),
            };
            let own = Arc::make_mut(&mut row);
            if let Some(slot) = own.values.get_mut(usize::from(place)) {
                own.bytes = own.bytes - slot.bytes() + value.bytes();
                *slot = value;
            }
            Some(Kept::Row(row))
        });
    }

    /// Puts what was kept elsewhere under these keys; `None` forgets what is there.
    pub(crate) fn put(&mut self, keys: &[i128], kept: Option<Kept>) {
        if kept.is_none() && self.get(keys).is_none() {
            return;
        }
        self.edit(keys, |_| kept);
    }

    fn edit(&mut self, keys: &[i128], change: impl FnOnce(Option<Kept>) -> Option<Kept>) {
        let capacities = self.shape.capacities;
        self.kept = edited(self.kept.take(), keys, &capacities, change);
        while self.bytes() > STATE_ROWS_BYTES_MAX {
            match &mut self.kept {
                Some(Kept::Table(level)) => Arc::make_mut(level).forget_oldest(),
                _ => self.kept = None,
            }
        }
    }
}

impl Level {
    fn forget_oldest(&mut self) {
        let forgotten = self.table.remove_oldest();
        self.bytes -= forgotten.map_or(0, |kept| kept.bytes() + ENTRY_BYTES);
    }
}

/// What an allocator keeps beside a block.
const BLOCK_BYTES: usize = 16;

/// The same, and how many share it.
const SHARED_BYTES: usize = BLOCK_BYTES + 2 * size_of::<usize>();

/// What a table takes beside its entries.
const LEVEL_BYTES: usize = SHARED_BYTES + size_of::<Level>() + BLOCK_BYTES;

/// What an entry takes beside what is in it: a table that grows has room for twice as many.
const ENTRY_BYTES: usize = 2 * size_of::<(i128, u64, Kept)>();

/// What is kept, changed under these keys. What copies share is copied on the way there.
fn edited(
    old: Option<Kept>,
    keys: &[i128],
    capacities: &[u16],
    change: impl FnOnce(Option<Kept>) -> Option<Kept>,
) -> Option<Kept> {
    let ([key, inner_keys @ ..], [capacity, inner @ ..]) = (keys, capacities) else {
        return change(old);
    };
    let mut shared = match old {
        Some(Kept::Table(level)) => level,
        _ => Arc::new(Level {
            table: Table::new(usize::from(*capacity)),
            bytes: 0,
        }),
    };
    let level = Arc::make_mut(&mut shared);
    let before = level.table.remove(*key);
    level.bytes -= before.as_ref().map_or(0, |kept| kept.bytes() + ENTRY_BYTES);
    if let Some(after) = edited(before, inner_keys, inner, change) {
        let mut bytes = level.bytes + after.bytes() + ENTRY_BYTES;
        level.table.set(*key, |oldest| {
            bytes -= oldest.map_or(0, |kept| kept.bytes() + ENTRY_BYTES);
            after
        });
        level.bytes = bytes;
    }
    Some(Kept::Table(shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(capacities: [u16; STATE_KEYS_MAX]) -> Rows {
        Rows::new(RowsShape {
            capacities,
            values: 2,
        })
    }

    fn integer(rows: &Rows, keys: &[i128], value: u16) -> Option<i128> {
        rows.value(keys, value)?.integer()
    }

    #[test]
    fn a_copy_keeps_its_values_when_the_other_changes() {
        let mut rows = rows([4, 8, 0]);
        rows.set(&[1, 7], 0, RowValue::of(-5));
        rows.set(&[1, 8], 1, RowValue::of(u64::MAX.into()));
        rows.put(&[2], rows.get(&[1]).cloned());
        rows.set(&[2, 7], 0, RowValue::of(6));
        assert_eq!(integer(&rows, &[1, 7], 0), Some(-5));
        assert_eq!(integer(&rows, &[2, 7], 0), Some(6));
        assert_eq!(integer(&rows, &[2, 8], 1), Some(u64::MAX.into()));
        assert_eq!(integer(&rows, &[2, 8], 0), None);
    }

    #[test]
    fn what_is_forgotten_is_not_in_the_copy() {
        let mut rows = rows([4, 8, 0]);
        rows.set(&[1, 7], 0, RowValue::of(1));
        rows.put(&[2], rows.get(&[1]).cloned());
        rows.put(&[2, 7], None);
        assert_eq!(integer(&rows, &[2, 7], 0), None);
        assert_eq!(integer(&rows, &[1, 7], 0), Some(1));
        rows.put(&[9, 9], None);
        assert_eq!(rows.get(&[9]), None);
    }

    #[test]
    fn bytes_are_those_of_what_is_there() {
        let mut rows = rows([2, 2, 0]);
        let text = |length| RowValue::Content(Arc::new(vec![7; length]));
        for key in 0..5 {
            for inner in 0..5 {
                rows.set(&[key, inner], 0, text(100));
                rows.set(&[key, inner], 0, text(10));
                rows.set(&[key, inner], 1, RowValue::of(1));
            }
        }
        let values = text(10).bytes() + 2 * size_of::<RowValue>();
        let row = SHARED_BYTES + size_of::<Row>() + BLOCK_BYTES + values + ENTRY_BYTES;
        let all = LEVEL_BYTES + 2 * (LEVEL_BYTES + 2 * row + ENTRY_BYTES);
        assert_eq!(rows.bytes(), all);
        rows.put(&[4, 4], None);
        assert_eq!(rows.bytes(), all - row);
        rows.put(&[], None);
        assert_eq!(rows.bytes(), 0);
    }

    #[test]
    fn the_oldest_go_where_all_take_too_much() {
        let mut rows = rows([4096, 0, 0]);
        for key in 0..8192 {
            let text = RowValue::Content(Arc::new(vec![0; 8192]));
            rows.set(&[key], 0, text);
            assert!(rows.bytes() <= STATE_ROWS_BYTES_MAX);
        }
        assert!(rows.get(&[8191]).is_some());
        assert!(rows.get(&[4096]).is_none());
    }
}
