//! Packets whose payloads are equal. Nothing here looks at a clock: there are so many packets that
//! work which grows as their number squared would not come to an end.

use netreel_protocol::history::History;
use netreel_protocol::session::{Fate, Packet, ReelInput, Session};

use crate::tape::{Tape, again};

/// How many packets a link has.
const COUNT: u64 = 50_000;

/// The same in every packet.
const KEEPALIVE: &[u8] = b"are you there?";

/// From one keepalive to the next.
const PERIOD: u64 = 1000;

/// After the last keepalive, longer than a packet may be on its way.
const END: u64 = COUNT * PERIOD + 10_000_000_000;

/// What A, at port 1, sends: each keepalive a period after the other.
fn sender(wire: &str) -> Tape {
    let mut a = Tape::node("A", 1, wire);
    (1..=COUNT).for_each(|n| a.sent(n * PERIOD, 2, KEEPALIVE));
    a
}

/// What B, at port 2, receives, and when.
fn receiver(wire: &str, times: impl Iterator<Item = u64>) -> Tape {
    let mut b = Tape::node("B", 2, wire);
    times.for_each(|time| b.received(time, 1, KEEPALIVE));
    b
}

/// What somebody between them sees, and when.
fn observer(wire: &str, times: impl Iterator<Item = u64>) -> Tape {
    let mut observer = Tape::observer("observer", wire);
    times.for_each(|time| observer.seen(time, (1, 2), KEEPALIVE));
    observer
}

fn session(tapes: impl IntoIterator<Item = Tape>) -> Session {
    let reels: Vec<ReelInput> = tapes.into_iter().map(|tape| tape.end(END)).collect();
    let session = Session::builder().build(again(&reels));
    session.unwrap_or_else(|error| panic!("{error}"))
}

/// When a packet was sent, seen, received, and received again.
#[derive(Debug, Default, PartialEq)]
struct Times {
    sent: Option<u64>,
    seen: Vec<u64>,
    received: Vec<u64>,
}

impl Times {
    fn of(packet: &Packet) -> Times {
        let again = packet.duplicates.iter();
        let received = packet.received.iter().chain(again);
        Times {
            sent: packet.sent.map(|sent| sent.time.0 as u64),
            seen: packet
                .seen
                .iter()
                .map(|seen| seen.stamp.time.0 as u64)
                .collect(),
            received: received.map(|stamp| stamp.time.0 as u64).collect(),
        }
    }
}

/// The packets of a session are these.
#[track_caller]
fn check(session: &Session, expected: impl Iterator<Item = Times>) {
    let mut expected = expected.enumerate();
    for packet in session.packets() {
        let (place, expected) = expected.next().expect("no more packets than that");
        assert_eq!(Times::of(&packet), expected, "packet {place}");
    }
    assert_eq!(expected.next(), None);
}

#[test]
fn keepalives_that_arrive_before_the_next_one_is_sent_are_told_apart() {
    let sent = |n| n * PERIOD;
    let session = session([sender(""), receiver("", (1..=COUNT).map(|n| sent(n) + 300))]);
    let packet = |n| Times {
        sent: Some(sent(n)),
        received: vec![sent(n) + 300],
        ..Times::default()
    };
    check(&session, (1..=COUNT).map(packet));
    let history = History::build(&session);
    let link = history.links(&session).values().next().expect("a link");
    assert_eq!((link.packets, link.lost, link.duplicated), (COUNT, 0, 0));
    assert_eq!(link.latency_ns, Some((300, 300, 300)));
}

#[test]
fn keepalives_that_are_on_their_way_together_take_as_long_as_those_before_them() {
    // Five are on their way at a time, and every tenth is lost, but neither the first nor the last.
    let arrival = |n: u64| (n % 10 != 5).then_some(n * PERIOD + 5 * PERIOD);
    let session = session([sender(""), receiver("", (1..=COUNT).filter_map(arrival))]);
    let packet = |n: u64| Times {
        sent: Some(n * PERIOD),
        received: arrival(n).into_iter().collect(),
        ..Times::default()
    };
    check(&session, (1..=COUNT).map(packet));
    let lost = session.packets().filter(|packet| packet.fate == Fate::Lost);
    assert_eq!(lost.count() as u64, COUNT / 10);
}

#[test]
fn what_arrives_again_before_the_next_keepalive_is_sent_is_a_duplicate() {
    let arrivals = |n| [200, 300, 900].map(|after| n * PERIOD + after);
    let session = session([sender(""), receiver("", (1..=COUNT).flat_map(arrivals))]);
    let packet = |n| Times {
        sent: Some(n * PERIOD),
        received: arrivals(n).to_vec(),
        ..Times::default()
    };
    check(&session, (1..=COUNT).map(packet));
}

#[test]
fn a_burst_of_copies_is_one_packet() {
    let mut a = Tape::node("A", 1, "");
    a.sent(PERIOD, 2, KEEPALIVE);
    let copies = || (2..=COUNT).map(|n| n * PERIOD);
    let session = session([a, receiver("", copies())]);
    let packet = Times {
        sent: Some(PERIOD),
        received: copies().collect(),
        ..Times::default()
    };
    check(&session, [packet].into_iter());
}

#[test]
fn bursts_of_copies_of_keepalives_go_to_the_last_one_that_was_sent() {
    // All keepalives arrive at once, and the last one many times more.
    let last = COUNT * PERIOD;
    let times = || (1..=2 * COUNT).map(|n| last + n);
    let session = session([sender(""), receiver("", times())]);
    let packet = |n| Times {
        sent: Some(n * PERIOD),
        received: match n {
            COUNT => times().skip(COUNT as usize - 1).collect(),
            _ => vec![last + n],
        },
        ..Times::default()
    };
    check(&session, (1..=COUNT).map(packet));
}

const NUMBERED: &str = "wire w { byte_order = little; bit_order = lsb; root = P; }
struct P { sequence: u8 @sequence; rest: u8[until end]; }";

#[test]
fn without_the_senders_reel_every_receipt_is_a_packet() {
    let times = || (1..=COUNT).map(|n| n * PERIOD);
    let packet = |time| Times {
        received: vec![time],
        ..Times::default()
    };
    check(&session([receiver("", times())]), times().map(packet));
}

#[test]
fn without_the_senders_reel_receipts_with_one_sequence_number_are_one_packet() {
    let times = || (1..=COUNT).map(|n| n * PERIOD);
    let packet = Times {
        received: times().collect(),
        ..Times::default()
    };
    let session = session([receiver(NUMBERED, times())]);
    check(&session, [packet].into_iter());
}

#[test]
fn keepalives_are_seen_between_their_ends() {
    let after = |after| (1..=COUNT).map(move |n| n * PERIOD + after);
    let tapes = [
        sender(""),
        observer("", after(100)),
        receiver("", after(300)),
    ];
    let packet = |n| Times {
        sent: Some(n * PERIOD),
        seen: vec![n * PERIOD + 100],
        received: vec![n * PERIOD + 300],
    };
    check(&session(tapes), (1..=COUNT).map(packet));
}

#[test]
fn keepalives_that_an_observer_missed_leave_the_others_where_they_were_seen() {
    let is_seen = |n: &u64| !n.is_multiple_of(3);
    let seen = (1..=COUNT).filter(is_seen).map(|n| n * PERIOD + 100);
    let received = (1..=COUNT).map(|n| n * PERIOD + 300);
    let tapes = [sender(""), observer("", seen), receiver("", received)];
    let packet = |n| Times {
        sent: Some(n * PERIOD),
        seen: is_seen(&n)
            .then_some(n * PERIOD + 100)
            .into_iter()
            .collect(),
        received: vec![n * PERIOD + 300],
    };
    check(&session(tapes), (1..=COUNT).map(packet));
}

#[test]
fn keepalives_that_only_an_observer_saw_are_one_packet_each() {
    let times = || (1..=COUNT).map(|n| n * PERIOD);
    let packet = |time| Times {
        seen: vec![time],
        ..Times::default()
    };
    check(&session([observer("", times())]), times().map(packet));
}
#[test]
fn what_was_seen_when_no_keepalive_was_on_its_way_is_a_packet_of_its_own() {
    let after = |after| (1..=COUNT).map(move |n| n * PERIOD + after);
    let tapes = [
        sender(""),
        receiver("", after(300)),
        observer("", after(500)),
    ];
    let packets = |n| {
        let known = Times {
            sent: Some(n * PERIOD),
            received: vec![n * PERIOD + 300],
            ..Times::default()
        };
        let other = Times {
            seen: vec![n * PERIOD + 500],
            ..Times::default()
        };
        [known, other]
    };
    check(&session(tapes), (1..=COUNT).flat_map(packets));
}
