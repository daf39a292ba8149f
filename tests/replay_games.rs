//! Programs of strangers, recorded and started again. Each is skipped by name where it is missing.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use netreel_capture::preload::find_program;
use support::netreel;
use support::programs::{Bench, text};

/// A program of this machine; `None`, with a word, where there is none.
fn program(name: &str) -> Option<PathBuf> {
    let found = find_program(Path::new(name)).and_then(|path| path.canonicalize().ok());
    if found.is_none() {
        support::skipped(format_args!("there is no {name} here"));
    }
    found
}

/// A node that is recorded in a home of its own, which is empty.
struct Node {
    name: &'static str,
    command: Vec<String>,
    home: PathBuf,
    recorder: Child,
}

impl Node {
    fn start(bench: &Bench, name: &'static str, command: &[&str]) -> Node {
        Node::start_with(bench, name, &[], command)
    }

    /// The same with further options of the recorder.
    fn start_with(bench: &Bench, name: &'static str, options: &[&str], command: &[&str]) -> Node {
        let home = bench.at(name);
        std::fs::create_dir(&home).unwrap();
        let recorder = Command::new(env!("CARGO_BIN_EXE_netreel"))
            .args(["record", "--out", text(&bench.out()), "--name", name])
            .args(options)
            .arg("--")
            .args(command)
            .env("HOME", &home)
            .env("SDL_VIDEODRIVER", "dummy")
            .env("SDL_AUDIODRIVER", "dummy")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Node {
            name,
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            home,
            recorder,
        }
    }

    /// Waits for its end; asks for it with a signal.
    fn end(&mut self, signal: Option<i32>) {
        if let Some(signal) = signal {
            support::signal(self.recorder.id(), signal);
        }
        support::ended(&mut self.recorder);
    }

    /// How many sends were equal in a replay, which is exact.
    #[track_caller]
    fn expect_exact(&self, bench: &Bench) -> u64 {
        self.expect_exact_with(bench, &[])
    }

    /// The same with further options.
    #[track_caller]
    fn expect_exact_with(&self, bench: &Bench, options: &[&str]) -> u64 {
        // Files are as they were: what it wrote is gone.
        let _ = std::fs::remove_dir_all(&self.home);
        std::fs::create_dir(&self.home).unwrap();
        let out = bench.out();
        let mut arguments = vec!["replay", text(&out), "--node", self.name, "--json"];
        arguments.extend(options);
        arguments.push("--");
        arguments.extend(self.command.iter().map(String::as_str));
        let ran = netreel(&arguments).expect(0);
        let told = ran.json();
        assert_eq!(told["result"], "exact", "{}", ran.out);
        assert_eq!(told["sends"], told["sends_recorded"]);
        told["sends"].as_u64().unwrap()
    }
}

fn free_port() -> String {
    support::free_port().to_string()
}

#[test]
fn a_server_and_a_client_of_godot_are_exact() {
    let Some(godot) = program("godot3-server") else {
        return;
    };
    let bench = Bench::new();
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/godot");
    let node = |name, role: &str, seconds: &str| {
        let (role, seconds) = (format!("--role={role}"), format!("--seconds={seconds}"));
        let command = [text(&godot), "--path", text(&project), &role, &seconds];
        Node::start(&bench, name, &command)
    };
    let mut server = node("SERVER", "server", "12");
    std::thread::sleep(Duration::from_secs(1));
    let mut client = node("CLIENT", "client", "3");
    client.end(None);
    server.end(None);
    assert!(client.expect_exact(&bench) > 0);
    assert!(server.expect_exact(&bench) > 0);
}

#[test]
fn openjdks_datagram_socket_is_exact_without_its_compiler_in_another_thread() {
    let (Some(java), Some(javac)) = (program("java"), program("javac")) else {
        return;
    };
    let bench = Bench::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/Echo.java");
    let classes = bench.at("classes");
    let compiled = Command::new(javac)
        .args(["-d", text(&classes), text(&source)])
        .status();
    assert!(compiled.unwrap().success());
    let port = free_port();
    let node = |name, role: &str| {
        let command = [
            text(&java),
            "-Xint",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
            "-cp",
            text(&classes),
            "Echo",
            role,
            &port,
            "10",
        ];
        Node::start(&bench, name, &command)
    };
    let mut server = node("SERVER", "server");
    let mut client = node("CLIENT", "client");
    client.end(None);
    server.end(None);
    // The others wait for each other by looking at memory.
    let alone = ["--threads", "packets"];
    assert!(client.expect_exact_with(&bench, &alone) >= 10);
    assert_eq!(server.expect_exact_with(&bench, &alone), 10);
}

#[test]
fn what_the_processor_gives_a_program_in_cpp_at_random_is_as_it_was() {
    let bench = Bench::new();
    let Some(program) = bench.compile_with("chance", "g++", &[]) else {
        return;
    };
    let command = [text(&program)];
    bench.record(&[], &command).expect(0);
    bench.expect_exact(&command);
}

#[test]
fn a_server_of_chocolate_doom_that_is_told_to_end_is_exact() {
    let Some(server) = program("/usr/games/chocolate-server") else {
        return;
    };
    let bench = Bench::new();
    let port = free_port();
    let mut node = Node::start(
        &bench,
        "SERVER",
        &[text(&server), "-port", &port, "-privateserver"],
    );
    let here = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    here.set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    // NET_PACKET_TYPE_QUERY.
    let answered = (0..100).any(|_| {
        here.send_to(&[0, 13], format!("127.0.0.1:{port}")).unwrap();
        here.recv(&mut [0; 1500]).is_ok()
    });
    node.end(Some(libc::SIGTERM));
    assert!(answered);
    assert!(node.expect_exact(&bench) > 0);
}

#[test]
fn a_server_of_quake_3_with_bots_is_exact() {
    let server = program("/usr/lib/ioquake3/ioq3ded");
    let data = Path::new("/usr/lib/openarena-server/baseoa").exists();
    let Some(server) = server.filter(|_| data) else {
        support::skipped("there is no OpenArena here");
        return;
    };
    let bench = Bench::new();
    let port = free_port();
    let mut command = vec![text(&server)];
    let set = |name, value| ["+set", name, value];
    for pair in [
        set("com_basegame", "baseoa"),
        set("fs_basepath", "/usr/lib/openarena-server"),
        set("com_homepath", ".openarena"),
        set("dedicated", "1"),
        set("com_protocol", "71"),
        set("net_port", &port),
        set("sv_master1", ""),
        set("ttycon", "0"),
    ] {
        command.extend(pair);
    }
    command.extend([
        "+map", "oa_dm1", "+addbot", "gargoyle", "3", "+addbot", "kyonshi", "3",
    ]);
    let mut node = Node::start(&bench, "SERVER", &command);
    let here = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    here.set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let mut answers = 0;
    for _ in 0..200 {
        let status = b"\xff\xff\xff\xffgetstatus";
        here.send_to(status, format!("127.0.0.1:{port}")).unwrap();
        answers += u32::from(here.recv(&mut [0; 4000]).is_ok());
        if answers == 5 {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    node.end(Some(libc::SIGTERM));
    assert!(answers > 0, "it has begun");
    assert!(node.expect_exact(&bench) >= u64::from(answers));
}

/// A server of the machine's own games, which is asked something now and then.
#[track_caller]
fn asked(
    bench: &Bench,
    options: &'static [&'static str],
    command: &[&str],
    ask: &[u8],
    port: &str,
) -> Node {
    let mut node = Node::start_with(bench, "SERVER", options, command);
    let here = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    here.set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let mut answers = 0;
    for _ in 0..150 {
        here.send_to(ask, format!("127.0.0.1:{port}")).unwrap();
        answers += u32::from(here.recv(&mut [0; 4000]).is_ok());
        if answers == 20 {
            break;
        }
    }
    node.end(Some(libc::SIGINT));
    assert!(answers > 0, "it has begun");
    node
}

#[test]
fn a_server_of_teeworlds_is_exact() {
    let Some(server) = program("/usr/games/teeworlds-server") else {
        return;
    };
    for options in [&[][..], &["--one-thread-at-a-time"]] {
        let bench = Bench::new();
        let port = free_port();
        let asked_port = format!("sv_port {port}");
        let command = [
            text(&server),
            "sv_register 0",
            "bindaddr 127.0.0.1",
            &asked_port,
        ];
        // A control packet that asks for a token.
        let mut token = [0; 520];
        token[..12].copy_from_slice(&[4, 0, 0, 255, 255, 255, 255, 5, 0x12, 0x34, 0x56, 0x78]);
        let node = asked(&bench, options, &command, &token, &port);
        assert!(node.expect_exact(&bench) > 0);
    }
}

#[test]
fn a_server_of_minetest_is_exact_with_one_thread_at_a_time() {
    let server = program("/usr/lib/minetest/minetestserver");
    let game = Path::new("/usr/share/games/minetest/games/minetest_game").exists();
    let Some(server) = server.filter(|_| game) else {
        support::skipped("there is no server of Minetest with a game here");
        return;
    };
    let bench = Bench::new();
    let port = free_port();
    let (world, settings) = (bench.at("SERVER/world"), bench.at("settings"));
    std::fs::write(
        &settings,
        "bind_address = 127.0.0.1\nserver_announce = false\nenable_ipv6 = false\n",
    )
    .unwrap();
    let command = [
        text(&server),
        "--port",
        &port,
        "--config",
        text(&settings),
        "--world",
        text(&world),
        "--gameid",
        "minetest_game",
    ];
    // A peer that has no number yet.
    let hello = [0x4f, 0x45, 0x74, 0x03, 0, 0, 0, 1];
    let node = asked(&bench, &["--one-thread-at-a-time"], &command, &hello, &port);
    assert!(node.expect_exact(&bench) > 0);
}
