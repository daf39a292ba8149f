//! What a program prints: what it printed in the recording, and the first line that differs.

use netreel_reel::EventNumber;

/// What it printed on one descriptor, one byte behind the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) bytes: Vec<u8>,
    /// Where the bytes of each event begin.
    events: Vec<(usize, EventNumber)>,
}

/// What it printed in the recording: on its standard output, and on its standard error.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub(super) rows: [Row; 2],
    /// Whether the recording goes to the program's own end: it prints no more behind it.
    pub(super) ended: bool,
}

/// What it prints now on one descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedNow {
    /// How many bytes.
    pub bytes: u64,
    /// The first byte that is another one than recorded, and the rest of its line from there on.
    pub differs: Option<(u64, Vec<u8>)>,
}

/// The first line that is another one than recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineDifference {
    /// The event of the recording that has it; `None` where the recording has no more.
    pub event: Option<EventNumber>,
    /// 1 for the standard output, 2 for the standard error.
    pub descriptor: u8,
    /// The recorded line.
    pub expected: Option<String>,
    /// The line that came.
    pub came: Option<String>,
}

impl Rows {
    /// An event that is a line, or a part of one.
    pub(super) fn take(&mut self, number: EventNumber, details: &[u8]) {
        let Some((descriptor, bytes)) = details.split_first() else {
            return;
        };
        let index = usize::from(*descriptor).checked_sub(1);
        if let Some(row) = index.and_then(|index| self.rows.get_mut(index)) {
            row.events.push((row.bytes.len(), number));
            row.bytes.extend_from_slice(bytes);
        }
    }

    /// How many lines there are.
    pub fn lines(&self) -> u64 {
        let ends = |row: &Row| row.bytes.iter().filter(|byte| **byte == b'\n').count();
        self.rows.iter().map(|row| ends(row) as u64).sum()
    }

    /// The first line that differs. `over`: the program has done all that it did, so that a line
    /// that did not come is missing.
    pub(super) fn difference(&self, now: &[PrintedNow; 2], over: bool) -> Option<LineDifference> {
        let over = over && self.ended;
        let both = self.rows.iter().zip(now).enumerate();
        let each = both.filter_map(|(index, (row, now))| {
            let (descriptor, length) = (index as u8 + 1, row.bytes.len());
            let (place, rest) = match &now.differs {
                Some((place, rest)) => (usize::try_from(*place).ok()?, Some(rest)),
                None => (usize::try_from(now.bytes).ok()?, None),
            };
            let is_more = place >= length;
            match rest {
                Some(_) if !is_more || over => {}
                None if !is_more && over => {}
                _ => return None,
            }
            Some(row.differs_at(descriptor, place.min(length), rest))
        });
        // A line that the recording does not have comes behind all others.
        each.min_by_key(|line| line.event.map_or(u64::MAX, |event| event.0))
    }
}

impl Row {
    fn differs_at(&self, descriptor: u8, place: usize, rest: Option<&Vec<u8>>) -> LineDifference {
        let before = self.bytes.get(..place).unwrap_or(&[]);
        let start = before.iter().rposition(|byte| *byte == b'\n');
        let begun = before.get(start.map_or(0, |at| at + 1)..).unwrap_or(&[]);
        let left = self.bytes.get(place..).unwrap_or(&[]);
        let end = left.iter().position(|byte| *byte == b'\n');
        let recorded = left.get(..end.unwrap_or(left.len())).unwrap_or(&[]);
        let line = |rest: &[u8]| shown(&[begun, rest].concat());
        let holder = self.events.partition_point(|(at, _)| *at <= place);
        let event = holder.checked_sub(1).and_then(|at| self.events.get(at));
        let is_there = !left.is_empty();
        LineDifference {
            event: event.filter(|_| is_there).map(|(_, number)| *number),
            descriptor,
            expected: is_there.then(|| line(recorded)),
            came: rest.map(|rest| line(rest)),
        }
    }
}

impl LineDifference {
    /// What the program printed, in words.
    pub fn expected(&self) -> String {
        worded(self.expected.as_deref(), self.descriptor)
    }

    /// What it prints now.
    pub fn came(&self) -> String {
        worded(self.came.as_deref(), self.descriptor)
    }
}

fn worded(line: Option<&str>, descriptor: u8) -> String {
    let on = match descriptor {
        1 => "standard output",
        _ => "standard error",
    };
    match line {
        Some(line) => format!("the line {line:?} on its {on}"),
        None => format!("nothing more on its {on}"),
    }
}

/// How many characters of a line are told.
const SHOWN_MAX: usize = 300;

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + " …",
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lines: &[(u8, &str)], ended: bool) -> Rows {
        let mut rows = Rows {
            ended,
            ..Rows::default()
        };
        for (number, (descriptor, line)) in lines.iter().enumerate() {
            let details = [&[*descriptor][..], line.as_bytes()].concat();
            rows.take(EventNumber(number as u64), &details);
        }
        rows
    }

    fn now(bytes: u64, differs: Option<(u64, &str)>) -> PrintedNow {
        let differs = differs.map(|(place, rest)| (place, rest.as_bytes().to_vec()));
        PrintedNow { bytes, differs }
    }

    #[test]
    fn the_first_line_that_differs_is_told_whole() {
        let rows = rows(&[(1, "one\n"), (1, "tw"), (2, "bad\n"), (1, "o\n")], true);
        let told = rows.difference(&[now(9, Some((6, "x!"))), now(4, None)], true);
        let told = told.expect("a difference");
        assert_eq!(told.event, Some(EventNumber(3)));
        assert_eq!(
            (told.expected.as_deref(), told.came.as_deref()),
            (Some("two"), Some("twx!"))
        );
        assert_eq!(rows.lines(), 3);
    }

    #[test]
    fn lines_that_are_missing_or_too_many_count_at_the_programs_own_end_alone() {
        let lines = [(1, "one\n"), (1, "two\n")];
        for ended in [false, true] {
            let rows = rows(&lines, ended);
            let less = rows.difference(&[now(4, None), now(0, None)], true);
            assert_eq!(
                less.map(|it| (it.expected, it.came)),
                ended.then(|| (Some("two".to_owned()), None))
            );
            let more = rows.difference(&[now(13, Some((8, "three"))), now(0, None)], true);
            assert_eq!(
                more.map(|it| (it.expected, it.came)),
                ended.then(|| (None, Some("three".to_owned())))
            );
            assert_eq!(rows.difference(&[now(4, None), now(0, None)], false), None);
        }
    }
}
