//! What is found in healthy worlds by trying other orders.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use netreel_replay::explore::{
    Change, Cut, Explored, Ground, GroundOptions, Limits, MakeNode, Outcome, Runner, Told, Tries,
    Wrong, explore, tighten,
};
use netreel_replay::together::Reels;
use netreel_sample_engine::{Fault, Mode, NetLayer, Script, SimWorldStart, Start, Topology};
use netreel_transport::{Layer, LinkFaults};

use crate::recorded::{record, replay, seeds_or, wire};
use crate::together::{errors, events, plan, session};

/// A world in which boxes are played with little delay, and nothing goes wrong.
fn healthy(seed: u64, mode: Mode, ticks: u64) -> Vec<Vec<u8>> {
    let mut start = SimWorldStart::new(seed, mode, Topology::PeerToPeer, Script::Boxes { ticks });
    start.faults = LinkFaults {
        jitter: Duration::from_millis(2),
        ..LinkFaults::default()
    };
    record(&start, ticks + 60)
}

fn ground(reels: &[Vec<u8>]) -> Arc<Ground> {
    let options = GroundOptions {
        rest: Duration::from_secs(3),
        alone: None,
    };
    Arc::new(Ground::new(plan(&session(reels)), options))
}

fn maker(ground: &Arc<Ground>) -> Box<MakeNode<'static, Infallible>> {
    faulty(ground, None)
}

/// Layers that do something wrong on purpose.
fn faulty(ground: &Arc<Ground>, fault: Option<Fault>) -> Box<MakeNode<'static, Infallible>> {
    let ground = Arc::clone(ground);
    Box::new(move |node, _| {
        let reel = ground.reel(node).expect("all are recorded");
        let mut start = Start::decode(&reel.header().start).expect("start conditions");
        start.fault = fault;
        Ok(Box::new(NetLayer::new(start).expect("good conditions")) as Box<dyn Layer>)
    })
}

fn limits(runs_max: u64) -> Limits {
    Limits {
        tries: Tries {
            hold_max_ns: 1_000_000_000,
            losses: false,
            repeats: false,
            deaths: false,
            only: None,
        },
        changes_max: 2,
        runs_max,
        jobs: 2,
        by_chance: None,
    }
}

fn explored(ground: &Arc<Ground>, limits: &Limits, until: usize) -> (Explored, Vec<Wrong>) {
    let mut found = Vec::new();
    let wire = wire();
    let explored = explore(
        ground,
        &|| maker(ground),
        Some(&wire),
        limits,
        &mut |told| {
            if let Told::Wrong(wrong) = told {
                found.push(wrong.clone());
            }
            match found.len() >= until {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        },
    );
    (explored.unwrap_or_else(|never| match never {}), found)
}

fn written(ground: &Arc<Ground>, changes: &[Change]) -> Vec<Vec<u8>> {
    let (mut runner, _) =
        Runner::new(Arc::clone(ground), maker(ground)).unwrap_or_else(|it| match it {});
    let headers = (0..ground.names().count()).map(|node| {
        let header = ground.reel(node)?.header().clone();
        Some((header, Vec::new()))
    });
    let reels = Reels::create(headers.collect()).expect("small headers");
    let ran = runner.write(changes, &Cut::nothing(ground), Box::new(reels.clone()));
    ran.unwrap_or_else(|it| match it {});
    let written = reels.finish("played on", |_| false).expect("memory");
    written.into_iter().flatten().collect()
}

#[track_caller]
fn assert_played_as_recorded(reels: &[Vec<u8>]) {
    let written = written(&ground(reels), &[]);
    for (before, after) in reels.iter().zip(&written) {
        let (before, after) = (events(before), events(after));
        // Behind its end the nodes go on.
        assert!(after.len() > before.len());
        for (at, event) in before.iter().enumerate() {
            assert_eq!(event, &after[at], "event {at}");
        }
    }
}

#[test]
fn without_changes_a_run_is_the_recording_to_the_event() {
    for seed in 0..seeds_or(8) {
        let mode = [Mode::Host, Mode::Owner][seed as usize % 2];
        let reels = healthy(seed, mode, 120);
        assert_played_as_recorded(&reels);
    }
}

#[test]
fn the_zombie_is_found_in_healthy_recordings_and_replays() {
    let mut found = 0;
    for seed in 0..seeds_or(4) {
        let reels = healthy(seed, Mode::Host, 240);
        if !errors(&reels).is_empty() {
            continue;
        }
        let ground = ground(&reels);
        let (explored, wrong) = explored(&ground, &limits(4000), 1);
        eprintln!("seed {seed}: {explored:?} {wrong:?}");
        let Some(wrong) = wrong.first() else { continue };
        found += 1;
        let (mut runner, _) =
            Runner::new(Arc::clone(&ground), maker(&ground)).unwrap_or_else(|it| match it {});
        let outcome = Outcome::of(&wrong.ran);
        let changes =
            tighten(&mut runner, &wrong.changes, &outcome).unwrap_or_else(|it| match it {});
        let name = |node: usize| ground.name(node).to_owned();
        for change in &changes {
            eprintln!("   {}", change.words(&name));
        }
        let reels = written(&ground, &changes);
        eprintln!("   {:?}", errors(&reels));
        assert!(!errors(&reels).is_empty(), "seed {seed}");
        assert_played_as_recorded(&reels);
        for reel in reels {
            assert_eq!(replay(reel, |_| ()).divergence(), None);
        }
    }
    assert!(found > 0);
}

#[test]
fn the_cure_holds_in_whatever_order() {
    for seed in 0..seeds_or(2) {
        let reels = healthy(seed, Mode::Owner, 240);
        let (explored, wrong) = explored(&ground(&reels), &limits(2000), 1);
        eprintln!("seed {seed}: {explored:?} {wrong:?}");
        assert_eq!(wrong, [], "seed {seed}");
    }
}

/// Faults of which one healthy recording of the cured engine shows nothing by itself, or little.
const PLANTED: &[Fault] = &[
    Fault::ForgetAck,
    Fault::DeliverTwice,
    Fault::NeverDeliver,
    Fault::NeverResend,
    Fault::ForgetCreate,
    Fault::ForgetDestroy,
    Fault::ForgetAnnounce,
    Fault::ForgetTombstones,
    Fault::CounterNotRaised,
    Fault::CounterFalls,
    Fault::UpdateBeforeCreate,
    Fault::ForgetLostUpdate,
    Fault::SwallowUpdates,
    Fault::AckAhead,
    Fault::NeverAck,
    Fault::IgnoreAcks,
    Fault::ForgetField,
    Fault::MisnameOwner,
    Fault::MisnameHeir,
    Fault::UpdateAfterDestroy,
    Fault::SkipPlace,
    Fault::TakeUnasked,
    Fault::AcksStand,
    Fault::DropEarly,
    Fault::StreamWrapsEarly,
    Fault::DropAtFullQueue,
    Fault::DeliverAsTheyCome,
    Fault::CreateToJoined,
    Fault::AckOfNewest,
    Fault::AckOfAllBefore,
    Fault::WrongDirtyField,
    Fault::FirstObjectsOnly,
];

/// After how many runs something wrong is found; 0: the session without changes shows it.
fn found_after(
    ground: &Arc<Ground>,
    fault: Fault,
    runs: u64,
    by_chance: Option<u64>,
) -> Option<u64> {
    let wire = wire();
    let (_, unchanged) = Runner::new(Arc::clone(ground), faulty(ground, Some(fault)))
        .unwrap_or_else(|it| match it {});
    if unchanged.is_wrong() {
        return Some(0);
    }
    let mut limits = limits(runs);
    limits.tries.losses = true;
    limits.tries.deaths = true;
    limits.tries.repeats = true;
    limits.by_chance = by_chance;
    let mut found = None;
    let makers = || faulty(ground, Some(fault));
    let explored = explore(
        ground,
        &makers,
        Some(&wire),
        &limits,
        &mut |told| match told {
            Told::Wrong(wrong) => {
                found = Some(wrong.run);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        },
    );
    explored.unwrap_or_else(|it| match it {});
    found
}

/// `NETREEL_EXPLORE_FAULTS=2000 cargo test -p netreel-replay --test worlds planted_faults -- --nocapture` goes
/// through all of them with so many runs each, beside delays by chance; without it a few are tried.
#[test]
fn planted_faults_are_found_from_one_healthy_recording() {
    let asked = std::env::var("NETREEL_EXPLORE_FAULTS").ok();
    let runs: u64 = asked
        .as_deref()
        .map_or(400, |it| it.parse().expect("a number of runs"));
    let few = [
        Fault::ForgetTombstones,
        Fault::ForgetLostUpdate,
        Fault::MisnameHeir,
    ];
    let faults = if asked.is_some() { PLANTED } else { &few };
    let reels = healthy(3, Mode::Owner, 240);
    assert_eq!(errors(&reels), [""; 0]);
    let ground = ground(&reels);
    let (mut explored, mut by_chance) = (0, 0);
    let words = |found: Option<u64>| found.map_or("-".to_owned(), |run| run.to_string());
    println!("| fault | found in run | by chance |\n|---|---|---|");
    for &fault in faults {
        let found = found_after(&ground, fault, runs, None);
        let chance = asked
            .as_ref()
            .and_then(|_| found_after(&ground, fault, runs, Some(7)));
        explored += usize::from(found.is_some());
        by_chance += usize::from(chance.is_some());
        println!("| {fault:?} | {} | {} |", words(found), words(chance));
    }
    println!(
        "{explored} of {} found, {by_chance} by chance",
        faults.len()
    );
    assert!(
        explored * 6 >= faults.len() * 5 || asked.is_none(),
        "{explored} of {}",
        faults.len()
    );
    assert!(explored >= 2, "{explored} of {}", faults.len());
}
