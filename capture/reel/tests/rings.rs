//! A reel that was cut, together with what its ring file holds.

use std::sync::Arc;

use netreel_reel::ring::{
    RING_MAGIC, RING_PAGE, RING_VERSION, RingControl, RingFixed, RingHead, RingMemory, RingReader,
    RingWriter,
};
use netreel_reel::{
    CutWhy, Ending, Event, EventNumber, GapWhy, Header, Record, Recovery, Reel, ReelWriter,
    RingError, ThreadId, Time, plain_parts,
};
use proptest::prelude::*;
use std::sync::atomic::Ordering;

const IDENTITY: u64 = 77;
const CAPACITY: usize = 8 * RING_PAGE;

/// A ring file in memory, aligned to pages, that writers and readers can work on.
struct Live {
    pages: Vec<Page>,
    rings: usize,
}

#[derive(Clone)]
#[repr(C, align(4096))]
struct Page([u8; RING_PAGE]);

impl Live {
    fn new(rings: usize) -> Live {
        let pages = 1 + rings * (1 + CAPACITY / RING_PAGE);
        let mut pages = vec![Page([0; RING_PAGE]); pages];
        let fixed = RingFixed {
            magic: RING_MAGIC,
            version: RING_VERSION,
            capacity: CAPACITY as u32,
            identity: IDENTITY,
        };
        let control = RingControl {
            fixed: netreel_reel::ring::Line(fixed),
            ..Default::default()
        };
        // SAFETY: a page is larger than the control block and aligned enough.
        unsafe { pages.as_mut_ptr().cast::<RingControl>().write(control) };
        Live { pages, rings }
    }

    fn memory(&mut self, ring: usize) -> RingMemory {
        assert!(ring < self.rings);
        let base = self.pages.as_mut_ptr().cast::<u8>();
        let offset = RING_PAGE + ring * (RING_PAGE + CAPACITY);
        // SAFETY: the pages hold the control page and this many rings.
        unsafe {
            RingMemory {
                control: base.cast::<RingControl>(),
                head: base.add(offset).cast::<RingHead>(),
                data: base.add(offset + RING_PAGE),
                capacity: CAPACITY,
            }
        }
    }

    fn writer(&mut self, ring: usize, thread: u32) -> RingWriter {
        // SAFETY: the pages outlive the writer in every test below.
        let writer = unsafe { RingWriter::new(self.memory(ring)) };
        writer.head().thread.0.store(thread + 1, Ordering::Relaxed);
        writer
    }

    fn bytes(&self) -> Vec<u8> {
        self.pages.iter().flat_map(|page| page.0).collect()
    }
}

fn push(writer: &mut RingWriter, time: u64, event: Event<'_>) -> Option<u64> {
    let (head, tail) = plain_parts(&event);
    writer.push(time, event.kind() as u8, head.bytes(), tail)
}

/// A reel that was not ended, with events of these values, a block for each seal.
fn cut_reel_of(values: impl Iterator<Item = u64>, seal_each: bool) -> Vec<u8> {
    let header = Header::default();
    let mut writer = ReelWriter::create_with_identity(Vec::new(), &header, IDENTITY).unwrap();
    for (number, value) in values.enumerate() {
        let (number, time) = (EventNumber(number as u64), Time(number as u64));
        let event = Event::Random { value };
        writer
            .push(&Record {
                number,
                time,
                thread: ThreadId(0),
                event,
            })
            .unwrap();
        if seal_each {
            writer.seal().unwrap();
        }
    }
    let mut bytes = writer.finish().unwrap();
    let index_at = bytes
        .windows(4)
        .position(|four| four == b"\xf7Idx")
        .unwrap();
    bytes.truncate(index_at);
    bytes
}

/// The same with events 0 to `events`, each in a block of its own.
fn cut_reel(events: u64) -> Vec<u8> {
    cut_reel_of(0..events, true)
}

fn open(reel: &[u8], rings: &[u8]) -> Reel {
    Reel::open_parts(vec![Arc::new(reel.to_vec())], Some(rings)).unwrap()
}

fn values(reel: &Reel) -> Vec<(u64, u64, u16)> {
    let mut values = Vec::new();
    reel.for_each(|record| {
        if let Event::Random { value } = record.event {
            values.push((record.number.0, value, record.thread.0));
        }
    });
    values
}

#[test]
fn what_only_the_rings_hold_follows_in_the_order_of_its_numbers() {
    let mut live = Live::new(2);
    let mut a = live.writer(0, 0);
    let mut b = live.writer(1, 1);
    for value in 0..3 {
        push(&mut a, value, Event::Random { value });
    }
    for value in [3, 5] {
        push(&mut b, value, Event::Random { value });
        push(&mut a, value + 1, Event::Random { value: value + 1 });
    }
    // The first two are in the reel as well: the drainer was killed before it gave them back.
    let reel = open(&cut_reel(2), &live.bytes());
    let expected = [
        (0, 0, 0),
        (1, 1, 0),
        (2, 2, 0),
        (3, 3, 1),
        (4, 4, 0),
        (5, 5, 1),
        (6, 6, 0),
    ];
    assert_eq!(values(&reel), expected);
    assert_eq!(reel.gaps(), []);
    assert_eq!(
        reel.recovery(),
        &Recovery {
            from_rings: 5,
            unchecked: 0,
            rings: None
        }
    );
    assert!(matches!(
        reel.ending(),
        Ending::Cut {
            why: CutWhy::NoFooter,
            ..
        }
    ));
}

#[test]
fn a_number_that_was_taken_and_not_published_is_named() {
    let mut live = Live::new(1);
    let mut a = live.writer(0, 0);
    push(&mut a, 0, Event::Random { value: 0 });
    a.control().next.0.fetch_add(1, Ordering::Relaxed);
    push(&mut a, 2, Event::Random { value: 2 });
    a.control().next.0.fetch_add(1, Ordering::Relaxed);
    let reel = open(&cut_reel(0), &live.bytes());
    assert_eq!(values(&reel), [(0, 0, 0), (2, 2, 0)]);
    let gaps: Vec<_> = reel
        .gaps()
        .iter()
        .map(|gap| (gap.first.0, gap.count, gap.why))
        .collect();
    assert_eq!(
        gaps,
        [
            (1, 1, GapWhy::NeverPublished),
            (3, 1, GapWhy::NeverPublished)
        ]
    );
}

#[test]
fn of_a_torn_block_the_whole_events_are_read_and_the_rings_copies_win() {
    let whole = cut_reel_of(100..104, false);
    let torn = &whole[..whole.len() - 1];
    let alone = Reel::open(Arc::new(torn.to_vec())).unwrap();
    assert_eq!(values(&alone), [(0, 100, 0), (1, 101, 0), (2, 102, 0)]);
    assert_eq!(alone.recovery().unchecked, 3);

    let mut live = Live::new(1);
    let mut a = live.writer(0, 5);
    a.control().next.0.store(2, Ordering::Relaxed);
    push(&mut a, 2, Event::Random { value: 2 });
    push(&mut a, 3, Event::Random { value: 3 });
    let reel = open(torn, &live.bytes());
    assert_eq!(
        values(&reel),
        [(0, 100, 0), (1, 101, 0), (2, 2, 5), (3, 3, 5)]
    );
    assert_eq!(
        reel.recovery(),
        &Recovery {
            from_rings: 2,
            unchecked: 2,
            rings: None
        }
    );
}

#[test]
fn drops_that_no_event_tells_of_and_a_failed_write_are_told_at_the_end() {
    let mut live = Live::new(1);
    let mut a = live.writer(0, 0);
    push(&mut a, 9, Event::Random { value: 0 });
    a.head().dropped.0.store(4, Ordering::Relaxed);
    a.control().stop.0.code.store(28, Ordering::Relaxed);
    let reel = open(&cut_reel(0), &live.bytes());
    let mut events = Vec::new();
    reel.for_each(|r| events.push(format!("{} {:?} {:?}", r.number, r.time, r.event)));
    assert_eq!(
        events,
        [
            "0 Time(9) Random { value: 0 }",
            "1 Time(9) Dropped { count: 4 }",
            "2 Time(9) WriteFailed { code: 28 }",
        ]
    );
    assert!(matches!(
        reel.ending(),
        Ending::Cut {
            why: CutWhy::WriteFailed(28),
            ..
        }
    ));
}

#[test]
fn a_ring_wraps_and_gives_back_every_event_once() {
    let mut live = Live::new(1);
    let memory = live.memory(0);
    let mut writer = live.writer(0, 0);
    // SAFETY: the pages outlive the reader.
    let mut reader = unsafe { RingReader::new(memory) };
    let call = [0x11; 5000];
    let mut taken = 0;
    for round in 0..200u64 {
        let length = (round as usize * 977) % call.len();
        while push(
            &mut writer,
            round,
            Event::Input {
                call: &call[..length],
            },
        )
        .is_none()
        {
            let record = reader.next().expect("a full ring is not empty");
            assert_eq!((record.number, record.time), (taken, taken));
            assert_eq!(record.body.len(), (taken as usize * 977) % call.len());
            taken += 1;
            let at = reader.at();
            reader.give_back(at);
        }
    }
    while let Some(record) = reader.next() {
        assert_eq!(record.number, taken);
        taken += 1;
    }
    assert_eq!(taken, 200);
    assert_eq!(
        push(
            &mut writer,
            0,
            Event::Input {
                call: &[0; CAPACITY / 2]
            }
        ),
        None
    );
}

/// How many events find room; the last bytes of the ring after them.
fn fill(writer: &mut RingWriter) -> (usize, u64) {
    let text = [7; 100];
    let pushed = std::iter::from_fn(|| push(writer, 1, Event::Note { text: &text })).count();
    (pushed, writer.head().tail.0.load(Ordering::Relaxed))
}

#[test]
fn a_push_goes_no_further_than_the_ring_has_storage() {
    let mut live = Live::new(1);
    let begins = CAPACITY as u64 / 4;
    live.writer(0, 0)
        .head()
        .backed
        .0
        .store(begins, Ordering::Relaxed);
    let mut writer = live.writer(0, 0);
    let (first, tail) = fill(&mut writer);
    assert!(first > 0 && tail <= begins, "{tail}");
    let wanted = writer.head().wanted.0.load(Ordering::Relaxed);
    assert!(wanted > begins, "it asks for more: {wanted}");
    let (place, length) = writer.without_storage().expect("a part without storage");
    assert_eq!(
        // SAFETY: both point into the memory of the one ring.
        unsafe { place.offset_from(live.memory(0).data) },
        begins as isize
    );
    assert_eq!(length, CAPACITY - begins as usize);
    writer.has_storage();
    let (then, tail) = fill(&mut writer);
    assert!(then > first && tail > begins && tail <= CAPACITY as u64);
    assert_eq!(writer.without_storage(), None);
}

fn check_rings_refused(rings: &[u8], error: RingError) {
    let reel = open(&cut_reel(2), rings);
    assert_eq!(reel.len(), 2, "the reel itself is read");
    assert_eq!(reel.recovery().rings, Some(error));
}

#[test]
fn a_ring_file_that_does_not_fit_is_named_and_the_reel_is_read_without_it() {
    let good = Live::new(1).bytes();
    check_rings_refused(b"", RingError::NotRings);
    check_rings_refused(&[0; 5000], RingError::NotRings);
    let mut future = good.clone();
    future[8] = 1;
    check_rings_refused(&future, RingError::FutureVersion(1));
    let mut other = good.clone();
    other[16] ^= 1;
    check_rings_refused(&other, RingError::OtherReel);
    let mut odd = good.clone();
    odd[12] = 1;
    check_rings_refused(&odd, RingError::Damaged);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_damage_to_a_ring_file_is_read_without_a_panic(
        damage in prop::collection::vec((0usize..3 * RING_PAGE, any::<u8>()), 1..12),
    ) {
        let mut live = Live::new(1);
        let mut a = live.writer(0, 0);
        for value in 0..20 {
            push(&mut a, value, Event::Random { value });
        }
        let mut bytes = live.bytes();
        for (at, value) in damage {
            bytes[at] = value;
        }
        let reel = open(&cut_reel(2), &bytes);
        prop_assert!(reel.len() >= 2);
        prop_assert!(reel.len() < 30);
        let walk = reel.for_each(|_| {});
        prop_assert_eq!(walk.events, reel.len());
    }

    #[test]
    fn any_numbers_in_a_ring_head_are_read_without_a_panic(
        thread in any::<u32>(), tail in any::<u64>(), head in any::<u64>(), next in any::<u64>(),
        code in any::<u32>(), dropped in any::<u64>(),
    ) {
        let mut bytes = Live::new(1).bytes();
        bytes[64..72].copy_from_slice(&next.to_le_bytes());
        bytes[192..196].copy_from_slice(&code.to_le_bytes());
        let ring = &mut bytes[RING_PAGE..];
        ring[..4].copy_from_slice(&thread.to_le_bytes());
        ring[64..72].copy_from_slice(&tail.to_le_bytes());
        ring[128..136].copy_from_slice(&head.to_le_bytes());
        ring[192..200].copy_from_slice(&dropped.to_le_bytes());
        let reel = open(&cut_reel(2), &bytes);
        let walk = reel.for_each(|_| {});
        prop_assert_eq!(walk.events, reel.len());
    }
}
