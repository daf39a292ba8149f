//! What a session of a million or of ten million packets takes: seconds, processor seconds and
//! memory of each command, the first time and again, beside tshark on the same packets.
//!
//! `./dev bench --bench story -- --packets 10000000`; without a number, a million. `--only raknet`
//! takes the sessions whose names begin so; with `--check` the exit code is 1 where a target is
//! missed. The command itself is measured, so it has to be built before:
//! `cargo build --release --package netreel`.
//!
//! `--only soak` plays a server's day: a hundred million packets in the server's reel, which takes 7 GB,
//! and `check` of it.
//!
//! The sessions are made once, into `target/story-bench`, always the same: boxes of the sample
//! engine ([`boxes`]), and servers of RakNet, Quake 3 and Minetest with their clients, of the
//! captures in `../shared/captures` or `NETREEL_CAPTURES` or of the small ones in the repository
//! ([`engines`]). Of these there is a packet capture with the same packets too. All sessions of ten
//! million packets take about 20 GB.
//!
//! **first** is a run that finds nothing but the recording: what other runs left beside it or in
//! the cache (`XDG_CACHE_HOME`) is deleted before. **again** is the run after it. The files were
//! read before, so no run waits for the disk. Of seconds and processor seconds the fewer are compared
//! with a target and with tshark: other work of the machine makes the first more, several threads
//! the second.

mod boxes;
#[path = "../measure/capture.rs"]
mod capture;
#[path = "../measure/child.rs"]
mod child;
mod engines;
mod reels;
mod table;

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use child::Usage;
use engines::{ENGINES, Engine};
use table::{Asked, Beside, Row, Run};

/// A server's day, of which its own reel is all that there is: 100 million packets. It is played where
/// `--only` names it.
const SOAK: (&str, u8) = ("soak", 32);
const SOAK_PACKETS: u64 = 100_000_000;

/// Every other session: what is played, and by how many nodes.
const SESSIONS: [(&str, u8); 7] = [
    ("boxes", 4),
    ("boxes", 16),
    ("raknet", 4),
    ("raknet", 16),
    ("quake3", 4),
    ("quake3", 16),
    ("minetest", 4),
];

const FILTER: &str = "lost && length > 100";
/// Written when a session is whole: how many packets and events it has.
const DONE: &str = "made.txt";
/// Counts up where sessions are made in another way.
const EDITION: u32 = 1;

const USAGE: &str = "story [--packets N] [--only NAME] [--check]";

/// What was made.
struct Made {
    packets: u64,
    events: u64,
}

struct Arguments {
    /// `None`: as many as the session has when nobody says.
    packets: Option<u64>,
    only: String,
    check: bool,
    /// A session to make, and nothing else: memory of the making is not counted as a command's.
    make: Option<String>,
}

/// A session on disk.
struct Session {
    name: String,
    folder: PathBuf,
    made: Made,
}

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("{why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let places = match Places::find() {
        Ok(places) => places,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    if let Some(name) = &arguments.make {
        let chosen = sessions().find(|(engine, nodes)| *name == full_name(engine, *nodes));
        let Some((engine, nodes)) = chosen else {
            eprintln!("there is no session {name}");
            return ExitCode::from(2);
        };
        make(engine, nodes, arguments.packets(engine), &places);
        return ExitCode::SUCCESS;
    }
    if !places.netreel.is_file() {
        eprintln!(
            "there is no {}: build it with `cargo build --release --package netreel`",
            places.netreel.display()
        );
        return ExitCode::from(2);
    }
    let chosen = sessions().filter(|&(name, nodes)| match arguments.only.as_str() {
        "" => name != SOAK.0,
        only => full_name(name, nodes).starts_with(only),
    });
    let mut missed = false;
    for (name, nodes) in chosen {
        let session = match session(name, nodes, arguments.packets(name), &places) {
            Ok(session) => session,
            Err(why) => {
                eprintln!("{}: {why}", full_name(name, nodes));
                return ExitCode::from(2);
            }
        };
        missed |= measure(&session, &places);
        println!();
    }
    if arguments.check && missed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments {
            packets: None,
            only: String::new(),
            check: false,
            make: None,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--packets" => {
                    let number = value()?.replace('_', "");
                    let number = number.parse().ok().filter(|number| *number > 0);
                    arguments.packets = Some(number.ok_or("--packets needs a number above 0")?);
                }
                "--only" => arguments.only = value()?,
                "--make" => arguments.make = Some(value()?),
                "--check" => arguments.check = true,
                // cargo says so to every bench.
                "--bench" => {}
                _ => return Err(format!("`{word}` is not known")),
            }
        }
        Ok(arguments)
    }

    /// How many packets a session has.
    fn packets(&self, name: &str) -> u64 {
        self.packets.unwrap_or(match name == SOAK.0 {
            true => SOAK_PACKETS,
            false => 1_000_000,
        })
    }
}

fn sessions() -> impl Iterator<Item = (&'static str, u8)> {
    SESSIONS.into_iter().chain([SOAK])
}

/// Where things are.
struct Places {
    bench: PathBuf,
    netreel: PathBuf,
    /// Where sessions are kept.
    sessions: PathBuf,
}

impl Places {
    /// The bench is `target/release/deps/story-...`.
    fn find() -> Result<Places, String> {
        let bench = std::env::current_exe().map_err(|error| error.to_string())?;
        let release = bench.parent().and_then(Path::parent);
        let target = release.and_then(Path::parent);
        let (Some(release), Some(target)) = (release, target) else {
            return Err(format!("{} is not in a target folder", bench.display()));
        };
        Ok(Places {
            netreel: release.join("netreel"),
            sessions: target.join("story-bench"),
            bench,
        })
    }

    /// The folder of a session.
    fn session(&self, name: &str, nodes: u8, packets: u64) -> PathBuf {
        self.sessions
            .join(format!("{name}-{packets}-{nodes}-nodes"))
    }
}

fn full_name(name: &str, nodes: u8) -> String {
    format!("{name}-{nodes}")
}

fn engine(name: &str) -> Option<&'static Engine> {
    let name = if name == SOAK.0 { "raknet" } else { name };
    ENGINES.iter().find(|engine| engine.name == name)
}

/// Makes a session.
fn make(name: &str, nodes: u8, packets: u64, places: &Places) {
    let folder = places.session(name, nodes, packets);
    let _ = fs::remove_dir_all(&folder);
    let reels = folder.join("reels");
    fs::create_dir_all(&reels).expect("room in the target folder");
    let made = match engine(name) {
        Some(engine) => {
            let capture = folder.join("all.pcap");
            let is_soak = name == SOAK.0;
            engine.make(nodes, packets, &reels, (!is_soak).then_some(&*capture))
        }
        None => boxes::make(nodes, packets, &reels),
    };
    let text = format!("{} {} {}\n", made.packets, made.events, source(name));
    fs::write(folder.join(DONE), text).expect("room in the target folder");
}

/// What a session is made of: it is made anew where this is another one.
fn source(name: &str) -> String {
    let capture = engine(name).map(|engine| {
        let path = engine.capture();
        let length = path.metadata().map_or(0, |found| found.len());
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        format!("{name} of {length} bytes")
    });
    format!(
        "edition {EDITION}, {}",
        capture.unwrap_or_else(|| "played".to_owned())
    )
}

/// A session that was made before, or is made now, by another process of this program.
fn session(name: &str, nodes: u8, packets: u64, places: &Places) -> Result<Session, String> {
    let folder = places.session(name, nodes, packets);
    let found = |made| Session {
        name: name.to_owned(),
        folder: folder.clone(),
        made,
    };
    let before = made(&folder, name);
    let making = match &before {
        Some(_) => "made before".to_owned(),
        None => {
            let mut command = Command::new(&places.bench);
            let count = packets.to_string();
            command.args(["--make", &full_name(name, nodes), "--packets", &count]);
            fs::create_dir_all(&places.sessions).map_err(|error| error.to_string())?;
            let said = places.sessions.join("said.txt");
            let usage = child::run(&mut command, &said).map_err(|error| error.to_string())?;
            if usage.code != Some(0) {
                return Err(usage.said);
            }
            table::making(packets, &usage)
        }
    };
    let made = before
        .or_else(|| made(&folder, name))
        .ok_or("it was not made")?;
    let session = found(made);
    let mut bytes = 0;
    for path in session.files().map_err(|error| error.to_string())? {
        let length = read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if path
            .extension()
            .is_some_and(|extension| extension == "reel")
        {
            bytes += length;
        }
    }
    let title = full_name(name, nodes);
    table::title(
        &title,
        (session.made.packets, session.made.events),
        bytes,
        &making,
    );
    Ok(session)
}

/// What is known of a session that is whole.
fn made(folder: &Path, name: &str) -> Option<Made> {
    let text = fs::read_to_string(folder.join(DONE)).ok()?;
    let mut words = text.trim_end().splitn(3, ' ');
    let made = Made {
        packets: words.next()?.parse().ok()?,
        events: words.next()?.parse().ok()?,
    };
    (words.next()? == source(name)).then_some(made)
}

/// Reads a file, so that it need not be read from the disk again; its length.
fn read(path: &Path) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    let mut length = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(length),
            count => length += count as u64,
        }
    }
}

impl Session {
    fn reels(&self) -> PathBuf {
        self.folder.join("reels")
    }

    fn capture(&self) -> PathBuf {
        self.folder.join("all.pcap")
    }

    fn is_made(path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("reel" | "pcap")) || path.ends_with(DONE)
    }

    /// The reels, and the capture where there is one.
    fn files(&self) -> std::io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.reels())? {
            files.push(entry?.path());
        }
        files.retain(|path| Session::is_made(path));
        files.sort();
        files.extend(Some(self.capture()).filter(|path| path.is_file()));
        Ok(files)
    }

    /// Deletes what runs left beside the recording and in their cache.
    fn forget(&self, cache: &Path) -> std::io::Result<()> {
        for folder in [self.reels(), self.folder.clone()] {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path == self.reels() || Session::is_made(&path) {
                    continue;
                }
                if path.is_dir() {
                    fs::remove_dir_all(path)?;
                } else {
                    fs::remove_file(path)?;
                }
            }
        }
        if cache.exists() {
            fs::remove_dir_all(cache)?;
        }
        fs::create_dir_all(cache)
    }
}

/// Measures every command on a session and prints the table; whether a target is missed.
fn measure(session: &Session, places: &Places) -> bool {
    let cache = places.sessions.join("cache");
    let picture = places.sessions.join("picture.png");
    let said = places.sessions.join("said.txt");
    let reels = session.reels();
    let mut asked: Vec<(Asked, Command)> = Vec::new();
    let mut ask = |what: Asked, path: &Path, arguments: &[&str], rest: &[&Path]| {
        let mut command = Command::new(&places.netreel);
        command
            .args(&arguments[..1])
            .arg(path)
            .args(&arguments[1..])
            .args(rest);
        command.env("XDG_CACHE_HOME", &cache);
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        asked.push((what, command));
    };
    if session.name == SOAK.0 {
        ask(Asked::Soak, &reels, &["check"], &[]);
        let rows = measure_each(session, asked, &[Run::First], &cache, &said);
        return rows.iter().any(Row::is_missed);
    }
    ask(Asked::Info, &reels, &["info"], &[]);
    ask(Asked::Check, &reels, &["check"], &[]);
    ask(Asked::Filter, &reels, &["packets", "--filter", FILTER], &[]);
    ask(Asked::Objects, &reels, &["objects"], &[]);
    ask(
        Asked::Picture,
        &reels,
        &["inspect", "--screenshot"],
        &[&picture],
    );
    let engine = engine(&session.name);
    if let Some(engine) = engine {
        let (_, wire) = engine.wire();
        ask(
            Asked::CheckCapture,
            &session.capture(),
            &["check", "--wire"],
            &[&wire],
        );
    }

    let rows = measure_each(session, asked, &[Run::First, Run::Again], &cache, &said);
    let mut missed = rows.iter().any(Row::is_missed);
    match engine {
        Some(engine) => missed |= beside_tshark(engine, session, &rows, &said),
        None if session.folder.ends_with("boxes-1000000-4-nodes") => table::claim_boxes(&rows),
        None => {}
    }
    missed
}

/// Runs each command: once where nothing but the recording is there, and again where `runs` says so.
fn measure_each(
    session: &Session,
    asked: Vec<(Asked, Command)>,
    runs: &[Run],
    cache: &Path,
    said: &Path,
) -> Vec<Row> {
    table::heads();
    let packets = session.made.packets;
    let mut rows = Vec::new();
    for (what, mut command) in asked {
        if let Err(error) = session.forget(cache) {
            panic!("{}: {error}", session.folder.display());
        }
        for &run in runs {
            let row = Row::new(what, run, packets, run_it(&mut command, said));
            table::print(&row);
            rows.push(row);
        }
    }
    let _ = session.forget(cache);
    rows
}

fn run_it(command: &mut Command, said: &Path) -> Usage {
    match child::run(command, said) {
        Ok(usage) => usage,
        Err(error) => panic!("{}: {error}", command.get_program().to_string_lossy()),
    }
}

/// Runs tshark on the session's capture; whether the target beside it is missed.
fn beside_tshark(engine: &Engine, session: &Session, rows: &[Row], said: &Path) -> bool {
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(session.capture())
        .args(["-T", "fields"]);
    for field in engine.fields {
        command.args(["-e", field]);
    }
    let usage = match child::run(&mut command, said) {
        Ok(usage) => usage,
        Err(error) => {
            println!("tshark cannot be run ({error}): nothing to compare with");
            return false;
        }
    };
    let row = Row::new(Asked::Tshark, Run::First, session.made.packets, usage);
    table::print(&row);
    let beside = Beside::new(&row, rows, engine.times);
    beside.print();
    // The page's rows are of four nodes.
    if session
        .folder
        .ends_with(format!("{}-1000000-4-nodes", session.name))
    {
        beside.claim(engine.title, &row, rows);
    }
    beside.is_missed()
}
