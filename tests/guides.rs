//! The commands of the guides do what the guides say.
//!
//! Every block in `sh` of a page in `docs/guides`, and of two others, is run, in the page's order and in one
//! folder. A line that ends in `# exits N` must end with that code, every other one with 0.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// The blocks of a page, as one script for bash.
fn script(page: &str) -> String {
    let mut script = String::from("set -euo pipefail\n");
    let mut inside = false;
    for line in page.lines() {
        match line.trim_end() {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside => script += &exits(line),
            _ => {}
        }
    }
    script
}

/// A line that may name its exit code.
fn exits(line: &str) -> String {
    let Some((command, code)) = line.split_once("# exits ") else {
        return format!("{line}\n");
    };
    let code = code.trim();
    format!(
        "code=0; {command} || code=$?; [ $code = {code} ] || {{ echo \"exit code $code\"; exit 99; }}\n"
    )
}

#[track_caller]
fn check(name: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(here.join("docs/guides").join(name)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_netreel"), at("bin/netreel")).unwrap();
    // What pages name of the repository is there, by its own path.
    for folder in ["samples", "protocol"] {
        symlink(here.join(folder), at(folder)).unwrap();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut first = at("bin").into_os_string();
    first.push(":");
    first.push(path);
    let ran = Command::new("bash")
        .args(["-c", &script(&page)])
        .current_dir(folder.path())
        .env("PATH", first)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{name}: {}\n{}\n{}",
        ran.status,
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
}

/// Whether a program is here; a page that needs it is not tried without.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("there is no {program} here: not tried");
    }
    found
}

#[test]
fn every_guide_is_tried() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides");
    let pages = std::fs::read_dir(folder).unwrap();
    let names = pages.map(|page| page.unwrap().file_name().into_string().unwrap());
    let here = include_str!("guides.rs");
    for name in names {
        assert!(here.contains(&format!("check(\"{name}\")")), "{name}");
        assert!(name.ends_with(".md"));
    }
}

#[test]
fn a_race_in_ci() {
    check("race-in-ci.md");
}

#[test]
fn a_loop_of_matches() {
    if has("python3") {
        check("scripted-matches.md");
    }
}

#[test]
fn a_capture() {
    check("capture.md");
}

#[test]
fn my_protocol() {
    check("my-protocol.md");
}

#[test]
fn a_protocol_that_nobody_has_described() {
    check("unknown-protocol.md");
}

#[test]
fn a_program_that_cannot_be_changed() {
    if has("python3") {
        check("unchanged-program.md");
    }
}

#[test]
fn a_recorded_program_again() {
    if has("python3") {
        check("replay-a-program.md");
    }
}

#[test]
fn a_console() {
    if has("python3") {
        check("console.md");
    }
}

// The page draws a picture of the window.
#[cfg(feature = "gui")]
#[test]
fn my_rust_engine() {
    check("../engines.md");
}

#[test]
fn my_cpp_engine() {
    check("../c-api.md");
}
