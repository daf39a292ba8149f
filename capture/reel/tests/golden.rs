//! The bytes of a reel, as `docs/reel-format.md` has them. Who breaks this test changes the
//! format: the page, and from version 1 on the version, change with it.

use netreel_reel::{Event, EventNumber, Header, Record, ReelWriter, SendOutcome, SocketId};
use netreel_reel::{Redacted, ThreadId, Time};

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
