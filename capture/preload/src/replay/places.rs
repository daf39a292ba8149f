//! How far each thread of the tape is.
//!
//! Where a thread ends depends now and then on when it sees a word in memory, which is not in the
//! recording: one that asks for more than it did is answered by the system from there on, and what
//! is left of one that has ended is passed over, unless it is a packet.

use core::sync::atomic::{AtomicU64, Ordering};

use netreel_shared::body::EventKind;
use netreel_shared::call::CallId;
use netreel_shared::tape::{Entry, FLOORS_AT, NextFloor, ONE_AT_A_TIME, THREADS_MAX, TapeControl};

use crate::floor::count_anew;
use crate::locks::ECANCELED;
use crate::plainly::{Plainly, Zero, zero};

use super::queue::{QUEUES, Queue};
use super::{TapeTurn, entry_at, find, floor, locks, next_entry, over, own_number, place_at, tape};

/// What is kept of a thread.
pub struct Place {
    /// Entries that it has taken, but those of the floor.
    done: AtomicU64,
    /// When it gives the floor up next: behind this many entries, plus 1, and this many points. 0: never.
    entries: AtomicU64,
    points: AtomicU64,
    /// All its entries, plus 1; 0: not read from the tape yet.
    all: AtomicU64,
    /// 1 when it has ended.
    ended: AtomicU64,
    /// Whether a signal ends what it does next, which is a sleep: 2 for yes and 1 for no, and in
    /// the bits above how many entries it had taken when that was looked up.
    woken: AtomicU64,
}

// SAFETY: numbers.
unsafe impl Zero for Place {}

static PLACES: [Place; THREADS_MAX] = zero();

const ORDER: Ordering = Ordering::Relaxed;

/// The place of a thread.
pub fn place(tape: &TapeControl, own: u16) -> Option<&'static Place> {
    let place = PLACES.get(usize::from(own))?;
    if place.all.get() == 0 {
        // SAFETY: such a thing lies there for each thread, in every tape.
        let first = unsafe { &*place_at::<NextFloor>(tape, FLOORS_AT).add(usize::from(own)) };
        place.next_floor(first);
        place.all.set(first.all + 1);
    }
    Some(place)
}

impl Place {
    /// When the floor goes to another thread next.
    pub fn next_floor(&self, next: &NextFloor) {
        self.entries.set(next.entries);
        self.points.set(next.points);
    }

    /// Whether the floor goes to another thread before this one's next entry.
    pub fn is_due(&self) -> bool {
        self.entries.get() == self.done.get() + 1
    }

    /// And behind this many calls without an entry.
    pub fn is_due_at(&self, points: u32) -> bool {
        self.is_due() && self.points.get() == u64::from(points)
    }

    /// Whether it has taken all its entries.
    pub fn is_at_its_end(&self) -> bool {
        self.entries.get() == 0 && self.all.get() == self.done.get() + 1
    }
}

/// A thread has taken an entry.
pub fn done(number: u16) {
    if let Some(place) = PLACES.get(usize::from(number)) {
        place.done.fetch_add(1, ORDER);
    }
    count_anew();
}

/// Whether this thread has nothing left on the tape, and goes on by itself.
#[inline]
pub fn is_free(tape: &TapeControl, number: u16) -> bool {
    tape.ordered != 0 && place(tape, number).is_some_and(Place::is_at_its_end)
}

/// Waits for the end of the recording, in which this thread had no part any more.
pub fn waits_for_the_end(tape: &TapeControl, number: u16) -> ! {
    let Some(queue) = QUEUES.get(usize::from(number)) else {
        super::leave()
    };
    loop {
        let turns = queue.turns.load(Ordering::SeqCst);
        if next_entry(tape).is_none() {
            over(tape);
        }
        queue.wait(turns, None);
    }
}

/// A thread ends that is numbered so.
pub fn ends(tape: &TapeControl, number: u16) {
    if let Some(place) = PLACES.get(usize::from(number)) {
        place.ended.store(1, Ordering::SeqCst);
    }
    locks::ended(number);
    if next_entry(tape).is_some_and(|entry| entry.thread == number) {
        pass_over(tape);
        wake_next(tape);
    }
}

fn is_packet(entry: &Entry) -> bool {
    let kinds = [EventKind::Sent, EventKind::Received];
    kinds.iter().any(|kind| *kind as u8 == entry.kind)
}

/// Passes over what is left of threads that have ended.
pub fn pass_over(tape: &TapeControl) {
    loop {
        let at = tape.next.load(Ordering::SeqCst);
        let Some(entry) = next_entry(tape) else {
            return;
        };
        let ended = PLACES
            .get(usize::from(entry.thread))
            .is_some_and(|place| place.ended.load(Ordering::SeqCst) != 0);
        // Where one ran at a time, none ends elsewhere than it did.
        if !ended || is_packet(entry) || tape.ordered == ONE_AT_A_TIME {
            return;
        }
        let next = at + entry.size();
        if tape.next.exchange(at, next, Ordering::SeqCst).is_ok() {
            tape.passed.fetch_add(1, ORDER);
        }
    }
}

/// Wakes the thread whose turn it is; behind the last entry all of them, so that one ends the
/// process.
pub fn wake_next(tape: &TapeControl) {
    match next_entry(tape) {
        Some(entry) => QUEUES
            .get(usize::from(entry.thread))
            .map_or((), Queue::wake),
        None => QUEUES.iter().for_each(Queue::wake),
    }
}

/// Whether what this thread has next on the tape is a sleep that a signal ended, with the signal before
/// it or not.
pub fn is_woken_next(tape: &'static TapeControl, own: u16) -> bool {
    let Some(place) = PLACES.get(usize::from(own)) else {
        return false;
    };
    let looked = place.done.get() << 2;
    let known = place.woken.get();
    if known & !3 == looked && known != 0 {
        return known & 2 != 0;
    }
    let is = next_of(tape, own).is_some_and(|entry| match entry.called() {
        Some(CallId::SLEEP) => entry.result != 0,
        called => called == Some(CallId::SIGNAL),
    });
    place.woken.set(looked | if is { 2 } else { 1 });
    is
}

/// The entries from the next one on.
fn left(tape: &'static TapeControl) -> impl Iterator<Item = &'static Entry> {
    let mut at = tape.next.load(Ordering::SeqCst);
    core::iter::from_fn(move || {
        let entry = entry_at(tape, at)?;
        at += entry.size();
        Some(entry)
    })
}

/// What this thread has next on the tape, but for turns.
fn next_of(tape: &'static TapeControl, own: u16) -> Option<&'static Entry> {
    left(tape).find(|entry| entry.thread == own && entry.called() != Some(CallId::TURN))
}

/// Whether the tape says when this thread is cancelled: from here on inside a call.
pub fn will_be_cancelled(identity: u64) -> bool {
    let Some(tape) = tape() else { return false };
    let Some(thread) = find(tape, identity) else {
        return false;
    };
    let is_cancellation = |entry: &Entry| match entry.called() {
        Some(CallId::CANCELLED) => true,
        Some(CallId::CONDITION) => entry.result == ECANCELED,
        _ => false,
    };
    left(tape).any(|entry| u32::from(entry.thread) == thread && is_cancellation(entry))
}

/// Whether what this thread has next on the tape is that it is cancelled in the call of this name.
pub fn ends_in(identity: u64, name: &[u8]) -> bool {
    let Some(tape) = tape() else { return false };
    let Some(thread) = find(tape, identity) else {
        return false;
    };
    next_of(tape, thread as u16).is_some_and(|entry| {
        let turn = TapeTurn { tape, entry };
        entry.called() == Some(CallId::CANCELLED) && turn.bytes() == name
    })
}

/// This thread was really cancelled, inside a call that the tape does not answer: the tape's entry of
/// that is done, where there is one.
pub fn is_cancelled() {
    let Some(tape) = tape() else { return };
    let Some(own) = own_number(tape) else { return };
    let Some(queue) = QUEUES.get(usize::from(own)) else {
        return;
    };
    if tape.one_thread() {
        floor::before_entry(tape, own);
    }
    while !is_free(tape, own) {
        let turns = queue.turns.load(Ordering::SeqCst);
        match next_entry(tape) {
            Some(entry) if entry.thread == own => {
                if entry.called() == Some(CallId::CANCELLED) {
                    TapeTurn { tape, entry }.done();
                }
                return;
            }
            Some(_) => queue.wait(turns, None),
            None => over(tape),
        }
    }
}
