//! Bad input, from the command line: one clear message and exit 2, or a partial answer that says
//! what is missing. Never a panic, never a hang.

mod support;

use std::path::{Path, PathBuf};

use support::{Ran, netreel};

/// A recorded session of the repository.
fn sample(mode: &str, node: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("samples/sessions")
        .join(mode)
        .join(node)
}

/// A folder with the reel of one node, after `damage`.
fn damaged(damage: impl FnOnce(&mut Vec<u8>)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut bytes = std::fs::read(sample("host", "X.reel")).expect("the sample session");
    damage(&mut bytes);
    std::fs::write(folder.path().join("X.reel"), bytes).expect("a file");
    folder
}

fn path(folder: &tempfile::TempDir) -> String {
    folder
        .path()
        .join("X.reel")
        .to_str()
        .expect("a path in UTF-8")
        .to_owned()
}

/// Runs a reading command that must fail with exit 2 and say all of `words`.
#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let ran = netreel(arguments).expect(2);
    for word in words {
        assert!(
            ran.err.contains(word),
            "`{word}` is missing in: {}",
            ran.err
        );
    }
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

/// Runs a reading command that must answer in part and say all of `words` on the error output.
#[track_caller]
fn partial(arguments: &[&str], words: &[&str]) -> Ran {
    let ran = netreel(arguments);
    assert!(
        matches!(ran.code, Some(0 | 1)),
        "exit {:?}: {}",
        ran.code,
        ran.err
    );
    for word in words {
        assert!(
            ran.err.contains(word),
            "`{word}` is missing in: {}",
            ran.err
        );
    }
    ran
}

#[test]
fn a_missing_reel() {
    refused(
        &["info", "nowhere/A.reel"],
        &["nowhere/A.reel", "No such file"],
    );
}

#[test]
fn a_folder_without_reels() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_str().expect("a path in UTF-8");
    refused(&["info", path], &[path, ".reel"]);
}

#[test]
fn an_empty_reel() {
    let folder = damaged(Vec::clear);
    refused(&["info", &path(&folder)], &["X.reel", "empty"]);
}

#[test]
fn a_foreign_file() {
    let folder = damaged(|bytes| *bytes = b"\x7fELF and so on, quite another thing".to_vec());
    refused(&["info", &path(&folder)], &["X.reel", "not a reel"]);
}

#[test]
fn a_reel_of_a_future_version() {
    // The version follows the eight bytes of the magic; see docs/reel-format.md.
    let folder = damaged(|bytes| bytes[8] = 9);
    refused(&["info", &path(&folder)], &["X.reel", "version 9"]);
}

#[test]
fn a_truncated_reel_is_read_to_the_cut() {
    let folder = damaged(|bytes| bytes.truncate(bytes.len() * 3 / 4));
    let ran = partial(&["packets", &path(&folder)], &["X", "cut"]);
    assert!(ran.out.lines().count() > 10, "{}", ran.out);
}

#[test]
fn a_flipped_bit_is_named_and_the_rest_is_read() {
    let folder = damaged(|bytes| {
        let inside = bytes.len() * 3 / 4;
        bytes[inside] ^= 0x10;
    });
    let ran = partial(
        &["packets", &path(&folder)],
        &["X.reel", "could not be read"],
    );
    assert!(ran.out.lines().count() > 10, "{}", ran.out);
}

#[test]
fn a_reel_with_a_hole_is_not_replayable() {
    let folder = damaged(|bytes| {
        let inside = bytes.len() * 3 / 4;
        bytes[inside] ^= 0x10;
    });
    refused(&["replay", &path(&folder)], &["not replayable"]);
}

#[test]
fn a_cut_reel_replays_as_far_as_it_goes() {
    let folder = damaged(|bytes| bytes.truncate(bytes.len() * 3 / 4));
    let ran = netreel(&["replay", &path(&folder), "--json"]).expect(0);
    assert_eq!(
        (&ran.json()["result"], &ran.json()["cut"]),
        (&"exact".into(), &true.into())
    );
}

#[test]
fn a_wire_with_a_mistake_names_line_and_column() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let wire = folder.path().join("wrong.wire");
    std::fs::write(
        &wire,
        "wire wrong { root = Packet; }\nstruct Packet {\n    sequence u16;\n}\n",
    )
    .expect("a file");
    let wire = wire.to_str().expect("a path in UTF-8");
    let reel = sample("host", "X.reel");
    let reel = reel.to_str().expect("a path in UTF-8");
    refused(
        &["packets", reel, "--wire", wire],
        &["wrong.wire:3:14", "expected"],
    );
}

#[test]
fn a_wire_that_does_not_fit_keeps_the_decoded_prefix() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let wire = folder.path().join("other.wire");
    let text = "wire other { version = 1; byte_order = little; bit_order = lsb; root = Packet; }\nstruct Packet { magic: u8; size: u32; data: bytes(size); }\n";
    std::fs::write(&wire, text).expect("a file");
    let wire = wire.to_str().expect("a path in UTF-8");
    let reel = sample("host", "X.reel");
    let reel = reel.to_str().expect("a path in UTF-8");
    let ran = netreel(&["show", reel, "--packet", "3", "--wire", wire]).expect(0);
    for word in ["magic", "size", "rest", "! "] {
        assert!(
            ran.out.contains(word),
            "`{word}` is missing in: {}",
            ran.out
        );
    }
}

#[test]
fn two_reels_that_never_met() {
    let first = sample("host", "A.reel");
    let second = sample("owner", "B.reel");
    let paths = [
        first.to_str().expect("UTF-8"),
        second.to_str().expect("UTF-8"),
    ];
    refused(
        &["check", paths[0], paths[1]],
        &["host/A.reel", "owner/B.reel", "different sessions"],
    );
}

#[test]
fn a_filter_with_a_mistake_names_the_column() {
    let reel = sample("host", "X.reel");
    let reel = reel.to_str().expect("a path in UTF-8");
    refused(
        &["packets", reel, "--filter", "from == && lost"],
        &["--filter", "column 9"],
    );
}

#[test]
fn a_packet_that_is_not_there() {
    let reel = sample("host", "X.reel");
    let reel = reel.to_str().expect("a path in UTF-8");
    refused(
        &["show", reel, "--packet", "99999999"],
        &["no packet 99999999", "numbered from 0"],
    );
}

#[test]
fn a_node_that_is_not_there() {
    let reel = sample("host", "X.reel");
    let reel = reel.to_str().expect("a path in UTF-8");
    refused(
        &["replay", reel, "--node", "Y"],
        &["no reel of node Y", "X"],
    );
}

#[test]
fn a_closed_pipe_is_no_error() {
    use std::process::Stdio;
    let mut child = support::command()
        .arg("packets")
        .arg(sample("host", "X.reel"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_session_with_an_unreadable_reel_is_not_called_clean() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for node in ["A.reel", "B.reel", "HOST.reel", "X.reel"] {
        let mut bytes = std::fs::read(sample("owner", node)).expect("the sample session");
        if node == "X.reel" {
            bytes.truncate(3000);
        }
        std::fs::write(folder.path().join(node), bytes).expect("a file");
    }
    let path = folder.path().to_str().expect("a path in UTF-8");
    let ran = netreel(&["check", path, "--json"]).expect(2);
    assert!(ran.err.contains("X.reel"), "{}", ran.err);
    let report = ran.json();
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("X.reel"), "{warnings}");
    assert_eq!(report["verdict"], "unknown");
    let reason = &report["reasons"][0];
    assert_eq!(reason["id"], "unread-reel");
    assert!(
        reason["sentence"].to_string().contains("X.reel"),
        "{reason}"
    );
}

#[test]
fn a_wire_that_is_no_file_is_refused() {
    let reel = sample("host", "X.reel");
    let reel = reel.to_str().expect("a path in UTF-8");
    refused(
        &["info", reel, "--wire", "/dev/zero"],
        &["/dev/zero", "not a file"],
    );
    refused(&["info", reel, "--wire", "/"], &["not a file"]);
}

#[test]
fn a_name_that_is_not_in_the_session_is_a_mistake_in_the_filter() {
    let reel = sample("host", "X.reel");
    let reel = reel.to_str().expect("a path in UTF-8");
    refused(
        &["check", reel, "--filter", "node == Q"],
        &["--filter", "Q", "X"],
    );
}

#[test]
fn a_time_outside_the_session_is_refused() {
    let reel = sample("host", "X.reel");
    let reel = reel.to_str().expect("a path in UTF-8");
    refused(
        &["objects", reel, "--at", "99s"],
        &["--at 99.000000 s", "lasts from"],
    );
}

#[test]
fn a_constant_that_the_engine_lacks_names_those_that_it_has() {
    let reel = sample("host", "X.reel");
    let reel = reel.to_str().expect("a path in UTF-8");
    refused(
        &["replay", reel, "--tune", "resend=1"],
        &["--tune resend=1", "resend_delay_ns"],
    );
    refused(
        &["replay", reel, "--tune", "packet_bytes=1"],
        &["--tune packet_bytes=1", "256"],
    );
}
