//! What kernels dropped because a receive buffer was full.

use std::collections::BTreeMap;

use crate::session::{NodeId, Session};

impl Session {
    /// How many packets a node's kernel dropped because a receive buffer was full.
    pub fn kernel_drops(&self, node: NodeId) -> u64 {
        self.node(node)
            .map_or(0, |node| node.kernel_drops.values().sum())
    }

    /// The same of all nodes together; a socket that several share is one.
    pub fn kernel_drops_of_all(&self) -> u64 {
        let mut all: BTreeMap<(&str, u64), u64> = BTreeMap::new();
        for (node, reel) in self.nodes.iter().zip(&self.reels) {
            let boot = reel
                .as_ref()
                .map_or("", |reel| reel.header().clock.boot_id.as_str());
            for (&inode, &dropped) in &node.kernel_drops {
                let most = all.entry((boot, inode)).or_default();
                *most = dropped.max(*most);
            }
        }
        all.values().sum()
    }
}
