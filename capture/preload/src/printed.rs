//! What the program prints: the lines of its standard output and its standard error.
//!
//! What it writes itself comes through the hooks of `write` and its relatives. What goes through
//! the C library's streams the C library writes inside itself, where no hook stands: there one
//! entry of its table of a stream's functions is set to [`stream_writes`], which goes on to the
//! function that stood there. Descriptors, buffers and calls of the system stay as they are.
//!
//! A stream that is no terminal's is written when its buffer is full. So before an event is pushed
//! the lines that wait in the buffers are pushed: each line stands where the program said it, and
//! what a program said that crashes is there.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use netreel_shared::call::CallId;

use crate::hook::hook;
use crate::objects::{next, real};
use crate::plainly::{Plainly, Zero, zero};
use crate::push::{Pushing, pushing_alone};
use crate::sys::{self, IoVec, quietly};
use crate::{replay, stdio};

/// Where what is needed lies in the C library's `FILE`, as `<bits/types/struct_FILE.h>` has it for
/// 64 bits: programs are compiled against it, so that it does not change.
mod file {
    pub const WRITE_BASE: usize = 32;
    pub const WRITE_AT: usize = 40;
    pub const LOCK: usize = 136;
    /// In the lock: who has it.
    pub const OWNER: usize = 8;
}

/// A longer line is several events.
const LINE_MAX: usize = 4096;

/// One of the C library's two streams.
struct StdStream {
    /// The `FILE`; null where nothing is taken of it.
    file: AtomicPtr<u8>,
    /// How far in its buffer the program's words were taken; 0: not at all.
    seen: AtomicUsize,
    /// How far was looked for the end of a line; 0: not at all.
    looked: AtomicUsize,
    /// 1 while the descriptor of this number is what the stream's name says: not after a close.
    stands: AtomicU32,
}

// SAFETY: numbers and a pointer.
unsafe impl Zero for StdStream {}

impl StdStream {
    /// Nothing in the buffer was taken.
    fn begins_anew(&self) {
        self.seen.set(0);
        self.looked.set(0);
    }
}

static STREAMS: [StdStream; 2] = zero();
static ON: AtomicU32 = zero();

real! {
    FILE_WRITE = _IO_file_write(*mut u8, *const u8, isize) -> isize;
    TRY_LOCK = ftrylockfile(*mut u8) -> i32;
    UNLOCK = funlockfile(*mut u8);
}

/// What the program prints is taken from here on.
pub fn on() {
    if ON.swap(1, Ordering::Relaxed) != 0 {
        return;
    }
    for (index, stream) in STREAMS.iter().enumerate() {
        let open = sys::fcntl(index as i32 + 1, sys::F_GETFD) >= 0;
        stream.stands.set(u32::from(open));
    }
    let names: [&CStr; 2] = [c"_IO_2_1_stdout_", c"_IO_2_1_stderr_"];
    let files = names.map(|name| next(name).cast::<u8>());
    if !stdio::stands_before(
        &files,
        stdio::WRITE,
        FILE_WRITE.address(),
        stream_writes as *const (),
    ) {
        return;
    }
    for (stream, file) in STREAMS.iter().zip(files) {
        stream.file.set(file);
    }
}

/// What the C library calls to write what is in a stream's buffer.
unsafe extern "C" fn stream_writes(file: *mut u8, data: *const u8, length: isize) -> isize {
    // SAFETY: the C library's function of this name, for its own call.
    let result = FILE_WRITE
        .get()
        .map_or(-1, |real| unsafe { real(file, data, length) });
    let mut all = STREAMS.iter().enumerate();
    if let Some((index, stream)) = all.find(|(_, stream)| stream.file.get() == file) {
        let (start, seen) = (data as usize, stream.seen.get());
        let taken = seen.wrapping_sub(start);
        let taken = if taken > length.max(0) as usize {
            0
        } else {
            taken
        };
        // SAFETY: the C library has written them.
        let written = unsafe { sys::slice(data, result) };
        if let Some(bytes @ [_, ..]) = written.get(taken..) {
            says(index, bytes, true);
        }
        stream.begins_anew();
    } else if result > 0 {
        // SAFETY: a `FILE`, and what was written of it.
        unsafe {
            let fd = file.add(stdio::DESCRIPTOR).cast::<i32>().read();
            wrote(fd, data, result);
        }
    }
    result
}

/// The stream that a descriptor is, as far as it is one.
#[inline]
fn of(fd: i32) -> Option<usize> {
    let index = (fd as usize).checked_sub(1)?;
    let stream = STREAMS.get(index).filter(|_| ON.get() != 0)?;
    (stream.stands.get() != 0).then_some(index)
}

/// Whether what is written to this descriptor is printed.
#[inline]
pub fn is_printed(fd: i32) -> bool {
    of(fd).is_some()
}

/// How many bytes were written to this descriptor.
///
/// # Safety
/// They are there.
pub unsafe fn wrote(fd: i32, data: *const u8, written: isize) {
    if let Some(index) = of(fd)
        && let Ok(length) = usize::try_from(written)
        && length > 0
    {
        // SAFETY: the caller vouches for it.
        let bytes = unsafe { sys::slice(data, length) };
        says(index, bytes, false);
    }
}

/// The same of what lies in several places.
pub fn wrote_all(fd: i32, list: &[IoVec], written: isize) {
    let Ok(mut left) = usize::try_from(written) else {
        return;
    };
    for part in if is_printed(fd) { list } else { &[] } {
        let length = part.length.min(left);
        // SAFETY: whoever made the place vouches for it.
        unsafe { wrote(fd, part.base, length as isize) };
        left -= length;
    }
}

/// The program has printed this: on a descriptor, or, where `own`, through this stream's buffer.
/// Words that wait in buffers it said before.
#[cold]
fn says(index: usize, bytes: &[u8], own: bool) {
    let but = own.then_some(index);
    quietly(|| hand_on(but, false, Some((index, bytes))));
}

/// Pushes, or compares with a replay, what waits in the buffers of all streams but one, and then this.
fn hand_on(but: Option<usize>, all: bool, last: Option<(usize, &[u8])>) {
    let with = |each: &mut dyn FnMut(usize, &[u8])| {
        look(but, all, each);
        if let Some((index, bytes)) = last {
            each(index, bytes);
        }
    };
    if replay::on() {
        with(&mut |index, bytes| replay::says(index, bytes));
    } else if let Some(mut pushing) = pushing_alone() {
        with(&mut |index, bytes| push(&mut pushing, index, bytes));
    }
}

/// Pushes an event a line.
fn push(pushing: &mut Pushing, index: usize, bytes: &[u8]) {
    let descriptor = [index as u8 + 1];
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        for part in line.chunks(LINE_MAX) {
            pushing.called(CallId::PRINTED, part.len() as i32, &[&descriptor, part]);
        }
    }
}

/// Whether words may wait in a buffer that were not looked at.
#[inline(always)]
fn waits(stream: &StdStream) -> bool {
    let file = stream.file.get();
    if file.is_null() {
        return false;
    }
    // SAFETY: the C library's stream, whose places are words.
    let (base, at) = unsafe { (word(file, file::WRITE_BASE), word(file, file::WRITE_AT)) };
    at > base && at != stream.looked.get()
}

/// # Safety
/// A `FILE`.
#[inline(always)]
unsafe fn word(file: *mut u8, at: usize) -> usize {
    // SAFETY: the caller vouches for it.
    unsafe { file.add(at).cast::<usize>().read_volatile() }
}

/// Pushes the whole lines that wait in the buffers.
#[inline(always)]
pub fn push_waiting(pushing: &mut Pushing) {
    if STREAMS.iter().any(waits) {
        look(None, false, &mut |index, bytes| push(pushing, index, bytes));
    }
}

/// The same in a replay.
#[inline(always)]
pub fn compare_waiting() {
    if STREAMS.iter().any(waits) {
        hand_on(None, false, None);
    }
}

/// The program ends: all that waits, also what is no whole line.
pub fn ends() {
    hand_on(None, true, None);
}

/// Hands on what waits in the buffers of all streams but one.
#[cold]
fn look(but: Option<usize>, all: bool, each: &mut dyn FnMut(usize, &[u8])) {
    for (index, stream) in STREAMS.iter().enumerate() {
        if but != Some(index) && (all || waits(stream)) {
            look_at(stream, all, &mut |bytes| each(index, bytes));
        }
    }
}

/// Hands on what waits in a stream's buffer, unless somebody is at work in it now: this thread, in a
/// handler of a signal, or another one.
fn look_at(stream: &StdStream, all: bool, each: &mut dyn FnMut(&[u8])) {
    let file = stream.file.get();
    let (Some(lock), Some(unlock), false) = (TRY_LOCK.get(), UNLOCK.get(), file.is_null()) else {
        return;
    };
    // SAFETY: the C library's stream and its functions of these names.
    unsafe {
        let its_lock = word(file, file::LOCK) as *mut u8;
        let owned = !its_lock.is_null() && word(its_lock, file::OWNER) != 0;
        if owned || lock(file) != 0 {
            return;
        }
        let (base, at) = (word(file, file::WRITE_BASE), word(file, file::WRITE_AT));
        let within = |place: usize| place >= base && place <= at;
        let seen = stream.seen.get();
        let start = if within(seen) { seen } else { base };
        if at > start {
            let bytes = sys::slice(start as *const u8, at - start);
            let looked = stream.looked.get();
            let from = if within(looked) {
                looked.max(start) - start
            } else {
                0
            };
            let end = || bytes[from..].iter().rposition(|byte| *byte == b'\n');
            let length = match all {
                true => bytes.len(),
                false => end().map_or(0, |end| from + end + 1),
            };
            if length > 0 {
                each(bytes.get(..length).unwrap_or(&[]));
                stream.seen.set(start + length);
            }
            stream.looked.set(at);
        }
        unlock(file);
    }
}

/// From now on this descriptor is what the program prints to, if it is one of the two: it has made it that;
/// or it is not any more: it is about to close it, and what has its number later is another file.
pub fn stands(fd: i32, stands: bool) {
    if let 1 | 2 = fd
        && ON.get() != 0
    {
        STREAMS[fd as usize - 1].stands.set(u32::from(stands));
    }
}

hook! {
    fn __fpurge[goes_on](stream: *mut c_void) -> i32 {
        let result = goes_on();
        // What waits is gone; what was looked at of it is not there any more.
        let own = STREAMS.iter().find(|it| it.file.get() == stream.cast());
        if let Some(own) = own {
            own.begins_anew();
        }
        result
    }
}
