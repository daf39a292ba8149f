//! Rings of requests to the kernel (`io_uring`), past every hook: by number, or through liburing
//! where that is a library of its own.

use core::ffi::c_void;

use netreel_shared::call::PastId;

use crate::hook::hook;
use crate::sys::quietly;
use crate::{attach, sockets};

/// Pushes that the program made a ring, where it did. Leaves `errno` as it is. Returns `result`.
pub fn set_up(result: isize) -> isize {
    if result >= 0 && attach::generation().is_some() {
        quietly(|| sockets::past(PastId::IO_URING));
    }
    result
}

hook! {
    fn io_uring_setup[goes_on](entries: u32, parameters: *mut c_void),
    fn io_uring_queue_init[goes_on](entries: u32, ring: *mut c_void, flags: u32),
    fn io_uring_queue_init_params[goes_on](entries: u32, ring: *mut c_void, parameters: *mut c_void) -> i32 {
        set_up(goes_on() as isize) as i32
    }
}
