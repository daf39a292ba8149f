//! Records a simulated world in which one node's layer has a fault: the sessions of docs/findings.
//!
//! `cargo run -p netreel-sample-engine --example planted -- FAULT DIR`, with a fault by its name in
//! [`Fault`](netreel_sample_engine::Fault), for example `AckUnreceived` (those of the table `reported` are
//! taken from public reports), or with something that happens to machines and links (`Trouble`), or `none`.
//! Four play for eight seconds, of which the last six are quiet; A has the fault, or HOST where that alone
//! can have it. The files in DIR are reels, and the bounds of rules that find nothing without one.

mod fault;
mod reported;
mod table;
mod trouble;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use netreel_reel::{ClockAnchor, Header, WireText};
use netreel_sample_engine::{Mode, Peer, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::{LinkFaults, MemoryRecorder, Recorded};

use fault::Planted;
use reported::REPORTED;
use table::{BOUNDS, SAID, TABLE};
use trouble::{TROUBLES, Trouble};

/// Eight seconds.
const TICKS: u64 = 480;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [fault, folder, seed @ ..] = &arguments[..] else {
        eprintln!("usage: planted FAULT DIR [SEED]");
        return ExitCode::from(2);
    };
    let is_it = |it: &&Planted| format!("{:?}", it.fault) == *fault;
    let said = || SAID.iter().find(is_it);
    let planted = TABLE.iter().find(is_it);
    let says_beliefs = planted.is_none() && said().is_some();
    let planted = planted.or_else(said);
    let reported = REPORTED.iter().find(|it| is_it(&&it.0));
    let planted = planted.or(reported.map(|it| &it.0));
    let trouble = TROUBLES.iter().find(|it| format!("{:?}", it.0) == *fault);
    if planted.is_none() && trouble.is_none() && fault != "none" {
        let reported = REPORTED.iter().map(|it| &it.0);
        let faults = TABLE.iter().chain(&SAID).chain(reported);
        let faults = faults.map(|it| format!("{:?}", it.fault));
        let troubles = TROUBLES.iter().map(|it| format!("{:?}", it.0));
        let mut names: Vec<String> = faults.chain(troubles).collect();
        names.dedup();
        eprintln!("no fault {fault}; there are none, {}", names.join(", "));
        return ExitCode::from(2);
    }
    let ways = planted.map(|it| (it.mode, it.topology));
    let (mode, topology) = ways.unwrap_or((Mode::Owner, Topology::PeerToPeer));
    let seed = seed.first().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut start = start(seed, mode, topology);
    if says_beliefs {
        start.says_beliefs = true;
        // News of A overtakes older news of it on its way around.
        let slow = LinkFaults {
            delay: Duration::from_millis(400),
            ..start.faults
        };
        start.link_faults.insert((Peer(1), Peer(3)), slow);
    }
    start
        .planted
        .extend(planted.map(|planted| (planted.at, planted.fault)));
    let rule = planted.and_then(|planted| planted.rule);
    match record(&start, trouble.map(|it| it.0), Path::new(folder)) {
        Ok(()) => {
            if let Some(rule) = rule.or(trouble.map(|it| it.1)) {
                println!("netreel check {folder} finds {rule}");
            }
            if let Some((_, source)) = reported {
                println!("{folder}: as in {source}");
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

fn record(start: &SimWorldStart, trouble: Option<Trouble>, folder: &Path) -> std::io::Result<()> {
    let mut recorders: Vec<(String, MemoryRecorder)> = Vec::new();
    let mut world = SimWorld::wrapped(start, |node, faults| {
        let header = Header {
            node: node.name.clone(),
            session: [7; 16],
            clock: ClockAnchor {
                boot_id: match trouble {
                    Some(trouble) => trouble.boot(&node.name),
                    None => "a simulated world".to_owned(),
                },
                ..ClockAnchor::default()
            },
            engine: "boxes".to_owned(),
            start: node.start.clone(),
            wires: vec![WireText {
                name: "boxes.wire".to_owned(),
                text: table::wire(),
            }],
            ..Header::default()
        };
        let recorder = MemoryRecorder::create(&header).expect("a small header");
        recorders.push((node.name.clone(), recorder.clone()));
        Box::new(Recorded::new(faults, recorder.pusher(), node.local))
    })
    .map_err(std::io::Error::other)?;
    match trouble {
        Some(trouble) => trouble.play(start, &mut world, TICKS),
        None => world.run(TICKS),
    }
    std::fs::create_dir_all(folder)?;
    for (name, recorder) in recorders {
        std::fs::write(folder.join(format!("{name}.reel")), recorder.finish())?;
    }
    std::fs::write(folder.join("bounds.toml"), BOUNDS)
}
