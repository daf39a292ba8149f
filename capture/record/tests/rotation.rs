//! A recording in several files: they read as one, and each can be read alone.

use std::path::{Path, PathBuf};

use netreel_record::{Limits, Options, Recorder, open, open_session, reel_files, ring_path};
use netreel_reel::{CutWhy, Ending, Event, EventNumber, GapWhy, Header, OwnedRecord, Reel};
use netreel_reel::{SocketId, Time};

const BLOCK: u64 = 64 << 10;

fn rotating(bytes: u64) -> Options {
    Options {
        rotate: Limits {
            bytes: Some(bytes),
            time: None,
        },
        ..Options::default()
    }
}

fn header() -> Header {
    Header {
        node: "A".to_owned(),
        ..Header::default()
    }
}

/// Records `count` events of about 1000 bytes, and a socket that stays open.
fn record(path: &Path, options: Options, count: u64) -> netreel_record::Summary {
    let recorder = Recorder::create(path, &header(), options).unwrap();
    let mut pusher = recorder.pusher().unwrap();
    let socket = pusher.open_socket();
    let local = "127.0.0.1:7000".parse().unwrap();
    pusher.push(Time(0), Event::SocketOpened { socket, local });
    let mut payload = [7; 1000];
    for number in 1..count {
        payload[..8].copy_from_slice(&number.to_le_bytes());
        let payload = &payload[..];
        let to = "127.0.0.1:7001".parse().unwrap();
        let event = Event::Sent {
            socket,
            to,
            payload,
        };
        pusher.push(Time(number * 1000), event).unwrap();
    }
    drop(pusher);
    recorder.finish().unwrap()
}

fn events(reel: &Reel) -> Vec<OwnedRecord> {
    let mut records = Vec::new();
    let walk = reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
    assert_eq!(walk.damaged, []);
    records
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn numbers(reel: &Reel) -> Vec<u32> {
    reel.parts().iter().map(|part| part.part.number).collect()
}

struct Recorded {
    folder: tempfile::TempDir,
    base: PathBuf,
}

impl Recorded {
    /// 1000 events in six files.
    fn new() -> Recorded {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("A.reel");
        let summary = record(&base, rotating(2 * BLOCK), 1000);
        assert_eq!((summary.events, summary.rotation_failed), (1000, None));
        assert!(summary.files >= 6, "{summary:?}");
        Recorded { folder, base }
    }

    fn part(&self, number: u32) -> PathBuf {
        self.folder.path().join(format!("A.{number:04}.reel"))
    }
}

#[test]
fn numbered_files_read_as_one_reel_with_the_events_of_one_file() {
    let recorded = Recorded::new();
    let names = names(recorded.folder.path());
    assert_eq!(names[..2], ["A.0001.reel", "A.0002.reel"]);
    assert!(names.contains(&"A.reel".to_owned()));
    assert!(
        names.iter().all(|name| name.ends_with(".reel")),
        "{names:?}"
    );
    let one = recorded.folder.path().join("one");
    std::fs::create_dir(&one).unwrap();
    record(&one.join("A.reel"), Options::default(), 1000);

    let whole = open(one.join("A.reel")).unwrap();
    let rotated = open(&recorded.base).unwrap();
    assert_eq!(rotated.parts().len(), names.len());
    assert_eq!(rotated.ending(), &Ending::Clean);
    assert_eq!(
        (rotated.gaps(), rotated.missing_parts()),
        (&[][..], &[][..])
    );
    assert_eq!(events(&rotated), events(&whole));
    assert_eq!(rotated.counts(), whole.counts());
    assert_eq!(rotated.span(), whole.span());
    assert_eq!(rotated.endpoints(), whole.endpoints());
    for number in [0, 1, 499, 999] {
        let number = EventNumber(number);
        assert_eq!(rotated.record(number), whole.record(number));
    }
}

#[test]
fn a_file_ends_with_the_block_that_reaches_the_size() {
    let recorded = Recorded::new();
    let files = reel_files(&recorded.base).unwrap();
    let [ended @ .., _] = files.as_slice() else {
        panic!()
    };
    for file in ended {
        let length = std::fs::metadata(file).unwrap().len();
        assert!((2 * BLOCK..4 * BLOCK).contains(&length), "{length}");
    }
}

#[test]
fn a_folder_and_its_first_file_are_one_reel() {
    let recorded = Recorded::new();
    let by_folder = open_session(&[recorded.folder.path()]).unwrap();
    let by_file = open_session(&[&recorded.base]).unwrap();
    for session in [by_folder, by_file] {
        assert!(session.failed.is_empty());
        let [reel] = session.reels.as_slice() else {
            panic!("{:?}", session.reels)
        };
        assert_eq!(reel.path, recorded.base);
        assert_eq!(reel.reel.len(), 1000);
    }
}

#[test]
fn every_file_opens_alone_and_knows_the_sockets_that_were_open() {
    let recorded = Recorded::new();
    let mut next = 0;
    for (number, file) in reel_files(&recorded.base)
        .unwrap()
        .iter()
        .enumerate()
        .skip(1)
    {
        let reel = open(file).unwrap();
        assert_eq!(numbers(&reel), [number as u32]);
        assert_eq!(reel.endpoints().len(), 1, "{reel:?}");
        assert_eq!(reel.endpoints()[0].0, SocketId(0));
        let events = events(&reel);
        assert_eq!(reel.first_number(), events[0].as_record().number);
        assert!(reel.first_number().0 > next);
        next = events.last().unwrap().as_record().number.0;
        let [before] = reel.missing_parts() else {
            panic!("{:?}", reel.missing_parts())
        };
        assert_eq!(before.parts, 0..number as u32);
        assert_eq!(before.events, 0..reel.first_number().0);
        assert_eq!(reel.gaps()[0].why, GapWhy::PartMissing);
    }
    assert_eq!(next, 999);
}

#[test]
fn a_file_that_begins_while_recording_is_off_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    let recorder = Recorder::create(&path, &header(), rotating(1)).unwrap();
    let mut pusher = recorder.pusher().unwrap();
    for on in [false, true] {
        pusher.switch(on, Time(1));
        // Every block ends a file here, and every event that a block no longer takes ends a block.
        for _ in 0..3 {
            let call = [0; 60_000];
            pusher.push(Time(2), Event::Input { call: &call });
        }
    }
    drop(pusher);
    recorder.finish().unwrap();
    let reel = open(&path).unwrap();
    let states: Vec<bool> = reel.parts().iter().map(|part| part.part.on).collect();
    assert!(states.len() >= 3, "{states:?}");
    assert!(states.last().unwrap());
    assert_eq!(reel.len(), 5);
}

#[test]
fn a_middle_file_that_is_missing_is_named_with_its_events() {
    let recorded = Recorded::new();
    let gone = open(recorded.part(2)).unwrap();
    let (first, count) = (gone.first_number(), gone.len());
    std::fs::remove_file(recorded.part(2)).unwrap();
    let reel = open(&recorded.base).unwrap();
    let [missing] = reel.missing_parts() else {
        panic!("{:?}", reel.missing_parts())
    };
    assert_eq!(missing.parts, 2..3);
    assert_eq!(
        missing.to_string(),
        format!("part 2 is missing with {count} events from number {first} on")
    );
    assert_eq!(reel.gaps().len(), 1);
    assert_eq!((reel.gaps()[0].first, reel.gaps()[0].count), (first, count));
    assert_eq!(reel.len(), 1000 - count);
    assert_eq!(reel.ending(), &Ending::Clean);
}

#[test]
fn without_its_first_files_a_recording_still_opens_by_its_name() {
    let recorded = Recorded::new();
    std::fs::remove_file(&recorded.base).unwrap();
    std::fs::remove_file(recorded.part(1)).unwrap();
    let reel = open(&recorded.base).unwrap();
    assert_eq!(numbers(&reel)[..2], [2, 3]);
    assert_eq!(reel.missing_parts()[0].parts, 0..2);
    assert_eq!(reel.endpoints().len(), 1);
    let session = open_session(&[recorded.folder.path()]).unwrap();
    assert_eq!(session.reels.len(), 1);
    assert_eq!(session.reels[0].path, recorded.base);
}

#[test]
fn a_last_file_that_is_missing_is_a_cut() {
    let recorded = Recorded::new();
    let files = reel_files(&recorded.base).unwrap();
    std::fs::remove_file(files.last().unwrap()).unwrap();
    let reel = open(&recorded.base).unwrap();
    let why = CutWhy::NextPartMissing;
    let Ending::Cut { why: found, .. } = reel.ending() else {
        panic!("{:?}", reel.ending())
    };
    assert_eq!(*found, why);
}

#[test]
fn a_middle_file_that_was_cut_costs_its_end_alone() {
    let recorded = Recorded::new();
    let file = std::fs::File::options()
        .write(true)
        .open(recorded.part(1))
        .unwrap();
    file.set_len(BLOCK).unwrap();
    let reel = open(&recorded.base).unwrap();
    assert_eq!(reel.ending(), &Ending::Clean);
    let [gap] = reel.gaps() else {
        panic!("{:?}", reel.gaps())
    };
    assert_eq!(gap.why, GapWhy::Damaged);
    assert_eq!(reel.len() + gap.count, 1000);
    let first = reel.parts()[2].part.first.0;
    assert_eq!(gap.first.0 + gap.count, first);
    let mut seen = 0;
    reel.for_each(|record| {
        let missing = (gap.first.0..gap.first.0 + gap.count).contains(&record.number.0);
        assert!(!missing);
        seen += 1;
    });
    assert_eq!(seen, reel.len());
}

#[test]
fn the_oldest_files_are_deleted_so_that_the_whole_stays_small() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    let keep = 8 * BLOCK;
    let options = Options {
        keep: Limits {
            bytes: Some(keep),
            time: None,
        },
        ..rotating(2 * BLOCK)
    };
    let summary = record(&path, options, 4000);
    assert_eq!(summary.events, 4000);
    assert!(summary.files_deleted > 10, "{summary:?}");
    // The present file comes on top of what was kept when it began.
    assert!(summary.bytes < keep + 4 * BLOCK, "{summary:?}");
    let reel = open(&path).unwrap();
    assert_eq!(reel.parts().len(), summary.files as usize);
    assert_eq!(reel.missing_parts()[0].parts, 0..summary.files_deleted);
    let kept = events(&reel);
    assert_eq!(kept.last().unwrap().as_record().number, EventNumber(3999));
    assert_eq!(kept.len() as u64, 4000 - reel.first_number().0);
}

#[test]
fn a_file_that_is_too_old_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    let options = Options {
        keep: Limits {
            bytes: None,
            time: Some(std::time::Duration::ZERO),
        },
        ..rotating(2 * BLOCK)
    };
    let summary = record(&path, options, 1000);
    assert_eq!(summary.files, 1, "{summary:?}");
    assert!(summary.files_deleted >= 5, "{summary:?}");
}

#[test]
fn a_recording_that_reaches_its_size_ends_in_order_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    let options = Options {
        max: Limits {
            bytes: Some(4 * BLOCK),
            time: None,
        },
        ring_capacity: 256 << 10,
        ..rotating(2 * BLOCK)
    };
    let recorder = Recorder::create(&path, &header(), options).unwrap();
    let mut pusher = recorder.pusher().unwrap();
    let mut pushed = 0;
    while recorder.is_recording() {
        let call = [3; 1000];
        pushed += u64::from(
            pusher
                .push(Time(pushed), Event::Input { call: &call })
                .is_some(),
        );
    }
    drop(pusher);
    let summary = recorder.finish().unwrap();
    let reel = open(&path).unwrap();
    assert_eq!(reel.ending(), &Ending::Clean);
    assert_eq!(reel.gaps(), []);
    assert_eq!(summary.events, reel.len());
    let events = events(&reel);
    let inputs = events
        .iter()
        .filter(|record| matches!(record.as_record().event, Event::Input { .. }));
    // A push that was under way when the recording ended may have come too late.
    assert!(pushed - inputs.count() as u64 <= 1);
    // What is in the ring by then comes on top.
    assert!(summary.bytes < 10 * BLOCK, "{summary:?}");
    let last = events.last().unwrap().as_record();
    let Event::Note { text } = last.event else {
        panic!("{last:?}")
    };
    let text = std::str::from_utf8(text).unwrap();
    assert_eq!(
        text,
        "the recording ends here: it has reached its size of 262144 bytes"
    );
}

#[test]
fn names_that_only_look_like_parts_are_reels_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["server.reel", "server.1234.reel", "server.1235.reel"] {
        record(&folder.path().join(name), Options::default(), 10);
    }
    assert_eq!(open(folder.path().join("server.reel")).unwrap().len(), 10);
    let session = open_session(&[folder.path()]).unwrap();
    assert_eq!(session.reels.len(), 3);

    // A part does not take the place of a recording of that name.
    record(&folder.path().join("A.0001.reel"), Options::default(), 10);
    let summary = record(&folder.path().join("A.reel"), rotating(2 * BLOCK), 1000);
    let reel = open(folder.path().join("A.reel")).unwrap();
    assert_eq!(
        (reel.len(), reel.parts().len()),
        (1000, summary.files as usize)
    );
    assert_eq!(open(folder.path().join("A.0001.reel")).unwrap().len(), 10);
}

#[test]
fn a_recording_whose_first_file_is_gone_is_not_mixed_with_a_new_one() {
    let recorded = Recorded::new();
    std::fs::remove_file(&recorded.base).unwrap();
    let refused = Recorder::create(&recorded.base, &header(), Options::default()).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("A.reel: there is a file already"),
        "{refused}"
    );
    let replace = Options {
        replace: true,
        ..Options::default()
    };
    record(&recorded.base, replace, 10);
    assert_eq!(names(recorded.folder.path()), ["A.reel"]);
}

#[test]
fn a_recording_under_way_reads_with_what_its_ring_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A.reel");
    let recorder = Recorder::create(&path, &header(), rotating(BLOCK)).unwrap();
    let mut pusher = recorder.pusher().unwrap();
    for value in 0..50_000 {
        pusher.push(Time(value), Event::Random { value }).unwrap();
        if value % 10_000 == 0 {
            let reel = open(&path).unwrap();
            assert_eq!(reel.len(), value + 1);
            assert_eq!((reel.gaps(), reel.damage()), (&[][..], &[][..]));
            assert_eq!(events(&reel).len() as u64, value + 1);
        }
    }
    assert!(ring_path(&path).exists());
    drop(pusher);
    recorder.finish().unwrap();
    assert!(!ring_path(&path).exists());
    assert_eq!(open(&path).unwrap().len(), 50_000);
}

#[test]
fn a_recording_is_read_whole_while_it_goes_on_in_new_files() {
    for _ in 0..2 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("A.reel");
        let recorder = Recorder::create(&path, &header(), rotating(1)).unwrap();
        let mut pusher = recorder.pusher().unwrap();
        let call = [0; 1000];
        let mut pushed = 0;
        for count in 0..200 {
            // A file has about 65 of these, so that new ones are made while it is opened.
            for _ in 0..count {
                let event = Event::Input { call: &call };
                // Not one more each time: where a push had to wait, that is an event as well.
                pushed = pusher.push(Time(pushed), event).unwrap().0 + 1;
            }
            let reel = open(&path).unwrap();
            assert_eq!((reel.len(), reel.gaps()), (pushed, &[][..]), "{count}");
            let Ending::Cut { why, .. } = reel.ending() else {
                panic!("{:?}", reel.ending())
            };
            assert_eq!(*why, CutWhy::StillRecorded, "{count}: {why}");
            assert!(
                open_session(&[&path]).unwrap().reels[0].is_written,
                "{count}"
            );
        }
        drop(pusher);
        recorder.finish().unwrap();
    }
}
