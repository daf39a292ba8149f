//! A fault to be planted, who has it, and how they play so that it shows.

use netreel_sample_engine::{Fault, Mode, Peer, Topology};

pub const HOST: Peer = Peer(0);
pub const A: Peer = Peer(1);

pub const P2P: Topology = Topology::PeerToPeer;
pub const SERVER: Topology = Topology::ClientServer;

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

pub const fn plant(fault: Fault, at: Peer, mode: Mode, topology: Topology) -> Planted {
    Planted {
        fault,
        at,
        mode,
        topology,
        rule: None,
    }
}

/// A has it, as most have.
pub const fn at_a(fault: Fault) -> Planted {
    plant(fault, A, Mode::Owner, P2P)
}

/// HOST has it, as a server.
pub const fn at_server(fault: Fault) -> Planted {
    plant(fault, HOST, Mode::Owner, SERVER)
}
