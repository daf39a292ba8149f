//! The sessions that the command is asked about, in four groups, and which answers are kept.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use netreel_reel::{Header, WireText};
use netreel_sample_engine::{Mode, Peer, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::{LinkFaults, MemoryRecorder, Recorded};

use crate::support::answers::{Answered, Asked, CAPTURES, RECORDINGS, Stage, ask, captures};

const WIRE: &str = include_str!("../../samples/wires/boxes.wire");

/// Of these there is one reel a node as well.
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

/// What is asked of whole sessions besides.
const MORE: [(&str, &[&str]); 4] = [
    ("show", &["show", "--filter", "time < 0.3s"]),
    ("migrations", &["objects", "--migrations"]),
    ("migrations-json", &["objects", "--migrations", "--json"]),
    ("csv", &["export", "--format", "csv"]),
];

/// What is kept of one of two sessions whose long answers are alike.
const OF_OWNER: [&str; 8] = [
    "info",
    "packets",
    "objects",
    "check",
    "check-json",
    "filtered-effects",
    "filtered-objects",
    "migrations",
];

/// Sessions of the repository, with all reels, without one, and with one that is cut.
pub static SAMPLES: LazyLock<Vec<Answered>> = LazyLock::new(|| {
    let stage = Stage::new();
    let mut sessions = Vec::new();
    for mode in ["host", "owner"] {
        let folder = format!("samples/sessions/{mode}");
        let mut asked = Asked::all(mode, &folder, None);
        asked.commands.extend(FILTERED);
        asked.commands.extend(MORE);
        sessions.push(match mode {
            "host" => asked.keeping_all(),
            _ => asked.keeping(&OF_OWNER),
        });
        sessions.push(Asked {
            paths: ["A", "B", "HOST"]
                .map(|node| format!("{folder}/{node}.reel"))
                .into(),
            ..Asked::all(&format!("{mode}-without-x"), "", None)
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
    ask("samples", &stage, sessions)
});

/// Captures of the repository, as they are, and as one reel a node.
pub static RECORDED: LazyLock<Vec<Answered>> = LazyLock::new(|| {
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
    ask("recordings", &stage, sessions)
});

/// Captures beside the repository; none where they are not there.
pub static CAPTURED: LazyLock<Vec<Answered>> = LazyLock::new(|| {
    let Some(folder) = captures() else {
        return Vec::new();
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
    ask("captures", &stage, sessions)
});

/// Asks about a capture with its wire, and without. Where there is a wire, what is told without it follows
/// from what is told with it.
fn both(file: &str, folder: &str, wire: Option<&'static str>, sessions: &mut Vec<Asked>) {
    let path = format!("{folder}/{file}");
    let bare = Asked::all(&format!("{}-bare", stem(file)), &path, None);
    if wire.is_none() {
        sessions.push(bare);
        return;
    }
    let asked = Asked::all(stem(file), &path, wire);
    sessions.push(match file {
        // A session of each kind that is decoded, with all answers.
        "quake3.pcap" | "renet.pcap" | "roblox.pcapng" => asked.keeping_all(),
        _ => asked,
    });
    sessions.push(bare.keeping(&["info", "check"]));
}

fn stem(file: &str) -> &str {
    file.split('.').next().unwrap_or(file)
}

/// Boxes by chance, in all topologies.
pub static WORLDS: LazyLock<Vec<Answered>> = LazyLock::new(|| {
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
            sessions.push(match (way, seed) {
                ("owner-cs", 1) => asked.keeping_all(),
                (_, 1) => asked,
                _ => asked.keeping(&["info"]),
            });
        }
    }
    let mostly = |name: &str| Asked::all(name, name, None);
    {
        let mut start = boxes(4, Mode::Owner, Topology::PeerToPeer);
        start.nodes = 16;
        world(&stage, "sixteen-nodes", &start, 100);
        sessions.push(mostly("sixteen-nodes").keeping(&["info", "packets", "check"]));
    }
    {
        let mut start = boxes(5, Mode::Host, Topology::PeerToPeer);
        let ahead = [(Peer(1), 700), (Peer(2), 35)];
        start.clock_offsets = ahead
            .map(|(peer, ms)| (peer, Duration::from_millis(ms)))
            .into();
        world(&stage, "clocks-apart", &start, 300);
        sessions.push(mostly("clocks-apart"));
        // The same, with one node that was not recorded.
        let known = ["HOST", "B", "X"].map(|node| format!("clocks-apart/{node}.reel"));
        sessions.push(Asked {
            paths: known.into(),
            ..mostly("clocks-apart-without-a").keeping(&["info", "packets", "check"])
        });
    }
    world(
        &stage,
        "long",
        &boxes(6, Mode::Host, Topology::PeerToPeer),
        4000,
    );
    sessions.push(mostly("long"));
    ask("worlds", &stage, sessions)
});

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
