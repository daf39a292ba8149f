//! How the pages of a tape lie in memory, byte by byte: no reader of reels writes into memory as it
//! lies.

use std::sync::atomic::Ordering;

use netreel_reel::tape::{Entry, Printed, TapeControl};

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
