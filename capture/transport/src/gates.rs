//! Gates that hold the packets of a link back until an event opens them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use netreel_system::locked;

/// One end of a link, by a number that does not change from run to run as ports do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkEnd(pub u16);

/// The gates of one node's [`Faults`](crate::Faults), in the hand of whoever runs the node.
///
/// While a link's gate is shut its packets wait; when it opens they pass in the order in which
/// they came, none lost. The network layer knows nothing of it. Clones open the same gates.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    shut: Arc<Mutex<BTreeSet<(LinkEnd, LinkEnd)>>>,
}

impl Gates {
    /// Shuts the link from `from` to `to`. The node's own end decides where: a link to it is shut
    /// at ingress, a link from it at egress.
    pub fn shut(&self, from: LinkEnd, to: LinkEnd) {
        self.links(|links| links.insert((from, to)));
    }

    /// Opens the link again.
    pub fn open(&self, from: LinkEnd, to: LinkEnd) {
        self.links(|links| links.remove(&(from, to)));
    }

    /// Whether the link is shut.
    pub fn is_shut(&self, from: LinkEnd, to: LinkEnd) -> bool {
        self.links(|links| links.contains(&(from, to)))
    }

    fn links<R>(&self, action: impl FnOnce(&mut BTreeSet<(LinkEnd, LinkEnd)>) -> R) -> R {
        action(&mut locked(&self.shut))
    }
}
