//! Opening one file of a reel: its start, and its index, or a pass over the file where there is none.

use std::sync::Arc;

use crate::ending::{CutWhy, Ending, Gap, GapWhy, Recovery, RingError};
use crate::frame::{FOOTER, FRAME_HEAD, Footer, FrameHead, INDEX_MAGIC};
use crate::index::{BlockInfo, Index, Totals};
use crate::read_at::{ReadAt, ReadError, read_vec};
use crate::recover::{RingImage, recover};
use crate::scan::{Known, Scan, scan};
use crate::start::{OpenError, Start, open_start};
use crate::stored::Body;
use crate::{EventNumber, meta};

/// One file, read by itself.
pub(crate) struct OneReel {
    pub(crate) start: Start,
    pub(crate) length: u64,
    pub(crate) scan: Scan,
    /// Bodies of the last blocks: what the rings and a torn block held.
    pub(crate) recovered: Vec<Arc<Body>>,
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
