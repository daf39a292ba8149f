//! How a tape lies in memory, byte by byte: no reader of reels writes into memory as it lies. Which of a
//! program's threads has the floor, where one ran at a time, and the steps among locks are put there too.

use std::sync::atomic::Ordering;

use netreel_reel::ThreadId;
use netreel_reel::tape::{
    Entry, FLOORS_AT, NO_THREAD, NextFloor, Order, Printed, STEPS_AT, THREADS_MAX, TapeControl,
};

/// Puts the first page.
pub(super) fn put_control(bytes: &mut [u8], control: &TapeControl) {
    let mut put = |at: usize, value: &[u8]| {
        if let Some(place) = bytes.get_mut(at..at + value.len()) {
            place.copy_from_slice(value);
        }
    };
    use std::mem::offset_of;
    put(offset_of!(TapeControl, magic), &control.magic.to_ne_bytes());
    put(offset_of!(TapeControl, end), &control.end.to_ne_bytes());
    put(
        offset_of!(TapeControl, threads),
        &control.threads.to_ne_bytes(),
    );
    put(
        offset_of!(TapeControl, process),
        &control.process.to_ne_bytes(),
    );
    put(
        offset_of!(TapeControl, parent),
        &control.parent.to_ne_bytes(),
    );
    put(offset_of!(TapeControl, rings), &control.rings.to_ne_bytes());
    put(
        offset_of!(TapeControl, ordered),
        &control.ordered.to_ne_bytes(),
    );
    put(
        offset_of!(TapeControl, capacity),
        &control.capacity.to_ne_bytes(),
    );
    put(
        offset_of!(TapeControl, stop_at),
        &control.stop_at.load(Ordering::Relaxed).to_ne_bytes(),
    );
    for (at, value) in [
        (offset_of!(TapeControl, files_at), control.files_at),
        (offset_of!(TapeControl, files_length), control.files_length),
    ] {
        put(at, &value.to_ne_bytes());
    }
    for (at, value) in [
        (offset_of!(TapeControl, meets), control.meets),
        (offset_of!(TapeControl, prints), control.prints),
        (offset_of!(TapeControl, streams), control.streams),
        (offset_of!(TapeControl, children), control.children),
    ] {
        put(at, &value.to_ne_bytes());
    }
    for (index, row) in control.printed.iter().enumerate() {
        let first = offset_of!(TapeControl, printed) + index * size_of::<Printed>();
        put(first + offset_of!(Printed, at), &row.at.to_ne_bytes());
        put(
            first + offset_of!(Printed, length),
            &row.length.to_ne_bytes(),
        );
    }
    let next = control.next.load(std::sync::atomic::Ordering::Relaxed);
    put(offset_of!(TapeControl, next), &next.to_ne_bytes());
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

/// Of each thread, by index.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Its entries so far, but those of the floor.
    entries: u64,
    first: NextFloor,
    /// Where among the entries the place for the next one lies; 0 before the first.
    latest: usize,
}

/// When each thread gives the floor up.
#[derive(Default)]
pub(super) struct Floors(Vec<Place>);

impl Floors {
    fn of(&mut self, thread: u16) -> Option<&mut Place> {
        let index = usize::from(thread);
        if self.0.len() <= index {
            self.0.resize(index + 1, Place::default());
        }
        self.0.get_mut(index)
    }

    /// The thread comes to an entry.
    pub(super) fn goes_on(&mut self, thread: u16) {
        if let Some(place) = self.of(thread) {
            place.entries += 1;
        }
    }

    /// The thread gets the floor back behind this many calls; the details of that lie at `at` among
    /// the entries.
    pub(super) fn comes(&mut self, entries: &mut [u8], thread: u16, points: u64, at: usize) {
        let Some(place) = self.of(thread) else { return };
        let next = NextFloor {
            entries: place.entries + 1,
            points,
            all: 0,
        };
        match place.latest {
            0 => place.first = next,
            latest => {
                let whole = floor_bytes(&next);
                if let Some(room) = entries.get_mut(latest..latest + whole.len()) {
                    room.copy_from_slice(&whole);
                }
            }
        }
        place.latest = at;
    }

    /// Writes into the tape when each gives it up first.
    pub(super) fn put_first(&self, tape: &mut [u8]) {
        for (index, place) in self.0.iter().take(THREADS_MAX).enumerate() {
            let at = FLOORS_AT + index * size_of::<NextFloor>();
            let whole = floor_bytes(&NextFloor {
                all: place.entries,
                ..place.first
            });
            if let Some(room) = tape.get_mut(at..at + whole.len()) {
                room.copy_from_slice(&whole);
            }
        }
    }
}

/// As the tape has it.
pub(super) fn floor_bytes(next: &NextFloor) -> [u8; size_of::<NextFloor>()] {
    let mut bytes = [0; size_of::<NextFloor>()];
    bytes[..8].copy_from_slice(&next.entries.to_ne_bytes());
    bytes[8..16].copy_from_slice(&next.points.to_ne_bytes());
    bytes[16..].copy_from_slice(&next.all.to_ne_bytes());
    bytes
}

/// Of each thread: where the number of its next step is to stand that waits for its turn.
#[derive(Default)]
pub(super) struct Steps {
    /// The first one of each thread, by index.
    first: Vec<u64>,
    /// Where among the entries the place for the next one lies; 0 before the first.
    latest: Vec<usize>,
}

/// Where in an [`Order`] the next step stands.
const NEXT_AT: usize = std::mem::offset_of!(Order, next);

impl Steps {
    /// This thread comes to a step whose details lie at `at` among the entries.
    pub(super) fn come(&mut self, entries: &mut [u8], thread: u16, count: u64, at: usize) {
        let index = usize::from(thread);
        if self.first.len() <= index {
            self.first.resize(index + 1, 0);
            self.latest.resize(index + 1, 0);
        }
        match self.latest.get(index).copied() {
            Some(0) | None => {
                if let Some(first) = self.first.get_mut(index) {
                    *first = count;
                }
            }
            Some(place) => {
                if let Some(next) = entries.get_mut(place + NEXT_AT..place + NEXT_AT + 8) {
                    next.copy_from_slice(&count.to_ne_bytes());
                }
            }
        }
        if let Some(latest) = self.latest.get_mut(index) {
            *latest = at;
        }
    }

    /// Writes each thread's first one into the tape.
    pub(super) fn put_first(&self, tape: &mut [u8]) {
        for (index, first) in self.first.iter().take(THREADS_MAX).enumerate() {
            let at = STEPS_AT + index * 8;
            if let Some(place) = tape.get_mut(at..at + 8) {
                place.copy_from_slice(&first.to_ne_bytes());
            }
        }
    }
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
pub(super) fn order_bytes(order: &Order) -> [u8; size_of::<Order>()] {
    let mut bytes = [0; size_of::<Order>()];
    bytes[..8].copy_from_slice(&order.before.to_ne_bytes());
    bytes[8..16].copy_from_slice(&order.step.to_ne_bytes());
    bytes[16..].copy_from_slice(&order.next.to_ne_bytes());
    bytes
}
