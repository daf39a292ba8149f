//! Records a simulated world in which one node's layer has a fault: the sessions of docs/findings.
//!
//! `cargo run -p netreel-sample-engine --example planted -- FAULT DIR`, with a fault by its name in
//! [`Fault`], for example `AckUnreceived`, or `none`. Four play for eight seconds, of which the last
//! six are quiet; A has the fault, or HOST where that alone can have it. The files in DIR are reels.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use netreel_reel::{ClockAnchor, Header, WireText};
use netreel_sample_engine::{Fault, Mode, Peer, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::{LinkFaults, MemoryRecorder, Recorded};

const WIRE: &str = include_str!("../../wires/boxes.wire");

const HOST: Peer = Peer(0);
const A: Peer = Peer(1);

/// What is told of a fault: its name, who has it, and how they play, so that it shows.
const FAULTS: [(&str, Option<Fault>, Peer, Mode, Topology); 13] = {
    use Fault::*;
    use Mode::{Host, Owner};
    use Topology::{ClientServer, PeerToPeer};
    [
        ("none", None, A, Owner, PeerToPeer),
        ("AckUnreceived", Some(AckUnreceived), A, Owner, PeerToPeer),
        ("ForgetAck", Some(ForgetAck), A, Owner, PeerToPeer),
        ("SequenceTwice", Some(SequenceTwice), A, Owner, PeerToPeer),
        ("NeverResend", Some(NeverResend), A, Owner, PeerToPeer),
        (
            "ResendEveryTick",
            Some(ResendEveryTick),
            A,
            Owner,
            PeerToPeer,
        ),
        ("ForgetDestroy", Some(ForgetDestroy), A, Owner, PeerToPeer),
        (
            "UpdateBeforeCreate",
            Some(UpdateBeforeCreate),
            A,
            Owner,
            PeerToPeer,
        ),
        (
            "CounterNotRaised",
            Some(CounterNotRaised),
            HOST,
            Owner,
            PeerToPeer,
        ),
        (
            "DeliverTwice",
            Some(DeliverTwice),
            HOST,
            Owner,
            ClientServer,
        ),
        (
            "ForgetLostUpdate",
            Some(ForgetLostUpdate),
            A,
            Owner,
            PeerToPeer,
        ),
        (
            "ForgetAnnounce",
            Some(ForgetAnnounce),
            HOST,
            Host,
            PeerToPeer,
        ),
        ("NeverDeliver", Some(NeverDeliver), HOST, Host, ClientServer),
    ]
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [fault, folder, seed @ ..] = &arguments[..] else {
        eprintln!("usage: planted FAULT DIR [SEED]");
        return ExitCode::from(2);
    };
    let Some(&(_, fault, node, mode, topology)) = FAULTS.iter().find(|known| known.0 == *fault)
    else {
        let names: Vec<&str> = FAULTS.iter().map(|known| known.0).collect();
        eprintln!("no fault {fault}; there are {}", names.join(", "));
        return ExitCode::from(2);
    };
    let seed = seed.first().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut start = start(seed, mode, topology);
    start.planted.extend(fault.map(|fault| (node, fault)));
    match record(&start, Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
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
    Ok(())
}
