//! Opening a reel: from one file, or from the parts of a recording, put behind one another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::decode::Records;
use crate::ending::{CutWhy, Damage, Ending, Gap, GapWhy};
use crate::open::{OneReel, open};
use crate::part::{MissingParts, OpenedPart, Part};
use crate::read_at::{ReadAt, ReadError, Until};
use crate::scan::Known;
use crate::start::{OpenError, Start};
use crate::stored::block_body;
use crate::{EventNumber, Reel};

/// What is known of a recording that is opened again and again while it is written: what was read
/// of it is not read again.
#[derive(Debug, Default)]
pub struct Opening(Known);

impl Reel {
    /// Opens a reel. Errors only where nothing can be said of it: what is broken behind the
    /// header is in [`ending`](Reel::ending), [`gaps`](Reel::gaps) and [`damage`](Reel::damage).
    pub fn open(source: Arc<dyn ReadAt>) -> Result<Reel, OpenError> {
        let one = open(source.as_ref(), None, &mut Known::default())?;
        join(vec![(one, source)])
    }

    /// Opens parts of one recording as one reel; the caller saw to it that they have the same
    /// [identity](crate::Start::identity). Their order does not matter, and parts that lack are
    /// named in [`missing_parts`](Reel::missing_parts). `rings` is the recording's ring file.
    ///
    /// Fails where one of them does not open, or none is given.
    pub fn open_parts(
        sources: Vec<Arc<dyn ReadAt>>,
        rings: Option<&[u8]>,
    ) -> Result<Reel, OpenError> {
        open_parts(sources, rings, &mut Known::default())
    }

    /// The same of a recording that is opened again and again.
    ///
    /// # Errors
    /// As for [`Reel::open_parts`].
    pub fn open_again(
        sources: Vec<Arc<dyn ReadAt>>,
        rings: Option<&[u8]>,
        opening: &mut Opening,
    ) -> Result<Reel, OpenError> {
        open_parts(sources, rings, &mut opening.0)
    }

    /// The reel as it would be, had it been cut behind its first `bytes` bytes: for whoever shows its
    /// beginning while all of it is read.
    ///
    /// # Errors
    /// As for [`Reel::open`]: not even the header is whole in them.
    pub fn beginning(&self, bytes: u64) -> Result<Reel, OpenError> {
        Reel::open(Arc::new(Until::new(Arc::clone(&self.source), bytes)))
    }

    /// Opens a reel that is in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Reel, OpenError> {
        Reel::open(Arc::new(bytes))
    }
}

/// Opens parts of one recording, in any order. `rings` belong to the last of them.
///
/// A part that is there twice is read once. Fails where one of them cannot be opened, or where
/// there is none.
fn open_parts(
    sources: Vec<Arc<dyn ReadAt>>,
    rings: Option<&[u8]>,
    known: &mut Known,
) -> Result<Reel, OpenError> {
    let mut numbered = Vec::new();
    for source in sources {
        let part = Start::read(source.as_ref())?.part;
        numbered.push((part.map_or(0, |part| part.number), source));
    }
    numbered.sort_by_key(|(number, _)| *number);
    numbered.dedup_by_key(|(number, _)| *number);
    let last = numbered.len().saturating_sub(1);
    let mut parts = Vec::new();
    for (index, (_, source)) in numbered.into_iter().enumerate() {
        let rings = rings.filter(|_| index == last);
        parts.push((open(source.as_ref(), rings, known)?, source));
    }
    join(parts)
}

/// Puts parts, in the order of their numbers, behind one another.
fn join(parts: Vec<(OneReel, Arc<dyn ReadAt>)>) -> Result<Reel, OpenError> {
    let mut joining = Joining::default();
    let mut reel: Option<Reel> = None;
    for (one, source) in parts {
        let reel = reel.get_or_insert_with(|| empty(&one, source.clone()));
        joining.add(reel, one, source);
    }
    let mut reel = reel.ok_or(OpenError::Empty)?;
    joining.end(&mut reel);
    Ok(reel)
}

fn empty(one: &OneReel, source: Arc<dyn ReadAt>) -> Reel {
    Reel {
        source,
        header: one.start.header.clone(),
        identity: one.start.identity,
        parts: Vec::new(),
        missing_parts: Vec::new(),
        blocks: Vec::new(),
        in_memory: BTreeMap::new(),
        totals: Default::default(),
        gaps: Vec::new(),
        damage: Vec::new(),
        ending: Ending::Clean,
        recovery: Default::default(),
        latest: Mutex::new(None),
    }
}

#[derive(Default)]
struct Joining {
    /// The bytes of the parts so far.
    length: u64,
    sources: Vec<(u64, Arc<dyn ReadAt>)>,
    /// The number after the last event; `None` where the index of the last part does not say it.
    next: Option<u64>,
    goes_on: bool,
}

impl Joining {
    /// Says what is missing between the parts so far and `part`.
    fn between(&self, reel: &mut Reel, part: &Part) {
        let number = reel.parts.last().map_or(0, |last| {
            last.part.number.saturating_add(1).min(part.number)
        });
        let missing = number < part.number;
        let next = match self.next {
            Some(next) => next,
            None if reel.parts.is_empty() => 0,
            None if missing => self.after_last(reel),
            None => part.first.0,
        };
        let count = part.first.0.saturating_sub(next);
        if missing {
            reel.missing_parts.push(MissingParts {
                parts: number..part.number,
                events: next..next + count,
            });
        }
        if count > 0 {
            let why = if missing {
                GapWhy::PartMissing
            } else {
                GapWhy::Damaged
            };
            let first = EventNumber(next);
            reel.gaps.push(Gap { first, count, why });
        }
    }

    fn add(&mut self, reel: &mut Reel, mut one: OneReel, source: Arc<dyn ReadAt>) {
        let part = one.start.part.take().unwrap_or_else(Part::first);
        self.between(reel, &part);
        let base = self.length;
        let from = reel.blocks.len();
        let in_file = one.scan.blocks.len().saturating_sub(one.recovered.len());
        let in_memory = (from + in_file..).zip(one.recovered);
        reel.in_memory.extend(in_memory);
        for mut block in one.scan.blocks {
            block.offset = block.offset.saturating_add(base);
            reel.blocks.push(block);
        }
        for Damage { bytes, why } in one.scan.damage {
            let bytes = bytes.start.saturating_add(base)..bytes.end.saturating_add(base);
            reel.damage.push(Damage { bytes, why });
        }
        reel.totals.add_open(&part.sockets);
        reel.totals.add_part(&one.scan.totals);
        reel.gaps.extend(one.scan.gaps);
        reel.recovery.from_rings += one.recovery.from_rings;
        reel.recovery.unchecked += one.recovery.unchecked;
        // Of the last part alone it matters: what the rings held for others is in later parts.
        reel.recovery.rings = one.recovery.rings;
        self.length = base.saturating_add(one.length);
        self.sources.push((base, source));
        self.goes_on = one.goes_on;
        let opened = OpenedPart {
            bytes: base..self.length,
            blocks: from..reel.blocks.len(),
            ending: one.ending,
            part,
        };
        self.next = match opened.ending {
            Ending::Clean => None,
            Ending::Cut { .. } => Some(one.scan.next),
        };
        reel.parts.push(opened);
    }

    /// The number after the last event of the last part, whose index does not say it: the last
    /// block does.
    fn after_last(&self, reel: &Reel) -> u64 {
        let (Some(part), Some((base, source))) = (reel.parts.last(), self.sources.last()) else {
            return 0;
        };
        let last = reel.blocks.get(part.blocks.clone()).and_then(<[_]>::last);
        let Some(last) = last else {
            return part.part.first.0;
        };
        let Ok(body) = block_body(
            source.as_ref(),
            last.offset.saturating_sub(*base),
            last.length,
        ) else {
            return last.first.0.saturating_add(last.events);
        };
        let mut records = Records::new(&body);
        records.by_ref().for_each(drop);
        records.next_number().0
    }

    fn end(self, reel: &mut Reel) {
        if let Some(last) = reel.parts.last() {
            reel.ending = last.ending.clone();
            if self.goes_on {
                let at_byte = last.bytes.end - last.bytes.start;
                let why = CutWhy::NextPartMissing;
                reel.ending = Ending::Cut { at_byte, why };
            }
        }
        if self.sources.len() > 1 {
            let (parts, length) = (self.sources, self.length);
            reel.source = Arc::new(Joined { parts, length });
        }
    }
}

/// Sources one behind the other, as long as they were at opening.
struct Joined {
    /// Where each starts.
    parts: Vec<(u64, Arc<dyn ReadAt>)>,
    length: u64,
}

impl ReadAt for Joined {
    fn length(&self) -> Result<u64, ReadError> {
        Ok(self.length)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let part = self.parts.partition_point(|(start, _)| *start <= offset);
        let (mut at, mut filled) = (offset, 0);
        for index in part.saturating_sub(1)..self.parts.len() {
            let Some((start, source)) = self.parts.get(index) else {
                break;
            };
            let end = self.parts.get(index + 1).map_or(self.length, |next| next.0);
            let rest = buffer.get_mut(filled..).unwrap_or(&mut []);
            let here = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
            let length = rest.len().min(here);
            let Some(part) = rest.get_mut(..length).filter(|part| !part.is_empty()) else {
                break;
            };
            let read = source
                .read_at(at - start, part)
                .map_err(|error| ReadError {
                    offset: error.offset.saturating_add(*start),
                    ..error
                })?;
            filled += read;
            at += read as u64;
            if read < length {
                break;
            }
        }
        Ok(filled)
    }
}
