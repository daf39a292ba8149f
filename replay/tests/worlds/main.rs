//! Recordings of simulated worlds, fed back into the engine.
//!
//! `NETREEL_SEEDS` says how many seeds are played, 200 if it says nothing; `./dev campaign` plays
//! ten thousand. `NETREEL_SUMS` names a folder in which the sums of all their reels are kept, for the
//! next build to have the same.

mod crowded;
mod divergence;
mod exact;
mod explore;
mod explore_campaign;
mod explore_continued;
mod explore_restless;
mod explore_ticks;
mod inside;
mod mutants;
mod recorded;
mod snapshots;
mod story;
mod time_outs;
mod together;
mod walks;
