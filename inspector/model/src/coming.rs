//! The history on its way: a thread of its own works it out, and the model takes it in when it is
//! there.
//!
//! Until then the session alone is shown: nodes, lanes, links, times and fates of packets, and what
//! single packets carry where the wire keeps no state.

use std::sync::mpsc::{SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use netreel_protocol::history::History;
use netreel_protocol::session::Session;
use netreel_system::Cancel;

use crate::aside::{Aside, Wake, Worker, call};
use crate::beside::Of;
use crate::judged::Judged;
use crate::taken::Taken;
use crate::{GIVEN_UP, Model, NOT_YET};

/// Called before the history is worked out, and with it.
type Keep = Box<dyn FnMut(Option<&History>) + Send>;

/// How far the history is.
#[derive(Default)]
pub struct Coming {
    state: State,
    /// Whoever keeps it, until it is there.
    keep: Arc<Mutex<Option<Keep>>>,
    pub(crate) wake: Arc<OnceLock<Wake>>,
}

#[derive(Default)]
enum State {
    /// Nobody works on it.
    #[default]
    Idle,
    /// A thread works on it.
    UnderWay(Worker<Judged>),
    /// It was, and somebody gave it up.
    GivenUp,
    /// The thread ended without it.
    Failed,
    Here,
}

impl Coming {
    /// Whether a thread works on it.
    pub fn is_under_way(&self) -> bool {
        matches!(self.state, State::UnderWay(_))
    }

    /// Whether somebody gave it up.
    pub fn is_given_up(&self) -> bool {
        matches!(self.state, State::GivenUp)
    }

    /// Has nobody work on it any more.
    pub fn give_up(&mut self) {
        if matches!(self.state, State::Idle | State::UnderWay(_)) {
            self.state = State::GivenUp;
        }
    }
}

impl Model {
    /// Opens a session where its story is, as [`Model::without`]. The history of a session that is
    /// not [small](Session::is_small) is worked out meanwhile: the model shows what the session
    /// alone tells until [`Model::advance`] takes it in.
    pub fn open(session: Arc<Session>, unread: &[String]) -> Model {
        Model::open_and(session, unread, |_| {})
    }

    /// The same, and `keep` gets the history when it is there, on the thread that worked it out; where
    /// that takes longer it is called there before, without.
    pub fn open_and(
        session: Arc<Session>,
        unread: &[String],
        mut keep: impl FnMut(Option<&History>) + Send + 'static,
    ) -> Model {
        let is_small = session.is_small();
        let mut model = Model::of_session(session, unread);
        if is_small {
            model.finish();
            keep(Some(&model.judged.history));
        } else {
            model.coming.keep = Arc::new(Mutex::new(Some(Box::new(keep))));
            model.begin();
        }
        model
    }

    /// Has somebody called from another thread when there is something new to show.
    pub fn wake_with(&mut self, wake: impl Fn() + Send + Sync + 'static) {
        // Whoever is called first stays: there is one window.
        drop(self.coming.wake.set(Box::new(wake)));
    }

    /// Whether the history is not known: no findings, objects, acks and resends can be shown.
    pub fn lacks_history(&self) -> bool {
        !matches!(self.coming.state, State::Here)
    }

    /// Why something that only the history tells cannot be shown: `being worked out`. `None` where
    /// it can.
    pub fn why_not_yet(&self) -> Option<&'static str> {
        match self.coming.state {
            State::Here => None,
            State::Failed => Some("could not be worked out"),
            State::GivenUp => Some(GIVEN_UP),
            State::Idle | State::UnderWay(_) => Some(NOT_YET),
        }
    }

    /// Nothing is known of what followed, and somebody else will tell it.
    pub(crate) fn lack(&mut self) {
        self.judged = Judged::default();
        self.arrange_findings();
        self.coming.state = State::Idle;
        self.seen = Default::default();
        self.minimap = Default::default();
    }

    /// Waits until all is there: the history, and what the filter takes.
    pub fn finish(&mut self) {
        if let State::Idle = self.coming.state {
            let history = Arc::new(History::build(&self.session));
            self.settle(Judged::new(&self.session, history, &self.unread));
        }
        self.take_history(true);
        self.look_again();
        self.finish_filter();
        if !self.is_looked_at {
            self.open_story();
        }
        self.finish_beside();
        self.look_order();
    }

    /// Works on what was given up.
    pub(crate) fn go_on(&mut self) {
        if self.coming.is_given_up() {
            self.begin();
        }
        self.beside.go_on();
    }

    /// Starts to work out the history.
    fn begin(&mut self) {
        let (session, unread) = (self.session.clone(), self.unread.clone());
        let (wake, keep) = (self.coming.wake.clone(), Arc::clone(&self.coming.keep));
        let kept = move |history: Option<&History>| {
            if let Ok(mut keep) = keep.lock()
                && let Some(keep) = &mut *keep
            {
                keep(history);
            }
        };
        let work = move |to: &SyncSender<Judged>, cancel: &Cancel| {
            kept(None);
            // What packets carry is shown as soon as it is known.
            session.message_count();
            call(&wake);
            let Some(history) = History::while_wanted(&session, cancel).map(Arc::new) else {
                return;
            };
            // Whoever no longer wants it has closed the window.
            drop(to.send(Judged::new(&session, Arc::clone(&history), &unread)));
            call(&wake);
            kept(Some(&history));
        };
        // Where there can be no thread, that is told as a failure.
        self.coming.state = State::UnderWay(Worker::begin("history", work));
    }

    /// Takes in the history, if it has come; where somebody `waits` for it, when it has.
    pub(crate) fn take_history(&mut self, waits: bool) {
        let State::UnderWay(worker) = &self.coming.state else {
            return;
        };
        match worker.take(waits) {
            Ok(judged) => self.settle(judged),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => self.coming.state = State::Failed,
        }
    }

    /// From now on the history is known. Who has not looked around yet is shown its story.
    pub(crate) fn settle(&mut self, judged: Judged) {
        self.judged = judged;
        self.join_lanes();
        // Levels of packets and flags are known from now on.
        self.seen = Default::default();
        self.minimap = Default::default();
        self.coming.state = State::Here;
        // What the filter takes of findings and objects is known from now on.
        self.filter.resume(self.source());
        self.arrange_findings();
        self.arrange_objects();
        if !self.is_looked_at {
            self.open_story();
        }
    }

    /// What is worked out beside the window of the session as it is now; the flag as of [`Aside::get`].
    pub(crate) fn aside<K: Clone + PartialEq, T: Send + 'static>(
        &self,
        aside: &Aside<Of<K>, T>,
        of: K,
        work: impl FnOnce(&Cancel) -> Option<T> + Send + 'static,
    ) -> Option<(Arc<T>, bool)> {
        let key = (self.grown, of);
        aside.get(&key, self.is_quick(), &self.coming.wake, work)
    }

    /// The same of the packets that the filter takes, where it has looked at all. Of a session that grows
    /// one piece of work is finished before the next is begun, and what is worked out anew with each look
    /// leaves the processor to others for the `pause`. What was found at another look is near enough until
    /// this one's is there.
    pub(crate) fn of_taken<K: Clone + PartialEq, T: Send + 'static>(
        &self,
        aside: &Aside<Of<K>, T>,
        of: &K,
        (at_once, pause): (bool, Duration),
        work: impl FnOnce(&Session, Option<&Taken>, &Cancel) -> Option<T> + Send + 'static,
    ) -> Option<Arc<T>> {
        if self.filter.is_looking() || self.filter.waits() {
            return None;
        }
        let key = aside
            .coming()
            .filter(|(_, coming)| coming == of)
            .unwrap_or((self.grown, of.clone()));
        let is_there = || aside.latest().is_some_and(|(_, known)| known == *of);
        let pauses = is_there() && !at_once;
        let is_known = aside.is_of(&key);
        let taken = self.filter.taken().filter(|_| !is_known).cloned();
        let session = Arc::clone(&self.session);
        let work = move |cancel: &Cancel| {
            if pauses {
                cancel.rest(pause);
            }
            work(&session, taken.as_ref(), cancel)
        };
        let (found, is_it) = aside.get(&key, at_once, &self.coming.wake, work)?;
        (is_it || is_there()).then_some(found)
    }
}
