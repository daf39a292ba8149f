//! The crates that users depend on can be packed: each says what it is, depends on what can be had, and
//! includes no file that is not packed with it. `./dev package-crates` packs them and builds from them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What nobody depends on.
const PRIVATE: [&str; 3] = ["netreel-benches", "netreel-capi", "netreel-preload"];

fn cargo(arguments: &[&str]) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).arg("--offline");
    let ran = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let ran = ran.expect("cargo runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "cargo {arguments:?}: {said}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// The packages that are published, by their names.
fn published() -> BTreeMap<String, Value> {
    let all: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"]))
            .expect("JSON");
    let all = all["packages"].as_array().expect("packages").clone();
    let is_published = |it: &Value| it["publish"] != Value::Array(Vec::new());
    let (published, private): (Vec<Value>, Vec<Value>) = all.into_iter().partition(is_published);
    let name = |it: &Value| it["name"].as_str().expect("a name").to_owned();
    let private: BTreeSet<String> = private.iter().map(name).collect();
    assert_eq!(
        private,
        PRIVATE.map(str::to_owned).into(),
        "private packages"
    );
    published.into_iter().map(|it| (name(&it), it)).collect()
}

#[test]
fn each_says_what_it_is() {
    for (name, package) in published() {
        for said in ["description", "license", "readme", "rust_version"] {
            assert!(package[said].is_string(), "{name} has no {said}");
        }
        for said in ["keywords", "categories"] {
            let words = package[said].as_array().map_or(0, Vec::len);
            assert!((1..=5).contains(&words), "{name}: {words} {said}");
        }
        assert!(package["repository"].is_null(), "{name}: there is none yet");
    }
}

#[test]
fn each_depends_on_what_can_be_had() {
    let published = published();
    for (name, package) in &published {
        let version = &package["version"];
        for dependency in package["dependencies"].as_array().expect("a list") {
            let other = dependency["name"].as_str().expect("a name");
            let Some(path) = dependency["path"].as_str() else {
                continue;
            };
            assert!(published.contains_key(other), "{name}: {other} at {path}");
            let asked = dependency["req"].as_str().unwrap_or_default();
            assert_eq!(asked.strip_prefix('^'), version.as_str(), "{name}: {other}");
        }
    }
}

/// The file that a line of Rust includes at compile time, relative to `file`.
fn included(file: &Path, line: &str) -> Option<PathBuf> {
    let marks = ["include_str!(\"", "include_bytes!(\"", "#[path = \""];
    let (_, path) = marks.iter().find_map(|mark| line.split_once(mark))?;
    let (path, _) = path.split_once('"')?;
    let mut whole = file.parent()?.to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir if !whole.pop() => return Some(path.into()),
            Component::ParentDir | Component::CurDir => {}
            other => whole.push(other),
        }
    }
    Some(whole)
}

#[test]
fn what_each_includes_is_packed_with_it() {
    let mut found = 0;
    for (name, package) in published() {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let folder = manifest.parent().expect("a folder");
        let list = cargo(&["package", "--list", "--allow-dirty", "-p", &name]);
        let list: BTreeSet<&Path> = list.lines().map(Path::new).collect();
        for file in list
            .iter()
            .filter(|it| it.extension().is_some_and(|it| it == "rs"))
        {
            assert!(!file.starts_with("tests"), "{name}: {file:?}");
            let text = std::fs::read_to_string(folder.join(file)).expect("a source");
            let wanted = text.lines().filter_map(|line| included(file, line));
            // Tests are not packed, nor what they alone include.
            for wanted in wanted.filter(|it| !it.starts_with("tests")) {
                assert!(
                    list.contains(wanted.as_path()),
                    "{name}: {file:?}: {wanted:?}"
                );
                found += 1;
            }
        }
    }
    assert!(found > 10, "{found} includes");
}

/// Its folder is no part of the package of `capture`, which carries it.
#[test]
fn the_library_for_unmodified_programs_is_packed_with_who_builds_it() {
    let list = cargo(&[
        "package",
        "--list",
        "--allow-dirty",
        "-p",
        "netreel-capture",
    ]);
    for file in [
        "build.rs",
        "carried/preload/lib.rs",
        "carried/preload/replay/network.rs",
        "carried/shared/ring.rs",
    ] {
        assert!(list.lines().any(|line| line == file), "{file}: {list}");
    }
}
