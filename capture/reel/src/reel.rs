//! Reading a reel.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use netreel_shared::body::EventKind;

use crate::decode::Records;
use crate::ending::{CutWhy, Damage, Ending, Gap, GapWhy, Recovery};
use crate::frame::FRAME_HEAD;
use crate::index::{BlockInfo, Totals};
use crate::part::{MissingParts, OpenedPart};
use crate::plain::OwnedRecord;
use crate::read_at::{ReadAt, ReadError};
use crate::stored::{Body, BodyError, block_body};
use crate::{Endpoint, EventNumber, Header, Record, SocketId, Time};

/// The recording of one node, open for reading: from one file, or from the parts of a recording in
/// several, which read as one.
///
/// Opening reads the index, or makes one by a pass over the file where there is none. Events are
/// read block by block; a block is checked whenever it is read.
pub struct Reel {
    pub(crate) source: Arc<dyn ReadAt>,
    pub(crate) header: Header,
    pub(crate) identity: u64,
    pub(crate) parts: Vec<OpenedPart>,
    pub(crate) missing_parts: Vec<MissingParts>,
    pub(crate) blocks: Vec<BlockInfo>,
    /// Bodies of the blocks that are in no file: what the rings and torn blocks held.
    pub(crate) in_memory: BTreeMap<usize, Arc<Body>>,
    pub(crate) totals: Totals,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) damage: Vec<Damage>,
    pub(crate) ending: Ending,
    pub(crate) recovery: Recovery,
    pub(crate) latest: Mutex<Option<Latest>>,
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

impl BlockInfo {
    /// The error of this block, which is the one at `index`.
    fn damaged(&self, index: usize, why: &'static str) -> BlockError {
        let bytes = self.offset..self.offset.saturating_add(self.length);
        BlockError::Damaged { index, bytes, why }
    }
}

/// A block of a reel in memory.
#[derive(Clone, Debug)]
pub struct Block {
    index: usize,
    info: BlockInfo,
    body: Arc<Body>,
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

/// The block of which an event was asked for last: who asks for one event often asks for the next.
pub(crate) struct Latest {
    block: Block,
    /// Its events, from the second one on that is asked for.
    records: Option<Vec<OwnedRecord>>,
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
    /// How many bytes there are of it, without what its rings hold.
    ///
    /// # Errors
    /// The system cannot say it.
    pub fn length(&self) -> Result<u64, ReadError> {
        self.source.length()
    }

    /// What the reel says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The parts of the recording that are here, in order; at least one.
    pub fn parts(&self) -> &[OpenedPart] {
        &self.parts
    }

    /// Parts of the recording that are not here though later ones are.
    pub fn missing_parts(&self) -> &[MissingParts] {
        &self.missing_parts
    }

    /// The part that a byte belongs to, as [`block_infos`](Reel::block_infos) and
    /// [`damage`](Reel::damage) count bytes, and where in that part it is.
    pub fn place(&self, byte: u64) -> Option<(&OpenedPart, u64)> {
        let after = self.parts.partition_point(|part| part.bytes.start <= byte);
        let part = self.parts.get(after.checked_sub(1)?)?;
        Some((part, byte - part.bytes.start))
    }

    /// The number that the first event was expected to have: 0, unless earlier parts of the
    /// recording are not here.
    pub fn first_number(&self) -> EventNumber {
        self.parts
            .first()
            .map_or(EventNumber(0), |opened| opened.part.first)
    }

    /// The number that ties a ring file, and the parts of one recording, to this reel; 0 for none.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Whether the recording was ended in order.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Says that a recorder had the reel in hand when it was opened: it does not end where it ends now.
    /// A reel that ended otherwise than by being read too early stays as it is.
    pub fn set_still_recorded(&mut self) {
        use CutWhy::{NoFooter, StillRecorded, TornBlock, TornCompressed};
        if let Ending::Cut { why, .. } = &mut self.ending
            && matches!(why, NoFooter | TornBlock | TornCompressed)
        {
            *why = StillRecorded;
        }
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

    /// Shows bytes that are others where the reel says something else of itself. Where its blocks are,
    /// and what is in them, [`identify_blocks`](Reel::identify_blocks) shows.
    pub fn identify(&self, mut show: impl FnMut(&[u8])) {
        let told = (
            (&self.header, self.identity, &self.ending, &self.totals),
            (
                &self.gaps,
                &self.damage,
                &self.recovery,
                &self.parts,
                &self.missing_parts,
            ),
        );
        show(format!("{told:?}").as_bytes());
    }

    /// Shows bytes that are others where these blocks are elsewhere or hold something else: where they
    /// are, and their checksums. The bodies of blocks are not read.
    ///
    /// # Errors
    /// A block's frame cannot be read.
    pub fn identify_blocks(
        &self,
        blocks: Range<usize>,
        mut show: impl FnMut(&[u8]),
    ) -> Result<(), ReadError> {
        let infos = self.blocks.get(blocks.clone()).unwrap_or_default();
        // What was read last, and where that begins.
        let (mut window, mut start): (Vec<u8>, u64) = (Vec::new(), 0);
        for (index, info) in blocks.zip(infos) {
            for number in [
                info.offset,
                info.length,
                info.first.0,
                info.events,
                info.time.0,
            ] {
                show(&number.to_le_bytes());
            }
            if let Some(body) = self.in_memory.get(&index) {
                show(body);
                continue;
            }
            let place = info.offset.checked_sub(start).map(usize::try_from);
            let known = place.and_then(|at| window.get(at.ok()?..)?.get(..FRAME_HEAD));
            if let Some(frame) = known {
                show(frame);
                continue;
            }
            // One reading tells of several short blocks.
            let length = if info.length < SHORT_BLOCK {
                WINDOW
            } else {
                FRAME_HEAD
            };
            start = info.offset;
            window.resize(length, 0);
            let filled = self.source.read_at(start, &mut window)?;
            window.truncate(filled);
            show(window.get(..FRAME_HEAD).unwrap_or(&window));
        }
        Ok(())
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
    pub fn counts(&self) -> BTreeMap<EventKind, u64> {
        self.totals.counts()
    }

    /// How many events were skipped, by the number of a kind that is not known here.
    pub fn unknown(&self) -> &BTreeMap<u8, u64> {
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

    /// How many blocks stand in files. The blocks behind them were made of what the rings and a
    /// torn block held: while the recording goes on, others take their place.
    pub fn written_blocks(&self) -> usize {
        let first = self.in_memory.keys().next();
        first.map_or(self.blocks.len(), |&first| first)
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
        let body = match self.in_memory.get(&index) {
            Some(body) => body.clone(),
            None => match block_body(self.source.as_ref(), info.offset, info.length) {
                Ok(body) => Arc::new(body),
                Err(BodyError::Read(error)) => return Err(error.into()),
                Err(BodyError::Damaged(why)) => return Err(info.damaged(index, why)),
            },
        };
        Ok(Block { index, info, body })
    }

    /// The block that holds an event, if the reel has such a number.
    pub fn find(&self, number: EventNumber) -> Option<usize> {
        let after = self.blocks.partition_point(|block| block.first <= number);
        after.checked_sub(1)
    }

    /// One event. Events of one block that are asked for one after the other cost one reading of
    /// the block.
    pub fn record(&self, number: EventNumber) -> Option<OwnedRecord> {
        let index = self.find(number)?;
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(latest) = latest.as_mut().filter(|it| it.block.index == index) {
            let block = &latest.block;
            let records = latest.records.get_or_insert_with(|| {
                block
                    .records()
                    .map(|it| OwnedRecord::copy_of(&it))
                    .collect()
            });
            let at = records.binary_search_by_key(&number, OwnedRecord::number);
            return at.ok().and_then(|at| records.get(at)).cloned();
        }
        let block = self.block(index).ok()?;
        let found = block
            .records()
            .find(|record| record.number >= number)
            .filter(|record| record.number == number)
            .map(|record| OwnedRecord::copy_of(&record));
        *latest = Some(Latest {
            block,
            records: None,
        });
        found
    }

    /// Shows every event in order, stepping over damaged blocks, and says what was missing.
    pub fn for_each(&self, mut show: impl FnMut(&Record<'_>)) -> Walk {
        let mut walk = Walk::default();
        self.for_each_in(0..self.blocks.len(), &mut walk, &mut show);
        walk
    }

    /// The same of some blocks.
    pub fn for_each_in(
        &self,
        blocks: Range<usize>,
        walk: &mut Walk,
        show: &mut dyn FnMut(&Record<'_>),
    ) {
        let blocks = blocks.map(|index| (index, self.block(index)));
        self.for_each_of(blocks, walk, show);
    }

    /// The same of blocks that somebody [has read](Reel::block), each with its place, one behind the
    /// other.
    pub fn for_each_of(
        &self,
        blocks: impl Iterator<Item = (usize, Result<Block, BlockError>)>,
        walk: &mut Walk,
        show: &mut dyn FnMut(&Record<'_>),
    ) {
        for (index, block) in blocks {
            let (problem, reached) = match block {
                Ok(block) => {
                    let mut records = block.records();
                    records.show_each(&mut |record| {
                        walk.events += 1;
                        show(record);
                    });
                    let problem = records.problem();
                    let problem = problem.map(|problem| block.info.damaged(index, problem.why));
                    (problem, records.next_number())
                }
                Err(error) => {
                    let first = self.blocks.get(index).map_or(EventNumber(0), |b| b.first);
                    (Some(error), first)
                }
            };
            if let Some(error) = problem {
                let own_end = |own: &BlockInfo| own.first.0.saturating_add(own.events);
                let end = match self.blocks.get(index + 1) {
                    Some(next) => next.first.0,
                    None => self.blocks.get(index).map_or(0, own_end),
                };
                if end > reached.0 {
                    walk.gaps.push(Gap {
                        first: reached,
                        count: end - reached.0,
                        why: GapWhy::Damaged,
                    });
                }
                walk.damaged.push(error);
            }
        }
    }
}

/// Of shorter blocks than this several frames are read at once, this many bytes.
const SHORT_BLOCK: u64 = 4 << 10;
const WINDOW: usize = 16 << 10;

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
