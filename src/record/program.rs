//! `netreel record -- CMD`: runs an unmodified program and records it.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use netreel_capture::preload::{self, Report, Wanted};

use super::line::{LiveLine, came_to};
use crate::arguments::Record;
use crate::outcome::{Answer, Failure};
use crate::text;

pub fn run(arguments: &Record, folder: &Path, out: &mut dyn Write) -> Result<Answer, Failure> {
    let (options, armed) = super::options(arguments, folder)?;
    let wanted = Wanted {
        command: arguments.command.clone(),
        out: folder.to_owned(),
        children: !arguments.program.no_children,
        options,
        random_addresses: arguments.program.random_addresses,
        tripwire: !arguments.program.no_tripwire,
    };
    let mut line = LiveLine::beside_a_program(armed);
    if holds_reels(folder) {
        line.say(&format!(
            "{} holds reels already, and then holds two recordings; they open together where they \
             have packets in common, or else one by one",
            folder.display()
        ));
    }
    let mut more = String::new();
    let outcome = preload::record(&wanted, &mut |report| match report {
        Report::Live(live) => line.show(&live, &more),
        Report::Outlived(processes) => {
            if more.is_empty() {
                line.say(&format!(
                    "the program has ended; recording {} that it started; Ctrl-C ends",
                    outliving(processes)
                ));
            }
            more = format!("{} left; Ctrl-C ends", outliving(processes));
        }
        Report::Started { .. } => {}
        Report::Gap(sentence) => line.say(&format!("not recorded: {sentence}")),
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
            line.say(&format!(
                "{name}: {events} events{dropped}, {} in {}{deleted}",
                text::bytes(bytes),
                reel.display()
            ));
        }
        Report::Limit { name, reached } => line.say(&format!(
            "{name}: the reel has ended: {reached}; what the program does later is not in it"
        )),
        Report::RotationFailed { name, error } => line.say(&format!(
            "{name}: a new file could not be begun or an old one not be ended ({error}); \
             nothing is lost for it"
        )),
        Report::Failed(error) => line.say(&error.to_string()),
    });
    line.end();
    let outcome = outcome.map_err(Failure::new)?;
    let live = outcome.live;
    writeln!(out, "{}: {}", came_to(&live), folder.display())?;
    if live.kernel_drops > 0 {
        writeln!(
            out,
            "{} packets were dropped by the kernel, because the program read too slowly",
            live.kernel_drops
        )?;
    }
    if outcome.not_followed > 0 {
        let number = outcome.not_followed;
        writeln!(out, "{number} child processes were not followed")?;
    }
    if outcome.status.is_some() && outcome.outlived > 0 {
        let processes = outliving(outcome.outlived);
        writeln!(out, "{processes} that it started: unrecorded from here on")?;
    }
    let program = match outcome.status {
        Some(status) if status.success() => true,
        Some(status) => {
            let how = match (status.code(), status.signal()) {
                (Some(code), _) => format!("ended with {code}"),
                (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
            };
            writeln!(out, "the program {how}")?;
            false
        }
        None => {
            writeln!(out, "the program goes on, unrecorded")?;
            true
        }
    };
    if program && outcome.gaps == 0 && outcome.failed == 0 && live.dropped == 0 {
        Ok(Answer::Clean)
    } else {
        Ok(Answer::Wrong)
    }
}

fn outliving(processes: u64) -> String {
    match processes {
        1 => "1 process".to_owned(),
        processes => format!("{processes} processes"),
    }
}

fn holds_reels(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| Path::new(&entry.file_name()).extension() == Some("reel".as_ref()))
}
