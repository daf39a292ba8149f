//! The first three descriptors of a program: of the kind that they had when it is started again, whatever
//! those of `netreel replay` are.

mod support;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use support::programs::{Bench, sent, text};
use support::terminals::{steered, terminal};

/// Records `standard` behind these redirections of a shell.
#[track_caller]
fn record_with(bench: &Bench, redirections: &str, program: &str) {
    let _ = fs::remove_dir_all(bench.out());
    let script = format!(
        "{} record --out {} -- {program} types {redirections}",
        env!("CARGO_BIN_EXE_netreel"),
        text(&bench.out())
    );
    let recorded = Command::new("sh")
        .args(["-c", &script])
        .current_dir(bench.at(""))
        .output()
        .unwrap();
    assert!(recorded.status.success(), "{script}: {recorded:?}");
}

/// What is said by a replay whose own descriptors are these.
fn again(bench: &Bench, program: &str, own: fn() -> [Stdio; 3]) -> Output {
    let [input, out, errors] = own();
    Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(["replay", text(&bench.out()), "--", program, "types"])
        .stdin(input)
        .stdout(out)
        .stderr(errors)
        .output()
        .unwrap()
}

/// Descriptors that `netreel replay` may have itself.
const OWN: [fn() -> [Stdio; 3]; 3] = [
    || [Stdio::null(), Stdio::piped(), Stdio::null()],
    || [Stdio::piped(), Stdio::piped(), Stdio::piped()],
    || {
        let (end, _) = terminal();
        let errors = File::create("/dev/null").unwrap();
        [end.into(), Stdio::piped(), errors.into()]
    },
];

#[test]
fn files_pipes_and_nothing_stay_what_they_were() {
    let bench = Bench::new();
    let program = bench.compile("standard");
    let program = text(&program);
    fs::write(bench.at("lines"), "read before\ntyped\n").unwrap();
    fs::write(bench.at("log"), "an older line\n").unwrap();
    for redirections in [
        "</dev/null | tee printed",
        "</dev/null >/dev/null 2>/dev/null",
        "</dev/null >printed 2>&1",
        "</dev/null >>log 2>errors",
        "<lines 2>&1 | cat",
        "<&- >&- 2>&-",
    ] {
        record_with(&bench, redirections, program);
        for own in OWN {
            let said = again(&bench, program, own);
            let told = String::from_utf8_lossy(&said.stdout);
            assert!(told.contains(": exact, "), "{redirections}: {told}");
        }
    }
}

#[test]
fn what_is_typed_at_a_terminal_is_read_again_without_one() {
    let bench = Bench::new();
    let program = bench.compile("standard");
    let program = text(&program);
    let (end, mut other) = terminal();
    let twice = || end.try_clone().unwrap();
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_netreel"));
    recorder.args([
        "record",
        "--out",
        text(&bench.out()),
        "--",
        program,
        "types",
    ]);
    recorder.stdin(twice()).stdout(twice()).stderr(twice());
    steered(&mut recorder);
    let mut running = recorder.spawn().unwrap();
    drop((recorder, end));
    other.write_all(b"hello there\n").unwrap();
    let mut shown = Vec::new();
    let _ = other.read_to_end(&mut shown);
    assert!(support::ended(&mut running).success());
    let sent = sent(&bench.reel());
    assert_eq!(sent.last().unwrap(), b"hello there\n");
    let first = String::from_utf8_lossy(&sent[0]);
    assert!(first.ends_with("steered 1, as 1 0"), "{first}");
    for own in OWN {
        let said = again(&bench, program, own);
        let told = String::from_utf8_lossy(&said.stdout);
        assert!(told.contains("exact, 4 of 4 sends"), "{told}");
    }
}

#[test]
fn what_a_program_prints_is_handed_on_to_the_end_whatever_its_descriptors_are() {
    let bench = Bench::new();
    let program = bench.compile("prints");
    let printed = bench.at("printed");
    for kind in [">", "|"] {
        let _ = fs::remove_dir_all(bench.out());
        let script = format!(
            "{} record --out {} -- {} many 20000 {} {}",
            env!("CARGO_BIN_EXE_netreel"),
            text(&bench.out()),
            text(&program),
            kind.replace('|', "| cat >"),
            text(&printed)
        );
        assert!(
            Command::new("sh")
                .args(["-c", &script])
                .status()
                .unwrap()
                .success()
        );
        let ran = bench
            .again(&[], &[text(&program), "many", "20000"])
            .expect(0);
        let lines = fs::read_to_string(&printed).unwrap();
        let came: Vec<&str> = ran
            .err
            .lines()
            .filter(|it| !it.starts_with("netreel: "))
            .collect();
        assert!(came.len() >= 20_000 && came.iter().copied().eq(lines.lines()));
    }
}
