//! `netreel explore`: what would have gone wrong, had packets come in another order.

pub mod anew;
mod kept;
mod orders;
mod scenario;
mod told;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netreel_capture::Signals;
use netreel_protocol::session::{Session, SessionTime};
use netreel_replay::explore::{
    ByChance, Counts, Ground, GroundOptions, Kept, Limits, MakeNode, Runner, Stuck, Told, Tries,
    Wrong, explore_on,
};
use netreel_replay::together::Plan;

use crate::arguments::{Explore, longest};
use crate::outcome::{Answer, Failure, Result, fail};
use crate::progress::Progress;
use crate::replay::boxes::Changes;
use crate::replay::engine::Engine;
use crate::replay::{together, watched};
use crate::text;
use crate::{each, open};
use anew::{Found, Judge, Known, PLAYED, Written};

pub use told::swapped;

/// A call into a plugin that takes longer does not come back.
const PATIENCE: Duration = Duration::from_secs(10);

/// So often it is looked within that time whether a layer has returned.
const LOOKS_IN_PATIENCE: u32 = 10;

pub fn run(arguments: &Explore, out: &mut dyn Write) -> Result<Answer> {
    in_a_process(arguments.layer.as_deref(), || explored(arguments, out))
}

/// Ends this process where a layer that is built in does not return from a call: its thread cannot be ended.
pub fn watch(ground: &Arc<Ground>) {
    let ground = Arc::downgrade(ground);
    std::thread::spawn(move || {
        let mut stuck = Stuck::default();
        loop {
            std::thread::sleep(PATIENCE / LOOKS_IN_PATIENCE);
            let Some(ground) = ground.upgrade() else {
                return;
            };
            if let Some(call) = stuck.look(&ground.calls(), LOOKS_IN_PATIENCE) {
                let (name, at) = (ground.name(call.node), call.at_ns);
                let at = crate::text::seconds(SessionTime(at));
                anstream::eprintln!(
                    "netreel: the layer of {name} does not return from what it was called for at {at} of the \
                     session: for {} s nothing came of it. A debugger stops there: gdb -p {}",
                    PATIENCE.as_secs(),
                    std::process::id()
                );
                std::process::exit(2);
            }
        }
    });
}

/// A layer that does not do the same when it is given the same is not explored: what is said of one run says
/// nothing of the next.
pub fn same_again(runner: &mut Runner<'_, Failure>) -> Result {
    let Some(unlike) = runner.unlike_itself()? else {
        return Ok(());
    };
    let ground = runner.ground();
    let who = unlike.node.map_or("a node", |node| ground.name(node));
    let what = match unlike.at_ns {
        Some(ns) => format!(
            "what it sent, and what comes at {}, is not the same",
            crate::text::seconds(SessionTime(ns))
        ),
        None => "what it believes at the end is not the same".to_owned(),
    };
    let why = if unlike.is_restored {
        "brought back to a state that it saved itself and played on"
    } else {
        "played twice with the same packets, clock, random numbers and calls"
    };
    fail(format!(
        "the layer of {who} does not do the same: {why}, {what}. A layer must follow from what it is given \
         (docs/engines.md)"
    ))
}

/// Does something with an engine; with a plugin in a process of its own, which may die of it or stand still.
pub fn in_a_process(
    layer: Option<&Path>,
    action: impl FnOnce() -> Result<Answer>,
) -> Result<Answer> {
    let Some(plugin) = layer else {
        return action();
    };
    if !watched::is_child() {
        return watched::run(plugin);
    }
    watched::say_safe(false);
    watched::end_where_it_stands_still(PATIENCE);
    let answer = action();
    watched::say_safe(true);
    answer
}

fn explored(arguments: &Explore, out: &mut dyn Write) -> Result<Answer> {
    let (session, played) = session(arguments)?;
    let session = &*session;
    let ground = Arc::new(ground(arguments, session)?);
    let changes = Changes {
        tune: &arguments.tune,
        set: &arguments.set,
    };
    let makers = || maker(arguments.layer.as_deref(), changes, Arc::clone(&ground));
    let wire = session.wire.as_deref();
    let (mut runner, unchanged) = Runner::new(Arc::clone(&ground), makers())?;
    if let Some((node, words)) = &unchanged.panicked {
        return fail(format!(
            "the layer of {} fails without any change: {words}",
            ground.name(*node)
        ));
    }
    let alone = arguments.node.is_some();
    if !arguments.orders.is_empty() {
        return orders::run(arguments, (&ground, session), &mut runner, out);
    }
    same_again(&mut runner)?;
    let mut judge = Judge::new(&mut runner, session, alone, &makers)?;
    let (before, known) = ended_before(arguments, &ground)?;
    if let (Some(played), Some(folder)) = (&played, &arguments.out) {
        played.write(&folder.join(PLAYED))?;
    }
    let runs_before = before.as_ref().map_or(0, |it| it.counts().runs);
    let restless = runner.restless();
    if !arguments.read.json {
        told::begin(&ground, session, (&unchanged, &restless), out)?;
    }
    let begun = Instant::now();
    let signals = Signals::catch();
    watch(&ground);
    let progress = Progress::new("exploring");
    let mut found: Vec<Found> = Vec::new();
    let mut failed = None;
    let limits = limits(arguments, &ground);
    let mut tell = |told: Told<'_>| {
        let over = arguments
            .seconds
            .is_some_and(|it| begun.elapsed() >= longest(it));
        let mut heals = false;
        match &told {
            Told::Counts(counts) => progress.say(words(counts, found.len())),
            Told::Wrong(wrong, _) | Told::Other(wrong) => {
                let known = kept::known(&known, &found);
                match take(&mut runner, &mut judge, wrong, &known, arguments) {
                    Ok(Taken::New(it)) => {
                        let written = if arguments.read.json {
                            Ok(())
                        } else {
                            told::found(&it, known.len() + 1, (&ground, arguments), out)
                        };
                        failed = written.err();
                        found.push(*it);
                    }
                    Ok(Taken::Known) => {}
                    Ok(Taken::Nothing) => heals = true,
                    Err(error) => failed = Some(error),
                }
            }
        }
        if let Told::Wrong(_, says) = told {
            *says = heals;
        }
        let counts = |it: &&Found| arguments.rule.as_deref().is_none_or(|rule| it.has(rule));
        let is_enough = found.iter().filter(counts).count() >= arguments.until;
        if is_enough || over || failed.is_some() || signals.asked() > 0 {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let (explored, ended) = explore_on(&ground, &makers, wire, (&limits, before), &mut tell)?;
    drop(progress);
    if let Some(error) = failed {
        return Err(error);
    }
    if let Some(folder) = &arguments.out {
        let known = kept::known(&known, &found);
        kept::write(folder, arguments, &ground, (&ended, known))?;
    }
    let pace = (explored.counts.runs - runs_before, begun.elapsed());
    let of = (&found[..], known.len());
    match arguments.read.json {
        true => writeln!(
            out,
            "{}",
            told::json(&found, &explored, (&ground, &restless), session)
        )?,
        false => told::end(of, &explored, arguments, pace, out)?,
    }
    Ok(Answer::clean_if(found.is_empty()))
}

/// What is explored: a recording, or a match that is played first, with its reels.
fn session(arguments: &Explore) -> Result<(Arc<Session>, Option<Written>)> {
    match (arguments.scenario, &arguments.read.source.paths[..]) {
        (false, _) => Ok((open::story(&arguments.read.source)?.session, None)),
        (true, [file]) => {
            let layer = arguments.layer.as_deref();
            let make = |ground| maker(layer, Changes::default(), ground);
            let played = scenario::played(file, arguments, &make)?;
            let session = scenario::session(&played, arguments)?;
            Ok((Arc::new(session), Some(played)))
        }
        (true, _) => fail("--scenario takes one file"),
    }
}

/// Where an exploration of the same ended, and what it found; with --continue alone. Else the folder of what
/// is found is made.
fn ended_before(arguments: &Explore, ground: &Ground) -> Result<(Option<Kept>, Vec<Known>)> {
    match &arguments.out {
        Some(folder) if arguments.continues => {
            let from = kept::read(folder, arguments, ground)?;
            Ok((Some(from.kept), from.found))
        }
        Some(folder) => together::prepare(folder).map(|()| (None, Vec::new())),
        None => Ok((None, Vec::new())),
    }
}

/// What a wrong run is once it was judged.
enum Taken {
    New(Box<Found>),
    /// It is what was found before.
    Known,
    /// Nothing is wrong with it: it comes right when nodes play on.
    Nothing,
}

fn take(
    runner: &mut Runner<'_, Failure>,
    judge: &mut Judge<'_>,
    wrong: &Wrong,
    known: &[Known],
    arguments: &Explore,
) -> Result<Taken> {
    let Some(mut found) = judge.judged(runner, wrong)? else {
        return Ok(Taken::Nothing);
    };
    let this = Known::of(&found);
    if known.iter().any(|it| it.has(&this)) {
        return Ok(Taken::Known);
    }
    if let Some(folder) = &arguments.out {
        found.write(folder.join((known.len() + 1).to_string()))?;
    }
    Ok(Taken::New(Box::new(found)))
}

fn ground(arguments: &Explore, session: &Session) -> Result<Ground> {
    let changes = Changes {
        tune: &arguments.tune,
        set: &arguments.set,
    };
    let engine = Engine::asked(arguments.layer.as_deref(), changes)?;
    let (nodes, left_out) = together::nodes(session, &engine)?;
    text::warn(&left_out);
    let alone = match &arguments.node {
        None => None,
        Some(name) => {
            let node = nodes.iter().position(|node| node.name == *name);
            let node = node.filter(|&node| nodes[node].reel.is_some());
            Some(node.ok_or_else(|| {
                let names = text::joined(nodes.iter().map(|node| node.name.as_str()), ", ");
                format!(
                    "--node {name}: no node of this name can be played; the session has {names}"
                )
            })?)
        }
    };
    let plan: Arc<Plan> = together::plan(session, nodes);
    let options = GroundOptions {
        rest: Duration::from_millis(arguments.rest),
        alone,
    };
    Ok(Ground::new(plan, options))
}

fn limits(arguments: &Explore, ground: &Ground) -> Limits {
    let hold_max_ns = i64::try_from(arguments.hold.saturating_mul(1_000_000));
    let only = arguments
        .node
        .as_ref()
        .and_then(|name| ground.names().position(|it| it == name));
    // A library's layers may share what is theirs.
    let jobs = if arguments.layer.is_some() {
        1
    } else {
        each::processors()
    };
    Limits {
        tries: Tries {
            hold_max_ns: hold_max_ns.unwrap_or(i64::MAX),
            losses: arguments.losses.unwrap_or(0),
            repeats: arguments.repeats,
            overtakes: arguments.overtakes,
            deaths: arguments.deaths,
            ticks: arguments.ticks,
            only,
            object: arguments.object,
        },
        changes_max: arguments.changes,
        runs_max: arguments.runs,
        jobs: arguments.jobs.unwrap_or(jobs).max(1),
        by_chance: match (arguments.by_chance, arguments.by_priorities) {
            (Some(seed), _) => Some(ByChance::Delays { seed }),
            (None, Some((seed, depth))) => Some(ByChance::Priorities { seed, depth }),
            (None, None) => None,
        },
    }
}

/// Makes layers of the engine that was asked for.
pub fn maker<'a>(
    layer: Option<&'a Path>,
    changes: Changes<'a>,
    ground: Arc<Ground>,
) -> Box<MakeNode<'a, Failure>> {
    let mut engine: Option<Engine<'a>> = None;
    Box::new(move |node, io| {
        let engine = match &mut engine {
            Some(engine) => engine,
            None => engine.insert(Engine::asked(layer, changes)?),
        };
        let reel = ground
            .reel(node)
            .ok_or("a node without a reel has no layer")?;
        engine.tried_layer(reel, io)
    })
}

fn words(counts: &Counts, found: usize) -> String {
    format!(
        "exploring: {} runs, {} orders, {} wait, {found} found",
        counts.runs, counts.orders, counts.waiting
    )
}
