//! Wires beside the window: those that are known, how much of what is shown each decodes, and the one
//! that somebody edits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use netreel_inspector::Candidate;
use netreel_protocol::session::{PacketId, ReelInput, Session};
use netreel_system::{Cancel, CancelOnDrop};
use netreel_wire::Wire;

use crate::wire::Edited;
use crate::{open, whole};

/// What the command has itself.
const OWN: [(&str, &str); 8] = [
    ("boxes.wire", include_str!("../../samples/wires/boxes.wire")),
    ("enet.wire", include_str!("../../samples/wires/enet.wire")),
    ("kcp.wire", include_str!("../../samples/wires/kcp.wire")),
    (
        "minetest.wire",
        include_str!("../../samples/wires/minetest.wire"),
    ),
    (
        "quake3.wire",
        include_str!("../../samples/wires/quake3.wire"),
    ),
    (
        "raknet.wire",
        include_str!("../../samples/wires/raknet.wire"),
    ),
    ("renet.wire", include_str!("../../samples/wires/renet.wire")),
    (
        "teeworlds07.wire",
        include_str!("../../samples/wires/teeworlds07.wire"),
    ),
];

/// Each wire is tried on the first bytes of each reel, and there on this many packets at most.
const BYTES: u64 = 256 << 10;
const PACKETS: usize = 2_000;

/// More wires in one folder are not tried.
const FILES_MAX: usize = 64;

/// How often a wire that may be edited is looked at: soon enough for whoever saves a file and looks up.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// An editor empties a file before it fills it: what changed a moment ago may change again.
const SETTLES_AFTER: Duration = Duration::from_millis(50);

/// Tries the wires that are known on what is shown: those in `folders`, and the command's own. Those
/// that decode most stand first.
pub(super) fn candidates(shown: &Session, folders: &[PathBuf]) -> Vec<Candidate> {
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut all = Vec::new();
    for path in files(folders) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let tried = open::wire_text(&path).map(|text| {
            let wire = open::compile(&path, &text).map_err(|error| mistake(&error.to_string()));
            known.insert(text);
            wire
        });
        all.push(Candidate {
            name: name.into_owned(),
            path: Some(path),
            ..tried_on(shown, tried.and_then(|wire| wire))
        });
    }
    for (name, text) in OWN {
        if known.contains(text) {
            continue;
        }
        let wire = Wire::compile(name, text).map_err(|error| mistake(&error.to_string()));
        all.push(Candidate {
            name: name.to_owned(),
            ..tried_on(shown, wire)
        });
    }
    // Whole numbers, so that equal shares are equal.
    let share = |it: &Candidate| (it.fit as u64 * 1_000_000) / it.packets.max(1) as u64;
    all.sort_by_key(|it| (std::cmp::Reverse(share(it)), it.name.clone()));
    all
}

/// A wire's first mistake in one line, with its place.
fn mistake(text: &str) -> String {
    let mut lines = text.lines();
    let said = lines.next().unwrap_or_default();
    match lines.find_map(|line| line.trim().strip_prefix("--> ")) {
        Some(place) => format!("{place}: {said}"),
        None => said.to_owned(),
    }
}

/// The wires in some folders, in the order of their names.
fn files(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = BTreeSet::new();
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let wires: BTreeSet<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|it| it == "wire"))
            .collect();
        all.extend(wires.into_iter().take(FILES_MAX));
    }
    all.into_iter().collect()
}

/// How many of the first packets a wire decodes without a mistake.
fn tried_on(shown: &Session, wire: Result<Wire, String>) -> Candidate {
    let wire = match wire {
        Ok(wire) => Arc::new(wire),
        Err(why) => {
            return Candidate {
                why: Some(why),
                ..Candidate::default()
            };
        }
    };
    // A reel that has no beginning that could be read alone is left out.
    let inputs = shown.session_reels().into_iter().filter_map(|reel| {
        Some(ReelInput {
            name: reel.name.clone(),
            reel: Arc::new(reel.reel.beginning(BYTES).ok()?),
        })
    });
    let session = match Session::builder().wire(wire).build(inputs.collect()) {
        Ok(session) => session,
        Err(why) => {
            return Candidate {
                why: Some(why.to_string()),
                ..Candidate::default()
            };
        }
    };
    let packets = session.packet_count().min(PACKETS);
    let fits = |number: &usize| {
        let said = session.said(PacketId(*number as u32));
        said.is_some_and(|said| said.diagnostics == 0 && said.protocol.is_some())
    };
    Candidate {
        packets,
        fit: (0..packets).filter(fits).count(),
        ..Candidate::default()
    }
}

/// Where one of the command's own wires lies, so that it can be read and changed like any other: below
/// `XDG_STATE_HOME`, else `~/.local/state`. It is written there unless somebody did before.
///
/// # Errors
/// A sentence: there is none of that name, or it cannot be written.
pub(super) fn own(name: &str) -> Result<PathBuf, String> {
    let text = OWN.iter().find(|(known, _)| *known == name);
    let (name, text) = text.ok_or_else(|| format!("netreel has no wire {name}"))?;
    let state = crate::bookmarks::state_folder();
    let folder = state.ok_or("there is no folder for it: HOME is not set")?;
    let folder = folder.join("wires");
    let path = folder.join(name);
    if path.is_file() {
        return Ok(path);
    }
    let written = std::fs::create_dir_all(&folder).and_then(|()| whole::write(&path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// Looks after a wire that somebody edits, as long as it is held.
pub(super) struct Watched(#[expect(dead_code)] CancelOnDrop);

impl Watched {
    /// Calls `changed` from a thread of its own whenever the wire, or what it imports, is another one:
    /// with a sentence where it has a mistake. `None` where there can be no such thread.
    pub fn new(
        path: &Path,
        changed: impl Fn(Result<(), String>) + Send + 'static,
    ) -> Option<Watched> {
        let (path, cancel) = (path.to_owned(), Cancel::default());
        let held = CancelOnDrop(cancel.clone());
        let mut edited = Edited::read(&path);
        let look = move || {
            while cancel.goes_on() {
                thread::sleep(LOOK_EVERY);
                if !edited.has_changed() {
                    continue;
                }
                while edited.has_changed() {
                    edited = Edited::read(&path);
                    thread::sleep(SETTLES_AFTER);
                }
                if !cancel.goes_on() {
                    return;
                }
                changed(match &edited.wire {
                    Ok(Ok(_)) => Ok(()),
                    Ok(Err(mistakes)) => Err(mistakes.to_string()),
                    Err(why) => Err(format!("{}: {why}", path.display())),
                });
            }
        };
        let spawned = thread::Builder::new().name("wire".to_owned()).spawn(look);
        spawned.ok().map(|_| Watched(held))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::arguments::Source;

    fn shown(path: &str) -> Arc<Session> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        open::story(&Source::alone(&path)).expect("a story").session
    }

    #[track_caller]
    fn check(path: &str, best: &str) {
        let found = candidates(&shown(path), &[]);
        assert_eq!(found.len(), OWN.len());
        let first = &found[0];
        assert_eq!(first.name, best, "{found:?}");
        assert!(first.fit * 10 >= first.packets * 9, "{first:?}");
        assert!(first.fit > found[1].fit, "{found:?}");
    }

    #[test]
    fn the_wire_of_a_recording_decodes_most_of_it() {
        check("samples/sessions/host", "boxes.wire");
        for name in ["minetest", "quake3", "raknet", "renet"] {
            let capture = format!("protocol/wire/tests/recordings/{name}.pcap");
            check(&capture, &format!("{name}.wire"));
        }
    }

    #[test]
    fn a_wire_in_a_folder_is_tried_and_its_mistake_said() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("bad.wire"), "wire bad\nmessage {").expect("a file");
        std::fs::write(folder.path().join("same.wire"), OWN[0].1).expect("a file");
        let found = candidates(&shown("samples/sessions/host"), &[folder.path().to_owned()]);
        let named = |name: &str| found.iter().find(|it| it.name == name);
        let same = named("same.wire").expect("tried");
        assert_eq!(same.fit, same.packets);
        assert!(named("boxes.wire").is_none(), "it is tried once");
        let why = named("bad.wire").and_then(|it| it.why.clone());
        assert!(why.expect("a mistake").contains("bad.wire"), "{found:?}");
    }

    #[test]
    fn whoever_edits_a_wire_is_told_of_a_mistake_and_of_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("own.wire");
        std::fs::write(&path, OWN[0].1).expect("a file");
        let (to, from) = channel();
        let watched = Watched::new(&path, move |changed| drop(to.send(changed)));
        let told = || from.recv_timeout(Duration::from_secs(120)).expect("told");
        std::fs::write(&path, "wire own\nmessage {").expect("a file");
        let why = told().expect_err("a mistake");
        assert!(why.contains("own.wire:2"), "{why}");
        std::fs::write(&path, OWN[1].1).expect("a file");
        assert_eq!(told(), Ok(()));
        drop(watched);
    }
}
