//! Exploring: runs a second of one node alone and of four nodes, and what a run costs in a recording that is
//! ten times as long.
//!
//! `cargo bench -p netreel-benches --bench explore`; with `-- --check` it fails where a target is missed,
//! `-- --runs N` makes so many runs of each (20 000), `-- --jobs N` as many threads (2). The recording is a
//! simulated match of boxes by four nodes in mode `owner`, in which no order of packets breaks anything, so
//! that every run is played to where nodes believe again what they believed. Times are of this process's
//! processor time, shared out among its threads, so that what else the machine does counts little.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use netreel_replay::explore::{
    Explored, Ground, GroundOptions, Limits, MakeNode, Runner, Tries, explore,
};
use netreel_sample_engine::{Mode, NetLayer, Script, SimWorldStart, Start, Topology};
use netreel_transport::{Layer, LinkFaults};

#[path = "../../replay/tests/worlds/recorded.rs"]
#[allow(dead_code)]
mod recorded;
#[path = "../../replay/tests/worlds/story.rs"]
mod story;

const TICKS_A_SECOND: u64 = 60;

/// The node that is played alone: X.
const ALONE: usize = 3;

/// Processor time of this process, in seconds.
fn processor() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn session(seconds: u64) -> netreel_protocol::session::Session {
    let ticks = seconds * TICKS_A_SECOND;
    let script = Script::Boxes { ticks };
    let mut start = SimWorldStart::new(3, Mode::Owner, Topology::PeerToPeer, script);
    start.faults = LinkFaults {
        jitter: Duration::from_millis(2),
        ..LinkFaults::default()
    };
    story::session(&recorded::record(&start, ticks + 60))
}

fn maker(ground: &Arc<Ground>) -> Box<MakeNode<'static, Infallible>> {
    let ground = Arc::clone(ground);
    Box::new(move |node, _| {
        let reel = ground.reel(node).expect("all are recorded");
        let start = Start::decode(&reel.header().start).expect("start conditions");
        Ok(Box::new(NetLayer::new(start).expect("good conditions")) as Box<dyn Layer>)
    })
}

/// What was explored, and how long the runs took.
fn explored(
    session: &netreel_protocol::session::Session,
    alone: Option<usize>,
    (runs, jobs): (u64, usize),
) -> (Explored, f64) {
    let options = GroundOptions {
        rest: Duration::from_secs(3),
        alone,
    };
    let ground = Arc::new(Ground::new(story::plan(session), options));
    let limits = Limits {
        tries: Tries {
            hold_max_ns: 1_000_000_000,
            only: alone,
            ..Tries::default()
        },
        changes_max: 2,
        runs_max: runs,
        jobs,
        by_chance: None,
    };
    let wire = recorded::wire();
    // The first look is before the first runs' end; what is made once is not a run.
    let mut begun = None;
    let mut before = 0;
    let mut last = (0.0, 0);
    let told = explore(
        &ground,
        &|| maker(&ground),
        Some(&wire),
        &limits,
        &mut |told| {
            if let netreel_replay::explore::Told::Counts(counts) = told {
                last = (processor(), counts.runs);
                if begun.is_none() {
                    (begun, before) = (Some(last.0), counts.runs);
                }
            }
            ControlFlow::Continue(())
        },
    );
    let told = told.unwrap_or_else(|never| match never {});
    let seconds = begun.map_or(0.0, |begun| last.0 - begun) / jobs as f64;
    (told, (last.1 - before) as f64 / seconds.max(1e-9))
}

fn number(arguments: &[String], name: &str) -> Option<u64> {
    let place = arguments.iter().position(|it| it == name)?;
    arguments.get(place + 1)?.parse().ok()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let check = arguments.iter().any(|argument| argument == "--check");
    let runs = number(&arguments, "--runs").unwrap_or(20_000);
    let jobs = usize::try_from(number(&arguments, "--jobs").unwrap_or(2)).unwrap_or(2);
    let short = session(10);
    let mut good = true;
    let cases = [
        ("one node alone", Some(ALONE), runs, 20_000.0),
        ("four nodes", None, runs / 5, 2000.0),
    ];
    let mut turns = [0.0; 2];
    for (place, (what, alone, runs, target)) in cases.into_iter().enumerate() {
        let (explored, rate) = explored(&short, alone, (runs, jobs));
        let counts = explored.counts;
        let met = rate >= target;
        good &= met;
        let mark = if met { "" } else { "  MISSED" };
        turns[place] = counts.turns as f64 / counts.runs.max(1) as f64;
        println!(
            "{what}: {rate:.0} runs a second (target {target}){mark}; {:.0} turns a run, {} runs, {} orders, \
             {} more saved, {jobs} threads",
            turns[place], counts.runs, counts.orders, counts.saved
        );
    }
    let long = session(100);
    for (place, (what, alone, runs, _)) in cases.into_iter().enumerate() {
        let (explored, rate) = explored(&long, alone, (runs, jobs));
        let counts = explored.counts;
        println!(
            "{what}, ten times as long a recording: {rate:.0} runs a second; {:.0} turns a run (before: {:.0})",
            counts.turns as f64 / counts.runs.max(1) as f64,
            turns[place]
        );
    }
    one_layer(&short);
    ExitCode::from(u8::from(check && !good))
}

/// What a turn, and going back to a state, cost at least: no run can be quicker.
fn one_layer(session: &netreel_protocol::session::Session) {
    let options = GroundOptions {
        rest: Duration::from_secs(3),
        alone: None,
    };
    let ground = Arc::new(Ground::new(story::plan(session), options));
    let begun = processor();
    let made = Runner::new(Arc::clone(&ground), maker(&ground));
    let (_, ran) = made.unwrap_or_else(|never| match never {});
    let ns = (processor() - begun) * 1e9 / ran.turns.max(1) as f64;
    println!("a turn of a node, with the network, and the states that are kept: {ns:.0} ns");
}
