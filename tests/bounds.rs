//! Bounds of rules in a file, as people give them.

mod support;

use std::path::Path;

use support::{Ran, netreel};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A copy of a recorded session, with what is written into its `bounds.toml`.
fn session(bounds: Option<&str>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let recorded = Path::new(ROOT).join("samples/sessions/owner");
    for entry in std::fs::read_dir(recorded).expect("the session") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        std::fs::copy(&path, folder.path().join(name)).expect("a copy");
    }
    if let Some(bounds) = bounds {
        std::fs::write(folder.path().join("bounds.toml"), bounds).expect("a file");
    }
    folder
}

fn check(folder: &Path, more: &[&str]) -> Ran {
    let path = folder.to_str().expect("UTF-8");
    netreel(&[&["check", path, "--json"], more].concat())
}

/// How many findings of a rule there are.
fn found(ran: &Ran, rule: &str) -> usize {
    let said = ran.json();
    let findings = said["findings"].as_array().expect("findings");
    findings.iter().filter(|it| it["rule"] == rule).count()
}

const STEPS: &str = "[rtt-step]\nhighest = \"1ms\"\n";

#[test]
fn bounds_beside_the_reels_are_found_and_those_that_are_named_come_first() {
    let plain = session(None);
    assert_eq!(found(&check(plain.path(), &[]), "rtt-step"), 0);
    let with = session(Some(STEPS));
    assert!(found(&check(with.path(), &[]), "rtt-step") > 0);
    let other = with.path().join("other.toml");
    std::fs::write(&other, "[rtt-step]\nhighest = \"10s\"\n").expect("a file");
    let other = other.to_str().expect("UTF-8");
    assert_eq!(
        found(&check(with.path(), &["--bounds", other]), "rtt-step"),
        0
    );
    let named = with.path().join("bounds.toml");
    let named = named.to_str().expect("UTF-8");
    let ran = check(plain.path(), &["--bounds", named]);
    assert!(found(&ran, "rtt-step") > 0);
}

#[test]
fn each_session_of_a_folder_has_bounds_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bounds) in [("a", None), ("b", Some(STEPS))] {
        let session = session(bounds);
        std::fs::rename(session.path(), folder.path().join(name)).expect("it moves");
    }
    let ran = check(folder.path(), &["--each"]);
    let steps = |line: &str| line.matches("\"rtt-step\"").count();
    let steps: Vec<usize> = ran.out.lines().map(steps).collect();
    let [a, b, _] = steps[..] else {
        panic!("{}", ran.out)
    };
    assert_eq!(a, 0);
    assert!(b > 0, "{}", ran.out);
}

#[test]
fn what_is_no_bound_is_a_mistake_with_its_line() {
    for (bounds, says) in [
        (
            "[resend-strom]\nneedless = 3\n",
            "[resend-strom] is no rule",
        ),
        ("[resend-storm]\nneedles = 3\n", "line 2"),
        ("[rtt-step]\nhighest = \"200\"\n", "with a unit"),
    ] {
        let folder = session(Some(bounds));
        let ran = check(folder.path(), &[]).expect(2);
        assert!(ran.err.contains("bounds.toml"), "{}", ran.err);
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
    }
}
