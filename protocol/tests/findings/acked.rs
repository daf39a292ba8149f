//! Findings over acks, numbers and resends, in sessions of a tiny protocol.

use crate::reels::{Happened, Made, Node};

/// A number, an ack that reaches eight back, and perhaps a message, reliable or not.
const WIRE: &str = "
wire acked { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
enum Kind : u8 { rpc = 0 @rpc, state = 1, }
struct Packet {
    sender: u8 @sender;
    sequence: u8 @sequence;
    ack: u8 @ack;
    ack_bits: u8 @ack_bits;
    lacks: u8;
    if (lacks == 1) { nack: u8 @nack; }
    count: u8;
    messages: Message[count];
}
struct Message @message {
    kind: Kind @message_kind;
    reliable: u1 @reliable; pad: u7 = 0;
    if (reliable == 1) { place: u8 @reliable_sequence; }
}
";

const A: u8 = 0;
const B: u8 = 1;

/// A packet from one of the two to the other. Times in milliseconds.
#[derive(Clone, Copy)]
pub struct Packet {
    pub from: u8,
    pub at: u64,
    pub received: Option<u64>,
    pub sequence: u8,
    pub ack: (u8, u8),
    pub nack: Option<u8>,
    pub says: Says,
}

/// What a packet carries.
#[derive(Clone, Copy)]
pub enum Says {
    Nothing,
    /// A message that is not reliable.
    State,
    /// A reliable message, at a place of the stream.
    Place(u8),
}

/// A's packet with a reliable message; it takes 60 ms.
pub fn says(at: u64, sequence: u8, place: u8) -> Packet {
    Packet {
        from: A,
        at,
        received: Some(at + 60),
        sequence,
        ack: (0, 0),
        nack: None,
        says: Says::Place(place),
    }
}

/// B's packet with an ack alone; it takes 60 ms.
pub fn acks(at: u64, sequence: u8, ack: u8, bits: u8) -> Packet {
    Packet {
        from: B,
        at,
        received: Some(at + 60),
        sequence,
        ack: (ack, bits),
        nack: None,
        says: Says::Nothing,
    }
}

pub fn lost(packet: Packet) -> Packet {
    Packet {
        received: None,
        ..packet
    }
}

/// A session of ten seconds.
pub fn made(story: &[Packet]) -> Made {
    let port = |peer: u8| 1 + u16::from(peer);
    let mut events: [Vec<(u64, Happened)>; 2] = Default::default();
    for each in story {
        let (ack, bits) = each.ack;
        let mut bytes = vec![
            each.from,
            each.sequence,
            ack,
            bits,
            u8::from(each.nack.is_some()),
        ];
        bytes.extend(each.nack);
        bytes.extend(match each.says {
            Says::Nothing => vec![0],
            Says::State => vec![1, 1, 0],
            Says::Place(place) => vec![1, 0, 1, place],
        });
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

/// The rules that find something.
#[track_caller]
fn check(story: &[Packet], expected: &[&str]) {
    let made = made(story);
    let (session, _) = made.read();
    assert_eq!(session.warnings(), Vec::<String>::new());
    let told = made.found();
    let rules: Vec<&str> = told.iter().map(|&(rule, ..)| rule).collect();
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

/// A's packets from 1 to this many, fifty milliseconds apart, of which some are lost; B's go on.
pub fn silence(
    count: u8,
    is_lost: impl Fn(u8) -> bool,
    back_is_lost: impl Fn(u8) -> bool,
) -> Vec<Packet> {
    let there = (1..=count).map(|n| {
        let packet = Packet {
            says: Says::Nothing,
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
    // One of 31 that came through in the middle opens no link; two do, and so does one of 21.
    check(
        &silence(60, |n| within(10, 40)(n) && n != 25, never),
        &["silent-link"],
    );
    check(
        &silence(60, |n| within(10, 40)(n) && n % 10 != 5, never),
        &[],
    );
    check(&silence(60, |n| within(10, 30)(n) && n != 12, never), &[]);
    // Who sends nothing afterwards may have gone.
    let mut gone = silence(60, |n| n >= 10, never);
    gone.retain(|packet| packet.from == A || packet.at < 600);
    check(&gone, &[]);
}

#[test]
fn one_packet_amid_a_silence_is_counted_and_does_not_end_it() {
    let is_lost = |n: u8| (10..=40).contains(&n) && n != 15;
    let (_, history) = made(&silence(60, is_lost, is_lost)).read();
    let sentences: Vec<&str> = history.findings.iter().map(|it| &*it.sentence).collect();
    assert_eq!(
        sentences,
        [
            "for 1.5 s almost nothing arrived of what A sent to B (1 of 31 packets), \
             and 1 of 30 packets that B sent to A meanwhile: the link was cut both ways",
            "for 1.5 s almost nothing arrived of what B sent to A (1 of 31 packets), \
             and 1 of 30 packets that A sent to B meanwhile: the link was cut both ways",
        ]
    );
}

#[test]
fn a_packet_at_the_edge_of_a_silence_does_not_open_the_way_back() {
    let within = |from: u8, until: u8| move |n: u8| (from..=until).contains(&n);
    let of_there = |back: &dyn Fn(u8) -> bool| {
        let (session, history) = made(&silence(60, within(10, 40), back)).read();
        let mut found = history.findings.iter();
        let there = found
            .find(|it| session.name(it.node) == "B")
            .expect("A to B is silent");
        there.sentence.clone()
    };
    let there = "for 1.5 s nothing arrived of what A sent to B (0 of 31 packets), and";
    let check = |back: &dyn Fn(u8) -> bool, words: &str| {
        assert_eq!(of_there(back), format!("{there} {words}"));
    };
    let cut = "of 30 packets that B sent to A meanwhile: the link was cut both ways";
    check(&within(10, 40), &format!("0 {cut}"));
    check(&within(11, 40), &format!("1 {cut}"));
    check(&|n| n % 15 != 0 && within(10, 40)(n), &format!("2 {cut}"));
    check(
        &|n| n % 4 != 0,
        "7 of 30 packets that B sent to A meanwhile: the way back was bad as well",
    );
    let open = "of 30 packets that B sent to A meanwhile: the link was open one way only";
    check(&|_| false, &format!("30 {open}"));
    check(&|n| n % 8 == 0, &format!("27 {open}"));
}

/// A says 240 packets, a fiftieth of a second apart, of which some are larger; B answers each.
pub fn lossy(is_large: impl Fn(u64) -> bool, is_lost: impl Fn(u64) -> bool) -> Vec<Packet> {
    let there = (1..=240u8).map(|n| {
        let packet = Packet {
            says: match is_large(n.into()) {
                true => Says::State,
                false => Says::Nothing,
            },
            ..says(u64::from(n) * 20, n, 0)
        };
        match is_lost(n.into()) {
            true => lost(packet),
            false => packet,
        }
    });
    let back = (1..=240u8).map(|n| acks(u64::from(n) * 20 + 5, n, 0, 0));
    there.chain(back).collect()
}

fn patterns(story: &[Packet]) -> Vec<String> {
    let (_, history) = made(story).read();
    let found = history.findings.iter();
    let found = found.filter(|it| it.rule == "loss-pattern");
    found.map(|it| it.sentence.clone()).collect()
}

#[test]
fn what_is_lost_follows_the_size() {
    let large = |n: u64| n.is_multiple_of(7);
    let follows = "what is lost follows the size: of what A sent to B,";
    assert_eq!(
        patterns(&lossy(large, large)),
        [format!(
            "{follows} 34 of 34 packets of 8 bytes and more were lost, and 0 of 206 smaller ones"
        )]
    );
    // Some of the others are lost by chance, and one of the large ones is not.
    assert_eq!(
        patterns(&lossy(large, |n| large(n) && n != 70 || n % 41 == 0)),
        [format!(
            "{follows} 33 of 34 packets of 8 bytes and more were lost, and 5 of 206 smaller ones; the \
             largest that arrived has 8"
        )]
    );
    // Half of them are not what no path takes.
    let half = |n: u64| large(n) && mixed(n) < 50;
    assert_eq!(patterns(&lossy(large, half)), [""; 0]);
    // Large ones that an outage met say nothing of sizes.
    let late = |n: u64| (100..120).contains(&n);
    let outage = patterns(&lossy(late, late));
    assert!(
        outage.iter().all(|it| !it.contains("the size")),
        "{outage:?}"
    );
}

#[test]
fn what_is_lost_follows_a_number() {
    let follows = "what is lost follows a number: of what A sent to B, every";
    let small = |_: u64| false;
    assert_eq!(
        patterns(&lossy(small, |n| n % 16 == 0)),
        [format!(
            "{follows} 16th packet was lost (14 of 14), and 0 of 225 others"
        )]
    );
    assert_eq!(
        patterns(&lossy(small, |n| n % 16 == 3 || n % 50 == 0)),
        [format!(
            "{follows} 16th packet was lost (15 of 15), and 4 of 225 others"
        )]
    );
    // Every fourth time that is so is left out: two things are not counted.
    assert_eq!(
        patterns(&lossy(small, |n| n % 16 == 0 && mixed(n) < 75)),
        [""; 0]
    );
}

#[test]
fn what_is_lost_follows_time_or_the_direction() {
    let small = |_: u64| false;
    assert_eq!(
        patterns(&lossy(small, |n| n % 80 < 8)),
        [
            "what is lost follows time: 16 of 16 packets that A sent to B in vain were lost in 2 bursts, \
          the longest of 8 packets within 140.0 ms from 1.600000 s on"
        ]
    );
    // As many by chance, and none the other way.
    let by_chance = patterns(&lossy(small, |n| mixed(n) < 30));
    assert_eq!(by_chance.len(), 1, "{by_chance:?}");
    assert!(
        by_chance[0].starts_with("what is lost follows the direction: ")
            && by_chance[0].ends_with(
                " that A sent to B were lost, and 0 of 240 packets (0.0 %) the other way"
            ),
        "{by_chance:?}"
    );
    // A few are no direction.
    assert_eq!(patterns(&lossy(small, |n| mixed(n) < 5)), [""; 0]);
}

/// A number below 100 that looks like chance.
pub fn mixed(n: u64) -> u64 {
    let mixed = (n + 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 33) % 100
}

/// A says three messages, the third of which comes `late` ms later than the others; B acks a packet at
/// 300 ms, and says at 400 that it lacks the third.
pub fn lacks_third(late: u64, ack: u8) -> Vec<Packet> {
    let third = Packet {
        received: Some(80 + late),
        ..says(20, 3, 2)
    };
    let lacks = Packet {
        nack: Some(3),
        ..acks(400, 2, 2, 1)
    };
    vec![
        says(0, 1, 0),
        says(10, 2, 1),
        third,
        acks(300, 1, ack, 1),
        lacks,
    ]
}

#[test]
fn a_word_that_a_packet_is_lacking_which_had_come() {
    check(&lacks_third(70, 2), &["nack-of-received"]);
    check(&lacks_third(71, 2), &[]);
    check(&lacks_third(71, 3), &["nack-of-received"]);
}

/// Twenty messages in a row, or without the place of the fifth.
pub fn row(skips: bool) -> Vec<Packet> {
    let places = (1..=20u8).map(|n| says(u64::from(n) * 100, n, n + u8::from(skips && n >= 5)));
    places.collect()
}

#[test]
fn a_place_of_a_stream_that_was_passed_over() {
    check(&row(true), &["stream-gap"]);
    check(&row(false), &[]);
    // It is filled late; and it may still be filled.
    let filled = [row(true), vec![says(2_500, 21, 5)]].concat();
    check(&filled, &[]);
    check(&row(true)[..12], &[]);
}

/// A sends 24 packets, a tick apart, and B acks each; `denies` changes what it says of the last eight.
pub fn acked_in_turn(denies: impl Fn(u8, u8) -> u8) -> Vec<Packet> {
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

/// The bits of an ack without that of the third packet; the ack of the third names it.
pub fn never(ack: u8, bits: u8) -> u8 {
    let third = 1u8.checked_shl(u32::from(ack.wrapping_sub(4))).unwrap_or(0);
    match ack {
        3 => bits,
        _ => bits & !third,
    }
}

#[test]
fn acks_pass_over_what_came() {
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

/// A's message, this many times, this many milliseconds apart, and what tells how long the way is.
pub fn copies(count: u8, apart: u64) -> Vec<Packet> {
    let copies = (1..=count).map(|copy| says(u64::from(copy) * apart, copy, 0));
    copies.chain([acks(0, 1, 0, 0)]).collect()
}

#[test]
fn a_message_again_and_again_within_a_round_trip() {
    check(&copies(12, 10), &["resend-storm"]);
    check(&copies(12, 150), &[]);
    check(&copies(6, 10), &[]);
}

/// A message is lost, and others come for eight seconds.
pub fn given_up() -> Vec<Packet> {
    let later = (3..30u8).map(|n| says(u64::from(n) * 300, n, n));
    let mut story: Vec<Packet> = later.collect();
    story.extend([says(0, 1, 0), acks(0, 1, 0, 0), lost(says(300, 2, 1))]);
    story.push(says(8_550, 30, 2));
    story
}

#[test]
fn a_message_that_was_given_up() {
    let mut story = given_up();
    check(&story, &["reliable-not-delivered"]);
    story.push(lost(says(8_600, 31, 1)));
    check(&story, &[]);
}
