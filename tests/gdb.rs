//! Replays under a debugger.

mod support;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::programs::{Bench, text};
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
        println!("skipped: {err}");
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

/// Moves the clocks of a process on by an hour, once a debugger says so.
const HOUR: &str = "\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
static long ahead;
long an_hour_passes(void) { return ahead += 3600; }
int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, \"clock_gettime\");
  int result = real(clock, now);
  now->tv_sec += ahead;
  return result;
}
";

#[test]
fn an_hour_at_a_breakpoint_changes_nothing_with_all_time_outs_on() {
    let folder = folder();
    let bench = Bench::new();
    let (source, library) = (bench.at("hour.c"), bench.at("hour.so"));
    std::fs::write(&source, HOUR).expect("a file");
    let compiled = Command::new("cc")
        .args([
            "-shared",
            "-fPIC",
            "-o",
            text(&library),
            text(&source),
            "-ldl",
        ])
        .status();
    assert!(compiled.expect("a C compiler").success());
    let path = text(folder.path());
    let lines = lines(&[
        "replay",
        path,
        "--node",
        "A",
        "--set",
        "time_outs=true",
        "--gdb",
        "time 0.3s",
    ]);
    let after = ["set language c", "call (long)an_hour_passes()", "continue"];
    let Some(said) = under_gdb(&lines[0], &[("LD_PRELOAD", &library)], &after) else {
        return;
    };
    assert!(said.contains("Breakpoint 1, "), "{said}");
    assert!(said.contains("$1 = 3600"), "the hour has passed: {said}");
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
    let launch = folder.path().join("launch.json");
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
        let breakpoint = configuration["setupCommands"][0]["text"].as_str();
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
