//! zlib, deflate, gzip, LZ4 and zstd, with a limit on what comes out.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use lz4_flex::frame::FrameDecoder;

use super::argument::Failure;

/// The level that most writers choose.
const LEVEL: Compression = Compression::new(6);
/// As zstd's own tool.
const ZSTD_LEVEL: i32 = 3;

/// Reads all that comes out, and sees to it that nothing is left of what went in.
fn all<'a, R: Read>(
    packed: &'a [u8],
    max: usize,
    reader: impl FnOnce(&'a [u8]) -> R,
    left: impl FnOnce(R) -> &'a [u8],
) -> Result<Vec<u8>, Failure> {
    let mut reader = reader(packed);
    let inner = up_to(max, &mut reader)?;
    nothing_left(left(reader))?;
    Ok(inner)
}

/// All that a reader gives, which may not be more than this.
fn up_to(max: usize, reader: impl Read) -> Result<Vec<u8>, Failure> {
    let mut inner = Vec::new();
    let mut limited = reader.take((max as u64).saturating_add(1));
    limited.read_to_end(&mut inner).map_err(broken)?;
    if inner.len() > max {
        return Err(Failure::TooLong { max });
    }
    Ok(inner)
}

/// Refuses bytes behind the end of what was packed.
pub(super) fn nothing_left(bytes: &[u8]) -> Result<(), Failure> {
    match bytes.len() {
        0 => Ok(()),
        1 => Err(Failure::because("1 byte is left after the end")),
        more => Err(Failure::because(format!(
            "{more} bytes are left after the end"
        ))),
    }
}

/// An empty row of bytes is no frame, whatever a library takes it for.
fn has_magic(packed: &[u8]) -> Result<(), Failure> {
    if packed.is_empty() {
        return Err(Failure::because("a frame begins with a magic number"));
    }
    Ok(())
}

fn broken(error: io::Error) -> Failure {
    Failure::Broken(error.to_string())
}

pub(super) fn unzlib(packed: &[u8], max: usize) -> Result<Vec<u8>, Failure> {
    all(packed, max, ZlibDecoder::new, ZlibDecoder::into_inner)
}

pub(super) fn inflate(packed: &[u8], max: usize) -> Result<Vec<u8>, Failure> {
    all(packed, max, DeflateDecoder::new, DeflateDecoder::into_inner)
}

pub(super) fn gunzip(packed: &[u8], max: usize) -> Result<Vec<u8>, Failure> {
    all(packed, max, GzDecoder::new, GzDecoder::into_inner)
}

pub(super) fn unlz4_frame(packed: &[u8], max: usize) -> Result<Vec<u8>, Failure> {
    has_magic(packed)?;
    all(packed, max, FrameDecoder::new, FrameDecoder::into_inner)
}

/// A block does not say how many bytes it holds.
pub(super) fn unlz4(packed: &[u8], size: usize, max: usize) -> Result<Vec<u8>, Failure> {
    if size > max {
        return Err(Failure::TooLong { max });
    }
    let inner = lz4_flex::block::decompress(packed, size)
        .map_err(|error| Failure::Broken(error.to_string()))?;
    if inner.len() == size {
        Ok(inner)
    } else {
        Err(Failure::because(format!(
            "the block holds {} bytes, its size is {size}",
            inner.len()
        )))
    }
}

pub(super) fn unzstd(packed: &[u8], max: usize) -> Result<Vec<u8>, Failure> {
    has_magic(packed)?;
    let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(broken)?;
    // 8 MiB, which every decoder has to offer (RFC 8878, section 3.1.1.1.2).
    decoder.window_log_max(23).map_err(broken)?;
    up_to(max, decoder)
}

/// What an encoder makes of all bytes.
fn packed<W: Write>(
    inner: &[u8],
    mut encoder: W,
    finish: impl FnOnce(W) -> io::Result<Vec<u8>>,
) -> Result<Vec<u8>, Failure> {
    encoder.write_all(inner).map_err(broken)?;
    finish(encoder).map_err(broken)
}

pub(super) fn zlib(inner: &[u8]) -> Result<Vec<u8>, Failure> {
    packed(
        inner,
        ZlibEncoder::new(Vec::new(), LEVEL),
        ZlibEncoder::finish,
    )
}

pub(super) fn deflate(inner: &[u8]) -> Result<Vec<u8>, Failure> {
    packed(
        inner,
        DeflateEncoder::new(Vec::new(), LEVEL),
        DeflateEncoder::finish,
    )
}

/// Without a name and a time.
pub(super) fn gzip(inner: &[u8]) -> Result<Vec<u8>, Failure> {
    packed(inner, GzEncoder::new(Vec::new(), LEVEL), GzEncoder::finish)
}

pub(super) fn lz4(inner: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress(inner)
}

pub(super) fn lz4_frame(inner: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(inner).map_err(broken)?;
    encoder
        .finish()
        .map_err(|error| Failure::Broken(error.to_string()))
}

pub(super) fn zstd(inner: &[u8]) -> Result<Vec<u8>, Failure> {
    zstd::stream::encode_all(inner, ZSTD_LEVEL).map_err(broken)
}
