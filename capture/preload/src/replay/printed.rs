//! What the program prints in a replay, beside what it printed then. Nobody waits for it: each
//! descriptor has its own row of bytes, whatever the turn of the thread.

use core::sync::atomic::{AtomicU32, Ordering};

use netreel_shared::tape::{PRINTED_AT, PRINTED_MAX, Printed, TapeControl};

use crate::plainly::{Plainly, zero};
use crate::sys::{self, pause};

use super::{place_at, tape};

/// The thread that compares now; 0: none.
static COMPARING: AtomicU32 = zero();

/// The program prints this: 0 is its standard output, 1 its standard error.
pub fn says(index: usize, bytes: &[u8]) {
    let Some(tape) = tape().filter(|tape| tape.prints != 0) else {
        return;
    };
    let Some(printed) = tape.printed.get(index) else {
        return;
    };
    let this = sys::thread();
    while let Err(comparing) = COMPARING.exchange(0, this, Ordering::Acquire) {
        if comparing == this {
            // A handler of a signal, amid a comparison.
            return;
        }
        pause();
    }
    compare(tape, (index, printed), bytes);
    COMPARING.store(0, Ordering::Release);
}

fn compare(tape: &TapeControl, (index, printed): (usize, &Printed), bytes: &[u8]) {
    let now = printed.now.get();
    if printed.differs.get() != 0 {
        keep(tape, (index, printed), bytes);
    } else {
        let left = printed.length.saturating_sub(now);
        // SAFETY: the command made the tape; all that was printed lies on it.
        let recorded =
            unsafe { sys::slice(place_at::<u8>(tape, (printed.at + now) as usize), left) };
        let pairs = recorded.iter().zip(bytes);
        let same = pairs.take_while(|(then, now)| then == now).count();
        if let Some(other) = bytes.get(same..).filter(|other| !other.is_empty()) {
            let place = now + same as u64 + 1;
            printed.differs.set(place);
            keep(tape, (index, printed), other);
        }
    }
    let after = now + bytes.len() as u64;
    printed.now.set(after);
}

/// Keeps the rest of the line that differs.
fn keep(tape: &TapeControl, (index, printed): (usize, &Printed), bytes: &[u8]) {
    if printed.whole.get() != 0 {
        return;
    }
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let line = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or(&[]);
    let kept = printed.came.get() as usize;
    let room = PRINTED_MAX.saturating_sub(kept).min(line.len());
    let place = place_at::<u8>(tape, PRINTED_AT + index * PRINTED_MAX + kept);
    // SAFETY: the tape has this room, and nobody else writes there now.
    unsafe { core::ptr::copy_nonoverlapping(line.as_ptr(), place, room) };
    printed.came.set((kept + room) as u32);
    if end.is_some() || room < line.len() {
        printed.whole.set(1);
    }
}
