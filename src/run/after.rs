//! What is done with a match: with one that was judged, as long as its recordings are there (it is added to a
//! dataset, and made small), and with nodes that wait for a debugger.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use netreel_protocol::history::Level;
use netreel_scenario::{Match, Scenario, Waiting};
use netreel_system::locked;
use netreel_system::process::ends_with_this;
use netreel_wire::Wire;
use serde_json::{Value, json};

use super::judge;
use crate::arguments::Run;
use crate::outcome::{Result, fail};
use crate::replay::gdb::write_launch;

/// So long a match is shrunk, at the most. Seconds.
const SECONDS: &str = "20";

/// What is wanted of each match.
pub struct After<'a> {
    pub arguments: &'a Run,
    pub scenario: &'a Scenario,
    pub wire: Option<&'a Arc<Wire>>,
    /// This program.
    pub netreel: &'a Path,
    /// How many could not be added to the dataset.
    pub not_added: AtomicU64,
}

impl After<'_> {
    /// Does it for a match in this folder: a line for whoever reads no objects. What cannot be done is told,
    /// and ends nothing.
    pub fn hear(&self, played: &Match, folder: &Path, is_kept: bool) -> String {
        let number = played.number;
        let added = self.arguments.dataset.as_deref().map_or(Ok(()), |dataset| {
            judge::add((folder, is_kept), self.wire, (dataset, played))
        });
        if let Err(why) = added {
            anstream::eprintln!("netreel: match {number}: {why}");
            self.not_added.fetch_add(1, Ordering::Relaxed);
        }
        if !is_kept || !self.arguments.shrink {
            return String::new();
        }
        let wire = self.scenario.wire.as_deref();
        match shrink(played, folder, (self.netreel, wire)) {
            Ok(Some(line)) if !self.arguments.json => format!("match {number}: {line}\n"),
            Ok(_) => String::new(),
            Err(why) => {
                anstream::eprintln!("netreel: match {number}: cannot be shrunk: {why}");
                String::new()
            }
        }
    }

    /// # Errors
    /// Matches that are not in the dataset.
    pub fn is_whole(&self) -> Result {
        let dataset = self.arguments.dataset.as_deref();
        match (dataset, self.not_added.load(Ordering::Relaxed)) {
            (Some(dataset), missing @ 1..) => fail(format!(
                "{missing} of the matches could not be added to the dataset {}",
                dataset.display()
            )),
            _ => Ok(()),
        }
    }
}

/// Whether recordings of a match tell what went wrong.
pub fn has_error(played: &Match) -> bool {
    let mut findings = played.judged.findings.iter();
    findings.any(|it| it.level == Level::Error.name())
}

/// Shrinks the session of a match in this folder, beside it: a sentence of what came of it; `None` where it
/// has no error that could stay.
///
/// # Errors
/// Why it cannot be shrunk.
fn shrink(
    played: &Match,
    folder: &Path,
    (netreel, wire): (&Path, Option<&Path>),
) -> Result<Option<String>, String> {
    if !has_error(played) {
        return Ok(None);
    }
    let small = folder.with_file_name(format!("shrunk-{:05}", played.number));
    // What a runner left that was killed.
    let _ = std::fs::remove_dir_all(&small);
    let mut command = Command::new(netreel);
    command.arg("shrink").arg(folder).arg("--out").arg(&small);
    command.args(["--json", "--no-index", "--seconds", SECONDS]);
    if let Some(wire) = wire {
        command.arg("--wire").arg(wire);
    }
    // No runner that was killed leaves it behind.
    let output = ends_with_this(command.stdin(Stdio::null()))
        .output()
        .map_err(|error| error.to_string())?;
    let shrunk: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    let number = |name: &str| shrunk.as_ref().and_then(|it| it[name].as_u64());
    let Some(packets) = number("packets") else {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = said.lines().next_back().unwrap_or("it says nothing");
        return Err(why.trim_start_matches("netreel: ").to_owned());
    };
    let before = number("packets_before").unwrap_or_default();
    let arrive = number("delivered").unwrap_or_default();
    let text = |name: &str| shrunk.as_ref().and_then(|it| it[name].as_str());
    let rule = match text("recorded") {
        Some(_) => format!(
            " ({} when all has arrived)",
            text("rule").unwrap_or_default()
        ),
        None => String::new(),
    };
    Ok(Some(format!(
        "shrunk from {before} packets to {packets}, of which {arrive} arrive{rule}, in {}",
        small.join("failing").display()
    )))
}

/// Writes the file anew for each node that waits.
pub struct Debuggers<'a> {
    file: Option<&'a Path>,
    /// Where programs that are named by a path of the scenario begin.
    folder: &'a Path,
    /// The match, and how each of its nodes is attached to.
    waiting: Mutex<(u64, Vec<Value>)>,
}

impl<'a> Debuggers<'a> {
    /// Of a scenario in this folder; without a file nothing is written.
    pub fn new(file: Option<&'a Path>, folder: &'a Path) -> Debuggers<'a> {
        Debuggers {
            file,
            folder,
            waiting: Mutex::default(),
        }
    }

    /// Takes a node that waits into the file. Those of the match before wait no more.
    pub fn hear(&self, waiting: &Waiting) {
        let Some(file) = self.file else {
            return;
        };
        let mut known = locked(&self.waiting);
        if known.0 != waiting.number {
            *known = (waiting.number, Vec::new());
        }
        known.1.push(json!({
            "name": waiting.node,
            "type": "cppdbg",
            "request": "launch",
            "MIMode": "gdb",
            "miDebuggerServerAddress": waiting.server,
            "program": waiting.program,
            "cwd": self.folder.display().to_string(),
        }));
        if let Err(failure) = write_launch(file, "", &known.1) {
            anstream::eprintln!("netreel: {failure}");
        }
    }
}
