//! A reel is followed while it is recorded, by another thread and by another process.
//!
//! The process that is killed is this test's own program, started again with a path in its
//! environment.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use netreel_record::{FollowEnd, FollowError, Follower, Limits, OpenWhy, Options, Recorder, open};
use netreel_reel::{CutWhy, Event, Header, OwnedRecord, Record, SocketId, Time};

const REEL: &str = "NETREEL_TEST_FOLLOWED_REEL";
/// Bytes of a file of the recording, where it rotates.
const ROTATE: &str = "NETREEL_TEST_FOLLOWED_ROTATE";

fn small() -> Options {
    Options {
        ring_capacity: 256 << 10,
        ..Options::default()
    }
}

fn rotate_at(bytes: u64) -> Limits {
    Limits {
        bytes: Some(bytes),
        time: None,
    }
}

fn header() -> Header {
    Header {
        node: "A".to_owned(),
        ..Header::default()
    }
}

/// Set where it forks a child that lives on.
const FORKS: &str = "NETREEL_TEST_FOLLOWED_FORKS";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn reel(&self) -> PathBuf {
        self.0.path().join("A.reel")
    }

    fn recorder(&self) -> Recorder {
        Recorder::create(self.reel(), &header(), small()).unwrap()
    }
}

/// What one look shows, and how the recording ended.
fn look(follower: &mut Follower) -> (Vec<OwnedRecord>, Option<FollowEnd>) {
    let mut shown = Vec::new();
    let end = follower.look(&mut |record: &Record<'_>| shown.push(OwnedRecord::copy_of(record)));
    (shown, end.unwrap())
}

/// Looks until the recording has ended.
fn follow(path: &Path) -> (Vec<OwnedRecord>, FollowEnd) {
    let mut follower = Follower::open(path).unwrap();
    let mut all = Vec::new();
    loop {
        let (shown, end) = look(&mut follower);
        let nothing = shown.is_empty();
        all.extend(shown);
        if let Some(end) = end {
            return (all, end);
        }
        if nothing {
            std::thread::sleep(Duration::from_micros(300));
        }
    }
}

/// Every event that the whole reel holds.
fn held(path: &Path) -> Vec<OwnedRecord> {
    let mut held = Vec::new();
    open(path)
        .unwrap()
        .for_each(|record| held.push(OwnedRecord::copy_of(record)));
    held
}

#[track_caller]
fn check(shown: &[OwnedRecord], held: &[OwnedRecord]) {
    let differs = shown.iter().zip(held).position(|(one, other)| one != other);
    assert_eq!((shown.len(), differs), (held.len(), None));
}

/// How many of the events are draws; the recorder adds its own where pushers had to wait.
fn draws(shown: &[OwnedRecord]) -> usize {
    let draw = |each: &&OwnedRecord| matches!(each.as_record().event, Event::Random { .. });
    shown.iter().filter(draw).count()
}

#[test]
fn what_was_pushed_is_shown_at_once() {
    let folder = Folder::new();
    let recorder = folder.recorder();
    let mut pusher = recorder.pusher().unwrap();
    let mut follower = Follower::open(folder.reel()).unwrap();
    assert_eq!(follower.header().node, "A");
    for value in 0..5 {
        pusher.push(Time(value), Event::Random { value });
        let (shown, end) = look(&mut follower);
        let values: Vec<Event<'_>> = shown.iter().map(|each| each.as_record().event).collect();
        assert_eq!((values, end), (vec![Event::Random { value }], None));
    }
    assert_eq!(look(&mut follower).0, []);
    recorder.finish().unwrap();
    assert_eq!(look(&mut follower), (vec![], Some(FollowEnd::InOrder)));
}

#[test]
fn a_follower_sees_every_event_of_four_threads_once_and_in_order() {
    let folder = Folder::new();
    let recorder = folder.recorder();
    let path = folder.reel();
    let following = std::thread::spawn(move || follow(&path));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let mut pusher = recorder.pusher().unwrap();
            scope.spawn(move || {
                let to = "127.0.0.1:9".parse().unwrap();
                for count in 0u64..30_000 {
                    let payload = [count as u8; 200];
                    let payload = &payload[..count as usize % 200];
                    let socket = SocketId(pusher.thread().0);
                    let event = Event::Sent {
                        socket,
                        to,
                        payload,
                    };
                    pusher.push(Time(count), event).expect("recording goes on");
                }
            });
        }
    });
    let summary = recorder.finish().unwrap();
    let (shown, end) = following.join().unwrap();
    assert_eq!(end, FollowEnd::InOrder);
    let numbers = shown.iter().map(|each| each.as_record().number.0);
    assert!(numbers.eq(0..summary.events));
    let sent = |each: &&OwnedRecord| matches!(each.as_record().event, Event::Sent { .. });
    assert_eq!(shown.iter().filter(sent).count(), 120_000);
    check(&shown, &held(&folder.reel()));
}

#[test]
fn a_reel_that_has_ended_is_shown_in_one_look() {
    let folder = Folder::new();
    let recorder = folder.recorder();
    let mut pusher = recorder.pusher().unwrap();
    for value in 0..20_000 {
        pusher.push(Time(value), Event::Random { value });
    }
    recorder.finish().unwrap();
    let (shown, end) = look(&mut Follower::open(folder.reel()).unwrap());
    assert_eq!((draws(&shown), end), (20_000, Some(FollowEnd::InOrder)));
}

#[test]
fn one_that_joins_late_sees_the_beginning_too() {
    let folder = Folder::new();
    let recorder = folder.recorder();
    let mut pusher = recorder.pusher().unwrap();
    for value in 0..20_000 {
        pusher.push(Time(value), Event::Random { value });
    }
    let (shown, end) = look(&mut Follower::open(folder.reel()).unwrap());
    assert_eq!((draws(&shown), end), (20_000, None));
}

#[test]
fn a_number_that_is_not_published_yet_is_waited_for() {
    let folder = Folder::new();
    let recorder = folder.recorder();
    let mut pushers = [recorder.pusher().unwrap(), recorder.pusher().unwrap()];
    let mut follower = Follower::open(folder.reel()).unwrap();
    // Whichever ring it is in, the order is that of the numbers.
    for value in 0..100u64 {
        let pusher = &mut pushers[usize::from(value % 3 == 0)];
        pusher.push(Time(value), Event::Random { value });
    }
    let (shown, _) = look(&mut follower);
    assert!(
        shown
            .iter()
            .map(|each| each.as_record().number.0)
            .eq(0..100)
    );
}

/// Not a test of its own: what the killed process does.
#[test]
fn child() {
    let Ok(path) = std::env::var(REEL) else {
        return;
    };
    if std::env::var(FORKS).is_ok() {
        return fork_while_recording(Path::new(&path));
    }
    let rotate = std::env::var(ROTATE).ok();
    let bytes = rotate.and_then(|bytes| bytes.parse().ok());
    let options = Options {
        rotate: Limits { bytes, time: None },
        ..small()
    };
    let recorder = Recorder::create(path, &header(), options).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let mut pusher = recorder.pusher().unwrap();
            scope.spawn(move || {
                // More than it lives for: a follower that stays behind shall not fill the disk.
                for value in 0u64..1_000_000 {
                    let call = [value as u8; 100];
                    let call = &call[..value as usize % 100];
                    pusher.push(Time(value), Event::Input { call });
                }
            });
        }
    });
}

#[test]
fn a_killed_recorder_is_noticed_and_all_that_it_left_is_shown() {
    let kills = std::env::var("NETREEL_KILLS").ok();
    let kills: u64 = kills.and_then(|kills| kills.parse().ok()).unwrap_or(8);
    let mut seed = 0x2545_f491_4f6c_dd1du64;
    for round in 0..kills {
        let folder = Folder::new();
        let mut child = Command::new(std::env::current_exe().unwrap());
        // Every other recording goes on in new files, hundreds a second.
        if round % 2 == 1 {
            child.env(ROTATE, "100000");
        }
        let mut child = child
            .args(["--exact", "child", "--nocapture", "--test-threads=1"])
            .env(REEL, folder.reel())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut follower = loop {
            match Follower::open(folder.reel()) {
                Ok(follower) => break follower,
                Err(error) => match error.why {
                    OpenWhy::Io(_) | OpenWhy::Reel(_) => std::thread::yield_now(),
                    other => panic!("{other}"),
                },
            }
        };
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let kill_after = seed % 60_000;
        let mut shown = Vec::new();
        let mut killed = false;
        let end = loop {
            let (more, end) = look(&mut follower);
            shown.extend(more);
            if let Some(end) = end {
                break end;
            }
            if !killed && shown.len() as u64 > kill_after {
                child.kill().unwrap();
                killed = true;
            }
        };
        child.wait().unwrap();
        assert!(killed, "it was alive all the while");
        assert!(
            matches!(end, FollowEnd::Cut(CutWhy::NoFooter | CutWhy::TornBlock)),
            "{end:?}"
        );
        check(&shown, &held(&folder.reel()));
    }
}

/// Records, forks a child that lives until the standard input ends, and waits to be killed.
fn fork_while_recording(path: &Path) {
    let options = Options {
        rotate: rotate_at(100_000),
        ..small()
    };
    let recorder = Recorder::create(path, &header(), options).unwrap();
    let mut pusher = recorder.pusher().unwrap();
    let mut push = |value| {
        pusher.push(Time(value), Event::Random { value });
    };
    (0..1000).for_each(&mut push);
    // SAFETY: the child calls nothing but what is allowed there.
    unsafe {
        if libc::fork() == 0 {
            let mut byte = 0u8;
            while libc::read(0, (&raw mut byte).cast(), 1) > 0 {}
            libc::_exit(0);
        }
    }
    println!("\nforked");
    for value in 1000.. {
        push(value);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_killed_recorders_forked_child_does_not_keep_its_follower_waiting() {
    let folder = Folder::new();
    let mut recorder = Command::new(std::env::current_exe().unwrap())
        .env(REEL, folder.reel())
        .env(FORKS, "1")
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lives_on = recorder.stdin.take().unwrap();
    let said = BufReader::new(recorder.stdout.take().unwrap()).lines();
    let mut said = said.map_while(Result::ok);
    said.find(|line| line == "forked").expect("it forks");
    let mut follower = Follower::open(folder.reel()).unwrap();
    assert_eq!(look(&mut follower).1, None, "it is alive");
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let (sender, ended) = std::sync::mpsc::channel();
    let path = folder.reel();
    std::thread::spawn(move || sender.send(follow(&path).1));
    let end = ended.recv_timeout(Duration::from_secs(60));
    drop(lives_on);
    assert_eq!(end, Ok(FollowEnd::Cut(CutWhy::NoFooter)));
}

#[test]
fn what_lies_behind_damage_is_shown_when_the_recorder_is_gone() {
    let folder = Folder::new();
    let recorder = folder.recorder();
    let mut pusher = recorder.pusher().unwrap();
    for value in 0..60_000 {
        pusher.push(Time(value), Event::Random { value });
    }
    recorder.finish().unwrap();
    let mut bytes = std::fs::read(folder.reel()).unwrap();
    bytes[2_000] ^= 1;
    // Without the index, which would say the same.
    bytes.truncate(bytes.len() - 20);
    std::fs::write(folder.reel(), bytes).unwrap();
    // Not one look alone: a process that another test starts just then has the lock until it runs.
    let (shown, end) = follow(&folder.reel());
    assert!(matches!(end, FollowEnd::Cut(_)), "{end:?}");
    assert!(shown.len() < 60_000);
    check(&shown, &held(&folder.reel()));
}

#[test]
fn a_reel_that_gets_shorter_is_an_error() {
    let folder = Folder::new();
    let recorder = folder.recorder();
    let mut pusher = recorder.pusher().unwrap();
    for value in 0..20_000 {
        pusher.push(Time(value), Event::Random { value });
    }
    recorder.finish().unwrap();
    let whole = std::fs::read(folder.reel()).unwrap();
    let open_end = &whole[..whole.len() - 16];
    std::fs::write(folder.reel(), open_end).unwrap();
    // As if somebody recorded: whoever holds the lock is taken for the recorder.
    let writing = std::fs::File::options()
        .append(true)
        .open(folder.reel())
        .unwrap();
    let writing = netreel_record::FileAppend::new(writing);
    let mut follower = Follower::open(folder.reel()).unwrap();
    assert_eq!(look(&mut follower).1, None);
    let file = std::fs::File::options()
        .write(true)
        .open(folder.reel())
        .unwrap();
    file.set_len(1_000).unwrap();
    let error = follower.look(&mut |_| {}).unwrap_err();
    assert!(matches!(error, FollowError::Shrunk { .. }), "{error}");
    drop(writing);
}

#[test]
fn a_recording_in_several_files_is_followed_from_one_to_the_next() {
    let folder = Folder::new();
    let options = Options {
        rotate: rotate_at(1),
        ..small()
    };
    let recorder = Recorder::create(folder.reel(), &header(), options).unwrap();
    let mut pusher = recorder.pusher().unwrap();
    let mut follower = Follower::open(folder.reel()).unwrap();
    let (mut seen, mut all) = (0, Vec::new());
    for value in 0..60_000 {
        pusher.push(Time(value), Event::Random { value }).unwrap();
        if value % 20_000 == 0 {
            let (shown, end) = look(&mut follower);
            assert_eq!(end, None);
            seen += draws(&shown) as u64;
            all.extend(shown);
            assert_eq!(seen, value + 1);
        }
    }
    drop(pusher);
    let summary = recorder.finish().unwrap();
    assert!(summary.files > 3, "{summary:?}");
    let (shown, end) = look(&mut follower);
    assert_eq!(end, Some(FollowEnd::InOrder));
    all.extend(shown);
    check(&all, &held(&folder.reel()));
}

/// A recording of about a hundred files that has ended, and what was shown of it by a follower that
/// was there from its start and looked once more at its end.
fn followed_late(folder: &Folder, options: Options) -> (netreel_record::Summary, Vec<OwnedRecord>) {
    let recorder = Recorder::create(folder.reel(), &header(), options).unwrap();
    let mut follower = Follower::open(folder.reel()).unwrap();
    let mut pusher = recorder.pusher().unwrap();
    for value in 0..20_000u64 {
        let call = [value as u8; 400];
        pusher.push(Time(value), Event::Input { call: &call });
    }
    drop(pusher);
    let summary = recorder.finish().unwrap();
    let (shown, end) = look(&mut follower);
    assert_eq!(end, Some(FollowEnd::InOrder));
    (summary, shown)
}

#[test]
fn a_follower_passes_over_files_that_only_look_like_the_next_part() {
    let folder = Folder::new();
    for number in [1, 2, 5] {
        let other = folder.0.path().join(format!("A.{number:04}.reel"));
        let other = Recorder::create(other, &header(), small()).unwrap();
        other.finish().unwrap();
    }
    let options = Options {
        rotate: rotate_at(1),
        ..small()
    };
    let (summary, shown) = followed_late(&folder, options);
    assert!(summary.files > 50, "{summary:?}");
    assert_eq!(shown.len() as u64, summary.events);
    check(&shown, &held(&folder.reel()));
}

#[test]
fn a_follower_goes_on_with_the_oldest_file_that_was_kept() {
    let folder = Folder::new();
    let options = Options {
        rotate: rotate_at(1),
        keep: Limits {
            bytes: Some(1_000_000),
            time: None,
        },
        ..small()
    };
    let (summary, shown) = followed_late(&folder, options);
    assert!(summary.files_deleted > 50, "{summary:?}");
    // The file that it had open when the recording began is deleted, and can still be read.
    let kept = held(&folder.reel());
    let first = kept.first().unwrap().as_record().number;
    let of_kept = shown
        .iter()
        .position(|each| each.as_record().number == first)
        .unwrap();
    check(&shown[of_kept..], &kept);
}
