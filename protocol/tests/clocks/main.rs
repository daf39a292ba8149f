//! Clocks of machines that drift and are set, aligned from what their reels hold: the truth is
//! within the bound, no packet arrives before it was sent, and the bound is as tight as the packets
//! allow.
//!
//! `NETREEL_SEEDS` says how many worlds are looked at, 200 if it says nothing.

mod clock;
mod exact;
mod solver;
mod truth;
mod world;

/// How many worlds are looked at.
pub fn seeds() -> u64 {
    let asked = std::env::var("NETREEL_SEEDS").ok();
    asked.map_or(200, |text| text.parse().expect("NETREEL_SEEDS is a number"))
}
