//! Answers of the command that are kept in files, so that a change of any of them shows.
//!
//! A short answer is kept whole. Of a long one are kept some of its rows, from the first to the last, by
//! which a person sees what changed, and a digest of the whole, from which no change hides. There are few
//! of these: what the command answered besides is held by what answers have to do with each other
//! (`tests/answered`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Deserialize;
use serde_json::Value;
use siphasher::sip128::{Hasher128 as _, SipHasher24};
use tempfile::TempDir;

/// Where the answers are kept.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/answers");
/// Where what differs is put.
const DIFFERENT: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/answers");
/// Begins the last line of a long answer.
const DIGEST: &str = "digest of all of it: ";
/// Set to `write`, it has the answers written anew.
const VARIABLE: &str = "NETREEL_ANSWERS";

/// Of an answer that is longer, rows are kept.
const WHOLE_BYTES_MAX: usize = 8 << 10;
/// How many of its first rows, of those in between at even places, and of its last.
const ROWS: [usize; 3] = [5, 8, 3];
/// What is longer of a row is not kept.
const ROW_CHARS_MAX: usize = 320;
/// How many long answers are kept. Whoever keeps another one drops one.
const LONG_MAX: usize = 60;
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

/// What is asked of every session is kept of most.
pub const MOSTLY_KEPT: [&str; 4] = ["info", "packets", "objects", "check"];

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
    /// The answers that are kept.
    pub kept: Vec<&'static str>,
}

impl Asked {
    /// All of [`COMMANDS`] about one path.
    pub fn all(name: &str, path: &str, wire: Option<&'static str>) -> Asked {
        Asked {
            name: name.to_owned(),
            paths: vec![path.to_owned()],
            wire,
            commands: COMMANDS.to_vec(),
            kept: MOSTLY_KEPT.to_vec(),
        }
    }

    /// Has these answers kept instead.
    pub fn keeping(mut self, kept: &[&'static str]) -> Asked {
        self.kept = kept.to_vec();
        self
    }

    /// Has all answers kept.
    pub fn keeping_all(mut self) -> Asked {
        self.kept = self.commands.iter().map(|(name, _)| *name).collect();
        self
    }
}

/// A packet, as `packets --json` tells it.
#[derive(Deserialize)]
pub struct Packet {
    pub packet: u64,
    pub from: String,
    pub to: String,
    pub sent_ns: Option<i64>,
    pub received_ns: Option<i64>,
    pub late_ns: Option<i64>,
    pub duplicates_ns: Vec<i64>,
    pub seen: Vec<Seen>,
    pub acked_ns: Option<i64>,
    pub fate: String,
    pub length: u64,
    pub sequence: Option<u64>,
    pub ack: Option<u64>,
    pub messages: Vec<Message>,
}

#[derive(Deserialize)]
pub struct Seen {
    pub time_ns: i64,
}

#[derive(Deserialize)]
pub struct Message {
    pub message: u64,
    pub kind: Option<String>,
    pub resend_of: Option<Value>,
    pub effects: Vec<Effect>,
}

#[derive(Deserialize)]
pub struct Effect {
    pub effect: String,
}

impl Packet {
    /// When it was first known.
    pub fn first_ns(&self) -> i64 {
        let seen = self.seen.iter().map(|seen| seen.time_ns);
        let ends = self.sent_ns.into_iter().chain(self.received_ns);
        ends.chain(seen).min().unwrap_or(0)
    }
}

/// A session, and what the command answered.
pub struct Answered {
    /// What was asked.
    pub asked: Asked,
    group: &'static str,
    answers: BTreeMap<&'static str, Answer>,
    packets: OnceLock<Vec<Packet>>,
}

impl Answered {
    /// Whether this was asked.
    pub fn has(&self, command: &str) -> bool {
        self.answers.contains_key(command)
    }

    /// What was answered.
    pub fn answer(&self, command: &str) -> &Answer {
        self.answers.get(command).expect("it was asked")
    }

    /// What was printed.
    pub fn text(&self, command: &str) -> &str {
        std::str::from_utf8(&self.answer(command).out).expect("UTF-8")
    }

    /// All packets; none where nothing could be read.
    pub fn packets(&self) -> &[Packet] {
        self.packets.get_or_init(|| {
            let lines = self.text("packets-json").lines();
            let lines = lines.filter(|line| line.starts_with("{\"packet\""));
            let read = lines.map(|line| serde_json::from_str(line).expect("a packet"));
            read.collect()
        })
    }

    /// Fails unless it holds, with the place where the answers are.
    #[track_caller]
    pub fn hold(&self, commands: &[&str], holds: bool, words: impl std::fmt::Display) {
        if holds {
            return;
        }
        let place = |command: &&str| {
            let place = format!("{}/{}/{command}", self.group, self.asked.name);
            put_whole(&place, self.answer(command))
        };
        let places: Vec<String> = commands.iter().map(place).collect();
        let name = &self.asked.name;
        panic!("{name}: {words}\nthe answers: {}", places.join(", "));
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
#[derive(Clone)]
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
        if !is_short(&self.err) || !is_short(&self.out) {
            writeln!(text, "{DIGEST}{}", digest(&self.whole())).expect("room for text");
        }
        text
    }

    /// All of it.
    fn whole(&self) -> Vec<u8> {
        let code = format!("exit code {:?}\nerror output:\n", self.code);
        let out = b"standard output:\n";
        [code.as_bytes(), &self.err, out, &self.out].concat()
    }
}

/// Whether all of it is kept.
fn is_short(bytes: &[u8]) -> bool {
    bytes.len() <= WHOLE_BYTES_MAX && std::str::from_utf8(bytes).is_ok()
}

fn stream(name: &str, bytes: &[u8], text: &mut String) {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').count();
    let length = bytes.len();
    writeln!(text, "{name}: {lines} lines, {length} bytes").expect("room for text");
    let whole = String::from_utf8_lossy(bytes);
    if !is_short(bytes) {
        return some_rows(&whole, text);
    }
    for line in whole.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(line) => writeln!(text, "| {line}"),
            None => writeln!(text, "|\\{line}"),
        }
        .expect("room for text");
    }
}

/// Rows of a long answer, each with its number. They are its lines, or the objects of JSON that is one
/// line.
fn some_rows(whole: &str, text: &mut String) {
    let mut rows: Vec<&str> = whole.lines().collect();
    let mut objects = Vec::new();
    if let [line] = rows[..] {
        let starts = line.match_indices("{\"").map(|(place, _)| place);
        let mut ends: Vec<usize> = starts.chain([line.len()]).collect();
        ends.dedup();
        objects.extend(ends.windows(2).map(|it| &line[it[0]..it[1]]));
    }
    if !objects.is_empty() {
        rows = objects;
    }
    let [first, between, last] = ROWS;
    let count = rows.len();
    let step = |nth| first + nth * count.saturating_sub(first + last) / (between + 1);
    let mut shown: BTreeSet<usize> = (0..first.min(count)).collect();
    shown.extend((1..=between).map(step));
    shown.extend(count.saturating_sub(last)..count);
    let width = count.to_string().len();
    for place in shown {
        let Some(row) = rows.get(place) else { continue };
        let cut: String = row.chars().take(ROW_CHARS_MAX).collect();
        let more = if cut.len() < row.len() { " ..." } else { "" };
        writeln!(text, "{:>width$}| {cut}{more}", place + 1).expect("room for text");
    }
}

/// 128 bits.
fn digest(bytes: &[u8]) -> String {
    let mut hasher = SipHasher24::new();
    hasher.write(bytes);
    format!("{:032x}", hasher.finish128().as_u128())
}

/// Asks everything.
pub fn ask(group: &'static str, stage: &Stage, sessions: Vec<Asked>) -> Vec<Answered> {
    // The tests of one program run side by side, and each group runs the command twice at a time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);

    let questions: Vec<_> = (0..)
        .zip(&sessions)
        .flat_map(|(place, asked)| asked.commands.iter().map(move |it| (place, asked, *it)))
        .collect();
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(vec![BTreeMap::new(); sessions.len()]);
    let work = || {
        while let Some((place, asked, (name, arguments))) =
            questions.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let answer = stage.ask(asked, arguments);
            let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
            let of_session: &mut BTreeMap<&str, Answer> = &mut answers[*place];
            of_session.insert(name, answer);
        }
    };
    std::thread::scope(|scope| {
        (0..AT_A_TIME).for_each(|_| {
            scope.spawn(work);
        });
    });
    let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    let both = sessions.into_iter().zip(answers);
    both.map(|(asked, answers)| Answered {
        asked,
        group,
        answers,
        packets: OnceLock::new(),
    })
    .collect()
}

/// Fails where an answer is not the one that is kept in the folder `group`, or where one is kept that is
/// none of these.
pub fn check(group: &str, sessions: &[Answered]) {
    let kept = Path::new(KEPT).join(group);
    let writes = writes();
    if writes {
        let _ = fs::remove_dir_all(&kept);
    }
    let mut different = Vec::new();
    let mut asked = BTreeSet::new();
    for session in sessions {
        for name in &session.asked.kept {
            let place = format!("{group}/{}/{name}", session.asked.name);
            let answer = session.answer(name);
            if writes {
                write(&kept_file(&place), answer.kept().as_bytes());
            } else if let Some(words) = compare(&place, answer) {
                different.push((place.clone(), words));
            }
            asked.insert(place);
        }
    }
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
        asked.len(),
        told[..count.min(TOLD_MAX)].join("\n\n"),
    );
}

/// Whether answers are written anew.
fn writes() -> bool {
    std::env::var(VARIABLE).is_ok_and(|value| value == "write")
}

/// Fails where more long answers are kept than a person reads.
pub fn check_long() {
    if writes() {
        return;
    }
    let groups = fs::read_dir(KEPT).expect("the answers").flatten();
    let groups = groups.map(|group| group.file_name().to_string_lossy().into_owned());
    let places = groups.flat_map(|group| answers_in(&group));
    let is_long = |place: &String| {
        let text = fs::read_to_string(kept_file(place)).unwrap_or_default();
        text.lines().any(|line| line.starts_with(DIGEST))
    };
    let long: Vec<String> = places.filter(is_long).collect();
    assert!(
        long.len() <= LONG_MAX,
        "{} long answers are kept in tests/answers, {LONG_MAX} may be: {}",
        long.len(),
        long.join(", ")
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
    let whole = put_whole(place, answer);
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
        "{place}: line {} of tests/answers/{place}.txt\n  kept: {was}\n  now:  {is}\n  all of it: {whole}",
        line + 1,
    ))
}

/// Puts an answer where a person can read all of it, and says where.
fn put_whole(place: &str, answer: &Answer) -> String {
    let whole = Path::new(DIFFERENT).join(format!("{place}.txt"));
    write(&whole, &answer.whole());
    whole.display().to_string()
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
