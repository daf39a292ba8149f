//! What an exploration found, in words and as JSON.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use netreel_protocol::session::Session;
use netreel_replay::explore::{Change, Explored, Ground, Parting, Ran, Swap};
use serde_json::{Value, json};

use super::anew::{Found, PLAYED};
use crate::arguments::Explore;
use crate::outcome::Result;
use crate::text;

/// So many errors of a run are told.
const ERRORS_TOLD: usize = 3;

pub fn begin(
    ground: &Ground,
    session: &Session,
    (unchanged, restless): (&Ran, &[usize]),
    out: &mut dyn Write,
) -> Result {
    let played = ground
        .names()
        .enumerate()
        .filter(|it| ground.reel(it.0).is_some());
    let names: Vec<&str> = played.map(|it| it.1).collect();
    let packets = text::counted(session.packet_count(), "packet");
    writeln!(
        out,
        "{packets} of {}; what would come of other orders:",
        names.join(", ")
    )?;
    if !restless.is_empty() {
        let names = text::joined(restless.iter().map(|node| ground.name(*node)), " and ");
        writeln!(
            out,
            "without any change what {names} believe does not come to rest; for how long they play on says --rest"
        )?;
    }
    if !unchanged.differences.is_empty() {
        let objects = text::counted(unchanged.differences.len(), "object");
        writeln!(
            out,
            "without any change nodes differ in {objects} at the end: those are left out"
        )?;
    }
    Ok(())
}

pub fn found(
    found: &Found,
    number: usize,
    (ground, arguments): (&Ground, &Explore),
    out: &mut dyn Write,
) -> Result {
    let kind = if found.confirmed {
        "confirmed"
    } else {
        "candidate"
    };
    writeln!(
        out,
        "\n{number}. {kind}, in run {}: {}",
        found.run,
        wrong(found, ground)
    )?;
    if let Some(swap) = found.swaps.first() {
        writeln!(out, "   {}", swapped(swap, ground))?;
    }
    for change in &found.changes {
        writeln!(
            out,
            "   {}",
            change.words(&|node| ground.name(node).to_owned())
        )?;
    }
    for told in found.findings.iter().take(ERRORS_TOLD) {
        writeln!(out, "   {}: {}", told.rule, told.sentence)?;
    }
    if let Some(more) = found
        .findings
        .len()
        .checked_sub(ERRORS_TOLD)
        .filter(|it| *it > 0)
    {
        writeln!(out, "   and {} more", text::counted(more, "error"))?;
    }
    if let Some(folder) = &found.folder {
        let folder = folder.display();
        writeln!(out, "   written to {folder}: netreel inspect {folder}")?;
        let played = arguments.out.iter().map(|it| it.join(PLAYED));
        let recorded: Vec<PathBuf> = if arguments.scenario {
            played.collect()
        } else {
            arguments.read.source.paths.clone()
        };
        if let [recorded] = &recorded[..] {
            let recorded = recorded.display();
            writeln!(
                out,
                "   beside the recording: netreel inspect {folder} --compare {recorded}"
            )?;
        }
    }
    Ok(())
}

/// What is wrong at the end of a run, in one sentence.
fn wrong(found: &Found, ground: &Ground) -> String {
    let outcome = &found.outcome;
    if let Some((node, words)) = &outcome.panicked {
        return format!("{} panics: {words}", ground.name(*node));
    }
    if let Some((node, words)) = outcome.broken.first() {
        return format!("{} says that it is broken: {words}", ground.name(*node));
    }
    let Some((object, parting, nodes)) = outcome.partings.first() else {
        return "check finds what the recording has not".to_owned();
    };
    let names: Vec<&str> = nodes.iter().map(|node| ground.name(*node)).collect();
    let names = names.join(", ");
    let what = match parting {
        Parting::Existence => format!("whether object {object} lives"),
        Parting::Owner => format!("who owns object {object}"),
        Parting::Values => format!("the values of object {object}"),
    };
    let more = match outcome.partings.len() - 1 {
        0 => String::new(),
        more => format!(", and so of {}", text::counted(more, "other object")),
    };
    let verb = if nodes.len() == 1 {
        "believes"
    } else {
        "believe"
    };
    let than = if found.confirmed {
        "the others"
    } else {
        "in the recording"
    };
    format!("when all is delivered {names} {verb} otherwise than {than} {what}{more}")
}

pub fn swapped(swap: &Swap, ground: &Ground) -> String {
    let said = |(kind, from): &(String, usize)| {
        format!("{} of {}", kind.to_uppercase(), ground.name(*from))
    };
    format!(
        "at {}, {} comes before {}, of object {}",
        ground.name(swap.node),
        said(&swap.early),
        said(&swap.late),
        swap.object
    )
}

pub fn end(
    (found, before): (&[Found], usize),
    explored: &Explored,
    arguments: &Explore,
    (runs, took): (u64, Duration),
    out: &mut dyn Write,
) -> Result {
    let counts = &explored.counts;
    writeln!(out)?;
    if !explored.says_beliefs {
        writeln!(
            out,
            "the layers do not say what they believe (docs/explore.md): every order was judged by check alone"
        )?;
    }
    let all = text::counted(counts.runs, "run");
    let orders = text::counted(counts.orders, "order");
    let saved = counts.saved;
    writeln!(
        out,
        "{all}, {orders}; {saved} more would have been one of these, and were not played"
    )?;
    if counts.unreached > 0 {
        let orders = text::counted(counts.unreached, "order");
        writeln!(
            out,
            "looked for, and did not come: {orders}; the layers do not let them happen"
        )?;
    }
    let seconds = took.as_secs_f64();
    if seconds > 0.0 {
        let rate = runs as f64 / seconds;
        writeln!(out, "{seconds:.1} s, {rate:.0} runs a second")?;
    }
    let is_by_chance = arguments.by_chance.is_some() || arguments.by_priorities.is_some();
    if before > 0 {
        writeln!(out, "found before --continue: {before}")?;
    }
    let more = if before > 0 { " more" } else { "" };
    match (found.len(), explored.whole) {
        (0, true) => writeln!(
            out,
            "nothing{more} was found in all orders with at most {}",
            text::counted(arguments.changes, "change")
        )?,
        (0, false) if is_by_chance => {
            writeln!(out, "nothing{more} was found in these runs by chance")?;
        }
        (0, false) => {
            let waiting = text::counted(counts.waiting + counts.given_up, "order");
            writeln!(
                out,
                "nothing{more} was found; {waiting} more wait: --runs, --seconds"
            )?;
        }
        (many, _) => writeln!(out, "found: {many}")?,
    }
    Ok(())
}

pub fn json(
    found: &[Found],
    explored: &Explored,
    (ground, restless): (&Ground, &[usize]),
    session: &Session,
) -> Value {
    let counts = &explored.counts;
    let restless = restless.iter().map(|node| ground.name(*node));
    let found = found.iter().map(|it| one(it, ground));
    json!({
        "nodes": ground.names().collect::<Vec<_>>(),
        "packets": session.packet_count(),
        "found": found.collect::<Vec<_>>(),
        "runs": counts.runs,
        "turns": counts.turns,
        "orders": counts.orders,
        "saved": counts.saved,
        "unreached": counts.unreached,
        "wrong": counts.wrong,
        "waiting": counts.waiting,
        "given_up": counts.given_up,
        "whole": explored.whole,
        "says_beliefs": explored.says_beliefs,
        "restless": restless.collect::<Vec<_>>(),
    })
}

fn one(found: &Found, ground: &Ground) -> Value {
    let name = |node: usize| ground.name(node).to_owned();
    let names = |nodes: &[usize]| nodes.iter().map(|node| name(*node)).collect::<Vec<_>>();
    let partings = found
        .outcome
        .partings
        .iter()
        .map(|(object, parting, nodes)| {
            let of = match parting {
                Parting::Existence => "existence",
                Parting::Owner => "owner",
                Parting::Values => "values",
            };
            json!({ "object": object, "of": of, "nodes": names(nodes) })
        });
    let swaps = found.swaps.iter().map(|swap| {
        let said = |(kind, from): &(String, usize)| json!({ "kind": kind, "from": name(*from) });
        json!({
            "node": name(swap.node),
            "object": swap.object,
            "early": said(&swap.early),
            "late": said(&swap.late),
        })
    });
    json!({
        "confirmed": found.confirmed,
        "run": found.run,
        "sentence": wrong(found, ground),
        "changes": found.changes.iter().map(|it| change(it, &name)).collect::<Vec<_>>(),
        "differences": partings.collect::<Vec<_>>(),
        "broken": found.outcome.broken.iter()
            .map(|(node, words)| json!({ "node": name(*node), "words": words }))
            .collect::<Vec<_>>(),
        "panicked": found.outcome.panicked.as_ref()
            .map(|(node, words)| json!({ "node": name(*node), "words": words })),
        "swaps": swaps.collect::<Vec<_>>(),
        "findings": found.findings.iter().map(|it| it.json.clone()).collect::<Vec<_>>(),
        "folder": found.folder,
    })
}

fn change(change: &Change, name: &dyn Fn(usize) -> String) -> Value {
    json!({
        "what": change.kind,
        "from": change.link().map(|it| name(it.0)),
        "to": change.link().map(|it| name(it.1)),
        "node": change.node().map(name),
        "begins_ns": change.since.ns,
        "ends_ns": change.until.ns,
        "words": change.words(name),
    })
}
