//! The loop around a recorded program: who comes, who goes, what is seen past the hooks.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use netreel_reel::PastId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::descendants::{Descendants, descends_from_this, why_not_loaded};
use super::escape::{check_program, find_program, has_system_calls};
use super::hello::{
    HELLO_MAGIC, KIND_ATTACH, KIND_MORE, KIND_TRIPWIRE, KIND_UNMAPPED, VARIABLE, Welcome,
};
use super::library::Unpacked;
use super::messages::{read_hello, write_welcome};
use super::process::{Doing, Finished, Process, RINGS_MAX};
use super::tripwire::Tripwire;
use super::{ADDRESS_SANITIZER, Outcome, PreloadError, Report, Wanted, look};
use crate::open::reel_files;
use crate::progress::Progress;
use crate::recorder::{RecordError, Summary};
use crate::signals::Signals;
use netreel_transport::WhenFull;

/// How often the recording's state is told.
const LIVE_EVERY: Duration = Duration::from_millis(100);
/// How often the processes' descriptors are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The same when nothing is left but to see whether anybody lives.
const LAST_LOOK_EVERY: Duration = Duration::from_millis(50);
/// A program that does not load the library within this time never will.
const LOAD_MAX: Duration = Duration::from_secs(5);
/// So long the last events of a process that has ended are waited for.
const SETTLE: Duration = Duration::from_millis(50);

pub(super) fn record(
    wanted: &Wanted,
    report: &mut dyn FnMut(Report),
) -> Result<Outcome, PreloadError> {
    if !Unpacked::exists() {
        return Err(PreloadError::NoLibrary);
    }
    let name = wanted
        .command
        .first()
        .map(PathBuf::from)
        .unwrap_or_default();
    let shown = name.display().to_string();
    let program = find_program(&name).ok_or_else(|| PreloadError::NotFound(shown.clone()))?;
    check_program(&program).map_err(|why| PreloadError::Escapes {
        program: shown.clone(),
        why,
    })?;
    let out = &wanted.out;
    let at_out = |what: &str| format!("{what} {}", out.display());
    fs::create_dir_all(out).map_err(failed(at_out("make the folder")))?;
    let unpacked = Unpacked::new(out).map_err(failed(at_out("write into")))?;
    let listener = listen(&unpacked.socket).map_err(failed("listen for the program".to_owned()))?;
    let signals = Signals::catch();
    let library = unpacked.library.file_name().unwrap_or_default();
    let library = library.to_string_lossy();
    let descendants = wanted.children.then(|| Descendants::adopt(&library));
    let mut child = start(wanted, &unpacked).map_err(failed(format!("start {shown}")))?;
    let (sender, doings) = std::sync::mpsc::channel();
    let mut server = Server {
        wanted,
        report,
        main: child.id(),
        session: session_id(),
        begun: Instant::now(),
        processes: BTreeMap::new(),
        descendants,
        left: 0,
        held: None,
        sender,
        doings,
        loaded: false,
        refused: None,
        ended: Progress::default(),
        gaps: 0,
        failed: 0,
        not_followed: 0,
        reels: Vec::new(),
    };
    let status = server.run(&listener, &signals, &mut child);
    let everybody: Vec<u32> = server.processes.keys().copied().collect();
    for pid in everybody {
        server.finish(pid, Why::Ended);
    }
    server.hear();
    server.look_at_descendants();
    server.release();
    let live = server.live();
    let outcome = Outcome {
        status: status.map_err(failed("wait for the program".to_owned()))?,
        live,
        gaps: server.gaps,
        failed: server.failed,
        not_followed: server.not_followed,
        outlived: server.left,
        reels: server.reels,
    };
    if let Some(error) = server.refused {
        return Err(error.into());
    }
    if !server.loaded {
        let why = match look::has_address_sanitizer(&program) {
            true => ADDRESS_SANITIZER,
            false => "Is LD_PRELOAD forbidden for it, or its folder mounted noexec?",
        };
        return Err(PreloadError::NotLoaded(shown, why));
    }
    Ok(outcome)
}

/// A name for the recording, drawn at random.
fn session_id() -> [u8; 16] {
    let half = || RandomState::new().build_hasher().finish();
    (u128::from(half()) << 64 | u128::from(half()) | 1).to_le_bytes()
}

fn failed(what: String) -> impl FnOnce(io::Error) -> PreloadError {
    |error| PreloadError::Io { what, error }
}

fn listen(path: &Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let kind = SocketType::SEQPACKET;
    let socket = net::socket_with(AddressFamily::UNIX, kind, flags, None)?;
    net::bind(&socket, &net::SocketAddrUnix::new(path)?)?;
    // A program may drop its privileges before it reaches the recorder.
    fs::set_permissions(path, Permissions::from_mode(0o666))?;
    net::listen(&socket, 64)?;
    Ok(socket)
}

fn start(wanted: &Wanted, unpacked: &Unpacked) -> io::Result<Child> {
    let (program, arguments) = wanted
        .command
        .split_first()
        .ok_or(io::ErrorKind::InvalidInput)?;
    let mut preload = OsString::new();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(others);
        preload.push(":");
    }
    preload.push(&unpacked.library);
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LD_PRELOAD", preload)
        .env(VARIABLE, &unpacked.socket);
    if !wanted.random_addresses {
        // SAFETY: one system call between fork and exec.
        unsafe {
            command.pre_exec(|| {
                let before = libc::personality(0xffff_ffff);
                if before >= 0 {
                    let wanted = before | libc::ADDR_NO_RANDOMIZE;
                    // Where it is forbidden, the program runs all the same.
                    libc::personality(wanted as libc::c_ulong);
                }
                Ok(())
            })
        };
    }
    command.spawn()
}

struct Server<'a> {
    wanted: &'a Wanted,
    report: &'a mut dyn FnMut(Report),
    main: u32,
    /// In the reels of all processes.
    session: [u8; 16],
    begun: Instant,
    processes: BTreeMap<u32, Process>,
    /// `None` where children are not followed.
    descendants: Option<Descendants>,
    /// How many of them live.
    left: u64,
    /// The program's reel, which has nothing to see in it but may be the only one.
    held: Option<(Finished, Summary)>,
    sender: Sender<Doing>,
    doings: Receiver<Doing>,
    /// Whether the library was loaded into the program.
    loaded: bool,
    /// Why the program's first reel could not be made.
    refused: Option<RecordError>,
    /// What the processes that have ended came to.
    ended: Progress,
    gaps: u64,
    failed: u64,
    not_followed: u64,
    reels: Vec<PathBuf>,
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
    Ended(u32),
    Tripwire(u32),
}

impl Server<'_> {
    fn run(
        &mut self,
        listener: &OwnedFd,
        signals: &Signals,
        child: &mut Child,
    ) -> io::Result<Option<std::process::ExitStatus>> {
        let (mut lived, mut looked) = (Instant::now(), Instant::now());
        let mut status = None;
        // When the program had ended, and how often it had been asked to stop by then.
        let mut over: Option<(Instant, u32)> = None;
        // How often in a row nobody was left.
        let mut quiet = 0;
        loop {
            for ready in self.wait(listener)? {
                match ready {
                    Ready::Listener => self.welcome(listener),
                    Ready::Tripwire(pid) => self.tripped(pid),
                    Ready::Ended(pid) => self.finish(pid, Why::Ended),
                }
            }
            self.hear();
            let last = over.is_some() && self.processes.is_empty();
            let every = if last { LAST_LOOK_EVERY } else { LOOK_EVERY };
            if looked.elapsed() >= every {
                looked = Instant::now();
                self.look();
                self.look_at_descendants();
                // A process that starts another one and ends may slip past one look.
                quiet = if last && self.left == 0 { quiet + 1 } else { 0 };
            }
            if lived.elapsed() >= LIVE_EVERY {
                lived = Instant::now();
                let live = self.live();
                (self.report)(Report::Live(live));
                if over.is_some_and(|(since, _)| since.elapsed() > LOOK_EVERY) && self.left > 0 {
                    (self.report)(Report::Outlived(self.left));
                }
            }
            if let Some(signal) = signals.to_forward() {
                let pid = Pid::from_child(child);
                let signal = rustix::process::Signal::from_named_raw(signal);
                if let Some(signal) = signal.filter(|_| status.is_none()) {
                    let _ = rustix::process::kill_process(pid, signal);
                }
            }
            if status.is_none() {
                status = child.try_wait()?;
                if status.is_some() {
                    over = Some((Instant::now(), signals.asked()));
                }
            }
            let alone = self.descendants.is_none() || quiet >= 2;
            let stopped = over.is_some_and(|(_, before)| signals.asked() > before);
            if over.is_some() && self.processes.is_empty() && alone {
                return Ok(status);
            }
            if stopped || signals.asked() >= 2 {
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

    fn wait(&self, listener: &OwnedFd) -> io::Result<Vec<Ready>> {
        let mut fds = vec![PollFd::new(listener, PollFlags::IN)];
        let mut meanings = vec![Ready::Listener];
        for process in self.processes.values() {
            if let Some(tripwire) = &process.tripwire {
                fds.push(PollFd::new(tripwire.fd(), PollFlags::IN));
                meanings.push(Ready::Tripwire(process.pid));
            }
            fds.push(PollFd::new(&process.ended, PollFlags::IN));
            meanings.push(Ready::Ended(process.pid));
        }
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: 20_000_000,
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let ready = fds.iter().zip(meanings);
        let ready = ready.filter(|(fd, _)| fd.revents().contains(PollFlags::IN));
        Ok(ready.map(|(_, meaning)| meaning).collect())
    }

    /// A process asks for something.
    fn welcome(&mut self, listener: &OwnedFd) {
        let Ok(socket) = net::accept_with(listener, SocketFlags::CLOEXEC) else {
            return;
        };
        let patience = Some(Duration::from_secs(1));
        let _ = net::sockopt::set_socket_timeout(&socket, net::sockopt::Timeout::Recv, patience);
        let Some((hello, fd)) = read_hello(&socket) else {
            return;
        };
        let Ok(peer) = net::sockopt::socket_peercred(&socket) else {
            return;
        };
        let pid = peer.pid.as_raw_nonzero().get() as u32;
        // Others may reach the socket, for programs that drop their privileges.
        if peer.uid != rustix::process::getuid() && !descends_from_this(pid) {
            return;
        }
        let (welcome, file) = match hello.kind {
            KIND_ATTACH => self.attach(pid, hello.pid == pid),
            KIND_MORE => self.more(pid),
            KIND_TRIPWIRE => {
                self.arm(pid, fd);
                (Welcome::default(), None)
            }
            KIND_UNMAPPED => {
                self.unmapped(pid, hello.flags);
                (Welcome::default(), None)
            }
            _ => (Welcome::default(), None),
        };
        write_welcome(&socket, &welcome, file.as_ref());
    }

    fn attach(&mut self, pid: u32, same_numbers: bool) -> (Welcome, Option<File>) {
        if pid == self.main {
            self.loaded = true;
        } else if !self.wanted.children {
            self.not_followed += 1;
            return (Welcome::default(), None);
        }
        // The same process as another program.
        self.finish(pid, Why::Replaced);
        if let Some(descendants) = &mut self.descendants {
            descendants.comes(pid);
        }
        let welcome = self.new_process(pid).unwrap_or_default();
        if let Some(process) = self.processes.get_mut(&pid) {
            process.same_numbers = same_numbers;
        }
        welcome
    }

    fn new_process(&mut self, pid: u32) -> Option<(Welcome, Option<File>)> {
        let ended = pidfd_open(Pid::from_raw(pid as i32)?, PidfdFlags::empty()).ok()?;
        let options = self.wanted.options.clone();
        let sender = self.sender.clone();
        let told = (sender, self.session);
        let made = Process::new(pid, ended, &self.wanted.out, options, told);
        let process = match made {
            Ok(process) => process,
            Err(error) if pid == self.main && self.reels.is_empty() => {
                self.refused = Some(error);
                return None;
            }
            Err(error) => {
                self.failed += 1;
                (self.report)(Report::Failed(error));
                return None;
            }
        };
        let (file, rings, capacity) = process.recorder().share().ok()?;
        let watched =
            self.wanted.tripwire && look::path(pid).is_none_or(|path| has_system_calls(&path));
        let welcome = Welcome {
            magic: HELLO_MAGIC,
            accepted: 1,
            rings: rings as u32,
            capacity: capacity as u32,
            identity: 0,
            drop_when_full: u32::from(self.wanted.options.when_full == WhenFull::Drop),
            tripwire: u32::from(watched),
        };
        (self.report)(Report::Started {
            name: process.name.clone(),
            reel: process.path.clone(),
        });
        self.processes.insert(pid, process);
        Some((welcome, Some(file)))
    }

    fn more(&mut self, pid: u32) -> (Welcome, Option<File>) {
        let Some(process) = self.processes.get(&pid) else {
            return (Welcome::default(), None);
        };
        let added = process.recorder().add_ring().and_then(|index| {
            let (file, _, capacity) = process.recorder().share()?;
            Ok((index, file, capacity))
        });
        let (index, file, capacity) = match added {
            Ok(added) => added,
            Err(error) => {
                self.no_ring(pid, &error);
                return (Welcome::default(), None);
            }
        };
        let welcome = Welcome {
            magic: HELLO_MAGIC,
            accepted: 1,
            rings: index as u32,
            capacity: capacity as u32,
            ..Welcome::default()
        };
        (welcome, Some(file))
    }

    /// A thread has no room to push into. Said once, however many threads there are.
    fn no_ring(&mut self, pid: u32, error: &io::Error) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        if std::mem::replace(&mut process.ringless, true) {
            return;
        }
        let name = process.name.clone();
        let sentence = match error.kind() {
            io::ErrorKind::QuotaExceeded if error.raw_os_error().is_none() => format!(
                "{name}: what further threads do, because {} are recorded at a time, and no more",
                RINGS_MAX - 2
            ),
            _ => format!(
                "{name}: what a thread does, because there is no room for its buffer beside the reel: \
                 {error}. Make room there, or record with smaller buffers: --buffer 256k"
            ),
        };
        self.gap(pid, &sentence);
    }

    /// It has the ring file and cannot map it, or has no room for what each thread remembers.
    fn unmapped(&mut self, pid: u32, code: u32) {
        let Some(process) = self.processes.get(&pid) else {
            return;
        };
        let name = process.name.clone();
        let error = io::Error::from_raw_os_error(code as i32);
        self.gap(
            pid,
            &format!(
                "{name}: nothing that it does, because its buffers have no room in its memory: {error}. \
                 Raise its limit of address space (ulimit -v), or record with smaller buffers: --buffer 256k"
            ),
        );
    }

    fn arm(&mut self, pid: u32, listener: Option<OwnedFd>) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        match listener {
            Some(listener) => process.tripwire = Some(Tripwire::new(listener)),
            None => {
                let name = process.name.clone();
                self.gap(
                    pid,
                    &format!(
                        "{name}: it holds instructions that may enter the kernel past the recorder, and they cannot be watched here"
                    ),
                );
            }
        }
    }

    fn tripped(&mut self, pid: u32) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let name = process.name.clone();
        let Some(tripwire) = &mut process.tripwire else {
            return;
        };
        if let Some((thread, call)) = tripwire.answer() {
            self.gap(
                pid,
                &format!(
                    "{name}: thread {thread} calls {call} past the C library; such calls are not recorded"
                ),
            );
        }
    }

    /// Whoever runs unrecorded is named.
    fn look_at_descendants(&mut self) {
        let Some(descendants) = &mut self.descendants else {
            return;
        };
        let recorded = |pid| self.processes.contains_key(&pid);
        let (left, missing) = descendants.look(self.main, recorded);
        self.left = left;
        for missing in missing {
            self.gap(missing.pid, &missing.sentence);
        }
    }

    fn look(&mut self) {
        let pids: Vec<u32> = self.processes.keys().copied().collect();
        for pid in pids {
            let found = look::descriptors(pid);
            let Some(process) = self.processes.get_mut(&pid) else {
                continue;
            };
            process.drops = process.drops.max(found.drops);
            let seen = pid == self.main || process.counts().sockets > 0;
            if let Some(reached) = process.recorder().limit_reached()
                && seen
                && !std::mem::replace(&mut process.limited, true)
            {
                let name = process.name.clone();
                (self.report)(Report::Limit { name, reached });
            }
            // One that has just become another program may be about to say so itself.
            let now = look::path(pid);
            let other = now.is_some() && process.program.is_some() && now != process.program;
            let settled = std::mem::replace(&mut process.other, other);
            if other && settled {
                let name = process.name.clone();
                let shown = now.unwrap_or_default().display().to_string();
                process.program = None;
                process.becomes = None;
                self.gap(
                    pid,
                    &format!(
                        "{name}: it has become {shown}, into which the recorder was not loaded"
                    ),
                );
            }
            let Some(process) = self.processes.get_mut(&pid) else {
                continue;
            };
            if found.io_uring && !process.io_uring {
                process.io_uring = true;
                let name = process.name.clone();
                self.gap(
                    pid,
                    &format!("{name}: it uses io_uring; what it sends and receives that way is not recorded"),
                );
            }
        }
    }

    /// What recorded programs have done that may leave a gap.
    fn hear(&mut self) {
        while let Ok(doing) = self.doings.try_recv() {
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
                    if let Some((by, child)) = process.started
                        && by == thread
                        && let Some(descendants) = &mut self.descendants
                    {
                        descendants.forget(child);
                    }
                }
                Doing::Past { pid, what } => self.goes_past(pid, what),
                Doing::Vdso { pid } => {
                    let name = self.processes.get(&pid).map(|process| process.name.clone());
                    let name = name.unwrap_or_else(|| format!("process {pid}"));
                    self.gap(
                        pid,
                        &format!(
                            "{name}: it looks for the kernel's own library (vDSO); clocks and random bytes that it reads there are not recorded"
                        ),
                    );
                }
            }
        }
    }

    /// Named once for each process.
    fn goes_past(&mut self, pid: u32, what: PastId) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        if process.past.insert(what) {
            let sentence = format!("{}: {}", process.name, what.sentence());
            self.gap(pid, &sentence);
        }
    }

    /// Process `pid` becomes another program, or has started one as `child`.
    fn starts(&mut self, pid: u32, child: Option<u32>, asked: &Path, cleared: bool) {
        let Some(path) = find_program(asked) else {
            return;
        };
        let what = format!("{}, started by process {pid},", asked.display());
        let why = match check_program(&path) {
            Err(super::Escape::Io(_)) => None,
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
            self.gap(pid, &format!("{what} is not recorded: {why}"));
        } else if let (Some(child), Some(process)) = (child, &process) {
            if let Some(descendants) = self.descendants.as_mut().filter(|_| process.same_numbers) {
                descendants.expect(child, what, Some(path));
            }
        } else if let Some(process) = process {
            process.becomes = Some((what, path));
        }
    }

    /// Says what is missing, here and in the reel.
    fn gap(&mut self, pid: u32, sentence: &str) {
        self.gaps += 1;
        if let Some(process) = self.processes.get_mut(&pid) {
            process.note(sentence);
            process.marked = true;
        }
        (self.report)(Report::Gap(sentence.to_owned()));
    }

    fn finish(&mut self, pid: u32, why: Why) {
        let Some(process) = self.processes.get(&pid) else {
            return;
        };
        // What its last events tell of gaps is noted before the reel ends.
        process.recorder().settle(SETTLE);
        self.hear();
        let Some(mut process) = self.processes.remove(&pid) else {
            return;
        };
        let drops_seen = process.drops;
        if let Some((what, program)) = process.becomes.take().filter(|_| why == Why::Ended) {
            // That program has never come.
            let sentence = format!("{what} is not recorded: {}", why_not_loaded(&program));
            process.note(&sentence);
            process.marked = true;
            self.gaps += 1;
            (self.report)(Report::Gap(sentence));
        }
        let done = process.finish();
        self.ended.packets += done.counts.packets;
        self.ended.bytes += done.counts.bytes;
        self.ended.kernel_drops += drops_seen;
        if let Some(past) = &done.past {
            let name = &done.name;
            self.gaps += 1;
            (self.report)(Report::Gap(format!(
                "{name}: past the recorder it called {past}"
            )));
        }
        let summary = match done.summary {
            Ok(ref summary) => *summary,
            Err(error) => {
                self.failed += 1;
                self.reels.push(done.path);
                (self.report)(Report::Failed(error));
                return;
            }
        };
        self.ended.dropped += summary.dropped;
        if done.counts.sockets > 0 || done.marked {
            self.keep(done, &summary);
        } else if done.pid == self.main && why == Why::Ended {
            self.held = Some((done, summary));
        } else {
            remove(&done.path);
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
        self.reels.push(done.path.clone());
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
            Some((done, summary)) if self.reels.is_empty() => self.keep(done, &summary),
            Some((done, _)) => remove(&done.path),
            None => {}
        }
    }

    fn live(&self) -> Progress {
        let mut live = Progress {
            time: self.begun.elapsed(),
            ..self.ended
        };
        for process in self.processes.values() {
            let counts = process.counts();
            live.packets += counts.packets;
            live.bytes += counts.bytes;
            live.dropped += counts.dropped;
            live.kernel_drops += process.drops;
        }
        live
    }
}

fn remove(reel: &Path) {
    for file in reel_files(reel).unwrap_or_default() {
        let _ = fs::remove_file(file);
    }
}
