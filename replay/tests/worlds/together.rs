//! Worlds that are played on: unchanged they are what they were, changed they are what would have
//! been.

use std::collections::BTreeMap;

use netreel_protocol::history::{History, Level};
use netreel_reel::{Endpoint, Event, Reel, Time};
use netreel_replay::together::{Played, Reels, play};
use netreel_sample_engine::{Mode, NetLayer, Script, SimWorldStart, Start, Topology, Tuning};
use netreel_transport::Layer;

use crate::recorded::{WAYS, boxes, record, replay};
use crate::story::{plan, session};

fn seeds(without: u64) -> u64 {
    let asked = std::env::var("NETREEL_SEEDS").ok();
    asked.map_or(without, |text| {
        text.parse().expect("NETREEL_SEEDS is a number")
    })
}

/// Plays reels on, each node's start as `change` leaves it.
fn play_on(reels: &[Vec<u8>], change: impl Fn(&mut Start)) -> (Played, Vec<Vec<u8>>) {
    let session = session(reels);
    let start = |node: usize| {
        let reel = session.reels[node].as_ref().expect("all are recorded");
        let mut start = Start::decode(&reel.header().start).expect("start conditions");
        change(&mut start);
        start
    };
    let headers = session.reels.iter().enumerate().map(|(node, reel)| {
        let mut header = reel.as_ref()?.header().clone();
        header.start = start(node).encode();
        Some((header, Vec::new()))
    });
    let written = Reels::create(headers.collect()).expect("small headers");
    let played = play(
        &plan(&session),
        1,
        Box::new(written.clone()),
        &mut |node, _| NetLayer::new(start(node)).map(|layer| Box::new(layer) as Box<dyn Layer>),
    );
    let written = written.finish("played on", |_| false).expect("memory");
    let written = written
        .into_iter()
        .map(|bytes| bytes.expect("all are played"));
    (played.expect("good conditions"), written.collect())
}

/// A node's events, without the note that stands behind them.
pub fn events(reel: &[u8]) -> Vec<String> {
    let mut events = Vec::new();
    Reel::from_bytes(reel.to_vec())
        .expect("a reel")
        .for_each(|record| {
            if !matches!(record.event, Event::Note { text: b"played on" }) {
                events.push(format!("{record:?}"));
            }
        });
    events
}

fn demonstration(seed: u64, mode: Mode, topology: Topology) -> Vec<Vec<u8>> {
    record(
        &SimWorldStart::new(seed, mode, topology, Script::Demonstration),
        400,
    )
}

pub fn errors(reels: &[Vec<u8>]) -> Vec<&'static str> {
    let history = History::build(&session(reels));
    let findings = history.findings.iter();
    let errors = findings.filter(|finding| finding.level == Level::Error);
    errors.map(|finding| finding.rule).collect()
}

#[test]
fn unchanged_every_world_is_what_it_was_to_the_event() {
    for seed in 0..seeds(40) {
        let (mode, topology) = WAYS[seed as usize % WAYS.len()];
        let reels = record(&boxes(seed, mode, topology), 150);
        let (played, written) = play_on(&reels, |_| ());
        assert!(played.is_exact(), "seed {seed}: {played:?}");
        assert_eq!(played.sum(|node| node.missing + node.changed + node.new), 0);
        for (before, after) in reels.iter().zip(&written) {
            assert_eq!(events(before), events(after), "seed {seed}");
        }
    }
}

#[test]
fn with_the_cure_no_demonstration_has_a_zombie() {
    for seed in 0..seeds(40) {
        let reels = demonstration(seed, Mode::Host, Topology::PeerToPeer);
        assert!(errors(&reels).contains(&"zombie-object"), "seed {seed}");
        let (_, written) = play_on(&reels, |start| start.mode = Mode::Owner);
        assert_eq!(errors(&written), [""; 0], "seed {seed}");
    }
}

#[test]
fn what_was_played_on_is_replayed_exactly() {
    let reels = demonstration(3, Mode::Host, Topology::PeerToPeer);
    let (_, written) = play_on(&reels, |start| start.mode = Mode::Owner);
    for reel in written {
        let report = replay(reel, |_| ());
        assert_eq!(report.divergence(), None);
    }
}

/// What a node got, in order, and when.
fn received(reel: &[u8]) -> Vec<(Time, Endpoint, Vec<u8>)> {
    let mut received = Vec::new();
    let reel = Reel::from_bytes(reel.to_vec()).expect("a reel");
    reel.for_each(|record| {
        if let Event::Received { from, payload, .. } = record.event {
            received.push((record.time, from, payload.to_vec()));
        }
    });
    received
}

/// The game's calls at each node, and when.
fn inputs(reels: &[Vec<u8>]) -> Vec<Vec<(Time, Vec<u8>)>> {
    let inputs = |reel: &Vec<u8>| {
        let mut inputs = Vec::new();
        Reel::from_bytes(reel.clone())
            .expect("a reel")
            .for_each(|record| {
                if let Event::Input { call } = record.event {
                    inputs.push((record.time, call.to_vec()));
                }
            });
        inputs
    };
    reels.iter().map(inputs).collect()
}

#[test]
fn with_another_constant_it_is_what_the_world_is_with_that_constant() {
    let tune = |tuning: &mut Tuning| {
        tuning.keep_alive_ns = 40_000_000;
        tuning.resend_delay_ns = 30_000_000;
    };
    let mut compared = BTreeMap::new();
    for seed in 0..seeds(40) {
        let (mode, topology) = WAYS[seed as usize % WAYS.len()];
        let script = Script::Boxes { ticks: 90 };
        let mut start = SimWorldStart::new(seed, mode, topology, script);
        let before = record(&start, 150);
        tune(&mut start.tuning);
        let after = record(&start, 150);
        // The game's calls are the recorded ones; in the other world it may make others.
        let same = inputs(&before) == inputs(&after);
        *compared.entry(same).or_insert(0) += 1;
        if !same {
            continue;
        }
        let (played, written) = play_on(&before, |start| tune(&mut start.tuning));
        assert!(!played.is_exact(), "the constant changes nothing");
        for (node, (world, played)) in after.iter().zip(&written).enumerate() {
            let (world, played) = (received(world), received(played));
            let differs = world
                .iter()
                .zip(&played)
                .position(|(world, played)| world != played);
            let at = differs.map(|at| (&world[at], &played[at]));
            assert_eq!(at, None, "seed {seed}, {mode:?}, {topology:?}, node {node}");
            assert_eq!(world.len(), played.len(), "seed {seed}, node {node}");
        }
    }
    assert!(
        compared.get(&true).is_some_and(|&same| same > 0),
        "{compared:?}"
    );
    println!("{compared:?}");
}
