//! Answers of the command that are kept in files, so that a change of any of them shows.
//!
//! A short answer is kept whole. Of a long one a digest of each 1000 lines is kept, so that a
//! difference can be located.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use siphasher::sip128::{Hasher128 as _, SipHasher24};
use tempfile::TempDir;

/// Where the answers are kept.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/answers");
/// Where what differs is put.
const DIFFERENT: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/answers");
/// Set to `write`, it has the answers written anew.
const VARIABLE: &str = "NETREEL_ANSWERS";

/// An answer that is longer is kept as digests.
const WHOLE_BYTES_MAX: usize = 8 << 10;
/// How many lines have a digest together.
const PIECE_LINES: usize = 1000;
/// A line that is longer, such as a large JSON object, is cut into pieces of this size.
const LINE_BYTES_MAX: usize = 64 << 10;
/// How many runs of the command go on at a time.
const AT_A_TIME: usize = 2;
/// How many differences are told in full.
const TOLD_MAX: usize = 10;

/// What the command is asked about every session: the name of the answer's file, and the arguments.
pub const COMMANDS: [(&str, &[&str]); 8] = [
    ("info", &["info"]),
    ("info-json", &["info", "--json"]),
    ("packets", &["packets"]),
    ("packets-json", &["packets", "--json"]),
    ("objects", &["objects"]),
    ("objects-json", &["objects", "--json"]),
    ("check", &["check"]),
    ("check-json", &["check", "--json"]),
];

/// Captures in the repository, and their wires.
pub const RECORDINGS: [(&str, &str); 7] = [
    ("enet.pcap", "enet"),
    ("enet_godot3.pcap", "enet"),
    ("minetest.pcap", "minetest"),
    ("quake3.pcap", "quake3"),
    ("raknet.pcap", "raknet"),
    ("renet.pcap", "renet"),
    ("teeworlds07.pcap", "teeworlds07"),
];

/// Captures beside the repository, and their wires where there is one.
pub const CAPTURES: [(&str, Option<&str>); 15] = [
    ("bevy_replicon.pcap", None),
    ("enet_c.pcap", Some("enet")),
    ("gaijin_warthunder.pcap", Some("enet")),
    ("godot3_enet.pcap", Some("enet")),
    ("kcp.pcap", Some("kcp")),
    ("minetest.pcap", Some("minetest")),
    ("nintendo.pcap", None),
    ("openarena_q3.pcap", Some("quake3")),
    ("raknet.pcap", Some("raknet")),
    ("raknet_c.pcap", Some("raknet")),
    ("renet.pcap", Some("renet")),
    ("roblox.pcapng", Some("raknet")),
    ("source_engine.pcap", None),
    ("steam.pcapng", None),
    // A demo, which is no capture.
    ("openarena_q3_client.dm_71", None),
];

/// The folder of [`CAPTURES`]; says that the test is skipped where there is none.
pub fn captures() -> Option<PathBuf> {
    let folder = std::env::var_os("NETREEL_CAPTURES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/captures"),
        PathBuf::from,
    );
    let here = folder.is_dir();
    if !here {
        super::skipped(format_args!("no folder {}", folder.display()));
    }
    here.then_some(folder)
}

/// A session that the command is asked about.
#[derive(Clone)]
pub struct Asked {
    /// The name of the folder of its answers.
    pub name: String,
    /// What is read, from the [`Stage`]'s folder.
    pub paths: Vec<String>,
    /// The name of a wire of `samples/wires`.
    pub wire: Option<&'static str>,
    /// What is asked.
    pub commands: Vec<(&'static str, &'static [&'static str])>,
}

impl Asked {
    /// All of [`COMMANDS`] about one path.
    pub fn all(name: &str, path: &str, wire: Option<&'static str>) -> Asked {
        Asked {
            name: name.to_owned(),
            paths: vec![path.to_owned()],
            wire,
            commands: COMMANDS.to_vec(),
        }
    }
}

/// The folder that the command runs in. All that is read is below it, wherever the repository and
/// the captures are, so that the paths in the answers are the same on every machine.
pub struct Stage {
    folder: TempDir,
}

impl Stage {
    /// A stage on which the repository's samples and recordings are.
    pub fn new() -> Stage {
        let stage = Stage {
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        stage.show("samples", &repository.join("samples"));
        let recordings = repository.join("protocol/wire/tests/recordings");
        stage.show("recordings", &recordings);
        stage
    }

    /// Puts a folder of another place on the stage.
    pub fn show(&self, name: &str, folder: &Path) {
        let folder = folder.canonicalize().expect("a folder");
        let name = self.folder.path().join(name);
        std::os::unix::fs::symlink(folder, name).expect("a link in a temporary folder");
    }

    /// Writes a file, and the folders above it.
    pub fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.folder.path().join(path);
        let above = path.parent().expect("a file in a folder");
        fs::create_dir_all(above).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }

    /// Runs `netreel` on the stage.
    pub fn run(&self, arguments: &[&str]) -> Answer {
        let output = super::windows::output(
            super::command()
                .args(arguments)
                .current_dir(self.folder.path())
                .env_remove("DISPLAY")
                .env_remove("WAYLAND_DISPLAY")
                .env_remove("CLICOLOR_FORCE"),
        );
        Answer {
            code: output.status.code(),
            out: named(output.stdout),
            err: named(output.stderr),
        }
    }

    fn ask(&self, asked: &Asked, arguments: &[&str]) -> Answer {
        let wire = asked.wire.map(|wire| format!("samples/wires/{wire}.wire"));
        let mut all = arguments.to_vec();
        all.extend(asked.paths.iter().map(String::as_str));
        all.extend(wire.iter().flat_map(|wire| ["--wire", wire]));
        self.run(&all)
    }
}

/// The reel that cannot be read, as Linux names it: Windows has another sign between a folder and its file,
/// which JSON doubles.
fn named(bytes: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => text
            .replace(r"-cut\\X.reel", "-cut/X.reel")
            .replace(r"-cut\X.reel", "-cut/X.reel")
            .into_bytes(),
        Err(other) => other.into_bytes(),
    }
}

/// What a run of the command printed, and its exit code.
pub struct Answer {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
}

impl Answer {
    /// As it is kept.
    fn kept(&self) -> String {
        let mut text = String::new();
        match self.code {
            Some(code) => writeln!(text, "exit code {code}"),
            None => writeln!(text, "no exit code"),
        }
        .expect("room for text");
        stream("error output", &self.err, &mut text);
        stream("standard output", &self.out, &mut text);
        text
    }

    /// All of it.
    fn whole(&self) -> Vec<u8> {
        let code = format!("exit code {:?}\nerror output:\n", self.code);
        let out = b"standard output:\n";
        [code.as_bytes(), &self.err, out, &self.out].concat()
    }
}

fn stream(name: &str, bytes: &[u8], text: &mut String) {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').count();
    let length = bytes.len();
    writeln!(text, "{name}: {lines} lines, {length} bytes").expect("room for text");
    match std::str::from_utf8(bytes) {
        Ok(whole) if length <= WHOLE_BYTES_MAX => {
            for line in whole.split_inclusive('\n') {
                match line.strip_suffix('\n') {
                    Some(line) => writeln!(text, "| {line}"),
                    None => writeln!(text, "|\\{line}"),
                }
                .expect("room for text");
            }
        }
        _ => digests(bytes, text),
    }
}

/// A line for each piece of an answer.
fn digests(bytes: &[u8], text: &mut String) {
    let mut tell = |place: String, piece: &[u8]| {
        let (length, digest) = (piece.len(), digest(piece));
        writeln!(text, "{place}: {length} bytes, {digest}").expect("room for text");
    };
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let mut next = 0;
    while let Some(line) = lines.get(next) {
        let first = next + 1;
        if line.len() > LINE_BYTES_MAX {
            for (number, part) in line.chunks(LINE_BYTES_MAX).enumerate() {
                let from = number * LINE_BYTES_MAX;
                tell(format!("line {first} from byte {from}"), part);
            }
            next += 1;
            continue;
        }
        let short = lines[next..].iter().take(PIECE_LINES);
        let count = short
            .take_while(|line| line.len() <= LINE_BYTES_MAX)
            .count();
        tell(
            format!("lines {first} to {}", next + count),
            &lines[next..next + count].concat(),
        );
        next += count;
    }
}

/// 128 bits.
fn digest(bytes: &[u8]) -> String {
    let mut hasher = SipHasher24::new();
    hasher.write(bytes);
    format!("{:032x}", hasher.finish128().as_u128())
}

/// Asks everything, and fails where an answer is not the one that is kept in the folder `group`, or
/// where one is kept that nobody asks for.
pub fn check(group: &str, stage: &Stage, sessions: &[Asked]) {
    // The tests of one program run side by side, and each runs the command twice at a time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);

    let kept = Path::new(KEPT).join(group);
    let writes = std::env::var(VARIABLE).is_ok_and(|value| value == "write");
    if writes {
        let _ = fs::remove_dir_all(&kept);
    }
    let questions: Vec<_> = sessions
        .iter()
        .flat_map(|asked| asked.commands.iter().map(move |command| (asked, *command)))
        .collect();
    let next = AtomicUsize::new(0);
    let different = Mutex::new(Vec::new());
    let work = || {
        while let Some((asked, (name, arguments))) =
            questions.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let answer = stage.ask(asked, arguments);
            let place = format!("{group}/{}/{name}", asked.name);
            if writes {
                write(&kept_file(&place), answer.kept().as_bytes());
            } else if let Some(words) = compare(&place, &answer) {
                let mut different = different.lock().unwrap_or_else(PoisonError::into_inner);
                different.push((place, words));
            }
        }
    };
    std::thread::scope(|scope| {
        (0..AT_A_TIME).for_each(|_| {
            scope.spawn(work);
        });
    });
    let mut different = different
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let asked: BTreeSet<String> = questions
        .iter()
        .map(|(asked, (name, _))| format!("{group}/{}/{name}", asked.name))
        .collect();
    for place in answers_in(group) {
        if !asked.contains(&place) {
            let words = format!("{place}: this answer is kept, but nobody asks for it");
            different.push((place, words));
        }
    }
    different.sort();
    let count = different.len();
    let told: Vec<String> = different.into_iter().map(|(_, words)| words).collect();
    let more = match count.saturating_sub(TOLD_MAX) {
        0 => String::new(),
        more => format!("and {more} more: {}\n", told[TOLD_MAX..].join("\n")),
    };
    assert!(
        count == 0,
        "{count} of {} answers are not those that are kept in tests/answers.\n\n{}\n\n{more}\
         If this change is meant, `{VARIABLE}=write cargo test --test answers` writes them anew.",
        questions.len(),
        told[..count.min(TOLD_MAX)].join("\n\n"),
    );
}

/// What differs, in words.
fn compare(place: &str, answer: &Answer) -> Option<String> {
    let now = answer.kept();
    let Ok(kept) = fs::read_to_string(kept_file(place)) else {
        return Some(format!("{place}: no answer is kept"));
    };
    if now == kept {
        return None;
    }
    let whole = Path::new(DIFFERENT).join(format!("{place}.txt"));
    write(&whole, &answer.whole());
    let mut lines = kept.lines().zip(now.lines()).enumerate();
    // The line above says how long all is: what comes after it says where it differs.
    let is_length = |line: &str| line.starts_with("error output") || line.starts_with("standard");
    let first = lines
        .clone()
        .find(|(_, (kept, now))| kept != now && !(is_length(kept) && is_length(now)));
    let first = first.or_else(|| lines.find(|(_, (kept, now))| kept != now));
    let (line, was, is) = match first {
        Some((line, (was, is))) => (line, was, is),
        None => {
            let line = kept.lines().count().min(now.lines().count());
            let at = |text| str::lines(text).nth(line).unwrap_or("the end");
            (line, at(&kept), at(&now))
        }
    };
    Some(format!(
        "{place}: line {} of tests/answers/{place}.txt\n  kept: {was}\n  now:  {is}\n  all of it: {}",
        line + 1,
        whole.display()
    ))
}

fn kept_file(place: &str) -> PathBuf {
    Path::new(KEPT).join(format!("{place}.txt"))
}

/// The answers that are kept of a group, in order.
fn answers_in(group: &str) -> BTreeSet<String> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    };
    let folder = Path::new(KEPT).join(group);
    let sessions = names(&folder).into_iter();
    sessions
        .flat_map(|session| {
            let answers = names(&folder.join(&session)).into_iter();
            answers
                .map(move |answer| format!("{group}/{session}/{}", answer.trim_end_matches(".txt")))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn write(path: &Path, bytes: &[u8]) {
    let above = path.parent().expect("a file in a folder");
    fs::create_dir_all(above).expect("a folder");
    fs::write(path, bytes).expect("a file");
}
