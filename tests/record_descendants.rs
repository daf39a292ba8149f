//! What a program leaves behind: orphans, daemons, processes with fewer rights or less memory.

mod support;

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use netreel_reel::Reel;
use support::programs::{Bench, notes, sent, text};
use support::{ended, signal};

fn orphan(bench: &Bench) -> Vec<std::sync::Arc<Reel>> {
    let reels = bench.reels().into_iter();
    let orphans = reels.filter(|(name, reel)| name == "orphan" && !sent(reel).is_empty());
    orphans.map(|(_, reel)| reel).collect()
}

#[track_caller]
fn check_left_behind(bench: &Bench, command: &[&str]) {
    let limited = [&["timeout", "-k", "1", "60"], command].concat();
    bench.record(&[], &limited).expect(0);
    let reels = orphan(bench);
    assert_eq!(reels.len(), 1, "one process has sent");
    assert_eq!(sent(&reels[0]).len(), 30);
    assert_eq!(
        bench.reels().len(),
        1,
        "reels with nothing in them are gone"
    );
    std::fs::remove_dir_all(bench.out()).unwrap();
}

#[test]
fn whatever_outlives_its_program_is_recorded_to_its_end() {
    let bench = Bench::new();
    let program = bench.compile("orphan");
    let program = text(&program);
    check_left_behind(&bench, &[program, "daemon", "30"]);
    check_left_behind(&bench, &[program, "_Fork", "30"]);
    check_left_behind(&bench, &[program, program, "30"]);
    let script = format!("{program} stay 30 & exit 0");
    check_left_behind(&bench, &["sh", "-c", &script]);
}

#[test]
fn an_orphan_that_cannot_be_recorded_is_named_once_however_it_was_started() {
    let bench = Bench::new();
    let program = bench.compile("orphan");
    let program = bench.moved(&program, "dynamic");
    let Some(fixed) = bench.compile_with("orphan", "cc", &["-static"]) else {
        return;
    };
    let (program, fixed) = (text(&program), text(&fixed));
    // Past the hooks: the shell of this `env -i` is not loaded with anything.
    let script = format!("(env -i {fixed} stay 100 &) ; exit 0");
    for command in [
        vec![program, fixed, "3", fixed, "stay", "100"],
        vec!["sh", "-c", script.as_str()],
    ] {
        let ran = bench.record(&[], &command).expect(1);
        let named = ran.err.matches("is not recorded: ").count();
        assert_eq!(named, 1, "{}", ran.err);
        std::fs::remove_dir_all(bench.out()).unwrap();
    }
}

#[test]
fn a_child_of_vfork_is_named_where_it_cannot_be_recorded_and_not_where_it_never_was_one() {
    let bench = Bench::new();
    let vforks = bench.compile("vforks");
    let vforks = text(&vforks);
    if let Some(pair) = bench.compile_with("pair", "cc", &["-static"]) {
        let ran = bench.record(&[], &[vforks, text(&pair), "3"]).expect(1);
        let named = ran.err.matches("is not recorded: it is statically linked");
        assert_eq!(named.count(), 1, "{}", ran.err);
        std::fs::remove_dir_all(bench.out()).unwrap();
    }
    // There is one, and it cannot be run; then one that can.
    for program in ["/dev/null", "/", "/bin/true"] {
        bench.record(&[], &[vforks, program]).expect(0);
        std::fs::remove_dir_all(bench.out()).unwrap();
    }
    let Some(pair) = bench.compile_with("pair", "gcc", &["-fsanitize=address"]) else {
        return;
    };
    let ran = bench.record(&[], &[vforks, text(&pair), "3"]).expect(1);
    assert!(ran.err.contains("verify_asan_link_order=0"), "{}", ran.err);
}

/// A static program that was started, and whether it is named.
#[track_caller]
fn check_static(bench: &Bench, command: &[&str], is_named: bool) {
    let ran = bench.record(&[], command).expect(i32::from(is_named));
    let named = ran.err.matches("is not recorded: it is statically linked");
    assert_eq!(named.count(), usize::from(is_named), "{}", ran.err);
    std::fs::remove_dir_all(bench.out()).unwrap();
}

#[test]
fn a_static_child_is_named_only_where_it_may_have_had_packets() {
    let bench = Bench::new();
    let [idle, pair, vforks] = ["idle", "pair", "vforks"].map(|name| {
        let fixed = bench.compile_with(name, "cc", &["-static"])?;
        Some(bench.moved(&fixed, &format!("static-{name}")))
    });
    let (Some(idle), Some(pair), Some(forks)) = (idle, pair, vforks) else {
        return;
    };
    let (idle, pair, forks) = (text(&idle), text(&pair), text(&forks));
    let vforks = bench.compile("vforks");
    let vforks = text(&vforks);
    check_static(&bench, &[vforks, idle, "0"], false);
    check_static(&bench, &[vforks, pair, "3"], true);
    // What it starts is not watched.
    check_static(&bench, &[vforks, forks, idle, "0"], true);
    // By a shell, which forks first.
    let by_shell = |line: &str| format!("{line}; true");
    check_static(
        &bench,
        &["sh", "-c", &by_shell(&format!("{idle} 50"))],
        false,
    );
    check_static(&bench, &["sh", "-c", &by_shell(&format!("{pair} 3"))], true);
    // With a socket of its parent's it needs none of its own.
    let children = bench.compile("children");
    check_static(&bench, &[text(&children), idle, "0"], true);
    for way in ["spawn", "spawnp"] {
        check_static(&bench, &[vforks, way, idle, "0"], false);
        check_static(&bench, &[vforks, way, pair, "3"], true);
    }
    // By a name that is looked for.
    let path = std::env::var("PATH").unwrap();
    let path = format!("PATH={}:{path}", text(&bench.at("")));
    for way in ["spawnp", "execvp"] {
        check_static(
            &bench,
            &["env", &path, vforks, way, "static-idle", "0"],
            false,
        );
        check_static(
            &bench,
            &["env", &path, vforks, way, "static-pair", "3"],
            true,
        );
    }
}

#[test]
fn a_static_child_that_has_a_unix_socket_alone_is_not_named() {
    let bench = Bench::new();
    let Some(idle) = bench.compile_with("idle", "cc", &["-static"]) else {
        return;
    };
    let starts = "import os, socket, sys; a, b = socket.socketpair(); os.set_inheritable(b.fileno(), True); \
        os.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)";
    let python = "/usr/bin/python3";
    if !Path::new(python).exists() {
        support::skipped("there is no python3");
        return;
    }
    check_static(&bench, &[python, "-c", starts, text(&idle), "0"], false);
}

#[test]
fn a_static_child_ends_stops_and_goes_on_as_it_would() {
    let bench = Bench::new();
    let Some(idle) = bench.compile_with("idle", "cc", &["-static"]) else {
        return;
    };
    let idle = text(&idle);
    let script = format!(
        "{idle} 60000 & sleep 0.5; kill -TERM $!; wait $!; echo $?; \
         {idle} 1000 & sleep 0.5; kill -STOP $!; sleep 1; kill -0 $! && kill -CONT $!; wait $!; echo $?"
    );
    let ran = bench.record(&[], &["sh", "-c", &script]).expect(0);
    assert_eq!(ran.out, "143\n0\n", "{}", ran.err);
}

#[test]
fn a_static_child_may_ask_to_be_traced_and_no_program_that_is_none_is_waited_for() {
    let bench = Bench::new();
    let Some(traced) = bench.compile_with("traced", "cc", &["-static"]) else {
        return;
    };
    let pipe = bench.at("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let script = format!("{}; echo $?; {}; echo $?", text(&traced), text(&pipe));
    let ran = bench.record_plainly(&[], &["timeout", "20", "sh", "-c", &script]);
    assert_eq!(ran.out, "0\n126\n", "{}", ran.err);
}

/// A recorder whose program has started a static child, which waits until the recorder's input ends, opens a
/// socket then, and ends.
fn of_one_that_waits(bench: &Bench) -> Option<Child> {
    let traced = bench.compile_with("traced", "cc", &["-static"])?;
    let script = format!("trap '' USR1; {} waits; echo ended", text(&traced));
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["record", "--out", text(&bench.out()), "--"])
        .args(["sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let out = recorder.stdout.as_mut().unwrap();
    let mut line = [0; 6];
    out.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"waits\n");
    Some(recorder)
}

#[test]
fn a_signal_to_the_recorder_loses_sight_of_no_static_child() {
    let bench = Bench::new();
    let Some(recorder) = of_one_that_waits(&bench) else {
        return;
    };
    let threads = std::fs::read_dir(format!("/proc/{}/task", recorder.id())).unwrap();
    let mut watches = threads.flatten().filter(|thread| {
        let name = std::fs::read_to_string(thread.path().join("comm"));
        name.is_ok_and(|name| name == "watch\n")
    });
    let watch = watches.next().expect("a thread that watches the child");
    let thread: i32 = watch.file_name().to_str().unwrap().parse().unwrap();
    let process = i32::try_from(recorder.id()).unwrap();
    // SAFETY: it takes plain numbers.
    let told = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) };
    assert_eq!(told, 0);
    // Its input ends as well.
    let said = recorder.wait_with_output().unwrap();
    let said = String::from_utf8(said.stderr).unwrap();
    let named = said.matches("is not recorded: it is statically linked");
    assert_eq!(named.count(), 1, "{said}");
}

#[test]
fn a_static_child_goes_on_when_the_recorder_is_killed() {
    let bench = Bench::new();
    let Some(recorder) = of_one_that_waits(&bench) else {
        return;
    };
    assert!(signal(recorder.id(), libc::SIGKILL));
    let said = recorder.wait_with_output().unwrap();
    assert_eq!(said.stdout, b"ended\n");
}

#[test]
fn python_that_looks_for_a_library_is_recorded_whole() {
    let bench = Bench::new();
    // What is in no table is looked for by the C compiler and the linker, if they are here.
    let looks =
        "import ctypes.util as it; print(it.find_library('c'), it.find_library('none-such'))";
    // Not by its name: a shell may stand before it, in whose handlers of signals events may be lost.
    let python = "/usr/bin/python3";
    if [python, "/sbin/ldconfig"]
        .iter()
        .any(|it| !Path::new(it).exists())
    {
        support::skipped("there is no python3, or no ldconfig");
        return;
    }
    let ran = bench.record(&[], &[python, "-c", looks]).expect(0);
    assert!(ran.out.contains("libc.so.6"), "{}", ran.out);
    assert!(!ran.err.contains("not recorded: "), "{}", ran.err);
}

#[test]
fn a_program_is_not_told_to_become_what_it_was_before() {
    let bench = Bench::new();
    let becomes = bench.compile("becomes");
    let often = format!("for i in 1 2 3 4 5 6 7 8; do {} 1; done", text(&becomes));
    let command = ["timeout", "-k", "1", "60", "sh", "-c", &often];
    let ran = bench.record(&["--buffer", "1M"], &command).expect(0);
    assert_eq!(ran.out.matches("the last one").count(), 8);
}

#[test]
fn a_process_that_never_says_a_word_is_named() {
    let bench = Bench::new();
    let children = bench.compile("children");
    let Some(idle) = bench.compile_with("idle", "cc", &["-static"]) else {
        return;
    };
    // Its parent is not recorded either, so that nobody tells of it.
    let script = format!("exec env -i sh -c '{} 3000'", text(&idle));
    let ran = bench.record(&[], &[text(&children), "/bin/sh", "-c", &script]);
    let ran = ran.expect(1);
    assert!(
        ran.err
            .contains("(idle) is not recorded: it is statically linked"),
        "{}",
        ran.err
    );
}

#[test]
fn once_the_program_has_ended_one_control_c_ends_the_recording_and_leaves_the_orphan() {
    let bench = Bench::new();
    let program = bench.compile("orphan");
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["record", "--out", text(&bench.out()), "--"])
        .args([text(&program), "daemon", "20000"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = std::io::BufReader::new(recorder.stderr.take().unwrap());
    let mut told = std::io::BufRead::lines(told);
    let outlived = "the program has ended; recording 1 process that it started; Ctrl-C ends";
    assert!(told.any(|line| line.unwrap().contains(outlived)));
    assert!(signal(recorder.id(), libc::SIGINT));
    assert_eq!(ended(&mut recorder).code(), Some(0));
    assert!(
        !orphan(&bench).is_empty(),
        "what it did until then is there"
    );
}

/// What `command` came to, started so that it has less than root's rights.
#[test]
fn a_program_that_drops_roots_rights_is_recorded_and_so_is_its_child() {
    let bench = Bench::new();
    let lesser = [
        "setpriv",
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
    ];
    let able = Command::new("setpriv")
        .args(&lesser[1..])
        .arg("true")
        .status();
    if !able.is_ok_and(|status| status.success()) {
        support::skipped("no setpriv, or no right to become another user");
        return;
    }
    let program = bench.compile("orphan");
    let open = |path: &Path| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(path, mode).unwrap();
    };
    // Its folder may be searched, and that of the reels may not.
    open(program.parent().unwrap());
    let closed = bench.at("closed");
    std::fs::create_dir(&closed).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&closed, mode).unwrap();
    for out in [bench.out(), closed] {
        let mut command = vec!["record", "--out", text(&out), "--"];
        command.extend(lesser);
        command.extend([text(&program), "_Fork", "30"]);
        support::netreel(&command).expect(0);
        let session = netreel_capture::open_session(std::slice::from_ref(&out)).unwrap();
        let all = session.reels.iter().map(|opened| sent(&opened.reel).len());
        assert_eq!(all.sum::<usize>(), 30, "{}", out.display());
    }
}

#[test]
fn a_program_without_room_for_its_buffers_is_named_with_what_to_do() {
    let bench = Bench::new();
    let program = bench.compile("pair");
    let command = format!("ulimit -v 12000; exec {} 3", text(&program));
    let ran = bench.record(&["--buffer", "64M"], &["sh", "-c", &command]);
    let ran = ran.expect(1);
    assert!(
        ran.err.contains("its buffers have no room in its memory"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("--buffer 256k"), "{}", ran.err);
    let noted = bench
        .reels()
        .iter()
        .any(|(_, reel)| notes(reel).contains("no room in its memory"));
    assert!(noted, "the reel tells of it");
}

#[test]
fn a_program_with_address_sanitizer_is_told_how_to_run() {
    let bench = Bench::new();
    let Some(program) = bench.compile_with("pair", "gcc", &["-fsanitize=address"]) else {
        return;
    };
    let ran = bench.record(&[], &[text(&program), "3"]).expect(2);
    assert!(
        ran.err.contains("ASAN_OPTIONS=verify_asan_link_order=0"),
        "{}",
        ran.err
    );
}
