//! `netreel replay`: a reel, fed back into the engine.

mod believed;
pub mod boxes;
mod breakpoints;
mod breaks;
mod commands;
mod compared;
pub mod engine;
mod from;
pub mod gdb;
mod known;
mod likely;
mod onto;
mod parted;
pub mod program;
pub mod sit;
pub mod sitting;
#[cfg(feature = "gui")]
mod standing;
mod states;
mod stretches;
mod time_outs;
pub mod together;
pub mod watched;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use netreel_protocol::session::ReelInput;
use netreel_reel::{Endpoint, Reel};
use netreel_replay::{Agreed, Driver, Explanation, FieldDifference, Outcome, Report, explain};
use netreel_wire::Wire;
use serde_json::json;

use crate::arguments::Replay;
use crate::open::{self, Reels};
use crate::outcome::{Answer, Failure};
use crate::text;
use boxes::Changes;
use engine::Engine;
use time_outs::TimeOuts;

pub fn run(arguments: &Replay, out: &mut dyn Write) -> Result<Answer, Failure> {
    let program = program::is_asked(arguments)?;
    let answers = program || arguments.onto.to.is_some();
    if arguments.patience.is_some() && !answers {
        return Err(Failure::new(
            "--patience: nothing is waited for but a program behind `--` and, with --to, an endpoint",
        ));
    }
    if program && arguments.sit.step {
        return sit::run(arguments, out);
    }
    if program {
        return program::run(arguments, out);
    }
    if let Some(to) = &arguments.onto.to {
        return onto::run(arguments, to, out);
    }
    if let Some(stop) = &arguments.gdb.gdb {
        return gdb::run(arguments, stop, out);
    }
    if let Some(plugin) = &arguments.together.layer
        && !watched::is_child()
    {
        let folder = arguments.together.out.as_deref();
        let new = folder.filter(|folder| together::is_new(folder));
        let answer = watched::run(plugin);
        // The process that died could not take away what it had written.
        if let (Err(_), Some(folder)) = (&answer, new) {
            together::remove(folder);
        }
        return answer;
    }
    watched::say_safe(false);
    let answer = match (arguments.sit.asked(), arguments.together.together) {
        (true, _) => sit::run(arguments, out),
        (false, true) => together::run(arguments, out),
        (false, false) => nodes(arguments, out),
    };
    out.flush()?;
    watched::say_safe(true);
    answer
}

/// Replays each node that was asked for by itself.
fn nodes(arguments: &Replay, out: &mut dyn Write) -> Result<Answer, Failure> {
    let changes = Changes {
        tune: &arguments.tune,
        set: &arguments.set,
    };
    let engine = Engine::asked(arguments.together.layer.as_deref(), changes)?;
    let Reels { inputs, unread, .. } = open::reels(&arguments.read.source.paths)?;
    for why in &unread {
        anstream::eprintln!("netreel: {why}");
    }
    let chosen = choose(&inputs, arguments.node.as_deref())?;
    let given = arguments
        .read
        .source
        .wire
        .as_deref()
        .map(open::wire)
        .transpose()?;
    let recorded = inputs
        .iter()
        .map(|input| Arc::clone(&input.reel))
        .collect::<Vec<_>>();
    let names = names(&recorded);
    let mut answer = Answer::Clean;
    for input in chosen {
        let wire = match &given {
            Some(wire) => Some(Arc::clone(wire)),
            None => embedded_wire(&input.reel)?,
        };
        program::refuse(&input.reel, &arguments.read.source.paths)?;
        let (report, time_outs) = TimeOuts::replay(&engine, &arguments.sit, &input.reel)?;
        match report.outcome {
            Outcome::Exact => {}
            // What comes behind it cannot be told; what was wrong before stays wrong.
            Outcome::SnapshotRefused(..) if answer == Answer::Clean => answer = Answer::Unknown,
            Outcome::SnapshotRefused(..) => {}
            Outcome::Diverged(_) | Outcome::InputRejected(..) => answer = Answer::Wrong,
        }
        let node = &input.reel.header().node;
        let explanation = report.divergence().map(|it| {
            let explanation = explain(it, (wire.as_deref(), Some(&input.reel)), &names);
            states::named(explanation, it, &input.reel)
        });
        let likely = report
            .divergence()
            .map(|_| engine.likely(&input.reel, &report));
        if arguments.read.json {
            let mut object = as_json(node, &report, explanation.as_ref());
            if let Some(likely) = likely {
                likely.put(&mut object["divergence"]);
            }
            time_outs.put(&mut object);
            writeln!(out, "{object}")?;
        } else {
            print(node, &report, explanation.as_ref(), out)?;
            if let Some(likely) = likely {
                likely.print(out)?;
            }
            time_outs.print(out)?;
        }
        // A plugin may die at the next node.
        out.flush()?;
    }
    Ok(answer)
}

/// Plays `reel` into a fresh layer of the engine that it was recorded at.
pub fn replay(reel: &Arc<Reel>, changes: Changes<'_>) -> Result<Report, Failure> {
    let driver = Driver::new(Arc::clone(reel)).map_err(Failure::new)?;
    let start = boxes::start(reel, changes)?;
    let mut layer = boxes::layer(reel, start, changes)?;
    Ok(driver.run(&mut layer))
}

/// The names of the nodes behind endpoints, as far as `reels` tell.
pub fn names(reels: &[Arc<Reel>]) -> impl Fn(Endpoint) -> Option<String> + use<> {
    let mut names = BTreeMap::new();
    for reel in reels {
        for (_, endpoint) in reel.endpoints() {
            names.insert(*endpoint, reel.header().node.clone());
        }
    }
    move |endpoint| names.get(&endpoint).cloned()
}

fn choose<'a>(inputs: &'a [ReelInput], node: Option<&str>) -> Result<Vec<&'a ReelInput>, Failure> {
    let Some(node) = node else {
        return Ok(inputs.iter().collect());
    };
    let chosen = inputs
        .iter()
        .filter(|input| input.reel.header().node == node)
        .collect::<Vec<_>>();
    if chosen.is_empty() {
        let names = inputs.iter().map(|input| input.reel.header().node.as_str());
        return Err(Failure::new(format!(
            "no reel of node {node} here; there are: {}",
            names.collect::<Vec<_>>().join(", ")
        )));
    }
    Ok(chosen)
}

fn embedded_wire(reel: &Reel) -> Result<Option<Arc<Wire>>, Failure> {
    let Some(wire) = reel.header().wires.first() else {
        return Ok(None);
    };
    let compiled = Wire::compile(&wire.name, &wire.text).map_err(Failure::new)?;
    Ok(Some(Arc::new(compiled)))
}

/// Prints what a replay came to.
pub fn print(
    node: &str,
    report: &Report,
    explanation: Option<&Explanation>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
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
fn print_agreed(agreed: &[Agreed], out: &mut dyn Write) -> Result<(), Failure> {
    for it in agreed {
        writeln!(out, "    agreed    event {}: {}", it.number, it.words)?;
    }
    Ok(())
}

/// The same as `--json` prints it.
fn agreed_json(agreed: &[Agreed]) -> serde_json::Value {
    let each = agreed.iter();
    let each = each.map(|it| json!({ "event": it.number.0, "what": it.words }));
    each.collect()
}

/// A field that differs, as `--json` prints it.
pub fn field_json(field: &FieldDifference) -> serde_json::Value {
    json!({
        "path": field.path,
        "bits": [field.bits.start, field.bits.end],
        "expected": field.expected,
        "came": field.came,
        "inside": field.inside.as_deref().map(field_json),
    })
}

/// A replay as `--json` prints it.
pub fn as_json(
    node: &str,
    report: &Report,
    explanation: Option<&Explanation>,
) -> serde_json::Value {
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
