//! Boxes that only one node still believes in.

use std::collections::BTreeMap;

use netreel_sample_engine::{ObjectId, Peer};

use crate::script::TICKS_A_SECOND;
use crate::seen::Seen;

/// For how long nobody else may have a box before it is called a ghost: news takes a while.
const GHOST_TICKS: u64 = TICKS_A_SECOND as u64;

/// Which objects are where their owner no longer has them. It takes all nodes to tell: where some are
/// played elsewhere there are none.
#[derive(Clone, Debug, Default)]
pub struct Ghosts {
    since: BTreeMap<(Peer, ObjectId), u64>,
}

impl Ghosts {
    /// Takes in what `players` nodes believe now.
    pub fn look(&mut self, seen: &[Seen], players: usize) {
        let mut since = BTreeMap::new();
        if seen.len() == players {
            for node in seen {
                let alone = node.things.iter().filter(|thing| {
                    let mut others = seen.iter().filter(|other| other.peer != node.peer);
                    others.all(|other| other.thing(thing.id).is_none())
                });
                for thing in alone.filter(|thing| thing.owner != node.peer) {
                    let key = (node.peer, thing.id);
                    let first = self.since.get(&key).copied().unwrap_or(node.tick);
                    since.insert(key, first);
                }
            }
        }
        self.since = since;
    }

    /// Whether an object that a node believes in has been its alone for long.
    pub fn has(&self, node: &Seen, object: ObjectId) -> bool {
        let since = self.since.get(&(node.peer, object));
        since.is_some_and(|since| node.tick >= since + GHOST_TICKS)
    }

    /// How many of them a node has.
    pub fn count(&self, node: &Seen) -> usize {
        let all = node.things.iter();
        all.filter(|thing| self.has(node, thing.id)).count()
    }
}
