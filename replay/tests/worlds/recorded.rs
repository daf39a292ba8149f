//! A simulated world, played and recorded.

use std::sync::Arc;
use std::time::Duration;

use netreel_reel::{ClockAnchor, Header, Reel, WireText};
use netreel_replay::{Driver, Report};
use netreel_sample_engine::{
    Mode, NetLayer, Script, SimWorld, SimWorldStart, Start, Topology, Tuning,
};
use netreel_transport::{LinkFaults, MemoryRecorder, Recorded};
use netreel_wire::Wire;

pub const WIRE: &str = include_str!("../../../samples/wires/boxes.wire");

/// The four ways to play.
pub const WAYS: [(Mode, Topology); 4] = [
    (Mode::Host, Topology::PeerToPeer),
    (Mode::Host, Topology::ClientServer),
    (Mode::Owner, Topology::PeerToPeer),
    (Mode::Owner, Topology::ClientServer),
];

/// Boxes by chance, over links that lose, double and reorder.
pub fn boxes(seed: u64, mode: Mode, topology: Topology) -> SimWorldStart {
    let mut start = SimWorldStart::new(seed, mode, topology, Script::Boxes { ticks: 90 });
    start.faults = LinkFaults {
        jitter: Duration::from_millis(30),
        loss: 0.1,
        duplicate: 0.05,
        reorder: 0.1,
        reorder_by: Duration::from_millis(60),
        ..LinkFaults::default()
    };
    start
}

/// Plays a world for so many ticks; one reel a node.
pub fn record(start: &SimWorldStart, ticks: u64) -> Vec<Vec<u8>> {
    let mut recorders: Vec<MemoryRecorder> = Vec::new();
    let mut world = SimWorld::wrapped(start, |node, faults| {
        let header = Header {
            node: node.name.clone(),
            engine: "boxes".to_owned(),
            start: node.start.clone(),
            // All nodes are on one machine: nobody has to guess how far apart their clocks are.
            clock: ClockAnchor {
                boot_id: "world".to_owned(),
                ..ClockAnchor::default()
            },
            wires: vec![WireText {
                name: "boxes.wire".to_owned(),
                text: WIRE.to_owned(),
            }],
            ..Header::default()
        };
        let recorder = MemoryRecorder::create(&header).expect("a small header");
        recorders.push(recorder.clone());
        Box::new(Recorded::new(faults, recorder.pusher(), node.local))
    })
    .expect("good conditions");
    world.run(ticks);
    recorders
        .into_iter()
        .map(|recorder| recorder.finish())
        .collect()
}

/// Replays a reel in a fresh layer, with its constants as `tune` leaves them.
pub fn replay(bytes: Vec<u8>, tune: impl FnOnce(&mut Tuning)) -> Report {
    let reel = Arc::new(Reel::from_bytes(bytes).expect("a reel"));
    let mut start = Start::decode(&reel.header().start).expect("start conditions");
    tune(&mut start.tuning);
    let mut layer = NetLayer::new(start).expect("good conditions");
    Driver::new(reel)
        .expect("a replayable reel")
        .run(&mut layer)
}

pub fn wire() -> Wire {
    Wire::compile("boxes.wire", WIRE).expect("a good wire")
}
