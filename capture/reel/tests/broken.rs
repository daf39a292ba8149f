//! Bad input is normal input: a reel that is cut, flipped, foreign or from the future.

mod sample;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use netreel_reel::{
    Append, AppendError, CutWhy, Ending, Event, EventNumber, GapWhy, OpenError, OwnedRecord,
    ReadAt, ReadError, Record, Reel, ReelWriter, SocketId, ThreadId, Time, WriteError, block_frame,
};
use sample::{header, open, read, sample, v4, write};

#[test]
fn every_kind_comes_back_as_it_was_written_however_the_blocks_fall() {
    let events = sample(b"payload");
    for seal_every in 1..=events.len() + 1 {
        let reel = open(&write(&events, seal_every)).unwrap();
        assert_eq!(reel.header(), &header());
        assert_eq!(reel.ending(), &Ending::Clean);
        let records = read(&reel);
        assert_eq!(
            records.len(),
            events.len(),
            "a seal every {seal_every} events"
        );
        for (index, (record, (time, thread, event))) in records.iter().zip(&events).enumerate() {
            let expected = Record {
                number: EventNumber(index as u64),
                time: Time(*time),
                thread: ThreadId(*thread),
                event: *event,
            };
            assert_eq!(
                record.as_record(),
                expected,
                "a seal every {seal_every} events"
            );
            assert_eq!(reel.record(expected.number).as_ref(), Some(record));
        }
        assert_eq!(reel.record(EventNumber(events.len() as u64)), None);
        assert_eq!(
            reel.endpoints(),
            [
                (SocketId(0), v4(7000)),
                (SocketId(1), "[::1]:7005".parse().unwrap())
            ]
        );
        assert_eq!(reel.span(), Some((Time(100), Time(16_869_900))));
        assert_eq!(reel.totals().dropped(), 3);
    }
}

#[test]
fn without_its_index_a_reel_says_the_same() {
    let events = sample(b"payload");
    let bytes = write(&events, 4);
    let with = open(&bytes).unwrap();
    let without = open(&bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(
        without.ending().clone(),
        Ending::Cut {
            at_byte: without
                .block_infos()
                .last()
                .map(|b| b.offset + b.length)
                .unwrap(),
            why: CutWhy::NoFooter,
        }
    );
    assert_eq!(with.block_infos(), without.block_infos());
    assert_eq!(with.totals(), without.totals());
    assert_eq!(read(&with), read(&without));
}

#[test]
fn the_beginning_of_a_reel_is_what_a_cut_one_would_be() {
    let bytes = write(&sample(b"payload"), 3);
    let whole = open(&bytes).unwrap();
    assert_eq!(whole.length(), Ok(bytes.len() as u64));
    for length in 0..=bytes.len() {
        let beginning = whole.beginning(length as u64);
        match (beginning, open(&bytes[..length])) {
            (Ok(beginning), Ok(cut)) => {
                assert_eq!(read(&beginning), read(&cut), "{length} bytes");
                assert_eq!(beginning.ending(), cut.ending(), "{length} bytes");
            }
            (beginning, cut) => {
                let [beginning, cut] = [beginning, cut].map(|it| it.err().map(|it| it.to_string()));
                assert!(cut.is_some(), "{length} bytes");
                assert_eq!(beginning, cut, "{length} bytes");
            }
        }
    }
}

#[test]
fn cut_at_any_byte_a_reel_opens_with_a_prefix_of_its_events() {
    let events = sample(b"payload");
    for seal_every in [3, 100] {
        let bytes = write(&events, seal_every);
        let all = read(&open(&bytes).unwrap());
        let header_end = open(&bytes).unwrap().block_infos()[0].offset as usize;
        let mut longest = 0;
        for length in 0..bytes.len() {
            let opened = open(&bytes[..length]);
            if length < header_end {
                let error = opened.unwrap_err();
                let fits = match error {
                    OpenError::Empty => length == 0,
                    // Less than the first eight bytes cannot be told from a cut one.
                    OpenError::HeaderCut { .. } => length > 0,
                    _ => false,
                };
                assert!(fits, "cut at {length}: {error}");
                continue;
            }
            let reel = opened.unwrap();
            let Ending::Cut { at_byte, .. } = reel.ending() else {
                panic!("cut at {length}: {:?}", reel.ending());
            };
            assert!(*at_byte <= length as u64);
            let prefix = read(&reel);
            assert_eq!(prefix, all[..prefix.len()], "cut at {length}");
            assert!(
                prefix.len() >= longest,
                "cut at {length}: fewer events than before"
            );
            assert_eq!(reel.len() as usize, prefix.len());
            longest = prefix.len();
        }
        assert_eq!(longest, all.len(), "the last cut takes the end mark alone");
    }
}

#[test]
fn a_flipped_bit_costs_one_block_and_is_named() {
    let events = sample(b"payload");
    let bytes = write(&events, 4);
    let whole = open(&bytes).unwrap();
    let all = read(&whole);
    let blocks = whole.block_infos().to_vec();
    for (index, block) in blocks.iter().enumerate() {
        for at in block.offset..block.offset + block.length {
            for bit in 0..8 {
                let mut broken = bytes.clone();
                broken[at as usize] ^= 1 << bit;
                let reel = open(&broken).unwrap();
                assert_eq!(reel.ending(), &Ending::Clean);
                let mut left = Vec::new();
                let walk = reel.for_each(|record| left.push(OwnedRecord::copy_of(record)));
                assert_eq!(walk.damaged.len(), 1, "byte {at} bit {bit}");
                assert!(reel.block(index).is_err());
                let [gap] = &walk.gaps[..] else {
                    panic!("{:?}", walk.gaps)
                };
                assert_eq!((gap.first, gap.count), (block.first, block.events));
                assert_eq!(left.len() as u64, all.len() as u64 - block.events);

                // The same without an index, where the pass over the file has to find its way.
                let reel = open(&broken[..bytes.len() - 1]).unwrap();
                let last = index == blocks.len() - 1;
                assert_eq!(reel.damage().len(), 1, "byte {at} bit {bit}");
                assert_eq!(read(&reel), left, "byte {at} bit {bit}");
                if !last {
                    let [gap] = reel.gaps() else {
                        panic!("{:?}", reel.gaps())
                    };
                    assert_eq!((gap.first, gap.count), (block.first, block.events));
                    assert_eq!(gap.why, GapWhy::Damaged);
                }
            }
        }
    }
}

#[test]
fn a_flipped_bit_behind_the_blocks_costs_the_index_and_nothing_else() {
    let events = sample(b"payload");
    let bytes = write(&events, 4);
    let whole = open(&bytes).unwrap();
    let all = read(&whole);
    let end = whole
        .block_infos()
        .last()
        .map(|b| b.offset + b.length)
        .unwrap() as usize;
    for at in end..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 4;
        let reel = open(&broken).unwrap();
        let Ending::Cut { .. } = reel.ending() else {
            panic!("byte {at}")
        };
        assert_eq!(read(&reel), all);
    }
}

#[test]
fn a_flipped_bit_in_the_header_is_an_error_that_says_where() {
    let bytes = write(&sample(b"payload"), 4);
    let header_end = open(&bytes).unwrap().block_infos()[0].offset as usize;
    for at in 0..header_end {
        for bit in 0..8 {
            let mut broken = bytes.clone();
            broken[at] ^= 1 << bit;
            let error = open(&broken).unwrap_err();
            let fits = match error {
                OpenError::NotAReel { .. } => at < 8,
                OpenError::FutureVersion { known: 0, .. } => (8..12).contains(&at),
                OpenError::HeaderDamaged { .. } => at >= 12,
                OpenError::HeaderCut { .. } => (12..16).contains(&at),
                _ => false,
            };
            assert!(fits, "byte {at} bit {bit}: {error}");
        }
    }
}

fn check_open_says(bytes: &[u8], expected: &str) {
    assert_eq!(open(bytes).unwrap_err().to_string(), expected);
}

#[test]
fn what_is_not_a_reel_is_refused_in_one_sentence() {
    check_open_says(
        b"",
        "it is empty: a recorder that was killed at once leaves this",
    );
    check_open_says(
        b"\x0a\x0d\x0d\x0apcapng",
        "it is not a reel: it starts with 0a 0d 0d 0a 70 63 61 70, \
         a reel with 89 52 45 45 4c",
    );
    check_open_says(
        b"x",
        "it is not a reel: it starts with 78, a reel with 89 52 45 45 4c",
    );
    check_open_says(
        b"\x89REEL\r\n\x1a",
        "it ends inside its header: 8 bytes are there, 28 are needed",
    );
    let mut future = write(&[], 1);
    future[8] = 1;
    check_open_says(
        &future,
        "it has format version 1, and this netreel reads versions up to 0; \
         open it with a newer netreel",
    );
}

#[test]
fn a_reel_without_events_is_one() {
    let reel = open(&write(&[], 1)).unwrap();
    assert!(reel.is_empty());
    assert_eq!((reel.span(), reel.blocks()), (None, 0));
    assert_eq!(reel.record(EventNumber(0)), None);
}

/// Puts an event of a kind that no version has yet behind those of a block.
fn with_unknown_kind(bytes: &[u8]) -> Vec<u8> {
    let reel = open(bytes).unwrap();
    let block = reel.block_infos()[0];
    let (from, to) = (
        block.offset as usize,
        (block.offset + block.length) as usize,
    );
    let mut body = bytes[from + 12..to].to_vec();
    // Kind 30, at the time of the event before it, five bytes.
    body.extend_from_slice(&[0x80 | 30, 0, 5, 1, 2, 3, 4, 5]);
    // Random, 10 ns later.
    body.extend_from_slice(&[0x48, 10, 1, 0, 0, 0, 0, 0, 0, 0]);
    let mut out = bytes[..from].to_vec();
    out.extend_from_slice(&block_frame(&body));
    out
}

#[test]
fn a_kind_that_is_not_known_is_skipped_counted_and_keeps_its_number() {
    let events = sample(b"payload");
    let reel = open(&with_unknown_kind(&write(&events, 1000))).unwrap();
    assert_eq!(reel.unknown(), &[(30, 1)].into());
    assert_eq!(reel.gaps(), []);
    let records = read(&reel);
    assert_eq!(records.len(), events.len() + 1);
    let last = records.last().unwrap().as_record();
    assert_eq!(last.number.0, events.len() as u64 + 1);
    assert_eq!(
        (last.time, last.event),
        (Time(16_869_910), Event::Random { value: 1 })
    );
}

#[test]
fn numbers_that_are_left_out_are_named() {
    let mut writer = ReelWriter::create(Vec::new(), &header()).unwrap();
    for number in [2, 3, 7, 8, 20] {
        if number == 20 {
            writer.seal().unwrap();
        }
        let event = Event::Random { value: number };
        let record = Record {
            number: EventNumber(number),
            time: Time(1),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).unwrap();
    }
    let bytes = writer.finish().unwrap();
    for bytes in [&bytes[..], &bytes[..bytes.len() - 1]] {
        let reel = open(bytes).unwrap();
        let gaps: Vec<_> = reel
            .gaps()
            .iter()
            .map(|gap| (gap.first.0, gap.count))
            .collect();
        assert_eq!(gaps, [(0, 2), (4, 3), (9, 11)]);
        let numbers: Vec<_> = read(&reel).iter().map(|r| r.as_record().number.0).collect();
        assert_eq!(numbers, [2, 3, 7, 8, 20]);
        assert_eq!(reel.record(EventNumber(5)), None);
        assert!(reel.record(EventNumber(8)).is_some());
    }
}

#[test]
fn events_out_of_order_and_too_large_are_refused() {
    let mut writer = ReelWriter::create(Vec::new(), &header()).unwrap();
    let record = |number, event| Record {
        number: EventNumber(number),
        time: Time(1),
        thread: ThreadId(0),
        event,
    };
    writer.push(&record(5, Event::Random { value: 1 })).unwrap();
    let error = writer
        .push(&record(5, Event::Random { value: 1 }))
        .unwrap_err();
    assert_eq!(error.to_string(), "event 5 came after event 5");
    let state = vec![0; netreel_reel::EVENT_MAX + 1];
    let error = writer
        .push(&record(6, Event::Snapshot { state: &state }))
        .unwrap_err();
    assert!(matches!(error, WriteError::TooLarge { .. }));
    let state = &state[1..];
    writer.push(&record(6, Event::Snapshot { state })).unwrap();
    let reel = open(&writer.finish().unwrap()).unwrap();
    assert_eq!(reel.len(), 2);
    let snapshot = reel.record(EventNumber(6)).unwrap();
    assert_eq!(snapshot.as_record().event, Event::Snapshot { state });
}

/// A disk with room for this many bytes.
struct Disk {
    bytes: Vec<u8>,
    room: usize,
}

impl Append for &mut Disk {
    fn append(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        let taken = bytes.len().min(self.room - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        if taken == bytes.len() {
            Ok(())
        } else {
            Err(AppendError(28))
        }
    }
}

#[test]
fn a_full_disk_is_an_error_and_what_it_took_opens() {
    let events = sample(b"payload");
    let whole = write(&events, 4).len();
    for room in 0..whole {
        let mut disk = Disk {
            bytes: Vec::new(),
            room,
        };
        let result = ReelWriter::create(&mut disk, &header()).and_then(|mut writer| {
            for (index, (time, thread, event)) in events.iter().enumerate() {
                let (number, time) = (EventNumber(index as u64), Time(*time));
                writer.push(&Record {
                    number,
                    time,
                    thread: ThreadId(*thread),
                    event: *event,
                })?;
                if index % 4 == 3 {
                    writer.seal()?;
                }
            }
            writer.finish().map(|_| ())
        });
        assert_eq!(
            result,
            Err(WriteError::Append(AppendError(28))),
            "room for {room}"
        );
        if let Ok(reel) = open(&disk.bytes) {
            let events: Vec<_> = read(&reel).iter().map(|r| r.as_record().number.0).collect();
            assert_eq!(events, (0..events.len() as u64).collect::<Vec<_>>());
        }
    }
}

/// A reel without blocks, index and footer.
fn header_alone() -> Vec<u8> {
    let mut bytes = write(&[], 1);
    let footer = bytes.split_off(bytes.len() - 16);
    let index_at = u64::from_le_bytes(footer[..8].try_into().unwrap());
    bytes.truncate(index_at as usize);
    bytes
}

#[test]
fn block_starts_that_claim_to_be_long_do_not_cost_the_square_of_the_file() {
    let mut bytes = header_alone();
    // A megabyte of starts, each claiming half a megabyte: a quarter million checksums of that.
    for _ in 0..(1 << 20) / 8 {
        bytes.extend_from_slice(b"\xf7Blk\x00\x00\x08\x00");
    }
    let reel = open(&bytes).unwrap();
    assert!(reel.is_empty());
    assert!(matches!(reel.ending(), Ending::Cut { .. }));
}

#[test]
fn damage_at_many_places_costs_what_is_read_around_it() {
    struct Counted(Vec<u8>, AtomicU64);
    impl ReadAt for Counted {
        fn length(&self) -> Result<u64, ReadError> {
            self.0.length()
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError> {
            self.1.fetch_add(buffer.len() as u64, Ordering::Relaxed);
            self.0.read_at(offset, buffer)
        }
    }

    let mut bytes = header_alone();
    // A megabyte of blocks without events, each behind a byte that belongs to none.
    let block = block_frame(&[0, 0]);
    let count = (1 << 20) / (block.len() + 1);
    for _ in 0..count {
        bytes.push(0);
        bytes.extend_from_slice(&block);
    }
    let source = Arc::new(Counted(bytes, AtomicU64::new(0)));
    let reel = Reel::open(source.clone()).unwrap();
    assert_eq!(reel.damage().len(), count);
    let read = source.1.load(Ordering::Relaxed);
    assert!(
        read < 5000 * count as u64,
        "{read} bytes for {count} places"
    );
}
