//! A copy that is not what it has to be is refused.

use netreel_redact::Survey;
use netreel_reel::{CallId, Event, Reel, ReelWriter};

use crate::copied::{MARKER, SOCKET, at, complaints, copy, events, header, reel, rules, trigger};

/// A copy with one event another one is refused.
#[track_caller]
fn check_broken(place: usize, event: Event<'_>, expected: &str) {
    let old = reel(&header(), &events(b"a payload"));
    let survey = Survey::new(rules(), std::slice::from_ref(&old)).unwrap();
    let (bytes, report) = copy(&survey, &old);
    let good = Reel::from_bytes(bytes).unwrap();
    let mut writer = ReelWriter::create(Vec::new(), good.header()).unwrap();
    let mut at = 0;
    good.for_each(|record| {
        let mut record = *record;
        if at == place {
            record.event = event;
        }
        writer.push(&record).unwrap();
        at += 1;
    });
    let told = complaints(&survey, &old, &writer.finish().unwrap(), &report);
    assert!(told.iter().any(|why| why.contains(expected)), "{told:?}");
}

#[test]
fn an_address_that_was_left_is_caught() {
    let event = Event::SocketOpened {
        socket: SOCKET,
        local: at("192.168.1.20:7000"),
    };
    check_broken(0, event, "an address that was to be removed stands in it");
    check_broken(0, event, "in the index, an address that was to be removed");
}

#[test]
fn a_packet_that_changed_is_caught() {
    let event = Event::Received {
        socket: SOCKET,
        from: at("[::ffff:198.18.0.1]:7002"),
        payload: b"plaim",
    };
    check_broken(2, event, "an address became another one than elsewhere");
    let event = Event::Input {
        call: MARKER.as_bytes(),
    };
    check_broken(9, event, "bytes of it changed that were to stay, or stayed");
}

#[test]
fn a_note_that_says_something_else_is_caught() {
    check_broken(
        3,
        Event::Note {
            text: b"joined later",
        },
        "its text changed elsewhere",
    );
}

#[test]
fn a_file_a_line_and_a_name_that_were_left_are_caught() {
    let called = |call, result, details| Event::Called {
        call,
        result,
        details,
    };
    let changed = "details of it changed that were to stay, or stayed";
    let plan = b"1234567812345678123456781/home/ann/secret-plans/level.json";
    check_broken(14, called(CallId::FILE, 3, plan), changed);
    // Its sum would tell which file it was.
    let sum = b"0000000000000000123456781[removed]";
    check_broken(14, called(CallId::FILE, 3, sum), changed);
    check_broken(16, called(CallId::PRINTED, 9, b"\x01a line\n"), changed);
    let left = "user names still stands in it";
    let text = b"annelise was here";
    let trigger = trigger(false);
    check_broken(17, Event::Triggered { trigger, text }, left);
    // Also where nobody looks for it: in the bytes of the file.
    let call = b"at annelise's";
    check_broken(9, Event::Input { call }, "user names in the file");
}

#[test]
fn a_random_number_that_was_left_is_caught() {
    check_broken(11, Event::Random { value: 0x1234 }, "not what it has to be");
}
