//! What came of a program that was started again, in words and as JSON.

use std::io::Write;

use netreel_reel::EventNumber;
use netreel_replay::FieldDifference;
use netreel_replay::program::{EndCompared, Ended, Judged, Tape};
use serde_json::{Value, json};

use crate::outcome::Result;
use crate::replay::report::{agreed_json, field_json, print_agreed};
use crate::text;

/// Says that the program waits for a debugger.
pub fn stopped(pid: u32, until: &str) {
    anstream::eprintln!(
        "netreel: process {pid} is stopped before `{until}`: {}, and `continue` there; or `kill -CONT {pid}` to \
         let it go on",
        debugger(pid)
    );
}

/// The command that attaches a debugger to a program that has stopped itself.
pub fn debugger(pid: u32) -> String {
    format!("gdb -p {pid} -ex 'handle SIGSTOP nostop nopass'")
}

/// Prints it.
pub fn print(node: &str, judged: &Judged, tape: &Tape, out: &mut dyn Write) -> Result {
    let sends = format!(
        "{} of {} equal",
        judged.sends,
        text::counted(tape.sends, "send")
    );
    let at = judged
        .event
        .map_or("behind the last event".to_owned(), |event| {
            format!("at event {event}")
        });
    match &judged.ended {
        Ended::Exact => {
            writeln!(
                out,
                "{node}: exact, {sends}, {}{}{}{}{}",
                text::counted(tape.events, "event"),
                printed(judged, tape),
                end(judged, tape),
                passed(judged.passed),
                slept(judged.sleeps)
            )?;
        }
        Ended::Line(line) => {
            let at = line
                .event
                .map_or(String::new(), |event| format!(" at event {event}"));
            writeln!(out, "{node}: diverged{at} in what it prints; {sends}")?;
        }
        Ended::Parted(_) | Ended::Early(_) => {
            writeln!(out, "{node}: diverged {at}, after {sends}")?;
        }
        Ended::Otherwise { .. } => writeln!(out, "{node}: diverged in how it ends; {sends}")?,
        Ended::Stuck(_) => writeln!(
            out,
            "{node}: stands still {at}, after {sends}; it was ended"
        )?,
    }
    if let Some(parting) = Parting::of(judged) {
        print_agreed(&judged.agreed, out)?;
        writeln!(out, "    expected  {}", parting.expected)?;
        match &judged.ended {
            Ended::Stuck(place) => writeln!(out, "    {place}")?,
            _ => writeln!(out, "    came      {}", parting.came)?,
        }
        if let Some(field) = parting.field {
            writeln!(out, "    first difference: {}", field.words())?;
        }
    }
    print_line(judged, out)?;
    for reason in &judged.reasons.known {
        writeln!(out, "    known: {reason}")?;
    }
    for reason in &judged.reasons.guesses {
        writeln!(out, "    maybe because {reason}")?;
    }
    Ok(())
}

/// Where a program did something else than it did, or stood still.
struct Parting<'a> {
    event: Option<EventNumber>,
    expected: String,
    came: String,
    field: Option<&'a FieldDifference>,
}

impl Parting<'_> {
    fn of(judged: &Judged) -> Option<Parting<'_>> {
        let (event, expected, came, field) = match &judged.ended {
            Ended::Exact => return None,
            Ended::Parted(it) => (
                judged.event,
                it.expected.clone(),
                it.came.clone(),
                it.field.as_ref(),
            ),
            Ended::Line(line) => (line.event, line.expected(), line.came(), None),
            Ended::Otherwise { expected, came } => (None, expected.clone(), came.clone(), None),
            Ended::Early(came) | Ended::Stuck(came) => {
                (judged.event, judged.expected.clone(), came.clone(), None)
            }
        };
        Some(Parting {
            event,
            expected,
            came,
            field,
        })
    }
}

/// Says where it prints something else, where nothing worse happened there.
fn print_line(judged: &Judged, out: &mut dyn Write) -> Result {
    if let (Some(line), false) = (
        &judged.line,
        matches!(judged.ended, Ended::Line(_) | Ended::Exact),
    ) {
        let at = line
            .event
            .map_or("behind its last line".to_owned(), |event| {
                format!("at event {event}")
            });
        writeln!(
            out,
            "    {at} it prints {} instead of {}",
            line.came(),
            line.expected()
        )?;
    }
    Ok(())
}

/// How it ended, as then, or what is known of that.
fn end(judged: &Judged, tape: &Tape) -> String {
    let then = tape.ended.map_or(String::new(), |end| end.to_string());
    match judged.end {
        Some(EndCompared::Equal) => format!(", ended with {then}"),
        Some(EndCompared::FromOutside) => format!(", to where {then} ended it"),
        Some(EndCompared::NotKnown) => ", and how it ended is not in the reel".to_owned(),
        Some(EndCompared::ByThreads) => {
            format!(", but for its end: other threads may end it before it ends with {then}")
        }
        Some(EndCompared::Otherwise { .. }) | None => String::new(),
    }
}

/// What it printed, which several threads may do in another order.
fn printed(judged: &Judged, tape: &Tape) -> String {
    let lines = match tape.printed.lines() {
        0 => String::new(),
        lines => format!(", {}", text::counted(lines, "line")),
    };
    match judged.line.as_ref().map(|line| line.event) {
        None => lines,
        Some(Some(event)) => format!(
            "{lines}, other ones from event {event} on: in which order threads print is not recorded"
        ),
        Some(None) => format!("{lines}, and more than it printed then"),
    }
}

/// Of threads that look at memory to see whether they are to end, the last rounds may be missing.
fn passed(events: u64) -> String {
    match events {
        0 => String::new(),
        events => format!(
            "; {} of threads that ended earlier than they did passed over",
            text::counted(events, "event")
        ),
    }
}

/// Of threads that sleep until another one has come somewhere.
fn slept((more, less): (u64, u64)) -> String {
    match (more, less) {
        (0, 0) => String::new(),
        _ => format!("; its threads slept {more} times more and {less} times less than they did"),
    }
}

/// The same as JSON.
pub fn as_json(node: &str, judged: &Judged, tape: &Tape) -> Value {
    let mut object = json!({
        "node": node,
        "result": match judged.ended {
            Ended::Exact => "exact",
            Ended::Stuck(_) => "stuck",
            Ended::Parted(_) | Ended::Early(_) | Ended::Line(_) | Ended::Otherwise { .. } => {
                "divergence"
            }
        },
        "sends": judged.sends,
        "sends_recorded": tape.sends,
        "events": tape.events,
        "lines": tape.printed.lines(),
        "line": judged.line.as_ref().map(|line| json!({
            "event": line.event.map(|event| event.0),
            "descriptor": line.descriptor,
            "expected": line.expected,
            "came": line.came,
        })),
        "passed": judged.passed,
        "sleeps_more": judged.sleeps.0,
        "sleeps_less": judged.sleeps.1,
        "ended": tape.ended.map(|end| end.to_string()),
        "ended_equal": match judged.end {
            Some(EndCompared::Equal) => Some(true),
            Some(EndCompared::Otherwise { .. }) => Some(false),
            _ => None,
        },
    });
    if let Some(parting) = Parting::of(judged) {
        let reasons = &judged.reasons;
        let all: Vec<&String> = reasons.known.iter().chain(&reasons.guesses).collect();
        object["divergence"] = json!({
            "event": parting.event.map(|event| event.0),
            "expected": parting.expected,
            "came": parting.came,
            "field": parting.field.map(field_json),
            "reasons": all,
            "known": reasons.known.len(),
            "agreed": agreed_json(&judged.agreed),
        });
    }
    object
}
