//! What a recorder costs, and how it and its program live and die together.

mod support;

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use netreel_reel::CallId;
use support::programs::{Bench, calls, notes, sent, text};
use support::{ended, signal};

/// Starts `netreel record` with `flags` on `command`, with its output in files of the bench.
fn start(bench: &Bench, flags: &[&str], command: &[&str]) -> Child {
    let file = |name: &str| OwnedFd::from(std::fs::File::create(bench.at(name)).unwrap());
    Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["record", "--out", text(&bench.out())])
        .args(flags)
        .arg("--")
        .args(command)
        .stdout(Stdio::from(file("stdout")))
        .stderr(Stdio::from(file("stderr")))
        .spawn()
        .unwrap()
}

/// What is in a file of the bench, once `enough` says so.
fn await_text(path: &Path, enough: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    // What has not come after a minute and a half will not come.
    for _ in 0..18_000 {
        text = std::fs::read_to_string(path).unwrap_or_default();
        if enough(&text) {
            return text;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{} says no more than {text:?}", path.display());
}

/// The sum of a number in the status files of a process's threads.
fn status(process: u32, field: &str) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let read = |thread: PathBuf| {
        let text = std::fs::read_to_string(thread.join("status")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
    };
    threads
        .filter_map(|thread| read(thread.unwrap().path()))
        .sum()
}

#[test]
fn a_recorder_of_idle_programs_sleeps_and_takes_no_memory_for_them() {
    let bench = Bench::new();
    let program = bench.compile("heeds");
    let told = bench.at("told");
    let line = format!(
        "for i in 1 2 3 4 5 6 7; do {0} {1} & done; exec {0} {1}",
        text(&program),
        text(&told)
    );
    let mut recorder = start(&bench, &[], &["sh", "-c", &line]);
    await_text(&told, |text| text.matches("ready").count() == 8);
    let before = status(recorder.id(), "voluntary_ctxt_switches:");
    std::thread::sleep(Duration::from_secs(4));
    let woken = status(recorder.id(), "voluntary_ctxt_switches:") - before;
    // Once a millisecond for each of them would be 32 000.
    assert!(woken < 400, "woken {woken} times");
    let memory = std::fs::read_to_string(format!("/proc/{}/status", recorder.id())).unwrap();
    let memory = memory.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: u64 = memory
        .and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap();
    // Three buffers of 4 MiB for each would be 96 MiB.
    assert!(kilobytes < 48 << 10, "{kilobytes} kB");
    let entries = std::fs::read_dir(bench.out()).unwrap().flatten();
    let rings = entries.filter(|it| it.file_name().to_string_lossy().ends_with(".ring"));
    let disk: u64 = rings.map(|it| it.metadata().unwrap().blocks() * 512).sum();
    // The whole of them would be 96 MiB here, too.
    assert!(disk < 24 << 20, "{disk} bytes of the disk");
    // The shell has become the last of them; the others would be let go on.
    for child in children(recorder.id()) {
        signal(child, libc::SIGTERM);
    }
    ended(&mut recorder);
}

/// The processes that descend from one.
fn children(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter();
    let lists = threads.flatten().map(|thread| thread.unwrap().path());
    let lists = lists.filter_map(|thread| std::fs::read_to_string(thread.join("children")).ok());
    let mut found: Vec<u32> = Vec::new();
    for list in lists {
        found.extend(list.split_whitespace().map(|id| id.parse::<u32>().unwrap()));
    }
    let below: Vec<u32> = found.iter().flat_map(|child| children(*child)).collect();
    found.extend(below);
    found
}

#[test]
fn a_program_whose_recorder_is_dead_does_not_wait_for_it() {
    let bench = Bench::new();
    let program = bench.compile("forsaken");
    let (go, told) = (bench.at("go"), bench.at("told"));
    let command = [text(&program), text(&go), text(&told)];
    let mut recorder = start(&bench, &["--buffer", "256k"], &command);
    // The program has a reel.
    loop {
        let entries = std::fs::read_dir(bench.out()).into_iter().flatten();
        let mut names = entries.map(|entry| entry.unwrap().file_name());
        if names.any(|name| name.to_string_lossy().ends_with(".reel")) {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(200));
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    std::fs::write(&go, "").unwrap();
    let slept = await_text(&told, |text| !text.is_empty());
    let slept: u64 = slept.trim().parse().unwrap();
    // Two seconds of waiting would be more than ten thousand naps.
    assert!(slept < 500, "{slept} naps");
    let reel = bench.reel();
    assert!(sent(&reel).len() > 100, "the buffer holds what found room");
}

#[test]
fn signals_that_are_no_trigger_go_to_the_program_and_its_exit_code_comes_back() {
    // A shell starts what runs behind it with SIGQUIT ignored, and who inherits that ignores it.
    // SAFETY: no handler is set, and no other test of this file sends the signal.
    unsafe { libc::signal(libc::SIGQUIT, libc::SIG_DFL) };
    for (flags, trigger) in [(&[][..], None), (&["--ring", "5"][..], Some(libc::SIGUSR1))] {
        let bench = Bench::new();
        let program = bench.compile("heeds");
        let told = bench.at("told");
        let mut recorder = start(&bench, flags, &[text(&program), text(&told)]);
        await_text(&told, |text| text == "ready\n");
        let mut expected = "ready\n".to_owned();
        let real_time = libc::SIGRTMIN() + 3;
        for number in [
            libc::SIGUSR1,
            libc::SIGQUIT,
            libc::SIGXCPU,
            real_time,
            libc::SIGUSR2,
        ] {
            assert!(signal(recorder.id(), number));
            if Some(number) == trigger {
                await_text(&bench.at("stderr"), |text| text.contains("kept "));
            } else {
                expected += &format!("{number}\n");
                await_text(&told, |text| text == expected);
            }
        }
        assert_eq!(ended(&mut recorder).code(), Some(42));
        let said = std::fs::read_to_string(bench.at("stderr")).unwrap();
        assert!(said.contains("the program ended with 42"), "{said}");
        let output = std::fs::read_to_string(bench.at("stdout")).unwrap();
        assert_eq!(output, "", "nothing of ours beside the program's output");
    }
}

#[test]
fn what_is_missing_changes_the_exit_code_only_where_that_is_wanted() {
    let bench = Bench::new();
    let orphan = bench.compile("pair");
    let line = format!("env -i sleep 2; exec {} 3", text(&orphan));
    let ran = bench.record_plainly(&[], &["sh", "-c", &line]).expect(0);
    assert!(
        ran.err.contains("the recording is not whole: "),
        "{}",
        ran.err
    );
    let other = Bench::new();
    let ran = other.record(&[], &["sh", "-c", &line]).expect(1);
    assert!(
        ran.err.contains("the recording is not whole: "),
        "{}",
        ran.err
    );
}

#[test]
fn what_the_kernel_dropped_is_told_whenever_it_became_known_and_once_for_each_socket() {
    for (name, forks) in [("burst", false), ("shares", true)] {
        let bench = Bench::new();
        let program = bench.compile(name);
        let ran = bench.record(&[], &[text(&program), "3000"]).expect(0);
        let got: u64 = ran.out.trim().parse().unwrap();
        // `burst` reads one of the three that it sends at the end.
        let dropped = 3000 - (got - u64::from(!forks));
        assert!(dropped > 1000, "more than a buffer holds: {dropped}");
        let told = format!("{dropped} packets dropped by the kernel");
        assert!(ran.err.contains(&told), "{told}: {}", ran.err);
        let noted = format!("the kernel dropped {dropped} packets");
        let reels = bench.reels();
        let notes: String = reels.iter().map(|(_, reel)| notes(reel)).collect();
        assert_eq!(reels.len(), 1 + usize::from(forks));
        assert_eq!(notes.matches(&noted).count(), 1, "{notes}");
        assert_eq!(notes.matches("the kernel dropped").count(), 1, "{notes}");
        let info = support::netreel(&["info", text(&bench.out())])
            .expect(0)
            .out;
        let told = match forks {
            false => format!("of these {dropped} dropped by the kernel of {name}."),
            true => {
                format!("of these {dropped} dropped by kernels whose receive buffers were full")
            }
        };
        assert_eq!(info.matches(&told).count(), 1, "{told}: {info}");
        let json = support::netreel(&["info", "--json", text(&bench.out())])
            .expect(0)
            .json();
        let nodes = json["nodes"].as_array().unwrap().iter();
        let told: Vec<u64> = nodes.filter_map(|it| it["kernel_drops"].as_u64()).collect();
        assert!(
            told.iter().all(|&told| told == dropped) && !told.is_empty(),
            "{told:?}"
        );
    }
}

#[test]
fn a_program_without_udp_sockets_says_that_tcp_is_not_recorded() {
    let bench = Bench::new();
    let ran = bench.record(&[], &["true"]).expect(0);
    let told = "no UDP socket was opened; TCP is not recorded";
    assert!(ran.err.contains(told), "{}", ran.err);
    let reel = bench.reel();
    assert!(notes(&reel).contains(told));
    assert!(!calls(&reel).contains_key(CallId::SOCKET.name()));
    let pair = Bench::new();
    let program = pair.compile("pair");
    let ran = pair.record(&[], &[text(&program), "3"]).expect(0);
    assert!(!ran.err.contains(told) && !notes(&pair.reel()).contains(told));
}

/// The files in the bench's folder of reels that begin or end like that.
fn files(bench: &Bench, like: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(bench.out()).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    names
        .filter(|name| like(name))
        .map(|name| bench.out().join(name))
        .collect()
}

#[test]
fn what_a_killed_recorder_leaves_is_tidied_up_once_nobody_uses_it() {
    let bench = Bench::new();
    let program = bench.compile("forsaken");
    let (go, told) = (bench.at("go"), bench.at("told"));
    let command = [text(&program), text(&go), text(&told)];
    let mut recorder = start(&bench, &[], &command);
    while files(&bench, |name| name.ends_with(".reel")).is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let players = loop {
        let found = children(recorder.id());
        if let [player] = found[..] {
            break player;
        }
    };
    std::thread::sleep(Duration::from_millis(300));
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let own = |name: &str| name.starts_with(".netreel-");
    let ring = |name: &str| name.ends_with(".ring");
    let (before, long) = (files(&bench, own), files(&bench, ring));
    assert_eq!((before.len(), long.len()), (2, 1), "library and socket");
    support::netreel(&["info", text(&bench.out())]).expect(0);
    assert_eq!(files(&bench, own).len(), 1, "the program has the library");
    assert!(long[0].metadata().unwrap().len() > 8 << 20);
    // The program pushes on.
    std::fs::write(&go, "").unwrap();
    await_text(&told, |text| !text.is_empty());
    while Path::new(&format!("/proc/{players}/maps"))
        .metadata()
        .is_ok()
        && !std::fs::read_to_string(format!("/proc/{players}/maps"))
            .unwrap_or_default()
            .is_empty()
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    let copy = bench.at("copy");
    std::fs::create_dir(&copy).unwrap();
    for file in files(&bench, |name| name.contains(".reel")) {
        std::fs::copy(&file, copy.join(file.file_name().unwrap())).unwrap();
    }
    support::netreel(&["info", text(&bench.out())]).expect(0);
    assert!(files(&bench, own).is_empty());
    let short = long[0].metadata().unwrap().len();
    assert!(short < 5 << 20, "what 2000 packets take: {short}");
    let events = |folder: &Path| {
        let session = netreel_capture::open_session(&[folder]).unwrap();
        support::programs::records(&session.reels[0].reel)
    };
    assert_eq!(events(&bench.out()), events(&copy));
    assert!(sent(&bench.reel()).len() > 2000);
}

#[test]
fn what_a_killed_recorder_leaves_in_the_temporary_folder_is_tidied_up() {
    let bench = Bench::new();
    let program = bench.compile("heeds");
    let told = bench.at("told");
    let temporary = bench.at("temporary");
    // The loader could not be given a path with a space in it.
    let out = bench.at("the reels");
    std::fs::create_dir(&temporary).unwrap();
    let netreel = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_netreel"));
        command.env("TMPDIR", &temporary).stderr(Stdio::null());
        command
    };
    let recording = ["record", "--out", text(&out), "--"];
    let mut recorder = netreel()
        .args(recording)
        .args([&program, &told])
        .spawn()
        .unwrap();
    await_text(&told, |text| text == "ready\n");
    let players = children(recorder.id());
    let left = || std::fs::read_dir(&temporary).unwrap().count();
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let look = || netreel().args(["info", text(&out)]).output().unwrap();
    look();
    assert_eq!(left(), 1, "the program has the library");
    for player in players {
        signal(player, libc::SIGKILL);
        while Path::new(&format!("/proc/{player}")).exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    look();
    assert_eq!(left(), 0);
}

#[test]
fn a_name_is_the_reels_and_the_nodes_and_a_shared_folder_is_no_news() {
    let bench = Bench::new();
    let (program, pair) = (bench.compile("heeds"), bench.compile("pair"));
    let told = bench.at("told");
    let command = [text(&program), text(&told)];
    let mut server = start(&bench, &["--name", "SERVER"], &command);
    await_text(&told, |text| text == "ready\n");
    let ran = bench
        .record(&["--name", "CLIENT"], &[text(&pair), "3"])
        .expect(0);
    assert!(!ran.err.contains("holds a recording"), "{}", ran.err);
    signal(server.id(), libc::SIGUSR2);
    assert_eq!(ended(&mut server).code(), Some(42));
    let again = bench
        .record(&["--name", "CLIENT"], &[text(&pair), "3"])
        .expect(0);
    let told = "CLIENT.reel is there already; this recording's node and reel are called CLIENT-2";
    assert!(again.err.contains(told), "{}", again.err);
    assert!(!again.err.contains("two recordings"), "{}", again.err);
    let other = bench
        .record(&["--name", "OTHER"], &[text(&pair), "3"])
        .expect(0);
    assert!(!other.err.contains("recordings"), "{}", other.err);
    let mut names: Vec<String> = bench.reels().into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(names, ["CLIENT", "CLIENT-2", "OTHER", "SERVER"]);
    assert!(bench.out().join("SERVER.reel").exists());
    for wrong in ["", "../A", "a/b", ".x", "A.0001"] {
        let ran = bench
            .record(&["--name", wrong], &[text(&pair), "3"])
            .expect(2);
        assert!(ran.err.contains("a name has letters"), "{}", ran.err);
    }
}

#[test]
fn a_window_is_kept_by_the_name_of_its_folder() {
    let bench = Bench::new();
    let program = bench.compile("heeds");
    let told = bench.at("told");
    let none = support::netreel(&["trigger", text(bench.at("").as_path())]).expect(2);
    assert!(none.err.contains("nobody records into it"), "{}", none.err);
    let command = [text(&program), text(&told)];
    let mut recorder = start(&bench, &["--ring", "5"], &command);
    await_text(&told, |text| text == "ready\n");
    while files(&bench, |name| name.ends_with(".recorder")).is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    // Another one has no trigger, as it was asked, and is no reason to say that something went wrong.
    let other_told = bench.at("other");
    let other = [text(&program), text(&other_told)];
    let none = ["--ring", "5", "--trigger-signal", "none", "--name", "NONE"];
    let mut none = start(&bench, &none, &other);
    await_text(&other_told, |text| text == "ready\n");
    while files(&bench, |name| name.ends_with(".recorder")).len() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let asked = support::netreel(&["trigger", text(&bench.out())]).expect(0);
    let keeps_nothing = format!(
        "recorder {} was started with --trigger-signal none, and keeps nothing\n",
        none.id()
    );
    assert!(asked.out.contains(&keeps_nothing), "{}", asked.out);
    let asked_out = asked.out.replace(&keeps_nothing, "");
    let id = recorder.id();
    assert!(
        asked_out.starts_with(&format!("recorder {id} keeps ")),
        "{asked_out}"
    );
    await_text(&bench.at("stderr"), |text| text.contains("kept "));
    assert_eq!(files(&bench, |name| name.starts_with("window-")).len(), 1);
    signal(recorder.id(), libc::SIGUSR2);
    assert_eq!(ended(&mut recorder).code(), Some(42));
    let alone = support::netreel(&["trigger", text(&bench.out())]).expect(1);
    assert_eq!(alone.out, keeps_nothing);
    signal(none.id(), libc::SIGUSR2);
    assert_eq!(ended(&mut none).code(), Some(42));
    assert!(files(&bench, |name| name.starts_with(".netreel-")).is_empty());
    support::netreel(&["trigger", text(&bench.out())]).expect(2);
}

/// Waits until a program has sent something.
fn await_packet(bench: &Bench) {
    let has_sent = || {
        let opened = netreel_capture::open_session(&[bench.out()]);
        let mut reels = opened.into_iter().flat_map(|opened| opened.reels);
        reels.any(|each| each.reel.totals().packets() > 0)
    };
    while !has_sent() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn sigterm_ends_a_recording_with_its_program_however_long_that_takes() {
    let bench = Bench::new();
    let pair = bench.compile("pair");
    let script = format!(
        "trap '{0} 1 >/dev/null; sleep 2; {0} 1 >/dev/null; exit 3' TERM; {0} 1; \
         while :; do sleep 0.05; done",
        text(&pair)
    );
    let mut recorder = start(&bench, &[], &["sh", "-c", &script]);
    await_packet(&bench);
    assert!(signal(recorder.id(), libc::SIGTERM));
    assert_eq!(ended(&mut recorder).code(), Some(3));
    assert_eq!(bench.reels().len(), 3);
}

#[test]
fn sigterm_ends_a_recording_whatever_its_program_leaves_behind() {
    let bench = Bench::new();
    let orphan = bench.compile("orphan");
    let line = format!("({} stay 1000000 &); sleep 1000", text(&orphan));
    let mut recorder = start(&bench, &[], &["sh", "-c", &line]);
    await_packet(&bench);
    let left = children(recorder.id());
    assert!(signal(recorder.id(), libc::SIGTERM));
    // Until then it would wait for the orphan, which has three hours to go.
    ended(&mut recorder);
    let said = std::fs::read_to_string(bench.at("stderr")).unwrap();
    assert!(said.contains("unrecorded from some time on"), "{said}");
    for process in left {
        signal(process, libc::SIGKILL);
    }
    let reel = bench.reel();
    assert_eq!(reel.ending(), &netreel_reel::Ending::Clean);
    assert!(
        notes(&reel).contains("the recording ends here: the program goes on, unrecorded"),
        "{}",
        notes(&reel)
    );
    let checked = support::netreel(&["check", text(&bench.out())]).expect(2);
    let told = "ended early: the program goes on, unrecorded";
    assert!(checked.out.contains(told), "{}", checked.out);
}

/// The loader says so where a library that it is told to load is gone.
#[test]
fn programs_that_were_let_go_start_others_without_a_word_of_the_loader() {
    let bench = Bench::new();
    let orphan = bench.compile("orphan");
    let (go, errors, told) = (bench.at("go"), bench.at("errors"), bench.at("told"));
    let line = format!(
        "({} stay 1000000 &); (trap '' TERM; until [ -e {} ]; do sleep 0.02; done; \
         sh -c 'echo started' > {}) 2> {} & sleep 1000",
        text(&orphan),
        text(&go),
        text(&told),
        text(&errors)
    );
    let mut recorder = start(&bench, &[], &["sh", "-c", &line]);
    await_packet(&bench);
    let left = children(recorder.id());
    assert!(signal(recorder.id(), libc::SIGTERM));
    ended(&mut recorder);
    std::fs::write(&go, "").unwrap();
    await_text(&told, |text| text == "started\n");
    assert_eq!(std::fs::read_to_string(&errors).unwrap(), "");
    let library = |name: &str| name.ends_with(".so");
    assert_eq!(files(&bench, library).len(), 1);
    for process in left {
        signal(process, libc::SIGKILL);
    }
    // Once nobody uses it, the next command that reads the folder removes it.
    while !files(&bench, library).is_empty() {
        support::netreel(&["info", text(&bench.out())]).expect(0);
    }
}

#[test]
fn a_program_that_forbids_itself_what_the_recorder_asks_runs_on_and_it_is_said() {
    for arguments in [&[][..], &["number"][..]] {
        let bench = Bench::new();
        let program = bench.compile("sandboxed");
        let command = [&[text(&program)], arguments].concat();
        let ran = bench.record(&[], &command).expect(1);
        let told = "forbids calls that the recorder makes in it; the recorder does without \
            (getsockopt, getsockname, getpeername, fstat, futex, nanosleep)";
        assert!(ran.err.contains(told), "{}", ran.err);
        let reel = bench.reel();
        assert!(notes(&reel).contains(told));
        assert_eq!(sent(&reel).len(), 3);
    }
}

#[test]
fn info_folds_what_a_game_sends_to_find_servers_and_shortens_long_notes() {
    let bench = Bench::new();
    let program = bench.compile("seeks");
    bench
        .record(&["--name", "GAME"], &[text(&program)])
        .expect(0);
    let out = bench.out();
    let info = support::netreel(&["info", text(&out)]).expect(0).out;
    assert!(!info.contains("8304"), "{info}");
    let folded = "and 8 links to groups, broadcast addresses and addresses that nothing could be \
        sent to: 8 packets, 8 B; --all lists them";
    assert!(info.contains(folded), "{info}");
    assert!(info.contains("GAME -> GAME"), "{info}");
    let note = info.lines().find(|line| line.contains("Not covered"));
    let note = note.expect("every such reel has it");
    assert!(
        note.len() < 300 && note.contains("--json has all of it"),
        "{note}"
    );
    let all = support::netreel(&["info", text(&out), "--all"])
        .expect(0)
        .out;
    assert!(all.contains("255.255.255.255:8304"), "{all}");
    let json = support::netreel(&["info", text(&out), "--json"])
        .expect(0)
        .out;
    assert!(json.contains("by rarer ways than the documentation names"));
}
