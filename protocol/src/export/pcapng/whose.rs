//! Where a frame was seen.

use crate::session::{NodeId, ObserverId};

/// Whose reel a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whose {
    Node(NodeId),
    /// By its place among the proxies.
    Proxy(u16),
    Observer(ObserverId),
}
