//! Opening a reel: header, index, or a pass over the file where there is no index.

use std::sync::Arc;

use crate::ending::{CutWhy, Ending, Gap, GapWhy, Recovery};
use crate::frame::{FOOTER, FRAME_HEAD, Footer, FrameHead};
use crate::frame::{INDEX_MAGIC, REEL_HEAD, ReelHead, VERSION, checksum};
use crate::index::{BlockInfo, Index, Totals};
use crate::read_at::{ReadAt, ReadError, read_vec};
use crate::recover::{RingImage, recover};
use crate::scan::{Known, Scan, scan};
use crate::{EventNumber, Header, Part, RingError, meta};

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

/// One file, read by itself.
pub(crate) struct OneReel {
    pub(crate) start: Start,
    pub(crate) length: u64,
    pub(crate) scan: Scan,
    /// Bodies of the last blocks: what the rings and a torn block held.
    pub(crate) recovered: Vec<Arc<[u8]>>,
    pub(crate) ending: Ending,
    /// It was ended in order, and the recording goes on in another part.
    pub(crate) goes_on: bool,
    pub(crate) recovery: Recovery,
}

pub(crate) fn open(
    source: &dyn ReadAt,
    rings: Option<&[u8]>,
    known: &mut Known,
) -> Result<OneReel, OpenError> {
    let length = source.length()?;
    let start = open_start(source, length)?;
    if let Some((blocks, totals, goes_on)) = open_index(source, start.end, length)? {
        return Ok(OneReel {
            start,
            length,
            scan: Scan::indexed(blocks, totals),
            recovered: Vec::new(),
            ending: Ending::Clean,
            goes_on,
            recovery: Recovery::default(),
        });
    }
    let mut scan = scan(source, &start, length, known)?;
    let mut recovery = Recovery::default();
    let image = match rings.map(RingImage::read) {
        Some(Ok(image)) if image.identity == start.identity => Some(image),
        Some(Ok(_)) => {
            recovery.rings = Some(RingError::OtherReel);
            None
        }
        Some(Err(error)) => {
            recovery.rings = Some(error);
            None
        }
        None => {
            let had_rings = start.identity != 0;
            recovery.rings = had_rings.then_some(RingError::Missing);
            None
        }
    };
    let mut at_byte = scan.end;
    let mut why = scan.why.unwrap_or(CutWhy::NoFooter);
    let recovered = recover(&mut scan, image.as_ref(), &mut recovery, &mut at_byte);
    if let Some((code, _)) = image.and_then(|image| image.stop) {
        why = CutWhy::WriteFailed(code);
    }
    Ok(OneReel {
        start,
        length,
        scan,
        recovered,
        ending: Ending::Cut { at_byte, why },
        goes_on: false,
        recovery,
    })
}

pub(crate) fn open_start(source: &dyn ReadAt, length: u64) -> Result<Start, OpenError> {
    if length == 0 {
        return Err(OpenError::Empty);
    }
    let mut fixed = [0; REEL_HEAD];
    let filled = source.read_at(0, &mut fixed)?;
    let known = &crate::frame::REEL_MAGIC;
    let compared = filled.min(known.len());
    if fixed[..compared] != known[..compared] {
        return Err(OpenError::NotAReel {
            found: fixed[..compared].to_vec(),
        });
    }
    let head_end = REEL_HEAD as u64;
    let cut = OpenError::HeaderCut {
        length,
        needed: head_end,
    };
    if filled < REEL_HEAD {
        return Err(cut);
    }
    let head = ReelHead::read(&fixed).ok_or(cut)?;
    if head.version > VERSION {
        return Err(OpenError::FutureVersion {
            found: head.version,
            known: VERSION,
        });
    }
    let end = head_end + u64::from(head.length);
    if head.length as usize > meta::META_MAX {
        let why = format!("it claims a length of {} bytes", head.length);
        return Err(OpenError::HeaderDamaged { end, why });
    }
    if end > length {
        return Err(OpenError::HeaderCut {
            length,
            needed: end,
        });
    }
    let bytes = read_vec(source, head_end, head.length as usize)?;
    if checksum(&[&fixed[..REEL_HEAD - 4], &bytes]) != head.checksum {
        let why = "the checksum does not fit".to_owned();
        return Err(OpenError::HeaderDamaged { end, why });
    }
    let damaged = |why| OpenError::HeaderDamaged { end, why };
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
        identity: head.identity,
        part,
        end,
    })
}

fn open_index(
    source: &dyn ReadAt,
    start: u64,
    length: u64,
) -> Result<Option<(Vec<BlockInfo>, Totals, bool)>, ReadError> {
    let Some(footer_at) = length.checked_sub(FOOTER as u64).filter(|at| *at >= start) else {
        return Ok(None);
    };
    let footer = read_vec(source, footer_at, FOOTER)?;
    let Some(Footer { index_at, goes_on }) = Footer::read(&footer) else {
        return Ok(None);
    };
    let Some(frame_length) = footer_at.checked_sub(index_at) else {
        return Ok(None);
    };
    let Ok(frame_length) = usize::try_from(frame_length) else {
        return Ok(None);
    };
    if index_at < start || frame_length > meta::META_MAX + FRAME_HEAD {
        return Ok(None);
    }
    let frame = read_vec(source, index_at, frame_length)?;
    let Some(head) = FrameHead::read(&frame) else {
        return Ok(None);
    };
    let body = frame.get(FRAME_HEAD..).unwrap_or(&[]);
    if head.magic != INDEX_MAGIC || !head.fits(body) {
        return Ok(None);
    }
    let Ok(index) = meta::decode::<Index>(body) else {
        return Ok(None);
    };
    let blocks = index.blocks(start, index_at);
    Ok(blocks.map(|(blocks, totals)| (blocks, totals, goes_on)))
}

impl Scan {
    fn indexed(blocks: Vec<BlockInfo>, totals: Totals) -> Scan {
        let hole = |(first, count): &(EventNumber, u64)| Gap {
            first: *first,
            count: *count,
            why: GapWhy::NeverPublished,
        };
        let gaps = totals.holes().iter().map(hole).collect();
        Scan {
            blocks,
            totals,
            gaps,
            ..Scan::default()
        }
    }
}
