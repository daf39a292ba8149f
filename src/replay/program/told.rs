//! What came of a program that was started again, in words and as JSON.

use std::io::Write;

use netreel_replay::program::{Ended, Judged, Tape};
use serde_json::{Value, json};

use crate::outcome::Failure;
use crate::text;

/// Says that the program waits for a debugger.
pub fn stopped(pid: u32, until: &Option<String>) {
    let until = until.as_deref().unwrap_or_default();
    anstream::eprintln!(
        "netreel: process {pid} is stopped before `{until}`: gdb -p {pid}, and `continue` there; or \
         `kill -CONT {pid}` to let it go on"
    );
}

/// Prints it.
pub fn print(node: &str, judged: &Judged, tape: &Tape, out: &mut dyn Write) -> Result<(), Failure> {
    let sends = format!(
        "{} of {} equal",
        judged.sends,
        text::count(tape.sends, "send")
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
                "{node}: exact, {sends}, {}",
                text::count(tape.events, "event")
            )?;
        }
        Ended::Parted(explanation) => {
            writeln!(out, "{node}: diverged {at}, after {sends}")?;
            writeln!(out, "    expected  {}", explanation.expected)?;
            writeln!(out, "    came      {}", explanation.came)?;
            if let Some(field) = &explanation.field {
                let bits = match field.bits.is_empty() {
                    true => String::new(),
                    false => format!(" (bits {}..{})", field.bits.start, field.bits.end),
                };
                writeln!(
                    out,
                    "    first difference: {}{bits}: expected {}, came {}",
                    field.path, field.expected, field.came
                )?;
            }
        }
        Ended::Early(how) => {
            writeln!(out, "{node}: diverged {at}, after {sends}")?;
            writeln!(out, "    expected  {}", judged.expected)?;
            writeln!(out, "    came      {how}")?;
        }
        Ended::Stuck(place) => {
            writeln!(
                out,
                "{node}: stands still {at}, after {sends}; it was ended"
            )?;
            writeln!(out, "    expected  {}", judged.expected)?;
            writeln!(out, "    {place}")?;
        }
    }
    for reason in &judged.reasons {
        writeln!(out, "    maybe because {reason}")?;
    }
    Ok(())
}

/// The same as JSON.
pub fn as_json(node: &str, judged: &Judged, tape: &Tape) -> Value {
    let mut object = json!({
        "node": node,
        "result": match judged.ended {
            Ended::Exact => "exact",
            Ended::Parted(_) | Ended::Early(_) => "divergence",
            Ended::Stuck(_) => "stuck",
        },
        "sends": judged.sends,
        "sends_recorded": tape.sends,
        "events": tape.events,
    });
    let event = judged.event.map(|event| event.0);
    let told = match &judged.ended {
        Ended::Exact => return object,
        Ended::Parted(explanation) => json!({
            "event": event,
            "expected": explanation.expected,
            "came": explanation.came,
            "field": explanation.field.as_ref().map(|field| json!({
                "path": field.path,
                "bits": [field.bits.start, field.bits.end],
                "expected": field.expected,
                "came": field.came,
            })),
            "reasons": judged.reasons,
        }),
        Ended::Early(came) | Ended::Stuck(came) => json!({
            "event": event,
            "expected": judged.expected,
            "came": came,
            "field": null,
            "reasons": judged.reasons,
        }),
    };
    object["divergence"] = told;
    object
}
