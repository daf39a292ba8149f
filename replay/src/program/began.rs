//! What a program was started with, as its reel tells.

use std::collections::BTreeMap;

use netreel_reel::{CallId, Event, Reel, StartId};

use super::laid_out::first_at;

/// A variable of a program's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// `NAME=value`.
    Plain(Vec<u8>),
    /// One whose value is not in the reel.
    Secret {
        /// Its name.
        name: Vec<u8>,
        /// The CRC-32 of its value.
        sum: u32,
        /// How long the value is.
        length: u32,
    },
}

/// What a program was started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Began {
    /// Its process id, as it saw it.
    pub process: u32,
    /// Its parent's.
    pub parent: u32,
    /// How many rings were mapped into it.
    pub rings: u32,
    /// The length of each one's data.
    pub capacity: u32,
    /// Whether addresses were random.
    pub random_addresses: bool,
    /// Whether it is a forked child, so that its start was its parent's.
    pub forked: bool,
    /// Whether the recording tells in which order threads got locks.
    pub ordered: bool,
    /// Whether one of its threads ran at a time.
    pub one_thread: bool,
    /// Whether what it printed is recorded.
    pub log: bool,
    /// Whether barriers, what runs once, eventfds, timerfds and the like are recorded.
    pub meets: bool,
    /// Whether what it read of its standard input through the C library's streams is recorded.
    pub streams: bool,
    /// Whether children, how they ended and what they wrote into pipes is recorded.
    pub children: bool,
    /// Whether the rings lay out of the way of what the program maps.
    pub aside: bool,
    /// The signals that were ignored and those that were blocked, a bit each, that of signal n bit
    /// n - 1; `None` where it was recorded before reels told them.
    pub signals: Option<(u64, u64)>,
    /// The working directory.
    pub folder: Vec<u8>,
    /// The path by which it was started.
    pub program: Vec<u8>,
    /// Its environment, in its order.
    pub variables: Vec<Variable>,
    /// The program and its libraries: address, CRC-32 of the file, path.
    pub files: Vec<(u64, u32, Vec<u8>)>,
    /// Open descriptors, and what each led to.
    pub descriptors: Vec<(i32, String)>,
    /// More of those that led to files, or to nothing, by their numbers.
    pub held: BTreeMap<i32, Held>,
    /// How many rows and columns those have that led to terminals, by their numbers.
    pub terminals: BTreeMap<i32, (u16, u16)>,
    /// What the recorder was asked to start, where that was another program.
    pub launched: Option<Launched>,
}

/// An open descriptor that leads to a file, or to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The flags that it was opened with.
    pub flags: u32,
    /// How far it had been read or written, in bytes.
    pub position: u64,
    /// The file's length, in bytes.
    pub size: u64,
    /// When the file was last changed, in nanoseconds since 1970.
    pub changed: i64,
}

/// A program that ran the recorded one, or became it: a script, a launcher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launched {
    /// The CRC-32 of its file.
    pub sum: u32,
    /// Its name, as it was called, and its arguments.
    pub words: Vec<Vec<u8>>,
}

impl Began {
    /// What the reel tells, or where its begin is not there, the first part that is; `None` where it was
    /// recorded before reels told it.
    pub fn of(reel: &Reel) -> Option<Began> {
        let first = reel.parts().first().filter(|it| it.part.number > 0);
        let told = first.map_or(&[][..], |it| &it.part.begun);
        let mut began: Option<Began> = None;
        for details in told {
            began.get_or_insert_default().take(details);
        }
        reel.for_each(|record| {
            if let Event::Called { call, details, .. } = record.event
                && call == CallId::START
            {
                began.get_or_insert_default().take(details);
            }
        });
        began.filter(|began| !began.program.is_empty() && !began.folder.is_empty())
    }

    fn take(&mut self, details: &[u8]) {
        let Some((what, rest)) = details.split_first() else {
            return;
        };
        let word = |at| first_at(rest, at).map_or(0, u32::from_le_bytes);
        let eight = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let behind = |at: usize| rest.get(at..).unwrap_or(&[]).to_vec();
        match StartId(*what) {
            StartId::NUMBERS => {
                (self.process, self.parent) = (word(0), word(4));
                (self.rings, self.capacity) = (word(8), word(12));
                let flags = rest.get(16).copied().unwrap_or(0);
                (self.random_addresses, self.forked) = (flags & 1 != 0, flags & 2 != 0);
                (self.ordered, self.one_thread) = (flags & 4 != 0, flags & 8 != 0);
                (self.log, self.aside) = (flags & 16 != 0, flags & 32 != 0);
                (self.meets, self.streams) = (flags & 64 != 0, flags & 128 != 0);
                self.children = rest.get(17).is_some_and(|flags| flags & 1 != 0);
            }
            StartId::SIGNALS => {
                self.signals = Some((eight(0), eight(8)));
            }
            StartId::FOLDER => self.folder = rest.to_vec(),
            StartId::PROGRAM => self.program = rest.to_vec(),
            StartId::VARIABLE => self.variables.push(Variable::Plain(rest.to_vec())),
            StartId::SECRET => self.variables.push(Variable::Secret {
                name: behind(8),
                sum: word(0),
                length: word(4),
            }),
            StartId::FILE => {
                self.files.push((eight(0), word(8), behind(12)));
            }
            StartId::DESCRIPTOR => {
                let target = String::from_utf8_lossy(&behind(4)).into_owned();
                self.descriptors.push((word(0) as i32, target));
            }
            StartId::HELD => {
                let held = Held {
                    flags: word(4),
                    position: eight(8),
                    size: eight(16),
                    changed: eight(24) as i64,
                };
                self.held.insert(word(0) as i32, held);
            }
            StartId::TERMINAL => {
                let size = (word(4) as u16, (word(4) >> 16) as u16);
                self.terminals.insert(word(0) as i32, size);
            }
            StartId::LAUNCHED => {
                let words = behind(4);
                let words = words.strip_suffix(b"\0").unwrap_or(&words);
                let words = words.split(|byte| *byte == 0);
                self.launched = Some(Launched {
                    sum: word(0),
                    words: words.map(<[u8]>::to_vec).collect(),
                });
            }
            _ => {}
        }
    }
}
