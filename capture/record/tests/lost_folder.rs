//! What happens to the folder while a recording goes on: full, read-only, removed. The recorded
//! program goes on, what is on the disk opens, and what is missing is said.

#[path = "../../../tests/support/skipped.rs"]
mod skipped;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use netreel_record::{Limits, Options, RecordError, Recorder, open, reel_files};
use netreel_reel::{CutWhy, Ending, Event, EventKind, Header, Time};
use skipped::skipped;

const REEL: &str = "NETREEL_TEST_LOST_REEL";
const NOSPC: i32 = 28;

/// Every block ends a file.
fn rotating() -> Options {
    Options {
        ring_capacity: 256 << 10,
        rotate: Limits {
            bytes: Some(1),
            time: None,
        },
        ..Options::default()
    }
}

/// Pushes `count` events of 1000 bytes; how many were taken.
fn push(recorder: &Recorder, count: u64) -> u64 {
    let mut pusher = recorder.pusher().unwrap();
    let call = [3; 1000];
    let input = Event::Input { call: &call };
    let taken = (0..count).filter(|at| pusher.push(Time(*at), input).is_some());
    taken.count() as u64
}

fn recorder(path: &Path) -> Recorder {
    Recorder::create(path, &Header::default(), rotating()).unwrap()
}

/// Not a test of its own: what the process on the small disk does.
#[test]
fn child() {
    let Ok(path) = std::env::var(REEL) else {
        return;
    };
    let recorder = recorder(Path::new(&path));
    eprintln!("pushed {}", push(&recorder, 20_000));
    match recorder.finish() {
        Ok(summary) => eprintln!("finish: {summary:?}"),
        Err(error) => eprintln!("finish: {error}"),
    }
}

fn run_child(path: &Path) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(REEL, path)
        .output()
        .unwrap()
}

/// A file system of `kilobytes` at `folder`; `None` where this process may not make one.
fn small_disk(folder: &Path, kilobytes: u32) -> Option<Mounted<'_>> {
    let size = format!("size={kilobytes}k");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &size, "netreel-test"])
        .arg(folder)
        .output()
        .is_ok_and(|output| output.status.success());
    mounted.then_some(Mounted(folder))
}

struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

fn line<'a>(said: &'a str, start: &str) -> &'a str {
    said.lines()
        .find_map(|line| Some(line.split_once(start)?.1))
        .unwrap_or_else(|| panic!("no line {start:?} in {said}"))
}

#[test]
fn a_disk_that_fills_up_while_files_follow_one_another_keeps_what_it_took() {
    // The sizes end the disk at different places: inside a block, a header, an index.
    for kilobytes in [700, 704, 708, 712, 1200, 1260] {
        let folder = tempfile::tempdir().unwrap();
        let Some(_disk) = small_disk(folder.path(), kilobytes) else {
            skipped("only root can make a small file system");
            return;
        };
        let path = folder.path().join("A.reel");
        let output = run_child(&path);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let pushed: u64 = line(&said, "pushed ").parse().unwrap();
        assert!(pushed < 20_000, "20 MB do not fit");
        let finish = line(&said, "finish: ");
        assert!(finish.contains("No space left on device"), "{finish}");

        let reel = open(&path).unwrap();
        let Ending::Cut { why, .. } = reel.ending() else {
            panic!("{:?}", reel.ending())
        };
        assert_eq!(*why, CutWhy::WriteFailed(NOSPC));
        assert_eq!(reel.counts()[&EventKind::Input], pushed, "{kilobytes} KiB");
        assert_eq!((reel.gaps(), reel.damage()), (&[][..], &[][..]));
        assert_eq!(reel.missing_parts(), []);
        assert!(reel.parts().len() > 2, "it rotated");
    }
}

#[test]
fn a_folder_that_was_removed_is_said_at_the_end_and_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let path = inner.join("A.reel");
    let recorder = recorder(&path);
    assert_eq!(push(&recorder, 1000), 1000);
    // The recorder may make its next file while the folder is being emptied.
    while inner.exists() {
        let _ = std::fs::remove_dir_all(&inner);
    }
    assert_eq!(push(&recorder, 1000), 1000);
    let error = recorder.finish().unwrap_err();
    let RecordError::Removed { files, .. } = error else {
        panic!("{error}")
    };
    assert!(files > 1);
    assert!(
        error
            .to_string()
            .contains("A.reel: removed or renamed while it was recorded")
    );
}

#[test]
fn a_folder_that_was_renamed_is_recorded_into_under_its_new_name() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    std::fs::create_dir(&old).unwrap();
    let recorder = recorder(&old.join("A.reel"));
    assert_eq!(push(&recorder, 1000), 1000);
    std::fs::rename(&old, &new).unwrap();
    assert_eq!(push(&recorder, 1000), 1000);
    let summary = recorder.finish().unwrap();
    let path = new.join("A.reel");
    assert_eq!(summary.moved_to.as_ref(), Some(&path));
    let reel = open(&path).unwrap();
    assert_eq!(reel.ending(), &Ending::Clean);
    assert_eq!(reel.counts()[&EventKind::Input], 2000);
    assert_eq!(reel_files(&path).unwrap().len(), summary.files as usize);
    assert!(!old.exists() && !netreel_record::ring_path(&path).exists());
}

#[test]
fn one_file_that_was_removed_is_said_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    let options = Options::default();
    let recorder = Recorder::create(&path, &Header::default(), options).unwrap();
    assert_eq!(push(&recorder, 10), 10);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(push(&recorder, 10), 10);
    assert!(matches!(
        recorder.finish(),
        Err(RecordError::Removed { files: 1, .. })
    ));
}

#[test]
fn where_no_new_file_can_be_made_the_recording_stays_in_the_one_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    let recorder = recorder(&path);
    // Nobody, not even root, makes a file where a folder stands.
    std::fs::create_dir(folder.path().join("A.reel.new")).unwrap();
    assert_eq!(push(&recorder, 2000), 2000);
    let summary = recorder.finish().unwrap();
    assert!(summary.rotation_failed.is_some(), "{summary:?}");
    let reel = open(&path).unwrap();
    assert_eq!(reel.ending(), &Ending::Clean);
    assert_eq!(reel.counts()[&EventKind::Input], 2000);
    assert_eq!(reel_files(&path).unwrap().len(), summary.files as usize);
}

#[test]
fn in_a_read_only_folder_there_is_no_recording_and_the_error_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let read_only = std::fs::Permissions::from_mode(0o555);
    std::fs::set_permissions(folder.path(), read_only).unwrap();
    let path = folder.path().join("A.reel");
    let create = || {
        if rustix::process::geteuid().is_root() {
            // Root may write everywhere: this thread is nobody.
            let nobody = rustix::process::Uid::from_raw(65_534);
            rustix::thread::set_thread_res_uid(None, nobody, None).unwrap();
        }
        Recorder::create(&path, &Header::default(), rotating()).unwrap_err()
    };
    let error = std::thread::scope(|scope| scope.spawn(create).join().unwrap());
    let said = error.to_string();
    assert!(
        said.contains("A.reel: cannot make the reel: Permission denied"),
        "{said}"
    );
}
