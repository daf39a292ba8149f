//! Finding the blocks of a reel that has no index: one pass over the file, stepping over what is
//! damaged.

use std::ops::Range;

use crate::EventNumber;
use crate::decode::Records;
use crate::ending::{CutWhy, Damage, Gap, GapWhy};
use crate::frame::{BLOCK_MAGIC, BLOCK_MAX, FRAME_HEAD, INDEX_MAGIC, ZSTD_MAGIC};
use crate::index::{BlockInfo, Totals};
use crate::read_at::{ReadAt, ReadError, read_vec};
use crate::start::Start;
use crate::stored::{Found, frame_at};

/// What a pass over the blocks found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scan {
    pub blocks: Vec<BlockInfo>,
    pub totals: Totals,
    pub gaps: Vec<Gap>,
    pub damage: Vec<Damage>,
    /// The number after the last event of a good block.
    pub next: u64,
    /// The body of a last block that was not written to its end.
    pub torn: Option<Vec<u8>>,
    /// Where the last whole block ends.
    pub end: u64,
}

/// How many bytes are looked at in one go for the start of the next block: few at first, because
/// it mostly stands close behind the damage and a reel may be damaged at many places.
const WINDOW_MIN: usize = 4 << 10;
const WINDOW_MAX: usize = 1 << 20;

/// How far a file that has no index yet was read, so that the next opening reads on from there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    identity: u64,
    part: u32,
    scan: Scan,
}

impl Known {
    /// What is known of the file that starts so; nothing where it is another file, or is shorter.
    fn of(&mut self, start: &Start, length: u64) -> Option<Scan> {
        let part = start.part.as_ref().map_or(0, |part| part.number);
        let same = start.identity != 0 && (self.identity, self.part) == (start.identity, part);
        (self.identity, self.part) = (start.identity, part);
        let known = std::mem::take(&mut self.scan);
        (same && known.end >= start.end && known.end <= length).then_some(known)
    }

    /// Keeps what whole blocks tell. What stands behind damage is looked for again.
    fn keep(&mut self, scan: &Scan) {
        if scan.damage.is_empty() {
            self.scan = Scan {
                torn: None,
                ..scan.clone()
            };
        }
    }
}

/// Finds the blocks from the end of the start of a file on, up to the byte `length`. Whole blocks
/// that `known` has are not read again. Beside what is found: what is missing at the end.
pub(crate) fn scan(
    source: &dyn ReadAt,
    start: &Start,
    length: u64,
    known: &mut Known,
) -> Result<(Scan, CutWhy), ReadError> {
    let first = start.part.as_ref().map_or(0, |part| part.first.0);
    let fresh = || Scan {
        end: start.end,
        next: first,
        ..Scan::default()
    };
    let mut scan = known.of(start, length).unwrap_or_else(fresh);
    let why = scan.go_on(source, length)?;
    known.keep(&scan);
    Ok((scan, why))
}

impl Scan {
    /// Reads on to the end; what is missing there.
    fn go_on(&mut self, source: &dyn ReadAt, length: u64) -> Result<CutWhy, ReadError> {
        let mut at = self.end;
        // Bytes that may still be checked in vain: a file of nothing but block starts, each claiming
        // to be long, must not cost the square of its length.
        let mut budget = length.saturating_mul(4).saturating_add(WINDOW_MAX as u64);
        let mut is_behind_damage = false;
        while at < length {
            match frame_at(source, at, length)? {
                Found::Block(body, end) => {
                    self.block(at..end, &body, is_behind_damage);
                    is_behind_damage = false;
                    at = end;
                    self.end = end;
                }
                Found::Index(..) => break,
                found => {
                    let resumed = next_block(source, at + 1, length, &mut budget)?;
                    let region = at..resumed.unwrap_or(length);
                    if resumed.is_none() {
                        return self.tail(source, &found, region);
                    }
                    let why = "the checksum does not fit the block, or its start is not one";
                    at = region.end;
                    self.damage.push(Damage { bytes: region, why });
                    is_behind_damage = true;
                }
            }
        }
        Ok(CutWhy::NoFooter)
    }

    fn block(&mut self, bytes: Range<u64>, body: &[u8], is_behind_damage: bool) {
        let mut records = Records::new(body);
        let first = records.next_number();
        let time = records.time();
        if first.0 > self.next {
            let why = if is_behind_damage {
                GapWhy::Damaged
            } else {
                GapWhy::NeverPublished
            };
            self.gap(EventNumber(self.next), first.0 - self.next, why);
        }
        let mut events = 0;
        for record in records.by_ref() {
            self.totals.add(&record);
            events += 1;
        }
        self.totals.add_unknown(records.unknown());
        for (first, count) in records.holes() {
            self.gap(*first, *count, GapWhy::NeverPublished);
        }
        if let Some(problem) = records.problem() {
            self.damage.push(Damage {
                bytes: bytes.clone(),
                why: problem.why,
            });
        }
        self.next = self.next.max(records.next_number().0);
        self.blocks.push(BlockInfo {
            offset: bytes.start,
            length: bytes.end - bytes.start,
            first,
            events,
            time,
        });
    }

    pub fn gap(&mut self, first: EventNumber, count: u64, why: GapWhy) {
        self.totals.add_hole(first, count);
        self.gaps.push(Gap { first, count, why });
    }

    /// The bytes behind the last good block.
    fn tail(
        &mut self,
        source: &dyn ReadAt,
        found: &Found,
        region: Range<u64>,
    ) -> Result<CutWhy, ReadError> {
        if let Found::Beyond(ZSTD_MAGIC) = found {
            return Ok(CutWhy::TornCompressed);
        }
        if let Found::Beyond(BLOCK_MAGIC) = found {
            let body_at = region.start + FRAME_HEAD as u64;
            let length = usize::try_from(region.end.saturating_sub(body_at)).unwrap_or(0);
            self.torn = Some(read_vec(source, body_at, length.min(BLOCK_MAX))?);
            return Ok(CutWhy::TornBlock);
        }
        if region.end - region.start < FRAME_HEAD as u64 {
            return Ok(CutWhy::TornBlock);
        }
        let mut head = [0; 4];
        source.read_at(region.start, &mut head)?;
        if head == INDEX_MAGIC {
            return Ok(CutWhy::BrokenIndex);
        }
        let why = "no block starts here, and none behind it";
        self.damage.push(Damage { bytes: region, why });
        Ok(CutWhy::DamagedEnd)
    }
}

/// The place of the next frame whose checksum fits.
fn next_block(
    source: &dyn ReadAt,
    from: u64,
    length: u64,
    budget: &mut u64,
) -> Result<Option<u64>, ReadError> {
    let mut at = from;
    let mut window_max = WINDOW_MIN;
    while at < length {
        let left = usize::try_from(length - at).unwrap_or(usize::MAX);
        let window = left.min(window_max);
        window_max = WINDOW_MAX.min(window_max * 2);
        let bytes = read_vec(source, at, window)?;
        for (place, four) in bytes.windows(4).enumerate() {
            if four != BLOCK_MAGIC && four != ZSTD_MAGIC && four != INDEX_MAGIC {
                continue;
            }
            let candidate = at + place as u64;
            let claimed = bytes
                .get(place + 4..place + 8)
                .and_then(|l| l.try_into().ok());
            let cost = claimed.map_or(FRAME_HEAD as u64, |l| u64::from(u32::from_le_bytes(l)));
            let left = length - candidate;
            if cost <= left {
                if *budget < cost {
                    return Ok(None);
                }
                *budget -= cost;
            }
            if matches!(
                frame_at(source, candidate, length)?,
                Found::Block(..) | Found::Index(..)
            ) {
                return Ok(Some(candidate));
            }
        }
        if bytes.len() < 4 || (bytes.len() < window) {
            return Ok(None);
        }
        // The last three bytes may be the start of what is looked for.
        at += (bytes.len() - 3) as u64;
        if length - at < 4 {
            return Ok(None);
        }
    }
    Ok(None)
}
