//! What signals are ignored or held back when a recorder is begun: the recorded program has them so too,
//! and the recording ends with the program.

mod support;

use std::process::Command;

/// Those of the C library, which every program with threads takes.
const OF_THE_LIBRARY: u64 = 1 << 31 | 1 << 32;

/// Which signals `grep` ignores and which it blocks, started by `env`, which ignores some.
fn own_signals(before: &[&str]) -> (u64, u64) {
    let ran = Command::new("env")
        .arg("--ignore-signal=INT,HUP,PIPE,USR1,CHLD")
        .args(before)
        .args(["grep", "-E", "SigIgn|SigBlk", "/proc/self/status"])
        .output();
    let said = String::from_utf8_lossy(&ran.unwrap().stdout).into_owned();
    let set = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name));
        u64::from_str_radix(line.unwrap_or_default().trim(), 16).unwrap()
    };
    (set("SigIgn:") & !OF_THE_LIBRARY, set("SigBlk:"))
}

#[test]
fn a_recorded_program_ignores_the_signals_that_it_would_ignore_unrecorded() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let plain = own_signals(&[]);
    // HUP, INT, USR1, PIPE and CHLD.
    assert_eq!(plain.0 & 0x11203, 0x11203, "{plain:x?}");
    let netreel = env!("CARGO_BIN_EXE_netreel");
    let recorded = own_signals(&[netreel, "record", "--out", out.to_str().unwrap(), "--"]);
    assert_eq!(recorded, plain);
}

/// Records a program that ends by itself, with `netreel record` begun by `env` and its `options`.
fn recorded_to_its_end(options: &str, ring: bool) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let netreel = env!("CARGO_BIN_EXE_netreel");
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "60", "env"]);
    command.args(options.split(' ').filter(|it| !it.is_empty()));
    command.args([netreel, "record", "--out", out.to_str().unwrap()]);
    if ring {
        command.args(["--ring", "0.5"]);
    }
    let ran = command.args(["--", "sh", "-c", "exit 7"]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(
        ran.status.code(),
        Some(7),
        "{options}, ring: {ring}: {said}"
    );
}

#[test]
fn a_recording_ends_with_its_program_whatever_its_recorder_was_begun_with() {
    for ring in [false, true] {
        recorded_to_its_end("", ring);
        for signals in ["INT,TERM,HUP,QUIT", "CHLD", "INT,TERM,HUP,QUIT,CHLD"] {
            recorded_to_its_end(&format!("--ignore-signal={signals}"), ring);
            recorded_to_its_end(&format!("--block-signal={signals}"), ring);
        }
    }
}
