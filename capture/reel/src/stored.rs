//! The bytes of a block, as they lie in a source.

use std::sync::Arc;

use crate::compress::inflate;
use crate::frame::{BLOCK_MAGIC, BLOCK_MAX, FRAME_HEAD, FrameHead, ZSTD_MAGIC};
use crate::read_at::{ReadAt, ReadError, read_vec};

/// Why the body of a block cannot be had.
pub(crate) enum BodyError {
    Read(ReadError),
    Damaged(&'static str),
}

/// Reads and checks the block whose frame is `length` bytes from `offset` on. The caller has
/// checked that the source has them.
pub(crate) fn block_body(
    source: &dyn ReadAt,
    offset: u64,
    length: u64,
) -> Result<Arc<[u8]>, BodyError> {
    let damaged = |why| Err(BodyError::Damaged(why));
    let Ok(length) = usize::try_from(length) else {
        return damaged("it is too long");
    };
    let frame = read_vec(source, offset, length).map_err(BodyError::Read)?;
    let Some(head) = FrameHead::read(&frame) else {
        return damaged("it is cut");
    };
    let stored = frame.get(FRAME_HEAD..).unwrap_or(&[]);
    if head.magic != BLOCK_MAGIC && head.magic != ZSTD_MAGIC {
        return damaged("no block starts here");
    }
    if !head.fits(stored) {
        return damaged("the checksum does not fit");
    }
    if head.magic == BLOCK_MAGIC {
        return Ok(stored.into());
    }
    let body = inflate(stored, BLOCK_MAX).map_err(BodyError::Damaged)?;
    Ok(body.into())
}
