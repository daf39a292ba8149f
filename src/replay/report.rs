//! What a replay came to, in words and as JSON: from where to where it went, and two states of the sample
//! engine's layer, held against each other in its own words.

use std::io::Write;

use netreel_reel::Reel;
use netreel_replay::{Agreed, Explanation, FieldDifference, Outcome, Report};
use netreel_sample_engine::{NetLayer, Start};
use netreel_transport::{Divergence, Layer, Step};
use serde_json::{Value, json};

use crate::boxes::ENGINE;
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
    print_stretches(report, out)
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
        "stretches": stretches_json(report),
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

/// An explanation with the first thing in which two states differ, where the divergence is one of
/// states and the engine is known.
pub fn named_in_states(
    mut explanation: Explanation,
    divergence: &Divergence,
    reel: &Reel,
) -> Explanation {
    if let (Step::State(expected), Step::State(came)) = (&divergence.expected, &divergence.came)
        && let Some(expected) = describe(reel, expected)
        && let Some(came) = describe(reel, came)
        && let Some(field) = first_difference(&expected, &came)
    {
        explanation.field = Some(field);
    }
    explanation
}

/// A state in words: names and values. `None` where the engine is not known or cannot read it.
pub fn describe(reel: &Reel, state: &[u8]) -> Option<Vec<(String, String)>> {
    if reel.header().engine != ENGINE {
        return None;
    }
    let start = Start::decode(&reel.header().start).ok()?;
    let mut layer = NetLayer::new(start).ok()?;
    layer.restore(state).ok()?;
    Some(layer.describe())
}

fn first_difference(
    expected: &[(String, String)],
    came: &[(String, String)],
) -> Option<FieldDifference> {
    // What the layer handed to its game shows as a count and a digest: all else says more.
    let is_digest = |line: &&(String, String)| line.0 == "told";
    let of = |lines: &[(String, String)]| -> Vec<(String, String)> {
        let last = lines.iter().filter(is_digest).cloned();
        let first = lines.iter().filter(|line| !is_digest(line)).cloned();
        first.chain(last).collect()
    };
    let (expected, came) = (of(expected), of(came));
    let places = expected.len().max(came.len());
    let place = (0..places).find(|&place| expected.get(place) != came.get(place))?;
    let none = || "nothing".to_owned();
    let difference = match (expected.get(place), came.get(place)) {
        (Some((path, expected)), Some((other, came))) if path == other => {
            (path, expected.clone(), came.clone())
        }
        // One of them has a thing more.
        (Some((path, value)), other)
            if other.is_none_or(|(other, _)| expected.iter().any(|(it, _)| it == other)) =>
        {
            (path, value.clone(), none())
        }
        (_, Some((path, value))) => (path, none(), value.clone()),
        (Some((path, value)), None) => (path, value.clone(), none()),
        (None, None) => return None,
    };
    let (path, expected, came) = difference;
    Some(FieldDifference::new(path.clone(), 0..0, expected, came))
}

/// Says from where to where was played, where that is not simply the whole reel.
pub fn print_stretches(report: &Report, out: &mut dyn Write) -> Result {
    let first = report.stretches.first();
    if report.stretches.len() < 2 && first.is_none_or(|it| !it.snapshot && !it.breaks_off) {
        return Ok(());
    }
    for stretch in &report.stretches {
        let from = if stretch.snapshot {
            format!("the snapshot of event {}", stretch.from)
        } else {
            format!("event {}", stretch.from)
        };
        let last = stretch.until.0.saturating_sub(1);
        let end = if stretch.breaks_off {
            ", where something is missing"
        } else {
            ""
        };
        writeln!(out, "    played from {from} to event {last}{end}")?;
    }
    Ok(())
}

/// The same as `--json` prints it.
pub fn stretches_json(report: &Report) -> Value {
    let stretches = report.stretches.iter().map(|stretch| {
        json!({
            "from": stretch.from.0,
            "until": stretch.until.0,
            "snapshot": stretch.snapshot,
            "breaks_off": stretch.breaks_off,
        })
    });
    stretches.collect()
}
