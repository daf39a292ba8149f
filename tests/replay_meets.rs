//! Programs whose threads meet at barriers, run something once, and wake each other by eventfds and
//! timers, started again.

mod support;

use netreel_reel::{CallId, Event};
use support::programs::{Bench, calls, records, sent, text, with_event, write};

#[test]
fn threads_that_meet_at_barriers_and_wake_each_other_are_exact() {
    let bench = Bench::new();
    let program = bench.compile("meets");
    let command = [text(&program), "40"];
    for options in [&[][..], &["--one-thread-at-a-time"]] {
        for _ in 0..3 {
            let _ = std::fs::remove_dir_all(bench.out());
            bench.record(options, &command).expect(0);
            let calls = calls(&bench.reel());
            assert_eq!((calls["barrier"], calls["once"]), (4 * 40, 41));
            for call in ["eventfd", "timerfd", "join", "level"] {
                assert!(calls.contains_key(call), "{call}");
            }
            bench.expect_exact(&command);
        }
    }
}

/// Each outcome is in a packet that the program sends: another outcome is another packet.
#[test]
fn another_outcome_where_threads_meet_is_another_packet() {
    let bench = Bench::new();
    let program = bench.compile("meets");
    let command = [text(&program), "4"];
    bench.record(&[], &command).expect(0);
    let (reel, path) = (bench.reel(), bench.reel_file());
    let all = records(&reel);
    // Which call, what stands behind the descriptor in its details (255: anything), and what it
    // returned; the place of a byte to change in the details, or the result that it is to have instead.
    let (read, not_raised, asked) = (0, 2, 2);
    for (wanted, what, result, at, instead) in [
        (CallId::BARRIER, 255, -1, None, 0),
        (CallId::LEVEL, 255, 2, None, 7),
        (CallId::JOIN, 255, 0, None, libc::EBUSY),
        (CallId::EVENTFD, read, 8, Some(5), 8),
        (
            CallId::EVENTFD,
            not_raised,
            -libc::EAGAIN,
            None,
            -libc::EINTR,
        ),
        (CallId::TIMERFD, read, 8, Some(5), 8),
        (CallId::TIMERFD, asked, 0, Some(5 + 3 * 8), 0),
    ] {
        let mut records = all.clone();
        let found = records.iter().position(|it| {
            let Event::Called {
                call,
                result: was,
                details,
            } = it.as_record().event
            else {
                return false;
            };
            call == wanted && was == result && (what == 255 || details[4] == what)
        });
        let found = found.unwrap_or_else(|| panic!("{} {what} {result}", wanted.name()));
        let known = records[found].as_record();
        let Event::Called { call, details, .. } = known.event else {
            unreachable!()
        };
        let mut details = details.to_vec();
        if let Some(at) = at {
            details[at] ^= 1;
        }
        let event = Event::Called {
            call,
            result: instead,
            details: &details,
        };
        let changed = with_event(&known, event);
        records[found] = changed;
        write(&path, &reel, &records);
        let ran = bench.again(&["--patience", "2"], &command);
        assert!(
            matches!(ran.code, Some(1 | 2)),
            "{} {what}: {}{}",
            call.name(),
            ran.out,
            ran.err
        );
    }
    write(&path, &reel, &all);
    bench.expect_exact(&command);
}

/// What is left by an exception, or by a thread that is cancelled in it, has not run: the next one runs it.
#[test]
fn what_is_to_run_once_and_is_left_before_its_end_is_exact() {
    let bench = Bench::new();
    let Some(program) = bench.compile_with("once", "g++", &["-lpthread"]) else {
        return;
    };
    let command = [text(&program), "30"];
    for options in [&[][..], &["--one-thread-at-a-time"]] {
        for _ in 0..3 {
            let _ = std::fs::remove_dir_all(bench.out());
            bench.record(options, &command).expect(0);
            // Three tries and the second thing in each round, and two of the thread that is cancelled.
            assert_eq!(calls(&bench.reel())["once"], 4 * 30 + 2);
            bench.expect_exact(&command);
        }
    }
}

/// A thread of the parent runs it, who is not there in the child.
#[test]
fn a_forked_child_runs_what_its_parent_is_running_once() {
    let bench = Bench::new();
    let Some(program) = bench.compile_with("once", "g++", &["-lpthread"]) else {
        return;
    };
    for options in [&[][..], &["--one-thread-at-a-time"]] {
        let _ = std::fs::remove_dir_all(bench.out());
        let command = [text(&program), "forks"];
        bench.record(options, &command).expect(0);
        let mut told: Vec<_> = bench.reels().iter().map(|(_, reel)| sent(reel)).collect();
        told.sort();
        assert_eq!(told, [[b"again".to_vec()], [b"done".to_vec()]]);
    }
}
