//! Every node of every world does again what it did.

use std::path::Path;
use std::sync::Arc;

use netreel_reel::Reel;
use netreel_replay::{Driver, Outcome};
use netreel_sample_engine::{NetLayer, Start};
use twox_hash::XxHash3_128;

use crate::recorded::{WAYS, boxes, record, replay};

fn seeds() -> u64 {
    let asked = std::env::var("NETREEL_SEEDS").ok();
    asked.map_or(200, |text| text.parse().expect("NETREEL_SEEDS is a number"))
}

fn check(way: usize) {
    let (mode, topology) = WAYS[way];
    let mut sums = Vec::new();
    for seed in 0..seeds() {
        let reels = record(&boxes(seed, mode, topology), 150);
        let sum = |reel: &Vec<u8>| format!("{:032x}", XxHash3_128::oneshot(reel));
        sums.push(reels.iter().map(sum).collect::<Vec<String>>().join(" "));
        for (node, reel) in reels.into_iter().enumerate() {
            let report = replay(reel, |_| ());
            let what = format!("seed {seed}, {mode:?}, {topology:?}, node {node}");
            assert_eq!(report.outcome, Outcome::Exact, "{what}");
            assert_eq!(report.ticks, 150, "{what}");
            assert!(report.sends > 50, "{what}: {} sends", report.sends);
        }
    }
    if let Some(folder) = std::env::var_os("NETREEL_SUMS") {
        check_sums(&Path::new(&folder).join(format!("{way}.txt")), &sums);
    }
}

/// Compares the sums of all reels, a line a seed, with what another build wrote into the file; writes
/// it where it is not there. Builds that record the same bytes replay each other's.
fn check_sums(file: &Path, sums: &[String]) {
    let Ok(others) = std::fs::read_to_string(file) else {
        std::fs::write(file, sums.join("\n")).expect("NETREEL_SUMS is a folder");
        return;
    };
    let others: Vec<&str> = others.lines().collect();
    assert_eq!(others.len(), sums.len(), "the other build played as many");
    for (seed, (other, own)) in others.iter().zip(sums).enumerate() {
        assert_eq!(other, own, "seed {seed} of {}", file.display());
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
