//! A recording that is followed: each look at it is shown as soon as its packets are arranged, and what
//! followed from them is worked out beside where that takes long.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use netreel_inspector_model::{Followed, Growth, Staying};
use netreel_protocol::history::History;
use netreel_protocol::session::Session;
use netreel_system::Cancel;

use crate::ask::Answer;
use crate::rhythm::processor_time;

/// What followed is worked out within a look as long as it takes no longer than this.
const AT_ONCE: Duration = Duration::from_millis(25);

/// Beside looks it is worked out again after so many times the processor time that it took: it costs a
/// quarter of a processor.
const TIMES: u32 = 3;

/// Who is told.
type Say = Arc<dyn Fn(Answer) + Send + Sync>;

/// A recording as it is at a look.
pub struct Look {
    /// The session as far as it has come.
    pub session: Arc<Session>,
    /// A sentence for each reel that could not be read.
    pub unread: Vec<String>,
    /// Whether more may come.
    pub live: bool,
}

/// See the module.
pub struct Follower {
    say: Say,
    growth: Growth,
    at_once: Duration,
    history: Work,
}

/// Who works out what followed.
enum Work {
    /// Whoever looks.
    AtOnce,
    /// A thread, which has the latest look of those that it has not come to.
    Beside(Arc<Waiting>, Option<JoinHandle<()>>),
}

#[derive(Default)]
struct Waiting {
    next: Mutex<Next>,
    is_there: Condvar,
}

#[derive(Default)]
struct Next {
    look: Option<Look>,
    staying: Staying,
    /// Nobody will look again.
    is_last: bool,
    /// What is worked out is given up where nobody wants to know any more.
    cancel: Cancel,
}

impl Follower {
    /// Tells `say` of what there is to show: from a thread of its own, where it takes long.
    pub fn new(say: impl Fn(Answer) + Send + Sync + 'static) -> Follower {
        Follower::at_once_within(AT_ONCE, say)
    }

    /// The same, with what followed worked out beside from the first look on that takes longer for it
    /// than this.
    pub fn at_once_within(
        at_once: Duration,
        say: impl Fn(Answer) + Send + Sync + 'static,
    ) -> Follower {
        Follower {
            say: Arc::new(say),
            growth: Growth::default(),
            at_once,
            history: Work::AtOnce,
        }
    }

    /// Shows a look.
    pub fn look(&mut self, look: Look) {
        let (session, live) = (look.session.clone(), look.live);
        let mut model = self.growth.look(session, &look.unread);
        let staying = self.growth.staying();
        let mut took = Duration::ZERO;
        if let Work::AtOnce = self.history {
            let begun = Instant::now();
            let history = History::build(&look.session);
            let of = (&look.unread[..], &staying);
            model.take_followed(Followed::new(look.session.clone(), history, of));
            took = begun.elapsed();
        }
        let model = Box::new(model);
        (self.say)(Answer::Grown { model, live });
        match &mut self.history {
            Work::AtOnce if took > self.at_once => self.history = begin(&self.say),
            Work::AtOnce => {}
            Work::Beside(waiting, _) => {
                let mut next = waiting.lock();
                (next.look, next.staying) = (Some(look), staying);
                drop(next);
                waiting.is_there.notify_one();
            }
        }
    }

    /// Waits until what followed in the last look is told.
    pub fn finish(mut self) {
        if let Work::Beside(waiting, thread) = &mut self.history {
            waiting.lock().is_last = true;
            waiting.is_there.notify_one();
            if let Some(thread) = thread.take() {
                // Where it failed it was the last to say something.
                drop(thread.join());
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Work::Beside(waiting, _) = &self.history {
            waiting.lock().cancel.cancel();
            waiting.is_there.notify_one();
        }
    }
}

/// Goes on beside. Where there can be no thread nothing more is told of what followed.
fn begin(say: &Say) -> Work {
    let waiting = Arc::<Waiting>::default();
    let (own, say) = (Arc::clone(&waiting), Arc::clone(say));
    let cancel = own.lock().cancel.clone();
    let work = move || {
        while let Some(look) = own.take() {
            let used = processor_time();
            let Some(history) = History::while_wanted(&look.session, &cancel) else {
                return;
            };
            let staying = own.lock().staying.clone();
            let told = Followed::new(look.session, history, (&look.unread, &staying));
            say(Answer::Followed(Box::new(told)));
            own.pause(processor_time().saturating_sub(used) * TIMES);
        }
    };
    Work::Beside(
        waiting,
        thread::Builder::new()
            .name("history".to_owned())
            .spawn(work)
            .ok(),
    )
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Next> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next look, when there is one; `None` where there will be none.
    fn take(&self) -> Option<Look> {
        let next = self.lock();
        let waits = |next: &mut Next| next.look.is_none() && !next.is_last && next.cancel.goes_on();
        let mut next = self
            .is_there
            .wait_while(next, waits)
            .unwrap_or_else(PoisonError::into_inner);
        next.look.take().filter(|_| next.cancel.goes_on())
    }

    /// Lets some time pass, unless somebody waits for the last look.
    fn pause(&self, time: Duration) {
        let waits = |next: &mut Next| !next.is_last && next.cancel.goes_on();
        drop(self.is_there.wait_timeout_while(self.lock(), time, waits));
    }
}
