//! The frames that the bytes of a reel stand in: fixed header, blocks, index, footer.

use crate::varint::Cursor;

/// The format version that this crate writes, and the highest that it reads.
pub const VERSION: u32 = 0;

/// The first bytes of a reel. The line ends and the end-of-file mark break when somebody moves
/// the file as text; the first byte keeps it from being taken for text.
pub(crate) const REEL_MAGIC: [u8; 8] = *b"\x89REEL\r\n\x1a";
/// The length of what stands before the header's own bytes.
pub(crate) const REEL_HEAD: usize = 28;

pub(crate) const BLOCK_MAGIC: [u8; 4] = *b"\xf7Blk";
/// A block whose body is compressed.
pub(crate) const ZSTD_MAGIC: [u8; 4] = *b"\xf7Zst";
pub(crate) const INDEX_MAGIC: [u8; 4] = *b"\xf7Idx";
/// The length of what stands before a block's body: magic, length, checksum.
pub(crate) const FRAME_HEAD: usize = 12;

/// Ends a recording.
pub(crate) const FOOTER_MAGIC: [u8; 4] = *b"\xf7End";
/// Ends a part of a recording that goes on in the next one.
pub(crate) const FOOTER_NEXT_MAGIC: [u8; 4] = *b"\xf7Nxt";
pub(crate) const FOOTER: usize = 16;

/// The largest single event, in bytes of its body.
pub const EVENT_MAX: usize = 16 << 20;
/// A block is sealed when its body reaches this length.
pub(crate) const BLOCK_TARGET: usize = 64 << 10;
/// The largest body of a block that a reader takes: a full block and the largest event.
pub(crate) const BLOCK_MAX: usize = EVENT_MAX + 2 * BLOCK_TARGET;

/// The start of a reel, up to the first block.
pub(crate) fn reel_head(meta: &[u8], identity: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(REEL_HEAD + meta.len());
    out.extend_from_slice(&REEL_MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(meta.len() as u32).to_le_bytes());
    out.extend_from_slice(&identity.to_le_bytes());
    let checksum = checksum(&[&out, meta]);
    out.extend_from_slice(&checksum.to_le_bytes());
    out.extend_from_slice(meta);
    out
}

/// CRC-32 (ISO-HDLC, as in zip and Ethernet) over the parts, one behind the other.
pub(crate) fn checksum(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}

/// The bytes before the body of a block or an index.
pub(crate) fn frame_head(magic: [u8; 4], body: &[u8]) -> [u8; FRAME_HEAD] {
    let length = (body.len() as u32).to_le_bytes();
    let checksum = checksum(&[&magic, &length, body]).to_le_bytes();
    let mut out = [0; FRAME_HEAD];
    out[..4].copy_from_slice(&magic);
    out[4..8].copy_from_slice(&length);
    out[8..].copy_from_slice(&checksum);
    out
}

/// A body behind the head of its frame.
pub(crate) fn framed(magic: [u8; 4], body: &[u8]) -> Vec<u8> {
    [&frame_head(magic, body), body].concat()
}

/// A whole block around a body: for tests and fuzzers, which need frames that fit around bodies
/// that make no sense.
pub fn block_frame(body: &[u8]) -> Vec<u8> {
    framed(BLOCK_MAGIC, body)
}

/// The same around what claims to be a compressed body.
pub fn compressed_frame(stored: &[u8]) -> Vec<u8> {
    framed(ZSTD_MAGIC, stored)
}

/// What the start of a frame claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHead {
    pub magic: [u8; 4],
    pub length: u32,
    pub checksum: u32,
}

impl FrameHead {
    pub fn read(bytes: &[u8]) -> Option<FrameHead> {
        let mut from = Cursor::new(bytes);
        Some(FrameHead {
            magic: from.array()?,
            length: from.u32()?,
            checksum: from.u32()?,
        })
    }

    pub fn fits(&self, body: &[u8]) -> bool {
        body.len() == self.length as usize
            && checksum(&[&self.magic, &self.length.to_le_bytes(), body]) == self.checksum
    }
}

/// What the last bytes of a reel that was ended in order say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub index_at: u64,
    /// Whether the recording goes on in the next part.
    pub goes_on: bool,
}

impl Footer {
    pub fn bytes(self) -> [u8; FOOTER] {
        let magic = if self.goes_on {
            FOOTER_NEXT_MAGIC
        } else {
            FOOTER_MAGIC
        };
        let mut out = [0; FOOTER];
        out[..8].copy_from_slice(&self.index_at.to_le_bytes());
        let checksum = checksum(&[&out[..8], &magic]);
        out[8..12].copy_from_slice(&checksum.to_le_bytes());
        out[12..].copy_from_slice(&magic);
        out
    }

    pub fn read(bytes: &[u8]) -> Option<Footer> {
        let mut from = Cursor::new(bytes);
        let index_at = from.u64()?;
        let sum = from.u32()?;
        let magic: [u8; 4] = from.array()?;
        let goes_on = match magic {
            FOOTER_MAGIC => false,
            FOOTER_NEXT_MAGIC => true,
            _ => return None,
        };
        let fits = sum == checksum(&[&index_at.to_le_bytes(), &magic]);
        fits.then_some(Footer { index_at, goes_on })
    }
}
