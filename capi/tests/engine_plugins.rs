//! The plugins for engines that cannot run here: compiled against stand-ins of what they use of the
//! engine, and run with those over real sockets.

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use netreel_record::{open, open_session};
use netreel_reel::{Ending, Event, EventKind, Reel, SendOutcome};
use support::{CPP20, checked, file, is_here, library_folder};

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(file(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{folder}");
    paths
}

/// How often each kind of event is in a reel that ended in order.
fn count(reel: &Reel, kind: EventKind) -> u64 {
    assert_eq!(*reel.ending(), Ending::Clean);
    reel.counts().get(&kind).copied().unwrap_or(0)
}

fn check_counts(reel: &Reel, expected: &[(EventKind, u64)]) {
    for (kind, times) in expected {
        assert_eq!(count(reel, *kind), *times, "{kind:?}");
    }
}

fn notes(reel: &Reel) -> Vec<String> {
    let mut notes = Vec::new();
    reel.for_each(|record| {
        if let Event::Note { text } = record.event {
            notes.push(String::from_utf8_lossy(text).into_owned());
        }
    });
    notes
}

fn beliefs(reel: &Reel) -> Vec<String> {
    let mut said = Vec::new();
    reel.for_each(|record| {
        if let Event::Believed { object, believed } = record.event {
            said.push(believed.words(object));
        }
    });
    said
}

const BELIEFS: [&str; 5] = [
    "created 42 owner 3",
    "value 42 position 1 2 3",
    "value 42 name \"Bob\"",
    "owner 42 4",
    "destroyed 42",
];

const UNREAL: &str = "../samples/plugins/unreal/Netreel/Source/Netreel";

/// A folder that has each header of the engine that the plugin includes: all are the stand-ins.
fn headers(folder: &Path) {
    for path in files(&format!("{UNREAL}/Private"), "") {
        let text = std::fs::read_to_string(path).unwrap();
        for name in text.split("#include \"").skip(1) {
            let name = name.split('"').next().unwrap();
            if !name.starts_with("Netreel") {
                let header = folder.join(name);
                std::fs::create_dir_all(header.parent().unwrap()).unwrap();
                std::fs::write(header, "#include \"engine.hpp\"\n").unwrap();
            }
        }
    }
}

/// The plugin and its game, built; `None` where there is no compiler.
fn unreal(folder: &Path) -> Option<PathBuf> {
    if !CPP20.is_here() {
        return None;
    }
    headers(&folder.join("engine"));
    let program = folder.join("game");
    let mut command = CPP20.strict();
    // As the engine builds: it warns of neither parameters without a use nor semicolons behind macros.
    command.args(["-Wno-unused-parameter", "-Wno-pedantic", "-I"]);
    command.arg(folder.join("engine")).arg("-I");
    command.arg(file("tests/unreal"));
    for part in ["Public", "Private"] {
        command.arg("-I").arg(file(&format!("{UNREAL}/{part}")));
    }
    command.args(files(&format!("{UNREAL}/Private"), ".cpp"));
    command.arg(file("tests/unreal/game.cpp")).arg("-ldl");
    checked(command.arg("-o").arg(&program));
    Some(program)
}

#[test]
fn unreals_sockets_are_recorded_by_its_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = unreal(folder.path()) else {
        return;
    };
    let reels = ["first.reel", "second.reel", "third.reel"];
    let [first, second, third] = reels.map(|name| folder.path().join(name));
    let mut game = Command::new(program);
    game.arg(library_folder().join("libnetreel.so"));
    let said = checked(game.args([&first, &second, &third]));
    assert!(said.contains("Display: recording to"), "{said}");

    let reel = open(&first).unwrap();
    assert_eq!(
        (reel.header().engine.as_str(), reel.header().build.as_str()),
        ("Unreal", "5.4-test")
    );
    check_counts(
        &reel,
        &[
            (EventKind::Tick, 50),
            (EventKind::SocketOpened, 2),
            (EventKind::Sent, 102),
            (EventKind::SendResult, 102),
            (EventKind::Received, 52),
            (EventKind::PollEmpty, 50),
            (EventKind::Input, 1),
            (EventKind::Snapshot, 1),
        ],
    );
    let named = notes(&reel);
    assert!(
        named
            .iter()
            .any(|note| note.ends_with("is PendingNetDriver")),
        "{named:?}"
    );
    assert!(
        named.iter().any(|note| note.ends_with("is nobody")),
        "{named:?}"
    );
    assert_eq!(beliefs(&reel), BELIEFS);
    let local: BTreeSet<_> = reel.endpoints().iter().map(|(_, local)| *local).collect();
    let (mut threads, mut failed) = (BTreeSet::new(), Vec::new());
    reel.for_each(|record| {
        threads.insert(record.thread);
        match record.event {
            // Addresses of IPv4 in those of IPv6 are the same as plain ones.
            Event::Received { from, .. } => assert!(local.contains(&from), "{from}"),
            Event::Sent { to, .. } => assert!(local.contains(&to), "{to}"),
            Event::SendResult { outcome, .. } if outcome != SendOutcome::Sent => {
                failed.push(outcome);
            }
            _ => {}
        }
    });
    // Linux's EMSGSIZE, which the stand-ins' <cerrno> has another number for.
    assert_eq!((threads.len(), failed), (2, vec![SendOutcome::Failed(90)]));

    // What was begun later names its sockets anew, and has their end.
    let reel = open(&second).unwrap();
    let expected = [
        (EventKind::Tick, 3),
        (EventKind::SocketOpened, 2),
        (EventKind::SocketClosed, 2),
    ];
    check_counts(&reel, &expected);
    // Threads that find no room are told of once.
    let of_threads = notes(&reel)
        .iter()
        .filter(|note| *note == "of a thread")
        .count();
    assert!((64..300).contains(&of_threads), "{of_threads}");
    assert_eq!(said.matches("is not recorded: ").count(), 1, "{said}");

    // A socket for which the reel has no number is not taken for another one.
    let reel = open(&third).unwrap();
    check_counts(
        &reel,
        &[(EventKind::SocketOpened, 65536), (EventKind::Sent, 0)],
    );
}

const UNITY: &str = "../samples/plugins/unity/com.netreel.recorder/Runtime";

#[test]
fn unity_transports_packets_are_recorded_by_its_package() {
    if !is_here("mcs") || !is_here("mono") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("Game.exe");
    let mut mcs = Command::new("mcs");
    mcs.args(["-unsafe", "-warnaserror", "-warn:4"]);
    mcs.arg(format!("-out:{}", program.display()));
    mcs.args(files(UNITY, ".cs"))
        .args(files("tests/unity", ".cs"));
    checked(&mut mcs);
    checked(
        Command::new("mono")
            .arg(&program)
            .env_remove("LD_LIBRARY_PATH"),
    );
    let reels = ["server.reel", "client.reel"].map(|name| folder.path().join(name));
    let mut mono = Command::new("mono");
    mono.arg(&program).args(&reels);
    checked(mono.env("LD_LIBRARY_PATH", library_folder()));

    let [server, client] = reels.map(|path| open(path).unwrap());
    assert_eq!(
        (
            client.header().node.as_str(),
            client.header().build.as_str()
        ),
        ("client", "7")
    );
    let sent = [
        (EventKind::Tick, 50),
        (EventKind::SocketOpened, 1),
        (EventKind::SocketClosed, 1),
        (EventKind::Sent, 50),
        (EventKind::Received, 50),
    ];
    check_counts(&server, &sent);
    check_counts(&client, &sent);
    let once = [
        EventKind::Input,
        EventKind::Snapshot,
        EventKind::Clock,
        EventKind::Random,
    ];
    check_counts(&client, &once.map(|kind| (kind, 1)));
    assert_eq!(
        (notes(&client), beliefs(&client)),
        (
            vec!["a note".to_owned()],
            BELIEFS.map(str::to_owned).to_vec()
        )
    );
    // Each packet that came is one that the other sent, from where it is.
    let [here, there] = [&server, &client].map(|reel| reel.endpoints()[0].1);
    server.for_each(|record| match record.event {
        Event::Received { from, payload, .. } => {
            assert_eq!((from, &payload[..3]), (there, &[1, 2, 3][..]));
        }
        Event::Sent { to, payload, .. } => assert_eq!((to, payload[0]), (there, 9)),
        _ => {}
    });
    assert_ne!(here, there);
    assert_eq!(open_session(&[folder.path()]).unwrap().reels.len(), 2);
}

/// The binding of Unity takes functions by their places.
#[test]
fn the_functions_of_the_binding_are_those_of_the_header_in_its_order() {
    let header = std::fs::read_to_string(file("include/netreel.h")).unwrap();
    let functions = header.split("(*").skip(1);
    let functions: Vec<_> = functions
        .filter_map(|rest| rest.split(')').next())
        .collect();
    let binding = std::fs::read_to_string(file(&format!("{UNITY}/Native.cs"))).unwrap();
    let slots = binding
        .split("enum Slot")
        .nth(1)
        .unwrap()
        .split('}')
        .next()
        .unwrap();
    let slots = slots.split([',', '{']).map(str::trim);
    let slots: Vec<_> = slots
        .filter(|slot| !slot.is_empty() && *slot != "Count")
        .collect();
    assert_eq!(slots, functions[..functions.len() - 1]);
}
