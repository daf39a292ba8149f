//! Second names of the C library's functions, which old libraries are linked with.

use core::ffi::{c_char, c_void};

use crate::hook::hook;
use crate::sys::{PollFd, TimeSpec, TimeVal};
use crate::{clocks, descriptors, processes, randomness, receive, send, waits};

macro_rules! twins {
    ($($name:ident => $file:ident::$hook:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        hook! {
            $(fn $name[real]($($argument: $type),*) -> $result {
                // SAFETY: as the program vouches for its own call.
                unsafe { $file::$hook($($argument),*) }
            })*
        }
    };
}

twins! {
    __send => send::send(fd: i32, buffer: *const u8, length: usize, flags: i32) -> isize;
    __write => send::write(fd: i32, buffer: *const u8, length: usize) -> isize;
    __read => receive::read(fd: i32, buffer: *mut u8, length: usize) -> isize;
    __connect => descriptors::connect(fd: i32, address: *const u8, length: u32) -> i32;
    __close => descriptors::close(fd: i32) -> i32;
    __dup2 => descriptors::dup2(fd: i32, to: i32) -> i32;
    __fcntl => descriptors::fcntl(fd: i32, command: i32, argument: usize) -> i32;
    __open => randomness::open(path: *const c_char, flags: i32, mode: u32) -> i32;
    __open64 => randomness::open64(path: *const c_char, flags: i32, mode: u32) -> i32;
    __poll => waits::poll(list: *mut PollFd, count: u64, timeout: i32) -> i32;
    __select => waits::select(count: i32, readable: *mut u64, writable: *mut u64, exceptional: *mut u64, timeout: *mut TimeVal) -> i32;
    __nanosleep => waits::nanosleep(time: *const TimeSpec, left: *mut TimeSpec) -> i32;
    __gettimeofday => clocks::gettimeofday(time: *mut TimeVal, zone: *mut c_void) -> i32;
    __fork => processes::fork() -> i32;
}
