//! What a ring file and a torn block still hold, read from their bytes alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_shared::ring::{RING_CAPACITY, RING_MAGIC, RING_PAGE, RING_VERSION, read_record};

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
            if record.number >= self.next {
                // Pushed while the file was being read: the counter was read first. What belongs
                // before it in another ring may have been missed.
                break;
            }
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
    for (number, pushed) in image.records.range(scan.next.min(NUMBER_MAX)..NUMBER_MAX) {
        let number = EventNumber(*number);
        let Ok(event) = plain_read(pushed.kind, pushed.body) else {
            scan.totals.add_unknown(&[(pushed.kind, 1)].into());
            continue;
        };
        let record = Record {
            number,
            time: Time(pushed.time),
            thread: ThreadId(pushed.thread),
            event,
        };
        loose.insert(number, (record, false));
    }
    let last_time = loose.values().next_back().map(|(record, _)| record.time);
    let time = last_time
        .or(scan.totals.span().map(|(_, high)| high))
        .unwrap_or(Time::ZERO);
    let dropped = Event::Dropped {
        count: image.dropped,
    };
    let dropped = (image.dropped > 0).then_some(dropped);
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
