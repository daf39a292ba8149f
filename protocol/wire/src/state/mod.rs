//! What the packets of a connection have left behind for those that follow: typed values, bounded
//! tables, split messages and byte streams under way.

mod given;
mod parts;
mod rows;
mod stream;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

pub(crate) use self::parts::{BadPart, Parts};
pub(crate) use self::rows::{Kept, RowValue, Rows, RowsShape};
pub(crate) use self::stream::ByteStream;
pub(crate) use self::table::Table;
use crate::limits::{STATE_CONTENT_MAX, TABLE_BYTES_MAX};

/// The state of one connection, as a wire's `state` blocks declare it. [`Wire::new_state`] makes one;
/// [`Wire::facts_in`] and [`Wire::decode_in`] read and advance it.
///
/// A clone shares what is large until one of the two changes it, so that it can serve as a
/// checkpoint.
///
/// [`Wire::new_state`]: crate::Wire::new_state
/// [`Wire::facts_in`]: crate::Wire::facts_in
/// [`Wire::decode_in`]: crate::Wire::decode_in
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionState {
    /// By place; a field declared with `each` has two, the first for the direction of the
    /// connection's first packet.
    slots: Vec<Slot>,
    #[serde(skip)]
    asked: Asked,
}

/// Whether somebody asked for something in a state that has no places.
#[derive(Debug, Default)]
struct Asked(AtomicBool);

impl Clone for Asked {
    fn clone(&self) -> Asked {
        Asked(AtomicBool::new(self.0.load(Ordering::Relaxed)))
    }
}

impl PartialEq for Asked {
    fn eq(&self, _: &Asked) -> bool {
        true
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Slot {
    Integer(Option<i128>),
    Content(Option<Arc<Vec<u8>>>),
    Integers(Arc<Table<i128>>),
    Contents(Arc<Contents>),
    Parts(Arc<Parts>),
    Stream(Arc<ByteStream>),
    Rows(Rows),
}

/// Texts or bytes by key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Contents {
    table: Table<Arc<Vec<u8>>>,
    /// Of all entries together.
    bytes: usize,
}

/// A field of a `state` block.
#[derive(Clone, Debug)]
pub(crate) struct StateField {
    pub name: Arc<str>,
    /// One for each direction.
    pub each: bool,
    pub kind: StateKind,
    /// What the values of a struct are called, with the structs inside it, and whether each is a
    /// text or bytes.
    pub values: Arc<[(String, bool)]>,
    /// Its place in [`ConnectionState`]; of two, the first.
    pub place: u16,
}

/// What a field of a `state` block keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateKind {
    Integer {
        initial: Option<i128>,
    },
    /// A text or bytes.
    Content,
    Integers {
        capacity: u16,
    },
    Contents {
        capacity: u16,
    },
    Parts {
        capacity: u16,
    },
    Stream,
    /// Structs, and tables in tables.
    Rows(RowsShape),
}

/// A text or bytes that is longer than [`STATE_CONTENT_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentTooLong;

impl ConnectionState {
    pub(crate) fn new(fields: &[StateField]) -> ConnectionState {
        let mut slots = Vec::new();
        for field in fields {
            let slot = Slot::new(field.kind);
            if field.each {
                slots.push(slot.clone());
            }
            slots.push(slot);
        }
        ConnectionState {
            slots,
            asked: Asked::default(),
        }
    }

    /// Whether a packet read something of this state, which has no places, or put something into it.
    pub(crate) fn was_asked(&self) -> bool {
        self.asked.0.load(Ordering::Relaxed)
    }

    #[inline]
    fn slot(&self, place: u16) -> Option<&Slot> {
        self.note_asked();
        self.slots.get(usize::from(place))
    }

    #[inline]
    fn slot_mut(&mut self, place: u16) -> Option<&mut Slot> {
        self.note_asked();
        self.slots.get_mut(usize::from(place))
    }

    #[inline]
    fn note_asked(&self) {
        if self.slots.is_empty() {
            self.asked.0.store(true, Ordering::Relaxed);
        }
    }

    /// About how many bytes of memory it takes, what clones share included.
    pub fn memory(&self) -> usize {
        let of_slots = self.slots.iter().map(|slot| match slot {
            Slot::Integer(_) => 0,
            Slot::Content(content) => content.as_ref().map_or(0, |content| content.len()),
            Slot::Integers(table) => table.len() * size_of::<(i128, i128, u64)>(),
            Slot::Contents(contents) => {
                contents.bytes + contents.table.len() * size_of::<(i128, u64, usize)>()
            }
            Slot::Parts(parts) => parts.bytes(),
            Slot::Stream(stream) => stream.bytes(),
            Slot::Rows(rows) => rows.bytes(),
        });
        of_slots.sum::<usize>() + self.slots.len() * size_of::<Slot>()
    }

    /// The integer of a place, or of an entry of the table there.
    pub(crate) fn integer(&self, place: u16, key: Option<i128>) -> Option<i128> {
        match (self.slot(place)?, key) {
            (Slot::Integer(value), None) => *value,
            (Slot::Integers(table), Some(key)) => table.get(key).copied(),
            _ => None,
        }
    }

    /// The text or bytes of a place, or of an entry of the table there.
    pub(crate) fn content(&self, place: u16, key: Option<i128>) -> Option<&[u8]> {
        self.shared_content(place, key).map(|content| &***content)
    }

    /// The same, to be kept for a while.
    pub(crate) fn shared_content(&self, place: u16, key: Option<i128>) -> Option<&Arc<Vec<u8>>> {
        match (self.slot(place)?, key) {
            (Slot::Content(content), None) => content.as_ref(),
            (Slot::Contents(contents), Some(key)) => contents.table.get(key),
            _ => None,
        }
    }

    /// `None` unsets it.
    pub(crate) fn set_integer(&mut self, place: u16, key: Option<i128>, value: Option<i128>) {
        match (self.slot_mut(place), key, value) {
            (Some(Slot::Integer(slot)), None, _) => *slot = value,
            (Some(Slot::Integers(table)), Some(key), Some(value)) => {
                Arc::make_mut(table).set(key, |_| value);
            }
            (Some(Slot::Integers(table)), Some(key), None) if table.get(key).is_some() => {
                Arc::make_mut(table).remove(key);
            }
            _ => {}
        }
    }

    /// `write` puts the new content into the empty vector that it gets. What is too long is not
    /// kept: the place or the entry is unset then.
    pub(crate) fn set_content(
        &mut self,
        place: u16,
        key: Option<i128>,
        length: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), ContentTooLong> {
        if length > STATE_CONTENT_MAX {
            self.unset_content(place, key);
            return Err(ContentTooLong);
        }
        match (self.slot_mut(place), key) {
            (Some(Slot::Content(slot)), None) => *slot = Some(rewritten(slot.take(), write)),
            (Some(Slot::Contents(contents)), Some(key)) => {
                Arc::make_mut(contents).set(key, write);
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn unset_content(&mut self, place: u16, key: Option<i128>) {
        match (self.slot_mut(place), key) {
            (Some(Slot::Content(slot)), None) => *slot = None,
            (Some(Slot::Contents(contents)), Some(key)) if contents.table.get(key).is_some() => {
                Arc::make_mut(contents).remove(key);
            }
            _ => {}
        }
    }

    pub(crate) fn rows(&self, place: u16) -> Option<&Rows> {
        match self.slot(place)? {
            Slot::Rows(rows) => Some(rows),
            _ => None,
        }
    }

    pub(crate) fn rows_mut(&mut self, place: u16) -> Option<&mut Rows> {
        match self.slot_mut(place)? {
            Slot::Rows(rows) => Some(rows),
            _ => None,
        }
    }

    pub(crate) fn parts(&mut self, place: u16) -> Option<&mut Parts> {
        match self.slot_mut(place)? {
            Slot::Parts(parts) => Some(Arc::make_mut(parts)),
            _ => None,
        }
    }

    pub(crate) fn stream(&mut self, place: u16) -> Option<&mut ByteStream> {
        match self.slot_mut(place)? {
            Slot::Stream(stream) => Some(Arc::make_mut(stream)),
            _ => None,
        }
    }
}

impl Slot {
    fn new(kind: StateKind) -> Slot {
        match kind {
            StateKind::Integer { initial } => Slot::Integer(initial),
            StateKind::Content => Slot::Content(None),
            StateKind::Integers { capacity } => {
                Slot::Integers(Arc::new(Table::new(usize::from(capacity))))
            }
            StateKind::Contents { capacity } => Slot::Contents(Arc::new(Contents {
                table: Table::new(usize::from(capacity)),
                bytes: 0,
            })),
            StateKind::Parts { capacity } => {
                Slot::Parts(Arc::new(Parts::new(usize::from(capacity))))
            }
            StateKind::Stream => Slot::Stream(Arc::default()),
            StateKind::Rows(shape) => Slot::Rows(Rows::new(shape)),
        }
    }
}

impl Contents {
    fn set(&mut self, key: i128, write: impl FnOnce(&mut Vec<u8>)) {
        let bytes = &mut self.bytes;
        self.table.set(key, |old| {
            *bytes -= old.as_ref().map_or(0, |old| old.len());
            let new = rewritten(old, write);
            *bytes += new.len();
            new
        });
        while self.bytes > TABLE_BYTES_MAX {
            let Some(oldest) = self.table.remove_oldest() else {
                return;
            };
            self.bytes -= oldest.len();
        }
    }

    fn remove(&mut self, key: i128) {
        if let Some(old) = self.table.remove(key) {
            self.bytes -= old.len();
        }
    }
}

/// New content in the memory of the old, unless a clone of the state still shows that.
fn rewritten(old: Option<Arc<Vec<u8>>>, write: impl FnOnce(&mut Vec<u8>)) -> Arc<Vec<u8>> {
    let mut content = old.unwrap_or_default();
    match Arc::get_mut(&mut content) {
        Some(own) => {
            own.clear();
            write(own);
        }
        None => {
            let mut new = Vec::new();
            write(&mut new);
            content = Arc::new(new);
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(kind: StateKind) -> ConnectionState {
        ConnectionState::new(&[StateField {
            name: "x".into(),
            each: true,
            kind,
            values: Arc::default(),
            place: 0,
        }])
    }

    fn set(state: &mut ConnectionState, key: Option<i128>, content: &[u8]) {
        let write = |to: &mut Vec<u8>| to.extend_from_slice(content);
        state
            .set_content(0, key, content.len(), write)
            .expect("a content that is short enough");
    }

    #[test]
    fn each_direction_has_its_own() {
        let mut state = state(StateKind::Integer { initial: Some(3) });
        state.set_integer(0, None, Some(4));
        assert_eq!(
            (state.integer(0, None), state.integer(1, None)),
            (Some(4), Some(3))
        );
    }

    #[test]
    fn a_clone_keeps_what_it_showed() {
        for (kind, key) in [
            (StateKind::Content, None),
            (StateKind::Contents { capacity: 1 }, Some(7)),
        ] {
            let mut state = state(kind);
            set(&mut state, key, b"first");
            let checkpoint = state.clone();
            set(&mut state, key, b"second");
            assert_eq!(checkpoint.content(0, key), Some(&b"first"[..]));
            assert_eq!(state.content(0, key), Some(&b"second"[..]));
            assert_ne!(checkpoint, state);
        }
    }

    #[test]
    fn a_content_that_is_too_long_is_not_kept() {
        let mut state = state(StateKind::Contents { capacity: 4 });
        set(&mut state, Some(1), b"short");
        let long = state.set_content(0, Some(1), STATE_CONTENT_MAX + 1, |_| {});
        assert_eq!(long, Err(ContentTooLong));
        assert_eq!(state.content(0, Some(1)), None);
        assert_eq!(state.memory(), self::state(StateKind::Stream).memory());
    }

    #[test]
    fn the_bytes_of_a_table_are_bounded() {
        let mut state = state(StateKind::Contents { capacity: 4096 });
        let content = [7; STATE_CONTENT_MAX];
        for key in 0..1000 {
            set(&mut state, Some(key), &content);
        }
        let most = (TABLE_BYTES_MAX / STATE_CONTENT_MAX) as i128;
        assert_eq!(state.content(0, Some(999 - most)), None);
        assert_eq!(state.content(0, Some(1000 - most)), Some(&content[..]));
    }
}
