//! Blocks in compressed form (zstd). Each stands alone.

use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, compress_bound};

use crate::varint::Cursor;

/// The fastest of zstd's levels: a recorder has to keep up.
const LEVEL: i32 = 1;
/// What stands before the compressed bytes: their length when inflated.
const LENGTH: usize = 4;
/// No window is larger, so that a reader needs no more memory than a block does. A power of 2.
const WINDOW_LOG_MAX: u32 = 25;

/// Makes compressed bodies.
pub(crate) struct Deflate(CCtx<'static>);

impl Deflate {
    /// `None` where there is no memory for it.
    pub fn new() -> Option<Deflate> {
        let mut compressor = CCtx::try_create()?;
        // The frame around a block has a checksum, and this format says the length itself.
        for parameter in [
            CParameter::CompressionLevel(LEVEL),
            CParameter::ContentSizeFlag(false),
        ] {
            compressor.set_parameter(parameter).ok()?;
        }
        Some(Deflate(compressor))
    }

    /// The compressed form of a body; `None` where it is not shorter.
    pub fn body(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let mut compressed = Vec::with_capacity(compress_bound(body.len()));
        self.0.compress2(&mut compressed, body).ok()?;
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
    const BROKEN: &str = "its compressed bytes make no sense";
    let mut decoder = DCtx::try_create().ok_or("there is no memory to inflate it")?;
    let most = DParameter::WindowLogMax(WINDOW_LOG_MAX);
    decoder.set_parameter(most).map_err(|_| BROKEN)?;
    let mut body = Vec::with_capacity(claimed + 1);
    let (mut out, mut source) = (OutBuffer::around(&mut body), InBuffer::around(from.rest()));
    while out.pos() <= claimed {
        let before = (out.pos(), source.pos());
        match decoder.decompress_stream(&mut out, &mut source) {
            // The end of the frame.
            Ok(0) => break,
            Ok(_) if (out.pos(), source.pos()) != before => {}
            _ => return Err(BROKEN),
        }
    }
    if body.len() != claimed {
        return Err("it does not inflate to the length that it claims");
    }
    Ok(body)
}
