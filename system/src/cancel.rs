//! A word between whoever waits for work and whoever does it: that it is not wanted any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

/// Says whether somebody still wants what is being worked out; all clones say the same. Whoever works
/// asks now and then, and stops where nobody does. Once cancelled it stays so; the default never is
/// before somebody calls [`cancel`](Cancel::cancel).
#[derive(Clone, Debug)]
pub struct Cancel(Arc<AtomicI64>);

/// Cancels when it is dropped.
pub struct CancelOnDrop(pub Cancel);

/// Nobody counts how often it is asked: many ask at once, and none of them writes.
const UNCOUNTED: i64 = i64::MIN;

impl Default for Cancel {
    fn default() -> Cancel {
        Cancel(Arc::new(AtomicI64::new(UNCOUNTED)))
    }
}

impl Cancel {
    /// One that is cancelled when it was asked this many times, for tests of who asks.
    pub fn after(times: i64) -> Cancel {
        Cancel(Arc::new(AtomicI64::new(times)))
    }

    /// Nobody wants it any more.
    pub fn cancel(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Whether to go on.
    pub fn goes_on(&self) -> bool {
        match self.0.load(Ordering::Acquire) {
            UNCOUNTED => true,
            _ => self.0.fetch_sub(1, Ordering::AcqRel) > 0,
        }
    }

    /// Of one that [`after`](Cancel::after) made, how many times it may be asked still; below nothing, how
    /// many times it was asked too often.
    pub fn left(&self) -> i64 {
        self.0.load(Ordering::Acquire)
    }

    /// Does nothing for this long, or until nobody wants it any more.
    pub fn rest(&self, mut pause: Duration) {
        while !pause.is_zero() && self.goes_on() {
            let step = pause.min(Duration::from_millis(20));
            thread::sleep(step);
            pause -= step;
        }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clones_hear_of_it_and_it_stays_so() {
        let cancel = Cancel::default();
        let guard = CancelOnDrop(cancel.clone());
        assert!(cancel.goes_on());
        drop(guard);
        assert!(!cancel.goes_on() && !cancel.clone().goes_on());
    }

    #[test]
    fn it_is_cancelled_when_it_was_asked_so_often() {
        let cancel = Cancel::after(2);
        let said = [(); 4].map(|()| cancel.goes_on());
        assert_eq!((said, cancel.left()), ([true, true, false, false], -2));
    }
}
