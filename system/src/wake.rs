//! A thread that sleeps behind a word of memory until somebody wakes it.

pub use here::{sleep, wake};

#[cfg(target_os = "linux")]
mod here {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use rustix::thread::futex;

    /// Sleeps until somebody wakes it, at most for so long, and not at all where the word is not `value`.
    /// It may wake earlier. Other processes that have the word mapped wake it as well.
    pub fn sleep(word: &AtomicU32, value: u32, most: Option<Duration>) {
        let most = most.and_then(|most| futex::Timespec::try_from(most).ok());
        // A signal or a wake-up meant for something else only makes it look once more.
        let _ = futex::wait(word, futex::Flags::empty(), value, most.as_ref());
    }

    /// Wakes one thread that sleeps behind the word. May be called in a signal handler.
    pub fn wake(word: &AtomicU32) {
        let _ = futex::wake(word, futex::Flags::empty(), 1);
    }
}

#[cfg(windows)]
mod here {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use windows_sys::Win32::System::Threading::{INFINITE, WaitOnAddress, WakeByAddressSingle};

    /// Sleeps until somebody wakes it, at most for so long, and not at all where the word is not `value`.
    /// It may wake earlier. Only this process wakes it.
    pub fn sleep(word: &AtomicU32, value: u32, most: Option<Duration>) {
        let most = most.map_or(INFINITE, |most| {
            // Never earlier than asked, or it would look again and again.
            u32::try_from(most.as_micros().div_ceil(1000)).unwrap_or(INFINITE - 1)
        });
        let (place, expected) = (word.as_ptr().cast_const(), &raw const value);
        // SAFETY: both are four bytes that outlive the call.
        unsafe { WaitOnAddress(place.cast(), expected.cast(), size_of::<u32>(), most) };
    }

    /// Wakes one thread that sleeps behind the word.
    pub fn wake(word: &AtomicU32) {
        // SAFETY: it looks for who sleeps there, and reads nothing.
        unsafe { WakeByAddressSingle(word.as_ptr().cast_const().cast()) };
    }
}

#[cfg(not(any(target_os = "linux", windows)))]
mod here {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    const LOOK_EVERY: Duration = Duration::from_millis(1);

    /// Sleeps until the word has changed, at most for so long. It may wake earlier. Who wakes it has changed
    /// the word.
    pub fn sleep(word: &AtomicU32, value: u32, most: Option<Duration>) {
        let begun = Instant::now();
        while word.load(Ordering::SeqCst) == value && most.is_none_or(|most| begun.elapsed() < most)
        {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Wakes one thread that sleeps behind the word: it looks by itself.
    pub fn wake(_: &AtomicU32) {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn who_sleeps_is_woken() {
        let word = AtomicU32::new(1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(Ordering::SeqCst) == 1 {
                    sleep(&word, 1, None);
                }
            });
            std::thread::sleep(Duration::from_millis(20));
            word.store(0, Ordering::SeqCst);
            wake(&word);
        });
    }

    #[test]
    fn who_is_not_woken_sleeps_no_longer_than_it_wants() {
        let begun = Instant::now();
        sleep(&AtomicU32::new(1), 1, Some(Duration::from_millis(5)));
        sleep(&AtomicU32::new(1), 2, None);
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}
