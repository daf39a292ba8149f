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
use netreel_sample_engine::{Mode, NetLayer, Script, SimWorldStart, Start, Topology};
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
    let ground = Arc::clone(ground);
    Box::new(move |node, _| {
        let reel = ground.reel(node).expect("all are recorded");
        let start = Start::decode(&reel.header().start).expect("start conditions");
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
