//! What the game of a reel said that it believed, in columns: by events of their own, and by lines that
//! a program printed. Values stay in the reel, and are read there when somebody asks.

use std::collections::BTreeMap;

use netreel_reel::{BELIEF_LINE, Believed, CallId, Event, EventNumber, Record, Time};
use netreel_table::Column;

use crate::session::index::plain::indexed;

/// See the module. A row a word, in the order of the reel.
#[derive(Clone, Default)]
pub(crate) struct GameWords {
    numbers: Column,
    /// On the reel's clock.
    times: Column,
    objects: Column,
    /// What was said: one of the numbers below.
    kinds: Column,
    owners: Column,
    /// By row, what was said of values in a line that came in several parts.
    joined: BTreeMap<u32, Vec<u8>>,
}

const CREATED: u64 = 0;
const DESTROYED: u64 = 1;
const OWNER: u64 = 2;
const VALUE: u64 = 3;

/// A word of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GameWord {
    pub row: u32,
    pub number: EventNumber,
    /// On the reel's clock.
    pub time: Time,
    pub object: u64,
    pub what: GameSays,
}

/// What it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GameSays {
    Created { owner: Option<u64> },
    Destroyed,
    Owner(u64),
    Value,
}

impl GameWords {
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Takes what an event says.
    pub fn take_event(&mut self, record: &Record<'_>) {
        if let Event::Believed { object, believed } = record.event {
            self.push((record.number, record.time), object, believed);
        }
    }

    /// Takes what a line says, all of which was printed in an event.
    pub fn take_line(&mut self, at: (EventNumber, Time), line: &[u8]) {
        if let Some((object, believed)) = Believed::of_line(line) {
            self.push(at, object, believed);
        }
    }

    /// Takes what a line says that was put together of what several events printed.
    pub fn take_joined(&mut self, at: (EventNumber, Time), line: &[u8]) {
        if let Some((object, believed)) = Believed::of_line(line) {
            if let Believed::Value { said } = believed {
                self.joined.insert(self.numbers.len() as u32, said.to_vec());
            }
            self.push(at, object, believed);
        }
    }

    fn push(&mut self, (number, time): (EventNumber, Time), object: u64, believed: Believed<'_>) {
        let (kind, owner) = match believed {
            Believed::Created { owner } => (CREATED, owner),
            Believed::Destroyed => (DESTROYED, None),
            Believed::Owner { owner } => (OWNER, Some(owner)),
            Believed::Value { .. } => (VALUE, None),
        };
        self.numbers.push(number.0);
        self.times.push(time.0);
        self.objects.push(object);
        self.kinds.push(kind);
        self.owners.push_some(owner);
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = GameWord> + '_ {
        let at = self.numbers.iter().zip(self.times.iter());
        let what = self.kinds.iter().zip(self.objects.iter());
        let rows = (0u32..).zip(at.zip(what));
        rows.map(|(row, ((number, time), (kind, object)))| {
            let owner = || self.owners.get_some(row as usize);
            GameWord {
                row,
                number: EventNumber(number),
                time: Time(time),
                object,
                what: match kind {
                    CREATED => GameSays::Created { owner: owner() },
                    DESTROYED => GameSays::Destroyed,
                    OWNER => GameSays::Owner(owner().unwrap_or_default()),
                    _ => GameSays::Value,
                },
            }
        })
    }

    /// What a word said of a value that does not stand in one event.
    pub fn joined(&self, row: u32) -> Option<&[u8]> {
        self.joined.get(&row).map(Vec::as_slice)
    }

    pub fn shrink(&mut self) {
        let columns = [
            &mut self.numbers,
            &mut self.times,
            &mut self.objects,
            &mut self.kinds,
            &mut self.owners,
        ];
        columns.into_iter().for_each(Column::shrink);
    }

    /// How many bytes of memory it takes.
    pub fn memory(&self) -> usize {
        let columns = [
            &self.numbers,
            &self.times,
            &self.objects,
            &self.kinds,
            &self.owners,
        ];
        columns.into_iter().map(Column::memory).sum()
    }
}

indexed!(GameWords: numbers, times, objects, kinds, owners; (joined));

/// What an event says of a value: the words of [`Believed::Value`].
pub(crate) fn value_said<'a>(event: &Event<'a>) -> Option<&'a [u8]> {
    let believed = match *event {
        Event::Believed { believed, .. } => believed,
        Event::Called {
            call: CallId::PRINTED,
            details: [_, line @ ..],
            ..
        } => Believed::of_line(line)?.1,
        _ => return None,
    };
    match believed {
        Believed::Value { said } => Some(said),
        _ => None,
    }
}

/// Of a longer line that comes in parts nothing is taken.
const LINE_MAX: usize = 4096;

/// Lines that a program prints in parts: each descriptor's is put together, as long as it may say a
/// belief.
#[derive(Clone, Default)]
pub(crate) struct Printing(BTreeMap<u8, Vec<u8>>);

impl Printing {
    /// Takes what was printed, and hands on what it says.
    pub fn take(&mut self, at: (EventNumber, Time), details: &[u8], words: &mut GameWords) {
        let [descriptor, part @ ..] = details else {
            return;
        };
        let ends = part.ends_with(b"\n");
        let begun = self.0.get_mut(descriptor).filter(|begun| !begun.is_empty());
        match begun {
            None if ends => words.take_line(at, part),
            None => {
                self.0.insert(*descriptor, part.to_vec());
            }
            Some(begun) => {
                if may_say(begun) {
                    begun.extend_from_slice(part);
                }
                if ends {
                    words.take_joined(at, begun);
                    begun.clear();
                }
            }
        }
    }
}

/// Whether a line that begins so may say a belief.
fn may_say(begun: &[u8]) -> bool {
    let line = begun.trim_ascii_start();
    let known = line.len().min(BELIEF_LINE.len());
    begun.len() <= LINE_MAX && line.get(..known) == BELIEF_LINE.as_bytes().get(..known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(parts: &[(u8, &str)]) -> Vec<(u64, u64, GameSays)> {
        let (mut printing, mut words) = (Printing::default(), GameWords::default());
        for (number, (descriptor, part)) in (0u64..).zip(parts) {
            let details = [&[*descriptor], part.as_bytes()].concat();
            let at = (EventNumber(number), Time(number));
            printing.take(at, &details, &mut words);
        }
        let words = words.iter();
        words
            .map(|word| (word.number.0, word.object, word.what))
            .collect()
    }

    #[test]
    fn a_line_says_it_where_its_end_was_printed() {
        let owner = Some(3);
        let expected = [
            (0, 1, GameSays::Created { owner }),
            (4, 2, GameSays::Destroyed),
            (5, 7, GameSays::Value),
        ];
        let parts: [(u8, &str); 6] = [
            (1, "netreel: created 1 owner 3\n"),
            (2, "netreel: "),
            (1, "something else\n"),
            (2, "destroyed 2"),
            (2, "\n"),
            (1, "netreel: value 7 hp 3\n"),
        ];
        assert_eq!(said(&parts), expected);
    }

    #[test]
    fn a_long_line_of_something_else_is_forgotten() {
        let long = "x".repeat(3000);
        let parts: [(u8, &str); 4] = [
            (1, "a line"),
            (1, &long),
            (1, " netreel: destroyed 2\n"),
            (1, "netreel: destroyed 3\n"),
        ];
        assert_eq!(said(&parts), [(3, 3, GameSays::Destroyed)]);
    }

    #[test]
    fn what_several_events_printed_is_kept() {
        let (mut printing, mut words) = (Printing::default(), GameWords::default());
        for (number, part) in (0u64..).zip(["\x02netreel: value 7 ", "\x02hp 3\n"]) {
            let at = (EventNumber(number), Time(number));
            printing.take(at, part.as_bytes(), &mut words);
        }
        assert_eq!(words.joined(0), Some(&b"hp 3"[..]));
    }
}
