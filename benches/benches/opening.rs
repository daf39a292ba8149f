//! How long a session takes from files on disk to the first frame, and to its whole picture: one of
//! 100 000 packets, which is made, or the one whose folder is named.
//!
//! `./dev bench --bench opening [-- FOLDER]`; with `-- --check` the exit code is 1 where the target is
//! missed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netreel_inspector::{Model, Workspace};
use netreel_protocol::session::{ReelInput, Session};
use netreel_reel::{Header, WireText};
use netreel_sample_engine::{Mode, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::{LinkFaults, MemoryRecorder, Recorded};

const WIRE: &str = include_str!("../../samples/wires/boxes.wire");
const PACKETS: usize = 100_000;
const TARGET: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let made = tempfile::tempdir().expect("a temporary folder");
    let named = std::env::args().skip(1).find(|it| !it.starts_with("--"));
    let folder = match &named {
        Some(named) => PathBuf::from(named),
        None => {
            record(made.path());
            made.path().to_owned()
        }
    };

    let begin = Instant::now();
    let opened = netreel_capture::open_session(&[folder]).expect("the reels");
    let reels = opened.reels.into_iter().map(|opened| ReelInput {
        name: opened.path.display().to_string(),
        reel: opened.reel,
    });
    let reels = reels.collect::<Vec<_>>();
    let opening = begin.elapsed();
    let session = Arc::new(Session::builder().build(reels).expect("a session"));
    let building = begin.elapsed();
    let mut model = Model::of_session(session.clone(), &[]);
    let arranging = begin.elapsed();
    frame(&model);
    let framing = begin.elapsed();
    model.finish();
    let judging = begin.elapsed();
    let picture = made.path().join("timeline.png");
    netreel_inspector::photograph(model, Workspace::Why, (1600, 1000), &picture)
        .expect("a picture");
    let whole = begin.elapsed();

    let (packets, messages) = (session.packet_count(), session.message_count());
    println!("{packets} packets, {messages} messages");
    let steps = [
        ("open the reels", opening),
        ("session: matching", building - opening),
        ("model of the session alone", arranging - building),
        ("what a first frame shows", framing - arranging),
        ("history: facts, findings", judging - framing),
        ("a frame, drawn, as PNG", whole - judging),
        ("to the first frame", framing),
    ];
    for (step, time) in steps {
        println!("{step:<27} {:>8.1} ms", millis(time));
    }
    println!(
        "{:<27} {:>8.1} ms, target of {PACKETS} packets {:.0} ms",
        "all of it",
        millis(whole),
        millis(TARGET)
    );
    let check = std::env::args().any(|argument| argument == "--check");
    if check && named.is_none() && whole > TARGET {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Asks for what the window shows in its first frame.
fn frame(model: &Model) {
    let scale = model.scale(1_500.0);
    let traffic = model.traffic(&scale);
    let minimap = model.minimap(1_500.0);
    let rows = model.packet_rows(0..30);
    let flags = model.flags(&scale, 7.0);
    let words = (model.status(), model.verdict(), model.kinds_that_lead());
    std::hint::black_box((traffic, minimap, rows, flags, words));
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
