//! A program in C that is killed at a random moment loses nothing that was pushed.

mod support;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use netreel_record::{open, ring_path};
use netreel_reel::{CutWhy, Ending, Event, EventKind, GapWhy, ThreadId};
use support::{C99, file, replay, run, start, windows};

const LINE: usize = 9;

/// Runs the program, kills it after `delay`, and returns how many calls of each thread it
/// reported.
fn run_and_kill(program: &Path, reel: &Path, threads: u8, delay: Duration) -> BTreeMap<u8, u64> {
    if windows::folder().is_some() {
        return terminated(program, reel, threads, delay);
    }
    let mut child = Command::new(program)
        .arg(reel)
        .arg(threads.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdout.take().unwrap();
    // The clock starts with the first call: before that there is nothing to lose.
    let mut bytes = vec![0; LINE];
    pipe.read_exact(&mut bytes).unwrap();
    let reader = std::thread::spawn(move || {
        pipe.read_to_end(&mut bytes).unwrap();
        bytes
    });
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    reported(&reader.join().unwrap())
}

/// The same on Windows, where a program of Windows ends another (TerminateProcess).
fn terminated(program: &Path, reel: &Path, threads: u8, delay: Duration) -> BTreeMap<u8, u64> {
    let folder = program.parent().unwrap();
    let source = file("tests/programs/terminate.c");
    let terminate = C99
        .build(&source, folder, &[])
        .expect("there was a compiler");
    let output = run(&terminate)
        .arg(delay.as_micros().to_string())
        .args([program, reel])
        .arg(threads.to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    reported(&output.stdout)
}

fn reported(bytes: &[u8]) -> BTreeMap<u8, u64> {
    let mut returned = BTreeMap::new();
    for line in bytes.chunks_exact(LINE) {
        let count = u64::from_le_bytes(line[1..].try_into().unwrap());
        let before = returned.insert(line[0], count).unwrap_or(0);
        assert_eq!(count, before + 1, "the pipe is in order");
    }
    returned
}

/// The reel holds every call that returned, in order, and at most the one under way besides.
fn check_holds(path: &Path, returned: &BTreeMap<u8, u64>, threads: u8) {
    let reel = open(path).unwrap();
    let Ending::Cut { why, .. } = reel.ending() else {
        panic!("{:?}", reel.ending());
    };
    assert!(
        matches!(why, CutWhy::NoFooter | CutWhy::TornBlock),
        "{why:?}"
    );
    assert_eq!(reel.recovery().rings, None);
    let mut held = BTreeMap::<u8, u64>::new();
    let mut ids = BTreeMap::<ThreadId, u8>::new();
    let walk = reel.for_each(|record| {
        if let Event::Sent { payload, .. } = record.event {
            let (count, filling) = payload.split_at(8);
            let count = u64::from_le_bytes(count.try_into().unwrap());
            assert_eq!(filling.len() as u64, count * 37 % 292);
            // The first packet of a thread has a filling.
            let id = *ids.entry(record.thread).or_insert_with(|| filling[0]);
            assert!(filling.iter().all(|byte| *byte == id));
            let held = held.entry(id).or_default();
            *held += 1;
            assert_eq!(count, *held, "every call of a thread up to the last");
        }
    });
    assert_eq!(walk.damaged, []);
    for (thread, returned) in returned {
        let held = held.get(thread).copied().unwrap_or(0);
        assert!(
            (*returned..=returned + 1).contains(&held),
            "thread {thread}: {returned} calls returned, {held} are held"
        );
    }
    let gaps = reel.gaps();
    assert!(gaps.iter().map(|gap| gap.count).sum::<u64>() <= u64::from(threads));
    assert!(gaps.iter().all(|gap| gap.why == GapWhy::NeverPublished));
}

fn kills(few: u32) -> u32 {
    let kills = std::env::var("NETREEL_KILLS").ok();
    kills.map_or(few, |it| it.parse().expect("NETREEL_KILLS is a number"))
}

/// Delays below `limit` microseconds, from a seed.
fn delays(mut seed: u64, limit: u64) -> impl FnMut() -> Duration {
    move || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        Duration::from_micros((seed >> 33) % limit)
    }
}

fn check_kills(threads: u8) {
    let folder = tempfile::tempdir().unwrap();
    let source = file("tests/programs/storm.c");
    let Some(program) = C99.build(&source, folder.path(), &["-lpthread"]) else {
        return;
    };
    let kills = kills(10);
    let mut delay = delays(0x9e37_79b9_7f4a_7c15 ^ u64::from(threads), 150_000);
    let mut all = 0;
    for kill in 0..kills {
        let path = folder.path().join(format!("{kill}.reel"));
        let returned = run_and_kill(&program, &path, threads, delay());
        check_holds(&path, &returned, threads);
        all += returned.values().sum::<u64>();
        std::fs::remove_file(ring_path(&path)).unwrap();
        std::fs::remove_file(path).unwrap();
    }
    println!("{kills} kills, {threads} threads: {all} calls returned, all held");
}

/// A client of `source` is killed at random moments; what it recorded is replayed.
fn check_replays(source: &str, libraries: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = C99.build(&file(source), folder.path(), libraries) else {
        return;
    };
    let mut delay = delays(11, 200_000);
    for kill in 0..kills(5) {
        let server = folder.path().join(format!("{kill}.server.reel"));
        let client = folder.path().join(format!("{kill}.client.reel"));
        let mut server = start(&program, &server, None);
        let mut killed = start(&program, &client, Some(&server.port));
        std::thread::sleep(delay());
        killed.child.kill().unwrap();
        killed.child.wait().unwrap();
        server.child.kill().unwrap();
        server.child.wait().unwrap();
        let reel = open(&client).unwrap();
        let inner = reel.for_each(|_| {});
        assert_eq!((inner.damaged, inner.gaps), (Vec::new(), Vec::new()));
        if reel.counts().contains_key(&EventKind::Tick) {
            let (exact, said) = replay(&program, &client, None);
            assert!(exact && said.starts_with("exact: "), "{kill}: {said}");
        }
    }
}

#[test]
fn what_a_killed_client_recorded_replays_as_far_as_it_goes() {
    check_replays("examples/udp.c", &[]);
}

#[test]
fn the_same_with_libenet() {
    if support::libenet_is_here() {
        check_replays("examples/enet.c", &["-lenet", "-ldl"]);
    }
}

#[test]
fn killed_at_random_moments_a_reel_holds_every_call_that_returned() {
    check_kills(1);
}

#[test]
fn the_same_with_three_threads() {
    check_kills(3);
}
