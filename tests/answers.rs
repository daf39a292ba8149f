//! What the command answers about sessions that stay the same, to the last byte.
//!
//! The answers are kept in `tests/answers`, a folder for each session and a file for each command.
//! Where they change on purpose, `NETREEL_ANSWERS=write cargo test --test answers` writes them anew;
//! what changed is then in the diff.
//!
//! Captures that are too large for the repository, or not ours, are read from `../shared/captures`
//! or `NETREEL_CAPTURES`. Where they are not there, their answers are not asked for.

mod support;

use std::path::Path;
use std::time::Duration;

use netreel_reel::{Header, WireText};
use netreel_sample_engine::{Mode, Peer, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::{LinkFaults, MemoryRecorder, Recorded};
use support::answers::{Asked, CAPTURES, COMMANDS, RECORDINGS, Stage, captures, check};

const WIRE: &str = include_str!("../samples/wires/boxes.wire");

/// The same as one reel a node.
const IMPORTED: [(&str, &str, [&str; 2]); 4] = [
    (
        "enet.pcap",
        "enet",
        ["SERVER=127.0.0.1:7777", "CLIENT=127.0.0.1:45150"],
    ),
    (
        "minetest.pcap",
        "minetest",
        ["SERVER=127.0.0.1:30000", "CLIENT=127.0.0.1:45814"],
    ),
    (
        "quake3.pcap",
        "quake3",
        ["SERVER=127.0.0.1:27960", "CLIENT=127.0.0.1:27961"],
    ),
    (
        "raknet.pcap",
        "raknet",
        ["SERVER=127.0.0.1:19132", "CLIENT=127.0.0.1:59979"],
    ),
];

/// Filters that between them ask for every kind of thing.
const FILTERED: [(&str, &[&str]); 8] = [
    (
        "filtered-fates",
        &["packets", "--filter", "lost || duplicated || !acked"],
    ),
    (
        "filtered-lengths",
        &["packets", "--filter", "lost && length > 100"],
    ),
    (
        "filtered-messages",
        &[
            "packets",
            "--filter",
            "from == A && resent && kind == create",
        ],
    ),
    (
        "filtered-times",
        &[
            "packets",
            "--filter",
            "late > 30ms && time > 1s && rtt < 1s",
        ],
    ),
    (
        "filtered-effects",
        &["packets", "--filter", "effect == stale || effect == queued"],
    ),
    (
        "filtered-evidence",
        &["packets", "--json", "--filter", "finding"],
    ),
    (
        "filtered-objects",
        &["objects", "--filter", "kind == migrate && to == HOST"],
    ),
    (
        "filtered-findings",
        &["check", "--filter", "node == HOST && level >= info"],
    ),
];

#[test]
fn samples_are_answered_as_ever() {
    let stage = Stage::new();
    let mut sessions = Vec::new();
    for mode in ["host", "owner"] {
        let folder = format!("samples/sessions/{mode}");
        let mut asked = Asked::all(mode, &folder, None);
        asked.commands.extend(FILTERED);
        asked
            .commands
            .push(("show", &["show", "--filter", "time < 0.3s"]));
        asked
            .commands
            .push(("migrations", &["objects", "--migrations"]));
        asked
            .commands
            .push(("migrations-json", &["objects", "--migrations", "--json"]));
        asked.commands.push(("csv", &["export", "--format", "csv"]));
        sessions.push(asked);
        sessions.push(Asked {
            name: format!("{mode}-without-x"),
            paths: ["A", "B", "HOST"]
                .map(|node| format!("{folder}/{node}.reel"))
                .into(),
            wire: None,
            commands: COMMANDS.to_vec(),
        });
        for node in ["HOST", "A", "B", "X"] {
            let reel = format!("samples/sessions/{mode}/{node}.reel");
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&reel);
            let mut bytes = std::fs::read(path).expect("a reel of the repository");
            if node == "X" {
                bytes.truncate(bytes.len() / 2);
            }
            stage.write(&format!("{mode}-with-x-cut/{node}.reel"), &bytes);
        }
        let name = format!("{mode}-with-x-cut");
        sessions.push(Asked::all(&name, &name, None));
    }
    check("samples", &stage, &sessions);
}

#[test]
fn recordings_of_engines_are_answered_as_ever() {
    let stage = Stage::new();
    let mut sessions = Vec::new();
    for (file, wire) in RECORDINGS {
        both(file, "recordings", Some(wire), &mut sessions);
    }
    for (file, wire, nodes) in IMPORTED {
        let name = format!("{}-of-nodes", stem(file));
        let (capture, wire) = (
            format!("recordings/{file}"),
            format!("samples/wires/{wire}.wire"),
        );
        let mut arguments = vec!["import", &capture, "--out", &name, "--wire", &wire];
        arguments.extend(nodes.iter().flat_map(|node| ["--node", node]));
        let imported = stage.run(&arguments);
        let said = String::from_utf8_lossy(&imported.err);
        assert!(matches!(imported.code, Some(0 | 1)), "{name}: {said}");
        sessions.push(Asked::all(&name, &name, None));
    }
    check("recordings", &stage, &sessions);
}

#[test]
fn captures_beside_the_repository_are_answered_as_ever() {
    let Some(folder) = captures() else {
        return;
    };
    let stage = Stage::new();
    stage.show("captures", &folder);
    let mut sessions = Vec::new();
    for (file, wire) in CAPTURES {
        assert!(
            folder.join(file).is_file(),
            "there is no {file} in {}",
            folder.display()
        );
        both(file, "captures", wire, &mut sessions);
    }
    check("captures", &stage, &sessions);
}

/// Asks about a capture with its wire, and without.
fn both(file: &str, folder: &str, wire: Option<&'static str>, sessions: &mut Vec<Asked>) {
    let path = format!("{folder}/{file}");
    if wire.is_some() {
        sessions.push(Asked::all(stem(file), &path, wire));
    }
    let bare = format!("{}-bare", stem(file));
    sessions.push(Asked::all(&bare, &path, None));
}

fn stem(file: &str) -> &str {
    file.split('.').next().unwrap_or(file)
}

#[test]
fn simulated_worlds_are_answered_as_ever() {
    let stage = Stage::new();
    let mut sessions = Vec::new();
    let ways = [
        ("host-p2p", Mode::Host, Topology::PeerToPeer),
        ("host-cs", Mode::Host, Topology::ClientServer),
        ("owner-p2p", Mode::Owner, Topology::PeerToPeer),
        ("owner-cs", Mode::Owner, Topology::ClientServer),
    ];
    for (way, mode, topology) in ways {
        for seed in 1..=3 {
            let name = format!("{way}-{seed}");
            world(&stage, &name, &boxes(seed, mode, topology), 400);
            let mut asked = Asked::all(&name, &name, None);
            asked.commands.extend(FILTERED);
            sessions.push(asked);
        }
    }
    let digests = |name: &str| Asked::all(name, name, None);
    {
        let mut start = boxes(4, Mode::Owner, Topology::PeerToPeer);
        start.nodes = 16;
        world(&stage, "sixteen-nodes", &start, 100);
        sessions.push(digests("sixteen-nodes"));
    }
    {
        let mut start = boxes(5, Mode::Host, Topology::PeerToPeer);
        let ahead = [(Peer(1), 700), (Peer(2), 35)];
        start.clock_offsets = ahead
            .map(|(peer, ms)| (peer, Duration::from_millis(ms)))
            .into();
        world(&stage, "clocks-apart", &start, 300);
        sessions.push(digests("clocks-apart"));
        // The same, with one node that was not recorded.
        let known = ["HOST", "B", "X"].map(|node| format!("clocks-apart/{node}.reel"));
        sessions.push(Asked {
            name: "clocks-apart-without-a".to_owned(),
            paths: known.into(),
            wire: None,
            commands: COMMANDS.to_vec(),
        });
    }
    world(
        &stage,
        "long",
        &boxes(6, Mode::Host, Topology::PeerToPeer),
        4000,
    );
    sessions.push(digests("long"));
    check("worlds", &stage, &sessions);
}

/// Boxes by chance, over links that lose, double and reorder.
fn boxes(seed: u64, mode: Mode, topology: Topology) -> SimWorldStart {
    let mut start = SimWorldStart::new(seed, mode, topology, Script::Boxes { ticks: u64::MAX });
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

/// Plays a world for this many ticks, and puts its reels on the stage.
fn world(stage: &Stage, name: &str, start: &SimWorldStart, ticks: u64) {
    let mut recorders: Vec<(String, MemoryRecorder)> = Vec::new();
    let mut world = SimWorld::wrapped(start, |node, faults| {
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
    world.run(ticks);
    for (node, recorder) in recorders {
        stage.write(&format!("{name}/{node}.reel"), &recorder.finish());
    }
}
