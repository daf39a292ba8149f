//! What is worked out beside the window, for whoever asks: a thread of its own makes it where it takes
//! longer than a frame, and until then there is what was known before, or nothing.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread;

use netreel_system::{Cancel, CancelOnDrop};

use crate::latest::lock;

/// Up to this many packets in a session, everything is worked out at once.
pub const AT_ONCE: usize = 4096;

/// Called by a thread when there is something new to show.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// A thread that works something out, until nobody wants it any more.
pub struct Worker<T> {
    from: Receiver<T>,
    _wants: CancelOnDrop,
}

impl<T: Send + 'static> Worker<T> {
    /// Begins `work`, which sends what it finds. Where there can be no thread nothing ever comes.
    pub fn begin(
        name: &str,
        work: impl FnOnce(&SyncSender<T>, &Cancel) + Send + 'static,
    ) -> Worker<T> {
        let (to, from) = sync_channel(1);
        let cancel = Cancel::default();
        let wants = CancelOnDrop(cancel.clone());
        let thread = thread::Builder::new().name(name.to_owned());
        drop(thread.spawn(move || work(&to, &cancel)));
        Worker {
            from,
            _wants: wants,
        }
    }
}

impl<T> Worker<T> {
    /// What it has found; where it `waits`, once that is there.
    pub fn take(&self, waits: bool) -> Result<T, TryRecvError> {
        if waits {
            Ok(self.from.recv()?)
        } else {
            self.from.try_recv()
        }
    }
}

/// Calls whoever is to be told of something new.
pub fn call(wake: &OnceLock<Wake>) {
    if let Some(wake) = wake.get() {
        wake();
    }
}

/// One thing that is worked out, of what `K` names.
pub struct Aside<K, T> {
    state: Mutex<State<K, T>>,
}

struct State<K, T> {
    /// What came last.
    latest: Option<(K, Arc<T>)>,
    /// What is being worked on.
    coming: Option<(K, Worker<T>)>,
    /// Somebody gave the work up: nobody begins it again before [`Work::go_on`].
    given_up: Option<K>,
}

impl<K, T> Default for Aside<K, T> {
    fn default() -> Aside<K, T> {
        Aside {
            state: Mutex::new(State {
                latest: None,
                coming: None,
                given_up: None,
            }),
        }
    }
}

impl<K: Clone + PartialEq, T: Send + 'static> Aside<K, T> {
    /// What is known of `key`; begins to work it out where nobody has yet. The flag: whether this is
    /// it. If not, it is what was known of another key, and the right one is on its way. What is being
    /// worked on for another key is given up: `work` looks whether it is still wanted.
    pub fn get(
        &self,
        key: &K,
        at_once: bool,
        wake: &Arc<OnceLock<Wake>>,
        work: impl FnOnce(&Cancel) -> Option<T> + Send + 'static,
    ) -> Option<(Arc<T>, bool)> {
        let mut state = self.lock();
        state.take_in(false);
        let is_it = |of: &K| of == key;
        if let Some((of, latest)) = &state.latest
            && is_it(of)
        {
            return Some((Arc::clone(latest), true));
        }
        let old = state.latest.as_ref().map(|(_, it)| (Arc::clone(it), false));
        if state.given_up.as_ref().is_some_and(is_it) {
            return old;
        }
        state.given_up = None;
        if at_once {
            state.coming = None;
            let made = Arc::new(work(&Cancel::default())?);
            state.latest = Some((key.clone(), Arc::clone(&made)));
            return Some((made, true));
        }
        if !state.coming.as_ref().is_some_and(|(of, _)| is_it(of)) {
            let wake = Arc::clone(wake);
            let work = move |to: &SyncSender<T>, cancel: &Cancel| {
                let Some(made) = work(cancel) else { return };
                // Whoever no longer wants it has asked for something else.
                drop(to.send(made));
                call(&wake);
            };
            // Whoever works on another key gives up, before there is another thread.
            state.coming = None;
            state.coming = Some((key.clone(), Worker::begin("beside the window", work)));
        }
        old
    }

    /// What was worked out last.
    pub fn latest(&self) -> Option<K> {
        self.lock().latest.as_ref().map(|(of, _)| of.clone())
    }

    /// What is being worked on.
    pub fn coming(&self) -> Option<K> {
        let mut state = self.lock();
        state.take_in(false);
        state.coming.as_ref().map(|(of, _)| of.clone())
    }

    /// Whether what is known, on its way, or given up, is of this key.
    pub fn is_of(&self, key: &K) -> bool {
        let state = self.lock();
        let latest = state.latest.as_ref().map(|(of, _)| of);
        let coming = state.coming.as_ref().map(|(of, _)| of);
        let mut all = [latest, coming, state.given_up.as_ref()].into_iter();
        all.any(|of| of == Some(key))
    }
}

impl<K, T> Aside<K, T> {
    fn lock(&self) -> MutexGuard<'_, State<K, T>> {
        lock(&self.state)
    }
}

/// What every piece of work beside the window can be asked, whatever its answer is.
pub trait Work {
    /// Waits for what is being worked on.
    fn finish(&self);
    /// Whether something is being worked on.
    fn is_coming(&self) -> bool;
    /// Stops the work until somebody asks for something else, or calls [`Work::go_on`].
    fn give_up(&self);
    /// Whoever asks next has it worked out all the same.
    fn go_on(&self);
    /// Whether it was given up.
    fn is_given_up(&self) -> bool;
}

impl<K: Clone, T> Work for Aside<K, T> {
    fn give_up(&self) {
        let mut state = self.lock();
        if let Some((of, _)) = state.coming.take() {
            state.given_up = Some(of);
        }
    }

    fn go_on(&self) {
        self.lock().given_up = None;
    }

    fn is_given_up(&self) -> bool {
        self.lock().given_up.is_some()
    }

    fn is_coming(&self) -> bool {
        let mut state = self.lock();
        state.take_in(false);
        state.coming.is_some()
    }

    fn finish(&self) {
        self.lock().take_in(true);
    }
}

impl<K: Clone, T> State<K, T> {
    fn take_in(&mut self, waits: bool) {
        let Some((of, worker)) = &self.coming else {
            return;
        };
        match worker.take(waits) {
            Ok(made) => {
                self.latest = Some((of.clone(), Arc::new(made)));
                self.coming = None;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => self.coming = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_its_way_comes_and_the_old_one_is_there_until_then() {
        let aside: Aside<u32, u32> = Aside::default();
        let wake = Arc::default();
        assert_eq!(aside.get(&1, false, &wake, |_| Some(10)), None);
        aside.finish();
        let got = aside.get(&1, false, &wake, |_| unreachable!());
        assert_eq!(got, Some((Arc::new(10), true)));
        let got = aside.get(&2, false, &wake, |_| Some(20));
        assert_eq!(got, Some((Arc::new(10), false)));
        aside.finish();
        let got = aside.get(&2, false, &wake, |_| unreachable!());
        assert_eq!(got, Some((Arc::new(20), true)));
        assert!(!aside.is_coming());
    }

    #[test]
    fn what_is_small_is_there_at_once() {
        let aside: Aside<u32, u32> = Aside::default();
        let got = aside.get(&1, true, &Arc::default(), |_| Some(10));
        assert_eq!(got, Some((Arc::new(10), true)));
    }

    #[test]
    fn what_nobody_wants_any_more_is_given_up() {
        let aside: Aside<u32, u32> = Aside::default();
        let wake = Arc::default();
        let (gave_up, told) = sync_channel(3);
        let endless = move |cancel: &Cancel| {
            while cancel.goes_on() {
                thread::yield_now();
            }
            gave_up.send(()).ok();
            None
        };
        assert_eq!(aside.get(&1, false, &wake, endless.clone()), None);
        // Asked again, it is still the same work.
        assert_eq!(aside.get(&1, false, &wake, |_| unreachable!()), None);
        assert_eq!(aside.get(&2, false, &wake, |_| Some(20)), None);
        assert_eq!(told.recv(), Ok(()));
        aside.finish();
        let got = aside.get(&2, false, &wake, |_| unreachable!());
        assert_eq!(got, Some((Arc::new(20), true)));
        // Nor does it go on when the window closes.
        assert!(aside.get(&3, false, &wake, endless).is_some());
        drop(aside);
        assert_eq!(told.recv(), Ok(()));
    }

    #[test]
    fn what_was_given_up_begins_again_when_it_is_gone_on_with() {
        let aside: Aside<u32, u32> = Aside::default();
        let wake = Arc::default();
        let (gave_up, told) = sync_channel(1);
        let endless = move |cancel: &Cancel| {
            while cancel.goes_on() {
                thread::yield_now();
            }
            gave_up.send(()).ok();
            None
        };
        assert_eq!(aside.get(&1, false, &wake, endless), None);
        aside.give_up();
        assert_eq!(told.recv(), Ok(()));
        assert!(aside.is_given_up() && !aside.is_coming());
        // Whoever shows it asks with each frame.
        assert_eq!(aside.get(&1, false, &wake, |_| unreachable!()), None);
        aside.go_on();
        assert_eq!(aside.get(&1, false, &wake, |_| Some(10)), None);
        aside.finish();
        let got = aside.get(&1, false, &wake, |_| unreachable!());
        assert_eq!(got, Some((Arc::new(10), true)));
    }
}
