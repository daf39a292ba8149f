//! The bytes of a reel, as `docs/reel-format.md` has them. Who breaks this test changes the
//! format: the page, and from version 1 on the version, change with it.

use netreel_reel::{
    CallId, Event, EventNumber, FaultVerdict, Header, OwnedRecord, Part, Record, Reel,
};
use netreel_reel::{Redacted, ReelWriter, SendOutcome, SocketId, ThreadId, Time};
use netreel_reel::{block_frame, compressed_frame};

fn check(what: &str, bytes: &[u8], expected: &str) {
    let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let expected: Vec<_> = expected.split_whitespace().collect();
    assert_eq!(hex.join(" "), expected.join(" "), "{what}");
}

#[test]
fn the_bytes_of_a_small_reel_are_those_of_the_page() {
    let header = Header {
        node: "A".to_owned(),
        ..Header::default()
    };
    let mut writer = ReelWriter::create_with_identity(Vec::new(), &header, 9).unwrap();
    let header_end = writer.length() as usize;
    let socket = SocketId(0);
    let peer = "127.0.0.1:7001".parse().unwrap();
    let of = EventNumber(3);
    let events = [
        (
            1000,
            Event::Tick {
                tick: 5,
                time: Time(100),
            },
        ),
        (1010, Event::Clock { value: Time(1010) }),
        (
            1210,
            Event::Received {
                socket,
                from: peer,
                payload: b"hi",
            },
        ),
        (
            1220,
            Event::Sent {
                socket,
                to: peer,
                payload: b"yo",
            },
        ),
        (
            1220,
            Event::SendResult {
                of,
                outcome: SendOutcome::Sent,
            },
        ),
        (1230, Event::Note { text: b"!" }),
    ];
    for (number, (time, event)) in events.into_iter().enumerate() {
        let number = EventNumber(number as u64);
        writer
            .push(&Record {
                number,
                time: Time(time),
                thread: ThreadId(0),
                event,
            })
            .unwrap();
    }
    writer.seal().unwrap();
    let block_end = writer.length() as usize;
    let bytes = writer.finish().unwrap();
    check(
        "start and header",
        &bytes[..header_end],
        "89 52 45 45 4c 0d 0a 1a  00 00 00 00  1c 00 00 00  09 00 00 00 00 00 00 00  45 50 96 77
         01 41  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  00 00 00  00 00  00 00 00 00 00",
    );
    check(
        "block",
        &bytes[header_end..block_end],
        "f7 42 6c 6b  20 00 00 00  41 df 82 8c
         00  e8 07
         45 00 0a c8 01 00
         40 0a
         05 7f 00 00 01 59 1b
         c0 c8 80 68 69
         a0 0a 80 79 6f
         8c 14 01 21",
    );
    check(
        "index and footer",
        &bytes[block_end..],
        "f7 49 64 78  22 00 00 00  b9 5d 50 a9
         06 03 01 04 01 05 01 08 01 0b 01 0c 01  00  01 fb e8 03 fb ce 04  00  00  00
         01 2c  01 00  01 06  01 fb d0 07
         64 00 00 00 00 00 00 00  45 13 c0 8c  f7 45 6e 64",
    );
}

#[test]
fn what_was_taken_out_stands_behind_the_header() {
    let plain = Header {
        node: "A".to_owned(),
        ..Header::default()
    };
    let bytes = |header: &Header| {
        let writer = ReelWriter::create(Vec::new(), header).unwrap();
        writer.finish().unwrap()
    };
    let redacted = Header {
        redacted: Some(Redacted {
            removed: vec![("notes".to_owned(), 3)],
            replayable: true,
        }),
        ..plain.clone()
    };
    let reel = netreel_reel::Reel::from_bytes(bytes(&redacted)).unwrap();
    assert_eq!(*reel.header(), redacted);
    let (with, without) = (bytes(&redacted), bytes(&plain));
    let end = with.len() - without.len() + without.iter().position(|&byte| byte == 0xf7).unwrap();
    check(
        "what was taken out",
        &with[end - 10..end],
        "ff 01 05 6e 6f 74 65 73 03 01",
    );
}

/// What a reel of node A with this frame behind its header holds.
fn read(frame: &[u8]) -> Vec<OwnedRecord> {
    let header = Header {
        node: "A".to_owned(),
        ..Header::default()
    };
    let writer = ReelWriter::create(Vec::new(), &header).unwrap();
    let start = writer.length() as usize;
    let mut bytes = writer.finish().unwrap();
    bytes.truncate(start);
    bytes.extend_from_slice(frame);
    let reel = Reel::from_bytes(bytes).unwrap();
    let mut records = Vec::new();
    let walk = reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
    assert_eq!((reel.damage(), &walk.damaged[..]), (&[][..], &[][..]));
    records
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let bytes = hex.split_whitespace();
    bytes
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

#[test]
fn a_part_that_goes_on_in_the_next_one_says_so_at_both_ends() {
    let header = Header {
        node: "A".to_owned(),
        ..Header::default()
    };
    let part = Part {
        number: 2,
        first: EventNumber(300),
        sockets: vec![(SocketId(0), "127.0.0.1:7000".parse().unwrap())],
        on: true,
        begun: Vec::new(),
    };
    let writer = ReelWriter::create_part(Vec::new(), &header, 9, &part).unwrap();
    let header_end = writer.length() as usize;
    let bytes = writer.finish_part().unwrap();
    check(
        "start, header and part",
        &bytes[..header_end],
        "89 52 45 45 4c 0d 0a 1a  00 00 00 00  2b 00 00 00  09 00 00 00 00 00 00 00  86 64 a8 8d
         01 41  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  00 00 00  00 00  00 00 00 00 00
         02  fb 2c 01  01 00  00 7f 00 00 01 fb 58 1b  01",
    );
    check(
        "index and footer",
        &bytes[header_end..],
        "f7 49 64 78  0a 00 00 00  79 5b 54 2b  00 00 00 00 00 00 00 00 00 00
         47 00 00 00 00 00 00 00  1f 50 15 ee  f7 4e 78 74",
    );
}

/// What an observer and a proxy tell: kinds 20, 28, 22, 21, 29 and 24.
fn told_from_outside() -> [(u64, Event<'static>); 6] {
    let of = EventNumber(0);
    let at = |port| ([127, 0, 0, 1], port).into();
    let (from, to) = (at(7000), at(7001));
    let payload = b"hi";
    let verdict = FaultVerdict::Delayed { nanos: 5_000_000 };
    let relay = Event::Relay {
        socket: SocketId(1),
        listener: SocketId(0),
        client: at(7002),
    };
    let (link_type, name) = (1, &b"eth0"[..]);
    [
        (1000, Event::Seen { from, to, payload }),
        (1000, Event::Cut { of, length: 1200 }),
        (1010, Event::CaptureDrops { count: 3 }),
        (1010, Event::Fault { of, verdict }),
        (1010, relay),
        (1010, Event::Interface { link_type, name }),
    ]
}

fn record((number, (time, event)): (u64, (u64, Event<'static>))) -> Record<'static> {
    Record {
        number: EventNumber(number),
        time: Time(time),
        thread: ThreadId(0),
        event,
    }
}

/// The events of [`told_from_outside`] but the first, in the plain form.
const PLAIN: &str = "9c 00 0c  00 00 00 00 00 00 00 00  b0 04 00 00
     96 14 08  03 00 00 00 00 00 00 00
     95 00 11  00 00 00 00 00 00 00 00  01  40 4b 4c 00 00 00 00 00
     9d 00 0b  01 00  00 00  04 5a 1b 7f 00 00 01
     98 00 08  01 00 00 00  65 74 68 30";

#[test]
fn the_bytes_of_what_observers_and_proxies_tell_are_those_of_the_page() {
    let mut writer = ReelWriter::create(Vec::new(), &Header::default()).unwrap();
    let header_end = writer.length() as usize;
    for each in (0..).zip(told_from_outside()) {
        writer.push(&record(each)).unwrap();
    }
    writer.seal().unwrap();
    let bytes = &writer.out()[header_end..];
    let expected = format!(
        "f7 42 6c 6b  5b 00 00 00  b9 d1 a3 bc  00  e8 07
         05 7f 00 00 01 58 1b  07 59 1b  4d 00 00 01 02 68 69
         {PLAIN}"
    );
    check("block", bytes, &expected);
}

#[test]
fn a_packet_that_was_seen_reads_in_the_plain_form_as_well() {
    let seen = "94 00 10  04 58 1b 7f 00 00 01  04 59 1b 7f 00 00 01  68 69";
    let body = bytes_of(&format!("00 e8 07 {seen} {PLAIN}"));
    let expected = (0..).zip(told_from_outside()).map(record);
    let expected: Vec<OwnedRecord> = expected.map(|each| OwnedRecord::copy_of(&each)).collect();
    assert_eq!(read(&block_frame(&body)), expected);
}

#[test]
fn a_compressed_block_has_its_length_and_one_zstd_frame() {
    let mut writer = ReelWriter::create(Vec::new(), &Header::default()).unwrap();
    writer.compress();
    let header_end = writer.length() as usize;
    let text = [b'!'; 100];
    let note = Event::Note { text: &text };
    let number = EventNumber(0);
    writer
        .push(&Record {
            number,
            time: Time(1000),
            thread: ThreadId(0),
            event: note,
        })
        .unwrap();
    writer.seal().unwrap();
    let bytes = &writer.out()[header_end..];
    check("magic", &bytes[..4], "f7 5a 73 74");
    // 3 bytes of numbers, 3 of the event, and the text.
    check(
        "length, and zstd's magic",
        &bytes[12..20],
        "6a 00 00 00  28 b5 2f fd",
    );
    // What follows is zstd's choice. What it made of this body once is read for ever.
    let stored =
        bytes_of("6a 00 00 00  28 b5 2f fd 00 48 6d 00 00 38 00 e8 07 8c 00 64 21 01 00 20 05 46");
    let records = read(&compressed_frame(&stored));
    assert_eq!(records[0].as_record().event, note);
}

#[test]
fn the_page_has_every_call_of_a_program() {
    let page = include_str!("../../../docs/reel-format.md");
    let cells = page.lines().filter_map(|line| line.split(" | ").nth(1));
    let known: Vec<&str> = cells.flat_map(|names| names.split(", ")).collect();
    for call in (0..=u8::MAX)
        .map(CallId)
        .filter(|call| call.name() != "call")
    {
        let (number, name) = (call.0, call.name());
        assert!(
            known.contains(&name),
            "docs/reel-format.md lacks call {number}, {name}"
        );
    }
}
