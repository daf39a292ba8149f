//! Numbers and pointers that threads share and that say nothing of other memory: they are read and written
//! in no order with it. Where an order matters, it stands beside the call.

use core::sync::atomic::{
    AtomicI32, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

/// Reads and writes in no order with other memory.
pub trait Plainly<T> {
    fn get(&self) -> T;
    fn set(&self, value: T);
    /// Writes `after` where `before` stands, in this order with other memory; else what stands there.
    fn exchange(&self, before: T, after: T, order: Ordering) -> Result<T, T>;
}

macro_rules! plainly {
    ($($atomic:ty: $type:ty $(, $of:ident)?;)*) => {
        $(impl$(<$of>)? Plainly<$type> for $atomic {
            #[inline(always)]
            fn get(&self) -> $type {
                self.load(Ordering::Relaxed)
            }

            #[inline(always)]
            fn set(&self, value: $type) {
                self.store(value, Ordering::Relaxed);
            }

            #[inline(always)]
            fn exchange(&self, before: $type, after: $type, order: Ordering) -> Result<$type, $type> {
                self.compare_exchange(before, after, order, Ordering::Relaxed)
            }
        }

        // SAFETY: a number or a pointer.
        unsafe impl$(<$of>)? Zero for $atomic {})*
    };
}

plainly! {
    AtomicI32: i32;
    AtomicU8: u8;
    AtomicU16: u16;
    AtomicU32: u32;
    AtomicU64: u64;
    AtomicUsize: usize;
    AtomicPtr<T>: *mut T, T;
}

/// What begins with zeros: static memory of it lies in no file.
///
/// # Safety
/// Zeros are a value of it.
pub unsafe trait Zero {}

// SAFETY: as each of them.
unsafe impl<T: Zero, const N: usize> Zero for [T; N] {}
// SAFETY: as above.
unsafe impl<A: Zero, B: Zero> Zero for (A, B) {}

/// All zeros.
pub const fn zero<T: Zero>() -> T {
    // SAFETY: the trait promises that they are a value.
    unsafe { core::mem::zeroed() }
}
