//! What the runner begins, written down before it begins, so that somebody else can undo it.
//!
//! A line of JSON an entry. Processes are known by a word in their environment that the runner made up,
//! so that one which the runner had no time to write down is found as well.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use netreel_system::file::try_lock;
use netreel_system::locked;
use netreel_system::process::{self, How};
use serde::{Deserialize, Serialize};

/// What the environment of each process of a run has.
pub(crate) const MARK: &str = "NETREEL_RUN";

/// The file in a match's folder that says what came of it: without it the match is not over.
pub(crate) const MATCH: &str = "match.json";

/// So long processes have to end when they are told to.
const GRACE: Duration = Duration::from_secs(2);
/// Between two looks at whether they have.
const LOOK: Duration = Duration::from_millis(20);

/// What was begun, or is no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Entry {
    /// Processes whose environment has this word.
    Processes { mark: String },
    /// A folder that is there only while a match is played.
    Folder { path: PathBuf },
    /// A command that undoes what another one does.
    Undo { command: Vec<String> },
    /// What the entry of this number began is no more.
    Undone { entry: usize },
}

/// The journal of a run. As long as it is open nobody else undoes what is in it.
pub(crate) struct Journal {
    file: Mutex<(File, usize)>,
    mark: String,
    processes: Begun,
    /// What undoes what was done, in order.
    undoes: Mutex<Vec<(Begun, Vec<String>)>>,
}

/// Something that was begun: the number of its entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun(usize);

/// A journal that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Its runner lives.
    #[error("{0}: a run is under way in this folder; end it with Ctrl-C")]
    UnderWay(PathBuf),
}

impl RecoverError {
    fn of(path: &Path, error: io::Error) -> RecoverError {
        let path = path.to_owned();
        RecoverError::File { path, error }
    }
}

/// What was undone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// How many processes were ended.
    pub processes: usize,
    /// How many folders were removed.
    pub folders: usize,
    /// How many commands ran that undo another one.
    pub commands: usize,
    /// What could not be undone, a sentence each.
    pub left: Vec<String>,
}

impl Journal {
    /// Begins the journal of a run in its folder, or goes on with it. What an earlier runner left
    /// behind is undone first.
    ///
    /// # Errors
    /// [`RecoverError`].
    pub fn open(folder: &Path) -> Result<(Journal, Recovered), RecoverError> {
        let path = folder.join("journal");
        let failed = |error| RecoverError::of(&path, error);
        let (mut file, mut entries) = opened(&path, true)?;
        let recovered = undo_all(&mut file, &mut entries).map_err(failed)?;
        let mut random = [0; 8];
        netreel_system::random(&mut random).map_err(failed)?;
        let mark = hex(&random);
        let entry = Entry::Processes { mark: mark.clone() };
        append(&mut file, &entry).map_err(failed)?;
        let journal = Journal {
            file: Mutex::new((file, entries.len() + 1)),
            mark,
            processes: Begun(entries.len()),
            undoes: Mutex::default(),
        };
        Ok((journal, recovered))
    }

    /// What all processes of the run have in their environment begins so.
    pub fn run_mark(&self) -> &str {
        &self.mark
    }

    /// What the processes of a match have in their environment, in the variable [`MARK`].
    pub fn mark(&self, number: u64) -> String {
        format!("{}.{number}", self.mark)
    }

    /// To be said before a folder is made.
    pub fn folder(&self, path: &Path) -> io::Result<Begun> {
        let path = std::path::absolute(path)?;
        self.begin(&Entry::Folder { path })
    }

    /// To be said before something is done that this command undoes, at the end of the run.
    pub fn undo(&self, command: Vec<String>) -> Result<(), String> {
        let entry = Entry::Undo {
            command: command.clone(),
        };
        let begun = self.begin(&entry).map_err(|error| error.to_string())?;
        locked(&self.undoes).push((begun, command));
        Ok(())
    }

    /// Something is no more.
    pub fn undone(&self, begun: Begun) {
        // What has no such line is undone once more, which changes nothing.
        let _ = self.begin(&Entry::Undone { entry: begun.0 });
    }

    /// The run is over: ends what is left of its processes, and undoes the rest in reverse. What cannot be
    /// undone now stays in the journal for [`recover`]; a sentence each.
    pub fn over(&self) -> Vec<String> {
        end_marked(&self.mark);
        self.undone(self.processes);
        let mut undoes = locked(&self.undoes);
        let mut left = Vec::new();
        for (begun, command) in undoes.drain(..).rev() {
            match run(&command) {
                Ok(()) => self.undone(begun),
                Err(why) => left.push(why),
            }
        }
        left
    }

    fn begin(&self, entry: &Entry) -> io::Result<Begun> {
        let mut file = locked(&self.file);
        append(&mut file.0, entry)?;
        file.1 += 1;
        Ok(Begun(file.1 - 1))
    }
}

/// Undoes what the runner of a folder left behind when it was killed, in reverse. A folder without a
/// journal has nothing to undo.
///
/// # Errors
/// [`RecoverError`]: a runner that lives, a file that cannot be read.
pub fn recover(folder: &Path) -> Result<Recovered, RecoverError> {
    let path = folder.join("journal");
    if !path.exists() {
        return Ok(Recovered::default());
    }
    let (mut file, mut entries) = opened(&path, false)?;
    undo_all(&mut file, &mut entries).map_err(|error| RecoverError::of(&path, error))
}

/// The journal's file, locked, and what is in it.
fn opened(path: &Path, creates: bool) -> Result<(File, Vec<Entry>), RecoverError> {
    let failed = |error| RecoverError::of(path, error);
    let mut options = OpenOptions::new();
    let mut file = options
        .create(creates)
        .append(true)
        .read(true)
        .open(path)
        .map_err(failed)?;
    if !try_lock(&file).map_err(failed)? {
        return Err(RecoverError::UnderWay(path.to_owned()));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    // The last line may lack its end: what it names was not begun yet.
    if !text.is_empty() && !text.ends_with('\n') {
        file.write_all(b"\n").map_err(failed)?;
    }
    let lines = text.split_inclusive('\n');
    let entries = lines.map(serde_json::from_str);
    // A line that cannot be read keeps its number: it names nothing.
    let nothing = || Entry::Undone { entry: usize::MAX };
    let entries = entries.map(|entry| entry.unwrap_or_else(|_| nothing()));
    Ok((file, entries.collect()))
}

fn append(file: &mut File, entry: &Entry) -> io::Result<()> {
    file.write_all(&json_line(entry)?)?;
    file.sync_data()
}

/// Something as JSON, in a line of its own.
pub(crate) fn json_line(it: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(it)?;
    line.push(b'\n');
    Ok(line)
}

fn undo_all(file: &mut File, entries: &mut Vec<Entry>) -> io::Result<Recovered> {
    let undone: BTreeSet<usize> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Undone { entry } => Some(*entry),
            _ => None,
        })
        .collect();
    let mut recovered = Recovered::default();
    let mut done = Vec::new();
    for (number, entry) in entries.iter().enumerate().rev() {
        if undone.contains(&number) {
            continue;
        }
        match entry {
            Entry::Processes { mark } => recovered.processes += end_marked(mark),
            // A match that was judged is a match: whoever goes on takes it.
            Entry::Folder { path } if path.join(MATCH).exists() => {}
            Entry::Folder { path } => match std::fs::remove_dir_all(path) {
                Ok(()) => recovered.folders += 1,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    let left = format!("the folder {}: {error}", path.display());
                    recovered.left.push(left);
                    continue;
                }
            },
            Entry::Undo { command } => match run(command) {
                Ok(()) => recovered.commands += 1,
                Err(why) => {
                    recovered.left.push(why);
                    continue;
                }
            },
            Entry::Undone { .. } => continue,
        }
        done.push(Entry::Undone { entry: number });
    }
    for entry in done {
        append(file, &entry)?;
        entries.push(entry);
    }
    Ok(recovered)
}

/// Runs a command.
///
/// # Errors
/// The command, and why it was not done.
fn run(command: &[String]) -> Result<(), String> {
    let output = match command.split_first() {
        Some((program, arguments)) => Command::new(program).args(arguments).output(),
        None => Err(io::Error::other("an empty command")),
    };
    let why = match output {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!("{}: {why}", command.join(" ")))
}

/// Bytes as people write them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Ends all processes that have this mark, or this one with a match's number behind it; how many there were.
pub(crate) fn end_marked(mark: &str) -> usize {
    let mut all = BTreeSet::new();
    let begun = Instant::now();
    loop {
        let living = marked(mark);
        if living.is_empty() {
            return all.len();
        }
        for pid in living {
            let is_new = all.insert(pid);
            match begun.elapsed() < GRACE {
                true if is_new => process::end(pid, How::Asked),
                true => {}
                false => process::end(pid, How::Killed),
            }
        }
        // What the system holds in a call can not be waited for.
        if begun.elapsed() > GRACE * 3 {
            return all.len();
        }
        std::thread::sleep(LOOK);
    }
}

/// The living processes that have this mark in their environment.
fn marked(mark: &str) -> Vec<u32> {
    let is_wanted = |value: &str| {
        let rest = value.strip_prefix(mark);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut found = process::marked(MARK, &is_wanted);
    found.retain(|it| *it != std::process::id());
    found
}
