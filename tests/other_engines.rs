//! Engines that are not in Rust and were not changed, as `docs/engines.md` has them: a game of Godot 3 that
//! says what it believes, and WebRTC's data channels between two peers of aiortc.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use netreel_capture::preload::find_program;
use serde_json::Value;
use support::netreel;
use support::programs::{Bench, text};

/// A folder of `samples/engines`.
fn sample(name: &str) -> PathBuf {
    let engines = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/engines");
    engines.join(name)
}

/// Records a program as a node, in a home of its own.
fn record(bench: &Bench, name: &str, command: &[&str]) -> Child {
    let home = bench.at(name);
    std::fs::create_dir(&home).expect("a home");
    let mut recorder = support::command();
    recorder
        .args(["record", "--out", text(&bench.out()), "--name", name, "--"])
        .args(command)
        .env("HOME", &home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    recorder.spawn().expect("a recorder")
}

/// What a command of netreel says of the recording in JSON, read by a wire of `samples/wires`.
fn told(bench: &Bench, command: &str, wire: &str) -> Value {
    let wire = sample("../wires").join(wire);
    let out = bench.out();
    let arguments = [
        command,
        text(&out),
        "--wire",
        text(&wire),
        "--json",
        "--no-index",
    ];
    netreel(&arguments).json()
}

/// A server of Godot and two clients, each with its command; the client B is deaf for what becomes of crate
/// 3.
struct Crates {
    bench: Bench,
    commands: Vec<(&'static str, Vec<String>)>,
}

impl Crates {
    fn play(deaf: bool) -> Option<Crates> {
        let Some(godot) = find_program(Path::new("godot3-server")) else {
            support::skipped("godot3-server is not installed");
            return None;
        };
        let (bench, project) = (Bench::new(), sample("godot"));
        let port = format!("--port={}", support::free_port());
        let command = |role: &str| {
            let words = [
                text(&godot),
                "--path",
                text(&project),
                role,
                &port,
                "--seconds=4",
            ];
            words.map(str::to_owned).to_vec()
        };
        let mut commands = vec![("SERVER", command("--role=server"))];
        commands.push(("A", command("--role=client")));
        commands.push(("B", command("--role=client")));
        if deaf {
            commands[2].1.push("--deaf".to_owned());
        }
        let mut nodes = Vec::new();
        for (name, command) in &commands {
            let command: Vec<&str> = command.iter().map(String::as_str).collect();
            nodes.push(record(&bench, name, &command));
        }
        for node in &mut nodes {
            assert_eq!(support::ended(node).code(), Some(0));
        }
        Some(Crates { bench, commands })
    }
}

#[test]
fn a_game_of_godot_says_what_it_believes_and_replays_exactly() {
    let Some(played) = Crates::play(false) else {
        return;
    };
    let checked = told(&played.bench, "check", "godot3.wire");
    // On a busy machine packets come late and are sent again.
    for finding in checked["findings"].as_array().expect("findings") {
        let rule = finding["rule"].as_str().expect("a rule");
        assert!(
            !rule.starts_with("belief-") && finding["level"] != "error",
            "{finding:#}"
        );
    }
    for (name, command) in &played.commands {
        let home = played.bench.at(name);
        std::fs::remove_dir_all(&home).expect("the home");
        std::fs::create_dir(&home).expect("a home");
        let out = played.bench.out();
        let mut arguments = vec!["replay", text(&out), "--node", name, "--json", "--"];
        arguments.extend(command.iter().map(String::as_str));
        let replayed = netreel(&arguments).expect(0).json();
        assert_eq!(replayed["result"], "exact", "{name}: {replayed:#}");
        assert!(
            replayed["sends"].as_u64() > Some(100),
            "{name}: {replayed:#}"
        );
    }
}

#[test]
fn a_client_of_godot_that_misses_who_owns_a_crate_is_found() {
    let Some(played) = Crates::play(true) else {
        return;
    };
    let checked = told(&played.bench, "check", "godot3.wire");
    let findings = checked["findings"].as_array().expect("findings");
    let differs = findings.iter().find(|it| it["rule"] == "belief-differs");
    let said = differs
        .and_then(|it| it["sentence"].as_str())
        .unwrap_or_default();
    assert!(said.starts_with("the game of B believes that "), "{said}");
    assert!(
        said.contains(" owns object 3, and by the rules of the wire "),
        "{said}"
    );
}

/// Python with aiortc.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("NETREEL_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| "target/python/bin/python".into());
    let asked = Command::new(&python).args(["-c", "import aiortc"]).output();
    if asked.is_ok_and(|it| it.status.success()) {
        return Some(python);
    }
    support::skipped("aiortc is not installed: pip install aiortc");
    None
}

#[test]
fn data_channels_of_webrtc_are_recorded_and_read() {
    let Some(python) = python() else {
        return;
    };
    let (bench, peer) = (Bench::new(), sample("webrtc/peer.py"));
    let meeting = bench.at("meeting");
    std::fs::create_dir(&meeting).expect("a folder");
    let mut nodes = ["offer", "answer"].map(|role| {
        let command = [text(&python), text(&peer), role, text(&meeting)];
        record(&bench, role, &command)
    });
    for node in &mut nodes {
        assert_eq!(support::ended(node).code(), Some(0));
    }
    let wire = sample("../wires/webrtc.wire");
    let out = bench.out();
    let arguments = [
        "packets",
        text(&out),
        "--wire",
        text(&wire),
        "--json",
        "--no-index",
    ];
    let packets = netreel(&arguments).expect(0).out;
    let packets = packets
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut sealed = 0;
    for packet in packets {
        assert_eq!(packet["diagnostics"], 0, "{packet:#}");
        // Nobody else was asked.
        let ends = [&packet["from"], &packet["to"]];
        assert!(
            ends == ["offer", "answer"] || ends == ["answer", "offer"],
            "{packet:#}"
        );
        let messages = packet["messages"].as_array().expect("messages");
        assert!(!messages.is_empty(), "{packet:#}");
        sealed += messages
            .iter()
            .filter(|it| it["kind"] == "application_data")
            .count();
    }
    // 80 messages each way, acks besides.
    assert!(sealed > 160, "{sealed}");
    for node in told(&bench, "info", "webrtc.wire")["nodes"]
        .as_array()
        .expect("nodes")
    {
        let endpoints = node["endpoints"].as_array().expect("endpoints");
        let is_loopback = |it: &Value| it.as_str().is_some_and(|it| it.starts_with("127.0.0.1:"));
        assert!(
            !endpoints.is_empty() && endpoints.iter().all(is_loopback),
            "{node:#}"
        );
    }
}
