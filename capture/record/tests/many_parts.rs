//! A recording of more parts than a process may have files open.
//!
//! The child is this test's own program, started again under a shell that sets the limit.

use std::path::Path;
use std::process::Command;

use netreel_record::{Limits, Options, Recorder, open_session};
use netreel_reel::{Event, Header, Time};

const REEL: &str = "NETREEL_TEST_MANY_PARTS";
const PARTS: usize = 150;
const DESCRIPTORS: usize = 40;

/// Not a test of its own: what the process with few descriptors does.
#[test]
fn child() {
    let Ok(path) = std::env::var(REEL) else {
        return;
    };
    let session = open_session(&[Path::new(&path).parent().unwrap()]).unwrap();
    assert!(session.failed.is_empty(), "{:?}", session.failed);
    let reel = &session.reels[0].reel;
    assert!(reel.parts().len() > PARTS, "{}", reel.parts().len());
    let mut values = Vec::new();
    for _ in 0..2 {
        values.clear();
        let walk = reel.for_each(|record| {
            if let Event::Clock { value } = record.event {
                values.push(value.0);
            }
        });
        assert!(walk.damaged.is_empty(), "{:?}", walk.damaged);
    }
    assert!(values.iter().copied().eq(0..values.len() as u64));
    for block in (0..reel.blocks()).rev() {
        reel.block(block).unwrap();
    }
    println!("\nread {} of {} parts", values.len(), reel.parts().len());
}

#[test]
fn a_recording_of_more_parts_than_descriptors_is_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    let options = Options {
        rotate: Limits {
            bytes: Some(1),
            time: None,
        },
        ..Options::default()
    };
    let recorder = Recorder::create(&path, &Header::default(), options).unwrap();
    let mut pusher = recorder.pusher().unwrap();
    let call = [7; 60_000];
    for value in 0..2 * PARTS as u64 {
        let time = Time(value);
        pusher.push(time, Event::Clock { value: time }).unwrap();
        pusher.push(time, Event::Input { call: &call }).unwrap();
    }
    drop(pusher);
    let summary = recorder.finish().unwrap();
    assert!(summary.files as usize > PARTS, "{summary:?}");
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!(
            "ulimit -n {DESCRIPTORS}; exec \"$0\" --exact child --nocapture"
        ))
        .arg(std::env::current_exe().unwrap())
        .env(REEL, &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let expected = format!("read {} of {} parts", 2 * PARTS, summary.files);
    assert!(said.contains(&expected), "{said}");
}
