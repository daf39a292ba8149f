//! `netreel replay`: a reel, fed back into the engine.

pub mod boxes;
mod breaks;
mod commands;
mod compared;
pub mod engine;
pub mod gdb;
mod known;
mod likely;
mod onto;
pub mod program;
pub mod reels;
pub mod report;
pub mod sit;
pub mod sitting;
#[cfg(feature = "gui")]
mod standing;
mod time_outs;
pub mod together;
pub mod watched;

use std::io::Write;

use netreel_replay::{Outcome, explain};

use crate::arguments::Replay;
use crate::open;
use crate::outcome::{Answer, Result, fail};
use crate::text;
use engine::Engine;
use reels::{choose, names, wire_of};
use report::{as_json, print};
use time_outs::TimeOuts;

pub fn run(arguments: &Replay, out: &mut dyn Write) -> Result<Answer> {
    let program = program::is_asked(arguments)?;
    let answers = program || arguments.onto.to.is_some();
    if arguments.patience.is_some() && !answers {
        return fail(
            "--patience: nothing is waited for but a program behind `--` and, with --to, an endpoint",
        );
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
fn nodes(arguments: &Replay, out: &mut dyn Write) -> Result<Answer> {
    let engine = Engine::of(arguments)?;
    let reels = open::reels(&arguments.read.source.paths)?;
    text::warn(&reels.unread);
    let chosen = choose(&reels.inputs, arguments.node.as_deref())?;
    let given = open::wire_given(&arguments.read.source.wire)?;
    let names = names(&reels.reels());
    let mut answer = Answer::Clean;
    for input in chosen {
        let wire = wire_of(&given, &input.reel)?;
        program::asked::refuse(&input.reel, &arguments.read.source.paths)?;
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
            report::named_in_states(explanation, it, &input.reel)
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
