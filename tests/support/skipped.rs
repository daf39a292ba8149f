//! Says that a test could not run here.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// Says which test was skipped and why, to standard error past the harness, which shows nothing that a
/// test prints that passes. Where `NETREEL_SKIPPED` names a file, the line is written there as well, so
/// that `./dev test` ends with all of them.
#[allow(dead_code)]
pub fn skipped(why: impl Display) {
    let thread = std::thread::current();
    // The harness calls a test's thread after the test.
    let line = format!("skipped: {}: {why}\n", thread.name().unwrap_or("a test"));
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("NETREEL_SKIPPED") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        assert!(
            written.is_ok(),
            "NETREEL_SKIPPED cannot be written: {written:?}"
        );
    }
}
