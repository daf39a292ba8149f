//! A node's packets at a live endpoint, without a socket and a clock.

use std::net::SocketAddr;
use std::time::Duration;

use netreel_reel::{EventNumber, Time};
use netreel_replay::onto::{Next, Onto, Pace, Said};
use netreel_wire::Wire;

const WIRE: &str = "wire door { version = 1; byte_order = big; bit_order = msb; root = Packet; }
enum Kind : u8 { hello = 0 @connect, welcome = 1 @connect, input = 2, answer = 3 }
struct Packet {
    sequence: u8 @sequence;
    ack: u8 @ack;
    bits: u8 @ack_bits;
    message: Message;
}
struct Message @message {
    kind: Kind @message_kind;
    switch (kind) {
        Kind.hello => {}
        Kind.welcome => token: u16 @gives(token);
        Kind.input => token: u16 @takes(token);
        Kind.answer => {}
    }
}
";

const PATIENCE: Duration = Duration::from_millis(500);

fn peer() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], 7000))
}

fn ms(time: u64) -> Time {
    Time(time * 1_000_000)
}

/// What was recorded: (time in ms, sent, bytes).
fn recorded(packets: &[(u64, bool, &[u8])]) -> Vec<Said> {
    let packets = (0..).map(EventNumber).zip(packets);
    let said = packets.map(|(number, (time, is_sent, packet))| Said {
        number,
        time: ms(1000 + time),
        is_sent: *is_sent,
        packet: packet.to_vec(),
    });
    said.collect()
}

/// A greeting, a token, and two packets with it.
fn guest() -> Vec<Said> {
    recorded(&[
        (0, true, &[1, 0, 0, 0]),
        (10, false, &[50, 1, 0, 1, 0xAB, 0xCD]),
        (20, true, &[2, 50, 0, 2, 0xAB, 0xCD]),
        (30, false, &[51, 2, 1, 3]),
        (40, true, &[3, 51, 1, 2, 0xAB, 0xCD]),
    ])
}

fn wire() -> Wire {
    Wire::compile("door.wire", WIRE).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_the_live_endpoint_gave_is_said_back_and_its_packets_are_acked() {
    let wire = wire();
    let pace = (Pace::Answers, PATIENCE);
    let mut onto = Onto::new(Some(&wire), guest(), peer(), pace);
    assert_eq!(onto.next(ms(0)), Next::Send(vec![1, 0, 0, 0]));
    assert!(matches!(onto.next(ms(1)), Next::Wait(_)));
    onto.hear(ms(5), &[200, 1, 0, 1, 0x12, 0x34]);
    assert_eq!(onto.next(ms(5)), Next::Send(vec![2, 200, 0, 2, 0x12, 0x34]));
    onto.hear(ms(6), &[203, 2, 1, 3]);
    // 200 is two before 202: bit 2.
    assert_eq!(
        onto.next(ms(6)),
        Next::Send(vec![3, 203, 0b100, 2, 0x12, 0x34])
    );
    assert_eq!(onto.next(ms(7)), Next::Over);
    assert_eq!(onto.missing().count(), 0);
    let token = onto.came()[0].difference.as_ref().expect("a difference");
    assert_eq!(
        (token.path.as_str(), token.came.as_str()),
        ("sequence", "200")
    );
    assert_eq!(onto.sent()[0].changed, Ok(Vec::new()));
    assert_eq!(onto.sent()[1].changed.as_ref().map(Vec::len), Ok(2));
}

#[test]
fn recorded_times_are_kept_by_the_factor() {
    let pace = (Pace::Recorded { speed: 2.0 }, PATIENCE);
    let mut onto = Onto::new(None, guest(), peer(), pace);
    assert!(matches!(onto.next(ms(100)), Next::Send(_)));
    assert_eq!(onto.next(ms(100)), Next::Wait(ms(110)));
    assert!(matches!(onto.next(ms(110)), Next::Send(_)));
    assert_eq!(onto.next(ms(115)), Next::Wait(ms(120)));
    assert!(matches!(onto.next(ms(121)), Next::Send(_)));
}

#[test]
fn a_packet_waits_for_the_token_that_it_says_back_but_not_for_ever() {
    let wire = wire();
    let pace = (Pace::Recorded { speed: 1.0 }, PATIENCE);
    let mut onto = Onto::new(Some(&wire), guest(), peer(), pace);
    assert!(matches!(onto.next(ms(0)), Next::Send(_)));
    assert_eq!(
        onto.next(ms(30)),
        Next::Wait(ms(500)),
        "it was due at 20 ms"
    );
    let as_recorded = Next::Send(vec![2, 50, 0, 2, 0xAB, 0xCD]);
    assert_eq!(onto.next(ms(500)), as_recorded);
}

#[test]
fn what_does_not_come_is_named() {
    let wire = wire();
    let pace = (Pace::Answers, PATIENCE);
    let mut onto = Onto::new(Some(&wire), guest(), peer(), pace);
    assert!(matches!(onto.next(ms(0)), Next::Send(_)));
    onto.hear(ms(5), &[200, 1, 0, 1, 0x12, 0x34]);
    assert!(matches!(onto.next(ms(5)), Next::Send(_)));
    let Next::Wait(until) = onto.next(ms(6)) else {
        panic!("the answer has not come");
    };
    assert_eq!(until, ms(505));
    assert!(matches!(onto.next(until), Next::Send(_)));
    assert_eq!(onto.next(ms(600)), Next::Wait(ms(1005)));
    assert_eq!(onto.next(ms(1005)), Next::Over);
    let missing: Vec<_> = onto.missing().map(|said| said.number).collect();
    assert_eq!(missing, [EventNumber(3)]);
}

#[test]
fn more_than_was_recorded_stands_for_nothing() {
    let wire = wire();
    let pace = (Pace::Answers, PATIENCE);
    let mut onto = Onto::new(Some(&wire), guest(), peer(), pace);
    assert!(matches!(onto.next(ms(0)), Next::Send(_)));
    onto.hear(ms(1), &[200, 1, 0, 1, 0x12, 0x34]);
    onto.hear(ms(2), &[201, 1, 0, 1, 0x12, 0x34]);
    let came: Vec<_> = onto.came().iter().map(|it| it.instead_of).collect();
    assert_eq!(came, [Some(EventNumber(1)), None]);
}
