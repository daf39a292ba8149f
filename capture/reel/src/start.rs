//! The start of a reel: what it says of itself, before its first block.

use crate::frame::{REEL_HEAD, REEL_MAGIC, VERSION, checksum};
use crate::read_at::{ReadAt, ReadError, read_vec};
use crate::varint::Cursor;
use crate::{Header, Part, meta};

/// A reel that cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There are no bytes.
    #[error("it is empty: a recorder that was killed at once leaves this")]
    Empty,
    /// It starts with something else than a reel.
    #[error("it is not a reel: it starts with {}, a reel with 89 52 45 45 4c", hex(.found))]
    NotAReel {
        /// The first bytes, at most 8.
        found: Vec<u8>,
    },
    /// It was made by a later netreel.
    #[error(
        "it has format version {found}, and this netreel reads versions up to {known}; \
         open it with a newer netreel"
    )]
    FutureVersion {
        /// The version in the file.
        found: u32,
        /// The highest version that is known here.
        known: u32,
    },
    /// The file ends inside its header.
    #[error("it ends inside its header: {length} bytes are there, {needed} are needed")]
    HeaderCut {
        /// The length of the file in bytes.
        length: u64,
        /// How many bytes the start and the header need.
        needed: u64,
    },
    /// The header is not what was written.
    #[error("its header (bytes 0 to {end}) is damaged: {why}")]
    HeaderDamaged {
        /// Where the header ends.
        end: u64,
        /// What is wrong with it.
        why: String,
    },
}

fn hex(bytes: &[u8]) -> String {
    let words: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    words.join(" ")
}

/// What the start of a reel says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// What the reel says of itself.
    pub header: Header,
    /// Ties a ring file, and the parts of one recording, together; 0 for neither.
    pub identity: u64,
    /// Which part of a recording this is; `None` for a recording in one file.
    pub part: Option<Part>,
    /// Where the first block starts.
    pub end: u64,
}

impl Start {
    /// Reads the start of a reel alone.
    pub fn read(source: &dyn ReadAt) -> Result<Start, OpenError> {
        open_start(source, source.length()?)
    }
}

pub(crate) fn open_start(source: &dyn ReadAt, length: u64) -> Result<Start, OpenError> {
    if length == 0 {
        return Err(OpenError::Empty);
    }
    let mut fixed = [0; REEL_HEAD];
    let filled = source.read_at(0, &mut fixed)?;
    let known = &REEL_MAGIC;
    let compared = filled.min(known.len());
    if fixed[..compared] != known[..compared] {
        return Err(OpenError::NotAReel {
            found: fixed[..compared].to_vec(),
        });
    }
    let head_end = REEL_HEAD as u64;
    let cut = |needed| OpenError::HeaderCut { length, needed };
    if filled < REEL_HEAD {
        return Err(cut(head_end));
    }
    let mut from = Cursor::new(&fixed[compared..]);
    let mut numbers = || Some((from.u32()?, from.u32()?, from.u64()?, from.u32()?));
    let (version, own_length, identity, sum) = numbers().ok_or_else(|| cut(head_end))?;
    if version > VERSION {
        return Err(OpenError::FutureVersion {
            found: version,
            known: VERSION,
        });
    }
    let end = head_end + u64::from(own_length);
    let damaged = |why| OpenError::HeaderDamaged { end, why };
    if own_length as usize > meta::META_MAX {
        return Err(damaged(format!("it claims a length of {own_length} bytes")));
    }
    if end > length {
        return Err(cut(end));
    }
    let bytes = read_vec(source, head_end, own_length as usize)?;
    if checksum(&[&fixed[..REEL_HEAD - 4], &bytes]) != sum {
        return Err(damaged("the checksum does not fit".to_owned()));
    }
    let (mut header, rest) = meta::decode_prefix::<Header>(&bytes).map_err(&damaged)?;
    let (mut part, rest) = match rest {
        [] | [meta::REDACTED, ..] => (None, rest),
        rest => {
            let (part, rest) = meta::decode_prefix::<Part>(rest).map_err(&damaged)?;
            (Some(part), rest)
        }
    };
    let rest = match (&mut part, rest) {
        (Some(part), [meta::BEGUN, rest @ ..]) => {
            let (begun, rest) = meta::decode_prefix(rest).map_err(&damaged)?;
            part.begun = begun;
            rest
        }
        _ => rest,
    };
    match rest {
        [] => {}
        [meta::REDACTED, rest @ ..] => {
            header.redacted = Some(meta::decode(rest).map_err(damaged)?);
        }
        rest => return Err(damaged(format!("{} bytes too many", rest.len()))),
    }
    Ok(Start {
        header,
        identity,
        part,
        end,
    })
}
