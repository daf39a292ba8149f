//! Opening a reel: header, index, or a pass over the file where there is no index.

use std::sync::{Arc, Mutex};

use crate::ending::{CutWhy, Ending, Gap, GapWhy, Recovery};
use crate::frame::{FOOTER, FRAME_HEAD, FrameHead};
use crate::frame::{INDEX_MAGIC, REEL_HEAD, ReelHead, VERSION, checksum, read_footer};
use crate::index::{BlockInfo, Index, Totals};
use crate::read_at::{ReadAt, ReadError, read_vec};
use crate::recover::{RingImage, recover};
use crate::scan::{Scan, scan};
use crate::{EventNumber, Header, Reel, RingError, meta};

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
    #[error("it is not a reel: it starts with {found:02x?}, a reel with 89 52 45 45 4c")]
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

pub(crate) fn open(source: Arc<dyn ReadAt>, rings: Option<&[u8]>) -> Result<Reel, OpenError> {
    let length = source.length()?;
    let (head, header, start) = open_header(source.as_ref(), length)?;
    let indexed = open_index(source.as_ref(), start, length)?;
    let (clean, mut scan) = match indexed {
        Some((blocks, totals)) => (true, Scan::indexed(blocks, totals)),
        None => (false, scan(source.as_ref(), start, length)?),
    };
    let in_file = scan.blocks.len();
    let mut recovery = Recovery::default();
    let mut recovered = Vec::new();
    let mut ending = Ending::Clean;
    if !clean {
        let image = match rings.map(RingImage::read) {
            Some(Ok(image)) if image.identity == head.identity => Some(image),
            Some(Ok(_)) => {
                recovery.rings = Some(RingError::OtherReel);
                None
            }
            Some(Err(error)) => {
                recovery.rings = Some(error);
                None
            }
            None => {
                let had_rings = head.identity != 0;
                recovery.rings = had_rings.then_some(RingError::Missing);
                None
            }
        };
        let mut at_byte = scan.end;
        let mut why = scan.why.unwrap_or(CutWhy::NoFooter);
        recovered = recover(&mut scan, image.as_ref(), &mut recovery, &mut at_byte);
        if let Some((code, _)) = image.and_then(|image| image.stop) {
            why = CutWhy::WriteFailed(code);
        }
        ending = Ending::Cut { at_byte, why };
    }
    Ok(Reel {
        source,
        header,
        identity: head.identity,
        blocks: scan.blocks,
        recovered,
        in_file,
        totals: scan.totals,
        gaps: scan.gaps,
        damage: scan.damage,
        ending,
        recovery,
        latest: Mutex::new(None),
    })
}

pub(crate) fn open_header(
    source: &dyn ReadAt,
    length: u64,
) -> Result<(ReelHead, Header, u64), OpenError> {
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
    let header = meta::decode(&bytes).map_err(|why| OpenError::HeaderDamaged { end, why })?;
    Ok((head, header, end))
}

fn open_index(
    source: &dyn ReadAt,
    start: u64,
    length: u64,
) -> Result<Option<(Vec<BlockInfo>, Totals)>, ReadError> {
    let Some(footer_at) = length.checked_sub(FOOTER as u64).filter(|at| *at >= start) else {
        return Ok(None);
    };
    let footer = read_vec(source, footer_at, FOOTER)?;
    let Some(index_at) = read_footer(&footer) else {
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
    Ok(index.blocks(start, index_at))
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
