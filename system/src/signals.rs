//! Being told to stop, and what else a recorder hears by signals.
//!
//! The first Ctrl-C ends a recording cleanly (or goes to the recorded program); what a second one
//! means is for each way of recording to say.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

static ASKED: AtomicU32 = AtomicU32::new(0);
static TERMINATED: AtomicBool = AtomicBool::new(false);
/// A bit for each signal that is to be passed on: that of signal n is bit n - 1.
static FORWARD: AtomicU64 = AtomicU64::new(0);
/// Is written to whenever a signal comes; -1 while nobody waits for it.
static NEWS: AtomicI32 = AtomicI32::new(-1);

/// These ask a program to stop.
const STOPPING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
/// Those, and the one that asks for a core dump besides.
pub const END: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// These mean something to the programs that take them, and end those that do not.
const PASSED_ON: [i32; 11] = [
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    libc::SIGXCPU,
    libc::SIGXFSZ,
];

/// Catches signals until this is dropped.
///
/// A call that waits in the operating system is interrupted by them. There should be one at a
/// time: all share one count.
#[derive(Debug)]
pub struct Signals {
    before: Vec<(i32, Before)>,
    news: Option<OwnedFd>,
}

/// What a signal did before.
struct Before(libc::sigaction);

impl std::fmt::Debug for Before {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("sigaction")
    }
}

impl Signals {
    /// Catches the signals that ask a program to stop (SIGINT, SIGTERM, SIGHUP, SIGQUIT), and
    /// counts them from 0. Those that would end this program without meaning anything to it
    /// (SIGUSR1 and the like) do nothing, unless they are caught already: as triggers.
    pub fn catch() -> Signals {
        let mut signals = Signals::start();
        signals.take(&STOPPING, asked as *const (), false);
        signals.take(&[libc::SIGQUIT], asked as *const (), true);
        signals.take(&PASSED_ON, ignored as *const (), true);
        signals.take(&real_time(), ignored as *const (), true);
        signals
    }

    /// The same for a recorder whose program is to get all signals that it has not got itself,
    /// but for those that are caught already. [`news`](Signals::news) tells of them, and of
    /// children that have ended.
    ///
    /// # Errors
    /// The operating system's.
    pub fn catch_for_a_program() -> std::io::Result<Signals> {
        let mut signals = Signals::start();
        let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
        let news = rustix::event::eventfd(0, flags)?;
        NEWS.store(news.as_raw_fd(), Ordering::Release);
        signals.news = Some(news);
        signals.take(&STOPPING, asked as *const (), false);
        signals.take(&PASSED_ON, passed_on as *const (), true);
        signals.take(&real_time(), passed_on as *const (), true);
        signals.take(&[libc::SIGCHLD], ignored as *const (), true);
        Ok(signals)
    }

    fn start() -> Signals {
        ASKED.store(0, Ordering::Relaxed);
        TERMINATED.store(false, Ordering::Relaxed);
        FORWARD.store(0, Ordering::Relaxed);
        Signals {
            before: Vec::new(),
            news: None,
        }
    }

    /// `unused`: only those that nobody catches or ignores.
    fn take(&mut self, signals: &[i32], handler: *const (), unused: bool) {
        for &signal in signals {
            let mut old = known(signal);
            if unused && old.sa_sigaction != libc::SIG_DFL {
                continue;
            }
            // SAFETY: structures of plain values; the handlers touch atomics and write to a
            // descriptor.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as usize;
                action.sa_flags = libc::SA_SIGINFO;
                if signal == libc::SIGCHLD {
                    action.sa_flags |= libc::SA_RESTART | libc::SA_NOCLDSTOP;
                }
                if libc::sigaction(signal, &raw const action, &raw mut old) == 0 {
                    self.before.push((signal, Before(old)));
                }
            }
        }
    }

    /// Which signals were ignored before they were caught here, and before this program was begun:
    /// a program that is started now would have them so, were it started without this one.
    pub fn ignored_before(&self) -> impl Iterator<Item = i32> + use<> {
        let ignored = |Before(action): &Before| action.sa_sigaction == libc::SIG_IGN;
        let mut before: Vec<i32> = self
            .before
            .iter()
            .filter(move |(_, it)| ignored(it))
            .map(|(signal, _)| *signal)
            .collect();
        if PIPE_IGNORED.load(Ordering::Relaxed) {
            before.push(libc::SIGPIPE);
        }
        if CHILDREN_IGNORED.load(Ordering::Relaxed) {
            before.push(libc::SIGCHLD);
        }
        before.into_iter()
    }

    /// How often it was asked to stop.
    pub fn asked(&self) -> u32 {
        ASKED.load(Ordering::Relaxed)
    }

    /// Whether one of them was SIGTERM.
    pub fn terminated(&self) -> bool {
        TERMINATED.load(Ordering::Relaxed)
    }

    /// Readable once something has come; [`heard`](Signals::heard) takes that back.
    pub fn news(&self) -> Option<BorrowedFd<'_>> {
        self.news.as_ref().map(AsFd::as_fd)
    }

    /// What [`news`](Signals::news) told of was looked at.
    pub fn heard(&self) {
        if let Some(news) = &self.news {
            let _ = rustix::io::read(news, &mut [0; 8]);
        }
    }

    /// The signals that the recorded program has not got itself, each once.
    pub fn to_forward(&self) -> impl Iterator<Item = i32> + use<> {
        let pending = FORWARD.swap(0, Ordering::Relaxed);
        (1..=64).filter(move |signal| pending & bit(*signal) != 0)
    }
}

/// Whether SIGPIPE was ignored when this program was begun. Rust's own start ignores it, and gives
/// programs that it starts the default.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

/// Comes before that start.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_AT_PIPE: extern "C" fn() = look_at_pipe;

extern "C" fn look_at_pipe() {
    let is_ignored = known(libc::SIGPIPE).sa_sigaction == libc::SIG_IGN;
    PIPE_IGNORED.store(is_ignored, Ordering::Relaxed);
}

/// What a signal does now.
fn known(signal: i32) -> libc::sigaction {
    // SAFETY: a structure of plain values, which the call fills in.
    unsafe {
        let mut known: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut known);
        known
    }
}

/// Whether SIGCHLD was ignored when this program was begun.
static CHILDREN_IGNORED: AtomicBool = AtomicBool::new(false);

/// Children of this program stay until they were asked how they ended, also where whoever began it
/// ignored SIGCHLD, as some supervisors do: the system then forgets children at their end. A
/// recorded program ignores the signal as before. To be called before anything is started.
pub fn keep_children() {
    let known = known(libc::SIGCHLD);
    let ignored = known.sa_sigaction == libc::SIG_IGN;
    if ignored || known.sa_flags & libc::SA_NOCLDWAIT != 0 {
        CHILDREN_IGNORED.store(ignored, Ordering::Relaxed);
        // SAFETY: the default is no handler.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    }
}

/// Those that have no name and no meaning but a program's own.
fn real_time() -> Vec<i32> {
    (libc::SIGRTMIN()..=libc::SIGRTMAX()).collect()
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, Before(action)) in self.before.iter().rev() {
            // SAFETY: what was there before.
            unsafe { libc::sigaction(*signal, action, std::ptr::null_mut()) };
        }
        NEWS.store(-1, Ordering::Release);
    }
}

/// That of a signal in a set.
pub fn bit(signal: i32) -> u64 {
    1u64.checked_shl((signal - 1) as u32).unwrap_or(0)
}

extern "C" fn asked(signal: i32, info: *const libc::siginfo_t, context: *mut libc::c_void) {
    ASKED.fetch_add(1, Ordering::Relaxed);
    if signal == libc::SIGTERM {
        TERMINATED.store(true, Ordering::Relaxed);
    }
    passed_on(signal, info, context);
}

extern "C" fn passed_on(signal: i32, info: *const libc::siginfo_t, context: *mut libc::c_void) {
    // What the terminal sends, it sends to the whole group.
    // SAFETY: the kernel passes the information for a handler that asked for it.
    let from_terminal = unsafe { info.as_ref() }.is_some_and(|info| info.si_code > 0);
    if !from_terminal {
        FORWARD.fetch_or(bit(signal), Ordering::Relaxed);
    }
    ignored(signal, info, context);
}

extern "C" fn ignored(_: i32, _: *const libc::siginfo_t, _: *mut libc::c_void) {
    let news = NEWS.load(Ordering::Acquire);
    if news >= 0 {
        let one = 1u64;
        // SAFETY: eight bytes; `errno` is put back for whoever was interrupted.
        unsafe {
            let errno = libc::__errno_location();
            let before = *errno;
            libc::write(news, (&raw const one).cast(), 8);
            *errno = before;
        }
    }
}
