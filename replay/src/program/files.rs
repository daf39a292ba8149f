//! Files that a program opened, as its reel tells.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use netreel_reel::tape::Opened;
use netreel_reel::{CallId, Event, EventNumber, FoundAs, FoundFile, Reel, found_files};

use super::laid_out::first_at;

/// A file that the program read, as it was before it had written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFile {
    /// Its path; absolute.
    pub path: Vec<u8>,
    /// How it was when it was first opened.
    pub was: FileWas,
    /// Whether the program may have written to it as well.
    pub written: bool,
}

/// See [`ReadFile::was`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileWas {
    /// There was none.
    Missing,
    /// A small file: its length, and the checksum of its bytes ([`sum`]).
    Summed {
        /// In bytes.
        size: u64,
        /// See [`sum`].
        sum: u64,
    },
    /// A large file.
    Dated {
        /// In bytes.
        size: u64,
        /// When it was last changed, in nanoseconds since 1970.
        changed: i64,
    },
}

/// The files that the program changed, where the reel has them as it found them.
pub(super) fn kept_files(reel: &Reel) -> Vec<FoundFile> {
    let is_kept = |file: &FoundFile| !matches!(file.was, FoundAs::NotKept { .. });
    found_files(reel).into_iter().filter(is_kept).collect()
}

/// Why the program may do something else for a file that it changes, a sentence each: the reel has not what
/// it found there.
pub(super) fn not_kept(reel: &Reel) -> Vec<String> {
    let files = found_files(reel).into_iter().filter_map(|file| {
        let FoundAs::NotKept { size } = file.was else {
            return None;
        };
        Some(format!(
            "the program changes the file {}, which had {size} bytes when it found it: that is too long to be kept, \
             or could not be read; give it the one that it found then",
            String::from_utf8_lossy(&file.path)
        ))
    });
    files.take(NAMED_MAX).collect()
}

/// Files that it changes and asks about besides: what is told of them is not in a reel.
pub(super) fn changed_by_itself(reel: &Reel) -> Option<String> {
    let files = kept_files(reel);
    let (first, more) = files.split_first()?;
    let more = match more.len() {
        0 => String::new(),
        more => format!(" and {more} more files"),
    };
    Some(format!(
        "it changes {}{more}: when a file was changed last, its number (inode) and the list of what its folder holds \
         are those of now, and not in a reel",
        String::from_utf8_lossy(&first.path)
    ))
}

/// At most this many are named.
const NAMED_MAX: usize = 3;

/// The paths of files, as a tape has them.
pub(super) fn paths(files: &[FoundFile]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for file in files {
        // The recorder takes no longer ones.
        if let Ok(length) = u16::try_from(file.path.len()) {
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(&file.path);
        }
    }
    bytes
}

/// [`CallId::FILE`]: the file is the kernel's own, which has other bytes at each reading.
const OF_THE_KERNEL: u8 = 4;
/// The same: the program may write to it, and read what was there.
const READ_AND_WRITTEN: u8 = 8;

/// The same: a stream to another program of this machine, which is found by that path.
const STREAM: u8 = 16;

/// Tells each file and stream that the program opened: in which event, what came of it, what is known of
/// it, and its path.
fn for_each_opened(reel: &Reel, mut told: impl FnMut(EventNumber, i32, &[u8; 25], &[u8])) {
    reel.for_each(|record| {
        if let Event::Called {
            call: CallId::FILE,
            result,
            details,
        } = record.event
            && let Some((head, path)) = details.split_first_chunk()
        {
            told(record.number, result, head, path);
        }
    });
}

/// The stream to another program that was connected last, or that is the `wanted` descriptor, before an
/// event: its descriptor and its path.
pub(super) fn stream(
    reel: &Reel,
    before: Option<EventNumber>,
    wanted: Option<i32>,
) -> Option<(i32, String)> {
    let mut found = None;
    for_each_opened(reel, |number, result, head, path| {
        if head[24] & STREAM != 0
            && before.is_none_or(|before| number < before)
            && wanted.is_none_or(|wanted| wanted == result)
        {
            found = Some((result, String::from_utf8_lossy(path).into_owned()));
        }
    });
    found
}

/// The kernel's own files (`/proc`) that the program opened now and that said something else then, by
/// their paths: the nth time that one is opened is held against the nth time then.
pub fn others_of_the_kernel(reel: &Reel, now: &[Opened]) -> Vec<String> {
    let mut now: BTreeMap<u64, VecDeque<u64>> = now.iter().fold(BTreeMap::new(), |mut all, it| {
        all.entry(it.path).or_default().push_back(it.sum);
        all
    });
    let mut others = Vec::new();
    for_each_opened(reel, |_, result, head, path| {
        if let Some(sums) = now.get_mut(&sum(path)) {
            let then = first_at(head, 16).filter(|_| result >= 0);
            let then = then.map_or(0, u64::from_le_bytes);
            let path = String::from_utf8_lossy(path).into_owned();
            if sums.pop_front().is_some_and(|now| now != then) && !others.contains(&path) {
                others.push(path);
            }
        }
    });
    others
}

/// FNV-1a with 64 bits.
pub fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The files that the program read, in the order in which it first opened them.
pub fn read_files(reel: &Reel) -> Vec<ReadFile> {
    let (mut seen, mut files) = (BTreeSet::new(), Vec::new());
    for_each_opened(reel, |_, result, head, path| {
        if seen.insert(path.to_vec()) {
            let was = was(result, head);
            files.extend(was.map(|was| ReadFile {
                path: path.to_vec(),
                was,
                written: head[24] & READ_AND_WRITTEN != 0,
            }));
        }
    });
    files
}

/// `None` for one that the program only writes to.
fn was(result: i32, head: &[u8; 25]) -> Option<FileWas> {
    let number = |at| first_at(head, at).map_or(0, u64::from_le_bytes);
    if result < 0 {
        return Some(FileWas::Missing);
    }
    let (size, flags) = (number(0), head[24]);
    if flags & (OF_THE_KERNEL | STREAM) != 0 {
        return None;
    }
    match (
        flags & 1 != 0 && flags & READ_AND_WRITTEN == 0,
        flags & 2 != 0,
    ) {
        (true, _) => None,
        (false, true) => Some(FileWas::Summed {
            size,
            sum: number(16),
        }),
        (false, false) => Some(FileWas::Dated {
            size,
            changed: number(8) as i64,
        }),
    }
}
