//! What was worked out last, kept until something else is asked for.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was worked out last, and what it is of.
#[derive(Debug)]
pub struct Latest<K, V>(Mutex<Option<(K, V)>>);

impl<K, V> Default for Latest<K, V> {
    fn default() -> Latest<K, V> {
        Latest(Mutex::new(None))
    }
}

impl<K: PartialEq, V: Clone> Latest<K, V> {
    /// What is of this, which `make` works out where something else was asked for last.
    pub fn of(&self, key: K, make: impl FnOnce() -> V) -> V {
        let mut known = lock(&self.0);
        if let Some((_, made)) = known.as_ref().filter(|(of, _)| *of == key) {
            return made.clone();
        }
        let made = make();
        *known = Some((key, made.clone()));
        made
    }
}

/// Whoever failed while it had this left it as good as it was.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
