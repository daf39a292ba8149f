//! One thread at a time in a replay: the floor goes from thread to thread as it went then.

use core::sync::atomic::Ordering;

use netreel_shared::call::CallId;
use netreel_shared::tape::{NextFloor, TapeControl, why};

use crate::floor::Own;
use crate::threads;

use super::places::place;
use super::queue::QUEUES;
use super::{Did, TapeTurn, next_entry, over, own_number, tape};

/// Whether this thread gives the floor up for the call that it makes now.
pub fn gives_up(own: &Own) -> bool {
    let Some(tape) = tape() else { return false };
    let place = own_number(tape).and_then(|own| place(tape, own));
    place.is_none_or(|place| place.is_due_at(own.points()) || place.is_at_its_end())
}

/// Waits until this thread has the floor again.
pub fn takes(own: &Own) {
    let Some(tape) = tape() else { return };
    let Some(number) = own_number(tape) else {
        return;
    };
    let Some(place) = place(tape, number) else {
        return;
    };
    if !place.is_due() {
        // It has nothing to do any more that is in the recording.
        return;
    }
    let Some(queue) = QUEUES.get(usize::from(number)) else {
        return;
    };
    loop {
        let turns = queue.turns.load(Ordering::SeqCst);
        let Some(entry) = next_entry(tape) else {
            over(tape)
        };
        if entry.thread == number {
            let turn = TapeTurn { tape, entry };
            if entry.called() != Some(CallId::TURN) {
                Did::made(CallId::TURN).parts(why::STEP);
            }
            own.takes();
            let bytes = turn.bytes();
            // SAFETY: as many bytes as the tape has for each such entry.
            let next = unsafe { bytes.as_ptr().cast::<NextFloor>().read_unaligned() };
            place.next_floor(&next);
            turn.done();
            if !place.is_due_at(own.points()) {
                return;
            }
            // It was taken from this thread where it slept behind that call.
            own.gives_up();
            continue;
        }
        queue.wait(turns, None);
    }
}

/// Before this thread's next entry: other threads may have to run first, as often as they did. One that looks
/// at memory until another one has come somewhere may see that earlier.
pub fn before_entry(tape: &TapeControl, number: u16) {
    let (Some(place), Some(own)) = (place(tape, number), threads::floor()) else {
        return;
    };
    loop {
        let due = place.is_due();
        // Where the recording broke off amid a call, nothing comes behind it.
        if own.has() && (due || place.is_at_its_end()) {
            own.gives_up();
        }
        if !due {
            return;
        }
        takes(own);
    }
}

/// Behind this thread's latest entry: another thread may have to run at once, while this one waits where no
/// hook stands.
pub fn behind_entry(tape: &TapeControl, number: u16) {
    if let (Some(place), Some(own)) = (place(tape, number), threads::floor())
        && own.has()
        && place.is_due_at(0)
    {
        own.loses();
    }
}
