//! Whoever hears a node's commands while a match is played.

use std::io::Write;
use std::process::ChildStdin;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use netreel_console::Remote;

use crate::waits::LOOK;

/// So many lines wait for a node that does not read its standard input.
const LINES_MAX: usize = 64;

pub(crate) enum Speaker {
    Remote(Remote),
    /// Lines for the standard input, which a thread of its own writes: a pipe that nobody reads holds up
    /// nobody else. It is closed when this is dropped and all is written.
    Stdin(SyncSender<String>),
}

impl Speaker {
    /// Whoever writes lines to a standard input.
    pub fn stdin(mut stdin: ChildStdin) -> Speaker {
        let (lines, said) = sync_channel::<String>(LINES_MAX);
        std::thread::spawn(move || {
            for line in said {
                if writeln!(stdin, "{line}")
                    .and_then(|()| stdin.flush())
                    .is_err()
                {
                    return;
                }
            }
        });
        Speaker::Stdin(lines)
    }

    /// Says a command: what the node answers within `patience`; empty where it has no way to.
    ///
    /// # Errors
    /// Why it was not done.
    pub fn say(&mut self, line: &str, patience: Duration) -> Result<String, String> {
        match self {
            Speaker::Remote(remote) => remote.say(line, patience),
            Speaker::Stdin(lines) => {
                let until = Instant::now() + patience;
                let mut line = line.to_owned();
                loop {
                    match lines.try_send(line) {
                        Ok(()) => return Ok(String::new()),
                        Err(TrySendError::Disconnected(_)) => {
                            return Err("its standard input is closed".to_owned());
                        }
                        Err(TrySendError::Full(_)) if Instant::now() > until => {
                            return Err("it does not read its standard input".to_owned());
                        }
                        Err(TrySendError::Full(unsaid)) => line = unsaid,
                    }
                    std::thread::sleep(LOOK);
                }
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
