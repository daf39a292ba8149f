//! Events of every kind, written and read.

// Not every test needs all of it.
#![allow(dead_code)]

use std::sync::Arc;

use netreel_reel::{
    Believed, CallId, ClockId, Event, EventNumber, FaultVerdict, Header, OpenError, OwnedRecord,
    Record, Reel, ReelWriter, SendOutcome, SocketId, ThreadId, Time, Trigger, TriggerCause,
    WireText,
};

pub fn header() -> Header {
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

pub fn v4(port: u16) -> netreel_reel::Endpoint {
    format!("127.0.0.1:{port}").parse().unwrap()
}

pub fn clock_read(clock: ClockId, value: u64) -> Event<'static> {
    Event::ClockRead { clock, value }
}

pub fn called(call: CallId, result: i32, details: &[u8]) -> Event<'_> {
    Event::Called {
        call,
        result,
        details,
    }
}

/// One event of every kind, and all the short forms; two threads, two sockets.
pub fn sample(payload: &[u8]) -> Vec<(u64, u16, Event<'_>)> {
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
            Event::Believed {
                object: 42,
                believed: Believed::Created { owner: Some(3) },
            },
        ),
        (
            16_666_995,
            0,
            Event::Believed {
                object: 42,
                believed: Believed::Value {
                    said: b"position 1.5 2 3",
                },
            },
        ),
        (
            16_666_995,
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
        (
            16_869_900,
            4,
            Event::Interface {
                link_type: 1,
                name: b"eth0",
            },
        ),
        (16_869_900, 0, Event::CaptureDrops { count: 12 }),
    ]
}

pub fn write(events: &[(u64, u16, Event<'_>)], seal_every: usize) -> Vec<u8> {
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

pub fn read(reel: &Reel) -> Vec<OwnedRecord> {
    let mut records = Vec::new();
    reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
    records
}

pub fn open(bytes: &[u8]) -> Result<Reel, OpenError> {
    Reel::open(Arc::new(bytes.to_vec()))
}
