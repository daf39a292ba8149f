//! What the tests of the command rest on: signals in order, and skipped tests that are told.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs one test of this file alone, under a shell that has done `before`: whether it passed, and all
/// that it said.
fn run(test: &str, before: &str, environment: &[(&str, &Path)]) -> (bool, String) {
    let this = std::env::current_exe().expect("this test");
    let script = format!("{before}exec \"$0\" --exact {test}");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).arg(this);
    command.env_remove("CI").envs(environment.iter().copied());
    let ran = command.output().expect("a shell");
    let [out, err] = [ran.stdout, ran.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    (ran.status.success() && out.contains("1 passed"), out + &err)
}

/// The same of one that passes.
fn run_alone(test: &str, before: &str, environment: &[(&str, &Path)]) -> String {
    let (passed, said) = run(test, before, environment);
    assert!(passed, "{said}");
    said
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
    if let Ok(why) = std::env::var(SKIPS) {
        support::skipped(why);
    }
}

#[test]
fn a_skipped_test_is_told_past_the_harness_and_in_the_file_that_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("skipped");
    let why = Path::new("there is no such thing here");
    let environment = [("NETREEL_SKIPPED", &*file), (SKIPS, why)];
    let told = run_alone("one_that_may_be_skipped", "", &environment);
    let line = "skipped: one_that_may_be_skipped: there is no such thing here\n";
    assert!(told.contains(line), "{told}");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), line);
}

#[test]
fn a_test_is_skipped_for_a_reason_of_the_list_alone_and_in_ci_not_for_what_it_installs() {
    for (why, is_ci, not_had, passes) in [
        ("there is no ip command", false, "", true),
        ("there is no ip command", true, "", false),
        ("there is no ip command", true, "gdb", false),
        ("there is no ip command", true, "gdb iproute2", true),
        (
            "pyspark is not installed: pip install pyspark",
            true,
            "",
            true,
        ),
        ("it is Monday", false, "", false),
        ("it is Monday", true, "gdb", false),
    ] {
        let judged = support::judged(why, is_ci, not_had);
        assert_eq!(
            judged.is_ok(),
            passes,
            "{why} {is_ci} {not_had}: {judged:?}"
        );
        let mut environment = vec![
            (SKIPS, Path::new(why)),
            ("NETREEL_NOT_HAD", Path::new(not_had)),
        ];
        environment.extend(is_ci.then_some(("CI", Path::new("true"))));
        let (passed, said) = run("one_that_may_be_skipped", "", &environment);
        assert_eq!(passed, passes, "{said}");
        let line = format!("skipped: one_that_may_be_skipped: {why}\n");
        assert!(said.contains(&line), "{said}");
    }
}

#[test]
fn each_reason_says_what_is_done_about_it() {
    let mut words: Vec<&str> = Vec::new();
    for (known, said) in support::reasons() {
        assert!(
            !known.trim().is_empty() && said.len() > 5,
            "{known} | {said}"
        );
        let hidden = words.iter().find(|before| known.contains(**before));
        assert_eq!(hidden, None, "{known} is never reached");
        words.push(known);
    }
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
    let prints = ["println!", "print!"].map(|name| format!("{name}(\"skipped"));
    for (path, text) in all_sources() {
        let joined: String = text.split_whitespace().collect();
        let found = prints.iter().find(|it| joined.contains(*it));
        assert!(found.is_none(), "{}: call support::skipped", path.display());
    }
}

/// Every source of ours, with its text.
fn all_sources() -> Vec<(PathBuf, String)> {
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
        "scenario",
        "src",
    ] {
        sources(&root.join(room), &mut files);
    }
    assert!(files.len() > 1000, "{} files", files.len());
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a source");
        (path, text)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn each_test_that_may_be_skipped_has_a_reason_of_the_list() {
    let mut count = 0;
    for (path, text) in all_sources() {
        let call = ["skipped", "("].concat();
        let calls = text.split(&call).skip(1);
        // What is made of parts is judged when it is said.
        for call in calls.filter_map(|it| it.strip_prefix('"')) {
            let why = call.split('"').next().unwrap_or("");
            let judged = support::judged(why, false, "");
            assert_eq!(judged, Ok(()), "{}: {why}", path.display());
            count += 1;
        }
    }
    assert!(count > 30, "{count} reasons");
}
