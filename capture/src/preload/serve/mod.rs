//! The loop around a recorded program: who comes, who goes, and what their reels came to.

mod launch;
mod past;
mod welcome;

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};

use netreel_reel::ProcessEnd;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::descendants::{Descendants, LOAD_MAX, why_not_loaded};
use super::escape::{ADDRESS_SANITIZER, check_program, find_program};
use super::library::Unpacked;
use super::process::{Doings, Drops, Finished, Process, Telling, doings};
use super::tripwire::{Tripwire, Watched};
use super::wanted::cannot;
use super::{Outcome, PreloadError, Report, Wanted, look};
use crate::open::reel_files;
use crate::progress::Progress;
use netreel_record::others::Writer;
use netreel_record::{RecordError, Summary, tidy};
use netreel_system::ready;
use netreel_system::signals::Signals;

use launch::start;
pub(super) use launch::{keep_addresses, listen};

/// How often the recording's state is told.
const LIVE_EVERY: Duration = Duration::from_millis(500);
/// How often the processes' descriptors are looked at, at most and at least: so rarely that it
/// takes an eight thousandth of a processor, once the program has run for a while.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const LOOK_MAX: Duration = Duration::from_secs(4);
const LOOK_SHARE: u32 = 8000;
const A_WHILE: Duration = Duration::from_secs(5);
/// The same while the kernel drops packets: what it dropped behind the last look before a signal ends
/// the program is not known.
const DROPPING_LOOK_EVERY: Duration = Duration::from_millis(100);
/// The same when nothing is left but to see whether anybody lives.
const LAST_LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long the last events of a process that has ended are waited for.
const SETTLE: Duration = Duration::from_secs(2);

/// Runs the program and records it until it and all that descends from it have ended, or until
/// it was asked to stop twice (Ctrl-C, SIGTERM, SIGHUP; the first goes to the program), or once
/// after the program has ended.
///
/// Where children are wanted, this process is meanwhile the one that orphans of its descendants
/// get as their parent, and reaps them.
pub fn record(wanted: &Wanted, report: &mut dyn FnMut(Report)) -> Result<Outcome, PreloadError> {
    if !Unpacked::exists() {
        return Err(PreloadError::NoLibrary);
    }
    let name = wanted.command.first().map(PathBuf::from);
    let name = name.unwrap_or_default();
    let shown = name.display().to_string();
    let program = find_program(&name).ok_or_else(|| PreloadError::NotFound(name.clone()))?;
    check_program(&program).map_err(|why| PreloadError::Escapes {
        program: shown.clone(),
        why,
    })?;
    let out = &wanted.out;
    let at_out = |what: &str| cannot(format!("{what} {}", out.display()));
    fs::create_dir_all(out).map_err(at_out("make the folder"))?;
    tidy(out);
    let mut unpacked = Unpacked::new(out).map_err(at_out("write into"))?;
    let listener = listen(&unpacked.socket).map_err(cannot("listen for the program"))?;
    let writer = Writer::start_for_others().map_err(cannot("start the writing thread"))?;
    let signals = Signals::catch_for_a_program().map_err(cannot("catch signals"))?;
    let library = unpacked.library.file_name().unwrap_or_default();
    let library = library.to_string_lossy();
    let descendants = wanted.children.then(|| Descendants::adopt(&library));
    let starts = cannot(format!("start {shown}"));
    let mut child = start(wanted, &unpacked, &signals).map_err(starts)?;
    let (sender, doings) = doings().map_err(cannot("listen to what is written"))?;
    let mut server = Server {
        wanted,
        program: &program,
        report,
        main: child.id(),
        main_end: None,
        session: session_id(),
        begun: Instant::now(),
        processes: BTreeMap::new(),
        inherited: Vec::new(),
        watched: BTreeMap::new(),
        descendants,
        left: 0,
        held: None,
        writer: Arc::new(writer),
        sender,
        doings,
        loaded: false,
        refused: None,
        drops: Drops::default(),
        done: Outcome::default(),
    };
    let status = server.run(&listener, &signals, &mut child);
    server.end();
    if server.left > 0 {
        unpacked.leave_library();
    }
    let status = status.map_err(cannot("wait for the program"))?;
    if let Some(error) = server.refused.take() {
        return Err(error.into());
    }
    if !server.loaded {
        let why = if look::has_address_sanitizer(&program) {
            ADDRESS_SANITIZER
        } else {
            "Is LD_PRELOAD forbidden for it, or its folder mounted noexec?"
        };
        return Err(PreloadError::NotLoaded(shown, why));
    }
    Ok(server.outcome(status))
}

/// A name for the recording, drawn at random.
fn session_id() -> [u8; 16] {
    let half = || RandomState::new().build_hasher().finish();
    (u128::from(half()) << 64 | u128::from(half()) | 1).to_le_bytes()
}

/// What this thread has taken of a processor.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

struct Server<'a> {
    wanted: &'a Wanted,
    /// The file of the program that was asked for.
    program: &'a Path,
    report: &'a mut dyn FnMut(Report),
    main: u32,
    /// How it has ended, once it was waited for.
    main_end: Option<ProcessEnd>,
    /// In the reels of all processes.
    session: [u8; 16],
    begun: Instant,
    processes: BTreeMap<u32, Process>,
    /// Tripwires of processes that have ended: while those are left that inherited them, somebody
    /// must answer.
    inherited: Vec<Tripwire>,
    /// Who was started without the library, and is watched.
    watched: BTreeMap<u32, Watched>,
    /// `None` where children are not followed.
    descendants: Option<Descendants>,
    /// How many of them live.
    left: u64,
    /// The program's reel, which has nothing to see in it but may be the only one.
    held: Option<(Finished, Summary)>,
    /// Writes the reels of all processes.
    writer: Arc<Writer>,
    sender: Telling,
    doings: Doings,
    /// Whether the library was loaded into the program.
    loaded: bool,
    /// Why the program's first reel could not be made.
    refused: Option<RecordError>,
    /// What the kernel dropped of packets of processes that have ended.
    drops: Drops,
    /// What the processes that have ended came to.
    done: Outcome,
}

/// Why a reel is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The process has ended, or recording has.
    Ended,
    /// It runs another program now.
    Replaced,
}

/// What is to be looked at.
enum Ready {
    Listener,
    /// What was written tells of something.
    Doings,
    /// A signal, or a child that has ended.
    Signal,
    Ended(u32),
    Tripwire(u32),
    Inherited(usize),
    /// Nobody is left who has it.
    Unused(usize),
}

/// An end by this code, or by this signal.
fn end_by(code: Option<i32>, signal: Option<i32>) -> Option<ProcessEnd> {
    let byte = |number: Option<i32>| u8::try_from(number?).ok();
    let code = byte(code).map(ProcessEnd::Code);
    code.or_else(|| byte(signal).map(ProcessEnd::Signal))
}

/// How a process has ended. `None` where it lives, or where another one is its parent: that one
/// alone is told.
fn how_ended(pid: u32) -> Option<ProcessEnd> {
    let pid = Pid::from_raw(pid.cast_signed())?;
    // It stays for whoever waits for it.
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(pid), look).ok()??;
    end_by(status.exit_status(), status.terminating_signal())
}

impl Server<'_> {
    fn run(
        &mut self,
        listener: &OwnedFd,
        signals: &Signals,
        child: &mut Child,
    ) -> io::Result<Option<ExitStatus>> {
        let (mut live_at, mut look_at) = (Instant::now(), Instant::now());
        let mut status = None;
        // When the program had ended, and how often it had been asked to stop by then.
        let mut over: Option<(Instant, u32)> = None;
        // How often in a row nobody was left.
        let mut quiet = 0;
        loop {
            let mut until = live_at.min(look_at);
            if !self.loaded {
                until = until.min(self.begun + LOAD_MAX);
            }
            for ready in self.wait(listener, signals, until)? {
                if self.take(ready, listener, signals) && over.is_some() {
                    // A child has ended, maybe the last.
                    look_at = Instant::now();
                }
            }
            self.hear();
            // Where a thread of it is traced, it may have stopped alone.
            if status.is_none() && how_ended(self.main).is_some() {
                status = child.try_wait()?;
                self.main_end = status.and_then(|it| end_by(it.code(), it.signal()));
                if status.is_some() {
                    over = Some((Instant::now(), signals.asked()));
                }
            }
            let last = over.is_some() && self.processes.is_empty();
            if Instant::now() >= look_at {
                let before = processor_time();
                let dropping = self.look();
                self.look_at_descendants(last);
                // A process that starts another one and ends may slip past one look.
                quiet = if last && self.left == 0 { quiet + 1 } else { 0 };
                let cost = processor_time().saturating_sub(before);
                look_at = Instant::now() + self.pause(cost, dropping, over.is_some());
            }
            if last && self.left == 0 {
                look_at = look_at.min(Instant::now() + LAST_LOOK_EVERY);
            }
            if Instant::now() >= live_at {
                live_at = Instant::now() + LIVE_EVERY;
                let live = self.live();
                (self.report)(Report::Live(live));
                if over.is_some_and(|(since, _)| since.elapsed() > LOOK_EVERY) && self.left > 0 {
                    (self.report)(Report::Outlived(self.left));
                }
            }
            for signal in signals.to_forward().filter(|_| status.is_none()) {
                // SAFETY: a child that was not waited for, so that its number is no other's.
                unsafe { libc::kill(child.id().cast_signed(), signal) };
            }
            let alone = self.descendants.is_none() || quiet >= 2;
            let stopped = over.is_some_and(|(_, before)| signals.asked() > before);
            if over.is_some() && self.processes.is_empty() && alone {
                return Ok(status);
            }
            // Whoever ends all that was started waits for the program, and not for what it leaves behind.
            let terminated = signals.terminated() && over.is_some();
            if terminated || stopped || signals.asked() >= 2 {
                return Ok(status);
            }
            let late = !self.loaded && self.begun.elapsed() > LOAD_MAX;
            if late || self.refused.is_some() {
                // It must not go on as if it were recorded.
                child.kill()?;
                return Ok(Some(child.wait()?));
            }
        }
    }

    /// Does what something asks for that is ready. Whether it was a signal.
    fn take(&mut self, ready: Ready, listener: &OwnedFd, signals: &Signals) -> bool {
        let is_signal = matches!(ready, Ready::Signal);
        match ready {
            Ready::Listener => self.welcome(listener),
            Ready::Tripwire(pid) => self.tripped(pid),
            Ready::Inherited(index) => self.tripped_by_heirs(index),
            Ready::Unused(index) => drop(self.inherited.remove(index)),
            Ready::Ended(pid) => self.finish(pid, Why::Ended),
            Ready::Doings => self.doings.heard(),
            Ready::Signal => signals.heard(),
        }
        is_signal
    }

    /// How long it is until the next look, after one that took `cost` of a processor.
    fn pause(&self, cost: Duration, dropping: bool, is_over: bool) -> Duration {
        match self.begun.elapsed() < A_WHILE || is_over {
            _ if dropping => DROPPING_LOOK_EVERY,
            true => LOOK_EVERY,
            false => (cost * LOOK_SHARE).clamp(LOOK_EVERY, LOOK_MAX),
        }
    }

    /// Writes down the last of everybody.
    fn end(&mut self) {
        let everybody: Vec<u32> = self.processes.keys().copied().collect();
        for process in self.processes.values().filter(|it| it.lives()) {
            process.recorder().lets_go();
        }
        self.name_who_is_watched();
        for pid in &everybody {
            self.say_last(*pid, Why::Ended);
        }
        for pid in everybody {
            self.finish(pid, Why::Ended);
        }
        self.hear();
        self.look_at_descendants(true);
        self.release();
    }

    fn outcome(self, status: Option<ExitStatus>) -> Outcome {
        Outcome {
            status,
            live: self.live(),
            outlived: self.left,
            ..self.done
        }
    }

    fn wait(
        &self,
        listener: &OwnedFd,
        signals: &Signals,
        until: Instant,
    ) -> io::Result<Vec<Ready>> {
        let mut fds = vec![PollFd::new(listener, PollFlags::IN)];
        let mut meanings = vec![Ready::Listener];
        fds.push(PollFd::from_borrowed_fd(self.doings.fd(), PollFlags::IN));
        meanings.push(Ready::Doings);
        if let Some(news) = signals.news() {
            fds.push(PollFd::from_borrowed_fd(news, PollFlags::IN));
            meanings.push(Ready::Signal);
        }
        for process in self.processes.values() {
            if let Some(tripwire) = &process.tripwire {
                fds.push(PollFd::new(tripwire.fd(), PollFlags::IN));
                meanings.push(Ready::Tripwire(process.pid));
            }
            fds.push(PollFd::new(&process.ended, PollFlags::IN));
            meanings.push(Ready::Ended(process.pid));
        }
        // From the last one on, so that those before keep their places when it goes.
        for (index, tripwire) in self.inherited.iter().enumerate().rev() {
            fds.push(PollFd::new(tripwire.fd(), PollFlags::IN));
            meanings.push(Ready::Inherited(index));
        }
        let left = until.saturating_duration_since(Instant::now());
        // A moment longer, so that what is waited for is due afterwards.
        let left = left + Duration::from_millis(1);
        ready::wait(&mut fds, Some(left))?;
        let ready = fds.iter().zip(meanings).filter_map(|(fd, meaning)| {
            let (events, over) = (fd.revents(), PollFlags::HUP | PollFlags::ERR);
            match meaning {
                _ if events.contains(PollFlags::IN) => Some(meaning),
                Ready::Inherited(index) if events.intersects(over) => Some(Ready::Unused(index)),
                _ => None,
            }
        });
        Ok(ready.collect())
    }

    /// Has a reel end soon, with the last words that concern it.
    fn say_last(&mut self, pid: u32, why: Why) {
        let Some(process) = self.processes.get(&pid) else {
            return;
        };
        if process.is_ending() {
            return;
        }
        // What its last events tell of gaps is noted before the reel ends.
        process.recorder().settle(SETTLE);
        self.hear();
        self.name_what_never_came(pid, why);
        let known = self.main_end.filter(|_| pid == self.main);
        let end = known.or_else(|| how_ended(pid));
        let end = end.filter(|_| why == Why::Ended);
        if let Some(process) = self.processes.get_mut(&pid) {
            let drops = self.drops.add(&process.drops);
            process.say_last(drops, end);
        }
    }

    fn finish(&mut self, pid: u32, why: Why) {
        self.say_last(pid, why);
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let summary = process.end();
        // What is behind a number that was never published comes only now, and must be heard before
        // this process is gone, or becomes known as another program.
        self.hear();
        self.name_what_never_came(pid, why);
        let Some(process) = self.processes.remove(&pid) else {
            return;
        };
        let mut done = process.finished(summary);
        // The kernel lets a process that becomes another program have another one only without this.
        if why == Why::Ended {
            self.inherited.extend(done.tripwire.take());
        }
        self.done.live.packets += done.counts.packets;
        self.done.live.bytes += done.counts.bytes;
        self.done.sockets += done.counts.sockets;
        self.done.connections += done.counts.connections;
        if let Some(past) = &done.past {
            let name = &done.name;
            self.done.gaps += 1;
            (self.report)(Report::Gap(format!(
                "{name}: past the recorder it called {past}"
            )));
        }
        let summary = match done.summary {
            Ok(ref summary) => summary.clone(),
            Err(error) => {
                self.done.failed += 1;
                self.done.reels.push(done.path);
                (self.report)(Report::Failed(error));
                return;
            }
        };
        self.done.live.dropped += summary.dropped;
        if done.counts.sockets > 0 || done.marked {
            self.keep(done, &summary);
        } else if done.pid == self.main && why == Why::Ended {
            self.held = Some((done, summary));
        } else {
            remove(&done.path);
        }
    }

    /// A process has ended that was about to become another program.
    fn name_what_never_came(&mut self, pid: u32, why: Why) {
        let process = self.processes.get_mut(&pid);
        let becomes = process.and_then(|process| process.becomes.take());
        if let Some((what, program)) = becomes.filter(|_| why == Why::Ended) {
            let why = why_not_loaded(&program);
            self.gap(pid, &format!("{what} is not recorded: {why}"));
        }
    }

    /// A reel that has ended is one of the recording's.
    fn keep(&mut self, done: Finished, summary: &Summary) {
        if let Some(code) = summary.rotation_failed {
            let (name, error) = (done.name.clone(), io::Error::from_raw_os_error(code));
            (self.report)(Report::RotationFailed { name, error });
        }
        if let Some(reached) = summary.limit.filter(|_| !done.limited) {
            let name = done.name.clone();
            (self.report)(Report::Limit { name, reached });
        }
        self.done.reels.push(done.path.clone());
        (self.report)(Report::Ended {
            name: done.name,
            reel: done.path,
            size: (
                summary.events.saturating_sub(summary.events_deleted),
                summary.bytes,
            ),
            deleted: summary.events_deleted,
            dropped: summary.dropped,
        });
    }

    /// The program's empty reel is kept where there is no other: a shell beside what it started
    /// has nothing to see in its reel.
    fn release(&mut self) {
        match self.held.take() {
            Some((done, summary)) if self.done.reels.is_empty() => self.keep(done, &summary),
            Some((done, _)) => remove(&done.path),
            None => {}
        }
    }

    fn live(&self) -> Progress {
        let mut live = Progress {
            time: self.begun.elapsed(),
            ..self.done.live
        };
        let mut drops = self.drops.clone();
        for process in self.processes.values() {
            let counts = process.counts();
            live.packets += counts.packets;
            live.bytes += counts.bytes;
            live.dropped += counts.dropped;
            drops.add(&process.drops);
        }
        live.kernel_drops = drops.sum();
        live
    }
}

fn remove(reel: &Path) {
    for file in reel_files(reel).unwrap_or_default() {
        let _ = fs::remove_file(file);
    }
}
