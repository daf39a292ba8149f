//! Says that a test could not run here.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// Says which test was skipped and why, to standard error past the harness, which shows nothing that a
/// test prints that passes. Where `NETREEL_SKIPPED` names a file, the line is written there as well, so
/// that `./dev test` ends with all of them.
///
/// The test fails where `skips.txt` does not have the reason, and, where `CI` is set, where it has a
/// package that `./dev test` could have installed: `NETREEL_NOT_HAD` has those that it could not.
#[allow(dead_code)]
pub fn skipped(why: impl Display) {
    let thread = std::thread::current();
    // The harness calls a test's thread after the test.
    let name = thread.name().unwrap_or("a test");
    let why = why.to_string();
    let line = format!("skipped: {name}: {}\n", why.lines().next().unwrap_or(""));
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("NETREEL_SKIPPED") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        assert!(
            written.is_ok(),
            "NETREEL_SKIPPED cannot be written: {written:?}"
        );
    }
    let set = |name: &str| std::env::var(name).unwrap_or_default();
    if let Err(fault) = judged(&why, !set("CI").is_empty(), &set("NETREEL_NOT_HAD")) {
        panic!("{name} may not be skipped ({why}): {fault}");
    }
}

/// What is said of each reason, from `skips.txt`: its words, and what is done about it.
#[allow(dead_code)]
pub fn reasons() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("skips.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once(" | ").expect("words and a reason"))
}

/// Whether a test may be skipped for this; `not_had` are packages that could not be installed, with
/// blanks between them.
#[allow(dead_code)]
pub fn judged(why: &str, is_ci: bool, not_had: &str) -> Result<(), String> {
    let said = reasons().find(|(words, _)| why.contains(words));
    let Some((_, said)) = said else {
        return Err("tests/support/skips.txt does not have the reason".to_owned());
    };
    let package = ["apt ", "ci "].iter().find_map(|it| said.strip_prefix(it));
    match package {
        Some(package) if is_ci && not_had.split_whitespace().all(|it| it != package) => {
            Err(format!("CI installs the package {package}"))
        }
        _ => Ok(()),
    }
}

/// Says that no network namespace can be made, and why not.
#[allow(dead_code)]
pub fn no_namespace() {
    let has_ip = std::process::Command::new("ip").arg("-V").output().is_ok();
    skipped(match has_ip {
        true => "no right to make a network namespace",
        false => "there is no ip command",
    });
}
