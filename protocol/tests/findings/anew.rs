//! Findings over numbers that begin anew, or do not suffice, in sessions of a tiny protocol.

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
    let mut events: [Vec<(u64, Happened)>; 2] = Default::default();
    for (from, story) in [a, b].into_iter().enumerate() {
        for (at, number, message) in story {
            let bytes = [&[from as u8, *number], message.as_slice()].concat();
            let port = |node: usize| 1 + node as u16;
            let sent = Happened::Sent(port(1 - from), bytes.clone());
            events[from].push((at * 1_000_000, sent));
            let received = Happened::Received(port(from), bytes);
            events[1 - from].push(((at + 10) * 1_000_000, received));
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
    Made::new(WIRE, nodes.collect())
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

/// A connects, sends so many messages, and connects once more with a packet of this number; then it sends
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
/// without a handshake. What it says then is off by so much from what it said before.
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
/// begins, with a packet of this number. B answers port 1, and so many times more from then on.
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

/// A splits two messages under one id, the second when so many of three parts of the first were sent.
pub fn split(sent: u8) -> Made {
    let first = (0..sent).map(|index| part((7, index, 3), index));
    let second = (0..3).map(|index| part((7, index, 3), 10 + index));
    let all = first.chain(second).chain([part((8, 0, 1), 1)]);
    let all = (0u8..)
        .zip(all)
        .map(|(at, message)| (u64::from(at) * 10, at, message));
    made(&all.collect::<Vec<_>>(), &[])
}

/// A sends so many reliable messages, 10 ms apart. B says at this moment that the first of them came,
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
