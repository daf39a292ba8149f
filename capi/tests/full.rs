//! The disk is full, or the folder cannot be written: the program in C is told, and goes on.
//!
//! A limit on the size of files stands for the disk.

mod support;

use std::path::Path;
use std::process::{Command, Output};

use netreel_reel::{CutWhy, Ending, EventKind};
use support::{C99, file, text};

/// Runs the program with files limited to so many blocks of 512 bytes.
fn run(folder: &Path, reel: &Path, blocks: u32) -> Option<Output> {
    let program = C99.build(&file("tests/programs/full.c"), folder, &[])?;
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -f {blocks}; exec \"$0\" \"$1\""))
        .arg(program)
        .arg(reel);
    Some(command.output().unwrap())
}

#[test]
fn a_full_disk_stops_the_recording_and_not_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.reel");
    let Some(output) = run(folder.path(), &path, 4096) else {
        return;
    };
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    let lines = said.lines().collect::<Vec<_>>();
    let taken = lines[0].parse::<u64>().unwrap();
    assert!(
        lines[1].starts_with("NETREEL_E_STOPPED: recording stopped because a write failed"),
        "{said}"
    );
    assert!(
        lines[2].starts_with("NETREEL_E_STOPPED: ") && lines[2].contains("File too large"),
        "{said}"
    );
    let reel = netreel_record::open(&path).unwrap();
    let Ending::Cut { why, .. } = reel.ending() else {
        panic!("{:?}", reel.ending());
    };
    assert!(matches!(why, CutWhy::WriteFailed(_)), "{why:?}");
    assert_eq!(
        reel.counts()[&EventKind::Snapshot],
        taken,
        "all that was taken"
    );
}

#[test]
fn a_disk_without_any_room_is_told_at_opening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.reel");
    let Some(output) = run(folder.path(), &path, 64) else {
        return;
    };
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("a.reel") && said.contains("File too large"),
        "{said}"
    );
}
