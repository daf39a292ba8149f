//! The line on a terminal that tells how far a recording is, and the words for what it came to.

use std::io::IsTerminal;

use netreel_capture::Progress;

use super::ring::Armed;
use crate::text;

/// The line that is written again and again while a recording is under way. On anything but a
/// terminal it shows nothing, and only [`say`](LiveLine::say) prints.
///
/// It also tells what became of triggers.
pub struct LiveLine {
    armed: Armed,
    terminal: bool,
    shown: bool,
}

impl LiveLine {
    /// A line on the standard error output.
    pub fn new(armed: Armed) -> LiveLine {
        LiveLine {
            armed,
            terminal: std::io::stderr().is_terminal(),
            shown: false,
        }
    }

    /// Writes the line over the one that is there. `more` stands at its end.
    pub fn show(&mut self, progress: &Progress, more: &str) {
        self.tell();
        if self.terminal {
            let line = format!("{}  {more}", under_way(progress));
            let line = fitted(line.trim_end(), width());
            anstream::eprint!("\r\x1b[K{line}");
            self.shown = true;
        }
    }

    /// Prints a sentence that stays, above the line.
    pub fn say(&mut self, sentence: &str) {
        self.wipe();
        anstream::eprintln!("netreel: {sentence}");
    }

    /// Takes the line away, for good or to print something else.
    pub fn clear(&mut self) {
        self.tell();
        self.wipe();
    }

    fn tell(&mut self) {
        for sentence in self.armed.news() {
            self.say(&sentence);
        }
    }

    fn wipe(&mut self) {
        if std::mem::take(&mut self.shown) {
            anstream::eprint!("\r\x1b[K");
        }
    }
}

/// What a recording came to: `12 packets, 3.4 kB in 5.6 s`.
pub fn came_to(progress: &Progress) -> String {
    format!(
        "{}, {} in {:.1} s",
        text::count(progress.packets, "packet"),
        text::bytes(progress.bytes),
        progress.time.as_secs_f64()
    )
}

fn under_way(progress: &Progress) -> String {
    format!(
        "recording  {}  {}  {}  {:.1} s",
        text::count(progress.packets, "packet"),
        text::bytes(progress.bytes),
        text::count(progress.dropped + progress.kernel_drops, "drop"),
        progress.time.as_secs_f64()
    )
}

/// As much of a line as a terminal shows without starting another one.
fn fitted(line: &str, width: Option<u16>) -> String {
    // A terminal that does not say how wide it is has 80 columns. The last one stays free, because
    // some terminals start a line behind it.
    let columns = usize::from(width.unwrap_or(80)).saturating_sub(1);
    line.chars().take(columns).collect()
}

/// How many columns the terminal has.
fn width() -> Option<u16> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the call writes into `size`, which has the layout that it asks for.
    let told = unsafe { libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (told == 0 && size.ws_col > 0).then_some(size.ws_col)
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
        assert_eq!(fitted(&line, Some(15)), "recording  123");
        assert_eq!(fitted(&line, None), line);
    }
}
