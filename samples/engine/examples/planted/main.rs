//! Records a simulated world in which one node's layer has a fault: the sessions of docs/findings.
//!
//! `cargo run -p netreel-sample-engine --example planted -- FAULT DIR`, with a fault by its name in
//! [`Fault`](netreel_sample_engine::Fault), for example `AckUnreceived`, or `none`. Four play for eight
//! seconds, of which the last six are quiet; A has the fault, or HOST where that alone can have it. The
//! files in DIR are reels, and the bounds of rules that find nothing without one.

mod table;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use netreel_reel::{ClockAnchor, Header, WireText};
use netreel_sample_engine::{Mode, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::{LinkFaults, MemoryRecorder, Recorded};
use table::{BOUNDS, Planted, TABLE};

const WIRE: &str = include_str!("../../../wires/boxes.wire");

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [fault, folder, seed @ ..] = &arguments[..] else {
        eprintln!("usage: planted FAULT DIR [SEED]");
        return ExitCode::from(2);
    };
    let name = |planted: &Planted| format!("{:?}", planted.fault);
    let planted = TABLE.iter().find(|planted| name(planted) == *fault);
    if planted.is_none() && fault != "none" {
        let mut names: Vec<String> = TABLE.iter().map(name).collect();
        names.dedup();
        eprintln!("no fault {fault}; there are none, {}", names.join(", "));
        return ExitCode::from(2);
    }
    let (mode, topology) = planted.map_or((Mode::Owner, Topology::PeerToPeer), |planted| {
        (planted.mode, planted.topology)
    });
    let seed = seed.first().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut start = start(seed, mode, topology);
    start
        .planted
        .extend(planted.map(|planted| (planted.at, planted.fault)));
    match record(&start, Path::new(folder)) {
        Ok(()) => {
            if let Some(planted) = planted {
                println!("netreel check {folder} finds {}", planted.rule);
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::from(2)
        }
    }
}

fn start(seed: u64, mode: Mode, topology: Topology) -> SimWorldStart {
    let script = Script::Boxes { ticks: 120 };
    let mut start = SimWorldStart::new(seed, mode, topology, script);
    start.faults = LinkFaults {
        delay: Duration::from_millis(90),
        loss: 0.05,
        ..LinkFaults::default()
    };
    start
}

fn record(start: &SimWorldStart, folder: &Path) -> std::io::Result<()> {
    let mut recorders: Vec<(String, MemoryRecorder)> = Vec::new();
    let mut world = SimWorld::wrapped(start, |node, faults| {
        let header = Header {
            node: node.name.clone(),
            session: [7; 16],
            clock: ClockAnchor {
                boot_id: "a simulated world".to_owned(),
                ..ClockAnchor::default()
            },
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
    .map_err(std::io::Error::other)?;
    world.run(480);
    std::fs::create_dir_all(folder)?;
    for (name, recorder) in recorders {
        std::fs::write(folder.join(format!("{name}.reel")), recorder.finish())?;
    }
    std::fs::write(folder.join("bounds.toml"), BOUNDS)
}
