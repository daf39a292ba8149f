//! The processes that the program started, as `/proc` and their parents know them: also those
//! that never say a word to the recorder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions, set_child_subreaper, waitpid};

use super::escape::{ADDRESS_SANITIZER, check_program};
use super::{Escape, look};

/// A process that has run for this long without the library, and seems to have no reason to load it, does
/// not load it any more.
const LOADING: Duration = Duration::from_secs(1);
/// A program that does not load the library within this time never will.
pub(super) const LOAD_MAX: Duration = Duration::from_secs(5);
/// How long a forked child that lives may take to reach the recorder.
const REACHING: Duration = Duration::from_secs(5);
/// How long it is remembered that a process has come, for its parent to name it.
const REMEMBERED: Duration = Duration::from_secs(30);

/// Everything that descends from the program, also where those between have ended.
pub(super) struct Descendants {
    /// Children of this process that are none of the recording's.
    others: BTreeSet<u32>,
    /// The library's file name.
    library: String,
    /// Living ones that have not attached: since when they run without the library.
    unloaded: BTreeMap<u32, Instant>,
    /// Whose absence was told.
    named: BTreeSet<u32>,
    /// Who has attached of late.
    came: BTreeMap<u32, Instant>,
    /// Children that their parents have told of and that have not attached.
    expected: BTreeMap<u32, Expected>,
}

/// A child that should attach.
struct Expected {
    since: Instant,
    /// What it is, for a sentence.
    what: String,
    program: Option<PathBuf>,
}

/// What is not recorded, and why.
pub(super) struct Missing {
    pub pid: u32,
    pub sentence: String,
}

impl Descendants {
    /// Lets processes that lose their parent become children of this one. Before the program
    /// starts.
    pub fn adopt(library: &str) -> Descendants {
        // Where the kernel has no such thing, children that outlive the program are not seen.
        let _ = set_child_subreaper(Some(rustix::process::getpid()));
        Descendants {
            others: children_of_this(&statuses()),
            library: library.to_owned(),
            unloaded: BTreeMap::new(),
            named: BTreeSet::new(),
            came: BTreeMap::new(),
            expected: BTreeMap::new(),
        }
    }

    /// A process has attached.
    pub fn comes(&mut self, pid: u32) {
        if self.expected.remove(&pid).is_none() {
            self.came.insert(pid, Instant::now());
        }
        self.unloaded.remove(&pid);
        self.named.remove(&pid);
    }

    /// Its parent says that it has started process `pid`.
    pub fn expect(&mut self, pid: u32, what: String, program: Option<PathBuf>) {
        if self.came.remove(&pid).is_none() && !self.named.contains(&pid) {
            let since = Instant::now();
            self.expected.insert(
                pid,
                Expected {
                    since,
                    what,
                    program,
                },
            );
        }
    }

    /// Process `pid` runs no program of its own after all.
    pub fn forget(&mut self, pid: u32) {
        self.expected.remove(&pid);
    }

    /// It was told that the process is not recorded.
    pub fn name(&mut self, pid: u32) {
        self.expected.remove(&pid);
        self.named.insert(pid);
    }

    /// Reaps what has ended and looks at what lives. `main` is not reaped; `recorded` are attached.
    /// Returns how many live, and who is found not to be recorded. Who comes or goes at this very
    /// moment may be missed, unless the look is `thorough`, which costs a look at all processes of
    /// the machine.
    pub fn look(
        &mut self,
        main: u32,
        recorded: impl Fn(u32) -> bool,
        thorough: bool,
    ) -> (u64, Vec<Missing>) {
        let family = if thorough { None } else { family() };
        let statuses = family.unwrap_or_else(statuses);
        let this = process::id();
        for (pid, status) in &statuses {
            let ours = status.parent == this && *pid != main && !self.others.contains(pid);
            // How a recorded one ended is looked up first.
            if ours && status.ended && !recorded(*pid) {
                let pid = Pid::from_raw(*pid as i32);
                let _ = waitpid(pid, WaitOptions::NOHANG);
            }
        }
        let living = self.living(&statuses);
        let mut missing = Vec::new();
        let lives = |pid: u32| living.contains(&pid) || (!thorough && lives(pid));
        self.unloaded.retain(|pid, _| lives(*pid));
        self.named.retain(|pid| lives(*pid));
        self.came.retain(|_, at| at.elapsed() < REMEMBERED);
        for pid in &living {
            if recorded(*pid) || self.named.contains(pid) {
                continue;
            }
            if self.has_library(*pid) {
                // A forked child attaches when it does something that is recorded.
                self.unloaded.remove(pid);
                continue;
            }
            let since = *self.unloaded.entry(*pid).or_insert_with(Instant::now);
            let patience = if may_load(*pid) { LOAD_MAX } else { LOADING };
            if since.elapsed() >= patience {
                let name = statuses.get(pid).map_or("", |status| status.name.as_str());
                let why = why(*pid);
                let sentence = format!("process {pid} ({name}) is not recorded: {why}");
                missing.push(Missing {
                    pid: *pid,
                    sentence,
                });
            }
        }
        for Missing { pid, .. } in &missing {
            self.name(*pid);
        }
        missing.extend(self.overdue(lives));
        (living.len() as u64, missing)
    }

    /// Whoever was expected and will not come.
    fn overdue(&mut self, lives: impl Fn(u32) -> bool) -> Vec<Missing> {
        let late: Vec<(u32, bool)> = self
            .expected
            .iter()
            .filter_map(|(pid, expected)| {
                let lives = lives(*pid);
                (!lives || expected.since.elapsed() >= REACHING).then_some((*pid, lives))
            })
            .collect();
        let told = late.into_iter().filter_map(|(pid, lives)| {
            let expected = self.expected.remove(&pid)?;
            if lives {
                self.named.insert(pid);
            }
            let why = match expected.program {
                Some(program) => why_not_loaded(&program),
                None if lives => UNREACHED.to_owned(),
                None => "it ended without having reached the recorder".to_owned(),
            };
            let sentence = format!("{} is not recorded: {why}", expected.what);
            Some(Missing { pid, sentence })
        });
        told.collect()
    }

    fn living(&self, statuses: &BTreeMap<u32, Status>) -> BTreeSet<u32> {
        let this = process::id();
        let mut known = BTreeMap::from([(this, true)]);
        known.extend(self.others.iter().map(|pid| (*pid, false)));
        let mut living = BTreeSet::new();
        for (pid, status) in statuses {
            let mut path = Vec::new();
            let mut at = *pid;
            let descends = loop {
                if let Some(descends) = known.get(&at) {
                    break *descends;
                }
                path.push(at);
                match statuses.get(&at) {
                    Some(status) if path.len() <= statuses.len() => at = status.parent,
                    _ => break false,
                }
            };
            known.extend(path.iter().map(|pid| (*pid, descends)));
            if descends && *pid != this && !status.ended {
                living.insert(*pid);
            }
        }
        living
    }

    /// Whether the library is in its memory. A process on its way out has none.
    fn has_library(&self, pid: u32) -> bool {
        match fs::read_to_string(format!("/proc/{pid}/maps")) {
            Ok(maps) => maps.is_empty() || maps.contains(&self.library),
            Err(error) => error.kind() != std::io::ErrorKind::PermissionDenied,
        }
    }
}

impl Drop for Descendants {
    fn drop(&mut self) {
        let _ = set_child_subreaper(None);
    }
}

const UNREACHED: &str = "it cannot reach the recorder (another root folder or file system, \
no descriptor left, or a sandbox)";

/// Why a process of this program did not attach.
pub(super) fn why_not_loaded(program: &Path) -> String {
    match check_program(program) {
        Err(Escape::Io(_)) | Ok(()) if look::has_address_sanitizer(program) => {
            ADDRESS_SANITIZER.to_owned()
        }
        Err(Escape::Io(_)) | Ok(()) => {
            format!("it ended before the library was loaded into it, or {UNREACHED}")
        }
        Err(why) => why.to_string(),
    }
}

/// Whether a process is to load the library, as far as can be seen: on a machine with much to do it may
/// not have come to that yet.
pub(super) fn may_load(pid: u32) -> bool {
    let program = PathBuf::from(format!("/proc/{pid}/exe"));
    check_program(&program).is_ok() && is_told(pid)
}

/// Whether its environment names the library and the recorder.
fn is_told(pid: u32) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let named = |start: &[u8]| {
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry.starts_with(start))
    };
    environment.is_empty() || named(b"LD_PRELOAD=") && named(b"NETREEL_RECORD=")
}

fn why(pid: u32) -> String {
    let program = PathBuf::from(format!("/proc/{pid}/exe"));
    let loads = matches!(check_program(&program), Ok(()) | Err(Escape::Io(_)));
    if loads && !is_told(pid) {
        return "its environment was cleaned of the recorder".to_owned();
    }
    why_not_loaded(&program)
}

/// Whether process `pid` descends from this one.
pub(super) fn descends_from_this(pid: u32) -> bool {
    let this = process::id();
    let mut at = pid;
    // No tree of processes is deeper.
    for _ in 0..4096 {
        if at == this {
            return true;
        }
        match status(at) {
            Some(status) if status.parent > 0 => at = status.parent,
            _ => return false,
        }
    }
    false
}

/// What `/proc` says of a process.
struct Status {
    parent: u32,
    name: String,
    ended: bool,
}

/// That of a process; `None` where there is none.
fn status(pid: u32) -> Option<Status> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(&String::from_utf8_lossy(&stat))
}

fn statuses() -> BTreeMap<u32, Status> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let read = entries.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, status(pid)?))
    });
    read.collect()
}

/// The same of this process's descendants alone, found from parent to child; `None` where the
/// kernel does not list children.
fn family() -> Option<BTreeMap<u32, Status>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![process::id()];
    while let Some(parent) = waiting.pop() {
        let threads = fs::read_dir(format!("/proc/{parent}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let children = match fs::read_to_string(thread.path().join("children")) {
                Ok(children) => children,
                // The thread has ended, unless it is one of this process.
                Err(_) if parent != process::id() => continue,
                Err(_) => return None,
            };
            for child in children
                .split_whitespace()
                .filter_map(|pid| pid.parse().ok())
            {
                if let Some(status) = status(child).filter(|_| !found.contains_key(&child)) {
                    found.insert(child, status);
                    waiting.push(child);
                }
            }
        }
    }
    Some(found)
}

/// Whether the process runs.
fn lives(pid: u32) -> bool {
    status(pid).is_some_and(|status| !status.ended)
}

/// The name stands in parentheses and may hold any character.
fn parse(stat: &str) -> Option<Status> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let mut words = after.split_whitespace();
    let state = words.next()?;
    Some(Status {
        parent: words.next()?.parse().ok()?,
        name: name.to_owned(),
        ended: matches!(state, "Z" | "X" | "x"),
    })
}

fn children_of_this(statuses: &BTreeMap<u32, Status>) -> BTreeSet<u32> {
    let this = process::id();
    let children = statuses.iter().filter(|(_, status)| status.parent == this);
    children.map(|(pid, _)| *pid).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_hides_no_parent() {
        let status = parse("12 (a) Z 1) S 77 12 12 0").unwrap();
        assert_eq!((status.parent, status.ended), (77, false));
        assert_eq!(status.name, "a) Z 1");
        assert!(parse("12 (a) Z 1 0").unwrap().ended);
        assert!(parse("").is_none());
    }

    #[test]
    fn this_process_descends_from_itself_and_the_first_one_does_not() {
        assert!(descends_from_this(std::process::id()));
        assert!(!descends_from_this(1) || std::process::id() == 1);
    }
}
