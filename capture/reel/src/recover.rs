//! What a ring file and a torn block still hold, read from their bytes alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_shared::ring::{
    RING_CAPACITY, RING_MAGIC, RING_PAGE, RING_VERSION, RingRecord, read_record,
};

use crate::decode::Records;
use crate::encode::BlockEncoder;
use crate::ending::{GapWhy, Recovery, RingError};
use crate::frame::{BLOCK_TARGET, FRAME_HEAD};
use crate::index::BlockInfo;
use crate::plain::plain_read;
use crate::scan::Scan;
use crate::stored::Body;
use crate::{Event, EventNumber, Record, ThreadId, Time};

/// The bytes of a ring file, and what they say.
#[derive(Debug)]
pub(crate) struct RingImage<'a> {
    pub identity: u64,
    /// The number that the next event would have taken.
    pub next: u64,
    /// Why recording stopped, and at which number.
    pub stop: Option<(i32, u64)>,
    /// Events that were dropped and that no event tells of.
    pub dropped: u64,
    /// The events by number, with their threads.
    pub records: BTreeMap<u64, (ThreadId, RingRecord<'a>)>,
}

/// An event that was pushed; `None` where it cannot be read.
pub(crate) fn pushed_event<'a>(thread: ThreadId, pushed: &RingRecord<'a>) -> Option<Record<'a>> {
    Some(Record {
        number: EventNumber(pushed.number),
        time: Time(pushed.time),
        thread,
        event: plain_read(pushed.kind, pushed.body).ok()?,
    })
}

impl<'a> RingImage<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<RingImage<'a>, RingError> {
        let control = bytes.get(..RING_PAGE).ok_or(RingError::NotRings)?;
        if control.get(..8) != Some(&RING_MAGIC) {
            return Err(RingError::NotRings);
        }
        let number = |at| u32_at(control, at).ok_or(RingError::Damaged);
        let version = number(8)?;
        if version > RING_VERSION {
            return Err(RingError::FutureVersion(version));
        }
        let capacity = number(12)? as usize;
        if !RING_CAPACITY.contains(&capacity) || !capacity.is_multiple_of(RING_PAGE) {
            return Err(RingError::Damaged);
        }
        let field = |at| u64_at(control, at).ok_or(RingError::Damaged);
        let code = number(192)? as i32;
        let mut image = RingImage {
            identity: field(16)?,
            next: field(64)?,
            stop: (code != 0).then_some((code, field(200)?)),
            dropped: field(384)?,
            records: BTreeMap::new(),
        };
        let rings = bytes.get(RING_PAGE..).unwrap_or(&[]);
        for ring in rings.chunks_exact(RING_PAGE + capacity) {
            image.ring(ring);
        }
        Ok(image)
    }

    /// One ring; one that makes no sense gives what it gives up to there.
    fn ring(&mut self, ring: &'a [u8]) -> Option<()> {
        let (head, data) = ring.split_at_checked(RING_PAGE)?;
        let thread = ThreadId(u32_at(head, 0)?.checked_sub(1)? as u16);
        let (tail, mut at) = (u64_at(head, 64)?, u64_at(head, 128)?);
        self.dropped = self.dropped.saturating_add(u64_at(head, 192)?);
        while let Some((record, after)) = read_record(data, at, tail) {
            if record.number >= self.next {
                // Pushed while the file was being read: the counter was read first. What belongs
                // before it in another ring may have been missed.
                break;
            }
            self.records.insert(record.number, (thread, record));
            at = after;
        }
        Some(())
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// No recording gets this far; what claims a higher number is damaged.
const NUMBER_MAX: u64 = u64::MAX >> 1;

/// What is in no whole block, by number; `true` for an event that no checksum covers.
type Loose<'a> = BTreeMap<EventNumber, (Record<'a>, bool)>;

/// Makes blocks of what a torn block and the rings hold, in the order of the numbers. Where both
/// have an event, the ring's copy is the better one: no write was torn there.
pub(crate) fn recover(
    scan: &mut Scan,
    image: Option<&RingImage<'_>>,
    recovery: &mut Recovery,
    at_byte: &mut u64,
) -> Vec<Arc<Body>> {
    let torn = scan.torn.take().unwrap_or_default();
    let mut loose = Loose::new();
    if !torn.is_empty() {
        take_torn(scan, &torn, &mut loose, at_byte);
    }
    let end = image.map_or(0, |image| take_pushed(scan, image, &mut loose));
    let mut blocks = Vec::new();
    let mut open = BlockEncoder::new();
    let mut next = scan.next;
    for (number, (record, unchecked)) in &loose {
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
    scan.next = next.max(end);
    blocks
}

/// Takes what is whole of a torn block.
fn take_torn<'a>(scan: &mut Scan, torn: &'a [u8], loose: &mut Loose<'a>, at_byte: &mut u64) {
    let mut records = Records::new(torn);
    if records.next_number().0 < scan.next {
        return;
    }
    for record in records
        .by_ref()
        .filter(|record| record.number.0 < NUMBER_MAX)
    {
        loose.insert(record.number, (record, true));
    }
    scan.totals.add_unknown(records.unknown());
    if !loose.is_empty() {
        *at_byte += (FRAME_HEAD + records.good_to()) as u64;
    }
}

/// Takes what was pushed into the rings, and what they say of their end. Gives the number after the
/// last event.
fn take_pushed<'a>(scan: &mut Scan, image: &RingImage<'a>, loose: &mut Loose<'a>) -> u64 {
    let new = scan.next.min(NUMBER_MAX)..NUMBER_MAX;
    for (thread, pushed) in image.records.range(new).map(|(_, it)| it) {
        match pushed_event(*thread, pushed) {
            Some(record) => drop(loose.insert(record.number, (record, false))),
            None => scan.totals.add_unknown(&[(pushed.kind, 1)].into()),
        }
    }
    let last_time = loose.values().next_back().map(|(record, _)| record.time);
    let known = last_time.or(scan.totals.span().map(|(_, high)| high));
    let time = known.unwrap_or_default();
    let count = image.dropped;
    let dropped = (count > 0).then_some(Event::Dropped { count });
    let failed = image.stop.map(|(code, _)| Event::WriteFailed { code });
    let mut end = image.next.min(NUMBER_MAX);
    for event in [dropped, failed].into_iter().flatten() {
        let record = Record {
            number: EventNumber(end),
            time,
            thread: ThreadId(0),
            event,
        };
        loose.insert(record.number, (record, false));
        end += 1;
    }
    end
}

impl Scan {
    fn recovered_block(&mut self, open: &mut BlockEncoder, blocks: &mut Vec<Arc<Body>>) {
        let Some(start) = open.start() else { return };
        self.blocks.push(BlockInfo {
            offset: self.end,
            length: (FRAME_HEAD + open.body().len()) as u64,
            first: EventNumber(start.number),
            events: open.events(),
            time: Time(start.time),
        });
        blocks.push(Arc::new(open.body().to_vec().into()));
        open.clear();
    }
}
