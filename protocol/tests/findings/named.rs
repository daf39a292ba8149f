//! Findings over reliable messages that acks name one by one, or all before one, in sessions of a tiny
//! protocol.

use netreel_protocol::history::Level;

use crate::reels::{Happened, Made, Node};

/// Messages with a place in a stream, the acks that name them, and any number of bytes.
const WIRE: &str = "
wire named { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
enum Kind : u8 { rpc = 0 @rpc, ack = 1 @ack, before = 2 @ack, state = 3, part = 4 @fragment, call = 5 @rpc, }
struct Packet {
    sender: u8 @sender;
    number: u8;
    count: u8;
    messages: Message[count];
    filler: bytes(rest);
}
struct Message @message {
    kind: Kind @message_kind;
    switch (kind) {
        Kind.rpc => said: Said;
        Kind.ack => ack: Ack;
        Kind.before => before: Before;
        Kind.state => {}
        Kind.part => part: Part;
        Kind.call => call: Call;
    }
}
struct Call { place: u8 @reliable_sequence; argument: u8; }
struct Said { place: u8 @reliable_sequence; }
struct Ack { acked: u8 @acknowledges; }
struct Before { missing: u8 @acknowledges_before; }
struct Part {
    at: u8 @reliable_sequence;
    index: u8 @fragment_index;
    of: u8 @fragment_count;
    data: bytes(1) @fragment_data;
}
";

const A: u8 = 0;
const B: u8 = 1;

/// Each way takes this many ms.
const WAY: u64 = 60;

/// What a packet carries.
#[derive(Clone, Copy)]
pub enum Says {
    /// A reliable message, at a place of the stream.
    Place(u8),
    /// The message at a place came.
    Came(u8),
    /// All messages before a place came.
    Before(u8),
    /// Something that is not reliable.
    State,
    /// A reliable RPC with an argument, at a place of the stream.
    Call(u8, u8),
    /// A reliable message that is a part of another one: its place, its index, and of how many.
    Part(u8, u8, u8),
}

/// A packet from one of the two to the other. Times in milliseconds.
#[derive(Clone)]
pub struct Packet {
    from: u8,
    at: u64,
    received: Option<u64>,
    says: Vec<Says>,
    filler: usize,
}

pub fn by(from: u8, at: u64, says: &[Says]) -> Packet {
    Packet {
        from,
        at,
        received: Some(at + WAY),
        says: says.to_vec(),
        filler: 0,
    }
}

pub fn lost(packet: Packet) -> Packet {
    Packet {
        received: None,
        ..packet
    }
}

fn with_filler(packet: Packet, filler: usize) -> Packet {
    Packet { filler, ..packet }
}

/// A session of ten seconds. Packets have a number of their own, so that no two are the same.
pub fn made(story: &[Packet]) -> Made {
    let port = |peer: u8| 1 + u16::from(peer);
    let mut events: [Vec<(u64, Happened)>; 2] = Default::default();
    for (number, each) in story.iter().enumerate() {
        let mut bytes = vec![each.from, number as u8, each.says.len() as u8];
        for says in &each.says {
            bytes.extend(match *says {
                Says::Place(place) => vec![0, place],
                Says::Came(place) => vec![1, place],
                Says::Before(place) => vec![2, place],
                Says::State => vec![3],
                Says::Call(place, argument) => vec![5, place, argument],
                Says::Part(place, index, count) => vec![4, place, index, count, 7],
            });
        }
        bytes.extend(std::iter::repeat_n(0u8, each.filler));
        let other = 1 - each.from;
        let sent = Happened::Sent(port(other), bytes.clone());
        events[usize::from(each.from)].push((each.at * 1_000_000, sent));
        if let Some(at) = each.received {
            let received = Happened::Received(port(each.from), bytes);
            events[usize::from(other)].push((at * 1_000_000, received));
        }
    }
    let nodes = (0u8..).zip(events).map(|(peer, mut events)| {
        events.sort_by_key(|&(at, _)| at);
        Node {
            name: ["A", "B"][usize::from(peer)].to_owned(),
            boot: "boot".to_owned(),
            port: port(peer),
            events,
            span: (0, 10_000_000_000),
        }
    });
    Made::new(WIRE, nodes.collect())
}

/// The sentences of what is found, each with its rule and level.
fn told(story: &[Packet]) -> Vec<(&'static str, Level, String)> {
    let made = made(story);
    let (session, _) = made.read();
    assert_eq!(session.warnings(), Vec::<String>::new());
    made.found()
}

#[track_caller]
fn check(story: &[Packet], expected: &[(&str, Level, &str)]) {
    let told = told(story);
    let found: Vec<_> = told
        .iter()
        .map(|(rule, level, _)| (*rule, *level))
        .collect();
    let rules: Vec<_> = expected
        .iter()
        .map(|&(rule, level, _)| (rule, level))
        .collect();
    assert_eq!(found, rules, "{told:#?}");
    for ((.., sentence), &(.., part)) in told.iter().zip(expected) {
        assert!(sentence.contains(part), "{sentence}\nlacks: {part}");
    }
}

/// A says two messages in one packet, B acks the first, and A says the second again this many times, so
/// many ms apart. What B answers to these is as it is told.
pub fn second_again(times: u64, apart: u64, answer: impl Fn(u64) -> Option<Packet>) -> Vec<Packet> {
    let mut story = vec![
        by(A, 0, &[Says::Place(0), Says::Place(1)]),
        by(B, WAY, &[Says::Came(0)]),
    ];
    for at in (1..=times).map(|time| time * apart) {
        story.push(by(A, at, &[Says::Place(1)]));
        story.extend(answer(at + WAY));
    }
    story
}

/// B's ack of the second message.
pub fn came(at: u64) -> Option<Packet> {
    Some(by(B, at, &[Says::Came(1)]))
}

const STUCK: &str = "reliable-stuck";

#[test]
fn an_ack_of_another_message_of_the_packet_is_none() {
    // A learns that the packet arrived, and not that the second message did.
    let story = second_again(12, 150, |at| came(at).map(lost));
    check(
        &story,
        &[(
            STUCK,
            Level::Warning,
            "all 11 packets in which B acked it were lost",
        )],
    );
    // B sends these acks, and they arrive: what A sends after that is needless.
    let story = second_again(12, 150, came);
    check(
        &story,
        &[(
            STUCK,
            Level::Error,
            "A had read an ack of it 270.0 ms after it first sent it",
        )],
    );
}

#[test]
fn copies_of_one_message_sooner_than_an_answer_could_come() {
    let story = second_again(12, 10, came);
    check(
        &story,
        &[(
            "resend-storm",
            Level::Warning,
            "12 of them sooner than an answer could come (120.0 ms)",
        )],
    );
    // The ack comes before the copies that follow.
    check(&second_again(7, 10, came), &[]);
}

/// Messages that are said again every `apart` ms until an ack comes.
fn until_acked(messages: u8, apart: u64) -> Vec<Packet> {
    let mut story = Vec::new();
    for place in 0..messages {
        let first = u64::from(place) * 130;
        let copies = (first..first + 2 * WAY).step_by(apart as usize);
        story.extend(copies.map(|at| by(A, at, &[Says::Place(place)])));
        story.push(by(B, first + WAY, &[Says::Came(place)]));
    }
    story
}

#[test]
fn few_needless_copies_of_each_message_are_a_storm_of_the_link() {
    // Five of each, a number that no message alone is told for.
    check(
        &until_acked(40, 20),
        &[(
            "resend-storm",
            Level::Warning,
            "A waited 20.0 ms for an answer (the middle of 200), and a round trip takes 120.0 ms",
        )],
    );
    check(&until_acked(40, 121), &[]);
    // Too few on the whole.
    check(&until_acked(6, 20), &[]);
}

#[test]
fn copies_that_arrive_and_are_not_acked() {
    let silent = second_again(23, 150, |_| None);
    check(
        &silent,
        &[(
            STUCK,
            Level::Warning,
            "23 copies arrived, and B sent nothing back",
        )],
    );
    // B acks other messages meanwhile.
    let others = second_again(23, 150, |at| Some(by(B, at, &[Says::Came(0)])));
    check(
        &others,
        &[(
            STUCK,
            Level::Warning,
            "none of the 22 packets that B sent back acks it",
        )],
    );
    // One of them does.
    let once = second_again(23, 150, |at| match at {
        _ if at == 150 + WAY => came(at),
        _ => None,
    });
    let told = told(&once);
    assert!(
        told.iter()
            .all(|(.., sentence)| !sentence.contains("acks it")),
        "{told:#?}"
    );
    // For a second and four round trips nothing is said.
    check(&second_again(9, 150, |_| None), &[]);
}

/// A says this many messages in turn, every 100 ms, and B acks all before one; `missing` tells which from
/// how many came.
fn in_turn(count: u8, missing: impl Fn(u8) -> u8) -> Vec<Packet> {
    let mut story = Vec::new();
    for place in 0..count {
        let at = u64::from(place) * 100;
        story.push(by(A, at, &[Says::Place(place)]));
        story.push(by(B, at + WAY, &[Says::Before(missing(place + 1))]));
    }
    story
}

/// The same, and from the 30th on A says again all that B does not say that it has.
fn stands_still() -> Vec<Packet> {
    let mut story = in_turn(30, |came| came.min(10));
    for turn in 0..20u64 {
        let at = 3_000 + turn * 200;
        let again: Vec<Says> = (10..30).map(Says::Place).collect();
        story.push(by(A, at, &again));
        story.push(by(B, at + WAY, &[Says::Before(10)]));
    }
    story
}

#[test]
fn acks_of_all_before_one_that_stand_still() {
    check(
        &stands_still(),
        &[(
            STUCK,
            Level::Error,
            "packets that B sent back said that the first missing one is 10, though 20 messages from it \
             on had arrived (10 to 29)",
        )],
    );
    check(&in_turn(30, |came| came), &[]);
}

#[test]
fn what_waits_behind_a_message_that_is_lost_is_not_told_of() {
    let mut story = in_turn(10, |came| came);
    for turn in 0..20u64 {
        let at = 1_000 + turn * 200;
        story.push(lost(by(A, at, &[Says::Place(10)])));
        story.push(by(A, at + 50, &[Says::Place(11)]));
        story.push(by(B, at + 50 + WAY, &[Says::Before(10)]));
    }
    check(
        &story,
        &[(
            STUCK,
            Level::Warning,
            "and none of them arrived, though 19 of 19 other packets that A sent meanwhile did",
        )],
    );
}

/// A says a message again and again, with this many bytes behind it, and something else in between; what
/// has more than 1300 bytes is lost, and else what is told to be.
pub fn large(filler: usize, is_lost: impl Fn(u64) -> bool) -> Vec<Packet> {
    let mut story = vec![by(A, 0, &[Says::Place(0)]), by(B, WAY, &[Says::Came(0)])];
    for turn in 0..63u64 {
        let at = 200 + turn * 130;
        let large = with_filler(by(A, at, &[Says::Place(1)]), filler);
        story.push(if filler > 1300 { lost(large) } else { large });
        let small = with_filler(by(A, at + 65, &[Says::State]), 40);
        story.push(if is_lost(turn) { lost(small) } else { small });
        if filler <= 1300 {
            story.push(by(B, at + WAY, &[Says::Came(1)]));
            break;
        }
    }
    story
}

#[test]
fn copies_that_are_lost_for_their_size() {
    check(
        &large(1400, |turn| turn % 10 == 9),
        &[
            (
                STUCK,
                Level::Warning,
                "63 times within 8.1 s, and none of them arrived, though 56 of 62 other packets that A sent \
             meanwhile did: its packets have 1405 bytes and more, and no packet of more than 44 bytes \
             arrived",
            ),
            (
                "loss-pattern",
                Level::Warning,
                "63 of 63 packets of 1405 bytes and more were lost, and 6 of 64 smaller ones",
            ),
        ],
    );
    check(&large(1200, |_| false), &[]);
    // All others are lost as well: that is the link.
    let told = told(&large(1400, |turn| turn % 10 != 9));
    assert!(told.iter().all(|it| it.0 != STUCK), "{told:#?}");
}

#[test]
fn of_a_fragment_it_is_told_which_part_it_is() {
    let mut story: Vec<Packet> = (0..3u8)
        .map(|part| by(A, u64::from(part), &[Says::Part(part, part, 3)]))
        .collect();
    story.push(by(B, WAY, &[Says::Came(0)]));
    story[1].received = None;
    for turn in 1..20u64 {
        story.push(lost(by(A, turn * 130, &[Says::Part(1, 1, 3)])));
        story.push(by(A, turn * 130 + 65, &[Says::State]));
    }
    check(
        &story,
        &[(
            STUCK,
            Level::Warning,
            "A sent fragment 2 of 3 of a message to B reliably 20 times",
        )],
    );
}

#[test]
fn an_ack_that_its_sender_reads_late() {
    let mut story = second_again(20, 150, |_| None);
    story.extend((0..4).map(|turn| by(B, 3_000 + turn, &[Says::Came(0)])));
    story.push(Packet {
        received: Some(3_100),
        ..by(B, 500, &[Says::Came(1)])
    });
    check(
        &story,
        &[(
            STUCK,
            Level::Warning,
            "which A read 2.6 s after it was sent",
        )],
    );
}

/// Messages in parts, each with its indexes, of this many; then a message that is none.
pub fn in_parts(messages: &[(&[u8], u8)]) -> Vec<Packet> {
    let all = messages.iter().flat_map(|&(indexes, count)| {
        let indexes = indexes.iter().copied();
        indexes.map(move |index| (index, count))
    });
    let parts: Vec<(u8, u8)> = all.collect();
    let places = 0u8..;
    let mut story: Vec<Packet> = (places.zip(&parts))
        .map(|(place, &(index, count))| {
            let at = u64::from(place) * 20;
            by(A, at, &[Says::Part(place, index, count)])
        })
        .collect();
    let last = parts.len() as u8;
    story.push(by(A, 5_000, &[Says::Place(last)]));
    story
}

#[test]
fn parts_that_make_no_whole() {
    let rule = "fragments-never-join";
    let right: (&[u8], u8) = (&[0, 1, 2], 3);
    let off: (&[u8], u8) = (&[1, 2, 3], 3);
    let without: (&[u8], u8) = (&[0, 2], 3);
    check(&in_parts(&[right, right]), &[]);
    let words = "in parts that make no whole: parts 1, 2, 3 of 3, which are 0 to 2";
    check(&in_parts(&[right, off]), &[(rule, Level::Error, words)]);
    check(
        &in_parts(&[off, off, right]),
        &[(rule, Level::Error, "so with 1 more")],
    );
    check(
        &in_parts(&[right, without]),
        &[(rule, Level::Error, "parts 0, 2 of 3")],
    );
    // Nothing fits, so that the wire may be wrong.
    check(
        &in_parts(&[off]),
        &[(rule, Level::Warning, "the wire may say the numbers wrongly")],
    );
    // What is still being sent may become whole.
    let mut under_way = in_parts(&[right, (&[0, 1], 3)]);
    under_way.pop();
    check(&under_way, &[]);
}

/// A calls B with these arguments, one after the other.
pub fn calls(arguments: &[u8]) -> Vec<Packet> {
    let calls = (0u8..).zip(arguments);
    let calls = calls
        .map(|(place, &argument)| by(A, u64::from(place) * 100, &[Says::Call(place, argument)]));
    let acks = (0u8..).zip(arguments);
    let acks = acks.map(|(place, _)| by(B, u64::from(place) * 100 + WAY, &[Says::Came(place)]));
    calls.chain(acks).collect()
}

/// A calls B again after this many ms, at the same place of the stream, this many times: with what arguments.
pub fn again(arguments: &[(u8, u8)], after: u64) -> Vec<Packet> {
    let calls = (0u8..).zip(arguments).flat_map(|(place, &(first, then))| {
        let at = u64::from(place) * 600;
        let one = by(A, at, &[Says::Call(place, first)]);
        let copy = by(A, at + after, &[Says::Call(place, then)]);
        let acks = [at, at + after].map(|at| by(B, at + WAY, &[Says::Came(place)]));
        [vec![one, copy], acks.to_vec()].concat()
    });
    calls.collect()
}

#[test]
fn a_copy_with_another_content_is_told_field_by_field() {
    let differs = "copies-differ";
    check(
        &again(&[(7, 7), (7, 8), (9, 9)], 100),
        &[(
            differs,
            Level::Warning,
            "A sent B RPC again with another content: call.argument is 7 in packet 4 and 8 in packet 6, and \
             the receiver keeps the one that comes first",
        )],
    );
    check(&again(&[(7, 7), (8, 8), (9, 9)], 100), &[]);
    // After an ack of it the number is another message's.
    check(&again(&[(7, 7), (7, 8), (9, 9)], 2 * WAY + 1), &[]);
    // What is another thing in each copy may be meant so.
    let each = (0..10).map(|turn| (turn, turn + 100)).collect::<Vec<_>>();
    let told = told(&again(&each, 100));
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!((told[0].0, told[0].1), (differs, Level::Info));
    assert!(
        told[0].2.ends_with("in each of them; so with 9 more"),
        "{told:#?}"
    );
}

/// Each of this many arguments this many times.
pub fn times(count: u8, times: usize) -> Vec<u8> {
    let arguments = (0..count).flat_map(|argument| std::iter::repeat_n(argument, times));
    arguments.collect()
}

#[test]
fn calls_that_come_in_pairs_are_told_twice() {
    let twice = "told-twice";
    check(
        &calls(&times(12, 2)),
        &[(
            twice,
            Level::Warning,
            "24 of 24 RPCs that A sent B come in pairs: each is told again at the next place of the stream \
             (packets 0 and 2; so with 11 more)",
        )],
    );
    // One call too few, once, thrice, and some of them.
    check(&calls(&times(7, 2)), &[]);
    check(&calls(&times(24, 1)), &[]);
    check(&calls(&times(8, 3)), &[]);
    let some: Vec<u8> = times(8, 2).into_iter().chain(100..110).collect();
    check(&calls(&some), &[]);
    // Somebody calls the same again and again.
    check(&calls(&times(1, 40)), &[]);
}
