//! Waiting and sleeping in a replay: what was ready is ready at once, and sleeping takes no time.

use crate::call::CallId;
use crate::sys::{EpollEvent, PollFd, TimeVal};
use crate::tape::why;

use super::{Did, TapeTurn, part, result, turn};

/// The turn of a wait; `None`: it is not replayed.
fn waits_for(call: CallId) -> Option<TapeTurn> {
    let turn = turn()?;
    turn.expect(Did::called(call, -1));
    Some(turn)
}

/// A descriptor was ready that the program does not wait for.
fn not_waited_for(call: CallId, fd: i32) -> ! {
    part(Did {
        why: why::NOT_WAITED_FOR,
        ..Did::called(call, fd)
    })
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
    let turn = waits_for(call)?;
    if turn.entry.result < 0 {
        return Some(result(turn.done()));
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
    let turn = waits_for(call)?;
    if turn.entry.result < 0 {
        return Some(result(turn.done()));
    }
    // The descriptors are the recording's, who may say anything, and the sets are the program's.
    let asked = |fd: i32, set: *mut u64| {
        if !(0..count).contains(&fd) || set.is_null() {
            return false;
        }
        // SAFETY: the set has room for `count` bits, of which this is one.
        let word = unsafe { *set.add(fd as usize / 64) };
        word >> (fd % 64) & 1 != 0
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
    let turn = waits_for(call)?;
    let found = turn.bytes().as_chunks::<12>().0;
    let too_few = i64::from(turn.entry.result) > found.len() as i64;
    if found.len() > count.max(0) as usize || too_few {
        part(Did {
            why: why::NO_ROOM,
            ..Did::called(call, -1)
        });
    }
    for (index, [a, b, c, d, data @ ..]) in found.iter().enumerate() {
        let events = u32::from_le_bytes([*a, *b, *c, *d]);
        let data = u64::from_le_bytes(*data);
        // SAFETY: the caller vouches for it.
        unsafe { list.add(index).write(EpollEvent { events, data }) };
    }
    Some(result(turn.done()))
}
