//! A recording in several reels: which part of it one is, and what a part needs to be read alone.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Ending, Endpoint, EventNumber, SocketId};

/// Stands in the start of a reel that is one part of a recording. The parts of one recording have
/// the same identity, and their event numbers go on from one to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its place in the recording, from 0.
    pub number: u32,
    /// The number of its first event. All lower ones belong to the parts before.
    pub first: EventNumber,
    /// The sockets that were open when it began, with their local endpoints, in the order of
    /// opening. Their `SocketOpened` events stand in parts before.
    pub sockets: Vec<(SocketId, Endpoint)>,
    /// Whether recording was on when it began.
    pub on: bool,
    /// What an unmodified program was started with: the details of its start's events
    /// ([`CallId::START`](netreel_shared::call::CallId::START)), which stand in the first part.
    #[serde(skip)]
    pub begun: Vec<Vec<u8>>,
}

impl Part {
    /// The first part: it begins with event 0, and nothing is open yet.
    pub fn first() -> Part {
        Part {
            number: 0,
            first: EventNumber(0),
            sockets: Vec::new(),
            on: true,
            begun: Vec::new(),
        }
    }
}

/// A part of the recording that a [`Reel`](crate::Reel) shows. A recording in one file has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedPart {
    /// What its start says; [`Part::first`] for a reel that is not in parts.
    pub part: Part,
    /// Its bytes, in the order of all parts that were opened, one behind the other. Places of
    /// blocks and of damage count like this.
    pub bytes: Range<u64>,
    /// Which of the reel's blocks are its own.
    pub blocks: Range<usize>,
    /// How it ends. `at_byte` counts from its own start.
    pub ending: Ending,
}

/// Parts between others that are not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingParts {
    /// Their numbers in the recording.
    pub parts: Range<u32>,
    /// The event numbers that are missing with them.
    pub events: Range<u64>,
}

impl std::fmt::Display for MissingParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let last = self.parts.end.saturating_sub(1);
        match self.parts.len() {
            0 | 1 => write!(f, "part {last} is missing")?,
            _ => write!(f, "parts {} to {last} are missing", self.parts.start)?,
        }
        let count = self.events.end.saturating_sub(self.events.start);
        let events = if count == 1 { "event" } else { "events" };
        let Range { start, .. } = self.events;
        write!(f, " with {count} {events} from number {start} on")
    }
}
