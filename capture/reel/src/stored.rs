//! The bytes of a block, as they lie in a source.

use std::ops::Deref;

use crate::compress::inflate;
use crate::frame::{BLOCK_MAGIC, BLOCK_MAX, FRAME_HEAD, FrameHead, ZSTD_MAGIC};
use crate::read_at::{ReadAt, ReadError, read_vec};

/// The body of a block, as it was read: what stands before it stays there.
#[derive(Debug)]
pub(crate) struct Body {
    bytes: Vec<u8>,
    from: usize,
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Body {
        Body { bytes, from: 0 }
    }
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.from..).unwrap_or(&[])
    }
}

/// Why the body of a block cannot be had.
pub(crate) enum BodyError {
    Read(ReadError),
    Damaged(&'static str),
}

/// Reads and checks the block whose frame is `length` bytes from `offset` on. The caller has
/// checked that the source has them.
pub(crate) fn block_body(source: &dyn ReadAt, offset: u64, length: u64) -> Result<Body, BodyError> {
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
        return Ok(Body {
            bytes: frame,
            from: FRAME_HEAD,
        });
    }
    let mut body = inflate(stored, BLOCK_MAX).map_err(BodyError::Damaged)?;
    body.shrink_to_fit();
    Ok(body.into())
}
