//! Replay: packets a second through the driver, how much faster than it was played, and how long
//! going to a place and a step back take.
//!
//! `cargo bench -p netreel-benches --bench replay`; with `-- --check` it fails where a target is
//! missed. `-- --minutes N` makes the session of the walks that long (10). No system calls but the
//! clock's: packets cross memory. Times are of this thread's processor time, so that what else the
//! machine does counts little.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use netreel_reel::{
    Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId, ThreadId, Time,
};
use netreel_replay::{Driver, MakeLayer, Outcome, Player, Stepper, Stop};
use netreel_sample_engine::{Mode, NetLayer, Script, SimWorld, SimWorldStart, Start, Topology};
use netreel_transport::{
    Draw, InputError, Layer, LinkFaults, MemoryRecorder, Recorded, SnapshotPlan, Transport,
};

const PACKETS: u64 = 2_000_000;
/// Packets of a tick of the empty layer's reel.
const IN_A_TICK: u64 = 64;
const TICKS_A_SECOND: u64 = 60;
const NODES: u8 = 8;

/// Processor time of this thread, in seconds.
fn processor() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Takes each packet and does nothing with it.
struct Empty;

impl Layer for Empty {
    fn tick(&mut self, io: &mut dyn Transport) {
        let mut buffer = [0; 2048];
        while let Ok(Some(_)) = io.receive(&mut buffer) {}
    }

    fn input(&mut self, _: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
        Ok(())
    }
}

/// A reel in which a layer receives packets of 100 bytes.
fn received() -> Reel {
    let header = Header {
        start: b"empty".to_vec(),
        ..Header::default()
    };
    let mut writer = ReelWriter::create(Vec::new(), &header).expect("a small header");
    let mut number = 0;
    let mut push = |event: Event<'_>| {
        let record = Record {
            number: EventNumber(number),
            time: Time(number * 1000),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).expect("room in memory");
        number += 1;
    };
    let (socket, from) = (SocketId(0), ([127, 0, 0, 1], 7000).into());
    for tick in 0..PACKETS / IN_A_TICK {
        let time = Time(tick * 16_666_667);
        push(Event::Tick { tick, time });
        for packet in 0..IN_A_TICK {
            let payload = [packet as u8; 100];
            push(Event::Received {
                socket,
                from,
                payload: &payload,
            });
        }
        push(Event::PollEmpty { socket });
    }
    Reel::from_bytes(writer.finish().expect("room in memory")).expect("a reel")
}

fn packets_a_second() -> f64 {
    let driver = Driver::new(Arc::new(received())).expect("a replayable reel");
    let begin = processor();
    let report = driver.run(&mut Empty);
    let seconds = processor() - begin;
    assert_eq!(report.outcome, Outcome::Exact);
    PACKETS as f64 / seconds
}

/// Plays eight nodes for this many ticks: the reel of the first, with snapshots.
fn play(ticks: u64) -> Arc<Reel> {
    let script = Script::Boxes { ticks };
    let mut start = SimWorldStart::new(7, Mode::Owner, Topology::PeerToPeer, script);
    start.nodes = NODES;
    start.faults = LinkFaults {
        loss: 0.02,
        ..LinkFaults::default()
    };
    let mut first = None;
    let mut world = SimWorld::wrapped(&start, |node, faults| {
        if first.is_some() {
            return Box::new(faults);
        }
        let header = Header {
            start: node.start.clone(),
            ..Header::default()
        };
        let recorder = MemoryRecorder::create(&header).expect("a small header");
        let mut recorded = Recorded::new(faults, recorder.pusher(), node.local);
        recorded.snapshots(SnapshotPlan::default());
        first = Some(recorder);
        Box::new(recorded)
    })
    .expect("good conditions");
    world.run(ticks);
    let bytes = first.expect("a first node").finish();
    Arc::new(Reel::from_bytes(bytes).expect("a reel"))
}

fn layer(reel: &Reel) -> NetLayer {
    let start = Start::decode(&reel.header().start).expect("start conditions");
    NetLayer::new(start).expect("good conditions")
}

fn times_real_time(reel: &Arc<Reel>, ticks: u64) -> f64 {
    let driver = Driver::new(Arc::clone(reel)).expect("a replayable reel");
    let mut layer = layer(reel);
    let begin = processor();
    let report = driver.run(&mut layer);
    let seconds = processor() - begin;
    assert_eq!(report.outcome, Outcome::Exact);
    ticks as f64 / TICKS_A_SECOND as f64 / seconds
}

/// The longest and the middle one.
fn spread(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    let middle = times.get(times.len() / 2).copied().unwrap_or(0.0);
    (times.last().copied().unwrap_or(0.0), middle)
}

/// How long 100 goings to places by chance take, each in a stepper of its own, and 100 steps back,
/// in milliseconds: the longest and the middle one of each.
fn walks(reel: &Arc<Reel>) -> [(f64, f64); 2] {
    let make = || -> MakeLayer {
        let reel = Arc::clone(reel);
        Box::new(move |_| Ok(Box::new(layer(&reel))))
    };
    let mut last = EventNumber(0);
    reel.for_each(|record| last = record.number);
    let mut draw = Draw::new(3);
    let (mut seeks, mut backs) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let to = EventNumber(draw.below(last.0));
        let begin = processor();
        let mut stepper = Stepper::new(Arc::clone(reel), make()).expect("a replayable reel");
        let moved = stepper.seek(to).expect("a state");
        seeks.push((processor() - begin) * 1e3);
        assert_eq!(moved.stop, Stop::Reached);
        let begin = processor();
        stepper.back(&mut |_| true).expect("a state");
        backs.push((processor() - begin) * 1e3);
    }
    [spread(seeks), spread(backs)]
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let check = arguments.iter().any(|argument| argument == "--check");
    let minutes = arguments.iter().position(|it| it == "--minutes");
    let minutes = minutes.and_then(|at| arguments.get(at + 1)?.parse().ok());
    let minutes: u64 = minutes.unwrap_or(10);
    let mut good = true;
    let mut says = |what: &str, value: f64, unit: &str, target: f64, least: bool| {
        let met = if least {
            value >= target
        } else {
            value <= target
        };
        good &= met;
        let mark = if met { "" } else { "  MISSED" };
        println!("{what}: {value:.2} {unit} (target {target}){mark}");
    };
    let million = packets_a_second() / 1e6;
    says(
        "an empty layer",
        million,
        "million packets a second",
        1.0,
        true,
    );
    let ticks = minutes * 60 * TICKS_A_SECOND;
    let begin = std::time::Instant::now();
    let reel = play(ticks);
    let took: Duration = begin.elapsed();
    println!(
        "({NODES} nodes, {minutes} minutes of play, made in {} s)",
        took.as_secs()
    );
    let times = times_real_time(&reel, ticks);
    says("the sample engine", times, "times real time", 100.0, true);
    let [(seek, seek_middle), (back, back_middle)] = walks(&reel);
    says(
        "going to a place, the longest of 100",
        seek,
        "ms",
        200.0,
        false,
    );
    println!("    the middle one {seek_middle:.2} ms");
    says("a step back, the longest of 100", back, "ms", 50.0, false);
    println!("    the middle one {back_middle:.2} ms");
    ExitCode::from(u8::from(check && !good))
}
