//! What the program reads of its standard input, and of what its children write, through the C library's
//! streams.

use core::sync::atomic::{AtomicU32, Ordering};

use netreel_shared::call::CallId;

use crate::hook::calls;
use crate::objects::{next, real};
use crate::plainly::zero;
use crate::sys::IoVec;
use crate::{attach, counters, reads, replay, sockets, stdio};

real! {
    FILE_READ = _IO_file_read(*mut u8, *mut u8, isize) -> isize;
}
static ON: AtomicU32 = zero();

/// What the program reads so is taken from here on.
pub fn on() {
    if ON.swap(1, Ordering::Relaxed) == 0 {
        reads_of(next(c"_IO_2_1_stdin_").cast());
    }
}

/// The same of a stream that has a table of functions of its own.
pub fn reads_of(stream: *mut u8) {
    stdio::stands_before(
        &[stream],
        stdio::READ,
        FILE_READ.address(),
        stream_reads as *const (),
    );
}

/// What the C library calls to fill a stream's buffer.
unsafe extern "C" fn stream_reads(file: *mut u8, buffer: *mut u8, length: isize) -> isize {
    let real = || match FILE_READ.get() {
        // SAFETY: the C library's function of this name, for its own call.
        Some(real) => unsafe { real(file, buffer, length) },
        None => -1,
    };
    // SAFETY: a `FILE`.
    let fd = unsafe { file.add(stdio::DESCRIPTOR).cast::<i32>().read() };
    let is_told = attach::generation().is_some() && (!replay::on() || replay::tells_of_streams());
    let is_pipe = || sockets::counter(fd) == Some(CallId::PIPE);
    if !is_told || fd != 0 && !is_pipe() {
        return real();
    }
    let (real, length) = (|| calls(0, real), length.max(0) as usize);
    // SAFETY: the C library's buffer, which has this room.
    unsafe {
        match fd {
            0 => reads::input(buffer, length, real).unwrap_or_else(real),
            // What a child wrote.
            _ => {
                let list = [IoVec::new(buffer, length)];
                let told = replay::on().then(|| counters::replayed(fd, &list));
                let fresh = || reads::after_read(fd, buffer, real());
                told.flatten().unwrap_or_else(fresh)
            }
        }
    }
}
