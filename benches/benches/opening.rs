//! How long a session of 100 000 packets takes from files on disk to the first picture.
//!
//! `cargo bench -p netreel-benches --bench opening`; with `-- --check` the exit code is 1 where the
//! target is missed.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netreel_inspector::{Model, View};
use netreel_protocol::history::History;
use netreel_protocol::session::{ReelInput, Session};
use netreel_reel::{Header, WireText};
use netreel_sample_engine::{Mode, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::{LinkFaults, MemoryRecorder, Recorded};

const WIRE: &str = include_str!("../../samples/wires/boxes.wire");
const PACKETS: usize = 100_000;
const TARGET: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("a temporary folder");
    record(folder.path());

    let begin = Instant::now();
    let opened = netreel_capture::open_session(&[folder.path()]).expect("the reels");
    let reels = opened.reels.into_iter().map(|opened| ReelInput {
        name: opened.path.display().to_string(),
        reel: opened.reel,
    });
    let reels = reels.collect::<Vec<_>>();
    let opening = begin.elapsed();
    let session = Session::build(reels, None).expect("a session");
    let building = begin.elapsed();
    let history = History::build(&session);
    let judging = begin.elapsed();
    let (packets, messages) = (session.packet_count(), session.message_count());
    let model = Model::new(Arc::new(session), Arc::new(history));
    let arranging = begin.elapsed();
    let picture = folder.path().join("timeline.png");
    netreel_inspector::photograph(model, View::Timeline, (1600, 1000), &picture)
        .expect("a picture");
    let whole = begin.elapsed();

    println!("{packets} packets, {messages} messages");
    println!("open the reels              {:>8.1} ms", millis(opening));
    println!(
        "session: matching           {:>8.1} ms",
        millis(building - opening)
    );
    println!(
        "history: facts, findings    {:>8.1} ms",
        millis(judging - building)
    );
    println!(
        "model                       {:>8.1} ms",
        millis(arranging - judging)
    );
    println!(
        "first frame, drawn, as PNG  {:>8.1} ms",
        millis(whole - arranging)
    );
    println!(
        "all of it                   {:>8.1} ms, target {:.0} ms",
        millis(whole),
        millis(TARGET)
    );
    let check = std::env::args().any(|argument| argument == "--check");
    if check && whole > TARGET {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Plays a simulated world until it has sent enough, and writes its reels.
fn record(folder: &Path) {
    let script = Script::Boxes { ticks: u64::MAX };
    let mut start = SimWorldStart::new(1, Mode::Owner, Topology::PeerToPeer, script);
    start.faults = LinkFaults {
        loss: 0.02,
        duplicate: 0.01,
        ..LinkFaults::default()
    };
    let mut recorders: Vec<(String, MemoryRecorder)> = Vec::new();
    let mut world = SimWorld::wrapped(&start, |node, faults| {
        let header = Header {
            node: node.name.clone(),
            session: [1; 16],
            engine: "boxes".to_owned(),
            start: node.start.clone(),
            wires: vec![WireText {
                name: "boxes.wire".to_owned(),
                text: WIRE.to_owned(),
            }],
            ..Header::default()
        };
        let recorder = MemoryRecorder::create(&header).expect("a small header");
        recorders.push((node.name.clone(), recorder.clone()));
        Box::new(Recorded::new(faults, recorder.pusher(), node.local))
    })
    .expect("good conditions");
    // Four nodes send a little more than eleven packets a tick between them.
    world.run(PACKETS as u64 / 11);
    for (name, recorder) in recorders {
        std::fs::write(folder.join(format!("{name}.reel")), recorder.finish()).expect("a file");
    }
}
