//! The plain layout of an event: its kind, and a body with fixed-width little-endian fields.
//!
//! It stands in the ring file, where speed of writing counts, and in blocks for the kinds that
//! are too rare to deserve a shorter form (see `docs/reel-format.md`).

use netreel_shared::body::EventKind;

use crate::field::PlainHead;
use crate::varint::Cursor;
use crate::{Event, EventNumber, Time};

/// Lays an event out: the fixed part, and the bytes that follow it.
#[inline(always)]
pub fn plain_parts<'a>(event: &Event<'a>) -> (PlainHead, &'a [u8]) {
    event.laid_out()
}

/// Why a plain event could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainError {
    /// This reader does not know the kind.
    UnknownKind,
    /// The kind is known, and the body is not one of its kind.
    BrokenBody,
}

/// Reads an event back.
#[inline]
pub fn plain_read(kind: u8, body: &[u8]) -> Result<Event<'_>, PlainError> {
    let kind = EventKind::from_number(kind).ok_or(PlainError::UnknownKind)?;
    let mut from = Cursor::new(body);
    // A later writer may have put more behind the fields that are known here.
    read_known(kind, &mut from).ok_or(PlainError::BrokenBody)
}

// What most events are is read in place: an event that a call returns is copied.
#[inline]
fn read_known<'a>(kind: EventKind, from: &mut Cursor<'a>) -> Option<Event<'a>> {
    match kind {
        EventKind::Sent | EventKind::Received | EventKind::SendResult => Event::read(kind, from),
        _ => read_rarely(kind, from),
    }
}

#[inline(never)]
fn read_rarely<'a>(kind: EventKind, from: &mut Cursor<'a>) -> Option<Event<'a>> {
    Event::read(kind, from)
}

/// A record that owns its bytes, for whoever cannot hold on to the block that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRecord {
    number: EventNumber,
    time: Time,
    thread: crate::ThreadId,
    kind: EventKind,
    body: Vec<u8>,
}

impl OwnedRecord {
    /// Copies a record.
    pub fn copy_of(record: &crate::Record<'_>) -> OwnedRecord {
        let (head, tail) = plain_parts(&record.event);
        let mut body = Vec::with_capacity(head.bytes().len() + tail.len());
        body.extend_from_slice(head.bytes());
        body.extend_from_slice(tail);
        OwnedRecord {
            number: record.number,
            time: record.time,
            thread: record.thread,
            kind: record.event.kind(),
            body,
        }
    }

    /// Its number.
    pub(crate) fn number(&self) -> EventNumber {
        self.number
    }

    /// The record, borrowing from `self`.
    pub fn as_record(&self) -> crate::Record<'_> {
        let event = read_known(self.kind, &mut Cursor::new(&self.body))
            // The body was laid out by `copy_of` and cannot be reached from outside.
            .unwrap_or(Event::Note { text: &self.body });
        crate::Record {
            number: self.number,
            time: self.time,
            thread: self.thread,
            event,
        }
    }
}

#[cfg(test)]
mod tests;
