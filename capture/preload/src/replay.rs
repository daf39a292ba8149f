//! Replay: a program that is started again gets the recorded answers instead of the system's.
//!
//! The command hands over a tape ([`netreel_shared::tape`]) in place of a ring file. Each hook takes the
//! next entry of its thread and answers from it; threads that had to do with packets go one after
//! the other, in the recorded order. Nothing is sent. Where the program does something else than
//! it did, that is written beside the tape, and the process ends.

mod did;
mod floor;
mod kept;
mod locks;
mod network;
mod nudges;
mod places;
mod printed;
mod queue;
mod waits;

use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use netreel_shared::body::EventKind;
use netreel_shared::call::{CallId, ClockId};
use netreel_shared::tape::{
    CAME_AT, CAME_MAX, Came, Entry, OPENED_AT, OPENED_MAX, Opened, THREADS_AT, THREADS_MAX,
    TapeControl, state, why,
};

use crate::plainly::{Plainly, zero};
use crate::sys::{self, IoVec, nr, with_errno};
use crate::vectors::{self, Vectors};
use crate::{attach, cancels, signals, threads};

pub use did::Did;
pub use floor::{gives_up as gives_the_floor_up, takes as takes_the_floor};
pub use kept::{KeptFiles, kept_files};
pub use locks::{joins, level, meets, once, posts, semaphore, takes, waits};
pub use network::{
    Outgoing, closes, connects, duplicates, gives, has_made, is_numbered, receives, receives_many,
    refuses, sends, sends_cut, sends_many, sends_part,
};
pub use nudges::is_nudge;
pub use places::{ends_in, is_cancelled, will_be_cancelled};
pub use printed::says;
pub use waits::{epoll, polls, selects, slept};

use queue::QUEUES;

const OFF: u32 = 0;
const TAPE_ON: u32 = 1;
/// A process that the replayed one has started: it may do what it likes, but send nothing.
const MUTED: u32 = 2;
/// Nobody was asked yet.
const UNKNOWN: u32 = 3;

static MODE: AtomicU32 = AtomicU32::new(UNKNOWN);
static TAPE: AtomicPtr<TapeControl> = zero();

/// Whether this process is replayed, or was started by one that is.
#[inline(always)]
pub fn on() -> bool {
    match MODE.get() {
        OFF => false,
        UNKNOWN => ask(),
        _ => true,
    }
}

/// Asks, which libraries may do before this one's start.
#[cold]
fn ask() -> bool {
    let _ = attach::generation();
    matches!(MODE.get(), TAPE_ON | MUTED)
}

/// This process is not replayed.
pub fn off() {
    let _ = MODE.exchange(UNKNOWN, OFF, Ordering::Relaxed);
}

/// From now on calls are answered from the tape at `tape`.
///
/// # Safety
/// It is a whole tape that stays mapped.
pub unsafe fn begin(tape: *mut u8) {
    TAPE.store(tape.cast(), Ordering::Release);
    MODE.store(TAPE_ON, Ordering::Release);
}

/// From now on nothing is sent.
pub fn mute() {
    MODE.store(MUTED, Ordering::Release);
}

/// Whether it may do what it likes, but send nothing.
pub fn is_muted() -> bool {
    MODE.get() == MUTED
}

/// The place so many bytes behind the tape's first.
fn place_at<T>(tape: &TapeControl, at: usize) -> *mut T {
    (&raw const *tape).cast_mut().wrapping_byte_add(at).cast()
}

fn tape() -> Option<&'static TapeControl> {
    let on = MODE.load(Ordering::Acquire) == TAPE_ON;
    // SAFETY: `begin` has put it there for good.
    unsafe { TAPE.load(Ordering::Acquire).as_ref() }.filter(|_| on)
}

/// In a replay, whether the recording tells of barriers, of what runs once, of eventfds and timerfds.
#[inline]
pub fn tells_of_meetings() -> bool {
    on() && tape().is_some_and(|tape| tape.meets != 0)
}

/// In a replay, whether the recording tells what was read of the standard input through the C library's
/// streams.
pub fn tells_of_streams() -> bool {
    on() && tape().is_some_and(|tape| tape.streams != 0)
}

/// In a replay, whether the recording tells which children were started, how they ended, and what they wrote.
pub fn tells_of_children() -> bool {
    on() && tape().is_some_and(|tape| tape.children != 0)
}

/// Whether threads run beside the replayed ones that are not answered.
pub fn lets_others_run() -> bool {
    tape().is_some_and(|tape| tape.ordered == 0)
}

/// The process ids that the program is told: its own, and its parent's.
pub fn processes() -> Option<(u32, u32)> {
    tape().map(|tape| (tape.process, tape.parent))
}

/// A file of the kernel's own was opened, by the sum of its path: beside the tape stands what it said.
pub fn opened(path: u64, sum: u64) {
    let Some(tape) = tape() else { return };
    let index = tape.opened.fetch_add(1, Ordering::Relaxed) as usize;
    if index < OPENED_MAX {
        let all = place_at::<Opened>(tape, OPENED_AT);
        // SAFETY: this many have room there in every tape, and this one is this call's alone.
        unsafe { all.add(index).write(Opened { path, sum }) };
    }
}

/// What a thread's turn is answered with.
pub struct TapeTurn {
    tape: &'static TapeControl,
    entry: &'static Entry,
}

/// Free threads had nothing to do with packets in the recording: they are not replayed.
const FREE: u32 = 1;
const FIRST: u32 = 2;

/// This thread, as the tape numbers it; `None` for a free one.
#[inline]
fn own_number(tape: &TapeControl) -> Option<u16> {
    let known = &threads::own()?.tape;
    let mut number = known.get();
    if number == 0 {
        number = find(tape, threads::identity()).map_or(FREE, |index| index + FIRST);
        known.set(number);
    }
    number.checked_sub(FIRST).map(|index| index as u16)
}

/// A thread ends, which is known by this number and identity.
pub fn thread_ends(known: u32, identity: u64) {
    let Some(tape) = tape().filter(|tape| tape.ordered != 0) else {
        return;
    };
    let index = match known {
        0 => find(tape, identity),
        known => known.checked_sub(FIRST),
    };
    if let Some(index) = index {
        places::ends(tape, index as u16);
    }
}

#[cold]
fn find(tape: &TapeControl, identity: u64) -> Option<u32> {
    let count = (tape.threads as usize).min(THREADS_MAX);
    // SAFETY: the identities lie there in every tape.
    let all = unsafe { sys::slice(place_at::<u64>(tape, THREADS_AT), count) };
    let found = all.iter().position(|known| *known == identity)?;
    Some(found as u32)
}

/// Waits until it is this thread's turn. `None`: it is not replayed.
#[inline]
pub fn turn() -> Option<TapeTurn> {
    let tape = tape()?;
    let own = own_number(tape)?;
    if tape.one_thread() {
        floor::before_entry(tape, own);
    }
    crate::printed::compare_waiting();
    let queue = QUEUES.get(usize::from(own))?;
    loop {
        // Signals and sleeps that are passed over below may be the last that it has.
        if places::is_free(tape, own) {
            if tape.one_thread() || next_entry(tape).is_none() {
                places::waits_for_the_end(tape, own);
            }
            return None;
        }
        let turns = queue.turns.load(Ordering::SeqCst);
        match own_turn(tape, own) {
            // It slept once less, where it looks whether another thread has come somewhere.
            Some(turn)
                if turn.entry.called() == Some(CallId::SLEEP)
                    && tape.sleeps_as_often_as_it_has_to() =>
            {
                tape.sleeps_less.fetch_add(1, Ordering::Relaxed);
                turn.done();
            }
            Some(turn) => return Some(turn),
            None if places::is_free(tape, own) => {}
            None => queue.wait(turns, None),
        }
    }
}

/// The turn that comes next, if it is this thread's; before that, the signals that come to it.
#[inline]
fn own_turn(tape: &'static TapeControl, own: u16) -> Option<TapeTurn> {
    loop {
        let Some(entry) = next_entry(tape) else {
            over(tape)
        };
        if entry.thread != own {
            return None;
        }
        let turn = TapeTurn::of(tape, entry);
        match entry.called() {
            Some(CallId::SIGNAL) => {
                if turn.claims() {
                    signals::comes(entry.result);
                }
            }
            Some(CallId::CANCELLED) => {
                turn.done();
                cancels::again();
            }
            _ => return Some(turn),
        }
    }
}

/// The entry that comes next; `None` behind the last one.
#[inline]
fn next_entry(tape: &TapeControl) -> Option<&'static Entry> {
    entry_at(tape, tape.next.load(Ordering::SeqCst))
}

/// The entry at this place; `None` behind the last one.
#[inline]
fn entry_at(tape: &TapeControl, at: u64) -> Option<&'static Entry> {
    if at >= tape.end {
        return None;
    }
    // SAFETY: entries fill the tape up to its end, each at a multiple of 8.
    Some(unsafe { &*place_at::<Entry>(tape, at as usize) })
}

/// The recording is over, and so is this process.
#[cold]
fn over(tape: &TapeControl) -> ! {
    let _ = tape
        .state
        .exchange(state::RUNNING, state::OVER, Ordering::AcqRel);
    leave()
}

/// Ends the process.
pub fn leave() -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe { sys::syscall(nr::EXIT_GROUP, []) };
    }
}

/// Stops, so that a debugger can be attached. The signal is this thread's own: one to the process may
/// be taken by another thread, while this one goes on for a while.
#[cold]
fn stop() {
    const SIGSTOP: usize = 19;
    let (this, thread) = (sys::process() as usize, sys::thread() as usize);
    // SAFETY: a signal to this thread.
    unsafe { sys::syscall(nr::TGKILL, [this, thread, SIGSTOP]) };
}

/// This process did something that is not in the recording at this place. Ends it.
#[cold]
#[inline(never)]
pub fn part(did: Did<'_>) -> ! {
    let Some(tape) = tape() else { leave() };
    let claimed = state::PARTED + 100;
    if tape
        .state
        .exchange(state::RUNNING, claimed, Ordering::AcqRel)
        .is_err()
    {
        leave();
    }
    let endpoint = did.endpoint.len().min(CAME_MAX);
    // SAFETY: memory that is mapped for this, and nobody else writes now.
    unsafe {
        let place = place_at::<u8>(tape, CAME_AT);
        core::ptr::copy_nonoverlapping(did.endpoint.as_ptr(), place, endpoint);
        let rest = vectors::length(did.bytes).min(CAME_MAX - endpoint);
        Vectors::new(did.bytes).take(place.add(endpoint), rest);
        (&raw const tape.came).cast_mut().write(Came {
            why: did.why,
            kind: did.kind as u8,
            id: did.id,
            socket: did.socket,
            endpoint: endpoint as u32,
            length: (endpoint + rest) as u32,
            descriptor: did.descriptor,
            thread: sys::thread(),
        });
    }
    tape.state.store(state::PARTED, Ordering::Release);
    leave()
}

impl Did<'_> {
    /// Parts from the recording for this reason.
    #[cold]
    fn parts(self, why: u32) -> ! {
        part(Did { why, ..self })
    }
}

/// A thread that had nothing to do with packets in the recording does this, or one that has done all
/// that it did then.
pub fn stray(did: Did<'_>) -> ! {
    if let Some(tape) = tape()
        && let Some(own) = own_number(tape)
        && places::is_free(tape, own)
    {
        places::waits_for_the_end(tape, own);
    }
    did.parts(why::OTHER_THREAD)
}

impl TapeTurn {
    /// That of an entry which comes next. Stops before it where that is wanted.
    #[inline]
    fn of(tape: &'static TapeControl, entry: &'static Entry) -> TapeTurn {
        if entry.number >= tape.stop_at.get() && tape.stopped.swap(1, Ordering::Relaxed) == 0 {
            stop();
        }
        TapeTurn { tape, entry }
    }

    /// Parts from the recording unless this is the next call in it.
    #[inline]
    fn expect(&self, did: Did<'_>) {
        let entry = self.entry;
        let socket = did.socket == u16::MAX || did.socket == entry.socket;
        if entry.kind != did.kind as u8 || entry.id != did.id || !socket {
            part(did);
        }
    }

    /// What belongs to it: an endpoint first, where it has one.
    fn bytes(&self) -> &'static [u8] {
        let entry = &raw const *self.entry;
        // SAFETY: they follow the entry.
        unsafe { sys::slice(entry.add(1).cast::<u8>(), self.entry.length) }
    }

    fn split(&self) -> (&'static [u8], &'static [u8]) {
        let bytes = self.bytes();
        let at = usize::from(self.entry.endpoint).min(bytes.len());
        bytes.split_at(at)
    }

    /// The number at this place of its details.
    fn word(&self, at: usize) -> i32 {
        let four = self.bytes().get(at..at + 4);
        let four = four.and_then(|four| four.first_chunk::<4>());
        four.map_or(-1, |four| i32::from_le_bytes(*four))
    }

    /// It is done, and the next one comes.
    #[inline]
    fn done(self) -> i32 {
        let entry = self.entry;
        let next = self.tape.next.get() + entry.size();
        if self.tape.ordered != 0 && entry.called() != Some(CallId::TURN) {
            places::done(entry.thread);
        }
        self.tape.next.store(next, Ordering::SeqCst);
        if self.tape.threads > 1 {
            self.pass_on();
        }
        if self.tape.one_thread() {
            floor::behind_entry(self.tape, entry.thread);
        }
        entry.result
    }

    /// Takes it, unless the handler of a signal that came to this thread in between has done so.
    fn claims(self) -> bool {
        let at = (&raw const *self.entry).addr() - (&raw const *self.tape).addr();
        let (at, next) = (at as u64, at as u64 + self.entry.size());
        let claimed = self.tape.next.exchange(at, next, Ordering::SeqCst);
        if claimed.is_err() {
            return false;
        }
        if self.tape.ordered != 0 {
            places::done(self.entry.thread);
        }
        if self.tape.threads > 1 {
            self.pass_on();
        }
        true
    }

    fn pass_on(&self) {
        places::pass_over(self.tape);
        if next_entry(self.tape).is_none_or(|entry| entry.thread != self.entry.thread) {
            places::wake_next(self.tape);
        }
    }
}

/// Waits for this thread's turn, which is to be this, or it parts from the recording. `None`: it is not
/// replayed.
fn expected(did: Did<'_>) -> Option<TapeTurn> {
    let turn = turn()?;
    turn.expect(did);
    Some(turn)
}

/// The same where every thread that does so is replayed.
fn turn_of(did: Did<'_>) -> TapeTurn {
    expected(did).unwrap_or_else(|| stray(did))
}

/// The result of a call that has nothing else to give; `None`: it is not replayed.
pub fn call(did: Did<'_>) -> Option<i32> {
    let turn = expected(did)?;
    Some(turn.done())
}

/// The same of a call that is told before it is made: others may have had the floor during it.
pub fn raises(did: Did<'_>) -> Option<i32> {
    let result = call(did)?;
    crate::floor::passes();
    if result < 0 {
        // That it failed was told behind it.
        crate::floor::pushes();
    }
    Some(result)
}

/// What a clock says.
#[inline]
pub fn clock(clock: ClockId) -> Option<u64> {
    let turn = expected(Did::plain(EventKind::ClockRead, clock.0))?;
    let value = turn.entry.value;
    turn.done();
    Some(value)
}

/// Fills the program's buffers with recorded bytes. What the call returns.
pub fn fill(did: Did<'_>, list: &[IoVec], skip: usize) -> Option<isize> {
    let turn = expected(did)?;
    let bytes = turn.bytes().get(skip..).unwrap_or(&[]);
    // A reel may say anything: no more than what is given.
    if i64::from(turn.entry.result) > bytes.len() as i64 {
        did.parts(why::NOT_RECORDED);
    }
    if !scatter(bytes, list) {
        did.parts(why::NO_ROOM);
    }
    Some(with_errno(turn.done()) as isize)
}

/// How much of what a child wrote there was to read, when the program asked for that.
pub fn how_much(did: Did<'_>) -> Option<i32> {
    let turn = expected(did)?;
    let Some((&1, there)) = turn.bytes().split_first() else {
        did.parts(why::NOT_RECORDED);
    };
    let there = there.first_chunk::<4>().copied().unwrap_or_default();
    turn.done();
    Some(i32::from_le_bytes(there))
}

/// Fills the program's place with all that is recorded of a call. What the call returns.
pub fn fill_whole(did: Did<'_>, place: IoVec) -> Option<i32> {
    let turn = expected(did)?;
    if !scatter(turn.bytes(), &[place]) {
        did.parts(why::NO_ROOM);
    }
    Some(with_errno(turn.done()))
}

/// Puts bytes into buffers; `false` where they have too little room.
fn scatter(mut bytes: &[u8], list: &[IoVec]) -> bool {
    for place in list {
        let (part, rest) = bytes.split_at(bytes.len().min(place.length));
        // SAFETY: whoever made the place vouches for it.
        unsafe { core::ptr::copy_nonoverlapping(part.as_ptr(), place.base, part.len()) };
        bytes = rest;
    }
    bytes.is_empty()
}

/// The addresses that a name was found to have, and the result of the lookup.
pub fn looked_up() -> Option<(i32, &'static [u8])> {
    let turn = expected(Did::made(CallId::LOOKED_UP))?;
    let bytes = turn.bytes();
    Some((turn.done(), bytes))
}

/// What a UDP socket was told: the result, and what stands behind the socket's number.
pub fn told(did: Did<'_>) -> (i32, &'static [u8]) {
    let turn = turn_of(did);
    let bytes = turn.bytes();
    (with_errno(turn.done()), bytes)
}

/// The program ends by itself.
pub fn ends() {
    let Some(turn) = turn() else { return };
    turn.expect(Did::made(CallId::END));
    let tape = turn.tape;
    turn.done();
    tape.state.store(state::OVER, Ordering::Release);
}

/// In a child of `fork`, whose parent goes on with the tape.
pub fn forked() {
    if on() {
        mute();
    }
}
