//! `netreel record` on programs that know nothing of it.

mod support;

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use netreel_reel::{CallId, Event, EventKind, Reel};
use support::programs::{Bench, calls, count, notes, records, sent, text};
use support::{netreel, signal};

#[test]
fn everything_that_crosses_a_programs_boundary_is_in_its_reel_in_order() {
    let bench = Bench::new();
    let program = bench.compile("pair");
    bench.record(&[], &[text(&program), "200"]).expect(0);
    let reel = bench.reel();
    for (kind, expected) in [
        (EventKind::Sent, 200),
        (EventKind::SendResult, 200),
        (EventKind::Received, 200),
        (EventKind::PollEmpty, 200),
        (EventKind::ClockRead, 600),
    ] {
        assert_eq!(count(&reel, kind), expected, "{kind:?}");
    }
    let calls = calls(&reel);
    assert_eq!(
        (calls["poll"], calls["sleep"], calls["random"]),
        (200, 1, 1)
    );
    let mut waiting: Option<Vec<u8>> = None;
    for record in records(&reel) {
        match record.as_record().event {
            Event::Sent { payload, .. } => waiting = Some(payload.to_vec()),
            Event::Received { payload, .. } => {
                assert_eq!(waiting.take().as_deref(), Some(payload), "received as sent");
            }
            _ => {}
        }
    }
    assert!(notes(&reel).contains("Not covered"));
    let shown = netreel(&["packets", text(&bench.out()), "--json"]).expect(0);
    assert_eq!(shown.out.lines().count(), 200);
}

#[test]
fn every_way_to_send_to_receive_and_to_draw_is_recorded() {
    let bench = Bench::new();
    let program = bench.compile("every");
    bench.record(&[], &[text(&program)]).expect(0);
    let reel = bench.reel();
    let mut words = Vec::new();
    reel.for_each(|record| match record.event {
        Event::Sent { payload, .. } => words.push(format!(">{}", String::from_utf8_lossy(payload))),
        Event::Received { payload, from, .. } => {
            assert!(from.ip().is_loopback() && from.port() != 0, "{from}");
            words.push(format!("<{}", String::from_utf8_lossy(payload)));
        }
        _ => {}
    });
    let expected = ">one >one >self >one >one >one >one >one >one \
        <one <one <self <one <one <one <one <one >one >one <one <one <one >one >one";
    assert_eq!(words.join(" "), expected);
    assert_eq!(count(&reel, EventKind::SendResult), 13);
    assert_eq!(count(&reel, EventKind::PollEmpty), 1);
    assert_eq!(count(&reel, EventKind::SocketClosed), 1);
    let calls = calls(&reel);
    for (call, expected) in [
        (CallId::PEEK, 1),
        (CallId::RANDOM, 4),
        (CallId::POLL, 1),
        (CallId::SELECT, 1),
        (CallId::EPOLL_WAIT, 1),
        (CallId::EPOLL_CTL, 1),
        (CallId::SLEEP, 1),
        (CallId::DUP, 1),
        (CallId::CLOSE, 2),
        (CallId::CONNECT, 1),
        (CallId::RECEIVE_QUEUE, 1),
    ] {
        let name = call.name();
        assert_eq!(calls.get(name), Some(&expected), "{name} in {calls:?}");
    }
}

#[test]
fn threads_beyond_the_first_rings_get_their_own_and_each_keeps_its_order() {
    let bench = Bench::new();
    let program = bench.compile("threads");
    bench.record(&[], &[text(&program), "12", "2000"]).expect(0);
    let reel = bench.reel();
    let mut next = [0u32; 12];
    let mut threads = BTreeMap::new();
    reel.for_each(|record| {
        if let Event::Sent { payload, .. } = record.event {
            let word = |at: usize| u32::from_le_bytes(payload[at..at + 4].try_into().unwrap());
            let thread = word(0) as usize;
            assert_eq!(word(4), next[thread], "in order");
            next[thread] += 1;
            let known = *threads.entry(thread).or_insert(record.thread);
            assert_eq!(record.thread, known, "one number a thread");
        }
    });
    assert_eq!(next, [2000; 12]);
    assert_eq!(reel.totals().dropped(), 0);
    assert!(reel.gaps().is_empty());
}

#[test]
fn a_signal_handler_that_sends_while_its_thread_asks_for_a_ring_is_counted_and_hangs_nothing() {
    let bench = Bench::new();
    let program = bench.compile("alarmed");
    // A thread that hung would be killed, which is another exit code.
    let command = ["timeout", "-k", "1", "60", text(&program), "40", "200"];
    let ran = bench.record(&[], &command);
    let printed = ran.out.lines().find_map(|line| line.strip_prefix("sent "));
    let printed: u64 = printed.expect("it ended by itself").parse().unwrap();
    let reels = bench.reels();
    let (_, reel) = reels.iter().find(|(name, _)| name == "alarmed").unwrap();
    assert_eq!(sent(reel).len() as u64 + reel.totals().dropped(), printed);
}

#[test]
fn a_program_that_is_killed_loses_nothing_that_it_sent() {
    for _ in 0..10 {
        let bench = Bench::new();
        let program = bench.compile("threads");
        let ran = bench.record(&[], &[text(&program), "1", "5000", "deadly"]);
        let ran = ran.expect(128 + 9);
        assert!(ran.err.contains("was ended by signal 9"), "{}", ran.err);
        let reel = bench.reel();
        assert_eq!(sent(&reel).len(), 1001, "up to the one before the kill");
    }
}

#[test]
fn a_recorder_that_is_killed_loses_nothing_and_does_not_hold_the_program_up() {
    let (bench, done) = loop {
        let bench = Bench::new();
        let program = bench.compile("pair");
        let done = bench.at("done");
        let script = format!("{} 5000 > {}; sleep 0.2", text(&program), text(&done));
        let mut recorder = Command::new(env!("CARGO_BIN_EXE_netreel"))
            .args(["record", "--out", text(&bench.out()), "--"])
            .args(["sh", "-c", &script])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut is_over = false;
        while !is_over && pushed(&bench.out(), "pair") < 1000 {
            is_over = recorder.try_wait().unwrap().is_some();
        }
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        // On a busy machine the program may be done before anybody has looked.
        if !is_over {
            break (bench, done);
        }
    };
    let started = std::time::Instant::now();
    while !std::fs::read_to_string(&done).is_ok_and(|text| text.contains("done")) {
        assert!(
            started.elapsed().as_secs() < 120,
            "the program ends by itself"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pair = bench.reels().into_iter().find(|(name, _)| name == "pair");
    let (_, reel) = pair.unwrap();
    assert_eq!(count(&reel, EventKind::Received), 5000);
    assert!(reel.gaps().is_empty());
}

#[test]
fn whatever_was_sent_before_a_kill_at_any_moment_is_in_the_reel() {
    whatever_was_sent_is_in_the_reel(&[], 20);
}

#[test]
fn whatever_was_sent_before_a_kill_is_in_the_reel_that_rotates_and_is_compressed() {
    whatever_was_sent_is_in_the_reel(&ROTATED, 10);
}

const ROTATED: [&str; 3] = ["--rotate-size", "64k", "--zstd"];

#[test]
fn a_reel_that_rotates_and_is_compressed_has_everything() {
    let bench = Bench::new();
    let program = bench.compile("threads");
    let flags = ROTATED;
    bench
        .record(&flags, &[text(&program), "4", "20000"])
        .expect(0);
    let files = std::fs::read_dir(bench.out()).unwrap().count();
    assert!(files > 3, "{files} files");
    let reel = bench.reel();
    assert_eq!(sent(&reel).len(), 80_000);
    assert_eq!(count(&reel, EventKind::SendResult), 80_000);
    assert!(reel.gaps().is_empty() && reel.missing_parts().is_empty());
    assert_eq!(reel.ending(), &netreel_reel::Ending::Clean);
}

/// Kills the program, or the recorder and then the program, at any moment: whatever has arrived at
/// a socket outside is in the reel, because a send is pushed before it is made.
fn whatever_was_sent_is_in_the_reel(flags: &[&str], usual: u64) {
    let rounds = std::env::var("NETREEL_KILLS").ok();
    let rounds: u64 = rounds
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(usual);
    for round in 0..rounds {
        let bench = Bench::new();
        let program = bench.compile("threads");
        let sink = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = sink.local_addr().unwrap().port().to_string();
        let mut recorder = Command::new(env!("CARGO_BIN_EXE_netreel"))
            .args(["record", "--out", text(&bench.out())])
            .args(flags)
            .args(["--", text(&program), "3", "100000000", "-", &port])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut arrived = Vec::new();
        let mut buffer = [0; 64];
        // Each thread has its ring once a packet of it came.
        let mut seen = [false; 3];
        while seen != [true; 3] {
            let length = sink.recv(&mut buffer).unwrap();
            arrived.push(buffer[..length].to_vec());
            seen[usize::from(buffer[0])] = true;
        }
        let pid = std::fs::read_dir(bench.out())
            .unwrap()
            .find_map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                let pid = name.strip_prefix("threads.")?.split('.').next();
                pid.map(str::to_owned)
            })
            .unwrap();
        let moment = std::time::Duration::from_micros(round * 1_777 % 20_000);
        let until = std::time::Instant::now() + moment;
        while std::time::Instant::now() < until {
            let length = sink.recv(&mut buffer).unwrap();
            arrived.push(buffer[..length].to_vec());
        }
        if round % 2 == 1 {
            recorder.kill().unwrap();
        }
        assert!(signal(pid.parse().unwrap(), libc::SIGKILL));
        recorder.wait().unwrap();
        sink.set_read_timeout(Some(std::time::Duration::from_millis(50)))
            .unwrap();
        while let Ok(length) = sink.recv(&mut buffer) {
            arrived.push(buffer[..length].to_vec());
        }
        let reel = bench.reel();
        let sent: std::collections::HashSet<Vec<u8>> = sent(&reel).into_iter().collect();
        let missing = arrived
            .iter()
            .filter(|packet| !sent.contains(*packet))
            .count();
        assert_eq!(missing, 0, "of {} in round {round}", arrived.len());
        assert_eq!(reel.totals().dropped(), 0);
    }
}

#[test]
fn control_c_goes_to_the_program_and_the_reel_is_ended_in_order() {
    let bench = Bench::new();
    let program = bench.compile("threads");
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["record", "--out", text(&bench.out()), "--"])
        .args([text(&program), "1", "100000000"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = std::time::Instant::now();
    while pushed(&bench.out(), "threads") < 1000 {
        assert!(started.elapsed().as_secs() < 120, "the program starts");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(signal(recorder.id(), libc::SIGINT));
    assert_eq!(
        recorder.wait().unwrap().code(),
        Some(128 + 2),
        "the program was ended"
    );
    let reel = bench.reel();
    assert_eq!(reel.ending(), &netreel_reel::Ending::Clean);
    let files = std::fs::read_dir(bench.out()).unwrap();
    assert_eq!(
        files.count(),
        1,
        "the reel, and nothing of the recorder's own"
    );
}

/// How many events a program has pushed, as the first page of its ring file says.
fn pushed(folder: &Path, program: &str) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let rings = entries.map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(program) && name.ends_with(".ring")
    });
    let mut next = [0; 8];
    let file = rings.and_then(|path| std::fs::File::open(path).ok());
    let read = file.and_then(|file| file.read_exact_at(&mut next, 64).ok());
    read.map_or(0, |()| u64::from_le_bytes(next))
}

/// The sum at the end tells what is in the folder, and what was deleted of it.
fn the_sum_is_that_of_the_files(flags: &[&str], command: &[&str]) {
    let bench = Bench::new();
    let program = bench.compile(command[0]);
    let ran = bench.record(flags, &[&[text(&program)], &command[1..]].concat());
    let ran = ran.expect(0);
    let files = std::fs::read_dir(bench.out()).unwrap();
    let sizes: Vec<u64> = files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .collect();
    assert!(sizes.len() > 1, "{sizes:?}");
    let there = bench.reel().counts().values().sum::<u64>();
    let said = ran.err.lines().find(|line| line.contains(" events, "));
    let said = said.unwrap_or_default();
    let bytes = format_bytes(sizes.iter().sum());
    let expected = format!(": {there} events, {bytes} in ");
    assert!(said.contains(&expected), "{expected} in {}", ran.err);
    let deleted = said.split_once("; ").map(|(_, rest)| rest);
    let deleted = deleted.and_then(|rest| rest.split_once(" older ones were deleted"));
    let deleted: u64 = deleted.map_or(0, |(number, _)| number.parse().unwrap());
    let first = records(&bench.reel())[0].as_record().number;
    assert_eq!(deleted, first.0, "those before the first that is there");
}

fn format_bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        _ => format!("{:.1} kB", bytes as f64 / 1e3),
    }
}

#[test]
fn a_recording_that_a_limit_ended_says_which_one() {
    let bench = Bench::new();
    let program = bench.compile("pair");
    let flags = ["--max-size", "64k", "--buffer", "256k"];
    let ran = bench.record(&flags, &[text(&program), "5000"]).expect(0);
    let why = "the reel has ended: it has reached its size of 65536 bytes";
    assert_eq!(ran.err.matches(why).count(), 1, "{}", ran.err);
    assert!(sent(&bench.reel()).len() < 5000);
    let info = netreel(&["info", text(&bench.out())]).expect(0).out;
    assert!(
        info.contains("  ended at its size of 65536 bytes\n"),
        "{info}"
    );
    assert!(!info.contains("complete"), "{info}");
    let note = "the recording ends here: it has reached its size of 65536 bytes";
    for told in [note, "Not covered"] {
        assert_eq!(info.matches(told).count(), 1, "{info}");
    }
    let info = netreel(&["info", text(&bench.out()), "--json"])
        .expect(0)
        .json();
    let node = &info["nodes"][0];
    assert_eq!(node["limit"], "it has reached its size of 65536 bytes");
    let notes = node["notes"].as_array().unwrap();
    assert!(notes.contains(&note.into()), "{notes:?}");
}

#[test]
fn the_sum_of_a_recording_in_ring_mode_counts_all_its_parts() {
    let flags = ["--ring", "5", "--rotate-size", "64k"];
    the_sum_is_that_of_the_files(&flags, &["pair", "5000"]);
}

#[test]
fn the_sum_of_a_recording_that_deletes_its_oldest_files_says_how_much_is_gone() {
    the_sum_is_that_of_the_files(&["--keep-size", "128k"], &["pair", "5000"]);
}

#[test]
fn a_forked_child_and_what_it_becomes_have_reels_of_their_own() {
    let bench = Bench::new();
    let (children, pair) = (bench.compile("children"), bench.compile("pair"));
    bench
        .record(&[], &[text(&children), text(&pair), "3"])
        .expect(0);
    let reels = bench.reels();
    let words: Vec<(String, Vec<String>)> = reels
        .iter()
        .filter(|(name, _)| name == "children")
        .map(|(name, reel)| {
            let words = sent(reel);
            let words = words
                .iter()
                .map(|word| String::from_utf8_lossy(word).into());
            (name.clone(), words.collect())
        })
        .collect();
    let said: Vec<String> = words
        .into_iter()
        .map(|(_, words)| words.join(" "))
        .collect();
    assert!(said.contains(&"before parent".to_owned()), "{said:?}");
    assert!(said.contains(&"child".to_owned()), "{said:?}");
    let became = reels.iter().find(|(name, _)| name == "pair").unwrap();
    assert_eq!(count(&became.1, EventKind::Sent), 3);
}

#[test]
fn programs_of_one_recording_that_never_met_open_together_and_a_second_recording_is_named() {
    let bench = Bench::new();
    let pair = bench.compile("pair");
    let both = format!("{0} 10 & {0} 10; wait", text(&pair));
    let first = bench.record(&[], &["sh", "-c", &both]).expect(0);
    assert!(!first.err.contains("recordings"), "{}", first.err);
    let info = netreel(&["info", text(&bench.out()), "--json"]).expect(0);
    assert_eq!(info.json()["nodes"].as_array().map(Vec::len), Some(2));
    assert!(info.err.contains("from the same session"), "{}", info.err);
    // What both reels say is said once.
    let info = netreel(&["info", text(&bench.out())]).expect(0);
    assert_eq!(info.out.matches("Not covered").count(), 1, "{}", info.out);

    let second = bench.record(&[], &[text(&pair), "10"]).expect(0);
    let warnings = second.err.matches("then holds two recordings").count();
    assert_eq!(warnings, 1, "{}", second.err);
    let apart = netreel(&["info", text(&bench.out())]).expect(2);
    assert!(apart.err.contains("these nodes never met"), "{}", apart.err);
}

#[test]
fn children_are_left_alone_where_that_is_wanted() {
    let bench = Bench::new();
    let (children, pair) = (bench.compile("children"), bench.compile("pair"));
    let flags = ["--no-children"];
    let ran = bench.record(&flags, &[text(&children), text(&pair), "3"]);
    let ran = ran.expect(0);
    assert!(
        ran.err.contains("2 child processes were not followed"),
        "{}",
        ran.out
    );
    let reel = bench.reel();
    assert_eq!(sent(&reel), [b"before".to_vec(), b"parent".to_vec()]);
    assert_eq!(calls(&reel)["fork"], 1);
}

#[test]
fn hundreds_of_threads_that_begin_at_once_are_recorded_or_named() {
    let bench = Bench::new();
    let program = bench.compile("crowd");
    let flags = ["--buffer", "256k"];
    let command = ["timeout", "-k", "1", "60", text(&program)];
    bench
        .record(&flags, &[&command[..], &["128"]].concat())
        .expect(0);
    let all = |bench: &Bench| {
        bench
            .reels()
            .iter()
            .map(|(_, reel)| sent(reel).len())
            .sum::<usize>()
    };
    assert_eq!(all(&bench), 384);
    std::fs::remove_dir_all(bench.out()).unwrap();

    let ran = bench
        .record(&flags, &[&command[..], &["300"]].concat())
        .expect(1);
    assert!(ran.err.contains("are recorded at a time"), "{}", ran.err);
    let dropped: u64 = bench
        .reels()
        .iter()
        .map(|(_, reel)| reel.totals().dropped())
        .sum();
    assert_eq!(all(&bench) as u64 + dropped, 900);
}

#[test]
fn more_threads_than_can_be_told_apart_are_named() {
    let bench = Bench::new();
    let program = bench.compile("crowd");
    let command = ["timeout", "-k", "1", "60", text(&program), "1100"];
    let ran = bench.record(&["--buffer", "256k"], &command).expect(1);
    assert!(ran.err.contains("more than 1024 threads"), "{}", ran.err);
}

/// Records `tests/programs/odd.c` doing `what`: it goes as without a recorder.
fn odd(what: &str, code: i32) -> (Bench, support::Ran) {
    let bench = Bench::new();
    let program = bench.compile("odd");
    let command = ["timeout", "-k", "1", "60", text(&program), what];
    let ran = bench.record(&[], &command).expect(code);
    assert!(ran.out.contains("ok\n"), "{} {}", ran.out, ran.err);
    (bench, ran)
}

fn reel_of(bench: &Bench, program: &str) -> Arc<Reel> {
    let mut reels = bench.reels().into_iter();
    let found = reels.find(|(name, _)| name == program);
    found.expect("its reel").1
}

#[test]
fn a_descriptor_that_was_a_socket_is_read_as_what_it_is_now() {
    // That it was also opened as a stream is named.
    odd("closed", 1);
}

#[test]
fn what_a_child_of_vfork_does_with_descriptors_is_not_its_parents() {
    odd("borrowed", 0);
}

#[test]
fn a_thread_with_the_smallest_stack_may_send_and_receive_in_batches() {
    odd("small", 0);
}

#[test]
fn a_batch_of_a_hundred_packets_is_recorded_packet_by_packet() {
    let (bench, _) = odd("batch", 0);
    let reel = reel_of(&bench, "odd");
    let expected: Vec<Vec<u8>> = (0..100u32).map(|at| at.to_le_bytes().into()).collect();
    assert_eq!(sent(&reel), expected);
    assert_eq!(count(&reel, EventKind::Received), 100);
}

#[test]
fn reads_and_writes_by_the_number_of_the_call_are_recorded() {
    let (bench, _) = odd("numbers", 0);
    let reel = reel_of(&bench, "odd");
    assert_eq!(count(&reel, EventKind::Sent), 1);
    assert_eq!(count(&reel, EventKind::Received), 1);
    assert_eq!(calls(&reel)["close"], 1);
}

#[test]
fn a_sender_whose_address_was_cut_is_not_made_up() {
    let (bench, _) = odd("address", 0);
    let mut senders = Vec::new();
    reel_of(&bench, "odd").for_each(|record| {
        if let Event::Received { from, .. } = record.event {
            senders.push(from.to_string());
        }
    });
    assert_eq!(senders, ["0.0.0.0:0"]);
}

#[test]
fn what_a_raw_socket_gets_are_no_packets_of_the_program() {
    let (bench, _) = odd("raw", 0);
    let reel = reel_of(&bench, "odd");
    assert_eq!(sent(&reel), [b"out"]);
    assert_eq!(count(&reel, EventKind::Received), 0);
}

#[test]
fn what_goes_through_a_stream_of_c_is_named_as_not_recorded() {
    let (_, ran) = odd("stream", 1);
    assert!(
        ran.err.contains("as a stream of the C library"),
        "{}",
        ran.err
    );
}
