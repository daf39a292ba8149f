//! How the console's thread leaves the processor to the game.
//!
//! It runs when nobody else wants to ([`run_behind_others`]), so that a tick which begins takes the processor
//! from it at once. And it takes a small share of one at the most ([`Pace`]), whoever connects: what it does
//! not get to waits in the system's buffers, and who fills these is held up there.

use std::time::{Duration, Instant};

use netreel_system::clock::processor_time;

/// Of a processor's time one part in so many is the console's.
const SHARE: u32 = 20;

/// So much of it may be taken beforehand.
const AHEAD: Duration = Duration::from_millis(1);

pub(crate) use netreel_system::thread::run_behind_others;

/// How much of a processor's time a thread has taken, and since when.
pub(crate) struct Pace {
    since: Instant,
    taken: Duration,
}

impl Pace {
    /// Of the calling thread, from now on.
    pub fn new() -> Pace {
        Pace {
            since: Instant::now(),
            taken: processor_time(),
        }
    }

    /// So long the thread is to rest now.
    pub fn rest(&mut self) -> Duration {
        let (now, taken) = (Instant::now(), processor_time());
        let rest = owed(now - self.since, taken.saturating_sub(self.taken));
        // What was not taken is not saved up.
        if rest.is_none() {
            (self.since, self.taken) = (now, taken);
        }
        rest.unwrap_or_default()
    }
}

/// How long a thread rests that has taken so much of such a time; `None` where it is within its share.
fn owed(passed: Duration, taken: Duration) -> Option<Duration> {
    let rest = (taken * SHARE).checked_sub(passed)?;
    Some(if taken > AHEAD { rest } else { Duration::ZERO })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_rests_where_it_took_more_than_its_share() {
        let ms = Duration::from_millis;
        assert_eq!(owed(ms(100), ms(4)), None);
        assert_eq!(owed(ms(100), ms(7)), Some(ms(40)));
        // A little may be taken at once.
        assert_eq!(owed(ms(1), ms(1)), Some(ms(0)));
    }

    #[test]
    fn what_a_thread_takes_is_counted() {
        let mut pace = Pace::new();
        let begun = processor_time();
        while processor_time() - begun < 2 * AHEAD {
            std::hint::spin_loop();
        }
        pace.since = Instant::now();
        assert!(pace.rest() > AHEAD * SHARE);
    }
}
