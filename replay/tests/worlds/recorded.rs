//! A simulated world, played and recorded.

use std::sync::Arc;
use std::time::Duration;

use netreel_reel::{ClockAnchor, Event, EventNumber, Header, Record, Reel, ReelWriter, WireText};
use netreel_replay::{Driver, Report};
use netreel_sample_engine::{
    Mode, NetLayer, Script, SimWorld, SimWorldStart, Start, Topology, Tuning,
};
use netreel_transport::{LinkFaults, MemoryRecorder, Recorded, SnapshotPlan};
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

/// Plays a world for this many ticks; one reel a node.
pub fn record(start: &SimWorldStart, ticks: u64) -> Vec<Vec<u8>> {
    record_with(start, ticks, None)
}

/// The same, with a snapshot as often as this.
pub fn record_with(start: &SimWorldStart, ticks: u64, every: Option<Duration>) -> Vec<Vec<u8>> {
    record_played(start, every, |world| world.run(ticks))
}

/// The same of a world that somebody plays.
pub fn record_played(
    start: &SimWorldStart,
    every: Option<Duration>,
    play: impl FnOnce(&mut SimWorld),
) -> Vec<Vec<u8>> {
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
        let mut recorded = Recorded::new(faults, recorder.pusher(), node.local);
        if let Some(every) = every {
            recorded.snapshots(SnapshotPlan { every, others: 1 });
        }
        Box::new(recorded)
    })
    .expect("good conditions");
    play(&mut world);
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

/// A copy of a reel with the events that `change` leaves, as it leaves them.
pub fn edited(bytes: &[u8], mut change: impl FnMut(&Record<'_>, &mut Vec<u8>) -> Edit) -> Vec<u8> {
    let reel = Reel::from_bytes(bytes.to_vec()).expect("a reel");
    let mut writer = ReelWriter::create(Vec::new(), reel.header()).expect("a small header");
    reel.for_each(|record| {
        let mut state = Vec::new();
        let event = match change(record, &mut state) {
            Edit::Keep => record.event,
            Edit::Drop => return,
            Edit::State => Event::Snapshot { state: &state },
        };
        let edited = Record { event, ..*record };
        writer.push(&edited).expect("room in memory");
    });
    writer.finish().expect("room in memory")
}

/// What becomes of an event.
pub enum Edit {
    Keep,
    Drop,
    /// It becomes a snapshot of the state that was put into the buffer.
    State,
}

/// The snapshots of a reel: number and length.
pub fn snapshots(bytes: &[u8]) -> Vec<(EventNumber, usize)> {
    let reel = Reel::from_bytes(bytes.to_vec()).expect("a reel");
    let mut found = Vec::new();
    reel.for_each(|record| {
        if let Event::Snapshot { state } = record.event {
            found.push((record.number, state.len()));
        }
    });
    found
}

/// Seeds to try: `NETREEL_SEEDS`, or this many.
pub fn seeds_or(few: u64) -> u64 {
    let asked = std::env::var("NETREEL_SEEDS").ok();
    asked.map_or(few, |text| text.parse().expect("NETREEL_SEEDS is a number"))
}
