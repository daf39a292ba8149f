//! The thread that writes: one for each recorder in a program of one's own, one for all recorded
//! programs of `netreel record`. It sleeps until somebody rings its bell or something is due.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netreel_reel::bell::Sleep;
use netreel_system::locked;
use netreel_transport::BellRef;

use crate::bell;
use crate::drainer::{Drained, Drainer};
use crate::pause::Pause;

/// A writing thread. It ends when this is dropped, once all its recordings have ended.
pub struct Writer {
    bell: BellRef,
    inbox: Arc<Inbox>,
    thread: Option<JoinHandle<()>>,
    /// What other processes map; `None` where pushers are in this one.
    page: Option<File>,
}

struct Inbox {
    /// `None` once the thread is gone.
    jobs: Mutex<Option<Vec<Job>>>,
    closing: AtomicBool,
}

struct Job {
    drainer: Drainer,
    done: SyncSender<Drained>,
}

impl Writer {
    /// For pushers in this process.
    pub(crate) fn start() -> io::Result<Writer> {
        Writer::spawn(bell::own(), None)
    }

    /// For pushers in other processes, which see when this one dies.
    ///
    /// # Errors
    /// There is no memory to share, or no thread.
    pub fn start_for_others() -> io::Result<Writer> {
        let (bell, page) = bell::shared()?;
        Writer::spawn(bell, Some(page))
    }

    fn spawn(bell: BellRef, page: Option<File>) -> io::Result<Writer> {
        let inbox = Arc::new(Inbox {
            jobs: Mutex::new(Some(Vec::new())),
            closing: AtomicBool::new(false),
        });
        let (theirs, shared) = (inbox.clone(), page.is_some());
        let (held, holds) = sync_channel(1);
        let run = move || {
            let alive = shared.then(|| bell::hold(bell)).transpose();
            let failed = alive.as_ref().err().map(io::Error::raw_os_error);
            let _ = held.send(failed);
            if let Ok(alive) = alive {
                run(bell, &theirs);
                if let Some(alive) = alive {
                    alive.release();
                }
            }
        };
        let thread = std::thread::Builder::new().name("netreel".to_owned());
        let thread = thread.spawn(run)?;
        if let Ok(Some(code)) = holds.recv() {
            let _ = thread.join();
            return Err(code.map_or(io::ErrorKind::Other.into(), io::Error::from_raw_os_error));
        }
        Ok(Writer {
            bell,
            inbox,
            thread: Some(thread),
            page,
        })
    }

    pub(crate) fn bell(&self) -> BellRef {
        self.bell
    }

    /// What another process maps to ring the bell.
    pub fn page(&self) -> Option<&File> {
        self.page.as_ref()
    }

    /// Writes one more recording from now on. What it came to is received when it has ended;
    /// nothing, where the thread has died.
    pub(crate) fn write(&self, drainer: Drainer) -> Receiver<Drained> {
        let (done, drained) = sync_channel(1);
        if let Some(jobs) = locked(&self.inbox.jobs).as_mut() {
            jobs.push(Job { drainer, done });
        }
        self.bell.ring();
        drained
    }

    /// This is a forked child, in which the thread is not: there is nothing to wait for.
    pub(crate) fn forget(&mut self) {
        std::mem::forget(self.thread.take());
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.inbox.closing.store(true, Ordering::Release);
        self.bell.ring();
        let ended = thread.join();
        if self.page.is_none() && ended.is_ok() {
            bell::give_back(self.bell);
        }
    }
}

fn run(bell: BellRef, inbox: &Inbox) {
    let heard = Heard(bell, bell::hear_signals(bell));
    let _gone = Gone(inbox);
    let mut jobs: Vec<Job> = Vec::new();
    // Whether it has slept so that what is found now has come just now.
    let mut fresh = true;
    loop {
        let closing = inbox.closing.load(Ordering::Acquire);
        if let Some(fresh) = locked(&inbox.jobs).as_mut() {
            jobs.append(fresh);
        }
        let mut pause = Pause::Deep(None);
        let mut index = 0;
        while let Some(job) = jobs.get_mut(index) {
            match job.drainer.pass(fresh) {
                Ok(longest) => {
                    pause = pause.and(longest);
                    index += 1;
                }
                Err(ended) => {
                    let job = jobs.remove(index);
                    // Whoever waited for it may have given up.
                    let _ = job.done.send(job.drainer.finish(ended));
                }
            }
        }
        if closing && jobs.is_empty() {
            return;
        }
        if !heard.1 {
            pause = pause.and(Pause::Doze(Instant::now() + DEAF));
        }
        fresh = false;
        match pause {
            Pause::No => {}
            Pause::Doze(until) => bell::sleep(bell, Sleep::Doze, Some(until), || true),
            Pause::Deep(until) => {
                fresh = true;
                bell::sleep(bell, Sleep::Deep, until, || {
                    jobs.iter().all(|job| job.drainer.is_quiet())
                });
            }
        }
    }
}

/// Nobody waits for a thread that is gone.
struct Gone<'a>(&'a Inbox);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        *locked(&self.0.jobs) = None;
    }
}

/// So often signals are looked for where there are too many bells for them to ring.
const DEAF: Duration = Duration::from_millis(50);

/// A bell that signals ring, as long as this lives.
struct Heard(BellRef, bool);

impl Drop for Heard {
    fn drop(&mut self) {
        if self.1 {
            bell::ignore_signals(self.0);
        }
    }
}
