//! `netreel replay PATH -- CMD`: a program that was recorded as it is, started again; it may stop where
//! somebody who steps through its recording goes.

pub mod asked;
mod files;
pub mod told;

use std::io::Write;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netreel_capture::preload::{self, Rerun, RerunEnd, Then};
use netreel_protocol::session::{ReelInput, SessionReel};
use netreel_reel::{EventNumber, ProcessEnd, Reel};
use netreel_replay::program::{
    Began, Ended, Happened, Judged, PrintedNow, Ran, Reasons, Runner, Tape, judge,
    others_of_the_kernel, record,
};
use netreel_system::process::signal_of;
use netreel_wire::Wire;

use super::breaks::Condition;
use super::reels::{names, one, wire_of};
use crate::arguments::{Replay, Threads};
use crate::outcome::{Answer, Failure, Result, fail};
use crate::{open, text};

/// How long a program may do nothing, in seconds.
const PATIENCE_S: f64 = 10.0;

/// Whether a program is to be started again. Options that say nothing then, or only then, are wrong.
pub fn is_asked(arguments: &Replay) -> Result<bool> {
    let program = &arguments.program;
    let wrong = |option: &str, why: &str| fail(format!("{option}: {why}"));
    if !program.is_asked() {
        return match (program.threads, program.no_log) {
            (Some(_), _) => wrong("--threads", NO_PROGRAM),
            (_, true) => wrong("--no-log", NO_PROGRAM),
            _ => Ok(false),
        };
    }
    let others = [
        ("--together", arguments.together.together),
        ("--layer", arguments.together.layer.is_some()),
        ("--tune", !arguments.tune.is_empty()),
        ("--set", !arguments.set.is_empty()),
        ("--from", arguments.sit.from.is_some()),
        ("--to", arguments.onto.to.is_some()),
        ("--vscode", arguments.gdb.vscode.is_some()),
    ];
    match others.iter().find(|(_, is_there)| *is_there) {
        Some((option, _)) => wrong(
            option,
            "a program behind `--` is started from its beginning, and answered to its end; --step, --until \
             and --gdb stop it on the way",
        ),
        None => Ok(true),
    }
}

const NO_PROGRAM: &str = "it is about a program that is started again; `--` at the end of the command \
                          starts the recorded one";

pub fn run(arguments: &Replay, out: &mut dyn Write) -> Result<Answer> {
    let wire = open::wire_given(&arguments.read.source.wire)?;
    let (meant, stop_at) = meant(arguments, wire)?;
    let mut prepared = Prepared::new(meant, arguments)?;
    if let Some(event) = stop_at {
        prepared.tape.stop_at(event);
    }
    let mut debugger = None;
    let end = preload::rerun(&prepared.rerun(), &mut |pid| {
        if arguments.gdb.gdb.is_some() {
            debugger = super::gdb::attach(pid);
        }
        if debugger.is_none() {
            told::stopped(pid, wanted_stop(arguments).unwrap_or_default());
        }
        Then::LeftToOthers
    });
    if let Some(mut debugger) = debugger {
        // It has the terminal; its end is its user's affair.
        let _ = debugger.wait();
    }
    let judged = prepared.judge(end?);
    let (name, tape) = (&prepared.meant.name, &prepared.tape);
    if arguments.read.json {
        writeln!(out, "{}", told::as_json(name, &judged, tape))?
    } else {
        told::print(name, &judged, tape, out)?
    }
    Ok(answer(&judged))
}

/// A program that can be started again, as often as somebody wants.
pub struct Prepared {
    meant: Meant,
    began: Began,
    tape: Tape,
    rerun: Rerun,
    doubts: Vec<String>,
    files: files::Files,
}

impl Prepared {
    /// Refuses what is not the program that was recorded, or cannot be started again.
    pub fn new(meant: Meant, arguments: &Replay) -> Result<Prepared> {
        let source = &arguments.read.source;
        let reel = &meant.reel;
        let began = Began::of(reel);
        let command = &arguments.program.command;
        let began = asked::check(reel, began.as_ref(), command, &source.paths)?.clone();
        let threads = arguments.program.threads.unwrap_or(Threads::All);
        let mut tape = record(reel, &began, threads.into())?;
        if command.is_empty() {
            let folder = String::from_utf8_lossy(&began.folder);
            let command = asked::recorded(reel.header());
            anstream::eprintln!("netreel: starts again, in {folder}: {command}");
        }
        if arguments.program.no_log {
            tape.compares_no_lines();
        }
        if let Some(event) = tape.connects {
            anstream::eprintln!(
                "netreel: at event {event} it makes a TCP connection, which a replay refuses, because TCP is not \
                 recorded: what it does behind that may be something else"
            );
        }
        let (mut rerun, doubts) = asked::rerun(reel, &began, &tape)?;
        let files = files::Files::look(reel, &tape.kept);
        let patience = arguments.patience.unwrap_or(PATIENCE_S);
        rerun.patience = (patience > 0.0).then(|| Duration::from_secs_f64(patience));
        Ok(Prepared {
            meant,
            began,
            tape,
            rerun,
            doubts,
            files,
        })
    }

    /// How it is started, with the tape as it is by now.
    fn rerun(&self) -> Rerun {
        Rerun {
            tape: self.tape.bytes.clone(),
            ..self.rerun.clone()
        }
    }

    /// Says what came of it.
    fn judge(&self, end: RerunEnd) -> Judged {
        let reel = &self.meant.reel;
        let (tcp, moved) = (refused(end.refused), asked::moved(&self.began, &end.maps));
        let of_the_kernel = others_of_the_kernel(reel, &end.opened).into_iter().map(|path| {
            format!(
                "the file {path} said something else than when it was recorded: it is the kernel's"
            )
        });
        let happened = happened(end);
        judge(
            &self.tape,
            &happened,
            (self.meant.wire.as_deref(), reel),
            &names(&self.meant.all),
            || {
                let known = tcp.into_iter().chain(self.files.changed()).collect();
                let guesses = self
                    .doubts
                    .iter()
                    .cloned()
                    .chain(moved)
                    .chain(of_the_kernel)
                    .collect();
                Reasons { known, guesses }
            },
        )
    }
}

/// Where the program is to be stopped.
fn wanted_stop(arguments: &Replay) -> Option<&str> {
    let until = arguments.sit.until.as_deref();
    until.or(arguments.gdb.gdb.as_deref())
}

/// The program that is to be started again.
pub struct Meant {
    pub name: String,
    pub reel: Arc<Reel>,
    /// All that lie there, whose endpoints have names.
    pub all: Vec<Arc<Reel>>,
    /// By which its packets are explained.
    pub wire: Option<Arc<Wire>>,
}

/// Finds it, and the event before which it is to be stopped. The session of all reels is put together only
/// where a condition or a name needs it.
fn meant(arguments: &Replay, wire: Option<Arc<Wire>>) -> Result<(Meant, Option<EventNumber>)> {
    let source = &arguments.read.source;
    let (node, until) = (arguments.node.as_deref(), wanted_stop(arguments));
    if until.is_none() {
        let reels = open::reels(&source.paths)?;
        if let Some(input) = by_header(&reels.inputs, node) {
            text::warn(&reels.unread);
            let meant = Meant {
                name: input.reel.header().node.clone(),
                reel: Arc::clone(&input.reel),
                all: reels.reels(),
                wire: wire_of(&wire, &input.reel)?,
            };
            return Ok((meant, None));
        }
    }
    let story = open::in_silence(
        source,
        &source.paths,
        wire.clone(),
        netreel_protocol::session::Session::builder(),
    )?;
    text::warn(&story.unread);
    let reels = story.session.session_reels();
    let reel = one(&reels, node, ("started again", can_start))?;
    let option = match arguments.sit.until {
        Some(_) => "--until",
        None => "--gdb",
    };
    let stop_at = until.map(|until| {
        let first = Condition::parse(until, &story, reel).and_then(|condition| {
            let first = condition.first(reel);
            first.ok_or_else(|| format!("no event of {} fits", reel.name))
        });
        first.map_err(|why| Failure::new(format!("{option} {until}: {why}")))
    });
    Ok((Meant::of(reel, &reels, wire)?, stop_at.transpose()?))
}

impl Meant {
    /// The program of a reel, of a session that has these.
    pub fn of(
        reel: &SessionReel<'_>,
        all: &[SessionReel<'_>],
        wire: Option<Arc<Wire>>,
    ) -> Result<Meant> {
        Ok(Meant {
            name: reel.name.clone(),
            reel: Arc::clone(reel.reel),
            all: all.iter().map(|it| Arc::clone(it.reel)).collect(),
            wire: wire_of(&wire, reel.reel)?,
        })
    }
}

/// The reel whose header has this name, where there is one such; without a name the only one there is.
fn by_header<'a>(inputs: &'a [ReelInput], node: Option<&str>) -> Option<&'a ReelInput> {
    let mut fitting = inputs.iter().filter(|input| {
        let name = &input.reel.header().node;
        !name.is_empty()
            && match node {
                Some(node) => node == name,
                None => can_start(&input.reel),
            }
    });
    fitting.next().filter(|_| fitting.next().is_none())
}

/// Whether a reel is of a program that was started, and not of a child that a recorded one began.
pub fn can_start(reel: &Reel) -> bool {
    Began::of(reel).is_none_or(|began| !began.forked)
}

fn answer(judged: &Judged) -> Answer {
    match judged.ended {
        Ended::Exact => Answer::Clean,
        Ended::Stuck(_) => Answer::Unknown,
        Ended::Parted(_) | Ended::Early(_) | Ended::Line(_) | Ended::Otherwise { .. } => {
            Answer::Wrong
        }
    }
}

fn refused(connections: u32) -> Option<String> {
    (connections > 0).then(|| {
        format!(
            "it tried to make {}, which a replay refuses: TCP is not recorded",
            text::counted(u64::from(connections), "TCP connection")
        )
    })
}

fn happened(end: RerunEnd) -> Happened {
    Happened {
        next: end.next,
        sends: end.sends,
        passed: u64::from(end.passed),
        sleeps: (u64::from(end.sleeps.0), u64::from(end.sleeps.1)),
        came: end.came.map(|came| (came.what, came.bytes)),
        stuck: end.stuck,
        printed: end.printed.map(|printed| PrintedNow {
            bytes: printed.bytes,
            differs: printed.differs,
        }),
        ended: ended(end.status),
        end: process_end(end.status),
        over: end.over,
    }
}

fn process_end(status: ExitStatus) -> Option<ProcessEnd> {
    let byte = |number: i32| u8::try_from(number).ok();
    let code = status.code().and_then(byte).map(ProcessEnd::Code);
    code.or_else(|| signal_of(status).and_then(byte).map(ProcessEnd::Signal))
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), signal_of(status)) {
        (Some(code), _) => format!("the program ended with exit code {code}"),
        (None, signal) => {
            format!(
                "the program was ended by signal {}",
                signal.unwrap_or_default()
            )
        }
    }
}

/// A program that is started again as often as somebody goes back.
pub struct Stepped {
    prepared: Prepared,
    running: Option<Running>,
}

/// One that runs, or stands still. A thread starts and watches it: whatever starts a program has to.
struct Running {
    then: Sender<Then>,
    came: Receiver<Came>,
    thread: JoinHandle<()>,
}

/// What is heard of it.
enum Came {
    Stopped(u32),
    Ended(Result<Box<RerunEnd>, String>),
}

impl Stepped {
    /// Starts nothing yet.
    pub fn new(prepared: Prepared) -> Stepped {
        Stepped {
            prepared,
            running: None,
        }
    }

    /// Waits until it stands still, or has ended.
    fn wait(&mut self) -> Result<Ran, String> {
        let came = self.running.as_ref().map(|running| running.came.recv());
        match came {
            Some(Ok(Came::Stopped(process))) => Ok(Ran::Stands(process)),
            Some(Ok(Came::Ended(end))) => {
                self.end();
                Ok(Ran::Ended(Box::new(self.prepared.judge(*end?))))
            }
            Some(Err(_)) | None => Err("the program is not watched any more".to_owned()),
        }
    }

    /// Ends it, where it is not over.
    fn end(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        // A program that is not stopped hears it when it stops, or has ended.
        let _ = running.then.send(Then::Ended);
        drop(running.then);
        drop(running.thread.join());
    }
}

impl Runner for Stepped {
    fn start(&mut self, until: EventNumber) -> Result<Ran, String> {
        self.end();
        self.prepared.tape.stop_at(until);
        let rerun = self.prepared.rerun();
        let (then, thens) = channel();
        let (says, came) = channel();
        let work = move || {
            let end = preload::rerun(&rerun, &mut |process| {
                drop(says.send(Came::Stopped(process)));
                // Whoever stepped has gone.
                thens.recv().unwrap_or(Then::Ended)
            });
            let end = end.map(Box::new).map_err(|error| error.to_string());
            drop(says.send(Came::Ended(end)));
        };
        let thread = thread::Builder::new()
            .name("program".to_owned())
            .spawn(work)
            .map_err(|error| format!("there can be no thread for it: {error}"))?;
        self.running = Some(Running { then, came, thread });
        self.wait()
    }

    fn go_on(&mut self, until: EventNumber) -> Result<Ran, String> {
        if let Some(running) = &self.running {
            let _ = running.then.send(Then::Until(until.0));
        }
        self.wait()
    }

    fn tape(&self) -> &Tape {
        &self.prepared.tape
    }
}

impl Drop for Stepped {
    fn drop(&mut self) {
        self.end();
    }
}
