//! How a tape lies in memory, byte by byte: no reader of reels writes into memory as it lies. Which of a
//! program's threads has the floor, where one ran at a time, and the steps among locks are put there too.

use std::mem::offset_of;
use std::sync::atomic::Ordering;

use netreel_reel::ThreadId;
use netreel_reel::tape::{
    Entry, FLOORS_AT, NO_THREAD, NextFloor, Order, Printed, STEPS_AT, THREADS_MAX, TapeControl,
};

/// Puts a value where there is room for it.
pub(super) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

/// The bytes of a number that lies there; `None` where what is there ends before.
pub(super) fn first_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Puts the first page.
pub(super) fn put_control(bytes: &mut [u8], control: &TapeControl) {
    macro_rules! put_fields {
        ($($field:ident)*) => {
            $(put(bytes, offset_of!(TapeControl, $field), &control.$field.to_ne_bytes());)*
        };
    }
    put_fields! {
        magic end threads process parent rings capacity ordered
        meets prints streams children files_at files_length
    }
    let stop_at = control.stop_at.load(Ordering::Relaxed);
    put(
        bytes,
        offset_of!(TapeControl, stop_at),
        &stop_at.to_ne_bytes(),
    );
    let next = control.next.load(Ordering::Relaxed);
    put(bytes, offset_of!(TapeControl, next), &next.to_ne_bytes());
    for (index, row) in control.printed.iter().enumerate() {
        let first = offset_of!(TapeControl, printed) + index * size_of::<Printed>();
        put(
            bytes,
            first + offset_of!(Printed, at),
            &row.at.to_ne_bytes(),
        );
        put(
            bytes,
            first + offset_of!(Printed, length),
            &row.length.to_ne_bytes(),
        );
    }
}

/// An entry as it lies on the tape.
pub(super) fn entry_bytes(entry: &Entry) -> [u8; size_of::<Entry>()] {
    let mut bytes = [0; size_of::<Entry>()];
    bytes[..8].copy_from_slice(&entry.number.to_ne_bytes());
    bytes[8..16].copy_from_slice(&entry.value.to_ne_bytes());
    bytes[16..20].copy_from_slice(&entry.length.to_ne_bytes());
    bytes[20..24].copy_from_slice(&entry.result.to_ne_bytes());
    bytes[24..26].copy_from_slice(&entry.thread.to_ne_bytes());
    bytes[26..28].copy_from_slice(&entry.socket.to_ne_bytes());
    bytes[28..].copy_from_slice(&[entry.kind, entry.id, entry.endpoint, entry.flags]);
    bytes
}

/// The same back.
pub(super) fn entry_from(bytes: &[u8; size_of::<Entry>()]) -> Entry {
    let eight = |at: usize| u64::from_ne_bytes(std::array::from_fn(|index| bytes[at + index]));
    let two = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
    Entry {
        number: eight(0),
        value: eight(8),
        length: eight(16) as u32,
        result: (eight(16) >> 32) as i32,
        thread: two(24),
        socket: two(26),
        kind: bytes[28],
        id: bytes[29],
        endpoint: bytes[30],
        flags: bytes[31],
    }
}

/// What comes to a thread again and again: the first of it, and where among the entries the place for the
/// next one lies; 0 before the first.
#[derive(Clone, Default)]
struct Chain {
    first: Vec<u8>,
    next_at: usize,
}

impl Chain {
    fn comes(&mut self, entries: &mut [u8], value: &[u8], next_at: usize) {
        match self.next_at {
            0 => self.first = value.to_vec(),
            at => put(entries, at, value),
        }
        self.next_at = next_at;
    }
}

/// Of a thread: when it gives the floor up, and the number of its next step that waits for its turn.
#[derive(Clone, Default)]
struct Place {
    /// Its entries so far, but those of the floor.
    entries: u64,
    floor: Chain,
    step: Chain,
}

/// Of each thread, by index.
#[derive(Default)]
pub(super) struct Turns(Vec<Place>);

impl Turns {
    fn of(&mut self, thread: u16) -> &mut Place {
        let index = usize::from(thread);
        if self.0.len() <= index {
            self.0.resize_with(index + 1, Place::default);
        }
        &mut self.0[index]
    }

    /// The thread comes to an entry.
    pub(super) fn goes_on(&mut self, thread: u16) {
        self.of(thread).entries += 1;
    }

    /// The thread gets the floor back behind this many calls; the details of that lie at `at` among
    /// the entries.
    pub(super) fn floor(&mut self, entries: &mut [u8], thread: u16, points: u64, at: usize) {
        let place = self.of(thread);
        let next = words([place.entries + 1, points, 0]);
        place.floor.comes(entries, next.as_flattened(), at);
    }

    /// The thread comes to a step whose details lie at `at` among the entries.
    pub(super) fn step(&mut self, entries: &mut [u8], thread: u16, count: u64, at: usize) {
        let next_at = at + offset_of!(Order, next);
        let next = words([count]);
        let place = self.of(thread);
        place.step.comes(entries, next.as_flattened(), next_at);
    }

    /// Writes into the tape when each gives the floor up first, and each one's first step.
    pub(super) fn put_first(&self, tape: &mut [u8]) {
        for (index, place) in self.0.iter().take(THREADS_MAX).enumerate() {
            let at = FLOORS_AT + index * size_of::<NextFloor>();
            put(tape, at, &place.floor.first);
            let all = words([place.entries]);
            put(tape, at + offset_of!(NextFloor, all), all.as_flattened());
            put(tape, STEPS_AT + index * 8, &place.step.first);
        }
    }
}

/// As the tape has them.
fn words<const N: usize>(words: [u64; N]) -> [[u8; 8]; N] {
    words.map(u64::to_ne_bytes)
}

/// The step's number in its thread, and who had the lock before. `None` where the details have no
/// such thing.
pub(super) fn read_order(
    details: &[u8],
    index: impl Fn(ThreadId) -> Option<u16>,
) -> Option<(u64, Order)> {
    let (count, rest) = details.split_first_chunk()?;
    let word = u64::from_le_bytes(*rest.first_chunk()?);
    let thread = ((word >> 48) as u16).checked_sub(1);
    let before = thread.and_then(|thread| index(ThreadId(thread)));
    let order = Order {
        before: before.map_or(NO_THREAD, u64::from),
        step: word & ((1 << 48) - 1),
        next: 0,
    };
    Some((u64::from_le_bytes(*count), order))
}

/// As the tape has it.
pub(super) fn order_bytes(order: &Order) -> [[u8; 8]; 3] {
    words([order.before, order.step, order.next])
}
