//! What all nodes of a game that is played by hand have in common.

use std::net::SocketAddr;

use netreel_sample_engine::{Mode, Peer, PeerStart, Start, Topology, node_name};
use serde::{Deserialize, Serialize};

/// What every node must know before its first tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// The same in all reels of the session.
    pub session: [u8; 16],
    /// How objects change owner.
    pub mode: Mode,
    /// Who talks to whom.
    pub topology: Topology,
    /// Of what is lost and how much packets jitter.
    pub seed: u64,
    /// The nodes' endpoints, by peer number.
    pub endpoints: Vec<SocketAddr>,
}

impl Setup {
    /// The name of a node.
    pub fn name(&self, peer: Peer) -> String {
        node_name(peer)
    }

    /// All names, by peer number.
    pub fn names(&self) -> Vec<String> {
        self.peers().map(|peer| self.name(peer)).collect()
    }

    /// All nodes.
    pub fn peers(&self) -> impl Iterator<Item = Peer> + use<> {
        (0u8..).map(Peer).take(self.endpoints.len())
    }

    /// The start conditions of a node.
    pub fn start(&self, own: Peer) -> Start {
        let peers = self
            .peers()
            .zip(&self.endpoints)
            .map(|(peer, endpoint)| PeerStart {
                name: self.name(peer),
                endpoint: *endpoint,
            });
        let mut start = Start::new(own, peers.collect(), self.topology, self.mode);
        // Whoever holds a link for a minute, or sits in a debugger, still plays.
        start.time_outs = false;
        start
    }
}
