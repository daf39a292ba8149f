//! Blocks in compressed form (zstd). Each stands alone.

use std::io::Read;

use zstd::bulk::Compressor;

use crate::varint::Cursor;

/// The fastest of zstd's levels: a recorder has to keep up.
const LEVEL: i32 = 1;
/// What stands before the compressed bytes: their length when inflated.
const LENGTH: usize = 4;
/// No window is larger, so that a reader needs no more memory than a block does. A power of 2.
const WINDOW_LOG_MAX: u32 = 25;

/// Makes compressed bodies.
pub(crate) struct Deflate(Compressor<'static>);

impl Deflate {
    /// `None` where there is no memory for it.
    pub(crate) fn new() -> Option<Deflate> {
        let mut compressor = Compressor::new(LEVEL).ok()?;
        // The frame around a block has a checksum, and this format says the length itself.
        compressor.include_contentsize(false).ok()?;
        Some(Deflate(compressor))
    }

    /// The compressed form of a body; `None` where it is not shorter.
    pub(crate) fn body(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let compressed = self.0.compress(body).ok()?;
        if compressed.len() + LENGTH >= body.len() {
            return None;
        }
        let mut out = u32::try_from(body.len()).ok()?.to_le_bytes().to_vec();
        out.extend_from_slice(&compressed);
        Some(out)
    }
}

impl std::fmt::Debug for Deflate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Deflate")
    }
}

/// Undoes [`Deflate::body`]. Whatever length the bytes claim, no more than `max` bytes are made of them.
pub(crate) fn inflate(stored: &[u8], max: usize) -> Result<Vec<u8>, &'static str> {
    let mut from = Cursor::new(stored);
    let claimed = from.u32().ok_or("it ends before its length")? as usize;
    if claimed > max {
        return Err("it claims to inflate to more than a block may have");
    }
    let broken = |_| "its compressed bytes make no sense";
    let mut decoder = zstd::stream::read::Decoder::with_buffer(from.rest()).map_err(broken)?;
    decoder.window_log_max(WINDOW_LOG_MAX).map_err(broken)?;
    let mut body = Vec::new();
    let limit = claimed as u64 + 1;
    decoder
        .single_frame()
        .take(limit)
        .read_to_end(&mut body)
        .map_err(broken)?;
    if body.len() != claimed {
        return Err("it does not inflate to the length that it claims");
    }
    Ok(body)
}
