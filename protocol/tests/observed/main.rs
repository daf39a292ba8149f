//! Sessions that somebody watched without taking part.

mod ties;

use std::sync::Arc;

use netreel_protocol::history::History;
use netreel_protocol::session::{Packet, PacketId, ReelInput, Said, Session, SessionError};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter, SendOutcome,
    SocketId, ThreadId, Time, WireText,
};

/// A number, the newest number heard, and text.
const WIRE: &str = "wire w { byte_order = little; bit_order = lsb; root = P; }
    struct P { number: u8 @sequence; heard: u8 @ack; text: bytes(rest); }";

/// Keeps of each end what it said first.
const REMEMBERS: &str = "wire w { byte_order = little; bit_order = lsb; root = P; state = S; }
    state S { each sum: u32 = 0; }
    struct P { total: delta(u8, state.sum) @sequence; set state.sum = total; }";

fn at(port: u16) -> Endpoint {
    ([10, 0, 0, (port / 1000) as u8], port).into()
}

#[derive(Clone, Copy)]
enum What<'a> {
    /// At an interface, from, to.
    Seen(u16, u16, u16, &'a [u8]),
    Sent(u16, &'a [u8]),
    Received(u16, &'a [u8]),
    Cut(u64, u32),
    Missed(u64),
}
use What::{Cut, Missed, Received, Seen, Sent};

/// Who made a reel, and when its clock was at 0.
struct Maker<'a> {
    name: &'a str,
    /// The node's port; `None` for an observer.
    port: Option<u16>,
    boot: &'a str,
    utc_ns: i64,
    wire: &'a str,
}

const OBSERVER: Maker<'_> = Maker {
    name: "tap",
    port: None,
    boot: "",
    utc_ns: 0,
    wire: WIRE,
};

fn header(maker: &Maker<'_>) -> Header {
    Header {
        node: maker.name.to_owned(),
        engine: match maker.port {
            Some(_) => "engine".to_owned(),
            None => Header::OBSERVER.to_owned(),
        },
        clock: ClockAnchor {
            monotonic: Time(0),
            utc_ns: maker.utc_ns,
            boot_id: maker.boot.to_owned(),
        },
        wires: vec![WireText {
            name: "w.wire".to_owned(),
            text: maker.wire.to_owned(),
        }],
        ..Header::default()
    }
}

fn put(writer: &mut ReelWriter<Vec<u8>>, time: u64, event: Event<'_>) {
    let record = Record {
        number: writer.next_number(),
        time: Time(time),
        thread: ThreadId(0),
        event,
    };
    writer.push(&record).expect("an event");
}

fn input(maker: &Maker<'_>, writer: ReelWriter<Vec<u8>>) -> ReelInput {
    let bytes = writer.finish().expect("its bytes");
    ReelInput {
        name: format!("{}.reel", maker.name),
        reel: Arc::new(Reel::from_bytes(bytes).expect("the reel opens")),
    }
}

fn reel(maker: &Maker<'_>, events: &[(u64, What<'_>)]) -> ReelInput {
    let header = header(maker);
    let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
    let socket = SocketId(0);
    let mut push = |time: u64, thread: u16, event: Event<'_>| {
        let number = writer.next_number();
        let record = Record {
            number,
            time: Time(time),
            thread: ThreadId(thread),
            event,
        };
        writer.push(&record).expect("an event");
        number
    };
    if let Some(port) = maker.port {
        let local = at(port);
        push(0, 0, Event::SocketOpened { socket, local });
    }
    for &(time, what) in events {
        match what {
            Seen(interface, from, to, payload) => {
                let (from, to) = (at(from), at(to));
                push(time, interface, Event::Seen { from, to, payload });
            }
            Sent(to, payload) => {
                let to = at(to);
                let of = push(
                    time,
                    0,
                    Event::Sent {
                        socket,
                        to,
                        payload,
                    },
                );
                let outcome = SendOutcome::Sent;
                push(time, 0, Event::SendResult { of, outcome });
            }
            Received(from, payload) => {
                let from = at(from);
                let event = Event::Received {
                    socket,
                    from,
                    payload,
                };
                push(time, 0, event);
            }
            Cut(of, length) => {
                let of = EventNumber(of);
                push(time, 0, Event::Cut { of, length });
            }
            Missed(count) => {
                push(time, 0, Event::CaptureDrops { count });
            }
        }
    }
    let bytes = writer.finish().expect("its bytes");
    ReelInput {
        name: format!("{}.reel", maker.name),
        reel: Arc::new(Reel::from_bytes(bytes).expect("the reel opens")),
    }
}

fn session(reels: Vec<ReelInput>) -> Session {
    Session::builder()
        .build(reels)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn ids(session: &Session) -> impl Iterator<Item = PacketId> {
    (0..session.packet_count() as u32).map(PacketId)
}

/// What the wire says of a packet.
fn said(session: &Session, id: PacketId) -> Said {
    session.said(id).expect("the packet")
}

/// Each packet: its link, when it was sent, seen and received, and its fate.
fn story(session: &Session) -> Vec<String> {
    let line = |packet: Packet| {
        let at = |time: i64| time.to_string();
        let stamp = |stamp: Option<netreel_protocol::session::Stamp>| {
            stamp.map_or("-".to_owned(), |stamp| at(stamp.time.0))
        };
        let seen: Vec<String> = packet
            .seen
            .iter()
            .map(|seen| {
                format!(
                    "{}@{}",
                    at(seen.stamp.time.0),
                    session.observer_name(seen.observer)
                )
            })
            .collect();
        format!(
            "{} > {}: {} [{}] {} {:?}",
            session.name(packet.from),
            session.name(packet.to),
            stamp(packet.sent),
            seen.join(" "),
            stamp(packet.received),
            packet.fate
        )
    };
    session.packets().map(line).collect()
}

#[track_caller]
fn check(reels: Vec<ReelInput>, expected: &[&str]) -> Session {
    let session = session(reels);
    assert_eq!(story(&session), expected);
    session
}

#[test]
fn what_an_observer_saw_has_one_time_and_no_known_fate() {
    let tap = reel(
        &OBSERVER,
        &[
            (10, Seen(0, 1000, 2000, &[1, 0])),
            (20, Seen(0, 2000, 1000, &[1, 1])),
        ],
    );
    let session = check(
        vec![tap],
        &[
            "10.0.0.1:1000 > 10.0.0.2:2000: - [0@tap] - Unknown",
            "10.0.0.2:2000 > 10.0.0.1:1000: - [10@tap] - Unknown",
        ],
    );
    assert_eq!(session.nodes.len(), 2);
    assert!(session.nodes.iter().all(|node| !node.recorded && node.seen));
    assert_eq!(session.payload(PacketId(1)), Some(vec![1, 1]));
    assert!(session.decode(PacketId(1)).is_some());
}

#[test]
fn an_ack_that_was_seen_proves_that_a_packet_arrived() {
    let tap = reel(
        &OBSERVER,
        &[
            (10, Seen(0, 1000, 2000, &[7, 0])),
            (11, Seen(0, 1000, 2000, &[8, 0])),
            (35, Seen(0, 2000, 1000, &[1, 7])),
        ],
    );
    let session = session(vec![tap]);
    let history = History::build(&session);
    let acked = ids(&session).map(|id| Some(history.acked(&session, id)?.time.0));
    assert_eq!(acked.collect::<Vec<_>>(), [Some(25), None, None]);
    let link = history.links(&session).values().next().expect("a link");
    assert_eq!(
        (link.lost, link.latency_ns, link.rtt_ns),
        (0, None, Some((25, 25, 25)))
    );
}

#[test]
fn two_sightings_at_one_place_are_two_packets() {
    let again = Seen(0, 1000, 2000, b"same");
    check(
        vec![reel(&OBSERVER, &[(10, again), (20, again)])],
        &[
            "10.0.0.1:1000 > 10.0.0.2:2000: - [0@tap] - Unknown",
            "10.0.0.1:1000 > 10.0.0.2:2000: - [10@tap] - Unknown",
        ],
    );
}

#[test]
fn a_packet_that_passes_two_interfaces_is_counted_once() {
    let events = [
        (10, Seen(0, 1000, 2000, b"one")),
        (11, Seen(1, 1000, 2000, b"one")),
        (12, Seen(1, 1000, 2000, b"two")),
        (90, Seen(0, 1000, 2000, b"one")),
        (91, Seen(1, 1000, 2000, b"one")),
    ];
    check(
        vec![reel(&OBSERVER, &events)],
        &[
            "10.0.0.1:1000 > 10.0.0.2:2000: - [0@tap 1@tap] - Unknown",
            "10.0.0.1:1000 > 10.0.0.2:2000: - [2@tap] - Unknown",
            "10.0.0.1:1000 > 10.0.0.2:2000: - [80@tap 81@tap] - Unknown",
        ],
    );
}

#[test]
fn two_observers_of_one_packet_count_it_once() {
    let second = Maker {
        name: "far",
        ..OBSERVER
    };
    check(
        vec![
            reel(
                &OBSERVER,
                &[
                    (10, Seen(0, 1000, 2000, b"ping")),
                    (1010, Seen(0, 1000, 2000, b"ping")),
                    (2010, Seen(0, 1000, 2000, b"ping")),
                ],
            ),
            // This one came later: it is not the first that it saw.
            reel(
                &second,
                &[
                    (1020, Seen(0, 1000, 2000, b"ping")),
                    (2020, Seen(0, 1000, 2000, b"ping")),
                ],
            ),
        ],
        &[
            "10.0.0.1:1000 > 10.0.0.2:2000: - [0@tap] - Unknown",
            "10.0.0.1:1000 > 10.0.0.2:2000: - [1000@tap 1010@far] - Unknown",
            "10.0.0.1:1000 > 10.0.0.2:2000: - [2000@tap 2010@far] - Unknown",
        ],
    );
}

#[test]
fn an_observer_beside_recorded_nodes_adds_times_and_no_packets() {
    let node = |name, port| Maker {
        name,
        port: Some(port),
        boot: "one machine",
        ..OBSERVER
    };
    let tap = Maker {
        boot: "one machine",
        ..OBSERVER
    };
    let reels = vec![
        reel(
            &node("A", 1000),
            &[(10, Sent(2000, &[1, 0, 5])), (40, Sent(2000, &[2, 0, 5]))],
        ),
        reel(&node("B", 2000), &[(30, Received(1000, &[1, 0, 5]))]),
        reel(
            &tap,
            &[
                (20, Seen(0, 1000, 2000, &[1, 0, 5])),
                (50, Seen(0, 1000, 2000, &[2, 0, 5])),
                // Nobody recorded this client.
                (60, Seen(0, 3000, 2000, &[1, 0, 5])),
            ],
        ),
    ];
    let session = check(
        reels,
        &[
            "A > B: 10 [20@tap] 30 Received",
            "A > B: 40 [50@tap] - Unknown",
            "10.0.0.3:3000 > B: - [60@tap] - Unknown",
        ],
    );
    let recorded: Vec<bool> = session.nodes.iter().map(|node| node.recorded).collect();
    assert_eq!(recorded, [false, true, true]);
}

#[test]
fn a_packet_that_was_seen_and_never_received_is_lost() {
    let node = Maker {
        name: "B",
        port: Some(2000),
        boot: "one machine",
        ..OBSERVER
    };
    let tap = Maker {
        boot: "one machine",
        ..OBSERVER
    };
    check(
        vec![
            reel(
                &node,
                &[
                    (25, Received(1000, b"1.")),
                    (900_000_000, Received(1000, b"3.")),
                ],
            ),
            reel(
                &tap,
                &[
                    (20, Seen(0, 1000, 2000, b"1.")),
                    (30, Seen(0, 1000, 2000, b"2.")),
                    (899_999_990, Seen(0, 1000, 2000, b"3.")),
                ],
            ),
        ],
        &[
            "10.0.0.1:1000 > B: - [20@tap] 25 Received",
            "10.0.0.1:1000 > B: - [30@tap] - Lost",
            "10.0.0.1:1000 > B: - [899999990@tap] 900000000 Received",
        ],
    );
}

#[test]
fn an_observers_clock_is_tied_by_the_packets_that_it_saw() {
    let node = Maker {
        name: "A",
        port: Some(1000),
        boot: "a machine",
        ..OBSERVER
    };
    // Its calendar is an hour off.
    let tap = Maker {
        utc_ns: 3_600_000_000_000,
        ..OBSERVER
    };
    let session = check(
        vec![
            reel(
                &node,
                &[(100, Sent(2000, b"to")), (200, Received(2000, b"fro"))],
            ),
            reel(
                &tap,
                &[
                    (1010, Seen(0, 1000, 2000, b"to")),
                    (1090, Seen(0, 2000, 1000, b"fro")),
                ],
            ),
        ],
        &[
            "A > 10.0.0.2:2000: 100 [110@tap] - Unknown",
            "10.0.0.2:2000 > A: - [190@tap] 200 Received",
        ],
    );
    assert_eq!(session.observers[0].clock_error_ns, 10);
}

#[test]
fn what_was_cut_and_missed_is_told() {
    let tap = reel(
        &OBSERVER,
        &[
            (10, Seen(0, 1000, 2000, &[1, 0, 9])),
            (10, Cut(0, 500)),
            (20, Missed(3)),
        ],
    );
    let session = session(vec![tap]);
    let packet = session.packet(PacketId(0)).expect("the packet");
    assert_eq!((packet.length, packet.cut), (500, Some(3)));
    let said = |words: &str| session.warnings().iter().any(|it| it.contains(words));
    assert!(
        said("kept only the first bytes of 1 packet"),
        "{:?}",
        session.warnings()
    );
    assert!(said("missed 3 packets"), "{:?}", session.warnings());
}

#[test]
fn what_a_wire_keeps_is_kept_apart_for_each_connection_that_passes() {
    let tap = Maker {
        wire: REMEMBERS,
        ..OBSERVER
    };
    let events = [
        (1, Seen(0, 1000, 2000, &[5])),
        (2, Seen(0, 3000, 2000, &[1])),
        (3, Seen(0, 2000, 1000, &[9])),
        (4, Seen(0, 1000, 2000, &[1])),
        // The same, seen at another interface.
        (5, Seen(1, 1000, 2000, &[1])),
        (6, Seen(0, 3000, 2000, &[1])),
        (7, Seen(0, 2000, 1000, &[1])),
    ];
    let session = session(vec![reel(&tap, &events)]);
    let sums: Vec<(String, Option<u64>)> = ids(&session)
        .zip(session.packets())
        .map(|(id, packet)| {
            let sequence = said(&session, id).sequence;
            let value = sequence.map(|sequence| sequence.value);
            (session.name(packet.from), value)
        })
        .collect();
    let of = |name: &str| -> Vec<Option<u64>> {
        let ours = sums.iter().filter(|(from, _)| from == name);
        ours.map(|(_, sum)| *sum).collect()
    };
    assert_eq!(of("10.0.0.1:1000"), [Some(5), Some(6)]);
    assert_eq!(of("10.0.0.2:2000"), [Some(9), Some(10)]);
    assert_eq!(of("10.0.0.3:3000"), [Some(1), Some(2)]);
    for id in ids(&session) {
        let decoded = session.decode(id).expect("a wire");
        assert_eq!(
            decoded.facts.sequence,
            said(&session, id).sequence,
            "{id:?}"
        );
    }
}

#[test]
fn a_look_at_a_packet_knows_the_interface_that_saw_it() {
    let wire = "wire w { byte_order = little; bit_order = lsb; root = P; }
        struct P { if (from_first()) { asked: u8 @sequence; } else { answered: u8 @ack; } }";
    let tap = Maker { wire, ..OBSERVER };
    // The second interface came later, and saw the answer first.
    let events = [
        (1, Seen(0, 1000, 2000, &[5])),
        (2, Seen(1, 2000, 1000, &[6])),
        (3, Seen(1, 1000, 2000, &[7])),
    ];
    let session = session(vec![reel(&tap, &events)]);
    for id in ids(&session) {
        let facts = session.decode(id).expect("a wire").facts;
        let known = said(&session, id);
        assert_eq!(
            (facts.sequence, facts.ack),
            (known.sequence, known.ack),
            "{id:?}"
        );
    }
}
