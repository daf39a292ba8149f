//! Where nodes are played.

use netreel_sample_engine::Peer;

use crate::node::Order;
use crate::seen::Seen;

/// Nodes that are played: on this machine's clock, or in virtual time.
pub trait Stage {
    /// The names of all nodes of the session, by peer number.
    fn names(&self) -> &[String];

    /// What the nodes that are played here believe now.
    fn seen(&mut self) -> Vec<Seen>;

    /// Tells a node something; nodes that are played elsewhere are not reached.
    fn order(&mut self, to: Peer, order: Order);
}
