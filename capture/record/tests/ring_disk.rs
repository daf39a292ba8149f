//! Ring mode on a disk that is full, or that cannot do all that is asked of it.

#[path = "../../../tests/support/skipped.rs"]
mod skipped;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use netreel_record::ring_mode::{Ring, TriggerNews, Triggers};
use netreel_record::{Options, Pusher, RecordError, Recorder, open, open_session};
use netreel_reel::{CutWhy, Ending, Event, Header, Reel, TriggerCause};
use netreel_transport::monotonic_now;
use skipped::skipped;

/// Nothing here takes this long, on any machine.
const LONG: Duration = Duration::from_secs(120);
const NOSPC: i32 = 28;

struct Recording {
    recorder: Recorder,
    pusher: Pusher,
    news: Receiver<TriggerNews>,
    count: u64,
}

impl Recording {
    fn new(folder: &Path) -> Recording {
        let triggers = Triggers::new();
        let news = triggers.news();
        let options = Options {
            ring: Some(Ring::new(Duration::from_millis(400))),
            ring_capacity: 256 << 10,
            triggers,
            ..Options::default()
        };
        let path = folder.join("A.reel");
        let recorder = Recorder::create(path, &Header::default(), options).unwrap();
        let pusher = recorder.pusher().unwrap();
        Recording {
            recorder,
            pusher,
            news,
            count: 0,
        }
    }

    /// Pushes numbered notes until `enough`.
    fn push_until(&mut self, mut enough: impl FnMut(&Recording) -> bool) {
        let begun = Instant::now();
        while !enough(self) {
            assert!(begun.elapsed() < LONG, "waited for too long");
            let text = (self.count + 1).to_string();
            let text = text.as_bytes();
            let pushed = self.pusher.push(monotonic_now(), Event::Note { text });
            self.count += u64::from(pushed.is_some());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Pushes until the first file was deleted.
    fn move_on(&mut self) {
        self.push_until(|it| !it.recorder.path().exists());
    }

    fn news<T>(&self, wanted: impl Fn(TriggerNews) -> Option<T>) -> T {
        let until = Instant::now() + LONG;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let next = self.news.recv_timeout(left).expect("news within the time");
            if let Some(found) = wanted(next) {
                return found;
            }
        }
    }
}

/// The numbers of the notes, which follow one another, and how many triggers there are.
fn read(reel: &Reel) -> (Vec<u64>, usize) {
    let (mut notes, mut triggers) = (Vec::new(), 0);
    let walk = reel.for_each(|record| match record.event {
        Event::Note { text } => notes.extend(std::str::from_utf8(text).unwrap().parse::<u64>()),
        Event::Triggered { .. } => triggers += 1,
        _ => {}
    });
    assert!(walk.damaged.is_empty() && walk.gaps.is_empty(), "{walk:?}");
    assert!(notes.windows(2).all(|pair| pair[1] == pair[0] + 1));
    (notes, triggers)
}

/// From now on this thread, and those that it starts, can make no hard link, as on FAT; whether
/// this machine lets it.
fn forbid_hard_links() -> bool {
    let jump = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let give = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let mut filter = [
        step(load, 0, 0, 0),
        step(jump, 0, 1, libc::SYS_linkat as u32),
        step(give, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(give, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: plain values, and a program that outlives the call, which copies it.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) == 0
    }
}

#[test]
fn without_hard_links_a_window_is_a_copy() {
    // The writing thread is started by this one, and can do no more than it.
    let inside = || {
        if !forbid_hard_links() {
            skipped("this machine has no filter for system calls");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        std::fs::write(&one, "").unwrap();
        assert!(std::fs::hard_link(&one, &two).is_err());

        let mut recording = Recording::new(folder.path());
        recording.move_on();
        let at_trigger = recording.count;
        recording.recorder.trigger(TriggerCause::CALL, "keep it");
        let window = recording.news(|news| match news {
            TriggerNews::Kept(window) => Some(window),
            TriggerNews::Failed(why) => panic!("{why}"),
            _ => None,
        });
        assert_eq!(window.lacks, 0);
        let parts: Vec<PathBuf> = std::fs::read_dir(&window.folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(parts.len(), window.parts);
        assert!(
            parts
                .iter()
                .all(|part| part.metadata().unwrap().nlink() == 1)
        );
        let session = open_session(&[&window.folder]).unwrap();
        let (notes, triggers) = read(&session.reels[0].reel);
        assert_eq!((notes.last(), triggers), (Some(&at_trigger), 1));
    };
    std::thread::spawn(inside).join().unwrap();
}

/// A small file system at `folder`; `None`, with a word, where this process may not make one.
fn small_disk<'a>(folder: &'a Path, size: &str) -> Option<Mounted<'a>> {
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", size, "netreel-test"])
        .arg(folder)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        skipped("only root can mount a small disk");
    }
    mounted.then_some(Mounted(folder))
}

struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn on_a_full_disk_the_last_window_is_there_and_a_trigger_says_why_it_keeps_none() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_disk) = small_disk(folder.path(), "size=4m") else {
        return;
    };
    let mut recording = Recording::new(folder.path());
    recording.move_on();
    let filler = folder.path().join("filler");
    let mut filler = std::fs::File::create(filler).unwrap();
    recording.push_until(|it| {
        // Parts that are deleted make room again.
        while std::io::Write::write_all(&mut filler, &[0; 4096]).is_ok() {}
        !it.recorder.is_recording()
    });
    let why = loop {
        // The writing thread may be about to end: until then it takes triggers.
        recording.recorder.trigger(TriggerCause::CALL, "too late");
        let refused = recording.news(|news| match news {
            TriggerNews::Refused(why) => Some(Some(why)),
            TriggerNews::Kept(_) | TriggerNews::Joined { .. } | TriggerNews::Failed(_) => {
                Some(None)
            }
            _ => None,
        });
        if let Some(why) = refused {
            break why;
        }
    };
    assert!(why.contains("No space left on device"), "{why}");
    let Recording {
        recorder, count, ..
    } = recording;
    let path = recorder.path().to_owned();
    let error = recorder.finish().unwrap_err();
    assert!(matches!(error, RecordError::Stopped { .. }), "{error}");
    let reel = open(&path).unwrap();
    let Ending::Cut { why, .. } = reel.ending() else {
        panic!("{:?}", reel.ending())
    };
    assert_eq!(*why, CutWhy::WriteFailed(NOSPC));
    let (notes, _) = read(&reel);
    assert_eq!(notes.last(), Some(&count), "all that was pushed");
    assert!(notes[0] > 1, "what is older than the window is gone");
}

#[test]
fn a_recording_goes_on_when_there_is_room_again_and_names_the_hole() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_disk) = small_disk(folder.path(), "size=4m") else {
        return;
    };
    let options = Options {
        ring_capacity: 256 << 10,
        ..Options::default()
    };
    let path = folder.path().join("A.reel");
    let recorder = Recorder::create(&path, &Header::default(), options).unwrap();
    let mut pusher = recorder.pusher().unwrap();
    let filler = folder.path().join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
    let call = [3; 1000];
    let mut pushed = 0u64;
    let mut dropped = 0u64;
    let mut push_until = |enough: &dyn Fn(&Recorder, u64) -> bool| {
        let begun = Instant::now();
        while !enough(&recorder, dropped) {
            assert!(begun.elapsed() < LONG, "waited for too long");
            match pusher.push(monotonic_now(), Event::Input { call: &call }) {
                Some(_) => pushed += 1,
                None => dropped += 1,
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    };
    push_until(&|recorder, dropped| !recorder.is_recording() && dropped > 10);
    std::fs::remove_file(&filler).unwrap();
    drop(file);
    push_until(&|recorder, _| recorder.is_recording());
    drop(pusher);
    let summary = recorder.finish().unwrap();
    assert_eq!(summary.dropped, dropped);
    let reel = open(&path).unwrap();
    assert_eq!(reel.ending(), &Ending::Clean);
    assert_eq!(reel.gaps(), []);
    let (mut inputs, mut told, mut notes) = (0, 0, String::new());
    reel.for_each(|record| match record.event {
        Event::Input { .. } => inputs += 1,
        Event::Dropped { count } => told += count,
        Event::Note { text } => notes += std::str::from_utf8(text).unwrap(),
        _ => {}
    });
    assert_eq!((inputs, told), (pushed, dropped));
    assert!(notes.contains("nothing could be written"), "{notes}");
}

#[test]
fn what_a_window_lacks_for_want_of_room_is_told_and_moved_into_it_once_there_is_some() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_disk) = small_disk(folder.path(), "size=40m,nr_inodes=60") else {
        return;
    };
    let mut recording = Recording::new(folder.path());
    recording.move_on();
    // No more files can be made, and no more names.
    let fillers = folder.path().join("fillers");
    std::fs::create_dir(&fillers).unwrap();
    let filled = (0..).find(|number: &u32| {
        let filler = fillers.join(number.to_string());
        std::fs::write(filler, "").is_err()
    });
    assert!(filled > Some(0));
    let at_trigger = recording.count;
    recording.recorder.trigger(TriggerCause::CALL, "keep it");
    let failed = |news| match news {
        TriggerNews::Failed(why) => Some(why),
        TriggerNews::Kept(window) => panic!("{window:?}"),
        _ => None,
    };
    let mut told = Vec::new();
    while !told
        .iter()
        .any(|why: &String| why.contains("nothing of this window"))
    {
        told.push(recording.news(failed));
    }
    let cannot = |why: &String| why.contains("cannot be kept: No space left on device");
    assert!(told.iter().any(cannot), "{told:?}");
    assert!(recording.recorder.is_recording());

    std::fs::remove_dir_all(&fillers).unwrap();
    let window = || {
        let entries = std::fs::read_dir(folder.path()).unwrap().flatten();
        let mut paths = entries.map(|entry| entry.path());
        paths.find(|path| path.is_dir())
    };
    let whole = |window: PathBuf| {
        let session = open_session(&[&window]).ok()?;
        let reel = session.reels[0].reel.clone();
        // The parts before the window are missing, and no other one.
        let missing = reel.missing_parts();
        let whole = session.failed.is_empty() && missing.iter().all(|it| it.parts.start == 0);
        (whole && reel.parts().len() > 2).then_some(reel)
    };
    recording.push_until(|_| window().and_then(whole).is_some());
    let (notes, triggers) = read(&window().and_then(whole).unwrap());
    assert_eq!(triggers, 1);
    assert!(
        notes[0] < at_trigger && notes.contains(&at_trigger),
        "{notes:?}"
    );
}
