//! Every node of every world does again what it did.

use netreel_reel::Reel;
use netreel_replay::{Driver, Outcome};
use netreel_sample_engine::{NetLayer, Start};
use std::sync::Arc;

use crate::recorded::{WAYS, boxes, record, replay};

fn seeds() -> u64 {
    let asked = std::env::var("NETREEL_SEEDS").ok();
    asked.map_or(200, |text| text.parse().expect("NETREEL_SEEDS is a number"))
}

fn check(way: usize) {
    let (mode, topology) = WAYS[way];
    for seed in 0..seeds() {
        for (node, reel) in record(&boxes(seed, mode, topology), 150)
            .into_iter()
            .enumerate()
        {
            let report = replay(reel, |_| ());
            let what = format!("seed {seed}, {mode:?}, {topology:?}, node {node}");
            assert_eq!(report.outcome, Outcome::Exact, "{what}");
            assert_eq!(report.ticks, 150, "{what}");
            assert!(report.sends > 50, "{what}: {} sends", report.sends);
        }
    }
}

#[test]
fn host_mode_peer_to_peer_is_exact() {
    check(0);
}

#[test]
fn host_mode_client_server_is_exact() {
    check(1);
}

#[test]
fn owner_mode_peer_to_peer_is_exact() {
    check(2);
}

#[test]
fn owner_mode_client_server_is_exact() {
    check(3);
}

#[test]
fn a_world_played_twice_gives_the_same_reels_to_the_byte() {
    for (mode, topology) in WAYS {
        let start = boxes(11, mode, topology);
        assert_eq!(
            record(&start, 120),
            record(&start, 120),
            "{mode:?}, {topology:?}"
        );
    }
}

#[test]
fn a_reel_cut_anywhere_is_exact_as_far_as_it_goes() {
    let (mode, topology) = WAYS[2];
    let whole = record(&boxes(5, mode, topology), 60).swap_remove(1);
    let mut replayed = 0;
    for length in (0..whole.len()).step_by(97) {
        let Ok(reel) = Reel::from_bytes(whole[..length].to_vec()) else {
            continue;
        };
        let Ok(start) = Start::decode(&reel.header().start) else {
            continue;
        };
        let Ok(driver) = Driver::new(Arc::new(reel)) else {
            continue;
        };
        let mut layer = NetLayer::new(start).expect("good conditions");
        let report = driver.run(&mut layer);
        assert_eq!(
            (report.outcome, report.cut),
            (Outcome::Exact, true),
            "cut at {length}"
        );
        replayed += 1;
    }
    assert!(replayed > 50, "only {replayed} cuts could be replayed");
}
