//! Options that end, rotate and delete what is recorded.

mod support;

use std::mem::zeroed;
use std::ptr::null_mut;

use netreel::types::*;
use support::table::{NOTHING, Open, c_path, call, open_with, text};

const TICKS: u64 = 4000;

/// Ticks with a snapshot of a KiB each, as far as they are taken.
fn play(open: &Open) -> u64 {
    let state = [7u8; 1024];
    for number in 0..TICKS {
        match call!(open.api, tick(open.thread, number, number)) {
            OK => {}
            OFF => return number,
            other => panic!("{other}: {}", text(&open.api)),
        }
        let place = state.as_ptr().cast();
        call!(open.api, snapshot(open.thread, place, state.len() as u64));
        if number % 100 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
    TICKS
}

fn close(open: &Open) -> CSummary {
    // SAFETY: zeros are a value.
    let mut summary: CSummary = unsafe { zeroed() };
    summary.size = u32::try_from(size_of::<CSummary>()).unwrap();
    let code = call!(open.api, close(open.recorder, &mut summary));
    assert_eq!(code, OK, "{}", text(&open.api));
    summary
}

#[test]
fn a_rotated_reel_opens_and_replays_as_one() {
    let open = open_with(|options| options.rotate_bytes = 1 << 20);
    assert_eq!(play(&open), TICKS);
    let summary = close(&open);
    assert!(summary.files > 2, "{summary:?}");
    assert_eq!((summary.files_deleted, summary.rotation_failed), (0, 0));
    assert_eq!(open.reel().len(), 1 + 2 * TICKS);
    let path = c_path(&open.folder.path().join("a.reel"));
    let mut replay = NOTHING;
    let code = call!(open.api, replay_open(path.as_ptr(), &mut replay));
    assert_eq!(code, OK, "{}", text(&open.api));
    for number in 0..TICKS {
        assert_eq!(call!(open.api, replay_tick(replay, number)), OK);
    }
    assert_eq!(call!(open.api, replay_tick(replay, TICKS)), E_DIVERGED);
}

#[test]
fn what_lost_its_beginning_is_not_replayed() {
    let open = open_with(|options| {
        options.rotate_bytes = 256 << 10;
        options.keep_bytes = 1 << 20;
    });
    assert_eq!(play(&open), TICKS);
    let summary = close(&open);
    assert!(summary.files_deleted > 0, "{summary:?}");
    assert_eq!(summary.events, 1 + 2 * TICKS);
    let reel = netreel_record::open_session(&[open.folder.path()]).unwrap();
    assert!(reel.reels[0].reel.len() < TICKS);
    let path = c_path(&reel.reels[0].path);
    let mut replay = NOTHING;
    let code = call!(open.api, replay_open(path.as_ptr(), &mut replay));
    assert_eq!(code, E_NOT_REPLAYABLE);
    assert!(text(&open.api).contains("missing"), "{}", text(&open.api));
}

#[test]
fn a_recording_that_reached_its_size_is_off_and_ends_in_order() {
    let open = open_with(|options| {
        options.max_bytes = 256 << 10;
        options.buffer_bytes = 256 << 10;
    });
    let taken = play(&open);
    assert!(taken < TICKS, "{taken}");
    assert_eq!(open.note(), OFF);
    let summary = close(&open);
    assert!(summary.bytes < 1 << 20, "{summary:?}");
    assert_eq!(*open.reel().ending(), netreel_reel::Ending::Clean);
    assert_eq!(call!(open.api, close(open.recorder, null_mut())), E_CLOSED);
}

#[test]
fn in_ring_mode_a_trigger_keeps_what_was_pushed_before_it() {
    let open = open_with(|options| options.ring_ms = 60_000);
    assert_eq!(open.note(), OK);
    let code = call!(open.api, trigger(open.recorder, c"here".as_ptr()));
    assert_eq!(code, OK, "{}", text(&open.api));
    close(&open);
    let entries = std::fs::read_dir(open.folder.path()).unwrap().flatten();
    let mut folders = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir());
    let window = folders.next().expect("a window was kept");
    let session = netreel_record::open_session(&[window]).unwrap();
    let mut said = Vec::new();
    session.reels[0].reel.for_each(|record| match record.event {
        netreel_reel::Event::Note { text } => said.push(text.to_vec()),
        netreel_reel::Event::Triggered { text, .. } => said.push(text.to_vec()),
        _ => {}
    });
    assert_eq!(said, [b"note", b"here"]);
}
