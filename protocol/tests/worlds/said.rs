//! Worlds whose games say what they believe: what they say is what their engines hold, and faults that
//! leave no trace in any packet are found.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use netreel_protocol::history::{Belief, History, Level};
use netreel_sample_engine::{Fault, Mode, Peer, SimWorldStart, Topology};

use crate::planted::table;
use crate::played::{Played, WAYS, boxes};

const WORLDS: u64 = 6;

pub fn start(seed: u64, mode: Mode, topology: Topology) -> SimWorldStart {
    let mut start = boxes(seed, mode, topology);
    start.nodes = 4;
    start.says_beliefs = true;
    start.faults.loss = start.faults.loss.max(0.05);
    start.faults.delay += Duration::from_millis(80);
    if mode == Mode::Host {
        // News does not overtake older news, so that mode `host` itself does nothing wrong.
        start.link_faults.clear();
        start.faults.jitter = Duration::ZERO;
        start.faults.reorder = 0.0;
    }
    start
}

fn play(seed: u64, (mode, topology): (Mode, Topology), planted: Option<(Peer, Fault)>) -> Played {
    let mut start = start(seed, mode, topology);
    start.planted.extend(planted);
    Played::new(&start, |world| world.run(480))
}

fn rules(history: &History) -> Vec<String> {
    let findings = history.findings.iter();
    let worse = findings.filter(|finding| finding.level > Level::Info);
    worse
        .map(|it| format!("{} {:?}: {}", it.rule, it.level, it.sentence))
        .collect()
}

/// What the game said counts, and in worlds without a fault it is what the rules make of the messages.
#[test]
fn in_worlds_without_a_fault_game_and_rules_agree() {
    for way in WAYS {
        for seed in 0..WORLDS {
            let played = play(seed, way, None);
            let found = rules(&played.history);
            let own = found.iter().filter(|it| it.starts_with("belief-differs"));
            assert_eq!(own.count(), 0, "seed {seed} {way:?}: {found:#?}");
            for peer in played.world.running() {
                assert_eq!(played.believed(peer), played.real(peer), "{seed} {way:?}");
            }
        }
    }
}

/// The ends of all lanes are what the games said last, also where the rules say something else.
#[test]
fn what_a_game_said_last_is_what_its_engine_holds() {
    for planted in table::SAID {
        let way = (planted.mode, planted.topology);
        for seed in 0..WORLDS {
            let played = play(seed, way, Some((planted.at, planted.fault)));
            for peer in played.world.running() {
                let believed = played.believed(peer);
                let real = played.real(peer);
                for (object, owner) in &real {
                    let known = believed.get(object);
                    assert_eq!(known, Some(owner), "{planted:?} seed {seed}");
                }
            }
        }
    }
}

/// Planted faults of which no packet tells: each is found in the worlds in which the engine's own table is
/// in the end another one than the rules make of its messages, and in one of them at least.
#[test]
fn what_leaves_no_trace_in_packets_is_found_where_games_speak() {
    let mut missed = Vec::new();
    for planted in table::SAID {
        let way = (planted.mode, planted.topology);
        let rule = planted.rule.expect("a rule is meant");
        let (mut worlds, mut parted): (BTreeMap<&str, u64>, u64) = (BTreeMap::new(), 0);
        for seed in 0..WORLDS {
            let played = play(seed, way, Some((planted.at, planted.fault)));
            let findings = played.history.findings.iter();
            let telling = findings.filter(|it| it.level > Level::Info);
            let rules: BTreeSet<&str> = telling.map(|it| it.rule).collect();
            if is_parted(&played, planted.at) {
                parted += 1;
                assert!(rules.contains(rule), "{planted:?} seed {seed}: {rules:?}");
            }
            for rule in rules {
                *worlds.entry(rule).or_default() += 1;
            }
        }
        println!(
            "{:?} at {:?}, {way:?}: {worlds:?}, {parted} parted",
            planted.fault, planted.at
        );
        if !worlds.contains_key(rule) {
            missed.push((planted, worlds));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Whether the objects that live in a node's engine are others than the rules make of its messages.
fn is_parted(played: &Played, peer: Peer) -> bool {
    let node = played.node(peer);
    let by_rules = played.history.objects.iter().filter_map(|(&id, object)| {
        let lane = object
            .by_rules
            .get(&node)
            .or_else(|| object.lanes.get(&node))?;
        match lane.last()?.belief {
            Belief::Owned(owner) | Belief::Orphaned(owner) => Some((id, owner)),
            Belief::Destroyed | Belief::Unknown => None,
        }
    });
    by_rules.collect::<BTreeMap<u64, u64>>() != played.real(peer)
}
