//! A session whose reels were rotated into many files tells the same as in one file a node.

mod support;

use std::path::Path;

use netreel_capture::{Limits, Options, Recorder, open_session, reel_files};
use support::netreel;

const SESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions");

/// Records the demonstration `mode` once more, event by event.
fn record_again(mode: &str, folder: &Path, options: Options) {
    let session = open_session(&[Path::new(SESSIONS).join(mode)]).unwrap();
    for opened in session.reels {
        let path = folder.join(opened.path.file_name().unwrap());
        let recorder = Recorder::create(path, opened.reel.header(), options.clone()).unwrap();
        let mut pusher = recorder.pusher().unwrap();
        opened.reel.for_each(|record| {
            let number = pusher.push(record.time, record.event);
            assert_eq!(number, Some(record.number));
        });
        drop(pusher);
        recorder.finish().unwrap();
    }
}

/// What a command says of a folder, without the folder's name.
fn say(arguments: &[&str], folder: &Path) -> (Option<i32>, String, String) {
    let folder = folder.to_str().unwrap();
    let ran = netreel(&[arguments, &[folder]].concat());
    let out = ran.out.replace(folder, "");
    (ran.code, out, ran.err.replace(folder, ""))
}

#[test]
fn every_command_says_the_same_of_a_rotated_demonstration() {
    for mode in ["host", "owner"] {
        let (whole, rotated) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        record_again(mode, whole.path(), Options::default());
        let rotate = Limits {
            // Every block ends a file.
            bytes: Some(1),
            time: None,
        };
        let options = Options {
            rotate,
            ..Options::default()
        };
        record_again(mode, rotated.path(), options);
        let files = reel_files(rotated.path().join("A.reel")).unwrap();
        assert!(files.len() > 3, "{files:?}");
        for command in ["info", "check", "replay", "packets", "objects"] {
            for form in [&[command][..], &[command, "--json"]] {
                let expected = say(form, whole.path());
                assert!(expected.1.len() > 50, "{expected:?}");
                assert_eq!(say(form, rotated.path()), expected, "{mode}: {form:?}");
            }
        }
    }
}

#[test]
fn a_file_that_is_missing_from_a_rotated_session_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let rotate = Limits {
        bytes: Some(1),
        time: None,
    };
    let options = Options {
        rotate,
        ..Options::default()
    };
    record_again("host", folder.path(), options);
    std::fs::remove_file(folder.path().join("A.0001.reel")).unwrap();
    let (_, _, said) = say(&["info"], folder.path());
    assert!(said.contains("A.reel has a hole before event"), "{said}");
    assert!(said.contains("part 1 is missing with"), "{said}");
    let (code, out, _) = say(&["replay", "--node", "A"], folder.path());
    assert_eq!(code, Some(2), "{out}");
    let (_, checked, _) = say(&["check"], folder.path());
    let hole = "the reel of A has a hole: part 1 is missing";
    assert!(checked.contains(hole), "{checked}");

    std::fs::remove_file(folder.path().join("A.reel")).unwrap();
    let (_, _, said) = say(&["info"], folder.path());
    assert!(
        said.contains("parts 0 to 1 of the recording are not there"),
        "{said}"
    );
    let (_, checked, _) = say(&["check"], folder.path());
    let late = "the reel of A begins late: what came before event";
    assert!(checked.contains(late), "{checked}");
}
