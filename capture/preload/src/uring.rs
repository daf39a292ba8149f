//! Rings of requests to the kernel (`io_uring`), past every hook: by number, or through liburing
//! where that is a library of its own.

use core::ffi::c_void;

use netreel_shared::call::PastId;

use crate::attach;
use crate::hook::hook;
use crate::sockets;
use crate::sys::quietly;

/// Pushes that the program made a ring, where it did. Leaves `errno` as it is. Returns `result`.
pub fn set_up(result: isize) -> isize {
    if result >= 0 && attach::generation().is_some() {
        quietly(|| sockets::past(PastId::IO_URING));
    }
    result
}

hook! {
    fn io_uring_setup[real](entries: u32, parameters: *mut c_void) -> i32 {
        set_up(real(entries, parameters) as isize) as i32
    }

    fn io_uring_queue_init[real](entries: u32, ring: *mut c_void, flags: u32) -> i32 {
        set_up(real(entries, ring, flags) as isize) as i32
    }

    fn io_uring_queue_init_params[real](entries: u32, ring: *mut c_void, parameters: *mut c_void) -> i32 {
        set_up(real(entries, ring, parameters) as isize) as i32
    }
}
