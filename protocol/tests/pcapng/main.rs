//! Sessions made by hand, written as pcapng and read back by the reader of captures.

mod any;
mod proxied;

use std::net::SocketAddr;
use std::sync::Arc;

use netreel_capture::pcap::{Ending, UdpPayload, UdpPayloads};
use netreel_protocol::export::{Frames, Naming, PcapngOptions, PcapngSummary, pcapng};
use netreel_protocol::history::History;
use netreel_protocol::session::{PacketId, ReelInput, Session};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, EventNumber, FaultVerdict, Header, Record, Reel, ReelWriter,
    SendOutcome, SocketId, ThreadId, Time,
};
use proptest::prelude::*;

const UTC_NS: i64 = 1_700_000_000_123_456_789;

#[derive(Clone, Debug)]
enum Happened {
    Opened(u16, SocketAddr),
    /// By this socket.
    SentBy(u16, SocketAddr, Vec<u8>),
    Sent(SocketAddr, Vec<u8>, SendOutcome),
    Received(SocketAddr, Vec<u8>),
    Dropped(u64),
    Tick,
}

/// The reel of a node: its socket, and what happened when, in ns from its anchor.
fn reel(node: &str, local: SocketAddr, events: &[(u64, Happened)]) -> Reel {
    let header = Header {
        node: node.to_owned(),
        session: [1; 16],
        clock: ClockAnchor {
            monotonic: Time(1_000),
            utc_ns: UTC_NS,
            boot_id: "boot".to_owned(),
        },
        ..Header::default()
    };
    let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
    let socket = SocketId(0);
    let mut number = 0;
    let mut push = |time: u64, event: Event<'_>| {
        let record = Record {
            number: EventNumber(number),
            time: Time(1_000 + time),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).expect("an event");
        number += 1;
        EventNumber(number - 1)
    };
    push(0, Event::SocketOpened { socket, local });
    for (time, event) in events {
        match event {
            Happened::Sent(to, payload, outcome) => {
                let (to, payload, outcome) = (*to, payload.as_slice(), *outcome);
                let of = push(
                    *time,
                    Event::Sent {
                        socket,
                        to,
                        payload,
                    },
                );
                push(*time, Event::SendResult { of, outcome });
            }
            Happened::Opened(socket, local) => {
                let (socket, local) = (SocketId(*socket), *local);
                push(*time, Event::SocketOpened { socket, local });
            }
            Happened::SentBy(socket, to, payload) => {
                let (socket, to, payload) = (SocketId(*socket), *to, payload.as_slice());
                push(
                    *time,
                    Event::Sent {
                        socket,
                        to,
                        payload,
                    },
                );
            }
            Happened::Received(from, payload) => {
                let (from, payload) = (*from, payload.as_slice());
                push(
                    *time,
                    Event::Received {
                        socket,
                        from,
                        payload,
                    },
                );
            }
            Happened::Dropped(count) => {
                push(*time, Event::Dropped { count: *count });
            }
            Happened::Tick => {
                let time_of_game = Time(5);
                push(
                    *time,
                    Event::Tick {
                        tick: 3,
                        time: time_of_game,
                    },
                );
            }
        }
    }
    Reel::from_bytes(writer.finish().expect("its bytes")).expect("the reel opens")
}

fn session(reels: Vec<Reel>) -> (Session, History) {
    let inputs = reels.into_iter().map(|reel| ReelInput {
        name: format!("{}.reel", reel.header().node),
        reel: Arc::new(reel),
    });
    let session = Session::builder()
        .build(inputs.collect())
        .expect("a session");
    let history = History::build(&session);
    (session, history)
}

fn export(reels: Vec<Reel>, options: PcapngOptions) -> (Vec<u8>, PcapngSummary) {
    let (session, history) = session(reels);
    let mut bytes = Vec::new();
    let summary = pcapng(&session, &history, options, &mut |_| true, &mut bytes);
    (bytes, summary.expect("memory takes all"))
}

/// What the reader of captures finds; the file is whole, and every frame a datagram.
fn read(bytes: &[u8]) -> Vec<UdpPayload> {
    let mut reader = UdpPayloads::new(bytes).expect("a capture");
    let found: Vec<UdpPayload> = reader.by_ref().collect();
    assert!(
        matches!(reader.ending(), Ending::Whole),
        "{:?}",
        reader.ending()
    );
    let counts = reader.counts();
    assert_eq!(
        (counts.frames, counts.broken_blocks),
        (found.len() as u64, 0),
        "{counts:?}"
    );
    found
}

fn at(text: &str) -> SocketAddr {
    text.parse().expect("an endpoint")
}

/// The texts of all comments, as they stand in the file.
fn comments(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn says(bytes: &[u8], sentence: &str) {
    assert!(comments(bytes).contains(sentence), "{:?}", comments(bytes));
}

fn sent(to: &str, payload: &[u8]) -> Happened {
    Happened::Sent(at(to), payload.to_vec(), SendOutcome::Sent)
}

fn received(from: &str, payload: &[u8]) -> Happened {
    Happened::Received(at(from), payload.to_vec())
}

fn options(frames: Frames) -> PcapngOptions {
    PcapngOptions {
        frames,
        ..PcapngOptions::default()
    }
}

/// Two nodes, one packet each way.
fn pair() -> Vec<Reel> {
    let (a, b) = ("10.0.0.1:1", "10.0.0.2:2");
    vec![
        reel(
            "A",
            at(a),
            &[(10, sent(b, b"ping")), (40, received(b, b"pong"))],
        ),
        reel(
            "B",
            at(b),
            &[(20, received(a, b"ping")), (30, sent(a, b"pong"))],
        ),
    ]
}

#[test]
fn a_packet_has_a_frame_at_each_end_in_the_order_of_time() {
    let (bytes, summary) = export(pair(), PcapngOptions::default());
    let found = read(&bytes);
    let told: Vec<(u64, &str, &[u8])> = found
        .iter()
        .map(|each| (each.time - UTC_NS as u64, "", each.payload.as_slice()))
        .collect();
    let expected: [(u64, &str, &[u8]); 4] = [
        (10, "", b"ping"),
        (20, "", b"ping"),
        (30, "", b"pong"),
        (40, "", b"pong"),
    ];
    assert_eq!(told, expected);
    assert_eq!(summary.frames, 4);
    assert_eq!(
        (found[0].source, found[0].destination),
        (at("10.0.0.1:1"), at("10.0.0.2:2"))
    );
}

#[test]
fn which_ends_have_a_frame_can_be_chosen() {
    let times = |frames| -> Vec<u64> {
        let (bytes, _) = export(pair(), options(frames));
        read(&bytes)
            .iter()
            .map(|each| each.time - UTC_NS as u64)
            .collect()
    };
    assert_eq!(times(Frames::Sent), [10, 30]);
    assert_eq!(times(Frames::Received), [20, 40]);
    assert_eq!(times(Frames::Once), [10, 30]);
}

#[test]
fn what_one_end_alone_recorded_is_there_once() {
    let one = || pair().into_iter().take(1).collect();
    let (bytes, _) = export(one(), options(Frames::Once));
    assert_eq!(read(&bytes).len(), 2);
}

#[test]
fn a_filter_keeps_what_fits() {
    let (session, history) = session(pair());
    let mut bytes = Vec::new();
    let mut keep = |packet: PacketId| packet == PacketId(1);
    pcapng(
        &session,
        &history,
        PcapngOptions::default(),
        &mut keep,
        &mut bytes,
    )
    .expect("bytes");
    let payloads: Vec<Vec<u8>> = read(&bytes).into_iter().map(|each| each.payload).collect();
    assert_eq!(payloads, [b"pong", b"pong"]);
}

#[test]
fn a_socket_at_every_address_has_the_one_that_its_peer_saw() {
    let reels = vec![
        reel(
            "A",
            at("0.0.0.0:1"),
            &[(10, sent("10.0.0.2:2", b"a packet of A"))],
        ),
        reel(
            "B",
            at("10.0.0.2:2"),
            &[(20, received("10.0.0.1:1", b"a packet of A"))],
        ),
    ];
    let (bytes, _) = export(reels, PcapngOptions::default());
    assert!(
        read(&bytes)
            .iter()
            .all(|each| each.source == at("10.0.0.1:1"))
    );
}

#[test]
fn a_socket_at_every_address_that_talks_to_loopback_is_there_too() {
    for (local, peer, expected) in [
        ("0.0.0.0:1", "127.0.0.1:2", "127.0.0.1:1"),
        ("[::]:1", "[::1]:2", "[::1]:1"),
        ("[::]:1", "[::ffff:127.0.0.1]:2", "127.0.0.1:1"),
        ("0.0.0.0:1", "10.0.0.2:2", "0.0.0.0:1"),
    ] {
        let reels = vec![reel("A", at(local), &[(10, sent(peer, b"x"))])];
        let (bytes, _) = export(reels, PcapngOptions::default());
        assert_eq!(read(&bytes)[0].source, at(expected), "{local} to {peer}");
    }
}

#[test]
fn a_socket_that_its_first_send_binds_has_its_port_from_the_start() {
    let (to, unbound) = (at("127.0.0.1:7"), at("0.0.0.0:0"));
    let events = [
        (10, Happened::Opened(1, unbound)),
        (11, Happened::SentBy(1, to, b"first".to_vec())),
        (12, Happened::Opened(2, unbound)),
        (13, Happened::SentBy(2, to, b"one only".to_vec())),
        (14, Happened::Opened(1, at("0.0.0.0:45026"))),
        (15, Happened::SentBy(1, to, b"second".to_vec())),
    ];
    let (bytes, _) = export(vec![reel("A", to, &events)], options(Frames::Sent));
    let ports: Vec<u16> = read(&bytes).iter().map(|each| each.source.port()).collect();
    assert_eq!(ports, [45026, 0, 45026], "0: the reel never tells");
}

#[test]
fn a_scope_is_no_part_of_a_packet() {
    let scoped = SocketAddr::V6(std::net::SocketAddrV6::new(
        "fe80::1".parse().expect("an address"),
        1,
        0,
        3,
    ));
    let reels = vec![reel("A", scoped, &[(10, sent("[fe80::2]:2", b"x"))])];
    let (bytes, _) = export(reels, PcapngOptions::default());
    assert_eq!(read(&bytes)[0].source, at("[fe80::1]:1"));
}

#[test]
fn nodes_on_one_machine_can_have_addresses_of_their_own() {
    let reels = || {
        let (a, b) = ("127.0.0.1:1", "127.0.0.1:2");
        vec![
            reel("A", at(a), &[(10, sent(b, b"ping"))]),
            reel("B", at(b), &[(20, received(a, b"ping"))]),
        ]
    };
    let (_, summary) = export(reels(), PcapngOptions::default());
    assert!(summary.warnings[0].starts_with("A and B share the address 127.0.0.1"));
    let own = PcapngOptions {
        naming: Naming::ByNode,
        ..PcapngOptions::default()
    };
    let (bytes, summary) = export(reels(), own);
    assert_eq!(summary.warnings, [] as [String; 0]);
    for frame in read(&bytes) {
        assert_eq!(
            (frame.source, frame.destination),
            (at("198.18.0.1:1"), at("198.18.0.2:2"))
        );
    }
}

#[test]
fn a_send_that_failed_says_why() {
    let failed = |outcome| Happened::Sent(at("10.0.0.2:2"), b"xyz".to_vec(), outcome);
    let events = [
        (10, failed(SendOutcome::Failed(111))),
        (20, failed(SendOutcome::Short(2))),
    ];
    let (bytes, summary) = export(
        vec![reel("A", at("10.0.0.1:1"), &events)],
        options(Frames::Both),
    );
    assert_eq!((summary.frames, summary.commented), (2, 2));
    says(
        &bytes,
        "[send failed] Connection refused (os error 111): it never left the node",
    );
    says(
        &bytes,
        "[send failed] only 2 bytes of the payload were taken",
    );
}

#[test]
fn what_was_lost_late_or_received_twice_says_so() {
    const MS: u64 = 1_000_000;
    let (a, b) = ("10.0.0.1:1", "10.0.0.2:2");
    let reels = vec![
        reel(
            "A",
            at(a),
            &[
                (10, sent(b, b"the first packet")),
                (20, sent(b, b"the second packet")),
                (30, sent(b, b"the third packet")),
                (5_000 * MS, Happened::Tick),
            ],
        ),
        reel(
            "B",
            at(b),
            &[
                (10 + 2 * MS, received(a, b"the third packet")),
                (10 + 7 * MS, received(a, b"the first packet")),
                (10 + 9 * MS, received(a, b"the first packet")),
                (5_000 * MS, Happened::Tick),
            ],
        ),
    ];
    let (bytes, summary) = export(reels, PcapngOptions::default());
    assert_eq!((summary.frames, summary.commented), (6, 3));
    says(&bytes, "[lost] B never received it");
    says(
        &bytes,
        "[late] 7.0 ms on its way from A; what A sent 20 ns later was here before it",
    );
    says(
        &bytes,
        "[duplicate] the same packet was received 2.0 ms before",
    );
}

#[test]
fn what_a_reel_lacks_is_said_at_the_next_packet() {
    let events = [
        (10, sent("10.0.0.2:2", b"x")),
        (1_010, Happened::Dropped(7)),
        (2_000, sent("10.0.0.2:2", b"y")),
    ];
    let (bytes, _) = export(
        vec![reel("A", at("10.0.0.1:1"), &events)],
        options(Frames::Both),
    );
    says(
        &bytes,
        "[hole] nothing was recorded for 1.0 µs before this: 7 events were dropped",
    );
}

#[test]
fn a_payload_that_no_packet_has_room_for_is_cut_and_says_so() {
    let payload: Vec<u8> = (0..70_000u32).map(|byte| byte as u8).collect();
    let events = [(
        10,
        Happened::Sent(at("10.0.0.2:2"), payload.clone(), SendOutcome::Failed(90)),
    )];
    let (bytes, _) = export(
        vec![reel("A", at("10.0.0.1:1"), &events)],
        options(Frames::Both),
    );
    assert_eq!(read(&bytes)[0].payload, payload[..65_507]);
    says(
        &bytes,
        "[cut] an IP packet has no room for the last 4493 bytes of the payload",
    );
}

#[test]
fn other_events_have_frames_when_asked_for() {
    let events = [(10, Happened::Tick), (20, sent("10.0.0.2:2", b"x"))];
    let extra = PcapngOptions {
        extra: true,
        ..PcapngOptions::default()
    };
    let (bytes, summary) = export(vec![reel("A", at("10.0.0.1:1"), &events)], extra);
    let mut reader = UdpPayloads::new(bytes.as_slice()).expect("a capture");
    assert_eq!(reader.by_ref().count(), 1);
    assert_eq!((summary.frames, reader.counts().not_udp), (3, 2));
    says(&bytes, "tick: tick 3, 0.000000 s of the game");
    says(&bytes, "socket-opened: socket 0 at 10.0.0.1:1");
}

#[test]
fn what_a_proxy_did_and_what_a_capture_lacks_is_said_at_the_packet() {
    let header = Header {
        node: "proxy".to_owned(),
        ..Header::default()
    };
    let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
    let (socket, local, from) = (SocketId(0), at("10.0.0.2:2"), at("10.0.0.1:1"));
    let of = EventNumber(2);
    let verdict = |verdict| Event::Fault { of, verdict };
    let events = [
        Event::SocketOpened { socket, local },
        Event::CaptureDrops { count: 17 },
        Event::Received {
            socket,
            from,
            payload: b"first bytes",
        },
        Event::Cut { of, length: 500 },
        verdict(FaultVerdict::Delayed { nanos: 12_000_000 }),
        verdict(FaultVerdict::Lost),
        Event::CaptureDrops { count: 1 },
    ];
    for (number, event) in (0..).zip(events) {
        let record = Record {
            number: EventNumber(number),
            time: Time(number),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).expect("an event");
    }
    let reel = Reel::from_bytes(writer.finish().expect("bytes")).expect("a reel");
    let (bytes, summary) = export(vec![reel], PcapngOptions::default());
    assert_eq!((summary.frames, summary.commented), (1, 1));
    says(&bytes, "[fault] the proxy held it back for 12.0 ms");
    says(&bytes, "[fault] the proxy dropped it");
    says(&bytes, "[hole] not captured before this: 17 packets");
    assert_eq!(comments(&bytes).matches("[hole]").count(), 1);
    says(&bytes, "1 packet was not captured");
    says(
        &bytes,
        "[cut] the recording holds the first bytes only: the payload had 500 bytes",
    );
    let found = read(&bytes);
    assert_eq!(
        (found[0].payload.as_slice(), found[0].destination),
        (&b"first bytes"[..], local)
    );
    // The interface's statistics: option 5, 8 bytes, all that were missed.
    let missed: Vec<u8> = [&[5u8, 0, 8, 0][..], &18u64.to_le_bytes()].concat();
    assert!(bytes.windows(missed.len()).any(|part| part == missed));
}

#[test]
fn a_frame_from_before_1970_is_told() {
    let mut header = Header {
        node: "A".to_owned(),
        ..Header::default()
    };
    header.clock.utc_ns = -5;
    let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
    let to = at("10.0.0.2:2");
    let event = Event::Sent {
        socket: SocketId(0),
        to,
        payload: b"x",
    };
    let record = Record {
        number: EventNumber(0),
        time: Time(0),
        thread: ThreadId(0),
        event,
    };
    writer.push(&record).expect("an event");
    let reel = Reel::from_bytes(writer.finish().expect("bytes")).expect("a reel");
    let (_, summary) = export(vec![reel], PcapngOptions::default());
    assert!(
        summary.warnings[0].starts_with("1 frame is from before 1970"),
        "{summary:?}"
    );
}

#[test]
fn what_a_reel_lacks_at_its_start_has_no_length() {
    let (bytes, _) = export(vec![proxied::proxy(5)], PcapngOptions::default());
    assert!(!comments(&bytes).contains("nothing was recorded for 0 ns"));
    says(
        &bytes,
        "[hole] the recording has a hole before this: 5 events could not be read",
    );
}
