//! Starting an unmodified program again with the library in it, answered from a tape.

mod nudge;
mod scratch;
mod standard;
mod start;
mod stuck;
mod tape;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::Child;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use netreel_reel::tape::{TapeControl, state};
use netreel_shared::hello::{HELLO_MAGIC, KIND_ATTACH, MUTED, REPLAYED, Welcome};
use netreel_system::ready::wait;
use rustix::event::{PollFd, PollFlags};

use super::again::{Rerun, RerunEnd, Then};
use super::library::Unpacked;
use super::look;
use super::messages::{next, write_welcome};
use super::serve::listen;
use super::wanted::{PreloadError, cannot};
use netreel_record::others::REPLAY_FILES;
use nudge::Nudges;
use scratch::Scratch;
use standard::Standards;
use stuck::Watchdog;
use tape::Tape;

/// How long a program has to reach the library.
const LOAD_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);
const LOOK_AT_ONCE: Duration = Duration::from_millis(1);

/// Starts the program and answers it until it ends. `stopped` is called with its process id whenever it
/// has stopped itself where the tape, or `stopped` before, says so; the program stands still while
/// `stopped` works.
///
/// # Errors
/// The program cannot be started, or the library cannot be loaded into it or not watch it.
pub fn rerun(
    wanted: &Rerun,
    stopped: &mut dyn FnMut(u32) -> Then,
) -> Result<RerunEnd, PreloadError> {
    if !Unpacked::exists() {
        return Err(PreloadError::NoLibrary);
    }
    let unpacked =
        Unpacked::in_temporary().map_err(cannot("unpack the library into the temporary folder"))?;
    let listener = listen(&unpacked.socket).map_err(cannot("listen for the program"))?;
    let files = unpacked.library.with_file_name(REPLAY_FILES);
    let scratch =
        Scratch::new(files, &wanted.kept).map_err(cannot("put the files back that it changes"))?;
    let mut tape = Tape::new(&wanted.tape, scratch.path().as_os_str().as_bytes())
        .map_err(cannot("make the tape"))?;
    let shown = String::from_utf8_lossy(&wanted.program).into_owned();
    let starts = format!("start {shown}");
    let standards = Standards::open(&wanted.standard).map_err(cannot(starts.as_str()))?;
    let mut child = start::start(wanted, &standards, &unpacked).map_err(cannot(starts.as_str()))?;
    let relay = standards.relay();
    let watched = watch(wanted, &listener, &mut tape, &mut child, stopped);
    if watched.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(cannot("wait for the program"))?;
    // All that it printed is handed on before anything is said of it.
    drop(relay.map_err(cannot("hand on what it prints"))?);
    let watched = watched.map_err(cannot("watch the program"))?;
    if !watched.loaded {
        let why = "Is LD_PRELOAD forbidden for it, or the temporary folder mounted noexec?";
        return Err(PreloadError::NotLoaded(shown, why));
    }
    let control = tape.control();
    let get = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Acquire);
    Ok(RerunEnd {
        next: get(&control.next),
        sends: get(&control.sends),
        bytes: get(&control.bytes),
        came: tape.came(),
        printed: [tape.printed(0), tape.printed(1)],
        stuck: watched.stuck,
        status,
        over: control.state.load(Ordering::Acquire) == state::OVER,
        passed: control.passed.load(Ordering::Relaxed),
        sleeps: (
            control.sleeps_more.load(Ordering::Relaxed),
            control.sleeps_less.load(Ordering::Relaxed),
        ),
        refused: control.refused.load(Ordering::Relaxed),
        opened: tape.opened(),
        maps: watched.maps,
    })
}

#[derive(Default)]
struct Watched {
    loaded: bool,
    stuck: Option<String>,
    maps: String,
}

fn watch(
    wanted: &Rerun,
    listener: &OwnedFd,
    tape: &mut Tape,
    child: &mut Child,
    stopped: &mut dyn FnMut(u32) -> Then,
) -> io::Result<Watched> {
    let mut watched = Watched::default();
    let mut dog = Watchdog::new(child.id(), wanted.patience);
    let mut nudges = Nudges::default();
    let begun = Instant::now();
    let (mut is_left, mut let_go) = (false, None::<Instant>);
    loop {
        // Somebody waits for the program to come to its next stop.
        let is_awaited = let_go.is_some_and(|since| since.elapsed() < LOOK_EVERY);
        let pause = if is_awaited { LOOK_AT_ONCE } else { LOOK_EVERY };
        let ended = rustix::process::pidfd_open(
            rustix::process::Pid::from_child(child),
            rustix::process::PidfdFlags::empty(),
        )?;
        let mut fds = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(&ended, PollFlags::IN),
        ];
        wait(&mut fds, Some(pause))?;
        if !fds[0].revents().is_empty() {
            welcome(wanted, listener, tape, child.id(), &mut watched);
        }
        if child.try_wait()?.is_some() {
            return Ok(watched);
        }
        if !watched.loaded && begun.elapsed() > LOAD_MAX {
            child.kill()?;
            return Ok(watched);
        }
        let control = tape.control();
        if !is_left && control.stopped.load(Ordering::Relaxed) != 0 {
            match stopped(child.id()) {
                Then::LeftToOthers => is_left = true,
                Then::Until(event) => {
                    let_go = Some(Instant::now());
                    go_on(control, child, event)?;
                }
                Then::Ended => {
                    child.kill()?;
                    return Ok(watched);
                }
            }
        }
        let next = control.next.load(Ordering::Relaxed);
        if let Some(why) = dog.look(next).filter(|_| watched.loaded) {
            watched.stuck = Some(why);
            child.kill()?;
            return Ok(watched);
        }
        nudges.look(tape, child.id(), (next, dog.stands()));
    }
}

/// Lets a program that has stopped itself go on to another event.
fn go_on(control: &TapeControl, child: &Child, event: u64) -> io::Result<()> {
    let pid = rustix::process::Pid::from_child(child);
    // The program says that it stops before it does: a signal that comes in between would be lost. Where
    // it came further instead, a debugger has let it go on.
    let next = control.next.load(Ordering::Relaxed);
    while control.next.load(Ordering::Relaxed) == next && !is_stopped(child.id()) {
        std::thread::sleep(LOOK_AT_ONCE);
    }
    control.stop_at.store(event, Ordering::Relaxed);
    control.stopped.store(0, Ordering::Release);
    rustix::process::kill_process(pid, rustix::process::Signal::CONT)?;
    Ok(())
}

/// Whether a process is stopped; also whether it is gone, so that nothing waits for it any more.
fn is_stopped(pid: u32) -> bool {
    let status = look::told(pid, "status");
    let state = look::field(&status, "State:").unwrap_or_default();
    state.is_empty() || state.starts_with(['T', 't', 'Z', 'X'])
}

fn welcome(wanted: &Rerun, listener: &OwnedFd, tape: &Tape, main: u32, watched: &mut Watched) {
    let Some((socket, pid, _, hello, _)) = next(listener) else {
        return;
    };
    let first = pid == main && hello.kind == KIND_ATTACH && !watched.loaded;
    if !first {
        let welcome = Welcome {
            magic: HELLO_MAGIC,
            accepted: MUTED,
            ..Welcome::default()
        };
        return write_welcome(&socket, &welcome, None);
    }
    watched.loaded = true;
    watched.maps = look::told(pid, "maps");
    let control = tape.control();
    let welcome = Welcome {
        magic: HELLO_MAGIC,
        accepted: REPLAYED,
        rings: control.rings,
        capacity: control.capacity,
        identity: wanted.tape.len() as u64,
        one_thread: u32::from(wanted.one_thread),
        no_log: u32::from(control.prints == 0),
        ..Welcome::default()
    };
    write_welcome(&socket, &welcome, Some((&tape.file, None)));
}
