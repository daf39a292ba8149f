//! How a reel ends, what is missing from it, and what was found elsewhere.

use std::ops::Range;

use netreel_shared::ring::RING_VERSION;

use crate::EventNumber;

/// A recording that a limit ended, or that ended before its program, has a
/// [`Note`](crate::Event::Note) as its last event, which begins so and goes on with the reason: `it has
/// reached its size of 65536 bytes`.
pub const LIMIT_NOTE: &str = "the recording ends here: ";

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

impl Ending {
    /// Whether the recording was ended in order: only then is there an index, be it whole or damaged.
    pub fn is_closed(&self) -> bool {
        *self == Ending::Clean || self.is_cut(CutWhy::BrokenIndex)
    }

    /// Whether the recording goes on in a part that is not there.
    pub fn goes_on(&self) -> bool {
        self.is_cut(CutWhy::NextPartMissing)
    }

    /// Whether more is to come: a recorder had the reel in hand when it was opened.
    pub fn is_still_recorded(&self) -> bool {
        self.is_cut(CutWhy::StillRecorded)
    }

    fn is_cut(&self, by: CutWhy) -> bool {
        matches!(self, Ending::Cut { why, .. } if *why == by)
    }
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
    /// The last block is compressed, and was not written to its end: unlike others, it gives
    /// nothing of what is there.
    #[error(
        "the last block is compressed and not whole, and cannot be read without its end: \
         the recorder was killed, or the file was cut"
    )]
    TornCompressed,
    /// All blocks are whole; the index behind them is not.
    #[error("the index is damaged; it was made again from the blocks")]
    BrokenIndex,
    /// What follows the last good block is not a block.
    #[error("the end is damaged: no block was found behind this byte")]
    DamagedEnd,
    /// The recording goes on in a part that is not there.
    #[error("the recording goes on in another part, which is missing")]
    NextPartMissing,
    /// A recorder has the reel in hand: this is as far as it has come.
    #[error("it is still being recorded: this is as far as it has come")]
    StillRecorded,
    /// Recording stopped because a write failed, with this operating-system error code.
    #[error("recording stopped: {}", crate::os_code_words(*.0))]
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
    /// They are in a part of the recording that is not there.
    PartMissing,
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

/// Why bytes are not a ring file that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// The reel was made beside a ring file, and none was given.
    #[error("it is not beside the reel: up to the last 500 ms before the cut are lost with it")]
    Missing,
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
