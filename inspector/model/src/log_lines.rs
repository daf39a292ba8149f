//! What nodes wrote into their recordings, between their packets: log lines and notes of engines, and
//! what unmodified programs printed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use netreel_protocol::session::{NodeId, Session, SessionTime};
use netreel_reel::{CallId, Event};
use netreel_system::Cancel;

use crate::Model;

/// A line that somebody wrote into a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// What people call whoever recorded it.
    pub who: String,
    /// The node, where it is one.
    pub node: Option<NodeId>,
    /// When.
    pub time: SessionTime,
    /// What it says.
    pub text: String,
}

/// All lines of a session, in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogLines {
    /// At most [`LINES_MAX`].
    pub lines: Vec<LogLine>,
    /// How many more there are.
    pub more: usize,
}

/// How many lines are kept in all; past it, each reel keeps as many of its first as the others.
pub const LINES_MAX: usize = 200_000;
/// How many events are gone through within a frame.
const QUICK_EVENTS: u64 = 65_536;
/// How many bytes of a line are kept.
const BYTES_MAX: usize = 2_000;

/// Lines that come in parts: a descriptor's are put together.
#[derive(Default)]
struct Printing(BTreeMap<u8, Vec<u8>>);

impl Printing {
    /// A part; the line, where it ends one that has something in it.
    fn take(&mut self, descriptor: u8, part: &[u8]) -> Option<Vec<u8>> {
        let begun = self.0.entry(descriptor).or_default();
        begun.extend_from_slice(
            part.get(..BYTES_MAX.saturating_sub(begun.len()))
                .unwrap_or(part),
        );
        let line = part.ends_with(b"\n").then(|| std::mem::take(begun));
        line.filter(|line| !line.trim_ascii_end().is_empty())
    }

    /// What was begun.
    fn rest(self) -> impl Iterator<Item = Vec<u8>> {
        self.0.into_values().filter(|line| !line.is_empty())
    }
}

impl LogLines {
    /// `None` where they are no longer wanted.
    fn read(session: &Session, cancel: &Cancel) -> Option<LogLines> {
        let mut all = LogLines::default();
        let reels = session.session_reels();
        let most = LINES_MAX / reels.len().max(1);
        for reel in reels {
            if !cancel.goes_on() {
                return None;
            }
            let mut own = 0;
            let mut put = |time: SessionTime, text: &[u8]| {
                if own >= most {
                    all.more += 1;
                    return;
                }
                own += 1;
                let text = text.get(..BYTES_MAX).unwrap_or(text);
                all.lines.push(LogLine {
                    who: reel.name.clone(),
                    node: reel.node,
                    time,
                    text: String::from_utf8_lossy(text).trim_end().to_owned(),
                });
            };
            let (mut printing, mut last) = (Printing::default(), SessionTime(0));
            reel.reel.for_each(|record| match record.event {
                Event::Note { text } => put(reel.time(record), text),
                Event::Called {
                    call: CallId::PRINTED,
                    details: [descriptor, part @ ..],
                    ..
                } => {
                    last = reel.time(record);
                    if let Some(line) = printing.take(*descriptor, part) {
                        put(last, &line);
                    }
                }
                _ => {}
            });
            // What no line's end came behind.
            printing.rest().for_each(|line| put(last, &line));
        }
        // Those of one moment stand in the order of their reels.
        all.lines.sort_by_key(|line| line.time);
        Some(all)
    }

    /// The places of those in a stretch of time.
    pub fn within(&self, range: &Range<i64>) -> Range<usize> {
        let place = |at: i64| self.lines.partition_point(|line| line.time.0 < at);
        place(range.start)..place(range.end)
    }
}

impl Model {
    /// What nodes wrote. `None` until it is read, which this begins where somebody `wants` it or the
    /// session is small: all reels are gone through for it.
    pub fn log_lines(&self, wants: bool) -> Option<Arc<LogLines>> {
        let lines = &self.beside.lines;
        if !wants && !self.session.is_small() && !lines.is_of(&self.grown) {
            return None;
        }
        let session = Arc::clone(&self.session);
        let events = || {
            session
                .session_reels()
                .iter()
                .flat_map(|it| it.reel.counts().into_values())
                .sum::<u64>()
        };
        let is_quick = self.is_quick() && (lines.is_of(&self.grown) || events() <= QUICK_EVENTS);
        let work = move |cancel: &Cancel| LogLines::read(&session, cancel);
        let (lines, _) = lines.get(&self.grown, is_quick, &self.coming.wake, work)?;
        Some(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_line_are_put_together_for_each_descriptor() {
        let mut printing = Printing::default();
        let parts: [(u8, &[u8]); 6] = [
            (1, b"one, "),
            (2, b"bad\n"),
            (1, b"two\n"),
            (1, b"\n"),
            (1, b"begun"),
            (2, b"\r\n"),
        ];
        let lines: Vec<Vec<u8>> = parts
            .iter()
            .filter_map(|(descriptor, part)| printing.take(*descriptor, part))
            .collect();
        assert_eq!(lines, [&b"bad\n"[..], b"one, two\n"]);
        assert_eq!(printing.rest().collect::<Vec<_>>(), [b"begun"]);
    }

    #[test]
    fn of_a_line_without_an_end_the_beginning_is_kept() {
        let mut printing = Printing::default();
        for _ in 0..100 {
            assert_eq!(printing.take(1, &[b'x'; 1000]), None);
        }
        let rest: Vec<Vec<u8>> = printing.rest().collect();
        assert_eq!(rest[0].len(), BYTES_MAX);
    }
}
