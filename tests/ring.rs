//! Ring mode from the command line: keys, signals, findings and other nodes keep windows.

mod support;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use netreel_reel::{Event, Trigger, TriggerCause};
use support::netreel;
use support::programs::{Bench, replay, text};

/// Nothing here takes this long, on any machine.
const LONG: Duration = Duration::from_secs(180);

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < LONG, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn windows(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut windows: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    windows.retain(|path| path.is_dir() && text(path).contains("/window-"));
    windows.sort();
    windows
}

/// The triggers in a folder's reels, with the reels' nodes.
fn triggers(folder: &Path) -> Vec<(String, Trigger, String)> {
    let session = netreel_capture::open_session(&[folder]).unwrap();
    assert!(session.failed.is_empty(), "{:?}", session.failed);
    let mut found = Vec::new();
    for opened in &session.reels {
        opened.reel.for_each(|record| {
            if let Event::Triggered { trigger, text } = record.event {
                let text = String::from_utf8_lossy(text).into_owned();
                found.push((opened.reel.header().node.clone(), trigger, text));
            }
        });
    }
    found
}

/// `netreel` under way; killed where a test fails.
struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(arguments: &[&str], stdin: Stdio) -> Running {
        let mut child = Command::new(env!("CARGO_BIN_EXE_netreel"))
            .args(arguments)
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .stdin(stdin)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines }
    }

    fn line(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let mut lines = self.lines.by_ref().map_while(Result::ok);
        lines.find(|line| wanted(line)).expect("the line comes")
    }

    fn signal(&self, signal: i32) {
        // SAFETY: sends a signal to the child, which has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    fn end(mut self) -> i32 {
        let code = self.child.wait().unwrap().code();
        code.expect("it ends by itself")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Plays with `--ring`, has `press` press a key, waits until all four nodes have kept their window,
/// and ends the game; the window.
fn play(out: &Path, stdin: Stdio, mut keys: impl Write, key: &[u8]) -> PathBuf {
    let out_text = text(out).to_owned();
    let arguments = ["demo", "--headless", "--ring", "1", "--out", &out_text];
    let mut game = Running::start(&arguments, stdin);
    game.line(|line| line.contains("keeps the last seconds"));
    let moved_on = |node: &str| {
        let later = |number: u32| out.join(format!("{node}.{number:04}.reel")).exists();
        !out.join(format!("{node}.reel")).exists() && (1..100).any(later)
    };
    wait_until("the windows to move on", || {
        ["HOST", "A", "B", "X"].into_iter().all(moved_on)
    });
    keys.write_all(key).unwrap();
    keys.flush().unwrap();
    let mut kept = BTreeSet::new();
    while kept.len() < 4 {
        let line = game.line(|line| line.contains(" kept "));
        kept.insert(line.split(' ').next().unwrap_or_default().to_owned());
    }
    keys.write_all(b"q").unwrap();
    keys.flush().unwrap();
    game.line(|line| line.contains("error"));
    assert_eq!(game.end(), 0);
    let windows = windows(out);
    assert_eq!(windows.len(), 1, "all nodes kept the same window");
    windows[0].clone()
}

#[test]
fn a_key_at_one_node_of_the_game_keeps_the_same_window_at_all_and_it_is_clean() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (reader, writer) = std::io::pipe().unwrap();
    let window = play(&out, Stdio::from(reader), writer, b"3");
    let found = triggers(&window);
    let nodes: BTreeSet<&str> = found.iter().map(|(node, ..)| node.as_str()).collect();
    assert_eq!(nodes, BTreeSet::from(["A", "B", "HOST", "X"]));
    for (node, trigger, words) in &found {
        assert_eq!(trigger.cause, TriggerCause::KEY);
        assert_eq!(trigger.from_peer, node != "B", "{node}: {words}");
        assert!(words.ends_with("t was pressed"), "{words}");
    }
    // What objects were before the window is not known: that must not look like a mistake.
    let checked = netreel(&["check", text(&window)]).expect(2);
    assert!(checked.out.contains("0 errors"), "{}", checked.out);
    let kept = "info     incomplete-reel";
    assert!(checked.out.contains(kept), "{}", checked.out);
    let unknown = "unknown: no errors, but not all could be judged:\n    the reels of HOST, A, B and \
        X are windows that a trigger kept";
    assert!(checked.out.contains(unknown), "{}", checked.out);
    let info = netreel(&["info", text(&window)]).expect(0);
    assert!(info.out.contains("window"), "{}", info.out);
    // It begins in the middle of the recording, at a snapshot, and can be replayed from there.
    let replayed = netreel(&["replay", text(&window), "--json"]).expect(0);
    for line in replayed.out.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["result"], "exact");
        assert_eq!(line["stretches"][0]["snapshot"], true);
        assert!(line["sends"].as_u64().unwrap() > 20, "{line}");
    }
}

#[test]
fn a_terminal_gives_the_key_without_a_line_and_is_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (mut master, mut slave) = (0, 0);
    // SAFETY: the call fills in two descriptors; the other arguments may be null.
    let made = unsafe {
        libc::openpty(
            &raw mut master,
            &raw mut slave,
            std::ptr::null_mut(),
            std::ptr::null(),
            std::ptr::null(),
        )
    };
    if made != 0 {
        support::skipped("no pseudo terminal can be had here");
        return;
    }
    // SAFETY: two fresh descriptors that nobody else owns.
    let (master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
    let terminal = slave.try_clone().unwrap();
    // Without its other end a terminal says nothing of itself.
    let _other_end = master.try_clone().unwrap();
    let mode = || {
        use std::os::fd::AsRawFd;
        // SAFETY: a structure of plain values, which the call fills in.
        unsafe {
            let mut mode: libc::termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &raw mut mode), 0);
            mode.c_lflag
        }
    };
    let before = mode();
    let window = play(&folder.path().join("out"), Stdio::from(slave), master, b"t");
    assert_eq!(triggers(&window).len(), 4);
    assert_eq!(mode(), before);
}

fn record(out: &Path, flags: &[&str], program: &[&str]) -> Running {
    let mut arguments = vec!["record", "--out", text(out), "--ring", "0.5"];
    arguments.extend(flags);
    arguments.push("--");
    arguments.extend(program);
    Running::start(&arguments, Stdio::null())
}

/// Whether the recording in `out` has lost its first file to the window.
fn moved_on(out: &Path) -> bool {
    let entries = std::fs::read_dir(out).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    // `ticks.PID.NUMBER.reel` is a later part, `ticks.PID.reel` the first.
    let parts: Vec<usize> = names
        .by_ref()
        .filter(|name| name.ends_with(".reel"))
        .map(|name| name.split('.').count())
        .collect();
    !parts.is_empty() && parts.iter().all(|count| *count == 4)
}

#[test]
fn a_signal_to_the_recorder_keeps_the_window_of_a_program_that_knows_nothing() {
    let bench = Bench::new();
    let program = bench.compile("ticks");
    let running = record(&bench.out(), &[], &[text(&program)]);
    wait_until("the window to move on", || moved_on(&bench.out()));
    running.signal(libc::SIGUSR1);
    wait_until("the window", || !windows(&bench.out()).is_empty());
    running.signal(libc::SIGINT);
    running.end();
    let windows = windows(&bench.out());
    assert_eq!(windows.len(), 1);
    let found = triggers(&windows[0]);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].1.cause, &found[0].2[..]),
        (TriggerCause::SIGNAL, "SIGUSR1")
    );
    let packets = netreel(&["packets", text(&windows[0]), "--json"]).expect(0);
    let count = packets.out.lines().count();
    assert!(
        (50..1000).contains(&count),
        "half a second of packets: {count}"
    );
    let told = replay(&windows[0], &[], &[text(&program)]).expect(2).err;
    let folder = std::env::current_dir().unwrap();
    for words in [
        "its begin is not there: parts 0 to ",
        "--ring and --keep delete what is older than they keep",
        &format!("-- {}` in {}", text(&program), text(&folder)),
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn one_trigger_of_a_folder_keeps_one_window_with_the_reels_of_all_who_record_into_it() {
    let bench = Bench::new();
    let program = bench.compile("ticks");
    let nodes = ["A", "B"];
    let all = nodes.map(|name| record(&bench.out(), &["--name", name], &[text(&program)]));
    let is_there = |name: String| bench.out().join(name).exists();
    wait_until("both recorders", || {
        let mut shown = all
            .iter()
            .map(|it| format!(".netreel-{}.recorder", it.child.id()));
        shown.all(is_there) && nodes.iter().all(|name| !is_there(format!("{name}.reel")))
    });
    let why = ["A", "teleported"];
    let asked = netreel(&["trigger", text(&bench.out()), why[0], why[1]]).expect(0);
    let both = "as one window\n";
    assert!(
        asked.out.starts_with("recorders ") && asked.out.ends_with(both),
        "{}",
        asked.out
    );
    assert_eq!(asked.out.lines().count(), 1, "{}", asked.out);
    let kept = || {
        windows(&bench.out())
            .into_iter()
            .flat_map(|it| triggers(&it))
    };
    wait_until("what both keep", || kept().count() == 2);
    for running in all {
        running.signal(libc::SIGINT);
        running.end();
    }
    let windows = windows(&bench.out());
    assert_eq!(windows.len(), 1, "{windows:?}");
    let found = triggers(&windows[0]);
    let named: BTreeSet<&str> = found.iter().map(|(node, ..)| &node[..]).collect();
    assert_eq!(named, BTreeSet::from(nodes));
    let ids: BTreeSet<(u64, i64)> = found.iter().map(|(_, it, _)| (it.id, it.utc_ns)).collect();
    assert_eq!(ids.len(), 1, "{found:?}");
    assert!(found.iter().all(|(.., text)| text == "A teleported"));
}

#[test]
fn a_finding_keeps_the_window_before_it() {
    let bench = Bench::new();
    let program = bench.compile("ticks");
    let wire = bench.at("ticks.wire");
    let ticks = "wire ticks { version = 1; byte_order = little; bit_order = lsb; root = Packet; }\n\
                 struct Packet { magic: u8 = 0x47; count: u32; }\n";
    std::fs::write(&wire, ticks).unwrap();
    let flags = ["--trigger-on-finding", "warning", "--wire", text(&wire)];
    let running = record(&bench.out(), &flags, &[text(&program), "400"]);
    wait_until("the window", || !windows(&bench.out()).is_empty());
    running.signal(libc::SIGINT);
    running.end();
    let found = triggers(&windows(&bench.out())[0]);
    assert_eq!(found[0].1.cause, TriggerCause::FINDING);
    assert!(found[0].2.contains("undecodable-packet"), "{}", found[0].2);
}

#[test]
fn a_recorder_asks_another_one_on_its_machine_for_the_same_seconds() {
    let (ours, theirs) = (Bench::new(), Bench::new());
    let program = ours.compile("ticks");
    let key = ours.at("key");
    std::fs::write(&key, "only these two know\n").unwrap();
    let at = format!("127.0.0.1:{}", support::free_port());
    let listens = ["--trigger-listen", &at, "--trigger-key", text(&key)];
    let asks = ["--trigger-peers", &at, "--trigger-key", text(&key)];
    let b = record(&theirs.out(), &listens, &[text(&program)]);
    let a = record(&ours.out(), &asks, &[text(&program)]);
    wait_until("both to move on", || {
        moved_on(&ours.out()) && moved_on(&theirs.out())
    });
    a.signal(libc::SIGUSR1);
    wait_until("both windows", || {
        !windows(&ours.out()).is_empty() && !windows(&theirs.out()).is_empty()
    });
    for running in [a, b] {
        running.signal(libc::SIGINT);
        running.end();
    }
    let (ours, theirs) = (windows(&ours.out()), windows(&theirs.out()));
    assert_eq!(ours[0].file_name(), theirs[0].file_name());
    let (a, b) = (&triggers(&ours[0])[0].1, &triggers(&theirs[0])[0].1);
    assert_eq!((a.id, a.utc_ns, a.from_peer), (b.id, b.utc_ns, false));
    assert!(b.from_peer);
}
