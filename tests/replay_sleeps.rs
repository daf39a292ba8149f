//! Programs that sleep more or less often when they are started again.

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use netreel_reel::{CallId, Event};
use support::Ran;
use support::programs::{Bench, records, sent, text};

/// Records a program that sleeps three times, and what is said of it as it sleeps so often.
fn after_three(more: &[&str], flags: &[&str], naps: u32) -> Ran {
    let bench = Bench::new();
    let (program, file) = (bench.compile("naps"), bench.at("naps of it"));
    std::fs::write(&file, "3").unwrap();
    let command = [&[text(&program), text(&file)], more].concat();
    bench.record(&[], &command).expect(0);
    std::fs::write(&file, naps.to_string()).unwrap();
    bench.again(flags, &command)
}

#[test]
fn a_program_with_one_thread_that_sleeps_more_or_less_often_is_not_exact() {
    for (naps, code) in [(3, 0), (4, 1), (2, 1)] {
        let ran = after_three(&[], &[], naps).expect(code);
        assert_eq!(ran.out.contains("diverged"), code == 1, "{}", ran.out);
    }
}

#[test]
fn nor_is_a_thread_with_packets_whose_locks_are_not_followed() {
    for (naps, code) in [(3, 0), (4, 1), (2, 1)] {
        let ran = after_three(&["beside"], &["--threads", "packets"], naps);
        ran.expect(code);
    }
}

#[test]
fn one_of_several_threads_may_and_it_is_told() {
    for (naps, told) in [
        (3, None),
        (5, Some("slept 2 times more and 0 times less")),
        (1, Some("slept 0 times more and 2 times less")),
    ] {
        let ran = after_three(&["beside"], &[], naps).expect(0);
        assert!(ran.out.contains("exact, 2 of 2 sends"), "{}", ran.out);
        let is_told = |told| ran.out.contains(told);
        assert_eq!(told.is_some_and(is_told), told.is_some(), "{}", ran.out);
        assert_eq!(ran.out.contains("slept"), told.is_some(), "{}", ran.out);
    }
}

/// Where it ends depends on what it sees in memory: behind its last sleep it is free.
#[test]
fn a_thread_that_asks_a_clock_in_place_of_its_last_sleep_is_answered_by_the_system() {
    let ran = after_three(&["there"], &[], 0).expect(0);
    assert!(ran.out.contains("exact, 2 of 2 sends"), "{}", ran.out);
    assert!(ran.out.contains("and 3 times less"), "{}", ran.out);
}

/// The lock is its own again when it looks for the first time, and the system answers from there on.
#[test]
fn so_is_one_that_waits_for_a_condition_in_its_place() {
    let ran = after_three(&["told"], &[], 0).expect(0);
    assert!(ran.out.contains("exact, 2 of 2 sends"), "{}", ran.out);
    assert!(ran.out.contains("and 3 times less"), "{}", ran.out);
}

#[test]
fn a_program_is_stopped_before_a_sleep() {
    let bench = Bench::new();
    let (program, file) = (bench.compile("naps"), bench.at("naps of it"));
    std::fs::write(&file, "3").unwrap();
    let command = [text(&program), text(&file), "beside"];
    bench.record(&[], &command).expect(0);
    let sleeps = |call| call == CallId::SLEEP;
    let first = records(&bench.reel()).into_iter().find_map(|it| {
        let record = it.as_record();
        let found = matches!(record.event, Event::Called { call, .. } if sleeps(call));
        found.then_some(record.number)
    });
    let (out, until) = (bench.out(), format!("event {}", first.unwrap()));
    let mut replay = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["replay", text(&out), "--until", &until, "--"])
        .args(command)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(replay.stderr.take().unwrap()).lines();
    // It has not slept once. What the descriptors led to may be said before.
    let mut before = lines.by_ref().map_while(Result::ok);
    let line = before.find(|it| it.contains("is stopped before") || it == "napped");
    let line = line.unwrap();
    assert!(line.contains("is stopped before"), "{line}");
    let pid = line.split("process ").nth(1).unwrap();
    let pid: u32 = pid.split(' ').next().unwrap().parse().unwrap();
    assert!(support::signal(pid, libc::SIGCONT));
    assert_eq!(
        lines
            .map_while(Result::ok)
            .filter(|it| it == "napped")
            .count(),
        3
    );
    assert!(support::ended(&mut replay).success());
}

/// What the program told of each of its sleeps: what the call returned, how many signals had come, and
/// the seconds and nanoseconds that were left.
fn told_of_sleeps(bench: &Bench) -> Vec<[i64; 4]> {
    let sent = sent(&bench.reel()).into_iter();
    sent.filter(|it| it.len() == 32)
        .map(|it| {
            std::array::from_fn(|at| i64::from_ne_bytes(it[at * 8..at * 8 + 8].try_into().unwrap()))
        })
        .collect()
}

#[test]
fn sleeps_that_a_signal_ends_are_exact_with_what_was_left_of_them() {
    let bench = Bench::new();
    let program = bench.compile("woken");
    for (command, options) in [
        (vec![text(&program)], &[][..]),
        (vec![text(&program), "beside"], &[]),
        (vec![text(&program), "beside"], &["--one-thread-at-a-time"]),
    ] {
        let _ = std::fs::remove_dir_all(bench.out());
        bench.record(options, &command).expect(0);
        let told = told_of_sleeps(&bench);
        let interrupted = i64::from(libc::EINTR);
        for [result, rings, seconds, nanos] in &told[..5] {
            assert!([interrupted, -1].contains(result), "{told:?}");
            assert!(*rings > 0 && *seconds == 1 && *nanos > 0, "{told:?}");
        }
        assert_eq!(told[5], [interrupted, 6, -1, -1]);
        assert_eq!(told[6], [0, 6, -1, -1]);
        assert_eq!(told[7][..2], [interrupted, 7]);
        let [left, rings, ..] = told[8];
        assert!((1..=5).contains(&left) && rings == 8, "{told:?}");
        bench.expect_exact(&command);
    }
}
