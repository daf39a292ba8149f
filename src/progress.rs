//! What is being done, on a terminal, where it takes longer than half a second. Nothing on a pipe.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netreel_system::locked;

/// What is quicker than this is not told of.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often the line is written anew.
const PERIOD: Duration = Duration::from_millis(200);

/// Takes the line back: the cursor to its begin, and all of it away.
const CLEAR: &str = "\r\x1b[2K";

/// A line on the error output that says what is being done, and for how long, until this is dropped.
pub struct Progress {
    shown: Arc<Mutex<Shown>>,
    end: Option<(Sender<()>, JoinHandle<()>)>,
}

struct Shown {
    words: String,
    out: Box<dyn Write + Send>,
    is_there: bool,
}

impl Progress {
    /// Begins to do something: `reading race`. Where the error output is no terminal, nothing is ever
    /// written.
    pub fn new(words: impl Into<String>) -> Progress {
        let stderr = std::io::stderr();
        let is_terminal = stderr.is_terminal();
        Progress::to(words.into(), Box::new(stderr), is_terminal, PATIENCE)
    }

    fn to(
        words: String,
        out: Box<dyn Write + Send>,
        is_terminal: bool,
        patience: Duration,
    ) -> Progress {
        let shown = Arc::new(Mutex::new(Shown {
            words,
            out,
            is_there: false,
        }));
        let end = is_terminal.then(|| {
            let (end, ended) = mpsc::channel();
            let shown = shown.clone();
            let thread = std::thread::spawn(move || {
                let begun = Instant::now();
                let mut wait = patience;
                while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    locked(&shown).show(begun.elapsed());
                    wait = PERIOD;
                }
            });
            (end, thread)
        });
        Progress { shown, end }
    }

    /// Something else is being done now.
    pub fn say(&self, words: impl Into<String>) {
        locked(&self.shown).words = words.into();
    }

    /// Takes the line away, so that something can be printed. It comes back by itself.
    pub fn hide(&self) {
        locked(&self.shown).hide();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.end.take() {
            drop(end);
            let _ = thread.join();
        }
        self.hide();
    }
}

impl Shown {
    /// A terminal that takes no more is no reason to stop.
    fn show(&mut self, since: Duration) {
        // What is longer than a line would leave rests behind.
        let words: String = self.words.chars().take(60).collect();
        let _ = write!(self.out, "{CLEAR}{words} … {} s", since.as_secs());
        let _ = self.out.flush();
        self.is_there = true;
    }

    fn hide(&mut self) {
        if std::mem::take(&mut self.is_there) {
            let _ = write!(self.out, "{CLEAR}");
            let _ = self.out.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives on what is written.
    struct Written(Sender<String>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn on_a_terminal_the_line_comes_and_goes() {
        let (written, read) = mpsc::channel();
        let out = Box::new(Written(written));
        let progress = Progress::to("reading race".to_owned(), out, true, Duration::ZERO);
        let mut all = String::new();
        while !all.contains(" s") {
            all += &read.recv().expect("it is written");
        }
        assert!(all.starts_with("\r\x1b[2Kreading race … "), "{all:?}");
        drop(progress);
        all.extend(read.iter());
        assert!(all.ends_with(CLEAR), "{all:?}");
    }

    #[test]
    fn on_a_pipe_nothing_is_written() {
        let (written, read) = mpsc::channel();
        let out = Box::new(Written(written));
        let progress = Progress::to("reading race".to_owned(), out, false, Duration::ZERO);
        progress.say("judging race");
        progress.hide();
        drop(progress);
        assert_eq!(read.iter().count(), 0);
    }

    #[test]
    fn what_ends_before_anybody_waits_is_not_told_of() {
        let (written, read) = mpsc::channel();
        let out = Box::new(Written(written));
        let patience = Duration::from_secs(3600);
        drop(Progress::to("reading".to_owned(), out, true, patience));
        assert_eq!(read.iter().count(), 0);
    }
}
