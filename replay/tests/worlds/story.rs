//! A session of reels, as it is to be played on. The bench of exploring takes it from here.

use std::sync::Arc;

use netreel_protocol::session::{Fate, NodeId, ReelInput, Session, SessionTime};
use netreel_reel::Reel;
use netreel_replay::together::{Plan, Story, StoryNode, StoryPacket};

pub fn session(reels: &[Vec<u8>]) -> Session {
    let inputs = reels.iter().enumerate().map(|(place, bytes)| ReelInput {
        name: place.to_string(),
        reel: Arc::new(Reel::from_bytes(bytes.clone()).expect("a reel")),
    });
    Session::builder()
        .build(inputs.collect())
        .expect("a session")
}

pub fn plan(session: &Session) -> Arc<Plan> {
    let nodes = session.nodes.iter().zip(&session.reels);
    let nodes = nodes.map(|(node, reel)| StoryNode {
        name: node.name.clone(),
        reel: reel.clone(),
        endpoints: node.endpoints.clone(),
    });
    let packets = session.packets().map(|packet| StoryPacket {
        from: packet.from.0.into(),
        to: packet.to.0.into(),
        sent: packet.sent.map(|sent| sent.number),
        receipts: packet
            .received
            .iter()
            .chain(&packet.duplicates)
            .map(|it| it.number)
            .collect(),
        lost: packet.fate == Fate::Lost,
    });
    let story = Story {
        nodes: nodes.collect(),
        packets: packets.collect(),
    };
    let clock = |node, time, number| {
        let node = NodeId(u16::try_from(node).expect("few nodes"));
        let time = session.time_of(node, time, number);
        time.unwrap_or(SessionTime(0)).0
    };
    Arc::new(Plan::new(&story, &clock))
}
