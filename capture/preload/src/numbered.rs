//! The descriptors of streams of the C library, also of those that the library makes itself, which have none
//! that the C library knows.

use core::ffi::c_void;
use core::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use crate::hook::hook;
use crate::plainly::Plainly;

/// How many such streams have a descriptor at a time.
const STREAMS: usize = 32;

type Place = (AtomicPtr<c_void>, AtomicI32);

/// Streams that were made here, each with its descriptor.
pub static OPEN: [Place; STREAMS] =
    [const { (AtomicPtr::new(core::ptr::null_mut()), AtomicI32::new(-1)) }; STREAMS];

/// The descriptor of such a stream.
fn descriptor(stream: *mut c_void) -> Option<i32> {
    let found = OPEN
        .iter()
        .find(|(known, _)| known.load(Ordering::Acquire) == stream && !stream.is_null())?;
    Some(found.1.get()).filter(|fd| *fd >= 0)
}

/// The descriptor of a stream; -1 where there is no stream.
///
/// # Safety
/// It is null, or the C library's.
pub unsafe fn number_of(stream: *mut c_void) -> i32 {
    if stream.is_null() {
        return -1;
    }
    // SAFETY: the caller vouches for it.
    unsafe { fileno(stream) }
}

hook! {
    fn fileno | fileno_unlocked[goes_on](stream: *mut c_void) -> i32 {
        descriptor(stream).unwrap_or_else(goes_on)
    }
}
