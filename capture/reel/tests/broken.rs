//! Bad input is normal input: a reel that is cut, flipped, foreign or from the future.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use netreel_reel::{
    Append, AppendError, CallId, ClockId, CutWhy, Ending, Event, EventNumber, FaultVerdict, GapWhy,
    Header, OpenError, OwnedRecord, ReadAt, ReadError, Record, Reel, ReelWriter, SendOutcome,
    SocketId, ThreadId, Time, Trigger, TriggerCause, WireText, WriteError, block_frame,
};
use proptest::prelude::*;

fn header() -> Header {
    let wires = vec![WireText {
        name: "boxes.wire".to_owned(),
        text: "wire".to_owned(),
    }];
    Header {
        node: "A".to_owned(),
        start: vec![1, 2, 3],
        wires,
        ..Header::default()
    }
}

fn v4(port: u16) -> netreel_reel::Endpoint {
    format!("127.0.0.1:{port}").parse().unwrap()
}

fn clock_read(clock: ClockId, value: u64) -> Event<'static> {
    Event::ClockRead { clock, value }
}

fn called(call: CallId, result: i32, details: &[u8]) -> Event<'_> {
    Event::Called {
        call,
        result,
        details,
    }
}

/// One event of every kind, and all the short forms; two threads, two sockets.
fn sample(payload: &[u8]) -> Vec<(u64, u16, Event<'_>)> {
    let (a, b) = (SocketId(0), SocketId(1));
    let v6: netreel_reel::Endpoint = "[::1]:7005".parse().unwrap();
    let of = EventNumber;
    let sent = SendOutcome::Sent;
    vec![
        (
            100,
            0,
            Event::SocketOpened {
                socket: a,
                local: v4(7000),
            },
        ),
        (
            110,
            1,
            Event::SocketOpened {
                socket: b,
                local: v6,
            },
        ),
        (
            200,
            0,
            Event::Tick {
                tick: 1,
                time: Time(16_666_667),
            },
        ),
        (210, 0, Event::Clock { value: Time(210) }),
        (
            220,
            0,
            Event::Received {
                socket: a,
                from: v4(7001),
                payload,
            },
        ),
        (220, 0, Event::PollEmpty { socket: a }),
        (
            230,
            0,
            Event::Sent {
                socket: a,
                to: v4(7001),
                payload,
            },
        ),
        (
            230,
            0,
            Event::SendResult {
                of: of(6),
                outcome: sent,
            },
        ),
        (
            240,
            0,
            Event::Sent {
                socket: a,
                to: v6,
                payload: b"",
            },
        ),
        (
            235,
            1,
            Event::Sent {
                socket: b,
                to: v4(7002),
                payload,
            },
        ),
        (
            240,
            0,
            Event::SendResult {
                of: of(8),
                outcome: SendOutcome::Failed(-11),
            },
        ),
        (
            235,
            1,
            Event::SendResult {
                of: of(9),
                outcome: SendOutcome::Short(2),
            },
        ),
        (250, 1, Event::PollEmpty { socket: b }),
        (
            260,
            0,
            Event::ReceiveFailed {
                socket: a,
                code: 111,
            },
        ),
        (270, 0, Event::Clock { value: Time(5) }),
        (280, 0, Event::Random { value: u64::MAX }),
        (290, 0, Event::Input { call: b"jump" }),
        (
            300,
            0,
            Event::Tick {
                tick: 2,
                time: Time(33_333_334),
            },
        ),
        (
            16_666_967,
            0,
            Event::Tick {
                tick: 3,
                time: Time(50_000_000),
            },
        ),
        (
            16_666_970,
            0,
            Event::Clock {
                value: Time(16_666_970),
            },
        ),
        (
            16_666_980,
            0,
            Event::Note {
                text: "hier \u{fc}".as_bytes(),
            },
        ),
        (16_666_990, 0, Event::Snapshot { state: payload }),
        (
            16_666_990,
            1,
            Event::Triggered {
                trigger: Trigger {
                    cause: TriggerCause::SIGNAL,
                    id: 77,
                    utc_ns: 1_700_000_000_000_000_000,
                    before_ms: 10_000,
                    after_ms: 0,
                    from_peer: false,
                },
                text: payload,
            },
        ),
        (
            16_666_990,
            0,
            Event::Relay {
                socket: SocketId(1),
                listener: SocketId(0),
                client: "10.0.0.7:50000".parse().unwrap(),
            },
        ),
        (
            16_666_990,
            0,
            Event::Fault {
                of: EventNumber(3),
                verdict: FaultVerdict::Delayed { nanos: 50_000_000 },
            },
        ),
        (16_667_000, 0, Event::Switched { on: false }),
        (16_667_000, 0, Event::Switched { on: true }),
        (
            16_667_000,
            0,
            Event::SendResult {
                of: of(8),
                outcome: sent,
            },
        ),
        (16_667_000, 0, Event::Dropped { count: 3 }),
        (16_667_000, 0, Event::Stalled { nanos: 4 }),
        (16_667_000, 0, Event::WriteFailed { code: 28 }),
        (16_667_000, 0, Event::SocketClosed { socket: a }),
        (16_667_000, 1, clock_read(ClockId::MONOTONIC, 16_667_000)),
        (16_667_900, 1, clock_read(ClockId::MONOTONIC, 16_667_900)),
        (16_867_900, 1, clock_read(ClockId::MONOTONIC, 16_867_900)),
        (
            16_868_100,
            1,
            clock_read(ClockId::GETTIMEOFDAY, 1_000_016_868_000),
        ),
        (
            16_867_100,
            0,
            clock_read(ClockId::GETTIMEOFDAY, 1_000_016_867_000),
        ),
        (
            16_869_100,
            1,
            clock_read(ClockId::GETTIMEOFDAY, 1_000_016_869_000),
        ),
        (16_869_200, 1, clock_read(ClockId::MONOTONIC, 16_869_200)),
        (16_869_200, 1, called(CallId::POLL, 0, b"")),
        (16_869_900, 0, called(CallId::POLL, 0, b"")),
        (16_869_900, 0, called(CallId::POLL, -4, payload)),
        (
            16_869_900,
            3,
            Event::Seen {
                from: v6,
                to: v4(7001),
                payload,
            },
        ),
        (
            16_869_900,
            3,
            Event::Cut {
                of: of(20),
                length: 1400,
            },
        ),
        (16_869_900, 0, Event::CaptureDrops { count: 12 }),
    ]
}

fn write(events: &[(u64, u16, Event<'_>)], seal_every: usize) -> Vec<u8> {
    let mut writer = ReelWriter::create(Vec::new(), &header()).unwrap();
    for (index, (time, thread, event)) in events.iter().enumerate() {
        let record = Record {
            number: EventNumber(index as u64),
            time: Time(*time),
            thread: ThreadId(*thread),
            event: *event,
        };
        writer.push(&record).unwrap();
        if index % seal_every == seal_every - 1 {
            writer.seal().unwrap();
        }
    }
    writer.finish().unwrap()
}

fn read(reel: &Reel) -> Vec<OwnedRecord> {
    let mut records = Vec::new();
    reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
    records
}

fn open(bytes: &[u8]) -> Result<Reel, OpenError> {
    Reel::open(Arc::new(bytes.to_vec()))
}

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
        "it is not a reel: it starts with [0a, 0d, 0d, 0a, 70, 63, 61, 70], \
         a reel with 89 52 45 45 4c",
    );
    check_open_says(
        b"x",
        "it is not a reel: it starts with [78], a reel with 89 52 45 45 4c",
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

/// A disk with room for so many bytes.
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

/// What can be asked of a reel, without a panic and without an end to memory.
fn ask_everything(reel: &Reel) {
    let walk = reel.for_each(|_| {});
    let _ = reel.record(EventNumber(walk.events / 2));
    let _ = reel.find(EventNumber(u64::MAX));
    let _ = reel.find_time(Time(u64::MAX));
    let _ = format!("{reel:?} {:?} {:?} {walk:?}", reel.totals(), reel.gaps());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_in_a_block_are_read_without_a_panic(
        body in prop::collection::vec(any::<u8>(), 0..400)
    ) {
        let mut bytes = write(&[], 1);
        let index_at = bytes.windows(4).position(|w| w == b"\xf7Idx").unwrap();
        bytes.truncate(index_at);
        bytes.extend_from_slice(&block_frame(&body));
        ask_everything(&open(&bytes).unwrap());
        // As a torn block, whose bytes no checksum covers.
        bytes.pop();
        ask_everything(&open(&bytes).unwrap());
    }

    #[test]
    fn any_damage_is_read_without_a_panic(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        seal_every in 1usize..40,
    ) {
        let mut bytes = write(&sample(b"payload"), seal_every);
        for (place, value) in places {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(reel) = open(&bytes) {
            ask_everything(&reel);
        }
    }

    #[test]
    fn any_events_come_back(
        events in prop::collection::vec(
            (any::<u64>(), 0u16..3, 0u8..13, any::<u64>(), 0u16..40), 0..200),
    ) {
        let payload = [7; 300];
        let events: Vec<_> = events.iter().enumerate().map(|(index, (time, thread, kind, value, port))| {
            let payload = &payload[..(*value % 300) as usize];
            let socket = SocketId(*port % 3);
            let event = match kind {
                0 | 1 => Event::Sent { socket, to: v4(*port), payload },
                2 => Event::Received { socket, from: v4(*port), payload },
                3 => Event::SendResult {
                    of: EventNumber((index as u64).saturating_sub(value % 4)),
                    outcome: SendOutcome::Sent,
                },
                4 => Event::Clock { value: Time(*value) },
                5 => Event::Tick { tick: *value, time: Time(*time) },
                6 => Event::PollEmpty { socket },
                7 => Event::Input { call: payload },
                8 => clock_read(ClockId(*port as u8), *value),
                9 => clock_read(ClockId::GETTIMEOFDAY, *time),
                10 => called(CallId(3), *port as i32, payload),
                11 => Event::Seen { from: v4(*port), to: v4(*port ^ 1), payload },
                _ => Event::Stalled { nanos: *value },
            };
            (*time % (1 << (value % 64)), *thread, event)
        }).collect();
        let reel = open(&write(&events, 64)).unwrap();
        let records = read(&reel);
        prop_assert_eq!(records.len(), events.len());
        for (record, (time, thread, event)) in records.iter().zip(&events) {
            let record = record.as_record();
            prop_assert_eq!(record.event, *event);
            prop_assert_eq!((record.time, record.thread), (Time(*time), ThreadId(*thread)));
        }
    }

    #[test]
    fn clock_reads_and_calls_close_together_come_back(
        reads in prop::collection::vec((0u64..600_000, 0u8..4, 0u16..2, 0u64..3), 0..200),
    ) {
        let mut time = 86_400_000_000_000;
        let mut ahead = 1_700_000_000_000_000_000;
        let mut events = Vec::new();
        for (later, kind, thread, jump) in reads {
            time += later;
            if later % 50 == 0 {
                ahead += jump;
            }
            match kind {
                0 => events.push((time, thread, clock_read(ClockId::MONOTONIC, time))),
                1 => {
                    let value = (time + ahead) / 1000 * 1000;
                    let clock = ClockId::GETTIMEOFDAY;
                    events.push((value - ahead, thread, clock_read(clock, value)));
                }
                2 => {
                    let value = (time + ahead) / 1_000_000_000 * 1_000_000_000;
                    events.push((time, thread, clock_read(ClockId::TIME, value)));
                }
                _ => {
                    let details = &[1, 2, 3][..jump as usize];
                    events.push((time, thread, called(CallId::POLL, jump as i32, details)));
                }
            }
        }
        let reel = open(&write(&events, 100)).unwrap();
        let records = read(&reel);
        prop_assert_eq!(records.len(), events.len());
        for (record, (time, thread, event)) in records.iter().zip(&events) {
            let record = record.as_record();
            prop_assert_eq!((record.time, record.thread), (Time(*time), ThreadId(*thread)));
            prop_assert_eq!(record.event, *event);
        }
    }

    #[test]
    fn small_packets_close_together_come_back(
        packets in prop::collection::vec((0u64..20_000, 0usize..40, 0u16..6, 0u8..4), 0..100),
    ) {
        let payload = [7; 40];
        let socket = SocketId(0);
        let (mut time, mut events) = (0, Vec::new());
        for (delta, length, port, kind) in packets {
            time += delta;
            let payload = &payload[..length];
            let of = EventNumber(events.len() as u64);
            if kind < 2 {
                events.push((time, 0, Event::Sent { socket, to: v4(port), payload }));
            } else {
                events.push((time, 0, Event::Received { socket, from: v4(port), payload }));
            }
            match kind {
                0 => events.push((time, 0, Event::SendResult { of, outcome: SendOutcome::Sent })),
                2 => events.push((time, 0, Event::PollEmpty { socket })),
                _ => {}
            }
        }
        let records = read(&open(&write(&events, 1000)).unwrap());
        prop_assert_eq!(records.len(), events.len());
        for (record, (time, _, event)) in records.iter().zip(&events) {
            let record = record.as_record();
            prop_assert_eq!((record.time, record.event), (Time(*time), *event));
        }
    }
}
