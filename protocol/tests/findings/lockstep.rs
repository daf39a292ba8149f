//! Findings over ticks, checksums and inputs, in sessions of a tiny protocol.

use netreel_protocol::history::Level;

use crate::reels::{Happened, Made, Node};

/// Inputs of ticks and checksums of their states. Ticks start again from 0 after 255.
const WIRE: &str = "
wire turns { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
enum Kind : u8 { input = 0, sum = 1, }
struct Packet { sender: u8 @sender; number: u16; count: u8; messages: Message[count]; }
struct Message @message {
    kind: Kind @message_kind;
    tick: u8 @tick;
    switch (kind) { Kind.input => input: u8 @input; Kind.sum => sum: hash(2) @checksum; }
}
";

const A: u8 = 0;
const B: u8 = 1;
const C: u8 = 2;

/// Each way takes so many ms, each tick so many.
const WAY: u64 = 20;
const TICK: u64 = 100;

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// The sender's input of a tick.
    Input(u64, u8),
    /// The checksum of the sender's state after a tick.
    Sum(u64, u8),
}

/// A packet from one to another. Times in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    from: u8,
    to: u8,
    at: u64,
    received: Option<u64>,
    says: Says,
}

/// What so many players say in so many ticks, each to all others: inputs, then checksums of which this
/// says what they are. The first tick has a number.
fn played(players: u8, ticks: std::ops::Range<u64>, sum: impl Fn(u8, u64) -> u8) -> Vec<Packet> {
    let mut story = Vec::new();
    for (nth, tick) in ticks.enumerate() {
        let begin = 100 + nth as u64 * TICK;
        for from in 0..players {
            for to in (0..players).filter(|&to| to != from) {
                let told = [
                    (begin, Says::Input(tick, 10 * from + tick as u8 % 7)),
                    (begin + 50, Says::Sum(tick, sum(from, tick))),
                ];
                story.extend(told.map(|(at, says)| Packet {
                    from,
                    to,
                    at,
                    received: Some(at + WAY),
                    says,
                }));
            }
        }
    }
    story
}

/// The packets for which this holds are lost.
fn lost(story: Vec<Packet>, is_lost: impl Fn(&Packet) -> bool) -> Vec<Packet> {
    let lose = |it: Packet| Packet {
        received: it.received.filter(|_| !is_lost(&it)),
        ..it
    };
    story.into_iter().map(lose).collect()
}

/// A session of sixty seconds.
pub fn made(story: &[Packet]) -> Made {
    let port = |peer: u8| 1 + u16::from(peer);
    let players = story.iter().map(|it| it.from).max().map_or(0, |it| it + 1);
    let mut events: Vec<Vec<(u64, Happened)>> = vec![Vec::new(); usize::from(players)];
    for (number, each) in story.iter().enumerate() {
        let mut bytes = vec![each.from, number as u8, (number >> 8) as u8, 1];
        bytes.extend(match each.says {
            Says::Input(tick, value) => vec![0, tick as u8, value],
            Says::Sum(tick, value) => vec![1, tick as u8, value, 0xAB],
        });
        let sent = Happened::Sent(port(each.to), bytes.clone());
        events[usize::from(each.from)].push((each.at * 1_000_000, sent));
        if let Some(at) = each.received {
            let received = Happened::Received(port(each.from), bytes);
            events[usize::from(each.to)].push((at * 1_000_000, received));
        }
    }
    let nodes = (0u8..).zip(events).map(|(peer, mut events)| {
        events.sort_by_key(|&(at, _)| at);
        Node {
            name: ["A", "B", "C", "D"][usize::from(peer)].to_owned(),
            boot: "boot".to_owned(),
            port: port(peer),
            events,
            span: (0, 60_000_000_000),
        }
    });
    Made::new(WIRE, nodes.collect())
}

/// Two players, of whom the second tells other checksums in these ticks.
pub fn parted(differ: std::ops::Range<u64>) -> Made {
    made(&played(2, 1..11, |by, tick| {
        tick as u8 + u8::from(by == B && differ.contains(&tick)) * 100
    }))
}

/// What `checksums-differ` says.
#[track_caller]
fn said(story: &[Packet]) -> Vec<(Level, String)> {
    let made = made(story);
    let (session, _) = made.read();
    assert_eq!(session.warnings(), Vec::<String>::new());
    let found = made.found().into_iter();
    let found = found.filter(|it| it.0 == "checksums-differ");
    found.map(|it| (it.1, it.2)).collect()
}

#[track_caller]
fn check(story: &[Packet], expected: &str) {
    let found = said(story);
    let [(Level::Error, sentence)] = &found[..] else {
        panic!("{found:#?}")
    };
    assert_eq!(sentence, expected);
}

/// From tick 4 on B's state is another one.
fn from_four(by: u8, tick: u64) -> u8 {
    tick as u8 + u8::from(by == B && tick >= 4) * 100
}

#[test]
fn the_first_tick_that_differs_is_named_and_that_inputs_do_not_explain_it() {
    check(
        &played(2, 1..11, from_four),
        "B told another checksum of tick 4 than A: 0xab68 (packet 15) and 0xab04 (packet 14); until tick 3 \
         they told the same, 6 of 6 later ticks differ; both had been given the same 2 inputs of tick 4: what parts them is not in any packet",
    );
}

#[test]
fn an_input_that_one_was_not_given_is_named_with_what_became_of_it() {
    let story = lost(played(2, 1..11, from_four), |it| {
        it.from == A && matches!(it.says, Says::Input(4, _))
    });
    let found = said(&story);
    assert!(
        found[0].1.ends_with(
            "B had not been given the input of A of tick 4, which A had: packet 12 was lost"
        ),
        "{found:#?}"
    );
}

#[test]
fn an_input_that_is_not_the_same_at_both_is_named() {
    let mut story = played(3, 1..11, from_four);
    for it in &mut story {
        if it.from == C && it.to == B && matches!(it.says, Says::Input(4, _)) {
            it.says = Says::Input(4, 99);
        }
    }
    let found = said(&story);
    let [(Level::Error, sentence)] = &found[..] else {
        panic!("{found:#?}")
    };
    assert!(
        sentence.starts_with("B told another checksum of tick 4 than A and C: 0xab68"),
        "{sentence}"
    );
    assert!(
        sentence.contains("that of C of tick 4 is 0x63 at B") && sentence.contains("and 0x18 at A"),
        "{sentence}"
    );
}

#[test]
fn ticks_go_on_behind_their_wrap() {
    let story = played(2, 250..261, |by, tick| {
        tick as u8 ^ (u8::from(by == B && tick >= 258) * 64)
    });
    let found = said(&story);
    assert!(found[0].1.contains("of tick 258 than A"), "{found:#?}");
}

#[test]
fn what_two_nodes_agree_about_again_is_a_warning() {
    let found = said(&played(2, 1..11, |by, tick| {
        tick as u8 + u8::from(by == B && tick == 4) * 100
    }));
    let [(Level::Warning, sentence)] = &found[..] else {
        panic!("{found:#?}")
    };
    assert!(
        sentence.contains("0 of 6 later ticks differ, and at the end they tell the same again"),
        "{sentence}"
    );
}

#[test]
fn a_game_that_begins_to_count_anew_is_another_one() {
    let mut story = played(2, 1..11, |_, tick| tick as u8);
    let second = played(2, 1..11, |_, tick| tick as u8 + 50);
    story.extend(second.into_iter().map(|it| Packet {
        at: it.at + 20_000,
        received: it.received.map(|at| at + 20_000),
        ..it
    }));
    assert_eq!(said(&story), []);
}

#[test]
fn a_checksum_that_is_told_late_is_compared_all_the_same() {
    let mut story = played(2, 1..11, |_, tick| tick as u8);
    for it in story.iter_mut().filter(|it| it.from == B) {
        if let Says::Sum(..) = it.says {
            (it.at, it.received) = (it.at + 3_000, it.received.map(|at| at + 3_000));
        }
    }
    assert_eq!(said(&story), []);
}
