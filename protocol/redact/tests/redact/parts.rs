//! Copies of reels that are cut, and of recordings in several files.

use std::sync::Arc;

use netreel_redact::{Checker, Survey};
use netreel_reel::{Ending, Event, EventNumber, Header, Part, ReadAt, Reel, ReelWriter};

use crate::copied::{SOCKET, at, contains, copy, files, header, push, rules};

#[test]
fn a_copy_of_a_cut_reel_is_cut() {
    let mut writer = ReelWriter::create(Vec::new(), &Header::default()).unwrap();
    let text = b"last words";
    push(&mut writer, 0, Event::Note { text });
    let whole = writer.finish().unwrap();
    let old = Arc::new(Reel::from_bytes(whole[..whole.len() - 3].to_vec()).unwrap());
    assert_ne!(*old.ending(), Ending::Clean);
    let survey = Survey::new(rules(), std::slice::from_ref(&old)).unwrap();
    let (bytes, _) = copy(&survey, &old);
    let new = Reel::from_bytes(bytes).unwrap();
    assert_ne!(*new.ending(), Ending::Clean);
    assert_eq!(new.len(), 1);
}

/// A recording in five files of three events, each with a hole in it.
fn recorded_in_files() -> Vec<Vec<u8>> {
    let sockets = vec![(SOCKET, at("192.168.1.20:7000"))];
    let file = |number: u32| {
        let first = 5 * u64::from(number);
        let part = Part {
            number,
            first: EventNumber(first),
            sockets: sockets.clone(),
            on: number != 3,
            begun: Vec::new(),
        };
        let mut writer = ReelWriter::create_part(Vec::new(), &header(), 77, &part).unwrap();
        for number in [first, first + 1, first + 4] {
            let event = Event::Sent {
                socket: SOCKET,
                to: at("85.14.2.9:7002"),
                payload: b"hello",
            };
            push(&mut writer, number, event);
        }
        writer.finish_part().unwrap()
    };
    (0..5).map(file).collect()
}

fn joined(files: &[Vec<u8>]) -> Arc<Reel> {
    let source = |bytes: &Vec<u8>| Arc::new(bytes.clone()) as Arc<dyn ReadAt>;
    Arc::new(Reel::open_parts(files.iter().map(source).collect(), None).unwrap())
}

#[test]
fn what_a_recording_in_files_lacks_its_copy_lacks_in_the_same_way() {
    let all = recorded_in_files();
    let mut cut = all.clone();
    cut[4].truncate(all[4].len() - 3);
    let lacking: [Vec<Vec<u8>>; 4] = [
        all[2..].to_vec(),
        vec![all[3].clone()],
        vec![all[1].clone(), all[4].clone()],
        vec![cut[0].clone(), cut[4].clone()],
    ];
    for files_left in lacking {
        let old = joined(&files_left);
        let survey = Survey::new(rules(), std::slice::from_ref(&old)).unwrap();
        let report = survey.report(0, &old);
        let copies = files(&survey, &old, &report);
        let new = joined(&copies);
        let broken = Checker::new(&survey).compare(0, (&old, &new), &report);
        assert_eq!(broken, []);
        assert_eq!(old.missing_parts(), new.missing_parts());
        assert_eq!(old.gaps(), new.gaps());
        assert_eq!(old.first_number(), new.first_number());
        assert_eq!(
            *old.ending() == Ending::Clean,
            *new.ending() == Ending::Clean
        );
        let on = |reel: &Reel| reel.parts().iter().map(|it| it.part.on).collect::<Vec<_>>();
        assert_eq!(on(&old), on(&new));
        for (_, local) in new.endpoints() {
            assert_ne!(local.ip(), at("192.168.1.20:7000").ip());
        }
        for copy in &copies {
            assert!(!contains(copy, &[192, 168, 1, 20]));
        }
    }
}

#[test]
fn a_copy_that_lacks_more_or_less_is_caught() {
    let all = recorded_in_files();
    let old = joined(&all[1..]);
    let survey = Survey::new(rules(), std::slice::from_ref(&old)).unwrap();
    let report = survey.report(0, &old);
    let copies = files(&survey, &old, &report);
    let why = |new: &Reel| {
        let mut broken = Checker::new(&survey).compare(0, (&old, new), &report);
        broken.truncate(1);
        broken.pop().map(|broken| broken.why).unwrap_or_default()
    };
    assert_eq!(why(&joined(&copies)), "");
    assert!(why(&joined(&copies[1..])).contains("parts of the recording are missing"));
    // The same events, in one file from the first number on.
    let mut writer = ReelWriter::create(Vec::new(), joined(&copies).header()).unwrap();
    joined(&copies).for_each(|record| writer.push(record).unwrap());
    let new = Reel::from_bytes(writer.finish().unwrap()).unwrap();
    assert!(why(&new).contains("parts of the recording are missing"));
    // The last file says that the recording ended there.
    let last = joined(&copies[3..]);
    let part = &last.parts()[0].part;
    let mut writer = ReelWriter::create_part(Vec::new(), last.header(), last.identity(), part);
    let writer_made = writer.as_mut().unwrap();
    last.for_each(|record| writer_made.push(record).unwrap());
    let mut others = copies.clone();
    others[3] = writer.unwrap().finish().unwrap();
    assert_eq!(why(&joined(&others)), "it ends in another way");
}
