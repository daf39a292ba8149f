//! Telling a program that stands still from one that is at work, and where it stands.

use std::fs;
use std::time::{Duration, Instant};

use super::super::look;

/// Watches over a program that is replayed.
pub(super) struct Watchdog {
    pid: u32,
    patience: Option<Duration>,
    /// Where the tape was, and since when.
    next: u64,
    since: Instant,
    /// Of the time since then: how long it did nothing.
    idle: Duration,
    latest: (Instant, u64),
}

/// A program that computes has this many times the patience.
const AT_WORK: u32 = 12;

impl Watchdog {
    pub fn new(pid: u32, patience: Option<Duration>) -> Watchdog {
        let now = Instant::now();
        Watchdog {
            pid,
            patience,
            next: 0,
            since: now,
            idle: Duration::ZERO,
            latest: (now, 0),
        }
    }

    /// How long it has not come further, as of the latest look.
    pub fn stands(&self) -> Duration {
        self.since.elapsed()
    }

    /// Looks at the program; a sentence where it stands still.
    pub fn look(&mut self, next: u64) -> Option<String> {
        let now = Instant::now();
        let status = look::told(self.pid, "status");
        if next != self.next || is_held(&status) {
            (self.next, self.since, self.idle) = (next, now, Duration::ZERO);
            self.latest = (now, ticks(self.pid));
            return None;
        }
        let (before, worked) = self.latest;
        let pause = now - before;
        if pause >= Duration::from_millis(500) {
            let ticks = ticks(self.pid);
            // A tick is ten milliseconds.
            let at_work = Duration::from_millis(10 * ticks.saturating_sub(worked));
            if at_work * 5 < pause {
                self.idle += pause;
            }
            self.latest = (now, ticks);
        }
        let patience = self.patience?;
        if self.idle >= patience {
            return Some(format!("it waits: {}", places(self.pid)));
        }
        if now - self.since >= patience * AT_WORK {
            return Some(format!(
                "it has computed for {} s without an event: {}",
                (now - self.since).as_secs(),
                places(self.pid)
            ));
        }
        None
    }
}

/// Whether somebody holds it: it is stopped, or a debugger has it.
fn is_held(status: &str) -> bool {
    let is_traced = look::field(status, "TracerPid:").is_some_and(|pid| pid != "0");
    let state = look::field(status, "State:");
    is_traced || state.is_some_and(|state| state.starts_with(['T', 't']))
}

/// The processor time of a process, in ticks.
fn ticks(pid: u32) -> u64 {
    let text = look::told(pid, "stat");
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut words = rest.split_whitespace().skip(11);
    let mut next = || words.next().and_then(|word| word.parse::<u64>().ok());
    next().unwrap_or(0) + next().unwrap_or(0)
}

/// Where each thread of a process is.
fn places(pid: u32) -> String {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let mut numbers: Vec<u32> = tasks
        .filter_map(|task| task.file_name().to_string_lossy().parse().ok())
        .collect();
    numbers.sort_unstable();
    let count = numbers.len();
    let mut told: Vec<String> = numbers
        .iter()
        .take(8)
        .map(|task| place(pid, *task))
        .collect();
    if count > told.len() {
        told.push(format!("and {} more", count - told.len()));
    }
    told.join("; ")
}

/// Where a tape lies in the program.
const TAPE_HINT: u64 = 0x2000_0000_0000;

fn place(pid: u32, task: u32) -> String {
    let text = look::told(pid, &format!("task/{task}/syscall"));
    let mut words = text.split_whitespace();
    let number = words.next().unwrap_or("");
    let argument = words
        .next()
        .and_then(|word| word.strip_prefix("0x"))
        .and_then(|word| u64::from_str_radix(word, 16).ok())
        .unwrap_or(0);
    let who = if task == pid {
        "the first thread"
    } else {
        "a thread"
    };
    let Ok(number) = number.parse::<i64>() else {
        return format!("{who} computes");
    };
    let leads = || {
        let target = fs::read_link(format!("/proc/{pid}/fd/{argument}"));
        target.map_or_else(|_| "nothing".to_owned(), |path| path.display().to_string())
    };
    let on = |call: &str| format!("{who} is in {call} of descriptor {argument} ({})", leads());
    match number {
        libc::SYS_futex if (TAPE_HINT..TAPE_HINT + (1 << 40)).contains(&argument) => {
            format!("{who} waits until the recording's other threads have done what comes before")
        }
        libc::SYS_futex => format!("{who} waits for a lock or a condition of another thread"),
        libc::SYS_read => on("a read"),
        libc::SYS_write => on("a write"),
        libc::SYS_recvfrom | libc::SYS_recvmsg => on("a receive"),
        libc::SYS_accept | libc::SYS_accept4 => on("accept"),
        libc::SYS_wait4 | libc::SYS_waitid => format!("{who} waits for another process"),
        libc::SYS_rt_sigtimedwait | libc::SYS_rt_sigsuspend => format!("{who} waits for a signal"),
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => format!("{who} sleeps"),
        other => format!("{who} is in system call {other}"),
    }
}
