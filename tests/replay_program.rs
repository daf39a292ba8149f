//! Programs that know nothing of netreel, recorded and started again: `netreel replay -- CMD`.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use netreel_reel::{CallId, Event, OwnedRecord};
use support::netreel;
use support::programs::{Bench, drawn, records, renumbered, replay, text, with_event, write};

#[test]
fn programs_in_c_are_exact() {
    for (name, arguments) in [
        ("pair", vec!["100"]),
        ("every", vec![]),
        ("digest", vec!["30"]),
        ("burst", vec!["20"]),
    ] {
        let bench = Bench::new();
        let program = bench.compile(name);
        let mut command = vec![text(&program)];
        command.extend(&arguments);
        bench.record_plainly(&[], &command);
        bench.expect_exact(&command);
    }
}

#[test]
fn a_program_that_uses_enet_is_exact() {
    let bench = Bench::new();
    let Some(program) = bench.compile_with("enet", "cc", &["-lenet"]) else {
        return;
    };
    let port = support::free_port().to_string();
    let server = [text(&program), "server", &port, "20"];
    let client = [text(&program), "client", &port, "20"];
    let out = bench.out();
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["record", "--out", text(&out), "--name", "SERVER", "--"])
        .args(server)
        .spawn()
        .unwrap();
    bench
        .record_plainly(&["--name", "CLIENT"], &client)
        .expect(0);
    assert!(support::ended(&mut recorder).success());
    for (node, command) in [("SERVER", server), ("CLIENT", client)] {
        let ran = bench.again(&["--node", node], &command).expect(0);
        assert!(ran.out.contains(": exact, "), "{}", ran.out);
    }
}

/// Records a program that prints a line when it is ready, and is sent a signal then.
fn record_until(out: &Path, command: &[&str], signal: i32) {
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["record", "--out", text(out), "--"])
        .args(command)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 6];
    let mut said = recorder.stdout.take().unwrap();
    std::io::Read::read_exact(&mut said, &mut line).unwrap();
    support::signal(recorder.id(), signal);
    support::ended(&mut recorder);
}

#[test]
fn a_server_that_is_asked_to_end_says_farewell_again() {
    let bench = Bench::new();
    let program = bench.compile("farewell");
    let (out, command) = (bench.out(), [text(&program)]);
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let _ = std::fs::remove_dir_all(&out);
        record_until(&out, &command, signal);
        let sent = support::programs::sent(&bench.reel());
        assert_eq!(sent.last().unwrap(), b"farewell");
        bench.expect_exact(&command);
    }
}

#[test]
fn a_signal_amid_what_a_program_computes_is_named_where_its_handler_does_something_else() {
    let bench = Bench::new();
    let program = bench.compile("amid");
    let command = [text(&program)];
    let out = bench.out();
    record_until(&out, &command, libc::SIGTERM);
    let reel = bench.reel();
    let mut at = None;
    reel.for_each(|it| {
        if matches!(it.event, Event::Called { call, .. } if call == CallId::SIGNAL) {
            at = Some(it.number);
        }
    });
    let told = bench.again(&[], &command).expect(1).out;
    let reason = format!(
        "maybe because signal 15 came at event {}, and its handler ran amid",
        at.expect("a signal")
    );
    assert!(told.contains(&reason), "{told}");
    assert!(
        !told.contains("something differs that is not in a reel"),
        "{told}"
    );
}

/// Python itself, not a script that looks for it.
fn python() -> Option<PathBuf> {
    let asked = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let path = asked
        .ok()
        .map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
    let path = path.filter(|path| !path.is_empty()).map(PathBuf::from);
    if path.is_none() {
        support::skipped("there is no python3 here");
    }
    path
}

#[test]
fn an_asyncio_server_and_its_client_are_exact() {
    let Some(python) = python() else { return };
    let bench = Bench::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/asyncio_echo.py");
    let server = [text(&python), text(&script), "server", "20"];
    let (out, port) = (bench.out(), bench.at("port"));
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["record", "--out", text(&out), "--name", "SERVER", "--"])
        .args(server)
        .stdout(std::fs::File::create(&port).unwrap())
        .spawn()
        .unwrap();
    let port = loop {
        let text = std::fs::read_to_string(&port).unwrap();
        if text.ends_with('\n') {
            break text.trim().to_owned();
        }
        assert!(
            recorder.try_wait().unwrap().is_none(),
            "the server has begun"
        );
        std::thread::sleep(Duration::from_millis(10));
    };
    // Whatever finds Python: a script, as often as not.
    let client = ["python3", text(&script), "client", "20", &port];
    bench
        .record_plainly(&["--name", "CLIENT"], &client)
        .expect(0);
    assert!(support::ended(&mut recorder).success());
    for (node, command) in [("SERVER", &server[..]), ("CLIENT", &client[..])] {
        let ran = bench.again(&["--node", node], command).expect(0);
        assert!(
            ran.out.contains("exact, 20 of 20 sends equal"),
            "{}",
            ran.out
        );
    }
    // Whoever starts the replay ignores the signal that Python takes for Ctrl-C; a reel of an older
    // netreel does not say what the program ignored.
    let told = replayed_under_a_trap(&bench.out(), "SERVER", &server);
    assert!(told.contains("exact, 20 of 20 sends equal"), "{told}");
    let (old, reels) = (bench.at("old"), bench.reels());
    std::fs::create_dir(&old).unwrap();
    let (_, reel) = reels.iter().find(|(name, _)| name == "SERVER").unwrap();
    let mut all = records(reel);
    for it in &mut all {
        let record = it.as_record();
        if let Event::Called {
            call: CallId::START,
            details: [8, ..],
            result,
        } = record.event
        {
            let (call, details) = (CallId::START, &[255][..]);
            let event = Event::Called {
                call,
                result,
                details,
            };
            *it = with_event(&record, event);
        }
    }
    write(&old.join("SERVER.reel"), reel, &all);
    let told = replayed_under_a_trap(&old, "SERVER", &server);
    assert!(told.contains("exact, 20 of 20 sends equal"), "{told}");
}

/// What a replay says that was started by a shell which ignores SIGINT.
fn replayed_under_a_trap(reels: &Path, node: &str, command: &[&str]) -> String {
    let ran = Command::new("sh")
        .args(["-c", "trap '' INT; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_netreel"))
        .args(["replay", text(reels), "--node", node, "--"])
        .args(command)
        .output();
    String::from_utf8_lossy(&ran.unwrap().stdout).into_owned()
}

#[test]
fn a_worker_that_takes_jobs_from_a_queue_is_exact_beside_a_thread_without_packets() {
    for _ in 0..5 {
        let bench = Bench::new();
        let program = bench.compile("queue");
        let command = [text(&program), "300"];
        bench.record(&[], &command).expect(0);
        bench.expect_exact(&command);
    }
}

#[test]
fn nothing_is_sent_in_a_replay() {
    let bench = Bench::new();
    let program = bench.compile("pair");
    let command = [text(&program), "50"];
    bench.record(&[], &command).expect(0);
    let reel = bench.reel();
    let mut to = None;
    reel.for_each(|record| {
        if let Event::Sent { to: endpoint, .. } = record.event {
            to = Some(endpoint);
        }
    });
    // Nobody holds the port now but this test.
    let there = std::net::UdpSocket::bind(to.unwrap()).unwrap();
    there.set_nonblocking(true).unwrap();
    bench.expect_exact(&command);
    let heard = there.recv(&mut [0; 100]);
    assert!(heard.is_err(), "nothing came: {heard:?}");
}

#[test]
fn a_file_that_differs_is_a_divergence_at_the_first_packet_with_the_byte() {
    let bench = Bench::new();
    let program = bench.compile("digest");
    let file = bench.at("line");
    std::fs::write(&file, "as it was\n").unwrap();
    let command = [text(&program), "5", text(&file)];
    bench.record(&[], &command).expect(0);
    bench.expect_exact(&command);
    std::fs::write(&file, "as it is\n").unwrap();
    let first = records(&bench.reel())
        .into_iter()
        .find(|record| matches!(record.as_record().event, Event::Sent { .. }));
    let first = first.unwrap().as_record().number;
    let ran = bench.again(&["--json"], &command).expect(1);
    let told = ran.json();
    assert_eq!(told["result"], "divergence");
    assert_eq!(told["divergence"]["event"], first.0);
    assert_eq!(told["divergence"]["field"]["path"], "byte 0");
    assert_eq!(told["sends"], 0);
    let shown = bench.again(&[], &command).expect(1).out;
    assert!(shown.contains("first difference: byte 0"), "{shown}");
    // What the C library does to find `localhost` is not done again.
    assert!(shown.contains("it looked a name up until event"), "{shown}");
}

#[test]
fn another_program_other_arguments_and_older_reels_are_refused_at_once() {
    let bench = Bench::new();
    let (program, other) = (bench.compile("pair"), bench.compile("digest"));
    bench.record(&[], &[text(&program), "5"]).expect(0);
    let told = |command: &[&str]| bench.again(&[], command).expect(2).err;
    assert!(told(&[text(&program), "6"]).contains("other arguments"));
    assert!(told(&[text(&program)]).contains("other arguments"));
    let another = told(&[text(&other), "5"]);
    assert!(another.contains("another program") && another.contains(text(&program)));
    assert!(told(&["/no/such/program", "5"]).contains("can be found"));
    let kept = std::fs::read(&program).unwrap();
    std::fs::write(&program, std::fs::read(&other).unwrap()).unwrap();
    let changed = told(&[text(&program), "5"]);
    assert!(changed.contains("was changed since"), "{changed}");
    std::fs::write(&program, kept).unwrap();
    let old = bench.at("old");
    std::fs::create_dir(&old).unwrap();
    let mut all = records(&bench.reel());
    all.retain(|it| {
        !matches!(
            it.as_record().event,
            Event::Called {
                call: CallId::START,
                ..
            }
        )
    });
    write(&old.join("pair.reel"), &bench.reel(), &all);
    let ran = replay(&old, &[], &[text(&program), "5"]).expect(2);
    assert!(
        ran.err.contains("does not say how the program was started"),
        "{}",
        ran.err
    );
}

/// A script that becomes `program` in a folder and an environment of its own.
fn launcher(bench: &Bench, program: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let script = bench.at("launch it.sh");
    let (program, folder) = (text(program), text(&bench.at("")).to_owned());
    let lines = format!("#!/bin/sh\ncd {folder}\nWHO=launcher exec {program} \"$@\" more\n");
    std::fs::write(&script, lines).unwrap();
    let rights = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&script, rights).unwrap();
    script
}

#[test]
fn what_a_launcher_became_is_started_again_by_the_launchers_command_or_by_none() {
    let bench = Bench::new();
    let program = bench.compile("pair");
    let script = launcher(&bench, &program);
    let command = [text(&script), "5"];
    bench
        .record_plainly(&["--name", "PAIR"], &command)
        .expect(0);
    bench.expect_exact(&command);
    bench.expect_exact(&[text(&program), "5", "more"]);
    bench.expect_exact(&[]);
    let told = bench.again(&[], &[]).expect(0).err;
    assert!(
        told.contains(&format!(
            "starts again, in {}",
            text(&bench.at("")).trim_end_matches('/')
        )),
        "{told}"
    );
    assert!(
        told.contains(&format!("{} 5 more", text(&program))),
        "{told}"
    );
    // Whatever is wrong, the command that is right can be copied.
    let out = bench.out();
    let again = format!("netreel replay {} --node PAIR --\n", text(&out));
    let wrongs = [
        bench.again(&[], &[text(&script), "6"]).expect(2).err,
        bench.again(&[], &[text(&program), "5"]).expect(2).err,
        netreel(&["replay", text(&out)]).expect(2).err,
        netreel(&["replay", text(&out), "--until", "event 5"])
            .expect(2)
            .err,
    ];
    for told in wrongs {
        assert!(told.ends_with(&again), "{told}");
    }
    for (option, flags) in [
        ("--threads", &["--threads", "packets"][..]),
        ("--no-log", &["--no-log"]),
    ] {
        let told = netreel(&[&["replay", text(&out)], flags].concat())
            .expect(2)
            .err;
        assert!(
            told.contains(&format!("{option}: it is about a program")),
            "{told}"
        );
        bench.again(flags, &[]).expect(0);
    }
    let told = bench.again(&["--from", "0.1s"], &[]).expect(2).err;
    assert!(told.contains("--from: a program behind `--`"), "{told}");
    std::fs::write(&script, "#!/bin/sh\nexec another\n").unwrap();
    let told = bench.again(&[], &command).expect(2).err;
    assert!(
        told.contains("is another file than when it was recorded") && told.ends_with(&again),
        "{told}"
    );
    bench.expect_exact(&[]);
    std::fs::remove_file(&program).unwrap();
    let told = bench.again(&[], &[]).expect(2).err;
    assert!(told.contains("or is gone"), "{told}");
}

#[test]
fn a_program_that_is_no_launchers_does_not_tell_of_one() {
    let bench = Bench::new();
    let program = bench.compile("pair");
    bench.record(&[], &[text(&program), "5"]).expect(0);
    let began = netreel_replay::program::Began::of(&bench.reel()).unwrap();
    assert_eq!(began.launched, None);
}

#[test]
fn a_program_without_a_udp_socket_is_refused() {
    let bench = Bench::new();
    let program = bench.compile("draws");
    bench.record_plainly(&[], &[text(&program)]).expect(0);
    let ran = bench.again(&[], &[text(&program)]).expect(2);
    assert!(ran.err.contains("used no UDP socket"), "{}", ran.err);
}

/// Whether the program is answered by this event, or compared with it. The others may be as they
/// like.
fn matters(event: &Event<'_>) -> bool {
    match event {
        Event::Sent { .. } | Event::Received { .. } | Event::ClockRead { .. } => true,
        Event::PollEmpty { .. } => true,
        Event::Called { call, .. } => matches!(
            *call,
            CallId::RANDOM | CallId::POLL | CallId::SELECT | CallId::EPOLL_WAIT | CallId::OWN_NAME
        ),
        _ => false,
    }
}

/// Changes one thing in a recording; what was changed, in words. `None`: there was nothing to
/// change at this place.
fn corrupt(
    records: &mut Vec<OwnedRecord>,
    seed: u64,
    (first, last): (usize, usize),
) -> Option<String> {
    let at = first + drawn(seed) as usize % (last - first);
    let way = drawn(seed ^ 0xff) % 4;
    let record = records.get(at)?.as_record();
    let number = record.number;
    if !matters(&record.event) {
        return None;
    }
    if way == 0 {
        records.remove(at);
        return Some(format!("event {number} is gone"));
    }
    if way == 1 {
        let next = records.get(at + 1)?.as_record();
        let (first, second) = (record.event.kind(), next.event.kind());
        if first == second || !matters(&next.event) {
            return None;
        }
        let (a, b) = (renumbered(&next, number), renumbered(&record, next.number));
        (records[at], records[at + 1]) = (a, b);
        return Some(format!("event {number} and the next one are exchanged"));
    }
    let flip = drawn(seed ^ 0xabc);
    let event = match record.event {
        Event::Sent { payload, .. } | Event::Received { payload, .. } if payload.is_empty() => {
            return None;
        }
        Event::ClockRead { clock, value } => Event::ClockRead {
            clock,
            value: value + 1_000_000 * (1 + flip % 20),
        },
        Event::Sent {
            socket,
            to,
            payload,
        } => {
            let payload = flipped(payload, flip);
            return replaced(
                records,
                at,
                &Event::Sent {
                    socket,
                    to,
                    payload: &payload,
                },
            );
        }
        Event::Received {
            socket,
            from,
            payload,
        } => {
            let payload = flipped(payload, flip);
            return replaced(
                records,
                at,
                &Event::Received {
                    socket,
                    from,
                    payload: &payload,
                },
            );
        }
        Event::Called {
            call,
            result,
            details,
        } if call == CallId::RANDOM => {
            let mut details = details.to_vec();
            let last = details.len() - 1;
            details[last] ^= 1 << (flip % 8);
            return replaced(
                records,
                at,
                &Event::Called {
                    call,
                    result,
                    details: &details,
                },
            );
        }
        _ => return None,
    };
    let copy = with_event(&record, event);
    records[at] = copy;
    Some(format!("event {number} says something else"))
}

fn flipped(payload: &[u8], flip: u64) -> Vec<u8> {
    let mut payload = payload.to_vec();
    // The first bytes are what the program reads of it.
    let at = flip as usize % payload.len();
    payload[at] ^= 1 << (flip >> 32 & 7);
    payload
}

fn replaced(records: &mut [OwnedRecord], at: usize, event: &Event<'_>) -> Option<String> {
    let copy = with_event(&records[at].as_record(), *event);
    records[at] = copy;
    Some(format!("event {at} has another byte"))
}

#[test]
fn two_hundred_corrupted_reels_are_never_exact_and_never_hang() {
    let bench = Bench::new();
    let program = bench.compile("digest");
    let command = [text(&program), "12"];
    bench.record(&[], &command).expect(0);
    bench.expect_exact(&command);
    let reel = bench.reel();
    let all = records(&reel);
    let is_sent = |it: &OwnedRecord| matches!(it.as_record().event, Event::Sent { .. });
    let last = all.iter().rposition(is_sent).unwrap();
    // What comes before is partly the C library's, which looks a name up.
    let is_bound = |it: &OwnedRecord| matches!(it.as_record().event, Event::Called { call, .. } if call == CallId::OWN_NAME);
    let first = all.iter().position(is_bound).unwrap() + 1;
    let folder = bench.at("corrupted");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("digest.reel");
    let (mut done, mut seed) = (0, 0);
    while done < 200 {
        seed += 1;
        let mut records = all.clone();
        let Some(what) = corrupt(&mut records, seed, (first, last)) else {
            continue;
        };
        done += 1;
        write(&path, &reel, &records);
        let ran = replay(&folder, &["--patience", "3"], &command);
        assert_ne!(ran.code, Some(0), "{what}: {}", ran.out);
        let named = ran.out.contains("diverged at event") || ran.err.contains("not replayable");
        assert!(named, "{what}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn a_packet_without_an_address_that_went_elsewhere_is_a_divergence() {
    let bench = Bench::new();
    let program = bench.compile("queue");
    let command = [text(&program), "20"];
    bench.record(&[], &command).expect(0);
    let reel = bench.reel();
    let mut all = records(&reel);
    let sent = |it: &OwnedRecord| matches!(it.as_record().event, Event::Sent { .. });
    let at = all.iter().rposition(sent).unwrap();
    let record = all[at].as_record();
    let Event::Sent {
        socket,
        mut to,
        payload,
    } = record.event
    else {
        unreachable!("it is a send");
    };
    to.set_port(to.port() ^ 1);
    let event = Event::Sent {
        socket,
        to,
        payload,
    };
    let number = record.number.0;
    let copy = with_event(&record, event);
    all[at] = copy;
    let folder = bench.at("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    write(&folder.join("queue.reel"), &reel, &all);
    let told = replay(&folder, &["--json"], &command).expect(1).json();
    assert_eq!(told["divergence"]["event"], number);
    assert_eq!(told["divergence"]["field"]["path"], "destination");
}

#[test]
fn bytes_that_are_flipped_in_the_file_are_refused_or_found() {
    let bench = Bench::new();
    let program = bench.compile("digest");
    let command = [text(&program), "12"];
    bench.record(&[], &command).expect(0);
    let reel = bench.reel();
    let bytes = std::fs::read(bench.reel_file()).unwrap();
    drop(reel);
    let folder = bench.at("flipped");
    std::fs::create_dir(&folder).unwrap();
    for seed in 0..40 {
        let mut bytes = bytes.clone();
        let at = drawn(seed) as usize % bytes.len();
        bytes[at] ^= 1 << (drawn(seed + 1000) % 8);
        std::fs::write(folder.join("digest.reel"), &bytes).unwrap();
        let ran = replay(&folder, &["--patience", "3"], &command);
        // A broken index is made again from the blocks, and loses nothing.
        let whole = ran.code == Some(0) && ran.out.contains("exact, 13 of 13 sends equal");
        let found = matches!(ran.code, Some(1 | 2));
        assert!(
            whole || found,
            "byte {at}: {:?} {}{}",
            ran.code,
            ran.out,
            ran.err
        );
    }
}

#[test]
fn a_program_that_waits_for_what_is_not_recorded_is_ended_with_the_place() {
    let bench = Bench::new();
    let (program, pipe) = (bench.compile("pipes"), bench.at("pipe"));
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let command = [text(&program), text(&pipe)];
    let script = format!("echo go >{} & exec \"$@\"", text(&pipe));
    let launched = ["sh", "-c", &script, "sh", command[0], command[1]];
    bench.record_plainly(&["--name", "READER"], &launched);
    // Nobody writes into it this time.
    let flags = ["--node", "READER", "--patience", "1"];
    let ran = bench.again(&flags, &command).expect(2);
    assert!(
        ran.out.contains("stands still") && ran.out.contains("descriptor 3"),
        "{}",
        ran.out
    );
}

#[test]
fn the_environment_of_the_recording_is_the_replays() {
    let bench = Bench::new();
    let program = bench.compile("digest");
    let (out, command) = (bench.out(), [text(&program), "3"]);
    let ran = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["record", "--out", text(&out), "--"])
        .args(command)
        .env("SOMETHING_ELSE", "x".repeat(500))
        .env("MY_TOKEN", "not for reels")
        .output()
        .unwrap();
    assert!(ran.status.success());
    let ran = bench.again(&[], &command).expect(0);
    assert!(
        ran.err.contains("MY_TOKEN has another value"),
        "{}",
        ran.err
    );
    for file in std::fs::read_dir(&out).unwrap().flatten() {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        let holds = bytes.windows(13).any(|part| part == b"not for reels");
        assert!(!holds, "{}", file.path().display());
    }
}

#[test]
fn a_program_that_is_stopped_before_an_event_stands_there_until_it_is_let_go() {
    stands("--until");
}

/// Without a terminal it says how a debugger is started.
#[test]
fn a_program_is_stopped_for_a_debugger() {
    stands("--gdb");
}

fn stands(option: &str) {
    let bench = Bench::new();
    let program = bench.compile("pair");
    let command = [text(&program), "20"];
    bench.record(&[], &command).expect(0);
    let mut sent = records(&bench.reel()).into_iter().filter_map(|it| {
        let record = it.as_record();
        matches!(record.event, Event::Sent { .. }).then_some(record.number)
    });
    let until = format!("event {}", sent.nth(10).unwrap());
    let out = bench.out();
    let mut replay = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args([
            "replay",
            text(&out),
            option,
            &until,
            "--patience",
            "1",
            "--",
        ])
        .args(command)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = std::io::BufReader::new(replay.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("is stopped before") {
        line.clear();
        let read = std::io::BufRead::read_line(&mut told, &mut line).unwrap();
        assert!(read > 0, "it says where it is");
    }
    let pid = line.split("process ").nth(1).unwrap();
    let pid: u32 = pid.split(' ').next().unwrap().parse().unwrap();
    // Longer than its patience.
    std::thread::sleep(Duration::from_secs(3));
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    assert!(status.contains("State:\tT"), "{status}");
    assert!(support::signal(pid, libc::SIGCONT));
    let output = replay.wait_with_output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("exact, 20 of 20 sends"), "{told}");
}
