//! The line on a terminal that tells how far a recording is, and the words for what it came to.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use netreel_capture::Progress;

use super::ring::Armed;
use crate::text;

/// How many sentences wait for a terminal that takes none.
const WAITING_MAX: usize = 1024;

/// The line that is written again and again while a recording is under way. On anything but a
/// terminal it shows nothing, and only [`say`](LiveLine::say) prints.
///
/// A thread of its own writes: a terminal that somebody has stopped, or a pipe that nobody reads,
/// holds up neither what is recorded nor the game behind a proxy. It also tells what became of
/// triggers.
pub struct LiveLine {
    armed: Armed,
    /// Nothing once it has ended.
    words: Option<SyncSender<Words>>,
    writing: Option<JoinHandle<()>>,
    /// Whether a line waits to be written, so that none is behind the times.
    waits: Arc<AtomicBool>,
    unsaid: u64,
}

enum Words {
    Line(String),
    Sentence(String),
}

impl LiveLine {
    /// A line on the standard error output.
    pub fn new(armed: Armed) -> LiveLine {
        LiveLine::on(armed, false)
    }

    /// A line on a terminal that a recorded program prints to as well. It has the last row for
    /// itself; the others scroll above it.
    pub fn beside_a_program(armed: Armed) -> LiveLine {
        LiveLine::on(armed, true)
    }

    fn on(armed: Armed, shared: bool) -> LiveLine {
        let (words, coming) = sync_channel(WAITING_MAX);
        let waits = Arc::new(AtomicBool::new(false));
        let dumb = std::env::var_os("TERM").is_some_and(|kind| kind == "dumb");
        let screen = Screen {
            terminal: std::io::stderr().is_terminal() && !dumb,
            shared,
            shown: false,
            rows: 0,
        };
        let written = waits.clone();
        let writing = std::thread::Builder::new().name("live line".to_owned());
        let writing = writing.spawn(move || screen.run(&coming, &written)).ok();
        LiveLine {
            armed,
            words: writing.is_some().then_some(words),
            writing,
            waits,
            unsaid: 0,
        }
    }

    /// Writes the line over the one that is there. `more` stands at its end.
    pub fn show(&mut self, progress: &Progress, more: &str) {
        self.tell();
        let line = format!("{}  {more}", under_way(progress));
        if let Some(words) = &self.words
            && !self.waits.swap(true, Ordering::Relaxed)
            && words.try_send(Words::Line(line)).is_err()
        {
            self.waits.store(false, Ordering::Relaxed);
        }
    }

    /// Prints a sentence that stays, above the line.
    pub fn say(&mut self, sentence: &str) {
        if self.unsaid > 0 && self.send(&self.found_no_room()) {
            self.unsaid = 0;
        }
        if self.unsaid > 0 || !self.send(sentence) {
            self.unsaid += 1;
        }
    }

    fn found_no_room(&self) -> String {
        format!(
            "{} found no room here",
            text::counted(self.unsaid, "sentence")
        )
    }

    fn send(&self, sentence: &str) -> bool {
        let sentence = Words::Sentence(sentence.to_owned());
        let sent = self.words.as_ref().map(|words| words.try_send(sentence));
        sent.is_some_and(|sent| sent.is_ok())
    }

    /// Takes the line away for good, once all was written.
    pub fn end(mut self) {
        self.tell();
    }

    fn tell(&mut self) {
        for sentence in self.armed.news() {
            self.say(&sentence);
        }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        if let Some(words) = self.words.take()
            && self.unsaid > 0
        {
            let _ = words.send(Words::Sentence(self.found_no_room()));
        }
        if let Some(writing) = self.writing.take() {
            let _ = writing.join();
        }
    }
}

/// What is on the terminal. Where it cannot be written to, nobody is there to be told.
struct Screen {
    terminal: bool,
    /// Whether a recorded program may print at any time.
    shared: bool,
    shown: bool,
    /// Of a shared terminal, how many rows it had when the last one was set apart.
    rows: u16,
}

impl Screen {
    fn run(mut self, coming: &Receiver<Words>, written: &AtomicBool) {
        for words in coming {
            match words {
                Words::Line(line) => {
                    written.store(false, Ordering::Relaxed);
                    self.show(&line);
                }
                Words::Sentence(sentence) => self.say(&sentence),
            }
        }
        self.wipe();
    }

    fn show(&mut self, line: &str) {
        if !self.terminal {
            return;
        }
        let mut error = std::io::stderr();
        let (rows, columns) = netreel_system::terminal::size().unwrap_or((24, 80));
        let line = fitted(line.trim_end(), columns);
        if !self.shared {
            let _ = write!(error, "\r\x1b[K{line}");
        } else if rows > 2 {
            if rows != self.rows {
                // Down and up again: the cursor is then above the row that is set apart.
                let above = rows - 1;
                let _ = write!(error, "\x1bD\x1b[A\x1b7\x1b[1;{above}r\x1b8");
                self.rows = rows;
            }
            let _ = write!(error, "\x1b7\x1b[{rows};1H\x1b[K{line}\x1b8");
        }
        self.shown = true;
    }

    fn say(&mut self, sentence: &str) {
        if !self.shared {
            self.wipe();
        }
        let _ = writeln!(anstream::stderr(), "netreel: {sentence}");
    }

    fn wipe(&mut self) {
        if !std::mem::take(&mut self.shown) {
            return;
        }
        let mut error = std::io::stderr();
        if !self.shared {
            let _ = write!(error, "\r\x1b[K");
        } else if self.rows > 0 {
            let rows = std::mem::take(&mut self.rows);
            let _ = write!(error, "\x1b7\x1b[r\x1b[{rows};1H\x1b[K\x1b8");
        }
    }
}

/// What a recording came to: `12 packets, 3.4 kB in 5.6 s`.
pub fn came_to(progress: &Progress) -> String {
    format!(
        "{}, {} in {:.1} s",
        text::counted(progress.packets, "packet"),
        text::bytes(progress.bytes),
        progress.time.as_secs_f64()
    )
}

fn under_way(progress: &Progress) -> String {
    format!(
        "recording  {}  {}  {}  {:.1} s",
        text::counted(progress.packets, "packet"),
        text::bytes(progress.bytes),
        text::counted(progress.dropped + progress.kernel_drops, "drop"),
        progress.time.as_secs_f64()
    )
}

/// As much of a line as a terminal shows without starting another one.
fn fitted(line: &str, columns: u16) -> String {
    // The last column stays free, because some terminals start a line behind it.
    let columns = usize::from(columns).saturating_sub(1);
    line.chars().take(columns).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PROGRESS: Progress = Progress {
        time: Duration::from_millis(12_340),
        packets: 1234,
        bytes: 56_700,
        dropped: 1,
        kernel_drops: 0,
    };

    #[test]
    fn the_line_tells_packets_bytes_drops_and_time() {
        assert_eq!(
            under_way(&PROGRESS),
            "recording  1234 packets  56.7 kB  1 drop  12.3 s"
        );
    }

    #[test]
    fn a_narrow_terminal_gets_what_fits_into_one_line() {
        let line = under_way(&PROGRESS);
        assert_eq!(fitted(&line, 15), "recording  123");
        assert_eq!(fitted(&line, 80), line);
    }
}
