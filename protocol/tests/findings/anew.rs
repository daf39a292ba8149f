//! Findings over numbers that begin anew, or do not suffice, in sessions of a tiny protocol.

use netreel_protocol::export;
use netreel_protocol::session::PacketId;
use netreel_protocol::why::Why;

use crate::reels::{Happened, Made, Node};

/// Numbered packets with one message each: a handshake, a reliable one, or a part of a split one.
const WIRE: &str = "
wire anew { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
enum Kind : u8 { hello = 0 @connect, rpc = 1 @rpc, part = 2 @fragment, came = 3 @ack, bye = 4 @disconnect }
struct Packet { sender: u8 @sender; number: u8 @sequence; messages: Message[1]; }
struct Message @message {
    kind: Kind @message_kind;
    switch (kind) {
        Kind.rpc => { place: u8 @reliable_sequence; said: u8; }
        Kind.part => part: Part;
        Kind.came => acked: u8 @acknowledges;
        default => {}
    }
}
struct Part {
    id: u8 @fragment_id; index: u8 @fragment_index; of: u8 @fragment_count;
    data: bytes(1) @fragment_data;
}
";

/// What a packet says, after the number of its sender: its own number, and its message.
type Said = (u64, u8, Vec<u8>);

/// A session of ten seconds: what A says, and what B says, each at a time in ms; each packet takes 10 ms.
fn made(a: &[Said], b: &[Said]) -> Made {
    let way = |all: &[Said]| -> Vec<Bytes> {
        let bytes = |(at, number, message): &Said| (*at, 10, [&[*number], &message[..]].concat());
        all.iter().map(bytes).collect()
    };
    of_bytes(WIRE, [&way(a), &way(b)], true)
}

/// What a packet is: when it is sent, how long it takes, both in ms, and its bytes.
type Bytes = (u64, u64, Vec<u8>);

/// A session of ten seconds of what A sends, and what B does; each packet begins with the number of who
/// sends it, or not.
fn of_bytes(wire: &str, stories: [&[Bytes]; 2], with_sender: bool) -> Made {
    let mut events: [Vec<(u64, Happened)>; 2] = Default::default();
    for (from, story) in stories.into_iter().enumerate() {
        for (at, late, rest) in story {
            let sender = [from as u8];
            let sender = if with_sender { &sender[..] } else { &[] };
            let bytes = [sender, rest.as_slice()].concat();
            let port = |node: usize| 1 + node as u16;
            let sent = Happened::Sent(port(1 - from), bytes.clone());
            events[from].push((at * 1_000_000, sent));
            let received = Happened::Received(port(from), bytes);
            events[1 - from].push(((at + late) * 1_000_000, received));
        }
    }
    let nodes = (0u16..).zip(events).map(|(node, mut events)| {
        events.sort_by_key(|&(at, _)| at);
        Node {
            name: ["A", "B"][usize::from(node)].to_owned(),
            boot: "boot".to_owned(),
            port: 1 + node,
            events,
            span: (0, 10_000_000_000),
        }
    });
    Made::new(wire, nodes.collect())
}

fn hello() -> Vec<u8> {
    vec![0]
}

fn rpc(place: u8, said: u8) -> Vec<u8> {
    vec![1, place, said]
}

fn part((id, index, of): (u8, u8, u8), data: u8) -> Vec<u8> {
    vec![2, id, index, of, data]
}

/// A connects, sends this many messages, and connects once more with a packet of this number; then it sends
/// three messages, counted from 0.
pub fn again(messages: u8, number: u8) -> Made {
    let mut all: Vec<Said> = vec![(0, 0, hello())];
    all.extend((0..messages).map(|it| (10 + u64::from(it) * 10, 1 + it, rpc(it, it))));
    all.push((2000, number, hello()));
    all.extend((0..3u8).map(|it| {
        (
            2010 + u64::from(it) * 10,
            number + 1 + it,
            rpc(it, 100 + it),
        )
    }));
    made(&all, &[])
}

/// A sends 40 messages, and begins again with the numbers of the first packet and of the first message,
/// without a handshake. What it says then is off by this much from what it said before.
pub fn again_silently(off: u8) -> Made {
    let before = (0..40u8).map(|it| (u64::from(it) * 10, it, rpc(it, it)));
    let after = (0..5u8).map(|it| (2000 + u64::from(it) * 10, it, rpc(it, it + off)));
    made(&before.chain(after).collect::<Vec<_>>(), &[])
}

/// Each packet has a number, of which the wire does not say what it is.
const COUNTED: &str = "
wire counted { byte_order = little; bit_order = lsb; root = Packet; }
struct Packet { number: u32; filler: bytes(4); }
";

/// Somebody at port 1 sends B 40 packets, 10 ms apart. So many ms after that port fell silent port 3
/// begins, with a packet of this number. B answers port 1, and this many times more from then on.
pub fn moved(number: u32, pause: u64, more: u64) -> Made {
    let counted = |number: u32, filler: u8| [&number.to_le_bytes()[..], &[filler; 4]].concat();
    let mut events: Vec<(u64, Happened)> = Vec::new();
    for at in 0..40u32 {
        events.push((u64::from(at) * 10, Happened::Received(1, counted(at, 1))));
        events.push((u64::from(at) * 10 + 1, Happened::Sent(1, counted(at, 2))));
    }
    let begins = 390 + pause;
    for at in 0..40u32 {
        let received = Happened::Received(3, counted(number + at, 1));
        events.push((begins + u64::from(at) * 10, received));
    }
    for at in 0..more {
        let sent = Happened::Sent(1, counted(40 + at as u32, 2));
        events.push((begins + 5 + at * 10, sent));
    }
    events.sort_by_key(|&(at, _)| at);
    let events = events.into_iter().map(|(at, it)| (at * 1_000_000, it));
    let node = Node {
        name: "B".to_owned(),
        boot: "boot".to_owned(),
        port: 2,
        events: events.collect(),
        span: (0, 10_000_000_000),
    };
    Made::new(COUNTED, vec![node])
}

/// A token in front, of which the wire says that the other side gave it.
const TOKENS: &str = "
wire tokens { byte_order = little; bit_order = lsb; root = Packet; }
enum Kind : u8 { given = 0, said = 1 }
struct Packet { kind: Kind; switch (kind) {
    Kind.given => given: u32 @gives(token);
    Kind.said => said: u32 @takes(token);
} filler: bytes(4); }
";

/// Somebody at port 1 sends B 40 packets with a token; a while after that port 3 does, with this one.
pub fn with_tokens(token: u32, pause: u64) -> Made {
    let said = |token: u32, filler: u8| [&[1], &token.to_le_bytes()[..], &[filler; 4]].concat();
    let mut events: Vec<(u64, Happened)> = Vec::new();
    for at in 0..40u64 {
        events.push((at * 10, Happened::Received(1, said(7, at as u8))));
        let after = Happened::Received(3, said(token, 100 + at as u8));
        events.push((390 + pause + at * 10, after));
    }
    events.sort_by_key(|&(at, _)| at);
    let events = events.into_iter().map(|(at, it)| (at * 1_000_000, it));
    let node = Node {
        name: "B".to_owned(),
        boot: "boot".to_owned(),
        port: 2,
        events: events.collect(),
        span: (0, 10_000_000_000),
    };
    Made::new(TOKENS, vec![node])
}

/// B asks port 1 ten times, 100 ms apart, and from the third on another port answers. B goes to the port
/// that answers, or not; port 1 answers as well at the end, or not.
pub fn answered(port: u16, (goes_there, answers): (bool, bool)) -> Made {
    let counted = |number: u32, filler: u8| [&number.to_le_bytes()[..], &[filler; 4]].concat();
    let mut events: Vec<(u64, Happened)> = Vec::new();
    for at in 0..10u32 {
        let to = if at > 3 && goes_there { port } else { 1 };
        events.push((u64::from(at) * 100, Happened::Sent(to, counted(at, 2))));
        if at >= 2 {
            let answer = Happened::Received(port, counted(at, 1));
            events.push((u64::from(at) * 100 + 20, answer));
        }
    }
    if answers {
        events.push((930, Happened::Received(1, counted(10, 3))));
    }
    let events = events.into_iter().map(|(at, it)| (at * 1_000_000, it));
    let node = Node {
        name: "B".to_owned(),
        boot: "boot".to_owned(),
        port: 2,
        events: events.collect(),
        span: (0, 10_000_000_000),
    };
    Made::new(COUNTED, vec![node])
}

/// A splits two messages under one id, the second when this many of three parts of the first were sent.
pub fn split(sent: u8) -> Made {
    let first = (0..sent).map(|index| part((7, index, 3), index));
    let second = (0..3).map(|index| part((7, index, 3), 10 + index));
    let all = first.chain(second).chain([part((8, 0, 1), 1)]);
    let all = (0u8..)
        .zip(all)
        .map(|(at, message)| (u64::from(at) * 10, at, message));
    made(&all.collect::<Vec<_>>(), &[])
}

/// A sends this many reliable messages, 10 ms apart. B says at this moment that the first of them came,
/// and soon that the second did.
pub fn under_way(messages: u8, at: u64) -> Made {
    let all = (0..messages).map(|it| (u64::from(it) * 10, it, rpc(it, it)));
    let all: Vec<Said> = all.collect();
    made(&all, &[(40, 0, vec![3, 1]), (at, 1, vec![3, 0])])
}

#[test]
fn what_is_said_behind_a_restart_is_no_copy_and_is_handed_over() {
    let resends = |made: &Made| {
        let (session, history) = made.read();
        let b = session.nodes.iter().position(|node| node.name == "B");
        let at_b = |it: &netreel_protocol::history::Delivery| Some(usize::from(it.node.0)) == b;
        let handed = history.deliveries.iter().filter(at_b).count();
        (history.resends().count(), handed)
    };
    // Two handshakes, 40 messages, and three more that begin with the numbers of the first ones.
    assert_eq!(resends(&again(40, 0)), (0, 45));
    assert_eq!(resends(&again_silently(100)), (0, 45));
    // Where they say the same, or the packets' numbers go on, these are copies.
    assert_eq!(resends(&again_silently(0)), (5, 40));
    assert_eq!(resends(&again(40, 41)), (3, 42));
}

#[test]
fn a_copy_of_what_more_than_half_of_the_numbers_lie_behind_is_one() {
    let with = |said: u8| {
        let all = (0..200u8).map(|it| (u64::from(it) * 10, it, rpc(it, it)));
        let mut all: Vec<Said> = all.collect();
        all.push((3000, 200, rpc(0, said)));
        let (_, history) = made(&all, &[]).read();
        history.resends().count()
    };
    assert_eq!(with(0), 1);
    // Another message with that number is none.
    assert_eq!(with(1), 0);
}

#[test]
fn parts_of_two_messages_under_one_id_are_joined_with_nothing() {
    let joined = |made: Made| made.read().1.joined.len();
    // The last message of one part is whole in both.
    assert_eq!((joined(split(2)), joined(split(3))), (1, 3));
}

/// The packets of [`WIRE`], with an ack of the newest number that came.
fn acking() -> String {
    WIRE.replace("@sequence;", "@sequence; ack: u8 @ack;")
}

/// A sends 40 messages, of which the last takes this many ms, and begins again at 2 s. B acks what it has
/// every 100 ms, and after all that a number.
pub fn straggling(late: u64, acked: u8) -> Made {
    let said = |number: u8, message: Vec<u8>| [&[number, 0], &message[..]].concat();
    let before = (0..40u8).map(|it| {
        let at = u64::from(it) * 10;
        (at, if it == 39 { late } else { 10 }, said(it, rpc(it, it)))
    });
    let after = (0..4u8).map(|it| (2000 + u64::from(it) * 10, 10, said(it, rpc(it, 100 + it))));
    let a: Vec<Bytes> = before.chain(after).collect();
    let ack = |at: u64, number: u8, acked: u8| (at, 10, vec![number, acked, 3, 0]);
    let b: Vec<Bytes> = (1..4u8)
        .map(|it| ack(u64::from(it) * 100 + 25, it, it * 10 + 1))
        .chain([ack(2100, 0, 3), ack(3000, 1, acked)])
        .collect();
    of_bytes(&acking(), [&a, &b], true)
}

/// A begins again at 2 s, and the 30th packet of B leaves at a time in ms, with a number.
pub fn answering(at: u64, number: u8) -> Made {
    let said = |number: u8, message: Vec<u8>| [&[number, 0], &message[..]].concat();
    let before = (0..40u8).map(|it| (u64::from(it) * 10, 10, said(it, rpc(it, it))));
    let after = (0..4u8).map(|it| (2000 + u64::from(it) * 10, 10, said(it, rpc(it, 100 + it))));
    let a: Vec<Bytes> = before.chain(after).collect();
    let b = (0..29u8).map(|it| (u64::from(it) * 10 + 5, 10, said(it, rpc(it, it))));
    let b: Vec<Bytes> = b
        .chain([(at, 10, said(number, rpc(number, 200)))])
        .collect();
    of_bytes(&acking(), [&a, &b], true)
}

/// Packets without numbers. Each message says which one is lacking of the other side's, and something that is
/// another thing in each copy.
const SEGMENTS: &str = "
wire segments { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
enum Kind : u8 { push = 0 @rpc, tell = 1 @ack }
struct Packet { sender: u8 @sender; stamp: u16; messages: Message[1]; }
struct Message @message {
    kind: Kind @message_kind;
    before: u8 @acknowledges_before;
    room: u8 @per_copy;
    switch (kind) {
        Kind.push => { place: u8 @reliable_sequence; said: u8; }
        default => {}
    }
}
";

/// A message at a place, and what it says; with room in the sender's buffer.
fn push(at: u64, (place, said): (u8, u8), room: u8) -> Bytes {
    let stamp = (at as u16).to_le_bytes();
    (at, 10, vec![stamp[0], stamp[1], 0, 0, room, place, said])
}

/// All messages before a place came.
fn tell(at: u64, late: u64, before: u8) -> Bytes {
    let stamp = (at as u16).to_le_bytes();
    (at, late, vec![stamp[0], stamp[1], 1, before, 0])
}

/// A sends this many messages, 20 ms apart, each of which B acks; one of the acks takes this many ms. Of B
/// nothing is recorded.
pub fn acked_in_turn(messages: u16, late: u64) -> (Vec<Bytes>, Vec<Bytes>) {
    let pushes = (0..messages).map(|it| push(u64::from(it) * 20, (it as u8, it as u8), 9));
    let tells = (0..messages).map(|it| {
        let late = if it == 1 { late } else { 10 };
        tell(u64::from(it) * 20 + 15, late, (it + 1) as u8)
    });
    (pushes.collect(), tells.collect())
}

/// The same; then B says that it lacks the message at a place, and A goes on.
pub fn forgetful(messages: u16, (late, lacks): (u64, u8), b_is_recorded: bool) -> Made {
    let (mut a, mut b) = acked_in_turn(messages, late);
    b.push(tell(7000, 10, lacks));
    let on = (0..4u16).map(|it| push(7100 + u64::from(it) * 20, ((messages + it) as u8, 7), 9));
    a.extend(on);
    let mut made = of_bytes(SEGMENTS, [&a, &b], true);
    if !b_is_recorded {
        made.nodes.remove(1);
    }
    made
}

/// The same; then A sends messages of the first places again, with this much more said than before.
pub fn pushing_again(off: u8, is_acked: bool) -> Made {
    let (mut a, b) = acked_in_turn(60, 10);
    a.extend((0..5u8).map(|it| push(7000 + u64::from(it) * 20, (it, it + off), 8)));
    let b = if is_acked { b } else { Vec::new() };
    of_bytes(SEGMENTS, [&a, &b], true)
}

/// A sends a message three times: the last copy has another content, or other room.
pub fn copied(said: u8, room: u8) -> Made {
    let a = [
        push(0, (0, 7), 9),
        push(50, (0, 7), 9),
        push(100, (0, said), room),
    ];
    of_bytes(SEGMENTS, [&a, &[tell(200, 10, 1)]], true)
}

/// A segment of KCP.
fn segment((command, at, sequence): (u8, u64, u32), una: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = 77u32.to_le_bytes().to_vec();
    bytes.extend([command, 0, 128, 0]);
    for word in [at as u32, sequence, una, data.len() as u32] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(data);
    bytes
}

/// Two ends of KCP: A sends 40 segments, 50 ms apart, each acked by B, and is started again at 5 s, with the
/// same conversation. What it sends then is said by this much more.
fn kcp(off: u8, recorded: &[&str]) -> Made {
    const PUSH: u8 = 81;
    const ACK: u8 = 82;
    let (mut a, mut b): (Vec<Bytes>, Vec<Bytes>) = Default::default();
    for (begin, count, off) in [(0u64, 40u32, 0u8), (5000, 20, off)] {
        for it in 0..count {
            let at = begin + u64::from(it) * 50;
            let data = vec![it as u8 + off; 20];
            a.push((at, 10, segment((PUSH, at, it), 0, &data)));
            let una = if off == 0 && begin > 0 { 40 } else { it + 1 };
            b.push((at + 12, 10, segment((ACK, at, it), una, &[])));
        }
    }
    let wire = include_str!("../../../samples/wires/kcp.wire");
    let mut made = of_bytes(wire, [&a, &b], false);
    made.nodes
        .retain(|node| recorded.contains(&node.name.as_str()));
    made
}

#[test]
fn kcp_that_is_started_again_sends_nothing_again() {
    for recorded in [&["A", "B"][..], &["A"], &["B"]] {
        let made = kcp(100, recorded);
        let (_, history) = made.read();
        assert_eq!(history.resends().count(), 0, "{recorded:?}");
        let restarted = made
            .rules()
            .into_iter()
            .filter(|it| *it == "connection-restarted");
        assert_eq!(restarted.count(), 1, "{recorded:?}: {:#?}", made.found());
        // Who says the same under the same numbers says it again, however late.
        let (_, history) = kcp(0, recorded).read();
        assert_eq!(history.resends().count(), 20, "{recorded:?}");
    }
}

#[test]
fn whoever_pushes_the_first_places_again_when_they_were_acked_begins_anew() {
    let resends = |made: Made| made.read().1.resends().count();
    assert_eq!(resends(pushing_again(100, true)), 0);
    // Nobody says that they came: copies that differ.
    assert_eq!(resends(pushing_again(100, false)), 5);
    assert_eq!(resends(pushing_again(0, true)), 5);
}

#[test]
fn acks_that_fall_begin_a_connection_and_those_that_come_late_do_not() {
    let epochs = |made: Made| {
        let (session, history) = made.read();
        history.connections(&session).len()
    };
    assert_eq!(epochs(forgetful(60, (10, 0), true)), 2);
    assert_eq!(epochs(forgetful(60, (10, 0), false)), 2);
    // One that was 700 ms on its way, where the order in which acks were sent is not known.
    assert_eq!(epochs(forgetful(60, (700, 60), false)), 1);
    // The numbers begin again from 0.
    assert_eq!(epochs(forgetful(300, (10, 44), true)), 1);
    // A few less than before.
    assert_eq!(epochs(forgetful(24, (10, 9), true)), 1);
}

#[test]
fn what_comes_late_of_a_connection_is_no_message_of_the_next() {
    let told = |made: Made| {
        let (session, history) = made.read();
        let b = session.nodes.iter().position(|node| node.name == "B");
        let at_b = |it: &netreel_protocol::history::Delivery| Some(usize::from(it.node.0)) == b;
        let findings = history
            .findings
            .iter()
            .filter(|it| it.rule == "old-connection");
        let sentences: Vec<String> = findings.map(|it| it.sentence.clone()).collect();
        let handed = history.deliveries.iter().filter(at_b).count();
        (history.resends().count(), handed, sentences)
    };
    let (resends, handed, sentences) = told(straggling(1_800, 3));
    // All but the one that came too late.
    assert_eq!((resends, handed), (0, 43));
    assert_eq!(
        sentences,
        [
            "B gets packet 42 of its connection before with A 180.0 ms after a new one began there with \
          packet 43"
        ]
    );
    let (_, _, sentences) = told(straggling(1_800, 39));
    let taken = "and takes it for one of that: it acks its number in packet ";
    assert!(sentences[0].contains(taken), "{sentences:?}");
    let (_, _, sentences) = told(answering(2_005, 29));
    assert_eq!(
        sentences,
        [
            "A gets packet 70 of its connection before with B 15.0 ms after a new one began there with \
          packet 69"
        ]
    );
}

#[test]
fn a_straggler_whose_send_nobody_recorded_is_known_by_its_number() {
    let mut made = straggling(1_800, 3);
    made.nodes.remove(0);
    let found = made.rules();
    assert!(found.contains(&"old-connection"), "{found:?}");
    assert_eq!(made.read().1.resends().count(), 0);
}

#[test]
fn numbers_that_tell_nothing_apart_are_called_ambiguous() {
    let told = |made: Made| {
        let (session, history) = made.read();
        let packets = (0..session.packet_count() as u32).map(PacketId);
        let rows = packets.filter_map(|id| export::packet(&session, &history, id));
        let words = rows.flat_map(|row| row.messages.into_iter().filter_map(|it| it.ambiguous));
        let words: Vec<&str> = words.collect();
        let packets = (0..session.packet_count() as u32).map(PacketId);
        let all = packets.filter_map(|id| Why::of_packet(&session, &history, id));
        let sentences = all.flat_map(|told| {
            let steps = told.steps.iter();
            let sentences = steps.map(|step| step.fact.sentence(&session, &history));
            sentences.collect::<Vec<String>>()
        });
        let said = sentences.filter(|it| it.contains("is ambiguous")).count();
        (words, said > 0)
    };
    assert_eq!(told(under_way(129, 9_000)), (vec!["numbers"], true));
    assert_eq!(told(under_way(129, 100)), (Vec::new(), false));
    assert_eq!(told(split(2)), (vec!["fragment-id"; 5], true));
    assert_eq!(told(split(3)), (Vec::new(), false));
    assert_eq!(told(copied(8, 9)), (vec!["content"], true));
    assert_eq!(told(copied(7, 8)), (Vec::new(), false));
}

/// A1 ends after two seconds, and a second later A2 has its port. Of the packets that B sent to A1 the last
/// took this many ms.
pub fn port_taken_over(late: u64) -> Made {
    let said = |sender: u8, number: u8, said: u8| vec![sender, number, 1, number, said];
    let mut events: [Vec<(u64, Happened)>; 3] = Default::default();
    let mut passes = |at: u64, late: u64, (from, to): (usize, usize), bytes: Vec<u8>| {
        let port = |node: usize| if node == 2 { 2 } else { 1 };
        events[from].push((at * 1_000_000, Happened::Sent(port(to), bytes.clone())));
        events[to].push((
            (at + late) * 1_000_000,
            Happened::Received(port(from), bytes),
        ));
    };
    for it in 0..40u8 {
        let at = u64::from(it) * 10;
        passes(at, 10, (0, 2), said(0, it, it));
        let (late, to) = match it {
            39 if late > 1_600 => (late, 1),
            39 => (late, 0),
            _ => (10, 0),
        };
        passes(at + 5, late, (2, to), said(1, it, 50 + it));
    }
    for it in 0..10u8 {
        let at = 3_100 + u64::from(it) * 10;
        passes(at, 10, (1, 2), said(0, it, 100 + it));
        passes(at + 15, 10, (2, 1), said(1, it, 150 + it));
    }
    let nodes =
        ["A1", "A2", "B"]
            .into_iter()
            .zip(events)
            .zip([(1, (0, 2)), (1, (3, 10)), (2, (0, 10))]);
    let nodes = nodes.map(|((name, mut events), (port, span))| {
        events.sort_by_key(|&(at, _)| at);
        Node {
            name: name.to_owned(),
            boot: "boot".to_owned(),
            port,
            events,
            span: (span.0 * 1_000_000_000, span.1 * 1_000_000_000),
        }
    });
    Made::new(WIRE, nodes.collect())
}

#[test]
fn what_was_sent_to_who_had_the_port_before_is_no_message_to_who_has_it_now() {
    let made = port_taken_over(2_900);
    let (session, history) = made.read();
    let found = made.found();
    let sentences: Vec<&str> = found.iter().map(|it| it.2.as_str()).collect();
    assert_eq!(
        sentences,
        ["A2 gets packet 100, which B had sent to A1 as packet 79: that one had its port before"]
    );
    let handed = |name: &str| {
        let node = session.nodes.iter().position(|node| node.name == name);
        let at = history.deliveries.iter();
        at.filter(|it| Some(usize::from(it.node.0)) == node).count()
    };
    assert_eq!(
        (handed("A1"), handed("A2"), history.resends().count()),
        (39, 10, 0)
    );
}

#[test]
fn packets_and_acks_that_fall_together_begin_a_connection() {
    // A says nothing reliable. Its packets count from 0 again, and it acks this number of B.
    let epochs = |acked: u8, is_recorded: bool| {
        let said = |number: u8, ack: u8| vec![number, ack, 3, 0];
        let before = (0..40u8).map(|it| (u64::from(it) * 10, 10, said(it, it.saturating_sub(1))));
        let after = (0..4u8).map(|it| (2000 + u64::from(it) * 10, 10, said(it, acked)));
        let a: Vec<Bytes> = before.chain(after).collect();
        let b = (0..40u8).map(|it| (u64::from(it) * 10 + 1, 5, said(it, it)));
        let mut made = of_bytes(&acking(), [&a, &b.collect::<Vec<_>>()], true);
        if !is_recorded {
            made.nodes.remove(0);
        }
        let (session, history) = made.read();
        history.connections(&session).len()
    };
    assert_eq!((epochs(0, true), epochs(38, true)), (2, 1));
    // Of a sender that was not recorded the first two, which say what they said before, may be late ones.
    assert_eq!((epochs(0, false), epochs(38, false)), (2, 1));
}
