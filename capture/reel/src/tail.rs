//! A reel that is being written, read on from where the last look ended.

use crate::decode::Records;
use crate::frame::{FOOTER, Footer};
use crate::read_at::{ReadAt, ReadError, read_vec};
use crate::recover::{RingImage, pushed_event};
use crate::start::{OpenError, Start};
use crate::stored::{Found, frame_at};
use crate::{EventNumber, Header, Record, RingError};

/// How far a growing reel has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    identity: u64,
    /// The part of the recording that is read.
    part: u32,
    at: u64,
    next: EventNumber,
}

/// What stands behind the last whole block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailState {
    /// Nothing yet, or a block that is being written.
    Open,
    /// The end of the recording.
    Ended,
    /// The end of this part of the recording, which goes on in another one.
    GoesOn,
    /// Something that is no block: it may be written over, or it is damage.
    Strange,
    /// The reel is shorter than what was read of it: somebody cut or replaced it.
    Shrunk,
}

impl Tail {
    /// Starts before the first event. Reads the header alone.
    ///
    /// # Errors
    /// As for [`Reel::open`](crate::Reel::open); [`OpenError::Empty`] and [`OpenError::HeaderCut`]
    /// may be gone the next moment.
    pub fn open(source: &dyn ReadAt) -> Result<(Tail, Header), OpenError> {
        let start = Start::read(source)?;
        let part = start.part.as_ref();
        let tail = Tail {
            identity: start.identity,
            part: part.map_or(0, |part| part.number),
            at: start.end,
            next: part.map_or(EventNumber(0), |part| part.first),
        };
        Ok((tail, start.header))
    }

    /// Ties the parts of one recording together; 0 for a reel that never had a ring file.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// The part of the recording that is read, from 0.
    pub fn part(&self) -> u32 {
        self.part
    }

    /// Whether a reel that starts so is a later part of the same recording; its number then.
    pub fn later_part(&self, start: &Start) -> Option<u32> {
        let part = start.part.as_ref()?;
        let later = start.identity == self.identity && part.number > self.part;
        later.then_some(part.number)
    }

    /// Goes on with the first block of a later part, which starts so.
    pub fn go_on(&mut self, start: &Start) {
        if let Some(part) = &start.part {
            self.part = part.number;
            self.at = start.end;
            self.next = self.next.max(part.first);
        }
    }

    /// The number of the next event that will be shown, or a higher one.
    pub fn next_number(&self) -> EventNumber {
        self.next
    }

    /// Shows the events of all whole blocks behind those that were read, but not those that were
    /// shown from the rings.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn blocks(
        &mut self,
        source: &dyn ReadAt,
        show: &mut dyn FnMut(&Record<'_>),
    ) -> Result<TailState, ReadError> {
        let length = source.length()?;
        if length < self.at {
            return Ok(TailState::Shrunk);
        }
        loop {
            let (body, end) = match frame_at(source, self.at, length)? {
                Found::Block(body, end) => (body, end),
                Found::Index(_, end) => {
                    let footer = Footer::read(&read_vec(source, end, FOOTER)?);
                    let own = footer.filter(|footer| footer.index_at == self.at);
                    return Ok(match own.map(|footer| footer.goes_on) {
                        Some(true) => TailState::GoesOn,
                        Some(false) => TailState::Ended,
                        None => TailState::Open,
                    });
                }
                Found::HeadCut | Found::Beyond(_) => return Ok(TailState::Open),
                Found::Nothing => return Ok(TailState::Strange),
            };
            let mut records = Records::new(&body);
            for record in records.by_ref() {
                if record.number >= self.next {
                    self.next = record.number.next();
                    show(&record);
                }
            }
            self.next = self.next.max(records.next_number());
            self.at = end;
        }
    }

    /// Shows the events that the bytes of a ring file hold behind those that were shown, up to the
    /// first that is not published yet. The bytes have to be read before the blocks are: what the
    /// recorder takes from the rings meanwhile is in the blocks then.
    ///
    /// # Errors
    /// The bytes are not those of this reel's ring file.
    pub fn rings(
        &mut self,
        rings: &[u8],
        show: &mut dyn FnMut(&Record<'_>),
    ) -> Result<(), RingError> {
        let image = RingImage::read(rings)?;
        if image.identity != self.identity {
            return Err(RingError::OtherReel);
        }
        for (&number, (thread, pushed)) in image.records.range(self.next.0..) {
            if number != self.next.0 {
                break;
            }
            self.next = self.next.next();
            // One of a kind that is not known here is passed over.
            if let Some(record) = pushed_event(*thread, pushed) {
                show(&record);
            }
        }
        Ok(())
    }
}
