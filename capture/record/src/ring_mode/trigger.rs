//! Triggers: from any thread, for all recorders that share them.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError, Weak};
use std::time::Duration;

use netreel_reel::{Event, EventNumber, Trigger, TriggerCause};
use netreel_system::{locked, trigger as signal};
use netreel_transport::{BellRef, Pusher, monotonic_now};

use super::{KeptWindow, Ring};
use crate::anchor::utc_now_ns;

/// Asks recorders to keep what they have of the last seconds.
///
/// Clones are the same triggers; whoever has one may pull it, from any thread. All recorders whose
/// [`Options`](crate::Options) have the same triggers keep the same window. It costs a lock that
/// no thread holds for long, and a push for each recorder; nothing waits for a disk.
#[derive(Clone, Default)]
pub struct Triggers(Arc<Hub>);

#[derive(Default)]
struct Hub {
    lanes: Mutex<Vec<RecorderEnd>>,
    listeners: Mutex<Vec<Sender<TriggerNews>>>,
    /// Told of every trigger that was pulled here and not at another node.
    askers: Mutex<Vec<Sender<(Trigger, String)>>>,
    /// The ids of the latest triggers, so that none counts twice.
    seen: Mutex<VecDeque<u64>>,
    signals: AtomicU32,
    signal: AtomicU32,
    /// Where the recorders are at work whose triggers the signal pulls.
    folder: OnceLock<PathBuf>,
    lanes_ever: AtomicU64,
}

/// When a trigger was pulled, and its id.
struct Moment {
    utc_ns: i64,
    id: u64,
}

/// A moment that a signal names is believed if it is no further away.
const NAMED_NS_MAX: u64 = 30_000_000_000;

impl Moment {
    fn now() -> Moment {
        let (utc_ns, id) = (utc_now_ns(), RandomState::new().build_hasher().finish());
        Moment { utc_ns, id }
    }

    /// One that several recorders are told. It is the id as well, so that all keep one window.
    fn named(utc_ns: i64) -> Option<Moment> {
        let id = utc_ns as u64;
        (utc_now_ns().abs_diff(utc_ns) <= NAMED_NS_MAX).then_some(Moment { utc_ns, id })
    }
}

/// How many ids are remembered.
const SEEN_MAX: usize = 256;
/// Longer texts are cut.
pub(super) const TEXT_MAX: usize = 4096;

/// What became of a trigger.
#[derive(Clone, Debug)]
pub enum TriggerNews {
    /// It was pulled: here, or at the node that is named.
    Pulled {
        /// The trigger.
        trigger: Trigger,
        /// What was said of it.
        text: String,
    },
    /// Its window was kept. The part that comes after the trigger is still to come, if one was
    /// asked for.
    Kept(KeptWindow),
    /// A trigger is of a window that another one opened; both are in it.
    Joined {
        /// The window's folder.
        folder: PathBuf,
        /// The trigger's id.
        id: u64,
    },
    /// A window has another name from now on: that of an earlier trigger, which came later.
    Renamed {
        /// The folder that it had.
        from: PathBuf,
        /// The window's folder.
        to: PathBuf,
    },
    /// The window has its last part.
    Closed {
        /// The window's folder.
        folder: PathBuf,
    },
    /// No window was kept; why, in a sentence.
    Refused(String),
    /// Something of a window could not be kept, or a node that was asked did not answer; a
    /// sentence.
    Failed(String),
}

/// One recorder's end.
pub(crate) struct RecorderEnd {
    number: u64,
    /// The recorder; gone when it has finished.
    requests: Weak<Requests>,
    ring: Option<Ring>,
    /// Made at the first trigger.
    pusher: Option<Pusher>,
    make: Box<dyn FnMut() -> Option<Pusher> + Send>,
}

/// What a recorder's writing thread is asked for.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    waiting: AtomicBool,
    queue: Mutex<Vec<Request>>,
    /// How many were taken out and dealt with.
    done: AtomicU64,
    asked: AtomicU64,
    /// Set when nobody takes requests any more; why, in a sentence.
    closed: OnceLock<String>,
    /// Wakes the writing thread.
    bell: Option<BellRef>,
}

/// One trigger, as a recorder's writing thread sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub trigger: Trigger,
    /// Its event; `None` where it could not be recorded.
    pub number: Option<EventNumber>,
}

impl Requests {
    /// For a writing thread that is woken by `bell`.
    pub fn new(bell: BellRef) -> Requests {
        Requests {
            bell: Some(bell),
            ..Requests::default()
        }
    }

    pub fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire)
    }

    /// Takes what is asked for, up to the events that are written: what was pushed before a
    /// trigger belongs into its window.
    pub fn take(&self, written: EventNumber) -> Vec<Request> {
        let mut queue = locked(&self.queue);
        let (ready, later) = std::mem::take(&mut *queue)
            .into_iter()
            .partition(|request| request.number.is_none_or(|number| number < written));
        *queue = later;
        self.waiting.store(!queue.is_empty(), Ordering::Release);
        ready
    }

    /// Says that this many of those taken were dealt with.
    pub fn done(&self, count: usize) {
        self.done.fetch_add(count as u64, Ordering::Release);
    }

    /// Takes none from now on, and returns those that nobody has taken. `why` is told to whoever
    /// asks later.
    pub fn close(&self, why: String) -> Vec<Request> {
        let mut queue = locked(&self.queue);
        let _ = self.closed.set(why);
        self.waiting.store(false, Ordering::Release);
        std::mem::take(&mut *queue)
    }

    /// # Errors
    /// Why there is nobody to take it.
    fn add(&self, request: Request) -> Result<(), String> {
        let mut queue = locked(&self.queue);
        if let Some(why) = self.closed.get() {
            return Err(why.clone());
        }
        self.asked.fetch_add(1, Ordering::Relaxed);
        queue.push(request);
        self.waiting.store(true, Ordering::Release);
        drop(queue);
        self.bell.inspect(BellRef::ring);
        Ok(())
    }

    fn is_settled(&self) -> bool {
        self.done.load(Ordering::Acquire) >= self.asked.load(Ordering::Relaxed)
    }
}

impl Triggers {
    /// Triggers for new recorders.
    pub fn new() -> Triggers {
        Triggers::default()
    }

    /// Every recorder with these triggers keeps its window, and those of other nodes are asked for
    /// theirs, where there are some ([`Peers`](super::Peers)). Recorders that are not in ring mode
    /// write it down as a mark. Returns the trigger's id.
    pub fn pull(&self, cause: TriggerCause, text: &str) -> u64 {
        self.pull_locked(locked(&self.0.lanes), Moment::now(), cause, text)
    }

    fn pull_locked(
        &self,
        lanes: MutexGuard<'_, Vec<RecorderEnd>>,
        moment: Moment,
        cause: TriggerCause,
        text: &str,
    ) -> u64 {
        let longest = |of: fn(Ring) -> Duration| {
            let rings = lanes.iter().filter_map(|lane| lane.ring);
            rings.map(of).max().map_or(0, millis)
        };
        let trigger = Trigger {
            cause,
            id: moment.id,
            utc_ns: moment.utc_ns,
            before_ms: longest(|ring| ring.before),
            after_ms: longest(|ring| ring.after),
            from_peer: false,
        };
        self.first_time(trigger.id);
        self.write(lanes, trigger, text);
        if trigger.before_ms > 0 {
            let told = (trigger, cut(text).to_owned());
            locked(&self.0.askers).retain(|asker| asker.send(told.clone()).is_ok());
        }
        trigger.id
    }

    /// A trigger that was pulled at another node; `false` where it is known already.
    #[cfg(feature = "peers")]
    pub(crate) fn pull_for_peer(&self, trigger: Trigger, text: &str) -> bool {
        let fresh = self.first_time(trigger.id);
        if fresh {
            let trigger = Trigger {
                from_peer: true,
                ..trigger
            };
            self.write(locked(&self.0.lanes), trigger, text);
        }
        fresh
    }

    fn write(&self, mut lanes: MutexGuard<'_, Vec<RecorderEnd>>, trigger: Trigger, text: &str) {
        let text = cut(text);
        let mut refused = Vec::new();
        lanes.retain_mut(|lane| {
            let Some(requests) = lane.requests.upgrade() else {
                return false;
            };
            let ring = lane.ring;
            let own = Trigger {
                before_ms: ring.map_or(0, |ring| trigger.before_ms.min(millis(ring.before))),
                after_ms: ring.map_or(0, |_| trigger.after_ms),
                ..trigger
            };
            if lane.pusher.is_none() {
                lane.pusher = (lane.make)();
            }
            let event = Event::Triggered {
                trigger: own,
                text: text.as_bytes(),
            };
            let pusher = lane.pusher.as_mut();
            let number = pusher.and_then(|pusher| pusher.push_while_off(monotonic_now(), event));
            if ring.is_some() {
                let trigger = own;
                refused.extend(requests.add(Request { trigger, number }).err());
            }
            true
        });
        drop(lanes);
        let text = text.to_owned();
        self.tell(TriggerNews::Pulled { trigger, text });
        for why in refused {
            self.tell(TriggerNews::Refused(why));
        }
    }

    fn first_time(&self, id: u64) -> bool {
        let mut seen = locked(&self.0.seen);
        if seen.contains(&id) {
            return false;
        }
        if seen.len() >= SEEN_MAX {
            seen.pop_front();
        }
        seen.push_back(id);
        true
    }

    /// Hears what becomes of triggers from now on.
    pub fn news(&self) -> Receiver<TriggerNews> {
        let (sender, receiver) = channel();
        locked(&self.0.listeners).push(sender);
        receiver
    }

    /// Hears of every trigger that is pulled here.
    #[cfg(feature = "peers")]
    pub(crate) fn asked_here(&self) -> Receiver<(Trigger, String)> {
        let (sender, receiver) = channel();
        locked(&self.0.askers).push(sender);
        receiver
    }

    pub(crate) fn tell(&self, news: TriggerNews) {
        locked(&self.0.listeners).retain(|listener| listener.send(news.clone()).is_ok());
    }

    /// Whether a recorder in ring mode would keep a window now.
    pub fn has_ring(&self) -> bool {
        let lanes = locked(&self.0.lanes);
        let mut rings = lanes.iter().filter(|lane| lane.ring.is_some());
        rings.any(|lane| {
            let requests = lane.requests.upgrade();
            requests.is_some_and(|requests| requests.closed.get().is_none())
        })
    }

    /// From now on `signal` (for example `SIGUSR1`) pulls these triggers. The handler touches one
    /// atomic number and nothing else; a recorder's writing thread notices within milliseconds.
    /// What handler the program had for the signal before is replaced. Calls of the program that
    /// the signal interrupts are restarted by the system where it can (`SA_RESTART`).
    pub fn on_signal(&self, signal: i32) -> std::io::Result<()> {
        signal::catch(signal, crate::bell::ring_for_signal)?;
        self.0
            .signals
            .store(signal::count(signal), Ordering::Relaxed);
        self.0.signal.store(signal as u32, Ordering::Release);
        Ok(())
    }

    /// Whoever sends the signal may say more of it in this folder
    /// ([`PresentRecorder::trigger`](crate::PresentRecorder::trigger)).
    pub fn hear_in(&self, folder: &std::path::Path) {
        let _ = self.0.folder.set(folder.to_owned());
    }

    /// Pulls the triggers if the signal came since this was asked last. Writing threads ask; whoever
    /// has no recorder yet may ask as well.
    pub fn look_for_signal(&self) {
        let signal = self.0.signal.load(Ordering::Acquire) as i32;
        if signal == 0 {
            return;
        }
        let count = signal::count(signal);
        // Several recorders may notice; one of them pulls.
        if self.0.signals.swap(count, Ordering::AcqRel) != count {
            let named = signal::moment(signal).and_then(Moment::named);
            let moment = named.unwrap_or_else(Moment::now);
            let told = |folder: &PathBuf| crate::presence::told(folder, moment.utc_ns);
            let text = self
                .0
                .folder
                .get()
                .and_then(told)
                .unwrap_or_else(|| signal::name(signal));
            self.pull_locked(locked(&self.0.lanes), moment, TriggerCause::SIGNAL, &text);
        }
    }

    /// As [`pull`](Triggers::pull), where the thread may already be at work on these triggers; then
    /// waits until the window is kept, at most `patience`.
    pub(super) fn pull_and_wait(&self, cause: TriggerCause, text: &str, patience: Duration) {
        let lanes = match self.0.lanes.try_lock() {
            Ok(lanes) => lanes,
            Err(TryLockError::Poisoned(lanes)) => lanes.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        self.pull_locked(lanes, Moment::now(), cause, text);
        let until = std::time::Instant::now() + patience;
        while !self.is_settled() && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether all that was asked for is kept.
    pub(super) fn is_settled(&self) -> bool {
        let lanes = locked(&self.0.lanes);
        let mut alive = lanes.iter().filter_map(|lane| lane.requests.upgrade());
        alive.all(|requests| requests.is_settled())
    }

    /// Adds a recorder. It stays until `requests` is dropped.
    pub(crate) fn join(
        &self,
        requests: &Arc<Requests>,
        ring: Option<Ring>,
        make: Box<dyn FnMut() -> Option<Pusher> + Send>,
    ) -> u64 {
        let number = self.0.lanes_ever.fetch_add(1, Ordering::Relaxed);
        locked(&self.0.lanes).push(RecorderEnd {
            number,
            requests: Arc::downgrade(requests),
            ring,
            pusher: None,
            make,
        });
        number
    }

    /// Takes a recorder out, so that its pusher gives its ring back.
    pub(crate) fn leave(&self, number: u64) {
        locked(&self.0.lanes).retain(|lane| lane.number != number);
    }
}

impl PartialEq for Triggers {
    fn eq(&self, other: &Triggers) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Triggers {}

impl std::fmt::Debug for Triggers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Triggers").finish_non_exhaustive()
    }
}

fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_MAX)]
}

/// The name of the folder for the window around this moment: `window-20261121T152501.123Z-1a2b3c4d`.
/// Nodes that were asked for the same window give it the same name.
pub fn window_name(utc_ns: i64, id: u64) -> String {
    let millis = utc_ns.div_euclid(1_000_000);
    let (seconds, millis) = (millis.div_euclid(1000), millis.rem_euclid(1000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let short = (id ^ (id >> 32)) as u32;
    format!(
        "window-{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{millis:03}Z-{short:08x}"
    )
}

/// Year, month and day of a count of days since 1970-01-01 (Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", civil_from_days).
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_named_by_its_moment_on_the_calendar() {
        let name = |utc_ns| window_name(utc_ns, 0x1a2b_3c4d);
        assert_eq!(name(0), "window-19700101T000000.000Z-1a2b3c4d");
        assert_eq!(
            name(1_709_164_799_999_000_000),
            "window-20240228T235959.999Z-1a2b3c4d"
        );
        assert_eq!(
            name(1_709_164_800_000_000_000),
            "window-20240229T000000.000Z-1a2b3c4d"
        );
        assert_eq!(name(-1_000_000), "window-19691231T235959.999Z-1a2b3c4d");
    }

    #[test]
    fn a_trigger_that_comes_from_two_nodes_counts_once() {
        let triggers = Triggers::new();
        let trigger = Trigger {
            cause: TriggerCause::KEY,
            id: 7,
            utc_ns: 0,
            before_ms: 1000,
            after_ms: 0,
            from_peer: false,
        };
        assert!(triggers.pull_for_peer(trigger, "first"));
        assert!(!triggers.pull_for_peer(trigger, "again"));
    }

    #[test]
    fn a_request_waits_for_its_event_to_be_written() {
        let requests = Requests::default();
        let request = Request {
            trigger: Trigger {
                cause: TriggerCause::CALL,
                id: 1,
                utc_ns: 0,
                before_ms: 1,
                after_ms: 0,
                from_peer: false,
            },
            number: Some(EventNumber(5)),
        };
        requests.add(request).unwrap();
        assert_eq!(requests.take(EventNumber(5)), []);
        assert!(requests.is_waiting());
        assert_eq!(requests.take(EventNumber(6)), [request]);
        assert!(!requests.is_waiting());
        assert!(!requests.is_settled());
        requests.done(1);
        assert!(requests.is_settled());
        requests.add(request).unwrap();
        assert_eq!(requests.close("it has ended".to_owned()), [request]);
        assert_eq!(requests.add(request), Err("it has ended".to_owned()));
    }
}
