//! A small session as a test of the engine that it was recorded at.

use std::fmt::Write;
use std::io;
use std::path::{Path, absolute};

use netreel_protocol::session::{Fate, NodeId, Session};
use netreel_reel::{EventNumber, Time};

use crate::replay::together::Names;
use crate::text;

/// A test in Rust, at `path`, that plays the reels in `folder`, all nodes live, and fails where nodes part
/// when all is delivered.
pub fn text(path: &Path, folder: &Path, session: &Session, sentence: &str) -> io::Result<String> {
    let (beside, folder) = (absolute(path)?, absolute(folder)?);
    let beside = beside.parent().unwrap_or(Path::new("/"));
    // Beside the test, so that both can be moved together.
    let folder = match folder.strip_prefix(beside) {
        Ok(within) => within.to_owned(),
        Err(_) => folder,
    };
    Ok(filled(&folder, session, sentence))
}

fn filled(folder: &Path, session: &Session, sentence: &str) -> String {
    let mut nodes = String::new();
    let mut files = Names::default();
    for (place, node) in session.nodes.iter().enumerate() {
        let (name, file) = (&node.name, files.file(folder, &node.name));
        let file = file.display().to_string();
        let id = NodeId(u16::try_from(place).unwrap_or(u16::MAX));
        let zero = session.time_of(id, Time::ZERO, EventNumber(0));
        let offset = zero.map_or(0, |it| it.0);
        let endpoints = text::joined(node.endpoints.iter().map(|it| format!("\"{it}\"")), ", ");
        let _ = writeln!(
            nodes,
            "    ({name:?}, include_bytes!({file:?}), &[{endpoints}], {offset}),"
        );
    }
    let mut packets = String::new();
    for packet in session.packets() {
        let Some(sent) = packet.sent else { continue };
        let receipts = packet.received.iter().chain(&packet.duplicates);
        let receipts = text::joined(receipts.map(|it| it.number.0.to_string()), ", ");
        let (from, to, sent) = (packet.from.0, packet.to.0, sent.number.0);
        let lost = packet.fate == Fate::Lost;
        let _ = writeln!(
            packets,
            "    ({from}, {to}, {sent}, &[{receipts}], {lost}),"
        );
    }
    TEMPLATE
        .replace("{sentence}", sentence)
        .replace("{nodes}\n", &nodes)
        .replace("{packets}\n", &packets)
}

const TEMPLATE: &str = r#"//! Made by `netreel shrink`: {sentence}
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
{nodes}
];

/// Of each packet the sender, the receiver, the event of its send, those of its receipts, and whether it is
/// lost.
type Packet = (usize, usize, u64, &'static [u64], bool);

const PACKETS: &[Packet] = &[
{packets}
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
        reel: Some(Arc::new(Reel::from_bytes(reel.to_vec()).expect("a whole reel"))),
        endpoints: endpoints.iter().map(|at| at.parse().expect("an address")).collect(),
    });
    let packets = PACKETS.iter().map(|&(from, to, sent, receipts, lost)| StoryPacket {
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
"#;
