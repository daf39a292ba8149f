//! The disk is full: the recorded program goes on, and the reel says where recording stopped.
//!
//! A limit on the size of files stands for the disk. The child is this test's own program, started
//! again under a shell that sets the limit.

use std::path::Path;
use std::process::{Command, Output};

use netreel_record::{Options, Recorder, open, ring_path};
use netreel_reel::{CutWhy, Ending, Event, EventKind, Header, Time};

const REEL: &str = "NETREEL_TEST_FULL_REEL";
const EFBIG: i32 = 27;

/// Not a test of its own: what the process with the full disk does.
#[test]
fn child() {
    let Ok(path) = std::env::var(REEL) else {
        return;
    };
    let options = Options {
        ring_capacity: 256 << 10,
        ..Options::default()
    };
    let recorder = match Recorder::create(path, &Header::default(), options) {
        Ok(recorder) => recorder,
        Err(error) => {
            eprintln!("create: {error}");
            return;
        }
    };
    let mut pusher = recorder.pusher().unwrap();
    let call = [3; 1000];
    let pushed = (0..20_000u64).filter(|at| {
        pusher
            .push(Time(*at), Event::Input { call: &call })
            .is_some()
    });
    eprintln!("pushed {}", pushed.count());
    eprintln!("finish: {}", recorder.finish().unwrap_err());
}

/// Runs the child with files limited to this many blocks of 512 bytes.
fn run(path: &Path, blocks: u32) -> Output {
    Command::new("sh")
        .arg("-c")
        .arg(format!(
            "ulimit -f {blocks}; exec \"$0\" --exact child --nocapture"
        ))
        .arg(std::env::current_exe().unwrap())
        .env(REEL, path)
        .output()
        .unwrap()
}

#[test]
fn recording_stops_the_program_goes_on_and_the_reel_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    let output = run(&path, 4096);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let line = |start: &str| {
        said.lines()
            .find_map(|line| line.split_once(start))
            .map(|(_, end)| end)
    };
    let pushed: u64 = line("pushed ").unwrap().parse().unwrap();
    let finish = line("finish: ").unwrap();
    assert!(pushed < 20_000, "20 MB do not fit");
    assert!(
        finish.contains("A.reel: recording stopped before event "),
        "{finish}"
    );
    assert!(finish.contains("File too large"), "{finish}");

    let reel = open(&path).unwrap();
    let Ending::Cut { why, at_byte } = reel.ending() else {
        panic!("{:?}", reel.ending())
    };
    assert_eq!(*why, CutWhy::WriteFailed(EFBIG));
    assert_eq!(
        *at_byte,
        std::fs::metadata(&path).unwrap().len(),
        "the torn block is taken away"
    );
    // Every push that returned a number is there: in the file, or in the ring that stayed.
    assert_eq!(reel.counts()[&EventKind::Input], pushed);
    assert_eq!(reel.gaps(), []);
    assert_eq!(reel.damage(), []);
    let mut last = None;
    reel.for_each(|record| {
        if let Event::WriteFailed { code } = record.event {
            last = Some((record.number.0, code));
        }
    });
    let (number, code) = last.unwrap();
    assert_eq!(code, EFBIG);
    assert_eq!(number + 1, reel.len());
}

#[test]
fn without_room_for_the_ring_there_is_no_recording_and_no_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    let output = run(&path, 100);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("A.reel.ring: cannot make the ring file: File too large"),
        "{said}"
    );
    assert!(!path.exists() && !ring_path(&path).exists());
}
