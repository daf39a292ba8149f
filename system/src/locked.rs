//! What a lock guards.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock, also one whose holder has panicked: what it guards is whole between any two steps.
pub fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
