//! How far an exploration has come.

use serde::{Deserialize, Serialize};

/// How far an exploration has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Runs.
    pub runs: u64,
    /// Turns of nodes that were played in them.
    pub turns: u64,
    /// Orders that were seen.
    pub orders: u64,
    /// Ways that would have led to an order that was seen, or to which another way led, and were not tried.
    pub saved: u64,
    /// Orders to which no way that should have led there did: layers do not let them happen, or nobody knows
    /// how.
    pub unreached: u64,
    /// Runs that came to something wrong.
    pub wrong: u64,
    /// Ways that wait.
    pub waiting: u64,
    /// Ways that were given up because too many waited.
    pub given_up: u64,
}
