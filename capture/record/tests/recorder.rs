//! Recording into a file.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use netreel_record::{Options, RecordError, Recorder, WhenFull, open, open_session, ring_path};
use netreel_reel::{CutWhy, Ending, Event, Header, OwnedRecord, Reel, SocketId, ThreadId, Time};

struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        Folder {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn recorder(&self, name: &str, options: Options) -> Recorder {
        let header = Header {
            node: name.to_owned(),
            ..Header::default()
        };
        Recorder::create(self.path(name), &header, options).unwrap()
    }
}

fn small() -> Options {
    Options {
        ring_capacity: 256 << 10,
        ..Options::default()
    }
}

fn events(reel: &Reel) -> Vec<OwnedRecord> {
    let mut records = Vec::new();
    let walk = reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
    assert_eq!(walk.damaged, []);
    records
}

#[test]
fn what_was_pushed_is_in_the_reel_in_the_order_of_its_numbers() {
    let folder = Folder::new();
    let recorder = folder.recorder("A.reel", Options::default());
    let mut pusher = recorder.pusher().unwrap();
    for value in 0..50_000u64 {
        let number = pusher.push(Time(value * 100), Event::Random { value });
        assert_eq!(number.map(|n| n.0), Some(value));
    }
    let summary = recorder.finish().unwrap();
    assert_eq!((summary.events, summary.dropped), (50_000, 0));
    assert!(!ring_path(&folder.path("A.reel")).exists());

    let reel = open(folder.path("A.reel")).unwrap();
    assert_eq!(reel.ending(), &Ending::Clean);
    assert_eq!(reel.header().node, "A.reel");
    let records = events(&reel);
    assert_eq!(records.len(), 50_000);
    for (index, record) in records.iter().enumerate() {
        let record = record.as_record();
        let value = index as u64;
        assert_eq!((record.number.0, record.time), (value, Time(value * 100)));
        assert_eq!(record.event, Event::Random { value });
    }
}

#[test]
fn two_threads_share_one_order() {
    let folder = Folder::new();
    let recorder = folder.recorder("A.reel", small());
    let each = 20_000u64;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut pusher = recorder.pusher().unwrap();
            scope.spawn(move || {
                for value in 0..each {
                    pusher.push(Time(value), Event::Random { value }).unwrap();
                }
            });
        }
    });
    recorder.finish().unwrap();
    let reel = open(folder.path("A.reel")).unwrap();
    let mut expected = [0, 0];
    let mut stalls = 0;
    for (index, record) in events(&reel).iter().enumerate() {
        let record = record.as_record();
        assert_eq!(record.number.0, index as u64);
        match record.event {
            Event::Random { value } => {
                let next = &mut expected[usize::from(record.thread.0)];
                assert_eq!(value, *next, "a thread's events keep their order");
                *next += 1;
            }
            Event::Stalled { .. } => stalls += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(expected, [each, each]);
    assert_eq!(reel.len(), 2 * each + stalls);
}

#[test]
fn a_small_ring_stalls_and_says_so_but_loses_nothing() {
    let folder = Folder::new();
    let recorder = folder.recorder("A.reel", small());
    let mut pusher = recorder.pusher().unwrap();
    let call = [7; 100_000];
    for _ in 0..200 {
        assert!(pusher.push(Time(1), Event::Input { call: &call }).is_some());
    }
    recorder.finish().unwrap();
    let reel = open(folder.path("A.reel")).unwrap();
    let inputs = events(&reel)
        .iter()
        .filter(|record| matches!(record.as_record().event, Event::Input { call: c } if c == call))
        .count();
    assert_eq!(inputs, 200);
    assert_eq!(reel.totals().dropped(), 0);
    assert!(
        reel.counts()
            .contains_key(&netreel_reel::EventKind::Stalled)
    );
}

#[test]
fn a_full_ring_may_drop_and_the_reel_counts_it() {
    let folder = Folder::new();
    let options = Options {
        when_full: WhenFull::Drop,
        ..small()
    };
    let recorder = folder.recorder("A.reel", options);
    let mut pusher = recorder.pusher().unwrap();
    let call = [7; 100_000];
    let pushed = (0..200).filter(|_| pusher.push(Time(1), Event::Input { call: &call }).is_some());
    let pushed = pushed.count() as u64;
    let summary = recorder.finish().unwrap();
    assert!(pushed < 200, "200 x 100 kB do not fit into 256 KiB at once");
    assert_eq!(summary.dropped, 200 - pushed);
    let reel = open(folder.path("A.reel")).unwrap();
    assert_eq!(reel.totals().dropped(), 200 - pushed);
    assert_eq!(reel.counts()[&netreel_reel::EventKind::Input], pushed);
}

#[test]
fn an_event_too_large_for_the_ring_is_counted_as_dropped() {
    let folder = Folder::new();
    let recorder = folder.recorder("A.reel", small());
    let mut pusher = recorder.pusher().unwrap();
    assert_eq!(
        pusher.push(
            Time(1),
            Event::Snapshot {
                state: &[0; 200_000]
            }
        ),
        None
    );
    assert!(pusher.push(Time(2), Event::Random { value: 1 }).is_some());
    recorder.finish().unwrap();
    let reel = open(folder.path("A.reel")).unwrap();
    let kinds: Vec<_> = events(&reel)
        .iter()
        .map(|r| r.as_record().event.kind())
        .collect();
    assert_eq!(
        kinds,
        [
            netreel_reel::EventKind::Dropped,
            netreel_reel::EventKind::Random
        ]
    );
    assert_eq!(reel.totals().dropped(), 1);
}

#[test]
fn the_largest_udp_packet_goes_through() {
    let folder = Folder::new();
    let recorder = folder.recorder("A.reel", small());
    let mut pusher = recorder.pusher().unwrap();
    let to = "127.0.0.1:7".parse().unwrap();
    let payload = [9; 65_507];
    let socket = SocketId(0);
    for _ in 0..20 {
        pusher
            .push(
                Time(1),
                Event::Sent {
                    socket,
                    to,
                    payload: &payload,
                },
            )
            .unwrap();
    }
    recorder.finish().unwrap();
    let reel = open(folder.path("A.reel")).unwrap();
    assert_eq!(reel.counts()[&netreel_reel::EventKind::Sent], 20);
}

#[test]
fn switched_off_nothing_is_recorded() {
    let folder = Folder::new();
    let recorder = folder.recorder("A.reel", Options::default());
    let mut pusher = recorder.pusher().unwrap();
    pusher.switch(false, Time(1));
    assert!(!recorder.is_recording());
    assert_eq!(pusher.push(Time(2), Event::Random { value: 1 }), None);
    pusher.switch(true, Time(3));
    assert!(recorder.is_recording());
    recorder.finish().unwrap();
    let reel = open(folder.path("A.reel")).unwrap();
    let events: Vec<_> = events(&reel)
        .iter()
        .map(|r| r.as_record().number.0)
        .collect();
    assert_eq!(events, [0, 1]);
}

#[test]
fn a_pusher_that_outlives_the_recorder_records_nothing() {
    let folder = Folder::new();
    let recorder = folder.recorder("A.reel", Options::default());
    let mut pusher = recorder.pusher().unwrap();
    drop(recorder);
    assert_eq!(pusher.push(Time(2), Event::Random { value: 1 }), None);
    assert_eq!(
        open(folder.path("A.reel")).unwrap().ending(),
        &Ending::Clean
    );
}

#[test]
fn a_forked_child_records_nothing_and_the_parent_goes_on() {
    let folder = Folder::new();
    let recorder = folder.recorder("A.reel", Options::default());
    let mut pusher = recorder.pusher().unwrap();
    pusher.push(Time(1), Event::Random { value: 1 }).unwrap();
    let mut child = std::process::Command::new("true");
    let mut in_child = recorder.pusher().unwrap();
    // SAFETY: the closure makes no allocation and takes no lock; it runs between fork and exec.
    unsafe {
        child.pre_exec(
            move || match in_child.push(Time(2), Event::Random { value: 2 }) {
                None => Ok(()),
                Some(_) => Err(std::io::ErrorKind::Other.into()),
            },
        );
    }
    assert!(
        child
            .status()
            .expect("the child's push was refused")
            .success()
    );
    drop(child);
    pusher.push(Time(3), Event::Random { value: 3 }).unwrap();
    recorder.finish().unwrap();
    let reel = open(folder.path("A.reel")).unwrap();
    let times: Vec<_> = events(&reel).iter().map(|r| r.as_record().time).collect();
    assert_eq!(times, [Time(1), Time(3)]);
}

#[test]
fn pushers_come_and_go_and_each_is_a_thread_of_its_own() {
    let folder = Folder::new();
    let recorder = folder.recorder(
        "A.reel",
        Options {
            pushers_max: 2,
            ..small()
        },
    );
    let mut kept = recorder.pusher().unwrap();
    for value in 0..20u64 {
        // The ring of the one before is used again once the drainer has emptied it.
        let mut pusher = loop {
            match recorder.pusher() {
                Ok(pusher) => break pusher,
                Err(RecordError::TooManyPushers(2)) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        };
        pusher.push(Time(value), Event::Random { value }).unwrap();
    }
    kept.push(Time(99), Event::Random { value: 99 }).unwrap();
    recorder.finish().unwrap();
    let reel = open(folder.path("A.reel")).unwrap();
    let threads: Vec<_> = events(&reel).iter().map(|r| r.as_record().thread).collect();
    assert_eq!(threads.len(), 21);
    assert_eq!(threads[20], ThreadId(0));
    let mut distinct = threads.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 21);
}

#[test]
fn a_reel_that_is_there_is_not_overwritten_unless_asked() {
    let folder = Folder::new();
    folder
        .recorder("A.reel", Options::default())
        .finish()
        .unwrap();
    let again = Recorder::create(
        folder.path("A.reel"),
        &Header::default(),
        Options::default(),
    );
    let error = again.unwrap_err().to_string();
    assert!(error.ends_with("A.reel: there is a file already; choose another name or remove it"));
    let replace = Options {
        replace: true,
        ..Options::default()
    };
    let header = Header {
        node: "B".to_owned(),
        ..Header::default()
    };
    Recorder::create(folder.path("A.reel"), &header, replace)
        .unwrap()
        .finish()
        .unwrap();
    assert_eq!(open(folder.path("A.reel")).unwrap().header().node, "B");
}

#[test]
fn a_recorder_whose_reel_was_taken_away_shares_no_ring_with_its_successor() {
    let folder = Folder::new();
    let first = folder.recorder("A.reel", small());
    let mut pusher = first.pusher().unwrap();
    std::fs::remove_file(folder.path("A.reel")).unwrap();
    let second = folder.recorder("A.reel", small());
    pusher.push(Time(0), Event::Random { value: 1 });
    let number = second
        .pusher()
        .unwrap()
        .push(Time(0), Event::Random { value: 2 });
    assert_eq!(number.map(|number| number.0), Some(0));
    assert_eq!(second.finish().unwrap().events, 1);
}

#[test]
fn a_reel_can_be_read_while_it_is_written() {
    let folder = Folder::new();
    let recorder = folder.recorder("A.reel", small());
    let mut pusher = recorder.pusher().unwrap();
    for round in 1..=20u64 {
        for value in 0..1000 {
            pusher.push(Time(value), Event::Random { value }).unwrap();
        }
        let reel = open(folder.path("A.reel")).unwrap();
        let Ending::Cut {
            why: CutWhy::StillRecorded,
            ..
        } = reel.ending()
        else {
            panic!("{:?}", reel.ending());
        };
        assert_eq!(
            reel.counts()[&netreel_reel::EventKind::Random],
            round * 1000
        );
        assert_eq!(reel.gaps(), []);
    }
}

#[test]
fn a_session_is_its_reels_by_name_and_what_could_not_be_opened() {
    let folder = Folder::new();
    for name in ["B.reel", "A.reel"] {
        folder.recorder(name, Options::default()).finish().unwrap();
    }
    std::fs::write(folder.path("C.reel"), "not one").unwrap();
    std::fs::write(folder.path("notes.txt"), "not one").unwrap();
    let session = open_session(&[folder.folder.path()]).unwrap();
    let names: Vec<_> = session
        .reels
        .iter()
        .map(|r| r.reel.header().node.as_str())
        .collect();
    assert_eq!(names, ["A.reel", "B.reel"]);
    let [failed] = &session.failed[..] else {
        panic!("{:?}", session.failed)
    };
    assert_eq!(failed.path, folder.path("C.reel"));
}

fn check_refused(path: PathBuf, says: &str) {
    let error = open(&path).unwrap_err().to_string();
    assert!(error.starts_with(&path.display().to_string()), "{error}");
    assert!(error.contains(says), "{error}");
}

#[test]
fn a_path_that_is_no_reel_is_refused_with_the_reason() {
    let folder = Folder::new();
    check_refused(folder.path("missing.reel"), "No such file");
    check_refused(folder.folder.path().to_owned(), "not a plain file");
    std::fs::write(folder.path("empty.reel"), "").unwrap();
    check_refused(folder.path("empty.reel"), "it is empty");
    std::fs::write(folder.path("foreign.reel"), "\x7fELF and more").unwrap();
    check_refused(
        folder.path("foreign.reel"),
        "it is not a reel: it starts with 7f 45",
    );
    let nothing = open_session(&[folder.path("missing.reel")]).unwrap_err();
    assert!(nothing.to_string().contains("No such file"), "{nothing}");
    std::fs::create_dir(folder.path("bare")).unwrap();
    let nothing = open_session(&[folder.path("bare")]).unwrap_err();
    assert!(nothing.to_string().contains("no file *.reel"), "{nothing}");
}
