//! `netreel record` where the disk has little room.

mod support;

use std::process::Command;

use support::Ran;
use support::programs::{Bench, notes, text};

/// In KiB: room for the library that the program loads from there (some 500), for one ring with what it
/// begins with (520) and the reel, or for two rings of half of that; not for two.
const ONE_RING: u32 = 1252;

/// Records `pair` for this many rounds onto a disk of this many KiB: the run, and the notes of its reel,
/// where it has one. `None`, with a word, where this user cannot mount one.
fn record_onto_a_small_disk(kilobytes: u32, flags: &[&str], rounds: &str) -> Option<(Ran, String)> {
    let bench = Bench::new();
    let program = bench.compile("pair");
    let out = bench.out();
    std::fs::create_dir(&out).unwrap();
    let size = format!("size={kilobytes}k");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &size, "tmpfs", text(&out)])
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        support::skipped("only root can mount a small disk");
        return None;
    }
    let ran = bench.record(flags, &[text(&program), rounds]);
    let session = netreel_capture::open_session(&[&out]);
    let said = session.map_or_else(
        |error| error.to_string(),
        |session| {
            let reels = session.reels.iter();
            let said = reels.map(|it| format!("{}{:?}", notes(&it.reel), it.reel.ending()));
            said.collect()
        },
    );
    // Lazily: a child of another test that has yet to start its program has this one's files open.
    let unmounted = Command::new("umount").arg("--lazy").arg(&out).status();
    assert!(unmounted.unwrap().success());
    Some((ran, said))
}

#[test]
fn a_full_disk_keeps_the_program_from_starting_and_says_so() {
    let Some((ran, _)) = record_onto_a_small_disk(512, &[], "3") else {
        return;
    };
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    assert!(ran.err.contains("No space left on device"), "{}", ran.err);
}

#[test]
fn a_limit_on_the_size_of_files_that_is_too_small_is_told() {
    let bench = Bench::new();
    let limited = r#"ulimit -f 1; exec "$0" record --out "$1" -- true"#;
    let output = Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_netreel")])
        .arg(bench.out())
        .output();
    let output = output.expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("File too large"), "{said}");
}

#[test]
fn a_disk_without_room_for_a_threads_buffer_is_named_once_with_what_to_do() {
    let Some((ran, said)) = record_onto_a_small_disk(ONE_RING, &[], "10") else {
        return;
    };
    let ran = ran.expect(1);
    assert_eq!(ran.err.matches("No space left on device").count(), 1);
    assert!(ran.err.contains("--buffer 256k"), "{}", ran.err);
    assert!(said.contains("No space left on device"), "{said}");

    let Some((ran, _)) = record_onto_a_small_disk(ONE_RING, &["--buffer", "256k"], "10") else {
        return;
    };
    assert!(ran.expect(0).err.contains("20 packets"));
}

#[test]
fn a_disk_that_fills_up_stops_the_recording_and_not_the_program() {
    let Some((ran, said)) = record_onto_a_small_disk(2048, &["--buffer", "256k"], "20000") else {
        return;
    };
    let ran = ran.expect(1);
    let stopped = "recording stopped before event";
    assert!(ran.err.contains(stopped), "{}", ran.err);
    assert!(ran.err.contains("No space left on device"), "{}", ran.err);
    assert!(
        !ran.err.contains("the program "),
        "it ended well: {}",
        ran.out
    );
    assert!(said.contains("WriteFailed"), "{said}");
}

/// A ring gets storage ahead of need: where the disk has none for that, and room for the reel and
/// for what is pushed, nothing is missing.
#[test]
fn a_disk_without_room_for_more_of_a_buffer_than_is_needed_is_none_that_is_full() {
    let Some((ran, said)) = record_onto_a_small_disk(1792, &[], "1200") else {
        return;
    };
    assert!(ran.expect(0).err.contains("2400 packets"));
    assert!(!said.contains("nothing could be written"), "{said}");
}
