//! The launch file of VS Code that attaches to all nodes of a match that wait for a debugger.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use netreel_scenario::Waiting;
use serde_json::{Value, json};

use crate::replay::gdb::write_launch;

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
        let mut known = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
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
