//! What a replay came to, in words and as JSON.

use std::io::Write;

use netreel_replay::{Agreed, Explanation, FieldDifference, Outcome, Report};
use serde_json::{Value, json};

use super::stretches;
use crate::outcome::Result;
use crate::text;

/// Prints what a replay came to.
pub fn print(
    node: &str,
    report: &Report,
    explanation: Option<&Explanation>,
    out: &mut dyn Write,
) -> Result {
    let mut played = format!(
        "{}, {} and {} of {}",
        text::counted(report.ticks, "tick"),
        text::counted(report.inputs, "call"),
        text::counted(report.sends, "equal send"),
        text::bytes(report.bytes),
    );
    if report.states > 0 {
        played += &format!(", {}", text::counted(report.states, "equal state"));
    }
    match &report.outcome {
        Outcome::Exact if report.cut => {
            writeln!(
                out,
                "{node}: exact as far as the reel goes: {played}; the reel was cut"
            )?;
        }
        Outcome::Exact => writeln!(out, "{node}: exact: {played}")?,
        Outcome::SnapshotRefused(number, why) => {
            writeln!(
                out,
                "{node}: the snapshot of event {number} cannot be taken: {why}"
            )?;
        }
        Outcome::InputRejected(number, why) => {
            writeln!(
                out,
                "{node}: the engine cannot read a recorded call before event {number}: {why}"
            )?;
        }
        Outcome::Diverged(divergence) => {
            writeln!(
                out,
                "{node}: diverged at event {} after {played}",
                divergence.number
            )?;
            if let Some(Explanation {
                expected,
                came,
                field,
                agreed,
            }) = explanation
            {
                print_agreed(agreed, out)?;
                writeln!(out, "    expected  {expected}")?;
                writeln!(out, "    came      {came}")?;
                if let Some(field) = field {
                    writeln!(out, "    first difference: {}", field.words())?;
                }
            }
        }
    }
    if let Some(differs) = &report.belief_differs {
        let recorded = differs.recorded.as_deref().unwrap_or("nothing");
        writeln!(
            out,
            "    first belief that differs, before event {}: it says `{}`, recorded is {recorded}",
            differs.number, differs.said
        )?;
    }
    stretches::print(report, out)
}

/// Prints the last events that were as recorded.
pub fn print_agreed(agreed: &[Agreed], out: &mut dyn Write) -> Result {
    for it in agreed {
        writeln!(out, "    agreed    event {}: {}", it.number, it.words)?;
    }
    Ok(())
}

/// The same as `--json` prints it.
pub fn agreed_json(agreed: &[Agreed]) -> Value {
    let each = agreed
        .iter()
        .map(|it| json!({ "event": it.number.0, "what": it.words }));
    each.collect()
}

/// A field that differs, as `--json` prints it.
pub fn field_json(field: &FieldDifference) -> Value {
    json!({
        "path": field.path,
        "bits": [field.bits.start, field.bits.end],
        "expected": field.expected,
        "came": field.came,
        "inside": field.inside.as_deref().map(field_json),
    })
}

/// A replay as `--json` prints it.
pub fn as_json(node: &str, report: &Report, explanation: Option<&Explanation>) -> Value {
    let mut object = json!({
        "node": node,
        "result": match report.outcome {
            Outcome::Exact => "exact",
            Outcome::Diverged(_) => "divergence",
            Outcome::InputRejected(..) => "input rejected",
            Outcome::SnapshotRefused(..) => "snapshot refused",
        },
        "ticks": report.ticks,
        "inputs": report.inputs,
        "sends": report.sends,
        "bytes": report.bytes,
        "states": report.states,
        "stretches": stretches::as_json(report),
        "cut": report.cut,
        "divergence": null,
    });
    if let Some(differs) = &report.belief_differs {
        object["belief_differs"] = json!({
            "event": differs.number.0,
            "recorded": differs.recorded,
            "said": differs.said,
        });
    }
    match (&report.outcome, explanation) {
        (Outcome::InputRejected(number, why) | Outcome::SnapshotRefused(number, why), _) => {
            object["divergence"] = json!({ "event": number.0, "why": why });
        }
        (
            Outcome::Diverged(divergence),
            Some(Explanation {
                expected,
                came,
                field,
                agreed,
            }),
        ) => {
            object["divergence"] = json!({
                "event": divergence.number.0,
                "expected": expected,
                "came": came,
                "field": field.as_ref().map(field_json),
                "agreed": agreed_json(agreed),
            });
        }
        _ => {}
    }
    object
}
