//! Findings over acks, numbers and resends in sessions of a tiny protocol, made by hand: each with a
//! session that is almost the same and has none.

use std::sync::Arc;

use netreel_protocol::history::History;
use netreel_protocol::session::{ReelInput, Session};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId,
    ThreadId, Time, WireText,
};

/// A number, an ack that reaches eight back, and perhaps a reliable message.
const WIRE: &str = "
wire acked { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
enum Kind : u8 { rpc = 0 @rpc, }
struct Packet {
    sender: u8 @sender;
    sequence: u8 @sequence;
    ack: u8 @ack;
    ack_bits: u8 @ack_bits;
    count: u8;
    messages: Message[count];
}
struct Message @message {
    kind: Kind @message_kind;
    reliable: u1 @reliable; pad: u7 = 0;
    place: u8 @reliable_sequence;
}
";

const A: u8 = 0;
const B: u8 = 1;

/// A packet from one of the two to the other. Times in milliseconds.
#[derive(Clone, Copy)]
struct Packet {
    from: u8,
    at: u64,
    received: Option<u64>,
    sequence: u8,
    ack: (u8, u8),
    place: Option<u8>,
}

/// A's packet with a reliable message; it takes 60 ms.
fn says(at: u64, sequence: u8, place: u8) -> Packet {
    Packet {
        from: A,
        at,
        received: Some(at + 60),
        sequence,
        ack: (0, 0),
        place: Some(place),
    }
}

/// B's packet with an ack alone; it takes 60 ms.
fn acks(at: u64, sequence: u8, ack: u8, bits: u8) -> Packet {
    Packet {
        from: B,
        at,
        received: Some(at + 60),
        sequence,
        ack: (ack, bits),
        place: None,
    }
}

fn lost(packet: Packet) -> Packet {
    Packet {
        received: None,
        ..packet
    }
}

/// When, whether it was sent, and the bytes.
type Crossed = (u64, bool, Vec<u8>);

/// The rules that find something in a session of ten seconds.
fn check(story: &[Packet], expected: &[&str]) {
    let endpoint = |peer: u8| -> Endpoint { ([127, 0, 0, 1], 1 + u16::from(peer)).into() };
    let mut events: [Vec<Crossed>; 2] = Default::default();
    for each in story {
        let (ack, bits) = each.ack;
        let mut bytes = vec![each.from, each.sequence, ack, bits, 0];
        if let Some(place) = each.place {
            bytes[4] = 1;
            bytes.extend([0, 1, place]);
        }
        events[usize::from(each.from)].push((each.at, true, bytes.clone()));
        if let Some(at) = each.received {
            events[usize::from(1 - each.from)].push((at, false, bytes));
        }
    }
    let reels = (0u8..).zip(events).map(|(peer, mut events)| {
        let header = Header {
            node: ["A", "B"][usize::from(peer)].to_owned(),
            session: [1; 16],
            clock: ClockAnchor {
                boot_id: "boot".to_owned(),
                ..ClockAnchor::default()
            },
            wires: vec![WireText {
                name: "acked.wire".to_owned(),
                text: WIRE.to_owned(),
            }],
            ..Header::default()
        };
        let mut writer = ReelWriter::create(Vec::new(), &header).unwrap();
        let socket = SocketId(0);
        let mut number = 0;
        let mut push = |at_ms: u64, event| {
            let record = Record {
                number: EventNumber(number),
                time: Time(at_ms * 1_000_000),
                thread: ThreadId(0),
                event,
            };
            writer.push(&record).unwrap();
            number += 1;
        };
        let local = endpoint(peer);
        push(0, Event::SocketOpened { socket, local });
        events.sort_by_key(|&(at, ..)| at);
        let other = endpoint(1 - peer);
        for (at, is_send, payload) in &events {
            let event = match is_send {
                true => Event::Sent {
                    socket,
                    to: other,
                    payload,
                },
                false => Event::Received {
                    socket,
                    from: other,
                    payload,
                },
            };
            push(*at, event);
        }
        push(10_000, Event::PollEmpty { socket });
        let reel = Arc::new(Reel::from_bytes(writer.finish().unwrap()).unwrap());
        ReelInput {
            name: format!("{}.reel", header.node),
            reel,
        }
    });
    let session = Session::build(reels.collect(), None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(session.warnings(), Vec::<String>::new());
    let history = History::build(&session);
    let found = history.findings.iter();
    let told: Vec<(&str, &str)> = found.map(|it| (it.rule, it.sentence.as_str())).collect();
    let rules: Vec<&str> = told.iter().map(|&(rule, _)| rule).collect();
    assert_eq!(rules, expected, "{told:#?}");
}

#[test]
fn an_ack_names_what_had_not_come() {
    let sent = [says(0, 1, 0), lost(says(10, 2, 1)), says(20, 3, 2)];
    let again = says(500, 4, 1);
    let with = |ack| [sent[0], sent[1], sent[2], ack, again];
    check(&with(acks(100, 1, 3, 0b11)), &["ack-of-unreceived"]);
    check(&with(acks(100, 1, 3, 0b10)), &[]);
}

#[test]
fn what_comes_after_it_was_acked_had_not_come() {
    let late = Packet {
        received: Some(200),
        ..says(10, 2, 1)
    };
    let with = |ack| [says(0, 1, 0), late, says(20, 3, 2), ack];
    check(&with(acks(100, 1, 3, 0b11)), &["ack-of-unreceived"]);
    check(&with(acks(201, 1, 3, 0b11)), &[]);
}

#[test]
fn an_ack_before_anything_came_and_one_of_what_was_never_sent_say_nothing() {
    let zero = lost(says(0, 0, 0));
    check(&[zero, acks(5, 1, 0, 0), says(300, 1, 0)], &[]);
    check(&[says(0, 1, 0), acks(100, 1, 1, 0xFF)], &[]);
}

#[test]
fn an_ack_of_a_number_that_nobody_had_used() {
    let with = |ack: u8| {
        [
            says(0, 1, 0),
            says(10, 2, 1),
            acks(100, 1, ack, 0),
            says(300, 3, 2),
        ]
    };
    check(&with(5), &["ack-of-unsent"]);
    // The number is used later; and what comes before all that was sent stands for nothing.
    check(&with(3), &["ack-of-unsent"]);
    check(&with(2), &[]);
    check(&with(0), &[]);
}

/// A's packets from 1 to so many, fifty milliseconds apart, of which some are lost; B's go on.
fn silence(
    count: u8,
    is_lost: impl Fn(u8) -> bool,
    back_is_lost: impl Fn(u8) -> bool,
) -> Vec<Packet> {
    let there = (1..=count).map(|n| {
        let packet = Packet {
            place: None,
            ..says(u64::from(n) * 50, n, 0)
        };
        if is_lost(n) { lost(packet) } else { packet }
    });
    let back = (1..=count).map(|n| {
        let packet = acks(u64::from(n) * 50 + 5, n, 0, 0);
        if back_is_lost(n) {
            lost(packet)
        } else {
            packet
        }
    });
    there.chain(back).collect()
}

#[test]
fn a_link_is_silent_where_all_is_lost_for_a_second_and_both_ends_go_on() {
    let within = |from: u8, until: u8| move |n: u8| (from..=until).contains(&n);
    let never = |_: u8| false;
    // From the 10th to the 30th it is exactly a second.
    check(&silence(60, within(10, 30), never), &["silent-link"]);
    check(&silence(60, within(10, 29), never), &[]);
    check(&silence(60, |n| within(10, 30)(n) && n != 20, never), &[]);
    check(
        &silence(60, within(10, 30), within(10, 30)),
        &["silent-link"; 2],
    );
    // Who sends nothing afterwards may have gone.
    let mut gone = silence(60, |n| n >= 10, never);
    gone.retain(|packet| packet.from == A || packet.at < 600);
    check(&gone, &[]);
}

#[test]
fn a_place_of_a_stream_that_was_passed_over() {
    let row = |skips: bool| -> Vec<Packet> {
        let places = (1..=20u8).map(|n| says(u64::from(n) * 100, n, n + u8::from(skips && n >= 5)));
        places.collect()
    };
    check(&row(true), &["stream-gap"]);
    check(&row(false), &[]);
    // It is filled late; and it may still be filled.
    let filled = [row(true), vec![says(2_500, 21, 5)]].concat();
    check(&filled, &[]);
    check(&row(true)[..12], &[]);
}

/// A sends 24 packets, a tick apart, and B acks each; `denies` changes what it says of the last eight.
fn acked_in_turn(denies: impl Fn(u8, u8) -> u8) -> Vec<Packet> {
    let turn = |sequence: u8| {
        let at = u64::from(sequence) * 16;
        let all = 0xFFu8
            .checked_shr(9u32.saturating_sub(u32::from(sequence)))
            .unwrap_or(0);
        let bits = denies(sequence, all);
        [
            says(at, sequence, sequence - 1),
            acks(at + 61, sequence, sequence, bits),
        ]
    };
    (1..=24).flat_map(turn).collect()
}

#[test]
fn acks_pass_over_what_came() {
    let third = |ack: u8| 1u8.checked_shl(u32::from(ack.wrapping_sub(4))).unwrap_or(0);
    let never = |ack: u8, bits: u8| match ack {
        3 => bits,
        _ => bits & !third(ack),
    };
    // The ack of the third names it; so it is lost from B's memory, not from A's.
    check(&acked_in_turn(|_, bits| bits), &[]);
    check(&acked_in_turn(never), &["never-acked"]);
    let late = |ack: u8, bits: u8| match ack {
        11 => bits,
        _ => never(ack, bits),
    };
    check(&acked_in_turn(late), &[]);
}

#[test]
fn a_number_for_two_packets() {
    let row = [says(0, 1, 0), says(10, 2, 1), says(20, 3, 2)];
    let with = |rest: &[Packet]| [&row[..], rest].concat();
    let next = says(40, 4, 3);
    check(&with(&[says(30, 3, 3), next]), &["duplicate-sequence"]);
    check(&with(&[says(30, 3, 2), next]), &[]);
    // A row that starts again.
    let again = [
        says(30, 1, 3),
        says(40, 2, 4),
        says(50, 3, 5),
        says(60, 4, 6),
    ];
    check(&with(&again), &[]);
}

/// A's message, so many times, so many milliseconds apart, and what tells how long the way is.
fn copies(count: u8, apart: u64) -> Vec<Packet> {
    let copies = (1..=count).map(|copy| says(u64::from(copy) * apart, copy, 0));
    copies.chain([acks(0, 1, 0, 0)]).collect()
}

#[test]
fn a_message_again_and_again_within_a_round_trip() {
    check(&copies(12, 10), &["resend-storm"]);
    check(&copies(12, 150), &[]);
    check(&copies(6, 10), &[]);
}

#[test]
fn a_message_that_was_given_up() {
    let later = (3..30u8).map(|n| says(u64::from(n) * 300, n, n));
    let mut story: Vec<Packet> = later.collect();
    story.extend([says(0, 1, 0), acks(0, 1, 0, 0), lost(says(300, 2, 1))]);
    story.push(says(8_550, 30, 2));
    check(&story, &["reliable-not-delivered"]);
    story.push(lost(says(8_600, 31, 1)));
    check(&story, &[]);
}
