//! What a recorded program is started with: which signals are ignored.

mod support;

use std::process::Command;

/// Those of the C library, which every program with threads takes.
const OF_THE_LIBRARY: u64 = 1 << 31 | 1 << 32;

/// Which signals `grep` ignores and which it blocks, started by a shell that ignores some.
fn own_signals(before: &[&str]) -> (u64, u64) {
    let ran = Command::new("sh")
        .args(["-c", "trap '' INT HUP PIPE USR1; exec \"$@\"", "sh"])
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
    // HUP, INT, USR1 and PIPE.
    assert_eq!(plain.0 & 0x1203, 0x1203, "{plain:x?}");
    let netreel = env!("CARGO_BIN_EXE_netreel");
    let recorded = own_signals(&[netreel, "record", "--out", out.to_str().unwrap(), "--"]);
    assert_eq!(recorded, plain);
}
