//! Programs with several threads, started again: in which order they get their locks is recorded.

mod support;

use netreel_reel::{CallId, Event, OwnedRecord};
use support::programs::{Bench, calls, records, text, with_event, write};

#[test]
fn threads_that_fight_for_locks_are_exact() {
    let bench = Bench::new();
    let program = bench.compile("locks");
    let command = [text(&program), "60"];
    for _ in 0..5 {
        let _ = std::fs::remove_dir_all(bench.out());
        bench.record(&[], &command).expect(0);
        let calls = calls(&bench.reel());
        for call in ["lock", "condition", "semaphore", "post"] {
            assert!(calls.contains_key(call), "{call}");
        }
        bench.expect_exact(&command);
    }
}

#[test]
fn threads_that_spin_on_memory_are_exact_with_one_at_a_time() {
    let bench = Bench::new();
    let program = bench.compile("spins");
    let command = [text(&program), "20"];
    for _ in 0..3 {
        let _ = std::fs::remove_dir_all(bench.out());
        bench
            .record(&["--one-thread-at-a-time"], &command)
            .expect(0);
        let ran = bench.again(&[], &command).expect(0);
        assert!(ran.out.contains("exact, 60 of 60 sends"), "{}", ran.out);
    }
}

/// How much of a pipe is there as another thread reads it depends on which of the two calls is made first.
#[test]
fn threads_that_pass_bytes_by_a_pipe_are_exact_with_one_at_a_time() {
    let bench = Bench::new();
    let program = bench.compile("passes");
    let command = [text(&program), "1000"];
    for _ in 0..6 {
        let _ = std::fs::remove_dir_all(bench.out());
        bench
            .record(&["--one-thread-at-a-time"], &command)
            .expect(0);
        bench.expect_exact(&command);
    }
}

#[test]
fn threads_that_spin_on_memory_are_told_the_way_out_where_they_are_not_exact() {
    let bench = Bench::new();
    let program = bench.compile("spins");
    let command = [text(&program), "40"];
    bench.record(&[], &command).expect(0);
    let ran = bench.again(&["--patience", "2"], &command);
    // What each saw is in its packets: should they happen to be the same, it is exact.
    let told = match ran.code {
        Some(0) => "exact, 120 of 120 sends",
        _ => "--one-thread-at-a-time",
    };
    assert!(ran.out.contains(told), "{}", ran.out);
}

#[test]
fn a_recorder_says_at_once_that_several_threads_have_packets() {
    let bench = Bench::new();
    let (spins, pair) = (bench.compile("spins"), bench.compile("pair"));
    let one = &["--one-thread-at-a-time"][..];
    for (options, program, is_told) in [
        (&[][..], &spins, true),
        (one, &spins, false),
        (&[], &pair, false),
    ] {
        let _ = std::fs::remove_dir_all(bench.out());
        let said = bench.record(options, &[text(program), "5"]).expect(0).err;
        let told = "several of its threads have packets";
        assert_eq!(said.contains(told), is_told, "{said}");
    }
}

/// Eight others want the same processor: it computes for some seconds, of which 0.4 are its own.
#[test]
fn a_thread_that_has_to_wait_for_its_processor_keeps_its_turn() {
    let bench = Bench::new();
    let program = bench.compile("holds");
    let command = [text(&program), "works"];
    bench
        .record(&["--one-thread-at-a-time"], &command)
        .expect(0);
    bench.expect_exact(&command);
}

#[test]
fn a_thread_that_lets_no_other_run_is_refused_by_name() {
    let bench = Bench::new();
    let program = bench.compile("holds");
    let command = [text(&program), "spins"];
    let ran = bench.record_plainly(&["--one-thread-at-a-time"], &command);
    ran.expect(0);
    // From where there are no turns on, both run at the same time.
    let mut sent = sent_by(&bench);
    sent.sort();
    assert_eq!(sent, ["first", "spins"]);
    let ran = bench.again(&[], &command).expect(2);
    let told = "without a call that lets others run";
    assert!(ran.err.contains(told), "{}{}", ran.out, ran.err);
}

/// It sleeps where no hook stands, behind a call or behind what it was answered, or waits for a signal:
/// another one has its turn until it comes back.
#[test]
fn a_thread_that_sleeps_has_its_turn_taken() {
    let bench = Bench::new();
    let program = bench.compile("holds");
    for how in ["waits", "reads", "asks"] {
        let _ = std::fs::remove_dir_all(bench.out());
        let command = [text(&program), how];
        bench
            .record(&["--one-thread-at-a-time"], &command)
            .expect(0);
        assert_eq!(sent_by(&bench), [how, "first"]);
        let calls = calls(&bench.reel());
        assert!(!calls.contains_key(CallId::PAST.name()));
        bench.expect_exact(&command);
    }
}

/// In a child, none of the threads that had a turn as it was made is there.
#[test]
fn a_forked_child_waits_for_no_thread_of_its_parent() {
    let bench = Bench::new();
    let program = bench.compile("holds");
    let command = [text(&program), "forks"];
    bench
        .record(&["--one-thread-at-a-time"], &command)
        .expect(0);
    let reels = bench.reels();
    assert_eq!(reels.len(), 11);
    for (_, reel) in reels {
        assert!(!calls(&reel).contains_key(CallId::PAST.name()));
    }
}

/// The turn is looked after by the child's own number of its thread: its parent's thread sleeps.
#[test]
fn a_thread_of_a_forked_child_that_has_to_wait_for_its_processor_keeps_its_turn() {
    let bench = Bench::new();
    let program = bench.compile("holds");
    let command = [text(&program), "child"];
    bench
        .record(&["--one-thread-at-a-time"], &command)
        .expect(0);
    let reels = bench.reels();
    let child = reels.iter().find(|(_, reel)| {
        let sent = support::programs::sent(reel);
        sent.iter().any(|it| it == b"works")
    });
    let (_, child) = child.expect("the child's reel");
    assert!(!calls(child).contains_key(CallId::PAST.name()));
}

/// A new thread's ring comes by descriptors that are there for a moment: they take no number from what the
/// program opens meanwhile.
#[test]
fn descriptors_that_are_opened_while_threads_begin_have_their_numbers() {
    let bench = Bench::new();
    let program = bench.compile("opens");
    let command = [text(&program), "20"];
    for options in [&[][..], &["--one-thread-at-a-time"]] {
        let _ = std::fs::remove_dir_all(bench.out());
        bench.record(options, &command).expect(0);
        let ran = bench.again(&[], &command).expect(0);
        assert!(ran.out.contains("exact, 20 of 20 sends"), "{}", ran.out);
    }
}

#[test]
fn threads_of_c11_that_fight_for_a_lock_are_exact() {
    let bench = Bench::new();
    let program = bench.compile("c11");
    let command = [text(&program), "100"];
    bench.record_plainly(&[], &command).expect(0);
    assert!(calls(&bench.reel()).contains_key("lock"));
    bench.expect_exact(&command);
}

#[test]
fn threads_that_are_cancelled_where_they_wait_are_exact() {
    let bench = Bench::new();
    let program = bench.compile("cancels");
    let command = [text(&program)];
    for options in [&[][..], &["--one-thread-at-a-time"]] {
        for _ in 0..3 {
            let _ = std::fs::remove_dir_all(bench.out());
            bench.record(options, &command).expect(0);
            let calls = calls(&bench.reel());
            // Those that wait for the condition are told with its lock.
            assert_eq!((calls["cancel"], calls["cancelled"]), (28, 25));
            let ran = bench.again(&[], &command).expect(0);
            assert!(ran.out.contains("exact, 87 of 87 sends"), "{}", ran.out);
        }
    }
}

fn sent_by(bench: &Bench) -> Vec<String> {
    let sent = support::programs::sent(&bench.reel());
    let words = sent.iter().map(|it| String::from_utf8_lossy(it).into());
    words.collect()
}

/// A reel in which a thread is cancelled elsewhere is another one.
#[test]
fn a_thread_that_is_cancelled_somewhere_else_is_found() {
    let bench = Bench::new();
    let program = bench.compile("cancels");
    let command = [text(&program)];
    bench.record(&[], &command).expect(0);
    let (reel, path) = (bench.reel(), bench.reel_file());
    let all = records(&reel);
    let is = |it: &OwnedRecord, wanted| matches!(it.as_record().event, Event::Called { call, .. } if call == wanted);
    for wanted in [CallId::CANCELLED, CallId::CANCEL] {
        let mut records = all.clone();
        let at = records.iter().position(|it| is(it, wanted)).expect("one");
        let sleeps = Event::Called {
            call: CallId::RANDOM,
            result: 0,
            details: &[0],
        };
        let changed = with_event(&records[at].as_record(), sleeps);
        records[at] = changed;
        write(&path, &reel, &records);
        let ran = bench.again(&["--patience", "2"], &command);
        assert!(matches!(ran.code, Some(1 | 2)), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn another_outcome_of_a_wait_with_a_time_out_is_another_packet() {
    let bench = Bench::new();
    let program = bench.compile("locks");
    let command = [text(&program), "30"];
    bench.record(&[], &command).expect(0);
    let reel = bench.reel();
    let mut records = records(&reel);
    let found = records.iter().position(|it| {
        matches!(it.as_record().event, Event::Called { call: CallId::CONDITION, result, .. } if result == libc::ETIMEDOUT)
    });
    let found = found.expect("one of them came to its time-out");
    let known = records[found].as_record();
    let Event::Called { call, details, .. } = known.event else {
        unreachable!()
    };
    let event = Event::Called {
        call,
        result: 0,
        details,
    };
    let changed = with_event(&known, event);
    records[found] = changed;
    write(&bench.reel_file(), &reel, &records);
    let ran = bench.again(&[], &command).expect(1);
    assert!(ran.out.contains("diverged at event"), "{}", ran.out);
}

/// Details of a step among locks that say anything are refused or found, and nothing hangs.
#[test]
fn steps_that_cannot_be_are_found() {
    let bench = Bench::new();
    let program = bench.compile("locks");
    let command = [text(&program), "8"];
    bench.record(&[], &command).expect(0);
    let reel = bench.reel();
    let all = records(&reel);
    let is_step = |it: &OwnedRecord| {
        matches!(
            it.as_record().event,
            Event::Called {
                call: CallId::LOCK | CallId::CONDITION | CallId::SEMAPHORE,
                ..
            }
        )
    };
    let steps: Vec<usize> = (0..all.len()).filter(|&at| is_step(&all[at])).collect();
    for (nth, word) in [(1, 0), (2, u64::MAX), (3, 1 << 48 | 1 << 40), (4, 5)] {
        let place = steps[nth * steps.len() / 6];
        let known = all[place].as_record();
        let Event::Called {
            call,
            result,
            details,
        } = known.event
        else {
            unreachable!()
        };
        // The step's own number, and the thread and step that it comes behind.
        for at in [0, 8] {
            let mut details = details.to_vec();
            details[at..at + 8].copy_from_slice(&u64::to_le_bytes(word));
            let event = Event::Called {
                call,
                result,
                details: &details,
            };
            let mut records = all.clone();
            records[place] = with_event(&known, event);
            write(&bench.reel_file(), &reel, &records);
            let ran = bench.again(&["--patience", "1"], &command);
            // A step that is long done by itself is none to wait for.
            let good = matches!(ran.code, Some(1 | 2)) || (at == 8 && ran.code == Some(0));
            assert!(good, "step {nth}, {word} at {at}: {}{}", ran.out, ran.err);
        }
    }
}

/// A reel may say anything of what was ready, and how much came: the program's memory holds it.
#[test]
fn answers_beyond_the_programs_memory_are_refused() {
    let bench = Bench::new();
    let program = bench.compile("digest");
    let command = [text(&program), "6"];
    bench.record(&[], &command).expect(0);
    let reel = bench.reel();
    let all = records(&reel);
    let mut tried = 0;
    for (wanted, result, details) in [
        (
            CallId::SELECT,
            1,
            [5_000i32.to_le_bytes(), 7u32.to_le_bytes()].concat(),
        ),
        (
            CallId::SELECT,
            1,
            [(-64i32).to_le_bytes(), 1u32.to_le_bytes()].concat(),
        ),
        (
            CallId::SELECT,
            1,
            [4i32.to_le_bytes(), 4u32.to_le_bytes()].concat(),
        ),
        (
            CallId::POLL,
            1,
            [70_000i32.to_le_bytes(), 1u32.to_le_bytes()].concat(),
        ),
        (CallId::EPOLL_WAIT, 60, vec![1; 12 * 60]),
        (CallId::EPOLL_WAIT, 60, vec![1; 12]),
        (CallId::RANDOM, 1 << 20, vec![2; 17]),
        (CallId::RANDOM, 4000, vec![2; 4001]),
    ] {
        let is = |it: &&OwnedRecord| matches!(it.as_record().event, Event::Called { call, result, .. } if call == wanted && result > 0);
        let Some(place) = all.iter().position(|it| is(&it)) else {
            continue;
        };
        tried += 1;
        let known = all[place].as_record();
        let event = Event::Called {
            call: wanted,
            result,
            details: &details,
        };
        let mut records = all.clone();
        records[place] = with_event(&known, event);
        write(&bench.reel_file(), &reel, &records);
        let ran = bench.again(&["--patience", "2"], &command);
        let told = format!("{}{}", ran.out, ran.err);
        let named = told.contains("diverged at event") || told.contains("not replayable");
        assert!(
            named && ran.code != Some(0),
            "{} {result}: {told}",
            wanted.name()
        );
        assert!(!told.contains("signal 11"), "{}: {told}", wanted.name());
    }
    assert!(tried >= 6, "{tried}");
}

#[test]
fn a_file_that_differs_is_named() {
    let bench = Bench::new();
    let program = bench.compile("digest");
    let file = bench.at("line");
    std::fs::write(&file, "as it was\n").unwrap();
    let command = [text(&program), "5", text(&file)];
    bench.record(&[], &command).expect(0);
    let told = |bench: &Bench| bench.again(&[], &command).expect(1).out;
    std::fs::write(&file, "as it is now\n").unwrap();
    let named = format!("the file {} has another content", text(&file));
    let out = told(&bench);
    assert!(out.contains(&named), "{out}");
    std::fs::remove_file(&file).unwrap();
    let out = bench.again(&[], &command).expect(1).out;
    let named = format!("the file {} that it read is gone", text(&file));
    assert!(out.contains(&named), "{out}");
}
