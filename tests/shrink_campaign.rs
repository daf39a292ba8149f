//! Long sessions that fail, each made small: `NETREEL_SHRINKS=30 NETREEL_SHRINK_TICKS=1750`, else three short
//! ones.

#[path = "../replay/tests/worlds/story.rs"]
mod story;
mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use netreel_protocol::history::{History, Level};
use netreel_reel::{ClockAnchor, Header, WireText};
use netreel_replay::explore::{Cut, Ground, GroundOptions, Ran, Runner};
use netreel_replay::together::Reels;
use netreel_sample_engine::{
    Fault, Mode, NetLayer, Peer, SimWorld, SimWorldStart, Start, StartError, Topology,
};
use netreel_transport::{Layer, MemoryRecorder, Recorded};
use serde_json::Value;

use support::netreel;

/// What is wrong with the engine of a session.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// Nothing but its historic mode.
    Historic,
    /// The same, and A -> X is slow.
    Slow,
    /// With its cure, a fault at one node.
    Fault(Peer, Fault),
}

const HOST: Peer = Peer(0);
const A: Peer = Peer(1);

/// In turns.
const WRONGS: &[Wrong] = &[
    Wrong::Slow,
    Wrong::Historic,
    Wrong::Fault(HOST, Fault::CounterNotRaised),
    Wrong::Slow,
    Wrong::Fault(A, Fault::ForgetDestroy),
    Wrong::Fault(A, Fault::MisnameOwner),
    Wrong::Slow,
    Wrong::Historic,
    Wrong::Fault(A, Fault::ForgetAnnounce),
    Wrong::Fault(A, Fault::TakeUnasked),
    Wrong::Slow,
    Wrong::Fault(A, Fault::DeliverTwice),
    Wrong::Fault(A, Fault::CreateTwice),
    Wrong::Historic,
    Wrong::Fault(A, Fault::MisnameHeir),
];

fn asked(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// Four nodes play freely for so many ticks; one reel each.
fn record(wrong: Wrong, seed: u64, ticks: u64, folder: &Path) {
    let mode = match wrong {
        Wrong::Fault(..) => Mode::Owner,
        Wrong::Historic | Wrong::Slow => Mode::Host,
    };
    let mut start = SimWorldStart::free(seed, mode, Topology::PeerToPeer, ticks);
    match wrong {
        Wrong::Historic => {}
        Wrong::Slow => {
            let link = start.link_faults.entry((A, Peer(3))).or_default();
            link.delay += Duration::from_millis(1500);
        }
        Wrong::Fault(at, fault) => drop(start.planted.insert(at, fault)),
    }
    let mut recorders: Vec<(String, MemoryRecorder)> = Vec::new();
    let mut world = SimWorld::wrapped(&start, |node, faults| {
        let header = Header {
            node: node.name.clone(),
            session: [1; 16],
            engine: "boxes".to_owned(),
            start: node.start.clone(),
            clock: ClockAnchor {
                boot_id: "world".to_owned(),
                ..ClockAnchor::default()
            },
            wires: vec![WireText {
                name: "boxes.wire".to_owned(),
                text: include_str!("../samples/wires/boxes.wire").to_owned(),
            }],
            ..Header::default()
        };
        let recorder = MemoryRecorder::create(&header).expect("a small header");
        recorders.push((node.name.clone(), recorder.clone()));
        Box::new(Recorded::new(faults, recorder.pusher(), node.local))
    })
    .expect("good conditions");
    world.run(ticks + 60);
    std::fs::create_dir_all(folder).expect("a folder");
    for (node, recorder) in recorders {
        let path = folder.join(format!("{node}.reel"));
        std::fs::write(path, recorder.finish()).expect("room");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn number(of: &Value, name: &str) -> u64 {
    of[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} in {of}"))
}

/// `None` where the session comes right when all has arrived.
fn shrunk(session: &Path, out: &Path) -> Option<Value> {
    let arguments = ["shrink", text(session), "--json", "--out", text(out)];
    let ran = netreel(&arguments);
    (ran.code == Some(1)).then(|| ran.json())
}

fn reels(folder: &Path) -> Vec<Vec<u8>> {
    let files = std::fs::read_dir(folder).expect("reels");
    let mut files: Vec<PathBuf> = files.map(|it| it.expect("a file").path()).collect();
    files.sort();
    let reels = files.iter().map(|it| std::fs::read(it).expect("a reel"));
    reels.collect()
}

/// What a session is played by, as it is or cured.
fn runner(ground: &Arc<Ground>, cured: bool) -> (Runner<'static, StartError>, Ran) {
    let starts = Arc::clone(ground);
    let make = Box::new(move |node, _| {
        let reel = starts.reel(node).expect("all are recorded");
        let mut start = Start::decode(&reel.header().start)?;
        if cured {
            start.mode = Mode::Owner;
            start.fault = None;
        }
        NetLayer::new(start).map(|layer| Box::new(layer) as Box<dyn Layer>)
    });
    Runner::new(Arc::clone(ground), make).expect("layers")
}

/// Whether nodes part in a small session as its test plays it.
fn parts(failing: &[Vec<u8>], cured: bool) -> bool {
    let plan = story::plan(&story::session(failing));
    let ground = Arc::new(Ground::healing(plan, Duration::from_secs(3)));
    runner(&ground, cured).1.is_wrong()
}

/// An error: its rule, its node, and what proves it where.
type Failing = (&'static str, u16, Vec<(String, u16)>);

fn errors(reels: &[Vec<u8>]) -> Vec<Failing> {
    let session = story::session(reels);
    let history = History::build(&session);
    let findings = history.findings.iter();
    let errors = findings.filter(|it| it.level == Level::Error);
    let errors = errors.map(|it| {
        let evidence = it.evidence.iter();
        let mut evidence: Vec<_> = evidence.map(|it| (it.what.clone(), it.node.0)).collect();
        evidence.dedup();
        (it.rule, it.node.0, evidence)
    });
    errors.collect()
}

/// Without any one call, and without any one packet, a small session does not fail in the same way.
#[track_caller]
fn assert_minimal(failing: &[Vec<u8>]) {
    let reasons = errors(failing);
    let options = GroundOptions {
        rest: Duration::ZERO,
        alone: None,
    };
    let ground = Arc::new(Ground::new(story::plan(&story::session(failing)), options));
    let mut runner = runner(&ground, false).0;
    let mut played = |cut: &Cut| {
        let headers = (0..failing.len()).map(|node| {
            let header = ground.reel(node)?.header().clone();
            Some((header, Vec::new()))
        });
        let reels = Reels::create(headers.collect()).expect("small headers");
        let ran = runner.write(&[], cut, Box::new(reels.clone()));
        let written = reels.finish("played anew", |_| false).expect("memory");
        let written: Vec<Vec<u8>> = written.into_iter().flatten().collect();
        (errors(&written), ran.expect("layers").1)
    };
    let whole = Cut::nothing(&ground);
    let (same, packets) = played(&whole);
    assert_eq!(same, reasons);
    let without = whole.turns(&ground).into_iter();
    let without = without.map(|turn| whole.without([turn], &ground));
    let calls = whole.counts(&ground).0;
    let without = without.filter(|cut| cut.counts(&ground).0 < calls);
    let without = without.chain(packets.iter().map(|&packet| whole.losing([packet])));
    for cut in without {
        let still = played(&cut).0;
        assert!(
            reasons.iter().any(|it| !still.contains(it)),
            "{cut:?}: {still:?}"
        );
    }
}

#[test]
fn long_sessions_are_shrunk_to_a_few_packets() {
    let sessions = asked("NETREEL_SHRINKS").unwrap_or(3);
    let ticks = asked("NETREEL_SHRINK_TICKS").unwrap_or(200);
    let folder = tempfile::tempdir().expect("a folder");
    println!(
        "| wrong | seed | rule | packets before | packets | arrive | calls | ticks | tries | seconds | test fails | cured passes |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut delivered: Vec<u64> = Vec::new();
    // How many small sessions fail as tests, and how many of these the cured engine passes.
    let mut tests = (0, 0);
    let mut seed = 0;
    while (delivered.len() as u64) < sessions {
        let wrong = WRONGS[delivered.len() % WRONGS.len()];
        seed += 1;
        let recorded = folder.path().join(format!("{seed}"));
        record(wrong, seed, ticks, &recorded);
        if netreel(&["check", text(&recorded)]).code != Some(1) {
            continue;
        }
        let small = folder.path().join(format!("small-{seed}"));
        let begun = Instant::now();
        let Some(first) = shrunk(&recorded, &small) else {
            continue;
        };
        let seconds = begun.elapsed().as_secs_f64();
        let failing = reels(&small.join("failing"));
        let counts = [
            "packets_before",
            "packets",
            "delivered",
            "calls",
            "ticks",
            "tries",
        ];
        let counts = counts
            .map(|name| number(&first, name).to_string())
            .join(" | ");
        let (fails, cured) = (parts(&failing, false), !parts(&failing, true));
        println!(
            "| {wrong:?} | {seed} | {} | {counts} | {seconds:.1} | {fails} | {cured} |",
            first["rule"]
        );
        tests.0 += u64::from(fails);
        tests.1 += u64::from(fails && cured);
        // What a loaded machine does not come to an end with is told, and is not minimal.
        match first["minimal"].as_bool() {
            Some(true) => assert_minimal(&failing),
            _ => println!("seed {seed}: the time was over before it was as small as it can be"),
        }
        delivered.push(number(&first, "delivered"));
    }
    delivered.sort_unstable();
    println!(
        "packets that arrive: {delivered:?}; {} fail as tests, of which the cure passes {}",
        tests.0, tests.1
    );
    assert!(delivered[delivered.len() / 2] <= 12, "{delivered:?}");
}
