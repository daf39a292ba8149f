//! A fault to be planted, who has it, and how they play so that it shows.

use netreel_sample_engine::{Fault, Mode, Peer, Topology};

/// A fault to be planted.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    pub fault: Fault,
    pub at: Peer,
    pub mode: Mode,
    pub topology: Topology,
    /// The rule that is meant to find it; `None` where which rules do is for a count to say.
    pub rule: Option<&'static str>,
}

pub const fn plant(
    fault: Fault,
    at: Peer,
    mode: Mode,
    topology: Topology,
    rule: Option<&'static str>,
) -> Planted {
    Planted {
        fault,
        at,
        mode,
        topology,
        rule,
    }
}
