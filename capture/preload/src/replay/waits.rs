//! Waiting and sleeping in a replay: what was ready is ready at once, and sleeping takes no time.

use core::sync::atomic::Ordering;

use netreel_shared::call::CallId;
use netreel_shared::tape::why;

use crate::sys::{self, EpollEvent, PollFd, TimeSpec, TimeVal, pause, with_errno};

use super::queue::QUEUES;
use super::{Did, TapeTurn, expected, own_number, own_turn, places, tape};

/// A descriptor was ready that the program does not wait for.
fn not_waited_for(call: CallId, fd: i32) -> ! {
    Did::called(call, fd).parts(why::NOT_WAITED_FOR)
}

/// What was ready: descriptors with their events.
fn ready(turn: &TapeTurn) -> impl Iterator<Item = (i32, u32)> {
    let pairs = turn.bytes().as_chunks::<8>().0.iter();
    pairs.map(|[a, b, c, d, e, f, g, h]| {
        let fd = i32::from_le_bytes([*a, *b, *c, *d]);
        (fd, u32::from_le_bytes([*e, *f, *g, *h]))
    })
}

/// # Safety
/// `list` leads to `count` entries.
pub unsafe fn polls(call: CallId, list: *mut PollFd, count: usize) -> Option<i32> {
    let turn = expected(Did::made(call))?;
    if turn.entry.result < 0 {
        return Some(with_errno(turn.done()));
    }
    let list = match list.is_null() {
        true => &mut [],
        // SAFETY: the caller vouches for it.
        false => unsafe { core::slice::from_raw_parts_mut(list, count) },
    };
    list.iter_mut().for_each(|one| one.revents = 0);
    for (fd, events) in ready(&turn) {
        let mut fitting = list.iter_mut();
        let Some(one) = fitting.find(|one| one.fd == fd && one.revents == 0) else {
            not_waited_for(call, fd)
        };
        one.revents = events as i16;
    }
    Some(turn.done())
}

/// # Safety
/// Each set is null or has room for `count` bits, `timeout` is null or leads to a time.
pub unsafe fn selects(
    call: CallId,
    count: i32,
    sets: [*mut u64; 3],
    timeout: *mut TimeVal,
) -> Option<i32> {
    let turn = expected(Did::made(call))?;
    if turn.entry.result < 0 {
        return Some(with_errno(turn.done()));
    }
    // The descriptors are the recording's, who may say anything, and the sets are the program's.
    let asked = |fd: i32, set: *mut u64| {
        // SAFETY: the set has room for `count` bits, of which this is one.
        (0..count).contains(&fd) && unsafe { sys::is_in(set, fd) }
    };
    let each = |events: u32| (0..3).filter(move |index| events >> index & 1 != 0);
    for (fd, events) in ready(&turn) {
        if !each(events).all(|index| asked(fd, sets[index])) {
            not_waited_for(call, fd);
        }
    }
    let words = (count.max(0) as usize).div_ceil(64);
    for set in sets.into_iter().filter(|set| !set.is_null()) {
        // SAFETY: as above; the kernel writes whole words as well.
        unsafe { core::ptr::write_bytes(set, 0, words) };
    }
    for (fd, events) in ready(&turn) {
        for index in each(events) {
            // SAFETY: every one of them was found in its set before.
            unsafe { *sets[index].add(fd as usize / 64) |= 1 << (fd % 64) };
        }
    }
    // SAFETY: as above.
    if let Some(left) = unsafe { timeout.as_mut() }
        && turn.entry.result == 0
    {
        *left = TimeVal::default();
    }
    Some(turn.done())
}

/// # Safety
/// `list` has room for `count` events.
pub unsafe fn epoll(call: CallId, list: *mut EpollEvent, count: i32) -> Option<i32> {
    let turn = expected(Did::made(call))?;
    let found = turn.bytes().as_chunks::<12>().0;
    let too_few = i64::from(turn.entry.result) > found.len() as i64;
    if found.len() > count.max(0) as usize || too_few {
        Did::made(call).parts(why::NO_ROOM);
    }
    for (index, [a, b, c, d, data @ ..]) in found.iter().enumerate() {
        let events = u32::from_le_bytes([*a, *b, *c, *d]);
        let data = u64::from_le_bytes(*data);
        // SAFETY: the caller vouches for it.
        unsafe { list.add(index).write(EpollEvent { events, data }) };
    }
    Some(with_errno(turn.done()))
}

/// How long a thread that sleeps waits for its turn while no other thread comes further.
const NAP_NS: i64 = 10_000_000;

/// A thread sleeps: what that returned; `left` gets what was left of it where a signal woke the thread.
/// How often one of several sleeps does not matter: threads that look again and again whether another
/// one has come somewhere do so as often as they have to. It is counted. A sleep that a signal ended
/// is one that matters.
///
/// # Safety
/// `left` is null or leads to a time.
pub unsafe fn slept(left: *mut TimeSpec) -> Option<i32> {
    let tape = tape()?;
    let own = own_number(tape)?;
    if !tape.sleeps_as_often_as_it_has_to() {
        let turn = expected(Did::made(CallId::SLEEP))?;
        // SAFETY: the caller vouches for it.
        return Some(unsafe { woken(turn, left) });
    }
    if places::is_free(tape, own) {
        return None;
    }
    let queue = QUEUES.get(usize::from(own))?;
    loop {
        let turns = queue.turns.load(Ordering::SeqCst);
        if let Some(turn) = own_turn(tape, own) {
            if turn.entry.called() == Some(CallId::SLEEP) {
                // SAFETY: the caller vouches for it.
                return Some(unsafe { woken(turn, left) });
            }
            pause();
            break;
        }
        let before = tape.next.load(Ordering::SeqCst);
        queue.wait(turns, Some(NAP_NS));
        if tape.next.load(Ordering::SeqCst) == before && !places::is_woken_next(tape, own) {
            break;
        }
    }
    tape.sleeps_more.fetch_add(1, Ordering::Relaxed);
    Some(0)
}

/// A sleep ends as it did.
///
/// # Safety
/// `left` is null or leads to a time.
unsafe fn woken(turn: TapeTurn, left: *mut TimeSpec) -> i32 {
    let bytes = turn.bytes().get(8..).and_then(|rest| rest.first_chunk());
    // SAFETY: the caller vouches for it.
    if let (Some(bytes), Some(place)) = (bytes, unsafe { left.as_mut() }) {
        *place = TimeSpec::of_nanos(u64::from_le_bytes(*bytes));
    }
    turn.done()
}
