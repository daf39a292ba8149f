//! What an engine takes on with the recorder.

use std::collections::BTreeSet;
use std::process::Command;

/// The crates that are built for it on Linux, itself and ours among them.
#[test]
fn it_is_of_twenty_five_crates_at_most() {
    let mut tree = Command::new(env!("CARGO"));
    tree.args([
        "tree",
        "--offline",
        "--locked",
        "-p",
        "netreel-record",
        "-e",
        "normal",
    ]);
    tree.args(["--prefix", "none", "--no-dedupe"]);
    tree.args(["--target", "x86_64-unknown-linux-gnu"]);
    let tree = tree.output().expect("cargo runs");
    let said = String::from_utf8_lossy(&tree.stderr);
    assert!(tree.status.success(), "{said}");
    let tree = String::from_utf8_lossy(&tree.stdout);
    let crates: BTreeSet<&str> = tree.lines().collect();
    assert!(crates.len() <= 25, "{}: {crates:#?}", crates.len());
}
