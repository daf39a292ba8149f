//! Whoever hears a node's commands while a match is played.

use std::io::Write;
use std::process::ChildStdin;
use std::time::Duration;

use netreel_console::Remote;

pub(crate) enum Speaker {
    Remote(Remote),
    Stdin(ChildStdin),
}

impl Speaker {
    /// Says a command: what the node answers within `patience`; empty where it has no way to.
    ///
    /// # Errors
    /// Why it was not done.
    pub fn say(&mut self, line: &str, patience: Duration) -> Result<String, String> {
        match self {
            Speaker::Remote(remote) => remote.say(line, patience),
            Speaker::Stdin(stdin) => {
                let said = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
                said.map(|()| String::new())
                    .map_err(|error| format!("its standard input is closed: {error}"))
            }
        }
    }

    /// Has the node run a script.
    ///
    /// # Errors
    /// Why it was not done.
    pub fn script(&mut self, text: &str, patience: Duration) -> Result<String, String> {
        match self {
            Speaker::Remote(remote) => remote.script(text, patience),
            Speaker::Stdin(_) => Err("a standard input takes no scripts".to_owned()),
        }
    }
}
