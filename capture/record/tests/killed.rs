//! A recording process is killed with SIGKILL at random moments. Every reel opens, says that it
//! was cut, and holds every event whose push had returned.
//!
//! The child is this test's own program, started again with a path in its environment.

use std::collections::BTreeMap;
use std::io::{PipeReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use netreel_record::{Limits, Options, Recorder, open, reel_files};
use netreel_reel::{CutWhy, Ending, Event, GapWhy, Header, SocketId, ThreadId, Time};

const REEL: &str = "NETREEL_TEST_KILLED_REEL";
const THREADS: &str = "NETREEL_TEST_KILLED_THREADS";
/// Bytes after which a file is followed by the next; 0 for one file.
const ROTATE: &str = "NETREEL_TEST_KILLED_ROTATE";
/// Whether blocks are compressed.
const ZSTD: &str = "NETREEL_TEST_KILLED_ZSTD";

/// One line of the pipe: thread (1 byte), how many pushes of it have returned (8 bytes).
/// Shorter than `PIPE_BUF`, so that two threads' lines do not mix.
const LINE: usize = 9;

/// Not a test of its own: what the killed process does.
#[test]
fn child() {
    let Ok(path) = std::env::var(REEL) else {
        return;
    };
    let threads: u16 = std::env::var(THREADS).unwrap().parse().unwrap();
    let header = Header {
        node: "killed".to_owned(),
        ..Header::default()
    };
    // Small enough that the ring wraps, blocks are sealed and pushers wait while it runs.
    let rotate: u64 = std::env::var(ROTATE).unwrap().parse().unwrap();
    let options = Options {
        ring_capacity: 256 << 10,
        rotate: Limits {
            bytes: (rotate > 0).then_some(rotate),
            time: None,
        },
        zstd: std::env::var(ZSTD).unwrap() == "true",
        ..Options::default()
    };
    let recorder = Recorder::create(path, &header, options).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let mut pusher = recorder.pusher().unwrap();
            scope.spawn(move || {
                let thread = pusher.thread().0 as u8;
                let to = "127.0.0.1:9".parse().unwrap();
                let mut pipe = std::io::stderr();
                for count in 1u64.. {
                    let mut payload = [thread; 300];
                    payload[..8].copy_from_slice(&count.to_le_bytes());
                    let length = 8 + (count as usize * 37) % 292;
                    let payload = &payload[..length];
                    let socket = SocketId(u16::from(thread));
                    let event = Event::Sent {
                        socket,
                        to,
                        payload,
                    };
                    pusher.push(Time(count), event).expect("recording goes on");
                    let mut line = [thread; LINE];
                    line[1..].copy_from_slice(&count.to_le_bytes());
                    pipe.write_all(&line).unwrap();
                }
            });
        }
    });
}

/// How the child records.
#[derive(Clone, Copy)]
struct How {
    threads: u16,
    /// See [`ROTATE`].
    rotate: u64,
    zstd: bool,
}

impl How {
    /// In one file, not compressed.
    fn plain(threads: u16) -> How {
        How {
            threads,
            rotate: 0,
            zstd: false,
        }
    }
}

/// When a child is killed: not before so long, nor before so many of its pushes have returned, however slow
/// the machine is.
#[derive(Clone, Copy)]
struct Moment {
    delay: Duration,
    pushes: u64,
}

/// Runs a child, kills it, and returns how many pushes of each thread it reported.
fn run_and_kill(path: &Path, how: How, moment: Moment) -> BTreeMap<u8, u64> {
    let (pipe, child_end) = std::io::pipe().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(REEL, path)
        .env(THREADS, how.threads.to_string())
        .env(ROTATE, how.rotate.to_string())
        .env(ZSTD, how.zstd.to_string())
        .stdout(Stdio::null())
        .stderr(child_end)
        .spawn()
        .unwrap();
    let lines = Arc::new(AtomicU64::new(0));
    let of_reader = lines.clone();
    let reader = std::thread::spawn(move || returned_pushes(pipe, &of_reader));
    // The clock starts when the recorder stands: before that there is nothing to lose.
    let rings = path.with_extension("reel.ring");
    while std::fs::metadata(&rings).map_or(0, |file| file.len()) <= 4096 {
        assert_eq!(child.try_wait().unwrap(), None, "a child ended by itself");
        std::thread::sleep(Duration::from_micros(200));
    }
    std::thread::sleep(moment.delay);
    while lines.load(Ordering::Relaxed) < moment.pushes && !reader.is_finished() {
        std::thread::sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

fn returned_pushes(mut pipe: PipeReader, lines: &AtomicU64) -> BTreeMap<u8, u64> {
    let mut returned = BTreeMap::new();
    let mut line = [0; LINE];
    while pipe.read_exact(&mut line).is_ok() {
        let count = u64::from_le_bytes(line[1..].try_into().unwrap());
        let before = returned.insert(line[0], count).unwrap_or(0);
        assert_eq!(count, before + 1, "the pipe is in order");
        lines.fetch_add(1, Ordering::Relaxed);
    }
    returned
}

fn check_holds(path: &Path, returned: &BTreeMap<u8, u64>, threads: u16) -> u64 {
    let reel = open(path).unwrap();
    let Ending::Cut {
        why: CutWhy::NoFooter | CutWhy::TornBlock | CutWhy::TornCompressed,
        ..
    } = reel.ending()
    else {
        panic!("{:?}", reel.ending());
    };
    assert_eq!(reel.recovery().rings, None);
    let mut held: BTreeMap<u8, u64> = BTreeMap::new();
    let walk = reel.for_each(|record| match record.event {
        Event::Sent { payload, .. } => {
            let count = u64::from_le_bytes(payload[..8].try_into().unwrap());
            let held = held.entry(record.thread.0 as u8).or_default();
            *held += 1;
            assert_eq!(
                count, *held,
                "every event of {:?} up to the last",
                record.thread
            );
            assert!(
                payload[8..]
                    .iter()
                    .all(|b| ThreadId(u16::from(*b)) == record.thread)
            );
            assert_eq!(record.time, Time(count));
        }
        Event::Stalled { .. } => {}
        other => panic!("{other:?}"),
    });
    assert_eq!(walk.damaged, []);
    for (thread, returned) in returned {
        let held = held.get(thread).copied().unwrap_or(0);
        assert!(
            held >= *returned,
            "thread {thread}: {returned} pushes returned, {held} held"
        );
        assert!(
            held <= returned + 1,
            "only the push under way may be there as well"
        );
    }
    // At most one number a thread was taken and not published.
    let holes: u64 = reel.gaps().iter().map(|gap| gap.count).sum();
    assert!(holes <= u64::from(threads), "{:?}", reel.gaps());
    assert!(
        reel.gaps()
            .iter()
            .all(|gap| gap.why == GapWhy::NeverPublished)
    );
    reel.recovery().from_rings
}

/// How often a child is killed: as often as `NETREEL_KILLS` says, or `few` times.
fn kills(few: u32) -> u32 {
    let said = std::env::var("NETREEL_KILLS").ok();
    said.map_or(few, |kills| {
        kills.parse().expect("NETREEL_KILLS is a number")
    })
}

fn check_kills(few: u32, how: How) {
    let kills = kills(few);
    let folder = tempfile::tempdir().unwrap();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(how.threads) ^ how.rotate;
    let (mut returned_in_all, mut from_rings, mut files) = (0, 0, 0);
    for kill in 0..kills {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let folder = folder.path().join(kill.to_string());
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("A.reel");
        let moment = Moment {
            delay: Duration::from_micros((seed >> 33) % 150_000),
            pushes: (seed >> 20) % 1_000,
        };
        let returned = run_and_kill(&path, how, moment);
        from_rings += check_holds(&path, &returned, how.threads);
        returned_in_all += returned.values().sum::<u64>();
        files += reel_files(&path).unwrap().len();
        std::fs::remove_dir_all(folder).unwrap();
    }
    assert!(
        returned_in_all > 1000,
        "the children pushed: {returned_in_all}"
    );
    assert!(from_rings > 100, "the rings were needed: {from_rings}");
    if how.rotate > 0 {
        assert!(files > kills as usize, "recordings rotated: {files}");
    }
    let threads = how.threads;
    println!(
        "{kills} kills, {threads} threads, {files} files: {returned_in_all} pushes returned, all held"
    );
}

#[test]
fn killed_at_30_moments_a_reel_holds_every_push_that_returned() {
    check_kills(30, How::plain(1));
}

#[test]
fn killed_at_20_moments_with_two_threads_a_reel_holds_every_push_that_returned() {
    check_kills(20, How::plain(2));
}

#[test]
fn killed_at_30_moments_while_every_block_rotates_a_reel_holds_every_push_that_returned() {
    let rotate = 1;
    check_kills(
        30,
        How {
            rotate,
            ..How::plain(2)
        },
    );
}

#[test]
fn killed_at_30_moments_compressed_and_rotating_a_reel_holds_every_push_that_returned() {
    let how = How {
        rotate: 2_000,
        zstd: true,
        ..How::plain(2)
    };
    check_kills(30, how);
}
