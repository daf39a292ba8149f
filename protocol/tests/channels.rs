//! Channels, ack ranges, message acks and fragment ids, in sessions made by hand.

use std::sync::Arc;

use netreel_protocol::history::History;
use netreel_protocol::session::{MessageId, NodeId, PacketId, ReelInput, Session};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId,
    ThreadId, Time, WireText,
};

const HEAD: &str = "
wire tiny { byte_order = little; bit_order = lsb; root = Packet; }
enum Kind : u8 { data = 0, acked = 1 @ack, part = 2 @fragment }
struct Packet { sender: u8 @sender; sequence: u8 @sequence; messages: Message[until end]; }
";

/// Each channel has a reliable stream of its own; acks are messages.
const CHANNELS: &str = "
struct Message @message {
    kind: Kind @message_kind;
    channel: u8 @channel;
    if (kind == Kind.acked) { number: u8 @acknowledges; } else { sequence: u8 @reliable_sequence; }
    if (kind == Kind.part) {
        id: u8 @fragment_id; index: u8 @fragment_index; count: u8 @fragment_count;
        data: bytes(1) @fragment_data;
    }
}
";

/// One row of reliable numbers for the link, an order for each channel, and unordered messages.
const ORDERED: &str = "
struct Message @message {
    kind: Kind @message_kind;
    sequence: u8 @reliable_sequence;
    ordered: bool; pad: u7;
    if (ordered) { channel: u8 @channel; order: u8 @ordered_sequence; }
}
";

/// Acks as ranges.
const RANGES: &str = "
wire tiny { byte_order = little; bit_order = lsb; root = Packet; }
struct Packet { sender: u8 @sender; sequence: u8 @sequence; acks: Ack[until end]; }
struct Ack @ack_range { first: u8 @range_first; last: u8 @range_last; }
";

/// Node, time, whether it sends, and the packet after `sender`; the other node is the other end.
type Crossed<'a> = (u8, u64, bool, &'a [u8]);

/// What two nodes recorded, the packets with their senders put in front.
fn play(wire: &str, story: &[Crossed<'_>]) -> (Session, History) {
    let endpoint = |peer: u8| -> Endpoint { ([127, 0, 0, 1], 1 + u16::from(peer)).into() };
    let reels = (0u8..2).map(|peer| {
        let header = Header {
            node: ["A", "B"][usize::from(peer)].to_owned(),
            session: [1; 16],
            clock: ClockAnchor {
                boot_id: "boot".to_owned(),
                ..ClockAnchor::default()
            },
            wires: vec![WireText {
                name: "tiny.wire".to_owned(),
                text: wire.to_owned(),
            }],
            ..Header::default()
        };
        let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
        let (socket, thread) = (SocketId(0), ThreadId(0));
        let (local, other) = (endpoint(peer), endpoint(1 - peer));
        let mut events = vec![(0, Event::SocketOpened { socket, local })];
        let payloads: Vec<(u64, bool, Vec<u8>)> = story
            .iter()
            .filter(|(node, ..)| *node == peer)
            .map(|&(node, time, sends, rest)| {
                let sender = if sends { node } else { 1 - node };
                (time, sends, [&[sender], rest].concat())
            })
            .collect();
        for (time, sends, payload) in &payloads {
            let event = match sends {
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
            events.push((*time, event));
        }
        events.push((10_000_000_000, Event::PollEmpty { socket }));
        for (number, (time, event)) in (0..).zip(events) {
            let record = Record {
                number: EventNumber(number),
                time: Time(time),
                thread,
                event,
            };
            writer.push(&record).expect("an event");
        }
        let bytes = writer.finish().expect("a whole reel");
        ReelInput {
            name: format!("{}.reel", header.node),
            reel: Arc::new(Reel::from_bytes(bytes).expect("a reel")),
        }
    });
    let session = Session::builder()
        .build(reels.collect())
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(session.warnings(), Vec::<String>::new());
    let history = History::build(&session);
    (session, history)
}

/// When node B was handed each message, by the message's number.
fn handed(session: &Session, history: &History) -> Vec<(u32, i64)> {
    let b = session.nodes.iter().position(|node| node.name == "B");
    let b = NodeId(b.expect("there is a B") as u16);
    let deliveries = history.deliveries.iter().filter(|each| each.node == b);
    deliveries
        .map(|each| (each.message.0, each.at.time.0))
        .collect()
}

/// Which packets, by number, were acked, and when.
fn acked(session: &Session, history: &History) -> Vec<(u32, i64)> {
    let packets = 0..session.packet_count() as u32;
    let acked = packets.filter_map(|packet| {
        let at = history.acked(session, PacketId(packet))?;
        Some((packet, at.time.0))
    });
    acked.collect()
}

/// The bytes of the first message that travelled in fragments.
fn joined(session: &Session, history: &History) -> Vec<u8> {
    history.payload(session, &history.joined[0])
}

const DATA: u8 = 0;
const ACKED: u8 = 1;
const PART: u8 = 2;

#[test]
fn channels_do_not_wait_for_each_other() {
    let wire = format!("{HEAD}{CHANNELS}");
    let (session, history) = play(
        &wire,
        &[
            (0, 10, true, &[0, DATA, 7, 0]),
            (0, 20, true, &[1, DATA, 8, 0]),
            (0, 30, true, &[2, DATA, 7, 1]),
            (1, 120, false, &[1, DATA, 8, 0]),
            (1, 130, false, &[2, DATA, 7, 1]),
            (1, 140, false, &[0, DATA, 7, 0]),
        ],
    );
    assert_eq!(handed(&session, &history), [(1, 120), (0, 140), (2, 140)]);
    assert_eq!(history.undelivered, []);
}

#[test]
fn the_same_number_in_two_channels_is_no_copy() {
    let wire = format!("{HEAD}{CHANNELS}");
    let (_, history) = play(
        &wire,
        &[
            (0, 10, true, &[0, DATA, 7, 0]),
            (0, 20, true, &[1, DATA, 8, 0]),
            (0, 30, true, &[2, DATA, 7, 0]),
        ],
    );
    let copies: Vec<_> = history.resends().collect();
    assert_eq!(copies, [(MessageId(2), MessageId(0))]);
    let resend_of = [0, 1, 2].map(|message| history.resend_of(MessageId(message)));
    assert_eq!(resend_of, [None, None, Some(MessageId(0))]);
    assert_eq!(history.undelivered, [MessageId(0), MessageId(1)]);
}

#[test]
fn a_message_that_acknowledges_another_acks_its_packet() {
    let wire = format!("{HEAD}{CHANNELS}");
    let (session, history) = play(
        &wire,
        &[
            (0, 10, true, &[0, DATA, 7, 5]),
            (0, 20, true, &[1, DATA, 8, 5]),
            (0, 30, true, &[2, DATA, 8, 5]),
            (1, 130, false, &[2, DATA, 8, 5]),
            (1, 140, true, &[0, ACKED, 8, 5]),
            (0, 240, false, &[0, ACKED, 8, 5]),
        ],
    );
    // The copy that had been sent last, in that channel.
    assert_eq!(acked(&session, &history), [(2, 240)]);
}

#[test]
fn a_cumulative_ack_acks_all_before() {
    let wire = format!(
        "{HEAD}
struct Message @message {{
    kind: Kind @message_kind;
    if (kind == Kind.acked) {{ number: u8 @acknowledges_before; }}
    else {{ sequence: u8 @reliable_sequence; }}
}}
"
    );
    let (session, history) = play(
        &wire,
        &[
            (0, 10, true, &[0, 0, 254]),
            (0, 20, true, &[1, 0, 255]),
            (0, 30, true, &[2, 0, 0]),
            (0, 40, true, &[3, 0, 1]),
            (1, 130, true, &[0, 1, 0]),
            (0, 230, false, &[0, 1, 0]),
            (1, 240, true, &[1, 1, 1]),
            (0, 340, false, &[1, 1, 1]),
        ],
    );
    assert_eq!(acked(&session, &history), [(0, 230), (1, 230), (2, 340)]);
}

#[test]
fn fragments_with_an_id_come_in_any_order() {
    let wire = format!("{HEAD}{CHANNELS}");
    // Joined: one data message of channel 9 with number 0.
    let parts: [&[u8]; 3] = [
        &[0, PART, 7, 0, 42, 0, 3, DATA],
        &[1, PART, 7, 1, 42, 1, 3, 9],
        &[2, PART, 7, 2, 42, 2, 3, 0],
    ];
    let (session, history) = play(
        &wire,
        &[
            (0, 10, true, parts[1]),
            (0, 20, true, parts[0]),
            (0, 30, true, parts[2]),
            (1, 110, false, parts[1]),
            (1, 120, false, parts[0]),
            (1, 130, false, parts[2]),
        ],
    );
    let [joined] = &history.joined[..] else {
        panic!("{:?}", history.joined)
    };
    assert_eq!(history.payload(&session, joined), [DATA, 9, 0]);
    assert_eq!(joined.facts.channel, Some(9));
    let [(_, at)] = handed(&session, &history)[..] else {
        panic!("the whole is handed over once")
    };
    assert_eq!(at, 130);
}

#[test]
fn what_is_joined_to_no_message_says_nothing() {
    let wire = format!("{HEAD}{CHANNELS}");
    let (session, history) = play(&wire, &[(0, 10, true, &[0, PART, 7, 0, 42, 0, 1, ACKED])]);
    assert_eq!(joined(&session, &history), [ACKED]);
    assert_eq!(history.joined[0].facts.kind, None);
}

#[test]
fn an_order_of_its_own_holds_back_only_its_channel() {
    let wire = format!("{HEAD}{ORDERED}");
    let (session, history) = play(
        &wire,
        &[
            (0, 10, true, &[0, DATA, 0, 1, 7, 0]),
            (0, 20, true, &[1, DATA, 1, 0]),
            (0, 30, true, &[2, DATA, 2, 1, 7, 1]),
            (0, 40, true, &[3, DATA, 3, 1, 8, 0]),
            (1, 120, false, &[1, DATA, 1, 0]),
            (1, 130, false, &[2, DATA, 2, 1, 7, 1]),
            (1, 140, false, &[3, DATA, 3, 1, 8, 0]),
            (1, 150, false, &[0, DATA, 0, 1, 7, 0]),
        ],
    );
    let handed = handed(&session, &history);
    assert_eq!(handed, [(1, 120), (3, 140), (0, 150), (2, 150)]);
    assert_eq!(history.undelivered, []);
}

#[test]
fn a_copy_of_an_unordered_message_is_handed_over_once() {
    let wire = format!("{HEAD}{ORDERED}");
    let (session, history) = play(
        &wire,
        &[
            (0, 10, true, &[0, DATA, 0, 1, 7, 0]),
            (0, 20, true, &[1, DATA, 1, 0]),
            (0, 30, true, &[2, DATA, 1, 0]),
            (1, 120, false, &[1, DATA, 1, 0]),
            (1, 130, false, &[2, DATA, 1, 0]),
        ],
    );
    assert_eq!(handed(&session, &history), [(1, 120)]);
    assert_eq!(history.undelivered, [MessageId(0)]);
}

#[test]
fn ranges_ack_all_that_lies_in_them() {
    let (session, history) = play(
        RANGES,
        &[
            (0, 10, true, &[254]),
            (0, 20, true, &[255]),
            (0, 30, true, &[0]),
            (0, 40, true, &[1]),
            (0, 50, true, &[2]),
            (1, 120, true, &[9, 255, 0, 2, 2]),
            (0, 220, false, &[9, 255, 0, 2, 2]),
        ],
    );
    assert_eq!(acked(&session, &history), [(1, 220), (2, 220), (4, 220)]);
}

#[test]
fn fragments_of_the_games_own_bytes_are_joined_and_say_nothing() {
    let head = HEAD.replace("root = Packet;", "root = Packet; joined = Payload;");
    let wire = format!("{head}{CHANNELS} struct Payload {{ data: u8[until end]; }}");
    let (session, history) = play(
        &wire,
        &[
            (0, 10, true, &[0, PART, 7, 0, 42, 0, 2, 5]),
            (0, 20, true, &[1, PART, 7, 1, 42, 1, 2, 6]),
            (1, 110, false, &[0, PART, 7, 0, 42, 0, 2, 5]),
            (1, 120, false, &[1, PART, 7, 1, 42, 1, 2, 6]),
        ],
    );
    assert_eq!(joined(&session, &history), [5, 6]);
    assert_eq!(handed(&session, &history), [(1, 120)]);
}

/// Each channel promises something else; the last one is not reliable.
const PROMISES: &str = "
struct Message @message {
    kind: Kind @message_kind;
    channel: u8 @channel;
    switch (channel) {
        0 => ordered: u8 @reliable_sequence(ordered);
        1 => unordered: u8 @reliable_sequence(unordered);
        2 => sequenced: u8 @reliable_sequence(sequenced);
        default => newest: u8 @ordered_sequence(sequenced);
    }
}
";

/// When what three messages of a channel say was handed over, of which the first comes last, and once
/// more behind that.
#[track_caller]
fn check_promise(channel: u8, expected: &[(u32, i64)], undelivered: &[u32]) {
    let wire = format!("{HEAD}{PROMISES}");
    let story: [Crossed<'_>; 8] = [
        (0, 10, true, &[0, DATA, channel, 255]),
        (0, 20, true, &[1, DATA, channel, 0]),
        (0, 30, true, &[2, DATA, channel, 1]),
        (0, 40, true, &[3, DATA, channel, 2]),
        (1, 120, false, &[1, DATA, channel, 0]),
        (1, 130, false, &[2, DATA, channel, 1]),
        (1, 140, false, &[0, DATA, channel, 255]),
        (1, 150, false, &[0, DATA, channel, 255]),
    ];
    let (session, history) = play(&wire, &story);
    assert_eq!(handed(&session, &history), expected);
    let undelivered: Vec<_> = undelivered.iter().copied().map(MessageId).collect();
    assert_eq!(history.undelivered, undelivered);
}

#[test]
fn an_ordered_stream_waits_for_what_stands_before() {
    check_promise(0, &[(0, 140), (1, 140), (2, 140)], &[3]);
}

#[test]
fn an_unordered_stream_hands_over_what_comes_and_nothing_twice() {
    check_promise(1, &[(1, 120), (2, 130), (0, 140)], &[3]);
}

#[test]
fn a_sequenced_stream_drops_what_comes_behind_a_newer_one() {
    check_promise(2, &[(1, 120), (2, 130)], &[3]);
    // What is not reliable is not missed.
    check_promise(3, &[(1, 120), (2, 130)], &[]);
}

#[test]
fn fragments_of_an_unordered_stream_make_a_whole_when_the_last_has_come() {
    let wire = format!(
        "{HEAD}
struct Message @message {{
    kind: Kind @message_kind;
    sequence: u8 @reliable_sequence(unordered);
    if (kind == Kind.part) {{
        index: u8 @fragment_index; count: u8 @fragment_count; data: bytes(1) @fragment_data;
    }}
}}
"
    );
    // Joined: a data message with number 9.
    let (session, history) = play(
        &wire,
        &[
            (0, 10, true, &[0, PART, 4, 0, 2, DATA]),
            (0, 20, true, &[1, PART, 5, 1, 2, 9]),
            (1, 120, false, &[1, PART, 5, 1, 2, 9]),
            (1, 140, false, &[0, PART, 4, 0, 2, DATA]),
        ],
    );
    assert_eq!(joined(&session, &history), [DATA, 9]);
    assert_eq!(handed(&session, &history), [(0, 140)]);
}
