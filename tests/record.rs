//! `netreel record` on programs that know nothing of it.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use netreel_reel::{CallId, Event, EventKind, OwnedRecord, Reel};
use support::{Ran, netreel};

/// A folder for one test, with its programs.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Bench {
        Bench(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn out(&self) -> PathBuf {
        self.at("out")
    }

    /// Compiles one of `tests/programs`; `None`, with a word, where this machine cannot.
    fn compile_with(&self, name: &str, compiler: &str, flags: &[&str]) -> Option<PathBuf> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let program = self.at(name);
        let compiled = Command::new(compiler)
            .args(["-O2", "-w", "-D_FORTIFY_SOURCE=2"])
            .arg("-o")
            .arg(&program)
            .arg(source.join(format!("{name}.c")))
            .args(flags)
            .output();
        match compiled {
            Ok(output) if output.status.success() => Some(program),
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                println!("skipped: {compiler} {flags:?} cannot compile {name}.c: {why}");
                None
            }
            Err(error) => {
                println!("skipped: {compiler}: {error}");
                None
            }
        }
    }

    fn compile(&self, name: &str) -> PathBuf {
        self.compile_with(name, "cc", &["-lpthread"])
            .expect("the C compiler that Rust links with compiles this")
    }

    /// Runs `netreel record` with `flags` on `command`.
    fn record(&self, flags: &[&str], command: &[&str]) -> Ran {
        let out = self.out();
        let mut arguments = vec!["record", "--out", out.to_str().unwrap()];
        arguments.extend(flags);
        arguments.push("--");
        arguments.extend(command);
        netreel(&arguments)
    }

    /// The reels, by name without the process id, in the order of their names.
    fn reels(&self) -> Vec<(String, Arc<Reel>)> {
        let session = netreel_capture::open_session(&[self.out()]).unwrap();
        let named = session.reels.into_iter().map(|opened| {
            let name = opened.reel.header().node.clone();
            let name = name.split('.').next().unwrap_or_default().to_owned();
            (name, opened.reel)
        });
        named.collect()
    }

    fn reel(&self) -> Arc<Reel> {
        let mut reels = self.reels();
        assert_eq!(reels.len(), 1, "one process, one reel");
        reels.remove(0).1
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn records(reel: &Reel) -> Vec<OwnedRecord> {
    let mut records = Vec::new();
    let walk = reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
    assert!(walk.damaged.is_empty());
    records
}

fn count(reel: &Reel, kind: EventKind) -> u64 {
    reel.counts().get(&kind).copied().unwrap_or(0)
}

fn calls(reel: &Reel) -> BTreeMap<&'static str, u64> {
    let mut calls = BTreeMap::new();
    reel.for_each(|record| {
        if let Event::Called { call, .. } = record.event {
            *calls.entry(call.name()).or_default() += 1;
        }
    });
    calls
}

fn sent(reel: &Reel) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    reel.for_each(|record| {
        if let Event::Sent { payload, .. } = record.event {
            payloads.push(payload.to_vec());
        }
    });
    payloads
}

fn notes(reel: &Reel) -> String {
    let mut notes = String::new();
    reel.for_each(|record| {
        if let Event::Note { text } = record.event {
            notes.push_str(&String::from_utf8_lossy(text));
            notes.push('\n');
        }
    });
    notes
}

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
fn a_program_that_is_killed_loses_nothing_that_it_sent() {
    for _ in 0..10 {
        let bench = Bench::new();
        let program = bench.compile("threads");
        let ran = bench.record(&[], &[text(&program), "1", "5000", "deadly"]);
        let ran = ran.expect(1);
        assert!(ran.out.contains("was ended by signal 9"), "{}", ran.out);
        let reel = bench.reel();
        assert_eq!(sent(&reel).len(), 1001, "up to the one before the kill");
    }
}

#[test]
fn a_recorder_that_is_killed_loses_nothing_and_does_not_hold_the_program_up() {
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
    let started = std::time::Instant::now();
    while pushed(&bench.out(), "pair") < 1000 {
        assert!(started.elapsed().as_secs() < 20, "the program starts");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    while !std::fs::read_to_string(&done).is_ok_and(|text| text.contains("done")) {
        assert!(
            started.elapsed().as_secs() < 20,
            "the program ends by itself"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pair = bench.reels().into_iter().find(|(name, _)| name == "pair");
    let (_, reel) = pair.unwrap();
    assert_eq!(count(&reel, EventKind::Received), 5000);
    assert!(reel.gaps().is_empty());
}

/// Kills the program, or the recorder and then the program, at any moment: whatever has arrived at
/// a socket outside is in the reel, because a send is pushed before it is made.
#[test]
fn whatever_was_sent_before_a_kill_at_any_moment_is_in_the_reel() {
    let rounds = std::env::var("NETREEL_KILLS").ok();
    let rounds: u64 = rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(20);
    for round in 0..rounds {
        let bench = Bench::new();
        let program = bench.compile("threads");
        let sink = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = sink.local_addr().unwrap().port().to_string();
        let mut recorder = Command::new(env!("CARGO_BIN_EXE_netreel"))
            .args(["record", "--out", text(&bench.out()), "--"])
            .args([text(&program), "3", "100000000", "-", &port])
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
                name.strip_prefix("threads.")?
                    .strip_suffix(".reel")
                    .map(str::to_owned)
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
        assert!(
            Command::new("kill")
                .args(["-9", &pid])
                .status()
                .unwrap()
                .success()
        );
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
        assert!(started.elapsed().as_secs() < 20, "the program starts");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let pid = recorder.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(
        recorder.wait().unwrap().code(),
        Some(1),
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

#[test]
fn a_full_disk_keeps_the_program_from_starting_and_says_so() {
    let bench = Bench::new();
    let program = bench.compile("pair");
    let disk = bench.at("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs", text(&disk)])
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("skipped: only root can mount a small disk");
        return;
    }
    let out = disk.join("out");
    let ran = netreel(&["record", "--out", text(&out), "--", text(&program), "3"]);
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.unwrap().success());
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    assert!(ran.err.contains("No space left on device"), "{}", ran.err);
}

/// How many events a program has pushed, as the first page of its ring file says.
fn pushed(folder: &Path, program: &str) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let rings = entries.map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(program) && name.ends_with(".ring")
    });
    let bytes = rings.and_then(|path| std::fs::read(path).ok());
    let next = bytes.and_then(|bytes| bytes.get(64..72)?.try_into().ok());
    next.map_or(0, u64::from_le_bytes)
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
fn children_are_left_alone_where_that_is_wanted() {
    let bench = Bench::new();
    let (children, pair) = (bench.compile("children"), bench.compile("pair"));
    let flags = ["--no-children"];
    let ran = bench.record(&flags, &[text(&children), text(&pair), "3"]);
    let ran = ran.expect(0);
    assert!(
        ran.out.contains("2 child processes were not followed"),
        "{}",
        ran.out
    );
    let reel = bench.reel();
    assert_eq!(sent(&reel), [b"before".to_vec(), b"parent".to_vec()]);
    assert_eq!(calls(&reel)["fork"], 1);
}

/// A gap is a line on the error output, a note in the reel, and exit code 1.
#[track_caller]
fn check_gap(bench: &Bench, command: &[&str], sentence: &str) {
    let ran = bench.record(&[], command).expect(1);
    assert!(ran.err.contains(sentence), "{}", ran.err);
    let notes: String = bench.reels().iter().map(|(_, reel)| notes(reel)).collect();
    let last = sentence.split(": ").last().unwrap();
    assert!(notes.contains(last), "{last:?} in {notes}");
}

#[test]
fn system_calls_past_the_c_library_are_named() {
    let bench = Bench::new();
    let raw = bench.compile("raw");
    check_gap(
        &bench,
        &[text(&raw), "5"],
        "calls sendto past the C library",
    );
    let reel = bench.reel();
    assert_eq!(sent(&reel), [b"seen".to_vec()]);
    assert!(notes(&reel).contains("system calls past the recorder: sendto 5 times"));
}

#[test]
fn a_look_for_the_kernels_own_library_is_named() {
    let bench = Bench::new();
    let vdso = bench.compile("vdso");
    check_gap(
        &bench,
        &[text(&vdso)],
        "it looks for the kernel's own library",
    );
}

#[test]
fn an_io_uring_is_named() {
    let bench = Bench::new();
    let uring = bench.compile("uring");
    if Command::new(&uring).status().unwrap().code() == Some(77) {
        println!("skipped: this kernel makes no io_uring");
        return;
    }
    check_gap(&bench, &[text(&uring)], "it uses io_uring");
}

#[test]
fn a_child_that_escapes_is_named() {
    let bench = Bench::new();
    let children = bench.compile("children");
    let flags = ["-static"];
    let Some(pair) = bench.compile_with("pair", "cc", &flags) else {
        return;
    };
    let ran = bench
        .record(&[], &[text(&children), text(&pair), "3"])
        .expect(1);
    assert!(
        ran.err.contains("is not recorded: it is statically linked"),
        "{}",
        ran.err
    );
}

#[test]
fn a_child_that_escapes_by_a_call_without_a_hook_is_named() {
    let bench = Bench::new();
    let children = bench.compile("children");
    let Some(idle) = bench.compile_with("idle", "cc", &["-static"]) else {
        return;
    };
    let command = [text(&children), "quietly", text(&idle), "1800"];
    check_gap(&bench, &command, "into which the recorder was not loaded");
}

#[test]
fn a_short_lived_child_that_escapes_is_named_however_its_arguments_were_listed() {
    let bench = Bench::new();
    let children = bench.compile("children");
    let Some(idle) = bench.compile_with("idle", "cc", &["-static"]) else {
        return;
    };
    for call in ["execl", "execlp", "execle"] {
        let command = [text(&children), call, text(&idle), "0"];
        check_gap(&bench, &command, "is statically linked");
        std::fs::remove_dir_all(bench.out()).unwrap();
    }
}

#[test]
fn arguments_listed_in_the_call_reach_the_program() {
    let bench = Bench::new();
    let children = bench.compile("children");
    for call in ["execl", "execle"] {
        let ran = bench.record(&[], &[text(&children), call, "/bin/echo", "b"]);
        assert_eq!(ran.expect(0).out.lines().next(), Some("b c d e f g h"));
        std::fs::remove_dir_all(bench.out()).unwrap();
    }
}

#[test]
fn a_child_whose_environment_was_cleaned_is_named() {
    let bench = Bench::new();
    let (children, pair) = (bench.compile("children"), bench.compile("pair"));
    let ran = bench
        .record(&[], &[text(&children), "clean", text(&pair), "3"])
        .expect(1);
    let sentence = "is not recorded: its environment was cleaned of the recorder";
    assert!(ran.err.contains(sentence), "{}", ran.err);
}

/// A program that would escape is refused before it starts, and leaves no folder behind.
#[track_caller]
fn check_refused(bench: &Bench, program: &Path, sentence: &str) {
    let ran = bench.record(&[], &[text(program)]).expect(2);
    assert!(ran.err.contains(sentence), "{}", ran.err);
    assert!(!bench.out().exists(), "nothing was made");
}

#[test]
fn a_static_program_is_refused() {
    let bench = Bench::new();
    if let Some(program) = bench.compile_with("pair", "cc", &["-static"]) {
        check_refused(&bench, &program, "it is statically linked");
    }
}

#[test]
fn a_musl_program_is_refused() {
    let bench = Bench::new();
    if let Some(program) = bench.compile_with("pair", "musl-gcc", &[]) {
        check_refused(&bench, &program, "it runs on musl");
    }
}

#[test]
fn a_setuid_program_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let program = bench.compile("pair");
    if std::os::unix::fs::chown(&program, Some(65_534), None).is_err() {
        println!("skipped: only root can give a file away");
        return;
    }
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).unwrap();
    check_refused(&bench, &program, "setuid");
}

/// The program `pair` with some of its bytes changed.
fn changed(bench: &Bench, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let program = bench.compile("pair");
    let mut bytes = std::fs::read(&program).unwrap();
    change(&mut bytes);
    std::fs::write(&program, bytes).unwrap();
    program
}

#[test]
fn a_32_bit_program_is_refused() {
    let bench = Bench::new();
    let program = changed(&bench, |bytes| bytes[4] = 1);
    check_refused(&bench, &program, "it is a 32-bit program");
}

#[test]
fn a_program_for_another_processor_is_refused() {
    let bench = Bench::new();
    let program = changed(&bench, |bytes| bytes[18] = 8);
    check_refused(&bench, &program, "another processor");
}

#[test]
fn a_go_program_is_refused() {
    let bench = Bench::new();
    let program = changed(&bench, |bytes| {
        // A dynamically linked Go program is an ELF file like others, but for two sections.
        let name = b".note.gnu.build-id\0";
        let at = bytes.windows(name.len()).position(|part| part == name);
        bytes[at.unwrap()..][..18].copy_from_slice(b".note.go.buildid\0\0");
    });
    check_refused(&bench, &program, "it is a Go program");
}

#[test]
fn what_is_no_program_is_refused() {
    let bench = Bench::new();
    let program = changed(&bench, |bytes| bytes[..4].copy_from_slice(b"text"));
    check_refused(&bench, &program, "neither an ELF program nor a script");
    std::fs::remove_file(&program).unwrap();
    check_refused(&bench, &program, "no program of this name");
}

#[test]
fn a_script_is_recorded_through_its_interpreter() {
    let bench = Bench::new();
    let program = bench.compile("pair");
    let script = bench.at("script");
    std::fs::write(&script, format!("#!/bin/sh\n{} 3\n", text(&program))).unwrap();
    std::fs::set_permissions(&script, std::fs::metadata(&program).unwrap().permissions()).unwrap();
    bench.record(&[], &[text(&script)]).expect(0);
    let reels = bench.reels();
    let pair = reels.iter().find(|(name, _)| name == "pair").unwrap();
    assert_eq!(count(&pair.1, EventKind::Sent), 3);
}
