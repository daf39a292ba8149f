//! Replays under a debugger.

mod support;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use netreel_reel::Event;
use serde_json::Value;
use support::programs::{Bench, records, text};
use support::{demo, netreel};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    demo("host", 7, folder.path()).expect(0);
    folder
}

/// What gdb says to a command that `--gdb` printed, with more commands after `run`; nothing where
/// there is no gdb, or it may not trace.
fn under_gdb(line: &str, environment: &[(&str, &Path)], after: &[&str]) -> Option<String> {
    let script = after.iter().map(|it| format!(" -ex '{it}'"));
    let script: String = script.collect();
    let line = line.replacen("gdb -q", "gdb -q -batch -nx", 1);
    let line = line.replacen(" -ex run", &format!(" -ex run{script}"), 1);
    let sets = environment.iter();
    let sets =
        sets.map(|(name, value)| format!(" -ex 'set environment {name} {}'", value.display()));
    let sets: String = sets.collect();
    let line = line.replacen(" -batch", &format!(" -batch{sets}"), 1);
    let ran = Command::new("sh")
        .args(["-c", &line])
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let err = String::from_utf8_lossy(&ran.stderr).into_owned();
    let is_there = !err.contains("gdb: not found") && !err.contains("ptrace");
    if !is_there {
        support::skipped(format_args!("{err}"));
    }
    is_there.then_some(said + &err)
}

/// The commands for gdb, a node each.
fn lines(arguments: &[&str]) -> Vec<String> {
    let ran = netreel(arguments).expect(0);
    ran.out.lines().map(str::to_owned).collect()
}

#[test]
fn gdb_stops_before_the_event_with_the_layer_on_the_stack() {
    let folder = folder();
    let path = text(folder.path());
    let filter = "kind == migrate && to == X";
    let lines = lines(&["replay", path, "--node", "X", "--gdb", filter]);
    let [line] = lines.as_slice() else {
        panic!("{lines:?}");
    };
    let Some(said) = under_gdb(line, &[], &["backtrace 12", "continue"]) else {
        return;
    };
    assert!(said.contains("Breakpoint 1, "), "{said}");
    assert!(said.contains("NetLayer"), "the layer receives it: {said}");
    assert!(said.contains("X: exact"), "and the rest is exact: {said}");
}

/// Moves the clocks of a process on by an hour, once a file is there.
const HOUR: &str = "\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, \"clock_gettime\");
  int result = real(clock, now);
  const char *file = getenv(\"HOUR_HAS_PASSED\");
  if (file && access(file, F_OK) == 0) now->tv_sec += 3600;
  return result;
}
";

/// A library of this text.
fn library(bench: &Bench, code: &str) -> PathBuf {
    let (source, library) = (bench.at("hour.c"), bench.at("hour.so"));
    std::fs::write(&source, code).expect("a file");
    let arguments = [
        "-shared",
        "-fPIC",
        "-o",
        text(&library),
        text(&source),
        "-ldl",
    ];
    let compiled = Command::new("cc").args(arguments).status();
    assert!(compiled.expect("a C compiler").success());
    library
}

#[test]
fn an_hour_in_a_program_that_is_started_again_changes_nothing() {
    let bench = Bench::new();
    let program = bench.compile("pair");
    let command = [text(&program), "20"];
    bench.record(&[], &command).expect(0);
    let sends = records(&bench.reel()).into_iter().filter_map(|it| {
        let record = it.as_record();
        matches!(record.event, Event::Sent { .. }).then_some(record.number)
    });
    let until = format!("event {}", sends.collect::<Vec<_>>()[10]);
    let (out, hour, passed) = (bench.out(), library(&bench, HOUR), bench.at("passed"));
    // Who watches over it has a second's patience, and sees the hour pass.
    let mut replay = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["replay", text(&out), "--until", &until, "--patience", "1"])
        .args(["--json", "--"])
        .args(command)
        .env("LD_PRELOAD", &hour)
        .env("HOUR_HAS_PASSED", &passed)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut told = BufReader::new(replay.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("is stopped before") {
        line.clear();
        let read = told.read_line(&mut line).expect("text");
        assert!(read > 0, "it says where it is");
    }
    let pid = line.split("process ").nth(1).expect("a number");
    let pid = pid.split(' ').next().expect("a number");
    let passes = format!("shell touch {}", text(&passed));
    let gdb = Command::new("gdb")
        .args(["-q", "-batch", "-nx", "-p", pid, "-ex", "break sendto"])
        .args(["-ex", "handle SIGSTOP nostop nopass"])
        .args(["-ex", "continue", "-ex", "backtrace"])
        .args(["-ex", &passes, "-ex", "shell sleep 3", "-ex", "delete"])
        .args(["-ex", "continue"])
        .output();
    let said = gdb.map_or_else(
        |error| format!("gdb: {error}"),
        |ran| {
            let texts =
                [ran.stdout, ran.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
            texts.concat()
        },
    );
    if !said.contains("exited normally") {
        assert!(!said.contains("in sendto ()"), "{said}");
        support::skipped(format_args!("{said}"));
        support::signal(pid.parse().expect("a number"), libc::SIGKILL);
        replay.wait().expect("it ends");
        return;
    }
    assert!(said.contains("in sendto ()"), "{said}");
    let output = replay.wait_with_output().expect("it ends");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(told["result"], "exact", "{told} {said}");
    assert_eq!(told["sends"], 20);
    assert!(passed.exists());
}

#[test]
fn an_hour_at_a_breakpoint_changes_nothing_with_all_time_outs_on() {
    let folder = folder();
    let bench = Bench::new();
    let (library, passed) = (library(&bench, HOUR), bench.at("passed"));
    let path = text(folder.path());
    let lines = lines(&[
        "replay",
        path,
        "--node",
        "A",
        "--set",
        "time_outs=true",
        "--time-outs",
        "on",
        "--gdb",
        "time 0.3s",
    ]);
    // Not by a call: on processors with AMX gdb 13 can make none.
    let passes = format!("shell touch {}", text(&passed));
    let environment: [(&str, &Path); 2] = [("LD_PRELOAD", &library), ("HOUR_HAS_PASSED", &passed)];
    let Some(said) = under_gdb(&lines[0], &environment, &[&passes, "continue"]) else {
        return;
    };
    assert!(said.contains("Breakpoint 1, "), "{said}");
    assert!(passed.exists(), "the hour has passed: {said}");
    assert!(said.contains("A: exact"), "{said}");
}

#[test]
fn for_several_nodes_there_is_a_command_each() {
    let folder = folder();
    let lines = lines(&["replay", text(folder.path()), "--gdb", "time 0.3s"]);
    let nodes: Vec<&str> = lines
        .iter()
        .map(|line| line.rsplit("--node ").next().expect("a node"))
        .collect();
    assert_eq!(nodes, ["HOST", "A", "B", "X"]);
}

#[test]
fn a_launch_file_starts_all_nodes_at_once() {
    let folder = folder();
    // The folder is made.
    let launch = folder.path().join(".vscode/launch.json");
    let arguments = [
        "replay",
        text(folder.path()),
        "--gdb",
        "time 0.3s",
        "--vscode",
    ];
    netreel(&[&arguments[..], &[text(&launch)]].concat()).expect(0);
    let written = std::fs::read_to_string(&launch).expect("the file");
    let written: Value = serde_json::from_str(&written).expect("JSON");
    let configurations = written["configurations"].as_array().expect("an array");
    assert_eq!(configurations.len(), 4);
    for configuration in configurations {
        let breakpoint = configuration["setupCommands"][1]["text"].as_str();
        assert!(
            breakpoint
                .expect("a command")
                .starts_with("break *netreel_before_event if ")
        );
        assert_eq!(configuration["args"][0], "replay");
    }
    let names: Vec<&Value> = configurations.iter().map(|it| &it["name"]).collect();
    let compound = written["compounds"][0]["configurations"].as_array();
    assert_eq!(compound.expect("names").iter().collect::<Vec<_>>(), names);
    // One of its own may be written again, somebody else's not.
    netreel(&[&arguments[..], &[text(&launch)]].concat()).expect(0);
    let own = std::fs::read_to_string(&launch).expect("the file");
    let with = |more: &str| own.replacen('{', &format!("{{ {more},"), 1);
    for other in [
        r#"{ "configurations": [{ "name": "my game", "program": "game" }] }"#.to_owned(),
        with(r#""inputs": [{ "id": "port", "type": "promptString" }]"#),
        own.replacen("all nodes", "my game and all nodes", 1),
    ] {
        std::fs::write(&launch, &other).expect("room");
        let ran = netreel(&[&arguments[..], &[text(&launch)]].concat()).expect(2);
        let is_told = ran.err.contains("with more than netreel writes in it");
        assert!(is_told, "{other}: {}", ran.err);
        let left = std::fs::read_to_string(&launch).expect("the file");
        assert_eq!(left, other);
    }
}

#[test]
fn what_is_wrong_at_every_node_is_said_once() {
    let folder = folder();
    let ran = netreel(&["replay", text(folder.path()), "--gdb", "finding nope"]).expect(2);
    assert_eq!(
        ran.err.matches("by the rule `nope`").count(),
        1,
        "{}",
        ran.err
    );
}

#[test]
fn what_never_happens_at_a_node_is_told() {
    let folder = folder();
    let ran = netreel(&[
        "replay",
        text(folder.path()),
        "--node",
        "X",
        "--gdb",
        "event 99999999",
    ])
    .expect(2);
    assert!(
        ran.err.contains("nothing in the reel of X fits"),
        "{}",
        ran.err
    );
}
