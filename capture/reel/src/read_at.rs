//! Where the bytes of a reel come from.

use std::sync::Arc;

/// Bytes that can be read at any place: a file, a part of memory, an upload.
pub trait ReadAt: Send + Sync {
    /// How many bytes there are now. A reel that is being written grows.
    fn length(&self) -> Result<u64, ReadError>;

    /// Fills the start of `buffer` from `offset` on and says how much of it was filled:
    /// fewer bytes than asked for only at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError>;
}

/// A source as long as it was at some moment, or no longer than somebody wants to read.
#[derive(Debug)]
pub struct Until<S> {
    source: S,
    length: u64,
}

impl<S: ReadAt> Until<S> {
    /// The first `length` bytes of a source.
    pub fn new(source: S, length: u64) -> Until<S> {
        Until { source, length }
    }
}

impl<S: ReadAt> ReadAt for Until<S> {
    fn length(&self) -> Result<u64, ReadError> {
        Ok(self.length.min(self.source.length()?))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let left = self.length.saturating_sub(offset);
        let length = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let part = buffer.get_mut(..length).unwrap_or_default();
        self.source.read_at(offset, part)
    }
}

/// A read that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read at byte {offset}: {}", crate::os_code_words(*.code))]
pub struct ReadError {
    /// Where it was to start.
    pub offset: u64,
    /// The operating system's error code.
    pub code: i32,
}

fn read_slice(bytes: &[u8], offset: u64, buffer: &mut [u8]) -> usize {
    let rest = usize::try_from(offset)
        .ok()
        .and_then(|at| bytes.get(at..))
        .unwrap_or(&[]);
    let length = rest.len().min(buffer.len());
    buffer[..length].copy_from_slice(&rest[..length]);
    length
}

impl ReadAt for Vec<u8> {
    fn length(&self) -> Result<u64, ReadError> {
        Ok(self.len() as u64)
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
        Ok(read_slice(self, offset, buffer))
    }
}

impl ReadAt for &'static [u8] {
    fn length(&self) -> Result<u64, ReadError> {
        Ok(self.len() as u64)
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
        Ok(read_slice(self, offset, buffer))
    }
}

impl<T: ReadAt + ?Sized> ReadAt for Arc<T> {
    fn length(&self) -> Result<u64, ReadError> {
        (**self).length()
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
        (**self).read_at(offset, buffer)
    }
}

/// Reads up to `length` bytes. The caller has checked `length` against the source's own length,
/// so that no number from a file decides how much is allocated.
pub(crate) fn read_vec(
    source: &dyn ReadAt,
    offset: u64,
    length: usize,
) -> Result<Vec<u8>, ReadError> {
    let mut bytes = vec![0; length];
    let filled = source.read_at(offset, &mut bytes)?;
    bytes.truncate(filled);
    Ok(bytes)
}
