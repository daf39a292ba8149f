//! What the tests of the command rest on: signals in order, and skipped tests that are told.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs one test of this file alone, under a shell that has done `before`.
fn run_alone(test: &str, before: &str, environment: &[(&str, &Path)]) -> String {
    let this = std::env::current_exe().expect("this test");
    let script = format!("{before}exec \"$0\" --exact {test}");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).arg(this);
    command.envs(environment.iter().copied());
    let ran = command.output().expect("a shell");
    let [out, err] = [ran.stdout, ran.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    assert!(ran.status.success(), "{out}{err}");
    assert!(out.contains("1 passed"), "{out}{err}");
    err
}

#[test]
fn no_signal_is_ignored() {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM] {
        // SAFETY: asks what is there.
        let ignored = unsafe {
            let mut known: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut known);
            known.sa_sigaction == libc::SIG_IGN
        };
        assert!(!ignored, "signal {signal}");
    }
}

#[test]
fn signals_are_in_order_where_whoever_starts_the_tests_ignores_them() {
    run_alone("no_signal_is_ignored", "trap '' INT QUIT HUP TERM; ", &[]);
}

const SKIPS: &str = "NETREEL_TEST_SKIPS";

#[test]
fn one_that_may_be_skipped() {
    if std::env::var_os(SKIPS).is_some() {
        support::skipped("there is no such thing here");
    }
}

#[test]
fn a_skipped_test_is_told_past_the_harness_and_in_the_file_that_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("skipped");
    let environment = [("NETREEL_SKIPPED", &*file), (SKIPS, Path::new("1"))];
    let told = run_alone("one_that_may_be_skipped", "", &environment);
    let line = "skipped: one_that_may_be_skipped: there is no such thing here\n";
    assert!(told.contains(line), "{told}");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), line);
}

/// The Rust files of a folder and of the folders in it.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let is_built = path.ends_with("target");
        if path.is_dir() && !is_built {
            sources(&path, files);
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn no_test_says_that_it_is_skipped_where_nobody_sees_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for room in [
        "tests",
        "capi",
        "capture",
        "inspector",
        "protocol",
        "replay",
        "samples",
        "src",
    ] {
        sources(&root.join(room), &mut files);
    }
    assert!(files.len() > 1000, "{} files", files.len());
    let prints = ["println!", "print!"].map(|name| format!("{name}(\"skipped"));
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a source");
        let joined: String = text.split_whitespace().collect();
        let found = prints.iter().find(|it| joined.contains(*it));
        assert!(found.is_none(), "{}: call support::skipped", path.display());
    }
}
