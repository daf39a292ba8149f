//! Writing a reel.

use crate::compress::Deflate;
use crate::encode::BlockEncoder;
use crate::frame::{
    BLOCK_MAGIC, BLOCK_TARGET, EVENT_MAX, Footer, INDEX_MAGIC, ZSTD_MAGIC, frame_head, framed,
    reel_head,
};
use crate::index::{BlockInfo, Index, Totals};
use crate::plain::plain_parts;
use crate::{Event, EventNumber, Header, Part, Record, Time, meta};

/// Where the bytes of a reel go.
pub trait Append {
    /// Appends all of `bytes`, or fails; after a failure some of them may be there.
    fn append(&mut self, bytes: &[u8]) -> Result<(), AppendError>;
}

/// An append that failed, with the operating system's error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot write: {}", crate::os_code_words(*.0))]
pub struct AppendError(pub i32);

impl Append for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// Something that could not be written into a reel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The place where the bytes go refused them.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The events came in the wrong order.
    #[error("event {number} came after event {}", .next.0.saturating_sub(1))]
    OutOfOrder {
        /// The number of the event that was refused.
        number: EventNumber,
        /// The lowest number that would have been taken.
        next: EventNumber,
    },
    /// The event is larger than [`EVENT_MAX`](crate::EVENT_MAX).
    #[error("event {number} has {length} bytes; the most that a reel holds in one is {EVENT_MAX}")]
    TooLarge {
        /// The number of the event that was refused.
        number: EventNumber,
        /// Its length in bytes.
        length: usize,
    },
    /// The header or the index is larger than 16 MiB.
    #[error("the {0} is larger than 16 MiB; a reel does not hold it")]
    MetaTooLarge(&'static str),
}

/// A block is sealed when its events span this many nanoseconds.
const BLOCK_SPAN_NS: u64 = 500_000_000;

/// Writes one reel: the header at once, then blocks as they fill, at last the index.
///
/// A block is sealed at 64 KiB or when its events span 500 ms; [`seal`](ReelWriter::seal) does it
/// earlier, for whoever watches a clock.
#[derive(Debug)]
pub struct ReelWriter<W: Append> {
    out: W,
    offset: u64,
    open: BlockEncoder,
    deflate: Option<Deflate>,
    /// A compressed block as it is appended; the memory stays.
    frame: Vec<u8>,
    blocks: Vec<BlockInfo>,
    totals: Totals,
    next: u64,
    sealed: u64,
}

impl<W: Append> ReelWriter<W> {
    /// Starts a reel that no ring file belongs to.
    pub fn create(out: W, header: &Header) -> Result<ReelWriter<W>, WriteError> {
        ReelWriter::create_with_identity(out, header, 0)
    }

    /// Starts a reel; a ring file with the same `identity` belongs to it.
    pub fn create_with_identity(
        out: W,
        header: &Header,
        identity: u64,
    ) -> Result<ReelWriter<W>, WriteError> {
        ReelWriter::start(out, header, identity, None)
    }

    /// Starts one part of a recording; the other parts have the same `identity`.
    pub fn create_part(
        out: W,
        header: &Header,
        identity: u64,
        part: &Part,
    ) -> Result<ReelWriter<W>, WriteError> {
        ReelWriter::start(out, header, identity, Some(part))
    }

    fn start(
        mut out: W,
        header: &Header,
        identity: u64,
        part: Option<&Part>,
    ) -> Result<ReelWriter<W>, WriteError> {
        let too_large = WriteError::MetaTooLarge("header");
        let redacted = header.redacted.as_ref();
        let mut header = meta::encode(header).ok_or(too_large)?;
        if let Some(part) = part {
            header.extend(meta::encode(part).ok_or(too_large)?);
            if !part.begun.is_empty() {
                header.push(meta::BEGUN);
                header.extend(meta::encode(&part.begun).ok_or(too_large)?);
            }
        }
        if let Some(redacted) = redacted {
            header.push(meta::REDACTED);
            header.extend(meta::encode(redacted).ok_or(too_large)?);
        }
        if header.len() > meta::META_MAX {
            return Err(too_large);
        }
        let bytes = reel_head(&header, identity);
        out.append(&bytes)?;
        let first = part.map_or(0, |part| part.first.0);
        Ok(ReelWriter {
            out,
            offset: bytes.len() as u64,
            open: BlockEncoder::new(),
            deflate: None,
            frame: Vec::new(),
            blocks: Vec::new(),
            totals: Totals::default(),
            next: first,
            sealed: first,
        })
    }

    /// Compresses the blocks that are sealed from now on, each by itself (zstd, level 1). One that
    /// would not get shorter stays as it is.
    pub fn compress(&mut self) {
        self.deflate = Deflate::new();
    }

    /// The lowest number that the next event may have.
    pub fn next_number(&self) -> EventNumber {
        EventNumber(self.next)
    }

    /// All events below this number are in blocks that were appended.
    pub fn sealed_number(&self) -> EventNumber {
        EventNumber(self.sealed)
    }

    /// The length of the reel so far in bytes, without the block that is still open.
    pub fn length(&self) -> u64 {
        self.offset
    }

    /// Where the bytes go.
    pub fn out(&self) -> &W {
        &self.out
    }

    /// What was written so far, in sum.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Appends an event; seals the block where it is full.
    ///
    /// Numbers rise; one that is left out is a hole, and the reel names it.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        let number = record.number;
        if number.0 < self.next || number.0 == u64::MAX {
            return Err(WriteError::OutOfOrder {
                number,
                next: EventNumber(self.next),
            });
        }
        let length = event_length(&record.event);
        if length > EVENT_MAX {
            return Err(WriteError::TooLarge { number, length });
        }
        if let Some(start) = self.open.start() {
            let age_ns = record.time.0.saturating_sub(start.time);
            let full = self.open.body().len() + length > BLOCK_TARGET;
            if full || age_ns >= BLOCK_SPAN_NS {
                self.seal()?;
            }
        }
        if number.0 > self.next {
            self.totals
                .add_hole(EventNumber(self.next), number.0 - self.next);
        }
        self.open.push(record);
        self.totals.add(record);
        self.next = number.0 + 1;
        Ok(())
    }

    /// Appends the block that is open, if it holds an event.
    pub fn seal(&mut self) -> Result<(), WriteError> {
        let Some(start) = self.open.start() else {
            return Ok(());
        };
        let body = self.open.body();
        let deflated = self.deflate.as_mut().and_then(|deflate| deflate.body(body));
        // One append a block, so that a kill tears at most one.
        let frame = match &deflated {
            Some(deflated) => {
                self.frame.clear();
                self.frame
                    .extend_from_slice(&frame_head(ZSTD_MAGIC, deflated));
                self.frame.extend_from_slice(deflated);
                &self.frame
            }
            None => {
                let head = frame_head(BLOCK_MAGIC, body);
                self.open.framed(head)
            }
        };
        self.out.append(frame)?;
        let length = frame.len() as u64;
        self.blocks.push(BlockInfo {
            offset: self.offset,
            length,
            first: EventNumber(start.number),
            events: self.open.events(),
            time: Time(start.time),
        });
        self.offset += length;
        self.sealed = self.next;
        self.open.clear();
        Ok(())
    }

    /// Ends the reel: the last block, the index, the footer.
    pub fn finish(self) -> Result<W, WriteError> {
        self.end(false)
    }

    /// Ends this part of a recording that goes on in the next one.
    pub fn finish_part(self) -> Result<W, WriteError> {
        self.end(true)
    }

    fn end(mut self, goes_on: bool) -> Result<W, WriteError> {
        self.seal()?;
        let index = Index::new(&self.blocks, std::mem::take(&mut self.totals));
        let index = meta::encode(&index).ok_or(WriteError::MetaTooLarge("index"))?;
        let mut bytes = framed(INDEX_MAGIC, &index);
        let index_at = self.offset;
        bytes.extend_from_slice(&Footer { index_at, goes_on }.bytes());
        self.out.append(&bytes)?;
        Ok(self.out)
    }
}

/// The length of an event's body in the plain layout.
pub(crate) fn event_length(event: &Event<'_>) -> usize {
    let (head, tail) = plain_parts(event);
    head.bytes().len() + tail.len()
}
