//! `netreel record --proxy`: passes packets on between clients and a server, and records them.

use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use netreel_capture::proxy::{
    FaultSpec, Next, Outcome, Proxy, ProxyError, Report, Wanted, run_before_others,
};
use netreel_capture::{RecordError, Signals};
use netreel_console::{Asked, Commands, Console, Kind, Value, read_token};
use netreel_protocol::session::network_answers;

use super::line::{LiveLine, came_to};
use crate::arguments::Record;
use crate::outcome::{Answer, Failure, Result};
use crate::text;

/// The least room for what is pushed and not yet written: 200 ms of 100 000 small packets a second.
const BUFFER_MIN: usize = 32 << 20;

/// How many clients are served at a time, unless it is said.
const CLIENTS: u16 = 256;
/// A client is forgotten after this many silent seconds, unless it is said.
const IDLE_SECONDS: u32 = 120;

pub fn run(arguments: &Record, folder: &Path, out: &mut dyn Write) -> Result<Answer> {
    std::fs::create_dir_all(folder).map_err(|error| {
        format!(
            "cannot make the folder {}: {error}; choose another with --out",
            folder.display()
        )
    })?;
    let asked = &arguments.proxy;
    let reel = folder.join("proxy.reel");
    let faults = asked.faults.unwrap_or_default();
    let seed = asked.seed.unwrap_or_else(any_seed);
    let (mut options, armed) = super::ring::options(arguments, folder)?;
    if arguments.recording.buffer.is_none() {
        let kept = arguments.recording.keep_size.unwrap_or(u64::MAX) / 8;
        let least = BUFFER_MIN.min(usize::try_from(kept).unwrap_or(BUFFER_MIN));
        options.ring_capacity = options.ring_capacity.max(least);
    }
    let wanted = Wanted {
        routes: asked.routes.clone(),
        faults,
        seed,
        clients_max: usize::from(asked.clients.unwrap_or(CLIENTS)),
        idle: Duration::from_secs(u64::from(asked.idle.unwrap_or(IDLE_SECONDS))),
        reel: reel.clone(),
        options,
    };
    // Before anything is there that a signal should end in order.
    let signals = Signals::catch();
    let proxy = Proxy::open(wanted).map_err(|error| match error {
        ProxyError::Reel(RecordError::Exists { path }) => Failure::new(format!(
            "{}: there is a recording of a proxy already; give this one a folder of its own with \
             --out. Of two proxies on one way, name both folders to the command that reads them",
            path.display()
        )),
        error => Failure::new(error),
    })?;
    let token = read_token(asked.console_token.as_deref())?;
    let console = asked
        .console
        .map(|address| Console::listen(address, token, commands()))
        .transpose()?;
    let mut line = LiveLine::new(armed);
    if !faults.is_clean() {
        line.say(&format!("faults on every link: {faults}, seed {seed}"));
    }
    // Where it may not, it is like any other program.
    let _ = run_before_others();
    if let Some(console) = &console {
        line.say(&format!("console {}", console.local()));
    }
    let next = || match signals.asked() {
        0 => console.as_ref().map_or(Next::GoOn, hear),
        _ => Next::Stop,
    };
    let outcome = proxy.run(next, &mut |report| tell(&mut line, report));
    line.end();
    let outcome = outcome?;
    summary(&outcome, &reel, out)
}

fn commands() -> Commands {
    let spec = [("SPEC", Kind::Text)];
    Commands::new()
        .with(
            "faults",
            (&spec, &[]),
            "What is wrong with every link from now on: delay=50ms,loss=2%, or none",
        )
        .with("quit", (&[], &[]), "End the recording")
}

/// What somebody at the console wants next.
fn hear(console: &Console) -> Next {
    let Some(request) = console.take() else {
        return Next::GoOn;
    };
    let Asked::Command { call, .. } = &request.asked else {
        request.refuse("a proxy runs no scripts");
        return Next::GoOn;
    };
    let faults = match call.arguments.first() {
        None => {
            request.done("");
            return Next::Stop;
        }
        Some(Value::Text(none)) if none == "none" => Ok(FaultSpec::default()),
        Some(Value::Text(spec)) => spec.parse::<FaultSpec>(),
        Some(_) => return Next::GoOn,
    };
    match faults {
        Ok(faults) => {
            request.done("");
            Next::Faults(Box::new(faults))
        }
        Err(error) => {
            request.refuse(error.to_string());
            Next::GoOn
        }
    }
}

fn tell(line: &mut LiveLine, report: Report) {
    match report {
        Report::Listening {
            listen,
            target,
            address,
        } => line.say(&if address.to_string() == target {
            format!("listening on {listen} for {target}")
        } else {
            format!("listening on {listen} for {target}, which is {address}")
        }),
        Report::Came { client, local } => {
            line.say(&format!("{client} came; the server sees it as {local}"));
        }
        Report::Went { client, silent } => line.say(&format!(
            "{client} was silent for {} s and is forgotten; it may come back",
            silent.as_secs()
        )),
        Report::Refused(sentence) | Report::Trouble(sentence) => line.say(&sentence),
        Report::Live {
            progress,
            clients,
            held,
        } => {
            let clients = text::counted(clients, "client");
            let held = match held {
                0 => String::new(),
                held => format!("  {held} held back"),
            };
            line.show(&progress, &format!("{clients}{held}"));
        }
    }
}

fn summary(outcome: &Outcome, reel: &Path, out: &mut dyn Write) -> Result<Answer> {
    let progress = &outcome.progress;
    let moved = outcome.reel.as_ref().ok();
    let reel = moved.and_then(|it| it.moved_to.as_deref()).unwrap_or(reel);
    writeln!(
        out,
        "{} of {}: {}",
        came_to(progress),
        text::counted(outcome.clients, "client"),
        reel.display()
    )?;
    let packets = |count| text::counted(count, "packet");
    if progress.kernel_drops > 0 {
        writeln!(
            out,
            "{} dropped by the kernel, because receive buffers of {} were full; as root they are \
             larger, or raise net.core.rmem_max",
            packets(progress.kernel_drops),
            text::bytes(outcome.receive_buffer as u64)
        )?;
    }
    let unsent = [
        (outcome.lost, "dropped by the faults"),
        (outcome.held, "still held back at the end, and not sent"),
        (outcome.failed, "could not be sent"),
    ];
    for (count, why) in unsent.into_iter().filter(|(count, _)| *count > 0) {
        writeln!(out, "{} {why}", packets(count))?;
    }
    for (&(server, code), &count) in &outcome.answers {
        writeln!(out, "{}", network_answers(server, code, count))?;
    }
    if outcome.refused > 0 {
        let refused = packets(outcome.refused);
        writeln!(out, "{refused} of clients that were not served")?;
    }
    if progress.dropped > 0 {
        let dropped = text::counted(progress.dropped, "event");
        writeln!(out, "{dropped} DROPPED: the disk could not keep up")?;
    }
    match &outcome.reel {
        Ok(_) if progress.dropped == 0 => Ok(Answer::Clean),
        Ok(_) => Ok(Answer::Wrong),
        Err(error) => {
            writeln!(out, "{error}")?;
            Ok(Answer::Wrong)
        }
    }
}

/// A seed for one run, short enough to be typed again.
fn any_seed() -> u64 {
    let state = std::collections::hash_map::RandomState::new();
    state.build_hasher().finish() % 1_000_000
}
