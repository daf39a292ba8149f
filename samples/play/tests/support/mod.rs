//! Games that are played, and what the recordings say of them.

// Each test file uses some of it.
#![allow(dead_code)]

use std::sync::Arc;

use netreel_play::{Progress, Script, SimStage, Stage};
use netreel_protocol::history::History;
use netreel_protocol::session::{ReelInput, Session};
use netreel_reel::{ClockAnchor, Header, Reel, WireText};
use netreel_replay::{Driver, Outcome};
use netreel_sample_engine::{Mode, NetLayer, Peer, Start, Topology};

const WIRE: &str = include_str!("../../../wires/boxes.wire");

/// The nodes as they are called.
pub const HOST: Peer = Peer(0);
pub const A: Peer = Peer(1);
pub const B: Peer = Peer(2);
pub const X: Peer = Peer(3);

/// What a reel of these games begins with.
pub fn header(node: &str, start: &Start) -> Header {
    Header {
        node: node.to_owned(),
        engine: "boxes".to_owned(),
        start: start.encode(),
        // All nodes are on one machine.
        clock: ClockAnchor {
            boot_id: "world".to_owned(),
            ..ClockAnchor::default()
        },
        wires: vec![WireText {
            name: "boxes.wire".to_owned(),
            text: WIRE.to_owned(),
        }],
        ..Header::default()
    }
}

/// Four nodes in virtual time.
pub fn stage(mode: Mode) -> SimStage {
    let how = (mode, Topology::PeerToPeer);
    SimStage::new(how, (4, 1), &header).expect("start conditions that make sense")
}

/// Plays a script to its end.
pub fn play(stage: &mut SimStage, script: &str) {
    let script = Script::parse(script, stage.names()).expect("a script");
    let mut reader = script.play();
    let mut ticks = 0;
    while let Progress::Waits(line) = reader.go_on(stage) {
        ticks += 1;
        assert!(ticks < 60 * 60, "the script waits in line {line}");
        stage.run(1);
    }
}

/// The findings at level error, as `rule node`, in order of their names.
pub fn errors(reels: &[Vec<u8>]) -> Vec<String> {
    let inputs = reels.iter().enumerate().map(|(place, bytes)| ReelInput {
        name: place.to_string(),
        reel: Arc::new(Reel::from_bytes(bytes.clone()).expect("a reel")),
    });
    let session = Session::builder()
        .build(inputs.collect())
        .expect("one session");
    let history = History::build(&session);
    let errors = history.findings.iter();
    let errors = errors.filter(|it| it.level == netreel_protocol::history::Level::Error);
    let mut errors: Vec<String> = errors
        .map(|it| format!("{} {}", it.rule, session.nodes[usize::from(it.node.0)].name))
        .collect();
    errors.sort_unstable();
    errors.dedup();
    errors
}

/// What comes of replaying a reel in a fresh layer.
pub fn replayed(bytes: &[u8]) -> Outcome {
    let reel = Arc::new(Reel::from_bytes(bytes.to_vec()).expect("a reel"));
    let start = Start::decode(&reel.header().start).expect("start conditions");
    let mut layer = NetLayer::new(start).expect("good conditions");
    let driver = Driver::new(reel).expect("a replayable reel");
    driver.run(&mut layer).outcome
}
