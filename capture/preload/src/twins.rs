//! Second names of the C library's functions, which old libraries are linked with.

use core::ffi::{c_char, c_void};

use crate::sys::{PollFd, TimeSpec, TimeVal, hook};
use crate::{clocks, descriptors, processes, randomness, receive, send, waits};

hook! {
    fn __send[real](fd: i32, buffer: *const u8, length: usize, flags: i32) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe { send::send(fd, buffer, length, flags) }
    }

    fn __write[real](fd: i32, buffer: *const u8, length: usize) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe { send::write(fd, buffer, length) }
    }

    fn __read[real](fd: i32, buffer: *mut u8, length: usize) -> isize {
        // SAFETY: as the program vouches for its own call.
        unsafe { receive::read(fd, buffer, length) }
    }

    fn __connect[real](fd: i32, address: *const u8, length: u32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { descriptors::connect(fd, address, length) }
    }

    fn __close[real](fd: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { descriptors::close(fd) }
    }

    fn __dup2[real](fd: i32, to: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { descriptors::dup2(fd, to) }
    }

    fn __fcntl[real](fd: i32, command: i32, argument: usize) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { descriptors::fcntl(fd, command, argument) }
    }

    fn __open[real](path: *const c_char, flags: i32, mode: u32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { randomness::open(path, flags, mode) }
    }

    fn __open64[real](path: *const c_char, flags: i32, mode: u32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { randomness::open64(path, flags, mode) }
    }

    fn __poll[real](list: *mut PollFd, count: u64, timeout: i32) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { waits::poll(list, count, timeout) }
    }

    fn __select[real](count: i32, readable: *mut u64, writable: *mut u64, exceptional: *mut u64, timeout: *mut TimeVal) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { waits::select(count, readable, writable, exceptional, timeout) }
    }

    fn __nanosleep[real](time: *const TimeSpec, left: *mut TimeSpec) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { waits::nanosleep(time, left) }
    }

    fn __gettimeofday[real](time: *mut TimeVal, zone: *mut c_void) -> i32 {
        // SAFETY: as the program vouches for its own call.
        unsafe { clocks::gettimeofday(time, zone) }
    }

    fn __fork[real]() -> i32 {
        // SAFETY: no argument.
        unsafe { processes::fork() }
    }
}
