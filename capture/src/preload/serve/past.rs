//! What is seen past the hooks, and is named: a gap must never be silent.

use std::mem;
use std::path::Path;
use std::time::{Duration, Instant};

use netreel_reel::PastId;

use super::super::descendants::{LOAD_MAX, may_load};
use super::super::escape::{check_program, find_program};
use super::super::process::{Doing, Process};
use super::super::tripwire::Watched;
use super::super::{Escape, Report, look};
use super::Server;

/// Within this time it is told what came of one that was watched and has ended.
const TOLD: Duration = Duration::from_millis(200);

impl Server<'_> {
    pub fn tripped(&mut self, pid: u32) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let tripwire = process.tripwire.as_mut();
        if let Some((thread, call)) = tripwire.and_then(|it| it.answer(&self.watched)) {
            self.own_gap(pid, &past_the_library(thread, call));
        }
    }

    /// A process calls whose parent, or who itself as another program, had the tripwire set.
    pub fn tripped_by_heirs(&mut self, index: usize) {
        let tripwire = self.inherited.get_mut(index);
        if let Some((thread, call)) = tripwire.and_then(|it| it.answer(&self.watched)) {
            self.gap(thread, &past_the_library(thread, call));
        }
    }

    /// Whoever runs unrecorded is named. `thorough`: nobody may be missed.
    pub fn look_at_descendants(&mut self, thorough: bool) {
        let Some(descendants) = &mut self.descendants else {
            return;
        };
        let recorded = |pid| self.processes.contains_key(&pid);
        let (left, missing) = descendants.look(self.main, recorded, thorough);
        self.left = left;
        for missing in missing {
            self.gap(missing.pid, &missing.sentence);
        }
    }

    /// Looks at what processes have open; whether the kernel dropped packets of theirs since the last
    /// look.
    pub fn look(&mut self) -> bool {
        let mut dropping = false;
        let pids: Vec<u32> = self.processes.keys().copied().collect();
        let mut sockets = look::Sockets::default();
        for pid in pids {
            let found = sockets.of(pid);
            let Some(process) = self.processes.get_mut(&pid) else {
                continue;
            };
            for (inode, drops) in found.drops {
                dropping |= process.drops.see(inode, drops);
            }
            let seen = pid == self.main || process.counts().sockets > 0;
            if let Some(reached) = process.recorder().limit_reached()
                && seen
                && !mem::replace(&mut process.limited, true)
            {
                let name = process.name.clone();
                (self.report)(Report::Limit { name, reached });
            }
            let full = process.recorder().no_room();
            let known = mem::replace(&mut process.full, full.is_some());
            if let Some(error) = full.filter(|_| !known) {
                self.own_gap(pid, &format!("what finds no room in its buffers, because nothing can be written now: {error}; recording goes on when there is room"));
            }
            let Some(process) = self.processes.get_mut(&pid) else {
                continue;
            };
            // One that has just become another program may be about to say so itself.
            let now = look::path(pid);
            let other = now.is_some() && process.program.is_some() && now != process.program;
            let since = process.other.filter(|_| other);
            process.other = other.then(|| since.unwrap_or_else(Instant::now));
            let waits = || since.is_some_and(|it| it.elapsed() < LOAD_MAX) && may_load(pid);
            if since.is_some() && !waits() {
                let now = now.unwrap_or_default();
                process.program = None;
                process.becomes = None;
                self.own_gap(
                    pid,
                    &format!(
                        "it has become {}, into which the recorder was not loaded",
                        now.display()
                    ),
                );
            }
            let Some(process) = self.processes.get_mut(&pid) else {
                continue;
            };
            if found.io_uring && !process.io_uring {
                process.io_uring = true;
                self.own_gap(pid, PastId::IO_URING.sentence());
            }
        }
        dropping
    }

    /// What recorded programs have done that may leave a gap.
    pub fn hear(&mut self) {
        while let Some(doing) = self.doings.next() {
            match doing {
                Doing::Starts {
                    pid,
                    thread,
                    child,
                    path,
                    cleared,
                } => {
                    if let Some(process) = self.processes.get_mut(&pid) {
                        process.started = child.map(|child| (thread, child));
                    }
                    self.starts(pid, child, &path, cleared);
                }
                Doing::Forks { pid, child } => {
                    let Some(process) = self.processes.get(&pid) else {
                        continue;
                    };
                    let what = format!("process {child}, forked by {},", process.name);
                    if let Some(descendants) =
                        self.descendants.as_mut().filter(|_| process.same_numbers)
                    {
                        descendants.expect(child, what, None);
                    }
                }
                Doing::Stays { pid, thread } => {
                    let Some(process) = self.processes.get_mut(&pid) else {
                        continue;
                    };
                    process.becomes = None;
                    self.watched.remove(&pid);
                    if let Some((by, child)) = process.started
                        && by == thread
                        && let Some(descendants) = &mut self.descendants
                    {
                        descendants.forget(child);
                        self.watched.remove(&child);
                    }
                }
                Doing::Watched { pid, apart: None } => {
                    self.watched.insert(pid, Watched::default());
                }
                Doing::Watched { pid, apart } => {
                    if let Some(watched) = self.watched.get_mut(&pid) {
                        watched.apart = apart;
                        self.judge(pid);
                    }
                }
                Doing::Past { pid, what, calls } => self.goes_past(pid, what, &calls),
                Doing::Drops { pid, inode, drops } => {
                    if let Some(process) = self.processes.get_mut(&pid) {
                        process.drops.see(inode, drops);
                    }
                }
                Doing::Threads { pid } => {
                    if let Some(process) =
                        self.processes.get(&pid).filter(|_| !self.wanted.one_thread)
                    {
                        let name = process.name.clone();
                        (self.report)(Report::Threads(name));
                    }
                }
                Doing::Vdso { pid } => self.own_gap(
                    pid,
                    "it looks for the kernel's own library (vDSO); clocks and random bytes that it reads there are not recorded",
                ),
            }
        }
    }

    /// Named once for each process.
    fn goes_past(&mut self, pid: u32, what: PastId, calls: &[u16]) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        // Its descriptor may have been seen first.
        let seen = what == PastId::IO_URING && mem::replace(&mut process.io_uring, true);
        if process.past.insert(what) && !seen {
            let mut sentence = what.sentence().to_owned();
            if !calls.is_empty() {
                let calls: Vec<&str> = calls.iter().map(|call| name(*call)).collect();
                sentence += &format!(
                    " ({}): addresses, options and dropped packets of sockets, and sockets that it \
                     did not make itself, may be missing from here on. A program that it becomes or starts has the filter too, and \
                     the recorder in it does not know it. Run it without that filter, or record it from outside \
                     (--proxy, --live)",
                    calls.join(", ")
                );
            }
            self.own_gap(pid, &sentence);
        }
    }

    /// Process `pid` becomes another program, or has started one as `child`.
    fn starts(&mut self, pid: u32, child: Option<u32>, asked: &Path, cleared: bool) {
        let Some(path) = find_program(asked) else {
            return;
        };
        let what = format!("{}, started by process {pid},", asked.display());
        let why = match check_program(&path) {
            Err(Escape::Io(_)) => None,
            Err(why) => Some(why.to_string()),
            Ok(()) if cleared => Some("its environment was cleaned of the recorder".to_owned()),
            Ok(()) => None,
        };
        let process = self.processes.get_mut(&pid);
        if let Some(why) = why {
            match (child, &mut self.descendants, process) {
                (Some(child), Some(descendants), _) => descendants.name(child),
                // That it has become this one need not be told as well.
                (None, _, Some(process)) => process.program = None,
                _ => {}
            }
            let sentence = format!("{what} is not recorded: {why}");
            let who = child.unwrap_or(pid);
            match self.watched.get_mut(&who) {
                Some(watched) => {
                    watched.gap = Some((pid, sentence));
                    self.judge(who);
                }
                None => self.gap(pid, &sentence),
            }
        } else if let (Some(child), Some(process)) = (child, &process) {
            if let Some(descendants) = self.descendants.as_mut().filter(|_| process.same_numbers) {
                descendants.expect(child, what, Some(path));
            }
        } else if let Some(process) = process {
            process.becomes = Some((what, path));
        }
    }

    /// Names process `pid`, which was watched, unless it kept apart from packets, once both are known.
    fn judge(&mut self, pid: u32) {
        if let Some(Watched {
            gap: Some((by, sentence)),
            apart: Some(apart),
        }) = self.watched.get(&pid)
        {
            let (by, sentence, apart) = (*by, sentence.clone(), *apart);
            self.watched.remove(&pid);
            if !apart {
                self.gap(by, &sentence);
            }
        }
    }

    /// Whoever is watched still when the recording ends is named. Of those that have ended it is told at
    /// once what came of it.
    pub fn name_who_is_watched(&mut self) {
        self.hear();
        let until = Instant::now() + TOLD;
        let has_ended = |(pid, watched): (&u32, &Watched)| {
            watched.apart.is_none() && look::path(*pid).is_none()
        };
        while self.watched.iter().any(has_ended) && Instant::now() < until {
            std::thread::sleep(TOLD / 20);
            self.hear();
        }
        for (_, watched) in mem::take(&mut self.watched) {
            if let Some((by, sentence)) = watched.gap {
                self.gap(by, &sentence);
            }
        }
    }

    /// Says what is missing, here and in the reel.
    pub fn gap(&mut self, pid: u32, sentence: &str) {
        self.note_gap(pid, sentence);
        (self.report)(Report::Gap(sentence.to_owned()));
    }

    /// The same of what process `pid` itself does: its name stands before it here, and its own reel needs
    /// not name it.
    pub fn own_gap(&mut self, pid: u32, sentence: &str) {
        let told = match self.note_gap(pid, sentence) {
            Some(process) => format!("{}: {sentence}", process.name),
            None => format!("process {pid}: {sentence}"),
        };
        (self.report)(Report::Gap(told));
    }

    fn note_gap(&mut self, pid: u32, sentence: &str) -> Option<&Process> {
        self.done.gaps += 1;
        let process = self.processes.get_mut(&pid)?;
        process.note(sentence);
        process.marked = true;
        Some(process)
    }
}

fn past_the_library(thread: u32, call: &str) -> String {
    format!("thread {thread} calls {call} past the C library; such calls are not recorded")
}

/// A call that the recorder makes in recorded programs.
fn name(number: u16) -> &'static str {
    match libc::c_long::from(number) {
        libc::SYS_getsockopt => "getsockopt",
        libc::SYS_getsockname => "getsockname",
        libc::SYS_getpeername => "getpeername",
        libc::SYS_fstat => "fstat",
        libc::SYS_futex => "futex",
        libc::SYS_nanosleep => "nanosleep",
        libc::SYS_socket => "socket",
        _ => "another call",
    }
}
