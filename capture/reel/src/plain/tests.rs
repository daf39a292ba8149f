use std::net::{Ipv6Addr, SocketAddrV6};

use netreel_shared::body::SendOutcome;
use netreel_shared::call::{CallId, ClockId};

use super::*;
use crate::{Believed, Endpoint, FaultVerdict, Record, SocketId, ThreadId, Trigger, TriggerCause};

fn check_round_trip(event: Event<'_>) {
    let (head, tail) = plain_parts(&event);
    let body = [head.bytes(), tail].concat();
    assert_eq!(plain_read(event.kind() as u8, &body), Ok(event));
    let fixed = head.bytes().len();
    for cut in 0..fixed {
        assert_eq!(
            plain_read(event.kind() as u8, &body[..cut]),
            Err(PlainError::BrokenBody),
            "{event:?} cut to {cut} bytes"
        );
    }
    let record = Record {
        number: EventNumber(7),
        time: Time(9),
        thread: ThreadId(2),
        event,
    };
    assert_eq!(OwnedRecord::copy_of(&record).as_record(), record);
}

#[test]
fn every_kind_is_read_back_and_refused_where_its_fixed_part_is_cut() {
    let v4: Endpoint = "127.0.0.1:7000".parse().unwrap();
    let v6: Endpoint = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 1, 2, 3).into();
    let socket = SocketId(3);
    let of = EventNumber(5);
    for event in [
        Event::SocketOpened { socket, local: v6 },
        Event::SocketClosed { socket },
        Event::Sent {
            socket,
            to: v4,
            payload: b"abc",
        },
        Event::Sent {
            socket,
            to: v6,
            payload: b"",
        },
        Event::SendResult {
            of,
            outcome: SendOutcome::Sent,
        },
        Event::SendResult {
            of,
            outcome: SendOutcome::Short(12),
        },
        Event::SendResult {
            of,
            outcome: SendOutcome::Failed(-11),
        },
        Event::Received {
            socket,
            from: v6,
            payload: b"abc",
        },
        Event::PollEmpty { socket },
        Event::ReceiveFailed { socket, code: 111 },
        Event::Clock {
            value: Time(u64::MAX),
        },
        Event::Random { value: 42 },
        Event::Input { call: b"jump" },
        Event::Tick {
            tick: 1,
            time: Time(16),
        },
        Event::Note { text: b"here" },
        Event::Snapshot { state: b"all" },
        Event::Switched { on: false },
        Event::Dropped { count: 3 },
        Event::Stalled { nanos: 4 },
        Event::WriteFailed { code: 28 },
        Event::ClockRead {
            clock: ClockId::GETTIMEOFDAY,
            value: u64::MAX,
        },
        Event::Called {
            call: CallId::SLEEP,
            result: -4,
            details: &[1, 2, 3],
        },
        Event::Seen {
            from: v6,
            to: v4,
            payload: b"abc",
        },
        Event::Seen {
            from: v6,
            to: v6,
            payload: b"",
        },
        Event::CaptureDrops { count: 5 },
        Event::Cut { of, length: 1200 },
        Event::Fault {
            of,
            verdict: FaultVerdict::Lost,
        },
        Event::Fault {
            of,
            verdict: FaultVerdict::Delayed { nanos: u64::MAX },
        },
        Event::Fault {
            of,
            verdict: FaultVerdict::Corrupted { bit: 12 },
        },
        Event::Fault {
            of,
            verdict: FaultVerdict::Reordered { nanos: 2 },
        },
        Event::Fault {
            of,
            verdict: FaultVerdict::Duplicated { nanos: 3 },
        },
        Event::Fault {
            of,
            verdict: FaultVerdict::Queued { nanos: 4 },
        },
        Event::Fault {
            of,
            verdict: FaultVerdict::QueueFull { nanos: 5 },
        },
        Event::Fault {
            of,
            verdict: FaultVerdict::Refused,
        },
        Event::Relay {
            socket,
            listener: SocketId(u16::MAX),
            client: v6,
        },
        Event::Interface {
            link_type: 276,
            name: b"eth0",
        },
        Event::Believed {
            object: u64::MAX,
            believed: Believed::Created { owner: None },
        },
        Event::Believed {
            object: 42,
            believed: Believed::Created { owner: Some(3) },
        },
        Event::Believed {
            object: 42,
            believed: Believed::Destroyed,
        },
        Event::Believed {
            object: 42,
            believed: Believed::Owner { owner: u64::MAX },
        },
        Event::Believed {
            object: 42,
            believed: Believed::Value {
                said: b"position 1.5 2 3",
            },
        },
        Event::Triggered {
            trigger: Trigger {
                cause: TriggerCause::KEY,
                id: u64::MAX,
                utc_ns: -5,
                before_ms: 10_000,
                after_ms: 2_000,
                from_peer: true,
            },
            text: b"t was pressed",
        },
    ] {
        check_round_trip(event);
    }
}

#[test]
fn a_kind_that_is_not_known_is_said_to_be_so() {
    assert_eq!(plain_read(0, b""), Err(PlainError::UnknownKind));
    assert_eq!(plain_read(99, b""), Err(PlainError::UnknownKind));
}
