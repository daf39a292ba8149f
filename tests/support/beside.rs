//! `netreel.exe` beside this system's command: what both answer, and what both write.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::{skipped, windows};

/// The repository's folder.
pub const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Whether there is a `netreel.exe`; says that the test is skipped where there is none.
pub fn is_here() -> bool {
    let here = windows::folder().is_some();
    if !here {
        skipped("NETREEL_WINDOWS is not set");
    }
    here
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// What this system's command prints.
pub fn linux(arguments: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_netreel"))
        .args(arguments)
        .output()
        .expect("the command starts");
    String::from_utf8(ran.stdout).expect("UTF-8")
}

/// What a command said: its exit code, its output, its errors.
type Said = (Option<i32>, String, String);

/// One of both commands, started in a folder with these variables.
fn asked(mut command: Command, arguments: &[&str], folder: &Path, set: &[(&str, &str)]) -> Said {
    let command = command
        .args(arguments)
        .current_dir(folder)
        .envs(set.iter().copied());
    let ran = windows::output(command);
    let [out, err] = [ran.stdout, ran.stderr].map(|it| String::from_utf8(it).expect("UTF-8"));
    (ran.status.code(), out, err)
}

/// As Linux names files of these folders: Windows has another sign before a file, which JSON doubles.
fn named(text: &str, folders: &[&str]) -> String {
    let mut text = text.to_owned();
    for folder in folders {
        for sign in [r"\\", r"\"] {
            text = text.replace(&format!("{folder}{sign}"), &format!("{folder}/"));
        }
    }
    text
}

#[track_caller]
fn is_same(arguments: &[&str], ours: &Said, theirs: &Said) {
    let folders: Vec<&str> = arguments
        .iter()
        .copied()
        .filter(|it| !it.is_empty())
        .collect();
    let [out, err] = [&theirs.1, &theirs.2].map(|it| named(it, &folders));
    assert_eq!((ours.0, &ours.2), (theirs.0, &err), "{arguments:?}");
    let mut lines = ours.1.lines().zip(out.lines());
    let different = lines.find(|(ours, theirs)| ours != theirs);
    assert!(ours.1 == out, "{arguments:?}: {different:?}");
}

/// What both commands say of it, in a folder and with these variables, is the same; this system's answer.
#[track_caller]
pub fn same_with(arguments: &[&str], folder: &Path, set: &[(&str, &str)]) -> Said {
    let ours = asked(
        Command::new(env!("CARGO_BIN_EXE_netreel")),
        arguments,
        folder,
        set,
    );
    let theirs = asked(super::command(), arguments, folder, set);
    is_same(arguments, &ours, &theirs);
    ours
}

/// The same in the repository's folder; the exit code.
#[track_caller]
pub fn same(arguments: &[&str]) -> i32 {
    let (code, ..) = same_with(arguments, Path::new(ROOT), &[]);
    code.expect("no signal ended it")
}

/// All files below a folder, by their paths there.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(of) = folders.pop() {
        for entry in std::fs::read_dir(of).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).expect("it is in there");
            let bytes = std::fs::read(&path).expect("a file");
            found.insert(text(name).to_owned(), bytes);
        }
    }
    found
}

/// Both commands, each in an empty folder of its own, say the same and write the same files, `count` of them.
/// What the arguments name is below the repository's folder `samples`, or what `beside` puts into the folder.
#[track_caller]
pub fn same_written(arguments: &[&str], count: usize, beside: impl Fn(&Path)) -> i32 {
    let commands = [
        Command::new(env!("CARGO_BIN_EXE_netreel")),
        super::command(),
    ];
    let [ours, theirs] = commands.map(|command| {
        let folder = tempfile::tempdir().expect("a folder");
        let samples = Path::new(ROOT).join("samples");
        std::os::unix::fs::symlink(samples, folder.path().join("samples")).expect("a link");
        beside(folder.path());
        let said = asked(command, arguments, folder.path(), &[]);
        std::fs::remove_file(folder.path().join("samples")).expect("the link");
        (said, files(folder.path()))
    });
    is_same(arguments, &ours.0, &theirs.0);
    let names = |of: &BTreeMap<String, Vec<u8>>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours.1), names(&theirs.1), "{arguments:?}");
    for (name, bytes) in &ours.1 {
        assert!(theirs.1[name] == *bytes, "{arguments:?}: {name} differs");
    }
    assert_eq!(ours.1.len(), count, "{arguments:?}: {:?}", names(&ours.1));
    ours.0.0.expect("no signal ended it")
}
