//! Many recordings of programs that know nothing of netreel, each started again: how many are exact,
//! and what processor time both took. `NETREEL_RECORDINGS` says how many of each; without it none is
//! made. `NETREEL_PROGRAMS` names those that are wanted, with commas between; `NETREEL_BINARY` is
//! another build of the command. `./dev campaign` makes twenty of each.
//!
//! `NETREEL_CORRUPTIONS` says how many corrupted copies are made of the first recording of each.

mod support;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use netreel_capture::preload::find_program;
use netreel_reel::{Event, OwnedRecord, Record, ThreadId};
use serde_json::Value;
use support::programs::{Bench, drawn, records, renumbered, text, with_event, write};

/// A program of a session.
#[derive(Clone)]
struct Node {
    name: &'static str,
    command: Vec<String>,
    /// Of `netreel record`, and of `netreel replay`.
    options: [&'static [&'static str]; 2],
    /// How long it has before the next one starts.
    ahead: Duration,
    /// It is asked to end when all others have.
    is_asked: bool,
    /// Whether it is replayed: some are only there to play.
    is_replayed: bool,
}

impl Node {
    fn new<T: AsRef<str>>(name: &'static str, command: &[T]) -> Node {
        Node {
            name,
            command: command.iter().map(|it| it.as_ref().to_owned()).collect(),
            options: [&[], &[]],
            ahead: Duration::from_millis(300),
            is_asked: false,
            is_replayed: true,
        }
    }
}

/// A session of programs, and how it is made for a port in a folder of its own.
type Session = (&'static str, fn(&Bench, &str) -> Option<Vec<Node>>);

const SESSIONS: &[Session] = &[
    ("enet", enet),
    ("room", room),
    ("godot", godot),
    ("quake", quake),
    ("client", client),
    ("asyncio", asyncio),
    ("java", java),
    ("queue", queue),
    ("minetest", minetest),
];

fn found(name: &str) -> Option<String> {
    let path = find_program(Path::new(name)).and_then(|path| path.canonicalize().ok());
    if path.is_none() {
        support::skipped(format_args!("there is no {name} here"));
    }
    Some(text(&path?).to_owned())
}

fn source(name: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name);
    text(&source).to_owned()
}

/// C ENet: a server and its client.
fn enet(bench: &Bench, port: &str) -> Option<Vec<Node>> {
    let program = bench.compile_with("enet", "cc", &["-lenet"])?;
    let node = |name, role| Node::new(name, &[text(&program), role, port, "400"]);
    Some(vec![node("SERVER", "server"), node("CLIENT", "client")])
}

/// The same with two clients.
fn room(bench: &Bench, port: &str) -> Option<Vec<Node>> {
    let program = bench.compile_with("room", "cc", &["-lenet"])?;
    let node = |name, role, count| Node::new(name, &[text(&program), role, port, count]);
    Some(vec![
        node("SERVER", "server", "2"),
        node("A", "client", "300"),
        node("B", "client", "200"),
    ])
}

fn godot(_: &Bench, _: &str) -> Option<Vec<Node>> {
    let godot = found("godot3-server")?;
    let project = source("godot");
    let node = |name, role: &str, seconds: &str| {
        let (role, seconds) = (format!("--role={role}"), format!("--seconds={seconds}"));
        Node::new(name, &[&godot, "--path", &project, &role, &seconds])
    };
    let (server, client) = (node("SERVER", "server", "9"), node("CLIENT", "client", "4"));
    let ahead = Duration::from_secs(1);
    Some(vec![Node { ahead, ..server }, client])
}

/// ioquake3's server with two bots, somebody who asks it how it is, and where one can be had a
/// client, which draws into memory: by itself a server sends nothing.
fn quake(bench: &Bench, port: &str) -> Option<Vec<Node>> {
    let server = found("/usr/lib/ioquake3/ioq3ded")?;
    let data = "/usr/lib/openarena-server";
    if !Path::new(data).join("baseoa").exists() {
        support::skipped("there is no OpenArena here");
        return None;
    }
    let sets = |program: &str, data: &str, pairs: &[(&str, &str)]| -> Vec<String> {
        let usual = [
            ("com_basegame", "baseoa"),
            ("fs_basepath", data),
            ("com_homepath", ".openarena"),
            ("com_protocol", "71"),
        ];
        let each = usual.iter().chain(pairs);
        let words = each.flat_map(|(name, value)| ["+set", name, value]);
        [program]
            .into_iter()
            .chain(words)
            .map(str::to_owned)
            .collect()
    };
    let mut command = sets(
        &server,
        data,
        &[
            ("dedicated", "1"),
            ("net_port", port),
            ("sv_master1", ""),
            ("ttycon", "0"),
        ],
    );
    let then = [
        "+map", "oa_dm1", "+addbot", "gargoyle", "3", "+addbot", "kyonshi", "3",
    ];
    command.extend(then.map(str::to_owned));
    let server = Node {
        ahead: Duration::from_secs(3),
        is_asked: true,
        ..Node::new("SERVER", &command)
    };
    let (game, client) = ("/usr/lib/openarena", "/usr/lib/ioquake3/ioquake3");
    let has_client = Path::new(game).join("baseoa/uix86_64.so").exists();
    let mut nodes = vec![server];
    if let (true, Some(client)) = (has_client, found(client)) {
        let mut command = sets(
            &client,
            game,
            &[
                ("r_fullscreen", "0"),
                ("r_mode", "-1"),
                ("r_customwidth", "160"),
                ("r_customheight", "120"),
                ("s_initsound", "0"),
                ("com_maxfps", "20"),
                // It looks no name up: one packet in eight that ask to come in ends with a byte of its
                // stack, an address on a heap that the C library has looked up in (docs/replay.md).
                ("cl_motd", "0"),
            ],
        );
        command.extend(["+connect".to_owned(), format!("127.0.0.1:{port}")]);
        // It leaves by its own command: its handler of a signal would run amid what it draws, and
        // where is not in a reel (docs/replay.md).
        command.extend(["+wait", "200", "+quit"].map(str::to_owned));
        nodes.push(Node {
            ahead: Duration::from_secs(25),
            is_replayed: false,
            ..Node::new("CLIENT", &command)
        });
    }
    let asks = bench.compile("asks");
    nodes.push(Node::new("ASKS", &[text(&asks), port, "20"]));
    Some(nodes)
}

/// The client of that session.
fn client(bench: &Bench, port: &str) -> Option<Vec<Node>> {
    let mut nodes = quake(bench, port)?;
    for node in &mut nodes {
        node.is_replayed = node.name == "CLIENT";
    }
    Some(nodes)
}

fn asyncio(_: &Bench, port: &str) -> Option<Vec<Node>> {
    let asked = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let python = String::from_utf8_lossy(&asked.ok()?.stdout)
        .trim()
        .to_owned();
    let script = source("programs/asyncio_echo.py");
    let node = |name, role: &str| Node::new(name, &[&python, &script, role, "300", port]);
    let (server, client) = (node("SERVER", "server"), node("CLIENT", "client"));
    let ahead = Duration::from_secs(1);
    Some(vec![Node { ahead, ..server }, client])
}

fn java(bench: &Bench, port: &str) -> Option<Vec<Node>> {
    let (java, javac) = (found("java")?, found("javac")?);
    let (classes, file) = (bench.at("classes"), source("programs/Echo.java"));
    let compiled = Command::new(javac)
        .args(["-d", text(&classes), &file])
        .status();
    assert!(compiled.unwrap().success());
    let node = |name, role: &str| {
        let quiet = ["-Xint", "-XX:+UseSerialGC", "-XX:-UsePerfData"];
        let mut command = vec![java.as_str()];
        command.extend(quiet);
        command.extend(["-cp", text(&classes), "Echo", role, port, "100"]);
        let options: [&'static [&'static str]; 2] = [&[], &["--threads", "packets"]];
        Node {
            options,
            ahead: Duration::from_secs(1),
            ..Node::new(name, &command)
        }
    };
    Some(vec![node("SERVER", "server"), node("CLIENT", "client")])
}

/// A worker that takes jobs from a queue.
fn queue(bench: &Bench, _: &str) -> Option<Vec<Node>> {
    let program = bench.compile("queue");
    Some(vec![Node::new("SERVER", &[text(&program), "20000"])])
}

/// Minetest's server with two clients that have windows.
fn minetest(bench: &Bench, port: &str) -> Option<Vec<Node>> {
    let server = found("/usr/lib/minetest/minetestserver")?;
    let (client, display) = (found("/usr/games/minetest")?, found("xvfb-run")?);
    let (own, theirs) = (bench.at("server.conf"), bench.at("client.conf"));
    let quiet = "enable_ipv6 = false\n";
    let more = "bind_address = 127.0.0.1\nserver_announce = false\n";
    std::fs::write(&own, format!("{quiet}{more}")).unwrap();
    let more = "enable_sound = false\nfps_max = 10\nviewing_range = 20\nenable_shaders = false\n";
    std::fs::write(&theirs, format!("{quiet}{more}")).unwrap();
    let world = bench.at("SERVER").join("world");
    let command = [
        &server,
        "--port",
        port,
        "--config",
        text(&own),
        "--world",
        text(&world),
        "--gameid",
        "minetest_game",
    ];
    let options: [&'static [&'static str]; 2] = [&["--one-thread-at-a-time"], &[]];
    let mut nodes = vec![Node {
        options,
        ahead: Duration::from_secs(4),
        is_asked: true,
        ..Node::new("SERVER", &command)
    }];
    for (name, player) in [("A", "anna"), ("B", "bert")] {
        let command = [
            "timeout",
            "20",
            &display,
            "-a",
            &client,
            "--config",
            text(&theirs),
            "--go",
            "--address",
            "127.0.0.1",
            "--port",
            port,
            "--name",
            player,
            "--password",
            "x",
        ];
        nodes.push(Node {
            is_replayed: false,
            ..Node::new(name, &command)
        });
    }
    Some(nodes)
}

/// A process that was started, in a home of its own.
struct Running {
    process: u32,
    ended: Option<(i32, f64)>,
}

/// The command, or the build of it that was asked for.
fn binary() -> PathBuf {
    let asked = std::env::var_os("NETREEL_BINARY").map(PathBuf::from);
    asked.unwrap_or_else(|| env!("CARGO_BIN_EXE_netreel").into())
}

#[expect(
    clippy::zombie_processes,
    reason = "it is waited for by number, for what it took"
)]
fn start(bench: &Bench, node: &Node, command: &mut Command, out: Stdio) -> Running {
    let home = bench.at(node.name);
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir(&home).unwrap();
    let child = command
        .env("HOME", &home)
        .env("LIBGL_ALWAYS_SOFTWARE", "1")
        .env("SDL_AUDIODRIVER", "dummy")
        // Drawn into memory, in the program's own thread, without what was drawn before and
        // without a program that is started to ask the desktop.
        .env("SDL_VIDEODRIVER", "offscreen")
        .env("LP_NUM_THREADS", "0")
        .env("MESA_SHADER_CACHE_DISABLE", "true")
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
        .env_remove("DISPLAY")
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(File::create(bench.at(&format!("{}.err", node.name))).unwrap())
        .spawn()
        .unwrap();
    let process = child.id();
    Running {
        process,
        ended: None,
    }
}

impl Running {
    /// Its exit code, and the processor time of it and of all that it waited for, in seconds; `None`
    /// while it runs.
    fn look(&mut self) -> Option<(i32, f64)> {
        if self.ended.is_some() {
            return self.ended;
        }
        let mut status = 0;
        // SAFETY: plain numbers; zeros are some.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        let process = self.process as libc::pid_t;
        // SAFETY: a child of this process, and places to write to.
        let waited = unsafe { libc::wait4(process, &mut status, libc::WNOHANG, &mut usage) };
        if waited != process {
            return None;
        }
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let taken = seconds(usage.ru_utime) + seconds(usage.ru_stime);
        let code = match libc::WIFEXITED(status) {
            true => libc::WEXITSTATUS(status),
            false => 128 + libc::WTERMSIG(status),
        };
        self.ended = Some((code, taken));
        self.ended
    }

    /// The same when it has ended; one that hangs is killed after three minutes.
    fn end(&mut self) -> (i32, f64) {
        let begun = Instant::now();
        loop {
            if let Some(ended) = self.look() {
                return ended;
            }
            if begun.elapsed() > Duration::from_secs(180) {
                support::signal(self.process, libc::SIGKILL);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Plays and records a session: the processor time of each node, its recorder's included.
fn recorded(bench: &Bench, nodes: &[Node]) -> Vec<f64> {
    let out = bench.out();
    let start = |node: &Node| {
        let mut command = Command::new(binary());
        command.args(["record", "--out", text(&out), "--name", node.name]);
        command.args(node.options[0]).arg("--").args(&node.command);
        let running = start(bench, node, &mut command, Stdio::null());
        std::thread::sleep(node.ahead);
        running
    };
    let mut all: Vec<Running> = nodes.iter().map(start).collect();
    let both = || nodes.iter().enumerate();
    for (place, _) in both().filter(|(_, node)| !node.is_asked) {
        all[place].end();
    }
    // Clients before their server.
    for (place, _) in both().rev().filter(|(_, node)| node.is_asked) {
        support::signal(all[place].process, libc::SIGTERM);
        all[place].end();
    }
    all.iter_mut().map(|it| it.end().1).collect()
}

/// What a replay says, its exit code and its processor time.
fn replayed(bench: &Bench, reels: &Path, node: &Node, patience: &str) -> (Value, i32, f64) {
    let told = bench.at(&format!("{}.told", node.name));
    let mut command = Command::new(binary());
    command.args(["replay", text(reels), "--node", node.name, "--json"]);
    command.args(["--patience", patience]).args(node.options[1]);
    command.arg("--").args(&node.command);
    let out = Stdio::from(File::create(&told).unwrap());
    let (code, taken) = start(bench, node, &mut command, out).end();
    let said = std::fs::read_to_string(&told).unwrap();
    let value = serde_json::from_str(&said).unwrap_or(Value::Null);
    (value, code, taken)
}

fn number(variable: &str) -> u64 {
    let asked = std::env::var(variable).ok();
    asked.map_or(0, |it| it.parse().expect("a number"))
}

/// The sessions that are wanted.
fn wanted() -> impl Iterator<Item = &'static Session> {
    let asked = std::env::var("NETREEL_PROGRAMS").ok();
    SESSIONS.iter().filter(move |(name, _)| {
        let asked = asked.as_deref();
        asked.is_none_or(|asked| asked.split(',').any(|it| it == *name))
    })
}

#[test]
fn each_recording_of_strangers_programs_is_exact() {
    let recordings = number("NETREEL_RECORDINGS");
    let mut inexact = Vec::new();
    for (name, session) in wanted().filter(|_| recordings > 0) {
        let mut sums: Vec<Sum> = Vec::new();
        for turn in 0..recordings {
            let bench = Bench::new();
            let port = support::free_port().to_string();
            let Some(nodes) = session(&bench, &port) else {
                break;
            };
            let taken = recorded(&bench, &nodes);
            sums.resize_with(nodes.len(), Sum::default);
            let each = nodes.iter().zip(&taken).zip(&mut sums);
            for ((node, taken), sum) in each.filter(|((node, _), _)| node.is_replayed) {
                let (told, code, again) = replayed(&bench, &bench.out(), node, "20");
                sum.name = node.name;
                sum.of += 1;
                sum.recorded += taken;
                sum.replayed += again;
                sum.sends += told["sends"].as_u64().unwrap_or(0);
                sum.sends_recorded += told["sends_recorded"].as_u64().unwrap_or(0);
                sum.lines += told["lines"].as_u64().unwrap_or(0);
                match code {
                    0 => sum.exact += 1,
                    _ => {
                        // Without its numbers; what was not played has nothing else to tell.
                        let why = reason(&bench, node, &told).unwrap_or_default();
                        inexact.push(format!("{name} {turn} {}: {why}: {told}", node.name));
                    }
                }
            }
        }
        for sum in sums.iter().filter(|sum| sum.of > 0) {
            println!("{name} {sum}");
        }
    }
    for told in &inexact {
        println!("not exact: {told}");
    }
    assert!(inexact.is_empty(), "{} were not exact", inexact.len());
}

/// What the recordings of a node came to.
#[derive(Default)]
struct Sum {
    name: &'static str,
    of: u32,
    exact: u32,
    sends: u64,
    sends_recorded: u64,
    lines: u64,
    recorded: f64,
    replayed: f64,
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: {} of {} exact, {} of {} sends equal, {} lines; {:.2} s of processor time recorded, \
             {:.2} s replayed, {:.2} times",
            self.name,
            self.exact,
            self.of,
            self.sends,
            self.sends_recorded,
            self.lines,
            self.recorded,
            self.replayed,
            self.replayed / self.recorded.max(1e-9)
        )
    }
}

/// Whether it is a step that the program is held to.
fn is_step(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::Sent { .. }
            | Event::Received { .. }
            | Event::PollEmpty { .. }
            | Event::ClockRead { .. }
    )
}

/// Changes one thing of which a replay has to speak: a packet that was sent says something else, or
/// goes elsewhere; a step is gone, and its number is a hole; two steps of one thread are exchanged; a
/// packet is another thread's.
/// What was done, in words; `None`: nothing of the kind can be done here.
fn corrupt(all: &mut Vec<OwnedRecord>, seed: u64) -> Option<String> {
    let way = drawn(seed ^ 0xff) % 5;
    let others = |thread: ThreadId| {
        let steps = all.iter().map(|it| it.as_record());
        let mut steps = steps.filter(|it| is_step(&it.event) && it.thread != thread);
        steps.next().map(|it| it.thread)
    };
    let fits = |at: &usize| {
        let record = all[*at].as_record();
        match (way, record.event) {
            (0, Event::Sent { payload, .. }) => !payload.is_empty(),
            (1, Event::Sent { .. }) => true,
            (2, event) => is_step(&event),
            (3, event) => all.get(at + 1).is_some_and(|next| {
                let next = next.as_record();
                let both = is_step(&event) && is_step(&next.event);
                both && next.event.kind() != event.kind() && next.thread == record.thread
            }),
            (4, Event::Sent { .. } | Event::Received { .. }) => others(record.thread).is_some(),
            _ => false,
        }
    };
    let places: Vec<usize> = (0..all.len()).filter(fits).collect();
    let at = *places.get(drawn(seed) as usize % places.len().max(1))?;
    let record = all[at].as_record();
    let number = record.number;
    let (told, copy) = match (way, record.event) {
        (
            0,
            Event::Sent {
                socket,
                to,
                payload,
            },
        ) => {
            let mut payload = payload.to_vec();
            let byte = drawn(seed ^ 0xabc) as usize % payload.len();
            payload[byte] ^= 1 << (drawn(seed ^ 0xdef) % 8);
            let event = Event::Sent {
                socket,
                to,
                payload: &payload,
            };
            (
                format!("event {number} has another byte {byte}"),
                with_event(&record, event),
            )
        }
        (
            1,
            Event::Sent {
                socket,
                mut to,
                payload,
            },
        ) => {
            to.set_port(to.port() ^ 1);
            let event = Event::Sent {
                socket,
                to,
                payload,
            };
            (
                format!("event {number} goes elsewhere"),
                with_event(&record, event),
            )
        }
        (4, _) => {
            let thread = others(record.thread)?;
            let told = format!("event {number} is another thread's");
            (told, OwnedRecord::copy_of(&Record { thread, ..record }))
        }
        (2, _) => {
            all.remove(at);
            return Some(format!("event {number} is gone"));
        }
        _ => {
            let next = all[at + 1].as_record();
            let both = (renumbered(&next, number), renumbered(&record, next.number));
            (all[at], all[at + 1]) = both;
            return Some(format!("event {number} and the next one are exchanged"));
        }
    };
    all[at] = copy;
    Some(told)
}

/// Why a corrupted recording is not exact, without its numbers; `None` where no reason is told.
fn reason(bench: &Bench, node: &Node, told: &Value) -> Option<String> {
    let why = match told["result"].as_str() {
        Some(result) => result.to_owned(),
        None => {
            let said = std::fs::read_to_string(bench.at(&format!("{}.err", node.name))).ok()?;
            let mut ours = said.lines().filter_map(|it| it.strip_prefix("netreel: "));
            ours.next_back()?.to_owned()
        }
    };
    Some(why.replace(|letter: char| letter.is_ascii_digit(), ""))
}

#[test]
fn corrupted_recordings_of_strangers_programs_are_never_exact_and_never_hang() {
    let corruptions = number("NETREEL_CORRUPTIONS");
    let mut wrong = Vec::new();
    for (name, session) in wanted().filter(|_| corruptions > 0) {
        let bench = Bench::new();
        let port = support::free_port().to_string();
        let Some(nodes) = session(&bench, &port) else {
            continue;
        };
        recorded(&bench, &nodes);
        for node in nodes.iter().filter(|node| node.is_replayed) {
            let reels = bench.reels();
            let (_, reel) = reels
                .iter()
                .find(|(it, _)| it == node.name)
                .expect("its reel");
            let all = records(reel);
            let folder = bench.at(&format!("{}.corrupted", node.name));
            std::fs::create_dir(&folder).unwrap();
            let path = folder.join(format!("{}.reel", node.name));
            // Written anew without a change it is exact: else what follows says nothing.
            write(&path, reel, &all);
            let (told, code, _) = replayed(&bench, &folder, node, "20");
            if code != 0 {
                wrong.push(format!(
                    "{name} {}: unchanged: code {code}, {told}",
                    node.name
                ));
                continue;
            }
            let (mut done, mut seed, mut reasons) = (0, 0, BTreeMap::<String, u64>::new());
            while done < corruptions {
                seed += 1;
                let mut changed = all.clone();
                let Some(what) = corrupt(&mut changed, seed) else {
                    continue;
                };
                done += 1;
                write(&path, reel, &changed);
                let (told, code, _) = replayed(&bench, &folder, node, "5");
                let reason = reason(&bench, node, &told).filter(|_| matches!(code, 1 | 2));
                match reason {
                    Some(reason) => *reasons.entry(reason).or_default() += 1,
                    None => {
                        wrong.push(format!("{name} {}: {what}: code {code}, {told}", node.name));
                    }
                }
            }
            println!("{name} {}: {done} corrupted: {reasons:?}", node.name);
            // A recording in which only clocks are read can be refused for its holes alone.
            let parted = reasons.keys().any(|it| it == "divergence");
            if !parted {
                wrong.push(format!(
                    "{name} {}: none was played to where it parts",
                    node.name
                ));
            }
        }
    }
    for told in &wrong {
        println!("wrong: {told}");
    }
    assert!(wrong.is_empty(), "{} were wrong", wrong.len());
}
