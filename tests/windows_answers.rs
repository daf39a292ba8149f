//! What `netreel.exe` answers and writes is what this system's command does, to the byte.
//! `./dev windows` says where it is.

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use support::answers::{CAPTURES, RECORDINGS, captures};
use support::beside::{ROOT, is_here, linux, same, same_with, same_written, text};
use support::{command, netreel, windows};

/// What is asked of everything that was recorded.
const OF_ALL: [&[&str]; 5] = [
    &["info", "--json"],
    &["packets"],
    &["packets", "--json"],
    &["check", "--json"],
    &["stats", "--json"],
];

/// What is asked of these alone, of what is in the repository, unless all is asked (`./dev windows --all`).
const OF_SOME: [&[&str]; 2] = [&["packets"], &["check", "--json"]];

/// What is asked besides of what is in the repository, with its wire.
const OF_REPOSITORY: [&[&str]; 4] = [
    &["info"],
    &["objects", "--json"],
    &["check"],
    &["check", "--format", "junit"],
];

/// What is asked of the sample sessions besides.
const OF_SAMPLES: [&[&str]; 21] = [
    &["objects"],
    &["stats"],
    &["check", "--format", "sarif"],
    &["objects", "--migrations"],
    &["objects", "--migrations", "--json"],
    &["packets", "--filter", "lost || effect == stale", "--json"],
    &["check", "--filter", "node == HOST && level >= info"],
    &["check", "--verbose"],
    &["events", "--node", "X"],
    &["events", "--node", "X", "--json"],
    &["show", "--filter", "kind == migrate"],
    &["show", "--filter", "kind == migrate", "--json"],
    &["state", "--object", "42", "--at", "560ms"],
    &["state", "--object", "42", "--json"],
    &["why", "--finding", "1"],
    &["why", "--finding", "1", "--json"],
    &["export", "--format", "csv"],
    &["export", "--format", "json"],
    &["replay"],
    &["replay", "--json"],
    &[
        "replay",
        "--node",
        "X",
        "--tune",
        "resend_delay_ns=20000000",
    ],
];

/// Something that was recorded, as the command is asked about it in the repository's folder.
struct Recorded {
    paths: Vec<String>,
    wire: Option<String>,
    /// Whether more is asked of it.
    is_small: bool,
}

impl Recorded {
    /// What is asked, with its paths and its wire.
    fn question<'a>(&'a self, asked: &[&'a str]) -> Vec<&'a str> {
        let mut all = asked.to_vec();
        all.extend(self.paths.iter().map(String::as_str));
        all.extend(self.wire.iter().flat_map(|wire| ["--wire", wire]));
        all
    }
}

/// Folders below these of the repository that hold reels, and captures and demos in them.
fn found() -> Vec<PathBuf> {
    let mut folders: Vec<_> = ["samples", "tests", "protocol", "capture", "replay", "docs"]
        .map(PathBuf::from)
        .into();
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in Path::new(ROOT).join(&folder).read_dir().expect("a folder") {
            let entry = entry.expect("an entry");
            let path = folder.join(entry.file_name());
            let ending = path.extension().and_then(|it| it.to_str());
            if entry.file_type().expect("its kind").is_dir() {
                if entry.file_name() != "target" {
                    folders.push(path);
                }
            } else if ending == Some("reel") {
                found.insert(folder.clone());
            } else if matches!(ending, Some("pcap" | "pcapng" | "dm_71")) {
                found.insert(path);
            }
        }
    }
    found.into_iter().collect()
}

/// The wire of a capture of the repository, or beside it, by the capture's name.
fn wire_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let recorded = RECORDINGS.iter().find(|(file, _)| *file == name);
    let captured = CAPTURES.iter().find(|(file, _)| *file == name);
    let wire = recorded
        .map(|(_, wire)| *wire)
        .or(captured.and_then(|(_, wire)| *wire))?;
    Some(format!("samples/wires/{wire}.wire"))
}

/// All that was recorded in the repository and beside it, captures with their wires and without; the sample
/// sessions also without one of their reels, and in `folder` with one that is cut.
fn recorded(folder: &Path) -> Vec<Recorded> {
    let mut paths = found();
    let inside = paths.len();
    if let Some(folder) = captures() {
        let entries = folder.read_dir().expect("the captures");
        let entries = entries.map(|entry| entry.expect("a capture").path());
        paths.extend(entries.filter(|path| path.extension().is_some_and(|it| it != "tsv")));
        paths[inside..].sort();
    }
    let mut recorded = Vec::new();
    for (place, path) in paths.iter().enumerate() {
        let is_inside = place < inside;
        let of = vec![text(path).to_owned()];
        if let Some(wire) = wire_of(path) {
            recorded.push(Recorded {
                paths: of.clone(),
                wire: Some(wire),
                is_small: is_inside,
            });
        }
        recorded.push(Recorded {
            paths: of,
            wire: None,
            is_small: is_inside && wire_of(path).is_none(),
        });
    }
    for mode in ["host", "owner"] {
        let reel = |node| format!("samples/sessions/{mode}/{node}.reel");
        recorded.push(Recorded {
            paths: ["A", "B", "HOST"].map(reel).into(),
            wire: None,
            is_small: true,
        });
        let cut = folder.join(mode);
        std::fs::create_dir(&cut).expect("a folder");
        for node in ["HOST", "A", "B", "X"] {
            let mut bytes = std::fs::read(Path::new(ROOT).join(reel(node))).expect("a reel");
            if node == "X" {
                bytes.truncate(bytes.len() / 2);
            }
            std::fs::write(cut.join(format!("{node}.reel")), bytes).expect("a reel");
        }
        recorded.push(Recorded {
            paths: vec![text(&cut).to_owned()],
            wire: None,
            is_small: true,
        });
    }
    println!(
        "{} sessions and captures of the repository, {} beside it; {} asked about",
        inside,
        paths.len() - inside,
        recorded.len()
    );
    assert!(inside >= 26, "{paths:?}");
    recorded
}

/// Asks both commands, two questions at a time.
fn ask(questions: &[Vec<&str>]) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(question) = questions.get(next.fetch_add(1, Ordering::Relaxed)) {
            same(question);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    println!("{} answers are the same", questions.len());
}

#[test]
fn whatever_was_recorded_is_answered_as_on_this_system() {
    if !is_here() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recorded = recorded(folder.path());
    let asks_all = std::env::var_os("NETREEL_ALL_ANSWERS").is_some();
    let mut questions = Vec::new();
    for of in &recorded {
        let (asked, more): (&[&[&str]], &[&[&str]]) = match (asks_all, of.is_small) {
            (true, true) => (&OF_ALL, &OF_REPOSITORY),
            (true, false) => (&OF_ALL, &[]),
            (false, true) => (&OF_SOME, &[]),
            (false, false) => (&[], &[]),
        };
        let asked = asked.iter().chain(more);
        questions.extend(asked.map(|asked| of.question(asked)));
    }
    ask(&questions);
}

#[test]
fn every_other_command_says_of_the_sample_sessions_what_it_says_on_this_system() {
    if !is_here() {
        return;
    }
    let [host, owner] = ["samples/sessions/host", "samples/sessions/owner"];
    let of = |asked: &[&'static str]| [host, owner].map(|it| [asked, &[it]].concat());
    let mut questions: Vec<Vec<&str>> = OF_SAMPLES.iter().flat_map(|asked| of(asked)).collect();
    let diff = ["diff", host, owner];
    questions.extend([diff.to_vec(), [&diff[..], &["--json"]].concat()]);
    let wire = "samples/wires/boxes.wire";
    questions.push(vec!["wire", "check", wire]);
    questions.push(vec!["wire", "check", "samples/sessions/host/X.reel"]);
    ask(&questions);
}

#[test]
fn exit_codes_say_the_same() {
    if !is_here() {
        return;
    }
    let host = "samples/sessions/host";
    let other = ["--node", "X", "--tune", "resend_delay_ns=20000000"];
    let codes = [
        (vec!["check", "samples/sessions/owner"], 0),
        (vec!["check", host], 1),
        (vec!["check", "samples/sessions/owner/A.reel"], 2),
        (vec!["replay", host], 0),
        ([&["replay", host], &other[..]].concat(), 1),
        (vec!["replay", host, "--no-such-option"], 2),
    ];
    for (arguments, code) in codes {
        assert_eq!(same(&arguments), code, "{arguments:?}");
    }
    // Why it cannot be opened is said by the system.
    let nowhere = netreel(&["info", "samples/sessions/nowhere"]).expect(2).err;
    assert!(nowhere.contains("nowhere: cannot open it"), "{nowhere}");
}

#[test]
fn colours_are_those_of_this_system_and_nobody_gets_them_unasked() {
    if !is_here() {
        return;
    }
    let asked = ["check", "samples/sessions/host"];
    let out = |set: &[_]| same_with(&asked, Path::new(ROOT), set).1;
    assert!(out(&[("CLICOLOR_FORCE", "1")]).contains("\x1b[1m"));
    for set in [&[][..], &[("NO_COLOR", "1")]] {
        assert!(!out(set).contains('\x1b'), "{set:?}");
    }
}

#[test]
fn a_layer_in_rust_is_replayed_as_a_dll() {
    if !is_here() {
        return;
    }
    // `replay/plugin/examples/boxes_layer.rs`, which `./dev windows` builds.
    let layer = windows::folder().map(|it| it.join("examples/boxes_layer.dll"));
    let layer = layer.expect("it is here");
    let host = "samples/sessions/host";
    let asked = ["replay", host, "--layer", text(&layer)];
    assert_eq!(netreel(&asked).expect(0).out, linux(&["replay", host]));
    // What the plugin's code makes otherwise is found.
    let mut cured = command();
    let cured = windows::output(cured.args(asked).env("BOXES_CURED", "1"));
    assert_eq!(cured.status.code(), Some(1));
    let cured = String::from_utf8_lossy(&cured.stdout).into_owned();
    assert!(cured.contains("A: diverged at event"), "{cured}");
}

#[test]
fn a_session_that_is_played_on_is_written_as_on_this_system() {
    if !is_here() {
        return;
    }
    let cure = ["replay", "samples/sessions/host", "--together", "--set"];
    let cure = [&cure[..], &["mode=owner", "--json", "--out", "on"]].concat();
    assert_eq!(same_written(&cure, 4, |_| {}), 0);
}

#[test]
fn what_is_explored_and_made_small_is_written_as_on_this_system() {
    if !is_here() {
        return;
    }
    let owner = "samples/sessions/owner";
    let explored = ["explore", owner, "--set", "mode=host", "--jobs", "2"];
    let explored = [&explored[..], &["--json", "--out", "found"]].concat();
    assert_eq!(same_written(&explored, 5, |_| {}), 1);
    let shrunk = ["shrink", "samples/sessions/host", "--finding", "2"];
    // However long it takes.
    let shrunk = [&shrunk[..], &["--json", "--seconds", "0", "--out", "small"]].concat();
    assert_eq!(same_written(&shrunk, 8, |_| {}), 1);
}

#[test]
fn a_redacted_copy_is_written_as_on_this_system() {
    if !is_here() {
        return;
    }
    let redacted = ["redact", "samples/sessions/host", "--key", "k", "--nodes"];
    let more = ["--ports", "--loopback", "--blank", "position"];
    let redacted = [&redacted[..], &more, &["--out", "copy"]].concat();
    assert_eq!(same_written(&redacted, 4, |_| {}), 0);
}

#[test]
fn imported_and_exported_files_are_written_as_on_this_system() {
    if !is_here() {
        return;
    }
    let recordings = Path::new(ROOT).join("protocol/wire/tests/recordings");
    for (file, wire, server, client) in [
        ("enet.pcap", "enet", "127.0.0.1:7777", "127.0.0.1:45150"),
        (
            "minetest.pcap",
            "minetest",
            "127.0.0.1:30000",
            "127.0.0.1:45814",
        ),
        (
            "quake3.pcap",
            "quake3",
            "127.0.0.1:27960",
            "127.0.0.1:27961",
        ),
        (
            "raknet.pcap",
            "raknet",
            "127.0.0.1:19132",
            "127.0.0.1:59979",
        ),
    ] {
        let wire = format!("samples/wires/{wire}.wire");
        let [server, client] = [format!("SERVER={server}"), format!("CLIENT={client}")];
        let nodes = ["--node", &server, "--node", &client];
        let import = [
            &["import", file, "--out", "reels", "--wire", &wire],
            &nodes[..],
        ]
        .concat();
        let copied = |folder: &Path| {
            let _ = std::fs::copy(recordings.join(file), folder.join(file)).expect("a capture");
        };
        same_written(&import, 3, copied);
    }
    for format in ["json", "csv", "pcapng"] {
        let export = ["export", "samples/sessions/host", "--format", format];
        let export = [&export[..], &["--out", "written"]].concat();
        assert_eq!(same_written(&export, 1, |_| {}), 0);
    }
}
