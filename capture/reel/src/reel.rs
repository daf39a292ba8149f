//! Reading a reel.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::decode::{BlockProblem, Records};
use crate::encode::BlockEncoder;
use crate::frame::{BLOCK_MAGIC, BLOCK_TARGET, FOOTER, FRAME_HEAD, FrameHead};
use crate::frame::{INDEX_MAGIC, REEL_HEAD, ReelHead, VERSION, checksum, read_footer};
use crate::index::{BlockInfo, Index, Totals};
use crate::plain::{OwnedRecord, plain_read};
use crate::read_at::{ReadAt, ReadError, read_vec};
use crate::recover::{RingError, RingImage};
use crate::scan::{Scan, scan};
use crate::{Endpoint, Event, EventNumber, Header, Record, SocketId, ThreadId, Time, meta};

/// The recording of one node, open for reading.
///
/// Opening reads the index, or makes one by a pass over the file where there is none. Events are
/// read block by block; a block is checked whenever it is read.
pub struct Reel {
    source: Arc<dyn ReadAt>,
    header: Header,
    identity: u64,
    blocks: Vec<BlockInfo>,
    /// Bodies of the blocks behind those in the file: what the rings and a torn block held.
    recovered: Vec<Arc<[u8]>>,
    in_file: usize,
    totals: Totals,
    gaps: Vec<Gap>,
    damage: Vec<Damage>,
    ending: Ending,
    recovery: Recovery,
    latest: Mutex<Option<Block>>,
}

/// How a reel ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The recording was ended in order.
    Clean,
    /// It was not, or not yet.
    Cut {
        /// The first byte that is not part of a whole event in the file.
        at_byte: u64,
        /// What is missing.
        why: CutWhy,
    },
}

/// What is missing at the end of a reel that was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CutWhy {
    /// All blocks are whole; the end mark is missing.
    #[error("the end mark is missing: the recorder was killed, or is still recording")]
    NoFooter,
    /// The last block was not written to its end.
    #[error("the last block is not whole: the recorder was killed, or the file was cut")]
    TornBlock,
    /// All blocks are whole; the index behind them is not.
    #[error("the index is damaged; it was made again from the blocks")]
    BrokenIndex,
    /// What follows the last good block is not a block.
    #[error("the end is damaged: no block was found behind this byte")]
    DamagedEnd,
    /// Recording stopped because a write failed, with this operating-system error code.
    #[error("recording stopped: {}", std::io::Error::from_raw_os_error(*.0))]
    WriteFailed(i32),
}

/// Event numbers that a reel does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first number that is missing.
    pub first: EventNumber,
    /// How many are missing from there on.
    pub count: u64,
    /// Why.
    pub why: GapWhy,
}

/// Why event numbers are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapWhy {
    /// A thread took the number and died before it had written the event down.
    NeverPublished,
    /// The block that held them is damaged.
    Damaged,
}

/// Bytes of a reel that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where they are in the file.
    pub bytes: Range<u64>,
    /// What is wrong with them.
    pub why: &'static str,
}

/// What was read from elsewhere than whole blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Events that only the ring file held.
    pub from_rings: u64,
    /// Events of a torn last block, which no checksum covers.
    pub unchecked: u64,
    /// A ring file was given and could not be used.
    pub rings: Option<RingError>,
}

/// A reel that cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There are no bytes.
    #[error("it is empty: a recorder that was killed at once leaves this")]
    Empty,
    /// It starts with something else than a reel.
    #[error("it is not a reel: it starts with {found:02x?}, a reel with 89 52 45 45 4c")]
    NotAReel {
        /// The first bytes, at most 8.
        found: Vec<u8>,
    },
    /// It was made by a later netreel.
    #[error(
        "it has format version {found}, and this netreel reads versions up to {known}; \
         open it with a newer netreel"
    )]
    FutureVersion {
        /// The version in the file.
        found: u32,
        /// The highest version that is known here.
        known: u32,
    },
    /// The file ends inside its header.
    #[error("it ends inside its header: {length} bytes are there, {needed} are needed")]
    HeaderCut {
        /// The length of the file in bytes.
        length: u64,
        /// How many bytes the start and the header need.
        needed: u64,
    },
    /// The header is not what was written.
    #[error("its header (bytes 0 to {end}) is damaged: {why}")]
    HeaderDamaged {
        /// Where the header ends.
        end: u64,
        /// What is wrong with it.
        why: String,
    },
}

/// A block that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The bytes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is no such block.
    #[error("there is no block {index}; the reel has {blocks}")]
    NoSuchBlock {
        /// The index that was asked for.
        index: usize,
        /// How many there are.
        blocks: usize,
    },
    /// The bytes are not what was written.
    #[error("block {index} (bytes {} to {}) is damaged: {why}", .bytes.start, .bytes.end)]
    Damaged {
        /// The index of the block.
        index: usize,
        /// Where it is in the file.
        bytes: Range<u64>,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// A block of a reel in memory.
#[derive(Clone, Debug)]
pub struct Block {
    index: usize,
    info: BlockInfo,
    body: Arc<[u8]>,
}

impl Block {
    /// The events, in order. They borrow from the block.
    pub fn records(&self) -> Records<'_> {
        Records::new(&self.body)
    }

    /// Its place among the blocks of its reel.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Where it is and what is in it.
    pub fn info(&self) -> &BlockInfo {
        &self.info
    }
}

/// What a walk over all events met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// How many events were shown.
    pub events: u64,
    /// The blocks that could not be read, or not to their end.
    pub damaged: Vec<BlockError>,
    /// The event numbers that are missing for it.
    pub gaps: Vec<Gap>,
}

impl Reel {
    /// Opens a reel. Errors only where nothing can be said of it: what is broken behind the
    /// header is in [`ending`](Reel::ending), [`gaps`](Reel::gaps) and [`damage`](Reel::damage).
    pub fn open(source: Arc<dyn ReadAt>) -> Result<Reel, OpenError> {
        open(source, None)
    }

    /// Opens a reel with the bytes of its ring file, which hold what had not been written yet.
    pub fn open_with_rings(source: Arc<dyn ReadAt>, rings: &[u8]) -> Result<Reel, OpenError> {
        open(source, Some(rings))
    }

    /// Opens a reel that is in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Reel, OpenError> {
        Reel::open(Arc::new(bytes))
    }

    /// What the reel says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The number that ties a ring file to this reel; 0 for none.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Whether the recording was ended in order.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Event numbers that are missing, as far as opening found out: with an index, damage shows
    /// only when a block is read; [`for_each`](Reel::for_each) reads all.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Bytes that could not be read, as far as opening found out.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// What was read from elsewhere than whole blocks.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Counts, span, sockets.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// How many events there are.
    pub fn len(&self) -> u64 {
        self.totals.events()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many events there are of each kind that occurs.
    pub fn counts(&self) -> std::collections::BTreeMap<crate::EventKind, u64> {
        self.totals.counts()
    }

    /// How many events were skipped, by the number of a kind that is not known here.
    pub fn unknown(&self) -> &std::collections::BTreeMap<u8, u64> {
        self.totals.unknown()
    }

    /// The lowest and the highest time of an event; `None` for an empty reel.
    pub fn span(&self) -> Option<(Time, Time)> {
        self.totals.span()
    }

    /// The node's sockets with their local endpoints, in the order of opening.
    pub fn endpoints(&self) -> &[(SocketId, Endpoint)] {
        self.totals.sockets()
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Where each block is and what is in it, in order.
    pub fn block_infos(&self) -> &[BlockInfo] {
        &self.blocks
    }

    /// Reads and checks a block.
    pub fn block(&self, index: usize) -> Result<Block, BlockError> {
        let blocks = self.blocks.len();
        let info = *self
            .blocks
            .get(index)
            .ok_or(BlockError::NoSuchBlock { index, blocks })?;
        if let Some(body) = index
            .checked_sub(self.in_file)
            .and_then(|i| self.recovered.get(i))
        {
            return Ok(Block {
                index,
                info,
                body: body.clone(),
            });
        }
        let bytes = info.offset..info.offset.saturating_add(info.length);
        let damaged = |why| BlockError::Damaged {
            index,
            bytes: bytes.clone(),
            why,
        };
        // The index was checked to stay inside the file, so this is no more than the file has.
        let length = usize::try_from(info.length).map_err(|_| damaged("it is too long"))?;
        let frame = read_vec(self.source.as_ref(), info.offset, length)?;
        let head = FrameHead::read(&frame).ok_or_else(|| damaged("it is cut"))?;
        let body = frame.get(FRAME_HEAD..).unwrap_or(&[]);
        if head.magic != BLOCK_MAGIC {
            return Err(damaged("no block starts here"));
        }
        if !head.fits(body) {
            return Err(damaged("the checksum does not fit"));
        }
        Ok(Block {
            index,
            info,
            body: body.into(),
        })
    }

    /// The block that holds an event, if the reel has such a number.
    pub fn find(&self, number: EventNumber) -> Option<usize> {
        let after = self.blocks.partition_point(|block| block.first <= number);
        after.checked_sub(1)
    }

    /// The first block that may hold events at or after `time`.
    pub fn find_time(&self, time: Time) -> usize {
        self.blocks
            .partition_point(|block| block.time <= time)
            .saturating_sub(1)
    }

    /// One event.
    pub fn record(&self, number: EventNumber) -> Option<OwnedRecord> {
        let index = self.find(number)?;
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let block = match latest.take() {
            Some(block) if block.index == index => block,
            _ => self.block(index).ok()?,
        };
        let found = block
            .records()
            .find(|record| record.number >= number)
            .filter(|record| record.number == number)
            .map(|record| OwnedRecord::copy_of(&record));
        *latest = Some(block);
        found
    }

    /// Shows every event in order, stepping over damaged blocks, and says what was missing.
    pub fn for_each(&self, mut show: impl FnMut(&Record<'_>)) -> Walk {
        let mut walk = Walk::default();
        for index in 0..self.blocks.len() {
            let (problem, reached) = match self.block(index) {
                Ok(block) => {
                    let mut records = block.records();
                    for record in records.by_ref() {
                        walk.events += 1;
                        show(&record);
                    }
                    let problem = records.problem().map(|BlockProblem { why, .. }| {
                        let end = block.info.offset.saturating_add(block.info.length);
                        BlockError::Damaged {
                            index,
                            bytes: block.info.offset..end,
                            why,
                        }
                    });
                    (problem, records.next_number())
                }
                Err(error) => {
                    let first = self.blocks.get(index).map_or(EventNumber(0), |b| b.first);
                    (Some(error), first)
                }
            };
            if let Some(error) = problem {
                let end = self.blocks.get(index + 1).map(|next| next.first.0);
                let end = end.unwrap_or_else(|| {
                    self.blocks
                        .get(index)
                        .map_or(0, |b| b.first.0.saturating_add(b.events))
                });
                if end > reached.0 {
                    let count = end - reached.0;
                    walk.gaps.push(Gap {
                        first: reached,
                        count,
                        why: GapWhy::Damaged,
                    });
                }
                walk.damaged.push(error);
            }
        }
        walk
    }
}

impl std::fmt::Debug for Reel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reel")
            .field("node", &self.header.node)
            .field("blocks", &self.blocks.len())
            .field("events", &self.len())
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}

fn open(source: Arc<dyn ReadAt>, rings: Option<&[u8]>) -> Result<Reel, OpenError> {
    let length = source.length()?;
    let (head, header, start) = open_header(source.as_ref(), length)?;
    let indexed = open_index(source.as_ref(), start, length)?;
    let (clean, mut scan) = match indexed {
        Some((blocks, totals)) => (true, Scan::indexed(blocks, totals)),
        None => (false, scan(source.as_ref(), start, length)?),
    };
    let in_file = scan.blocks.len();
    let mut recovery = Recovery::default();
    let mut recovered = Vec::new();
    let mut ending = Ending::Clean;
    if !clean {
        let image = match rings.map(RingImage::read) {
            Some(Ok(image)) if image.identity == head.identity => Some(image),
            Some(Ok(_)) => {
                recovery.rings = Some(RingError::OtherReel);
                None
            }
            Some(Err(error)) => {
                recovery.rings = Some(error);
                None
            }
            None => None,
        };
        let mut at_byte = scan.end;
        let mut why = scan.why.unwrap_or(CutWhy::NoFooter);
        recovered = recover(&mut scan, image.as_ref(), &mut recovery, &mut at_byte);
        if let Some((code, _)) = image.and_then(|image| image.stop) {
            why = CutWhy::WriteFailed(code);
        }
        ending = Ending::Cut { at_byte, why };
    }
    Ok(Reel {
        source,
        header,
        identity: head.identity,
        blocks: scan.blocks,
        recovered,
        in_file,
        totals: scan.totals,
        gaps: scan.gaps,
        damage: scan.damage,
        ending,
        recovery,
        latest: Mutex::new(None),
    })
}

fn open_header(source: &dyn ReadAt, length: u64) -> Result<(ReelHead, Header, u64), OpenError> {
    if length == 0 {
        return Err(OpenError::Empty);
    }
    let mut fixed = [0; REEL_HEAD];
    let filled = source.read_at(0, &mut fixed)?;
    let known = &crate::frame::REEL_MAGIC;
    let compared = filled.min(known.len());
    if fixed[..compared] != known[..compared] {
        return Err(OpenError::NotAReel {
            found: fixed[..compared].to_vec(),
        });
    }
    let head_end = REEL_HEAD as u64;
    let cut = OpenError::HeaderCut {
        length,
        needed: head_end,
    };
    if filled < REEL_HEAD {
        return Err(cut);
    }
    let head = ReelHead::read(&fixed).ok_or(cut)?;
    if head.version > VERSION {
        return Err(OpenError::FutureVersion {
            found: head.version,
            known: VERSION,
        });
    }
    let end = head_end + u64::from(head.length);
    if head.length as usize > meta::META_MAX {
        let why = format!("it claims a length of {} bytes", head.length);
        return Err(OpenError::HeaderDamaged { end, why });
    }
    if end > length {
        return Err(OpenError::HeaderCut {
            length,
            needed: end,
        });
    }
    let bytes = read_vec(source, head_end, head.length as usize)?;
    if checksum(&[&fixed[..REEL_HEAD - 4], &bytes]) != head.checksum {
        let why = "the checksum does not fit".to_owned();
        return Err(OpenError::HeaderDamaged { end, why });
    }
    let header = meta::decode(&bytes).map_err(|why| OpenError::HeaderDamaged { end, why })?;
    Ok((head, header, end))
}

fn open_index(
    source: &dyn ReadAt,
    start: u64,
    length: u64,
) -> Result<Option<(Vec<BlockInfo>, Totals)>, ReadError> {
    let Some(footer_at) = length.checked_sub(FOOTER as u64).filter(|at| *at >= start) else {
        return Ok(None);
    };
    let footer = read_vec(source, footer_at, FOOTER)?;
    let Some(index_at) = read_footer(&footer) else {
        return Ok(None);
    };
    let Some(frame_length) = footer_at.checked_sub(index_at) else {
        return Ok(None);
    };
    let Ok(frame_length) = usize::try_from(frame_length) else {
        return Ok(None);
    };
    if index_at < start || frame_length > meta::META_MAX + FRAME_HEAD {
        return Ok(None);
    }
    let frame = read_vec(source, index_at, frame_length)?;
    let Some(head) = FrameHead::read(&frame) else {
        return Ok(None);
    };
    let body = frame.get(FRAME_HEAD..).unwrap_or(&[]);
    if head.magic != INDEX_MAGIC || !head.fits(body) {
        return Ok(None);
    }
    let Ok(index) = meta::decode::<Index>(body) else {
        return Ok(None);
    };
    Ok(index.blocks(start, index_at))
}

impl Scan {
    fn indexed(blocks: Vec<BlockInfo>, totals: Totals) -> Scan {
        let hole = |(first, count): &(EventNumber, u64)| Gap {
            first: *first,
            count: *count,
            why: GapWhy::NeverPublished,
        };
        let gaps = totals.holes().iter().map(hole).collect();
        Scan {
            blocks,
            totals,
            gaps,
            ..Scan::default()
        }
    }
}

/// No recording gets this far; what claims a higher number is damaged.
const NUMBER_MAX: u64 = u64::MAX >> 1;

/// Makes blocks of what a torn block and the rings hold, in the order of the numbers. Where both
/// have an event, the ring's copy is the better one: no write was torn there.
fn recover(
    scan: &mut Scan,
    image: Option<&RingImage<'_>>,
    recovery: &mut Recovery,
    at_byte: &mut u64,
) -> Vec<Arc<[u8]>> {
    let torn = scan.torn.take().unwrap_or_default();
    let mut by_number = std::collections::BTreeMap::new();
    if !torn.is_empty() {
        let mut records = Records::new(&torn);
        if records.next_number().0 >= scan.next {
            for record in records
                .by_ref()
                .filter(|record| record.number.0 < NUMBER_MAX)
            {
                by_number.insert(record.number, (record, true));
            }
            scan.totals.add_unknown(records.unknown());
            if !by_number.is_empty() {
                *at_byte += (FRAME_HEAD + records.good_to()) as u64;
            }
        }
    }
    let mut end = 0;
    if let Some(image) = image {
        end = image.next;
        for (number, pushed) in image.records.range(scan.next.min(NUMBER_MAX)..NUMBER_MAX) {
            let number = EventNumber(*number);
            let Ok(event) = plain_read(pushed.kind, pushed.body) else {
                scan.totals.add_unknown(&[(pushed.kind, 1)].into());
                continue;
            };
            let (time, thread) = (Time(pushed.time), ThreadId(pushed.thread));
            by_number.insert(
                number,
                (
                    Record {
                        number,
                        time,
                        thread,
                        event,
                    },
                    false,
                ),
            );
        }
        let last_time = by_number
            .values()
            .next_back()
            .map(|(record, _)| record.time);
        let time = last_time
            .or(scan.totals.span().map(|(_, high)| high))
            .unwrap_or(Time::ZERO);
        let dropped = Event::Dropped {
            count: image.dropped,
        };
        let dropped = (image.dropped > 0).then_some(dropped);
        let failed = image.stop.map(|(code, _)| Event::WriteFailed { code });
        end = end.min(NUMBER_MAX);
        for event in [dropped, failed].into_iter().flatten() {
            let number = EventNumber(end);
            by_number.insert(
                number,
                (
                    Record {
                        number,
                        time,
                        thread: ThreadId(0),
                        event,
                    },
                    false,
                ),
            );
            end += 1;
        }
    }
    let mut blocks = Vec::new();
    let mut open = BlockEncoder::new();
    let mut next = scan.next;
    for (number, (record, unchecked)) in &by_number {
        if number.0 > next {
            scan.gap(EventNumber(next), number.0 - next, GapWhy::NeverPublished);
        }
        next = number.0.saturating_add(1);
        if *unchecked {
            recovery.unchecked += 1;
        } else {
            recovery.from_rings += 1;
        }
        scan.totals.add(record);
        open.push(record);
        if open.body().len() >= BLOCK_TARGET {
            scan.recovered_block(&mut open, &mut blocks);
        }
    }
    scan.recovered_block(&mut open, &mut blocks);
    if end > next {
        scan.gap(EventNumber(next), end - next, GapWhy::NeverPublished);
    }
    blocks
}

impl Scan {
    fn recovered_block(&mut self, open: &mut BlockEncoder, blocks: &mut Vec<Arc<[u8]>>) {
        let Some(start) = open.start() else { return };
        self.blocks.push(BlockInfo {
            offset: self.end,
            length: (FRAME_HEAD + open.body().len()) as u64,
            first: EventNumber(start.number),
            events: open.events(),
            time: Time(start.time),
        });
        blocks.push(open.body().into());
        open.clear();
    }
}
