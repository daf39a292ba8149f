//! What programs do rarely: before their libraries are ready, with addresses of no family, by calls
//! of which there is a more usual one.

mod support;

use std::collections::BTreeMap;

use netreel_reel::{CallId, Event};
use support::programs::{Bench, calls, sent, text};

#[test]
fn what_a_program_sends_before_its_libraries_are_ready_is_recorded() {
    let bench = Bench::new();
    let early = bench.compile("early");
    bench.record(&[], &[text(&early)]).expect(0);
    let all = ["first", "ready", "usual"].map(|text| text.as_bytes().to_vec());
    assert_eq!(sent(&bench.reel()), all);
}

#[test]
fn an_address_without_a_family_is_what_the_kernel_takes_it_for() {
    let bench = Bench::new();
    let unspecified = bench.compile("unspecified");
    let ran = bench.record(&[], &[text(&unspecified)]).expect(0);
    let ports: Vec<&str> = ran.out.split_whitespace().take(3).collect();
    let [one, other, sixth] = ports[..] else {
        panic!("{}", ran.out);
    };
    let (mut to, mut from) = (Vec::new(), String::new());
    bench.reel().for_each(|record| match record.event {
        Event::Sent {
            to: at, payload, ..
        } => {
            to.push(format!("{} {at}", String::from_utf8_lossy(payload)));
        }
        Event::Received {
            from: at,
            payload: b"f",
            ..
        } => from = at.to_string(),
        _ => {}
    });
    let (one, other) = (format!("127.0.0.1:{one}"), format!("127.0.0.1:{other}"));
    let mut expected = vec![
        format!("a {one}"),
        format!("b {one}"),
        format!("c {other}"),
        "d 0.0.0.0:0".to_owned(),
        format!("e {one}"),
    ];
    assert_eq!(to.get(..5), Some(&expected[..]));
    assert_eq!(from, one);
    if sixth == "0" {
        support::skipped("no IPv6 here");
        return;
    }
    expected.push(format!("g [::1]:{sixth}"));
    assert_eq!(to.last(), expected.last());
}

#[test]
fn random_bytes_are_recorded_however_their_file_is_read() {
    let bench = Bench::new();
    let draws = bench.compile("draws");
    check_drawn(&bench, &[text(&draws)], 24 * 16 - 1);
    std::fs::remove_dir_all(bench.out()).unwrap();
    let inherits = format!("exec 9</dev/urandom; exec {} inherited", text(&draws));
    check_drawn(&bench, &["sh", "-c", &inherits], 16);
}

/// The random bytes that the program prints, this many, are those of its reel.
fn check_drawn(bench: &Bench, command: &[&str], count: usize) {
    let ran = bench.record(&[], command).expect(0);
    let mut drawn = String::new();
    bench.reel().for_each(|record| {
        if let Event::Called {
            call: CallId::RANDOM,
            details: [_, bytes @ ..],
            ..
        } = record.event
        {
            drawn.extend(bytes.iter().map(|byte| format!("{byte:02x}")));
        }
    });
    let printed = ran.out.lines().next().unwrap_or_default();
    assert_eq!(drawn, printed);
    assert_eq!(printed.len(), 2 * count);
}

#[test]
fn a_forked_child_of_a_program_that_has_cleared_its_environment_is_recorded() {
    let bench = Bench::new();
    let cleared = bench.compile("cleared");
    bench.record(&[], &[text(&cleared)]).expect(0);
    let all = bench.reels().into_iter().flat_map(|(_, reel)| sent(&reel));
    assert_eq!(all.collect::<Vec<_>>(), [b"out"]);
}

#[test]
fn clocks_and_waits_are_recorded_in_their_rarer_ways() {
    let bench = Bench::new();
    let clocks = bench.compile("clocks");
    let ran = bench.record(&[], &[text(&clocks)]).expect(0);
    let reel = bench.reel();
    let mut told = Vec::new();
    reel.for_each(|record| {
        if let Event::ClockRead { clock, value } = record.event {
            told.push(format!("{}:{value}", clock.0));
        }
    });
    let printed = ran.out.lines().next().unwrap_or_default();
    let printed: Vec<&str> = printed
        .split_whitespace()
        .filter(|word| word.contains(':'))
        .collect();
    assert!(printed.len() >= 5);
    assert_eq!(told, printed);
    let waited = BTreeMap::from([
        ("epoll_pwait", 1),
        ("ppoll", 1),
        ("pselect", 1),
        ("sleep", 4),
    ]);
    let mut found = calls(&reel);
    // What a replay needs of any program, how it ended, and what it prints.
    found.retain(|call, _| !["start", "thread", "end", "status", "prints"].contains(&&**call));
    assert_eq!(found, waited);
}
