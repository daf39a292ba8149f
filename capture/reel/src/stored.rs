//! The bytes of a block, as they lie in a source.

use std::ops::Deref;

use crate::compress::inflate;
use crate::frame::{BLOCK_MAGIC, BLOCK_MAX, FRAME_HEAD, FrameHead, INDEX_MAGIC, ZSTD_MAGIC};
use crate::meta::META_MAX;
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

/// What stands at a place where a frame is looked for.
pub(crate) enum Found {
    /// The body of a block, and where its frame ends.
    Block(Vec<u8>, u64),
    /// The body of an index, and where its frame ends.
    Index(Vec<u8>, u64),
    /// A frame that starts so, and reaches behind the end of the file.
    Beyond([u8; 4]),
    /// The file ends before the head of a frame does.
    HeadCut,
    Nothing,
}

/// Reads and checks the frame at a place of a file of `length` bytes.
pub(crate) fn frame_at(source: &dyn ReadAt, at: u64, length: u64) -> Result<Found, ReadError> {
    let head = read_vec(source, at, FRAME_HEAD)?;
    let Some(frame) = FrameHead::read(&head) else {
        return Ok(Found::HeadCut);
    };
    let max = match frame.magic {
        BLOCK_MAGIC | ZSTD_MAGIC => BLOCK_MAX,
        INDEX_MAGIC => META_MAX,
        _ => return Ok(Found::Nothing),
    };
    if frame.length as usize > max {
        return Ok(Found::Nothing);
    }
    let body_at = at + FRAME_HEAD as u64;
    let end = body_at + u64::from(frame.length);
    if end > length {
        return Ok(Found::Beyond(frame.magic));
    }
    let body = read_vec(source, body_at, frame.length as usize)?;
    if !frame.fits(&body) {
        return Ok(Found::Nothing);
    }
    Ok(match frame.magic {
        INDEX_MAGIC => Found::Index(body, end),
        BLOCK_MAGIC => Found::Block(body, end),
        _ => match inflate(&body, BLOCK_MAX) {
            Ok(body) => Found::Block(body, end),
            Err(_) => Found::Nothing,
        },
    })
}
