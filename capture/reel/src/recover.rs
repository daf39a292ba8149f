//! What a ring file still holds, read from its bytes alone.

use std::collections::BTreeMap;

use crate::ring::{RING_CAPACITY, RING_MAGIC, RING_PAGE, RING_VERSION, read_record};

/// The bytes of a ring file, and what they say.
#[derive(Debug)]
pub(crate) struct RingImage<'a> {
    pub(crate) identity: u64,
    /// The number that the next event would have taken.
    pub(crate) next: u64,
    /// Why recording stopped, and at which number.
    pub(crate) stop: Option<(i32, u64)>,
    /// Events that were dropped and that no event tells of.
    pub(crate) dropped: u64,
    /// The events by number.
    pub(crate) records: BTreeMap<u64, Pushed<'a>>,
}

/// An event that was pushed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pushed<'a> {
    pub(crate) time: u64,
    pub(crate) thread: u16,
    pub(crate) kind: u8,
    pub(crate) body: &'a [u8],
}

/// Why bytes are not a ring file that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// Too short, or it starts with something else.
    #[error("it is not a ring file")]
    NotRings,
    /// Made by a later netreel.
    #[error("it has version {0}, and this netreel knows {RING_VERSION}")]
    FutureVersion(u32),
    /// It belongs to another reel.
    #[error("it belongs to another reel")]
    OtherReel,
    /// Its control page makes no sense.
    #[error("its first page is damaged")]
    Damaged,
}

impl<'a> RingImage<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<RingImage<'a>, RingError> {
        let control = bytes.get(..RING_PAGE).ok_or(RingError::NotRings)?;
        if control.get(..8) != Some(&RING_MAGIC) {
            return Err(RingError::NotRings);
        }
        let version = u32_at(control, 8).ok_or(RingError::Damaged)?;
        if version > RING_VERSION {
            return Err(RingError::FutureVersion(version));
        }
        let capacity = u32_at(control, 12).ok_or(RingError::Damaged)? as usize;
        if !RING_CAPACITY.contains(&capacity) || !capacity.is_multiple_of(RING_PAGE) {
            return Err(RingError::Damaged);
        }
        let field = |at| u64_at(control, at).ok_or(RingError::Damaged);
        let code = u32_at(control, 192).ok_or(RingError::Damaged)? as i32;
        let mut image = RingImage {
            identity: field(16)?,
            next: field(64)?,
            stop: (code != 0).then_some((code, field(200)?)),
            dropped: 0,
            records: BTreeMap::new(),
        };
        let rings = bytes.get(RING_PAGE..).unwrap_or(&[]);
        for ring in rings.chunks_exact(RING_PAGE + capacity) {
            image.ring(ring);
        }
        Ok(image)
    }

    /// One ring; one that makes no sense gives what it gives up to there.
    fn ring(&mut self, ring: &'a [u8]) {
        let Some((head, data)) = ring.split_at_checked(RING_PAGE) else {
            return;
        };
        let (Some(thread), Some(tail), Some(start), Some(dropped)) = (
            u32_at(head, 0),
            u64_at(head, 64),
            u64_at(head, 128),
            u64_at(head, 192),
        ) else {
            return;
        };
        let Some(thread) = thread.checked_sub(1) else {
            return;
        };
        self.dropped = self.dropped.saturating_add(dropped);
        let mut at = start;
        while let Some((record, after)) = read_record(data, at, tail) {
            let pushed = Pushed {
                time: record.time,
                thread: thread as u16,
                kind: record.kind,
                body: record.body,
            };
            self.records.insert(record.number, pushed);
            at = after;
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(
        bytes.get(at..at.checked_add(4)?)?.try_into().ok()?,
    ))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(
        bytes.get(at..at.checked_add(8)?)?.try_into().ok()?,
    ))
}
