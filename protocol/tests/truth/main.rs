//! Which send each receipt is of, who sent it, what became of it and when: told by a simulated network
//! that writes down what it does. No piece of the code under test takes part in the judgement.
//!
//! `NETREEL_SEEDS=1000 cargo test -p netreel-protocol --test truth` plays this many worlds.

#[path = "../clocks/clock.rs"]
mod clock;
#[path = "../clocks/solver.rs"]
mod solver;

mod bound;
mod draws;
mod judge;
mod network;
mod payloads;
mod reels;
mod steps;
mod traffic;
mod worlds;

use std::ops::Range;

/// How many worlds are played where nobody says it.
pub fn seeds(usual: u64) -> u64 {
    let given = std::env::var("NETREEL_SEEDS").ok();
    given.and_then(|given| given.parse().ok()).unwrap_or(usual)
}

/// The seeds of this many worlds; with `NETREEL_SEED` that one alone.
pub fn those(count: u64) -> Range<u64> {
    let given = std::env::var("NETREEL_SEED").ok();
    match given.and_then(|given| given.parse::<u64>().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..count,
    }
}
