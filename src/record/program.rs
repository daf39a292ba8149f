//! `netreel record -- CMD`: runs an unmodified program and records it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use netreel_capture::preload::{self, Outcome, Report, Wanted};
use netreel_system::process::{FORBIDDEN_CALL, signal_of};

use super::line::{LiveLine, came_to};
use crate::arguments::Record;
use crate::outcome::{Answer, Result};
use crate::text;

/// Nothing of ours goes to the standard output, which is the program's.
pub fn run(arguments: &Record, folder: &Path) -> Result<Answer> {
    let (options, armed) = super::ring::options(arguments, folder)?;
    let wanted = Wanted {
        command: arguments.command.clone(),
        out: folder.to_owned(),
        children: !arguments.program.no_children,
        options,
        random_addresses: arguments.program.random_addresses,
        one_thread: arguments.program.one_thread_at_a_time,
        log: !arguments.program.no_log,
        tripwire: !arguments.program.no_tripwire,
        name: arguments.program.name.clone(),
    };
    let mut line = LiveLine::beside_a_program(armed);
    // Nodes of one session may well share a folder, one after the other; they have names then.
    if arguments.program.name.is_none() && holds_one_older_recording(folder) {
        line.say(&format!(
            "{} holds a recording that has ended, and then holds two recordings; they open together where \
             they have packets in common, or else one by one",
            folder.display()
        ));
    }
    let name = arguments.program.name.as_deref();
    let mut telling = Telling {
        line,
        name,
        more: String::new(),
        limited: false,
    };
    let outcome = preload::record(&wanted, &mut |report| telling.hear(report));
    telling.line.end();
    let outcome = outcome?;
    text::warn(summary(&outcome, folder, telling.limited));
    let program = outcome.status.map_or(0, exit_code);
    if !missing(&outcome).is_empty() && program == 0 && arguments.program.fail_on_missing {
        Ok(Answer::Wrong)
    } else {
        Ok(Answer::Code(program))
    }
}

/// Says what happens while the program runs.
struct Telling<'a> {
    line: LiveLine,
    /// What the recording is called, where somebody says so.
    name: Option<&'a str>,
    /// What stands behind the line.
    more: String,
    /// Whether a reel has ended before its program.
    limited: bool,
}

impl Telling<'_> {
    fn hear(&mut self, report: Report) {
        match report {
            Report::Live(live) => self.line.show(&live, &self.more),
            Report::Outlived(processes) => {
                if self.more.is_empty() {
                    self.line.say(&format!(
                        "the program has ended; recording {} that it started; Ctrl-C ends",
                        outliving(processes)
                    ));
                }
                self.more = format!("{} left; Ctrl-C ends", outliving(processes));
            }
            Report::Started { name, .. } => self.started(&name),
            Report::Threads(name) => self.line.say(&format!(
                "{name}: several of its threads have packets. Everything is recorded but the order in which \
                 they look at each other's memory, by which a replay may part; --one-thread-at-a-time \
                 records that as well, and says at once where a program does not run so"
            )),
            Report::Gap(sentence) => self.line.say(&format!("not recorded: {sentence}")),
            Report::Ended {
                name,
                reel,
                size: (events, bytes),
                deleted,
                dropped,
            } => {
                let deleted = match deleted {
                    0 => String::new(),
                    deleted => format!("; {deleted} older ones were deleted, as --ring or --keep asks"),
                };
                let dropped = match dropped {
                    0 => String::new(),
                    dropped => format!(", {dropped} DROPPED"),
                };
                self.line.say(&format!(
                    "{name}: {events} events{dropped}, {} in {}{deleted}",
                    text::bytes(bytes),
                    reel.display()
                ));
            }
            Report::Limit { name, reached } => {
                self.limited = true;
                self.line.say(&format!(
                    "{name}: the reel has ended: {reached}; what the program does later is not in it"
                ));
            }
            Report::RotationFailed { name, error } => self.line.say(&format!(
                "{name}: a new file could not be begun or an old one not be ended ({error}); \
                 nothing is lost for it"
            )),
            Report::Failed(error) => self.line.say(&error.to_string()),
        }
    }

    fn started(&mut self, name: &str) {
        let wanted = self.name;
        let again = wanted.and_then(|wanted| name.strip_prefix(wanted)?.strip_prefix('-'));
        if let (Some(wanted), Some(_)) = (wanted, again.filter(|it| it.parse::<u32>().is_ok())) {
            self.line.say(&format!(
                "{wanted}.reel is there already; this recording's node and reel are called {name}"
            ));
        }
    }
}

/// What the recording came to, and what is missing of it. `limited`: a reel has ended before its
/// program.
fn summary(outcome: &Outcome, folder: &Path, limited: bool) -> Vec<String> {
    let live = &outcome.live;
    let mut told = vec![format!("{}: {}", came_to(live), folder.display())];
    let connections = text::counted(outcome.connections, "TCP connection");
    match (outcome.sockets, outcome.connections) {
        (0, 0) if missing(outcome).is_empty() && !limited => {
            told.push("no UDP socket was opened; TCP is not recorded".to_owned());
        }
        (0, 1..) => told.push(format!(
            "no UDP socket was opened, and {connections}: TCP is not recorded"
        )),
        (1.., 1..) => told.push(format!(
            "{} by UDP beside {connections}: TCP is not recorded; if that is where the game speaks, \
             little of it is here",
            text::counted(live.packets, "packet")
        )),
        _ => {}
    }
    if live.kernel_drops > 0 {
        let by_signal = outcome
            .status
            .is_some_and(|status| signal_of(status).is_some());
        told.push(format!(
            "{}{} dropped by the kernel, because the program read too slowly",
            if by_signal { "at least " } else { "" },
            text::counted(live.kernel_drops, "packet")
        ));
    }
    if outcome.not_followed > 0 {
        let number = outcome.not_followed;
        told.push(format!("{number} child processes were not followed"));
    }
    if outcome.status.is_some() && outcome.outlived > 0 {
        let processes = outliving(outcome.outlived);
        told.push(format!(
            "{processes} that it started: unrecorded from here on"
        ));
    }
    match outcome.status {
        Some(status) if status.success() => {}
        Some(status) => told.push(match (status.code(), signal_of(status)) {
            (Some(code), _) => format!("the program ended with {code}"),
            (None, signal) => {
                let signal = signal.unwrap_or_default();
                let ended = format!("the program was ended by signal {signal}");
                match signal {
                    FORBIDDEN_CALL => ended + FORBIDDEN,
                    _ => ended,
                }
            }
        }),
        None => told.push("the program goes on, unrecorded".to_owned()),
    }
    let missing = missing(outcome);
    if !missing.is_empty() {
        told.push(format!(
            "the recording is not whole: {}; --fail-on-missing makes that exit code 1",
            missing.join(", ")
        ));
    }
    told
}

/// What may have ended a program by SIGSYS.
const FORBIDDEN: &str = " (SIGSYS): a seccomp filter forbids a call that it made, or one that the \
recorder makes in it (getsockopt, getsockname, getpeername, fstat, futex, nanosleep, socket, connect). \
The recorder does without those that a filter forbids which the program itself sets by the C library; \
it cannot know one that was there before the program began. Run it without that filter, or record it \
from outside (--proxy, --live)";

/// What is missing of the recording.
fn missing(outcome: &Outcome) -> Vec<String> {
    let left = match outcome.status {
        Some(_) => outcome.outlived,
        None => outcome.outlived.max(1),
    };
    let count = |number, what| (number > 0).then(|| text::counted(number, what));
    let missing = [
        count(outcome.gaps, "gap"),
        count(outcome.live.dropped, "dropped event"),
        count(outcome.failed, "unwritten reel"),
        (left > 0).then(|| format!("{} unrecorded from some time on", outliving(left))),
    ];
    missing.into_iter().flatten().collect()
}

/// The exit code that a shell would give.
fn exit_code(status: ExitStatus) -> u8 {
    let signal = signal_of(status).map(|signal| 128 + signal);
    let code = status.code().or(signal).unwrap_or(1);
    u8::try_from(code & 0xff).unwrap_or(1)
}

fn outliving(processes: u64) -> String {
    match processes {
        1 => "1 process".to_owned(),
        processes => format!("{processes} processes"),
    }
}

/// Whether there are reels of one recording, which has ended.
fn holds_one_older_recording(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let reels: Vec<PathBuf> = paths
        .filter(|path| path.extension() == Some("reel".as_ref()))
        .collect();
    let sessions = reels.iter().filter_map(|reel| {
        let reel = netreel_capture::open(reel).ok()?;
        Some(reel.header().session)
    });
    let sessions: BTreeSet<[u8; 16]> = sessions.collect();
    sessions.len() == 1 && !reels.iter().any(|reel| netreel_capture::is_recorded(reel))
}
