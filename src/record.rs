//! `netreel record`: runs an unmodified program and records it.

use std::io::{IsTerminal, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use netreel_capture::WhenFull;
use netreel_capture::preload::{self, Live, Report, Wanted};

use crate::arguments::Record;
use crate::outcome::{Answer, Failure};
use crate::text;

pub fn run(arguments: &Record, out: &mut dyn Write) -> Result<Answer, Failure> {
    let wanted = Wanted {
        command: arguments.command.clone(),
        out: arguments.out.clone().unwrap_or_else(new_folder),
        children: !arguments.no_children,
        when_full: if arguments.drop {
            WhenFull::Drop
        } else {
            WhenFull::Block
        },
        random_addresses: arguments.random_addresses,
        tripwire: !arguments.no_tripwire,
    };
    let mut line = LiveLine::new();
    let outcome = preload::record(&wanted, &mut |report| match report {
        Report::Live(live) => line.show(&live),
        Report::Started { .. } => {}
        Report::Gap(sentence) => line.say(&format!("not recorded: {sentence}")),
        Report::Ended {
            name,
            reel,
            size: (events, bytes),
            dropped,
        } => {
            let dropped = match dropped {
                0 => String::new(),
                dropped => format!(", {dropped} DROPPED"),
            };
            line.say(&format!(
                "{name}: {events} events{dropped}, {} in {}",
                text::bytes(bytes),
                reel.display()
            ));
        }
        Report::Failed(error) => line.say(&error.to_string()),
    });
    line.clear();
    let outcome = outcome.map_err(Failure::new)?;
    let live = outcome.live;
    writeln!(
        out,
        "{} packets, {} in {} s: {}",
        live.packets,
        text::bytes(live.bytes),
        seconds(&live),
        wanted.out.display()
    )?;
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

fn new_folder() -> PathBuf {
    let now = chrono::Local::now().format("netreel-%Y%m%d-%H%M%S");
    PathBuf::from(now.to_string())
}

fn seconds(live: &Live) -> String {
    format!("{:.1}", live.time.as_secs_f64())
}

/// The line on a terminal that tells how far the recording is.
struct LiveLine {
    terminal: bool,
    shown: bool,
}

impl LiveLine {
    fn new() -> LiveLine {
        LiveLine {
            terminal: std::io::stderr().is_terminal(),
            shown: false,
        }
    }

    fn show(&mut self, live: &Live) {
        if !self.terminal {
            return;
        }
        let drops = live.dropped + live.kernel_drops;
        anstream::eprint!(
            "\r\x1b[Krecording  {} packets  {}  {drops} drops  {} s",
            live.packets,
            text::bytes(live.bytes),
            seconds(live),
        );
        self.shown = true;
    }

    fn say(&mut self, sentence: &str) {
        self.clear();
        anstream::eprintln!("netreel: {sentence}");
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            anstream::eprint!("\r\x1b[K");
        }
    }
}
