//! `netreel demo`: the sample game, played in real processes over real UDP; recorded, checked,
//! replayed, and shown.

pub mod node;
mod processes;
mod ring;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netreel_protocol::export;
use netreel_protocol::history::Level;
use netreel_protocol::verdict::Judgement;
use netreel_replay::{Outcome, explain};
use netreel_sample_engine::{Peer, node_name};
use serde_json::json;

use crate::arguments::{Demo, Switch, Topology};
use crate::open::{self, Story};
use crate::outcome::{Answer, Failure, Result, fail};
use crate::replay::engine::Engine;
use crate::{boxes, check, replay, text, whole};
use processes::{Assignment, HowToPlay, Processes};

/// A session that is not over by then has failed.
const LIMIT: Duration = Duration::from_secs(60);

pub fn run(arguments: &Demo, out: &mut dyn Write) -> Result<Answer> {
    let folder = prepare(arguments.out.as_deref(), "demo")?;
    // With --json the object is all that is printed.
    let mut told: Box<dyn Write + '_> = if arguments.json {
        Box::new(std::io::sink())
    } else {
        Box::new(&mut *out)
    };
    let windows = play(arguments, &folder, &mut told).map_err(|why| left(&folder, why))?;
    if arguments.ring.is_some() {
        return ring::report(&windows, &folder, &mut told);
    }
    let found = open::reels(&[&folder])?;
    let reels = found.reels();
    let story = open::build(found, None)?;
    let (session, history) = (&story.session, story.history());
    let judgement = Judgement::new(session, history, Level::Error, &story.unread);
    writeln!(
        told,
        "recorded {} between {} in {}",
        text::counted(session.packet_count(), "packet"),
        text::counted(session.nodes.len(), "node"),
        folder.display()
    )?;
    writeln!(told)?;
    check::report(session, history, false, &mut told)?;
    check::verdict(&judgement, &mut told)?;

    writeln!(told)?;
    let mut answer = Answer::Clean;
    let names = replay::reels::names(&reels);
    let mut replays = Vec::new();
    let engine = Engine::Boxes(replay::boxes::Changes::default());
    for reel in &reels {
        let report = engine.replay(reel)?;
        if report.outcome != Outcome::Exact {
            answer = Answer::Wrong;
        }
        let explanation = report.divergence();
        let explanation =
            explanation.map(|it| explain(it, (session.wire.as_deref(), Some(reel)), &names));
        let node = &reel.header().node;
        replays.push(replay::report::as_json(node, &report, explanation.as_ref()));
        replay::report::print(node, &report, explanation.as_ref(), &mut told)?;
    }
    writeln!(told)?;
    told.flush()?;
    let summary = json!({
        "folder": folder.display().to_string(),
        "packets": session.packet_count(),
        "check": export::check(session, history, &judgement),
        "replays": replays,
    });
    show(arguments, story, &folder, &mut told)?;
    drop(told);
    if arguments.json {
        writeln!(out, "{summary}")?;
    }
    Ok(answer)
}

/// Why nothing came of a recording, and where it is as far as it goes. An empty folder says nothing and
/// would be in the way of the next try: it goes.
pub fn left(folder: &Path, failure: Failure) -> Failure {
    match std::fs::remove_dir(folder) {
        Ok(()) => failure,
        Err(_) => Failure::new(format!(
            "{failure}; what was recorded is in {}",
            folder.display()
        )),
    }
}

/// The folder for the reels: new, or empty. One that nobody named is named after `what`.
pub fn prepare(out: Option<&Path>, what: &str) -> Result<PathBuf> {
    let folder = folder_for(out, what);
    let shown = folder.display();
    match whole::make_empty(&folder) {
        Ok(true) => Ok(folder),
        Ok(false) => fail(format!(
            "{shown} is not empty; name an empty or a new folder with --out, so that no recording is \
            lost and no two are mixed"
        )),
        Err(error) => fail(format!(
            "cannot make the folder {shown} for the reels: {error}; name another with --out"
        )),
    }
}

/// The folder that is named, or a new one below the system's temporary folder.
pub fn folder_for(out: Option<&Path>, what: &str) -> PathBuf {
    let new = || std::env::temp_dir().join(format!("netreel-{what}-{}", std::process::id()));
    out.map_or_else(new, Path::to_owned)
}

fn play(arguments: &Demo, folder: &Path, out: &mut dyn Write) -> Result<Vec<PathBuf>> {
    let names = (0..arguments.nodes)
        .map(|peer| node_name(Peer(peer)))
        .collect::<Vec<_>>();
    writeln!(out, "playing boxes on {}", names.join(", "))?;
    out.flush()?;
    let how = HowToPlay {
        port: arguments.port,
        seed: arguments.seed,
        limit: LIMIT,
        ring: arguments.ring,
        snapshots: arguments.snapshots,
    };
    let time_outs = arguments.time_outs == Switch::On;
    let mut processes = Processes::start(&names, folder, how)?;
    let (endpoints, triggers) = processes.endpoints()?;
    let session = boxes::session_id(arguments.seed);
    let assignment = Assignment {
        session,
        endpoints,
        names,
        mode: arguments.rules.migration.into(),
        relayed: arguments.rules.topology == Topology::ClientServer,
        seed: arguments.seed,
        free: arguments.free,
        time_outs,
        triggers,
        trigger_key: text::hex(&session),
    };
    processes.assign(&assignment)?;
    if arguments.ring.is_some() {
        return ring::play(&mut processes, &assignment.names, time_outs, out);
    }
    processes.finish()?;
    Ok(Vec::new())
}

#[cfg(feature = "gui")]
fn show(arguments: &Demo, mut story: Story, folder: &Path, out: &mut dyn Write) -> Result {
    use crate::inspect::drawn::{draw, model};
    use crate::inspect::window;
    let model = model(&mut story, "");
    let display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let picture = folder.join("timeline.png");
    if arguments.headless || arguments.json || !display {
        draw(model, (1600, 1000), &picture)?;
        writeln!(out, "the timeline: {}", picture.display())?;
        return Ok(());
    }
    writeln!(out, "opening the inspector")?;
    out.flush()?;
    window(model, folder)
}

#[cfg(not(feature = "gui"))]
fn show(_arguments: &Demo, _story: Story, folder: &Path, out: &mut dyn Write) -> Result {
    writeln!(
        out,
        "the reels: {}; built without the window: no picture",
        folder.display()
    )?;
    Ok(())
}
