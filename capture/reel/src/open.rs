//! Opening one file of a reel: its start, and its index, or a pass over the file where there is none.

use std::sync::Arc;

use crate::ending::{CutWhy, Ending, Gap, GapWhy, Recovery, RingError};
use crate::frame::{FOOTER, Footer};
use crate::index::{BlockInfo, Index, Totals};
use crate::read_at::{ReadAt, ReadError, read_vec};
use crate::recover::{RingImage, recover};
use crate::scan::{Known, Scan, scan};
use crate::start::{OpenError, Start, open_start};
use crate::stored::{Body, Found, frame_at};
use crate::{EventNumber, meta};

/// One file, read by itself.
pub(crate) struct OneReel {
    pub start: Start,
    pub length: u64,
    pub scan: Scan,
    /// Bodies of the last blocks: what the rings and a torn block held.
    pub recovered: Vec<Arc<Body>>,
    pub ending: Ending,
    /// It was ended in order, and the recording goes on in another part.
    pub goes_on: bool,
    pub recovery: Recovery,
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
    let (mut scan, mut why) = scan(source, &start, length, known)?;
    let mut recovery = Recovery::default();
    let image = match rings.map(RingImage::read) {
        Some(Ok(image)) if image.identity == start.identity => Ok(image),
        Some(Ok(_)) => Err(Some(RingError::OtherReel)),
        Some(Err(error)) => Err(Some(error)),
        None => Err((start.identity != 0).then_some(RingError::Missing)),
    };
    let image = image.map_err(|why| recovery.rings = why).ok();
    let mut at_byte = scan.end;
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
    let Some(footer_at) = length.checked_sub(FOOTER as u64) else {
        return Ok(None);
    };
    let footer = Footer::read(&read_vec(source, footer_at, FOOTER)?);
    let fitting = footer.filter(|it| (start..=footer_at).contains(&it.index_at));
    let Some(Footer { index_at, goes_on }) = fitting else {
        return Ok(None);
    };
    let index = match frame_at(source, index_at, footer_at)? {
        Found::Index(body, end) if end == footer_at => meta::decode::<Index>(&body).ok(),
        _ => None,
    };
    let blocks = index.and_then(|index| index.blocks(start, index_at));
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
