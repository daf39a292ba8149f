//! Made by `netreel shrink`: X created object 42 (CREATE by A, packet 2) after DESTROY by B (packet 14), which it had dropped because it did not know the object; it still lives at X when all is delivered
//!
//! All nodes of a small session, live, over the network that it had. It needs netreel-reel,
//! netreel-replay and netreel-transport, and stands in a module that has the engine's layers:
//! `fn layer(start: &[u8]) -> Box<dyn netreel_transport::Layer>` makes one from the start
//! conditions of a node.

use std::sync::Arc;
use std::time::Duration;

use netreel_reel::{EventNumber, Reel};
use netreel_replay::explore::{Ground, Ran, Runner};
use netreel_replay::together::{Plan, Story, StoryNode, StoryPacket};

use super::layer;

/// A node's name, its reel, its addresses, and how far its clock is behind the session's. ns.
type Node = (&'static str, &'static [u8], &'static [&'static str], i64);

const NODES: &[Node] = &[
    (
        "HOST",
        include_bytes!("failing/HOST.reel"),
        &["127.0.0.1:58248"],
        -8301463991529,
    ),
    (
        "A",
        include_bytes!("failing/A.reel"),
        &["127.0.0.1:53198"],
        -8301463991529,
    ),
    (
        "B",
        include_bytes!("failing/B.reel"),
        &["127.0.0.1:46870"],
        -8301463991529,
    ),
    (
        "X",
        include_bytes!("failing/X.reel"),
        &["127.0.0.1:59523"],
        -8301463991529,
    ),
];

/// Of each packet the sender, the receiver, the event of its send, those of its receipts, and whether it is
/// lost.
type Packet = (usize, usize, u64, &'static [u64], bool);

const PACKETS: &[Packet] = &[
    (1, 0, 10, &[6], false),
    (1, 2, 12, &[6], false),
    (1, 3, 14, &[10], false),
    (0, 1, 8, &[], false),
    (0, 2, 10, &[7], false),
    (0, 3, 12, &[6], false),
    (0, 1, 18, &[], false),
    (0, 2, 20, &[8], false),
    (0, 3, 22, &[7], false),
    (2, 0, 10, &[], false),
    (2, 1, 12, &[], false),
    (2, 3, 14, &[8], false),
    (2, 0, 20, &[], false),
    (2, 1, 22, &[], false),
    (2, 3, 24, &[9], false),
    (3, 0, 12, &[], false),
    (3, 1, 14, &[], false),
    (3, 2, 16, &[], false),
];

#[test]
fn nodes_agree_when_all_is_delivered() {
    let ran = played();
    assert!(!ran.is_wrong(), "{ran:#?}");
}

/// What the session comes to with these layers.
pub fn played() -> Ran {
    let nodes = NODES.iter().map(|&(name, reel, endpoints, _)| StoryNode {
        name: name.to_owned(),
        reel: Some(Arc::new(
            Reel::from_bytes(reel.to_vec()).expect("a whole reel"),
        )),
        endpoints: endpoints
            .iter()
            .map(|at| at.parse().expect("an address"))
            .collect(),
    });
    let packets = PACKETS
        .iter()
        .map(|&(from, to, sent, receipts, lost)| StoryPacket {
            from,
            to,
            sent: Some(EventNumber(sent)),
            receipts: receipts.iter().map(|&number| EventNumber(number)).collect(),
            lost,
        });
    let story = Story {
        nodes: nodes.collect(),
        packets: packets.collect(),
    };
    let plan = Plan::new(&story, &|node, time, _| time.0 as i64 + NODES[node].3);
    let ground = Arc::new(Ground::healing(Arc::new(plan), Duration::from_secs(3)));
    let starts = Arc::clone(&ground);
    let make = Box::new(move |node, _| {
        let reel = starts.reel(node).ok_or("a node without a reel")?;
        Ok::<_, &str>(layer(&reel.header().start))
    });
    Runner::new(ground, make).expect("layers").1
}
