//! Children: how they ended, and what they wrote into pipes.
//!
//! A replay starts none. What it tells of them is in the recording: their numbers, how each ended, and
//! what came by a pipe of which they alone have the other end.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use netreel_shared::call::CallId;

use crate::hook::{Onward, hook, passing};
use crate::numbered::number_of;
use crate::plainly::{Plainly, zero};
use crate::replay::{self, Did};
use crate::sys::{self, FIONREAD, IoVec, or_code, quietly};
use crate::{attach, push, sockets, typed};

/// How many pipes and pairs of sockets are known at a time.
const PIPES: usize = 64;
/// The two ends of each; 0: none.
static OPEN: [AtomicU64; PIPES] = zero();
/// 1 once there has been a child.
static STARTED: AtomicU32 = zero();

/// The program has made a pipe, or a pair of sockets.
pub fn made_pipe([one, other]: [i32; 2]) {
    if attach::is_borrowed() {
        return;
    }
    let both = u64::from(one as u32) << 32 | u64::from(other as u32);
    let _ = OPEN
        .iter()
        .any(|place| place.exchange(0, both, Ordering::Relaxed).is_ok());
}

/// The program closes a descriptor: if it is one end of a pipe, a child has that end.
pub fn closes(fd: i32) {
    for place in &OPEN {
        let both = place.get();
        let (one, other) = ((both >> 32) as i32, both as i32);
        if both == 0 || fd != one && fd != other {
            continue;
        }
        place.set(0);
        if STARTED.get() != 0 {
            sockets::made_counter(if fd == one { other } else { one }, CallId::PIPE);
        }
    }
}

/// The program writes so many bytes for a child that is not there, which has taken them then; `None`: it
/// is there, or it is something else.
pub fn swallows(fd: i32, length: impl FnOnce() -> usize) -> Option<isize> {
    let is_told = replay::tells_of_children() && sockets::counter(fd) == Some(CallId::PIPE);
    is_told.then(|| length() as isize)
}

/// A child is about to be started: the recorded result of the call, where there is to be none.
pub fn starts(call: CallId) -> Option<i32> {
    STARTED.set(1);
    if replay::is_muted() || !replay::on() {
        return None;
    }
    replay::call(Did::made(call))
}

/// The program asks by `real` how much of what a child wrote it could read, which is put into its place.
///
/// # Safety
/// `place` is null or one for a number.
pub unsafe fn asks_how_much(fd: i32, place: *mut i32, real: impl FnOnce() -> i32) -> i32 {
    let told = replay::tells_of_children().then(|| replay::how_much(Did::called(CallId::PIPE, fd)));
    // SAFETY: the caller vouches for it.
    unsafe {
        if let (Some(there), Some(place)) = (told.flatten(), place.as_mut()) {
            *place = there;
            return 0;
        }
        let result = real();
        if let (0, Some(there)) = (result, place.as_ref()) {
            // A read that returned so much would have so many bytes here.
            push::called(CallId::PIPE, FIONREAD as i32, &[&[1], &there.to_le_bytes()]);
        }
        result
    }
}

/// What is told of a child that was waited for: its status, and what `waitid` says besides.
type Ended = [i32; 4];
const ENDED: usize = size_of::<Ended>();

/// Waits for a child by `real`, which puts what is told of it into its place; in a replay it is as it
/// was then.
fn waits(ended: &mut Ended, real: impl FnOnce(&mut Ended) -> i32) -> i32 {
    if replay::tells_of_children() {
        // SAFETY: a place of this length.
        let place = unsafe { IoVec::new(ended.as_mut_ptr().cast(), ENDED) };
        let told = replay::fill_whole(Did::made(CallId::WAIT), place);
        if let Some(result) = told {
            return result;
        }
    }
    let result = real(ended);
    // SAFETY: a place of this length.
    let bytes = unsafe { sys::slice(ended.as_ptr().cast::<u8>(), ENDED) };
    push::called(CallId::WAIT, or_code(result), &[bytes]);
    result
}

/// The same where the status alone is told, at `status`.
///
/// # Safety
/// `status` is null or a place for a number.
unsafe fn waits_for_status(status: *mut i32, real: impl FnOnce(*mut i32) -> i32) -> i32 {
    let mut ended = Ended::default();
    let result = waits(&mut ended, |ended| real(ended.as_mut_ptr()));
    // SAFETY: the caller vouches for it.
    if let (1.., Some(status)) = (result, unsafe { status.as_mut() }) {
        *status = ended[0];
    }
    result
}

/// What `waitid` tells, as the kernel lays it out.
#[repr(C)]
pub struct ChildInfo {
    signal: i32,
    error: i32,
    code: i32,
    gap: i32,
    process: i32,
    user: u32,
    status: i32,
    rest: [i32; 25],
}

const SIGCHLD: i32 = 17;
/// In a replay a program that ends at once stands for the child of `popen`.
const NOTHING_TO_READ: &CStr = c"exit 0";
const NOTHING_TO_WRITE: &CStr = c"exec cat >/dev/null";

hook! {
    fn waitpid[real by status](process: i32, status: *mut i32, options: i32),
    fn wait[real](status: *mut i32),
    fn wait3[real by status](status: *mut i32, options: i32, usage: *mut c_void),
    fn wait4[real by status](process: i32, status: *mut i32, options: i32, usage: *mut c_void) -> i32 {
        waits_for_status(status, real)
    }

    fn waitid[goes_on](kind: i32, process: u32, info: *mut ChildInfo, options: i32) -> i32 {
        let mut ended = Ended::default();
        let result = waits(&mut ended, |ended| {
            let result = goes_on();
            if let (0, Some(info)) = (result, info.as_ref()) {
                *ended = [info.status, info.process, info.user as i32, info.code];
            }
            result
        });
        if let (0, true, Some(info)) = (result, replay::on(), info.as_mut()) {
            let [status, process, user, code] = ended;
            let signal = if process == 0 { 0 } else { SIGCHLD };
            *info = ChildInfo {
                signal, error: 0, code, gap: 0, process, user: user as u32, status, rest: [0; 25],
            };
        }
        result
    }

    fn system[goes_on](command: *const c_char) -> i32 {
        let mut ended = Ended::default();
        waits(&mut ended, |_| goes_on())
    }

    fn popen[real](command: *const c_char, mode: *const c_char) -> *mut c_void {
        let is_told = replay::tells_of_children();
        let reads = mode.as_ref().is_some_and(|it| *it as u8 == b'r');
        let command = match (is_told, reads) {
            (false, _) => command,
            (true, true) => NOTHING_TO_READ.as_ptr(),
            (true, false) => NOTHING_TO_WRITE.as_ptr(),
        };
        let stream = real(command, mode);
        if !stream.is_null() && attach::generation().is_some() {
            quietly(|| {
                if reads {
                    typed::reads_of(stream.cast());
                    sockets::made_counter(number_of(stream), CallId::PIPE);
                }
            });
        }
        stream
    }

    fn pclose[goes_on](stream: *mut c_void) -> i32 {
        let mut ended = Ended::default();
        let fd = number_of(stream);
        sockets::closing(fd);
        let own = replay::tells_of_children().then(goes_on);
        let result = waits(&mut ended, |_| own.unwrap_or_else(goes_on));
        sockets::closed(fd);
        result
    }
}

passing! {
    // In a replay there is no child, and the parent goes on.
    fn vfork[real](_, _) {
        STARTED.set(1);
        let told = replay::tells_of_children().then(|| starts(CallId::SPAWN));
        match told.flatten() {
            Some(child) => Onward::answer(core::ptr::without_provenance_mut(child as usize)),
            None => Onward::to(real),
        }
    }
}
