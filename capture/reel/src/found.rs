//! Files and folders that a program changed, as it found them ([`CallId::FOUND`]).

use std::collections::{BTreeMap, BTreeSet};

use netreel_shared::call::CallId;

use crate::varint::Cursor;
use crate::{Event, Reel};

/// How one was before the program changed it first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// Its path: absolute, without links in it.
    pub path: Vec<u8>,
    /// How it was.
    pub was: FoundAs,
}

/// See [`FoundFile::was`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundAs {
    /// Nothing was there.
    Missing,
    /// A file.
    File {
        /// Its permissions.
        mode: u32,
        /// When it was last changed, in nanoseconds since 1970.
        changed: i64,
        /// What was in it.
        bytes: Vec<u8>,
    },
    /// A folder, with nothing in it.
    Folder {
        /// Its permissions.
        mode: u32,
    },
    /// A link.
    Link {
        /// Where it leads to.
        target: Vec<u8>,
    },
    /// A file whose content is not in the reel: it was too long, or could not be read.
    NotKept {
        /// Its length in bytes.
        size: u64,
    },
}

const MISSING: u8 = 0;
const FILE: u8 = 1;
const FOLDER: u8 = 2;
const LINK: u8 = 3;
/// More is none that a recorder keeps: a reel may say anything.
const KEPT_MAX: u64 = 1 << 30;

/// What stands in the details of one event.
struct Part<'d> {
    state: u8,
    mode: u32,
    size: u64,
    changed: i64,
    at: u64,
    path: &'d [u8],
    bytes: &'d [u8],
}

impl<'d> Part<'d> {
    fn read(details: &'d [u8]) -> Option<Part<'d>> {
        let mut from = Cursor::new(details);
        let (state, mode) = (from.u8()?, from.u32()?);
        let (size, changed, at) = (from.u64()?, from.u64()? as i64, from.u64()?);
        let length = from.u16()?;
        Some(Part {
            state,
            mode,
            size,
            changed,
            at,
            path: from.take(length.into())?,
            bytes: from.rest(),
        })
    }
}

/// The path that the details of a [`CallId::FOUND`] name.
pub fn found_path(details: &[u8]) -> Option<&[u8]> {
    Part::read(details).map(|part| part.path)
}

/// The files and folders that the program changed, in the order in which it did so first.
pub fn found_files(reel: &Reel) -> Vec<FoundFile> {
    let mut known: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let (mut files, mut growing, mut is_cut) = (Vec::<FoundFile>::new(), None, BTreeSet::new());
    reel.for_each(|record| {
        let Event::Called {
            call: CallId::FOUND,
            details,
            ..
        } = record.event
        else {
            return;
        };
        let Some(part) = Part::read(details) else {
            return;
        };
        if let Some(&index) = known.get(part.path) {
            // What is told once more is what the program made of it itself.
            let file = files.get_mut(index).filter(|_| growing == Some(index));
            if let Some(FoundAs::File { bytes, .. }) = file.map(|file| &mut file.was) {
                if part.at == bytes.len() as u64 && part.at > 0 {
                    bytes.extend_from_slice(part.bytes)
                } else {
                    growing = None
                }
            }
            return;
        }
        let index = files.len();
        known.insert(part.path.to_vec(), index);
        growing = (part.state == FILE).then_some(index);
        if part.state == FILE && part.size <= KEPT_MAX {
            is_cut.insert((index, part.size));
        }
        files.push(FoundFile {
            path: part.path.to_vec(),
            was: was(&part),
        });
    });
    for (index, size) in is_cut {
        if let Some(file) = files.get_mut(index)
            && let FoundAs::File { bytes, .. } = &file.was
            && bytes.len() as u64 != size
        {
            file.was = FoundAs::NotKept { size };
        }
    }
    files
}

fn was(part: &Part<'_>) -> FoundAs {
    let (mode, bytes) = (part.mode & 0o7777, part.bytes.to_vec());
    match part.state {
        MISSING => FoundAs::Missing,
        FILE if part.size <= KEPT_MAX => FoundAs::File {
            mode,
            changed: part.changed,
            bytes,
        },
        FOLDER => FoundAs::Folder { mode },
        LINK => FoundAs::Link { target: bytes },
        _ => FoundAs::NotKept { size: part.size },
    }
}
