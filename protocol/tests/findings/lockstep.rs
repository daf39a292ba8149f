//! Findings over ticks, checksums and inputs, in sessions of a tiny protocol.

use netreel_protocol::history::Level;

use crate::reels::{Happened, Made, Node};

/// Inputs of ticks and checksums of their states. Ticks start again from 0 after 255.
const WIRE: &str = "
wire turns { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
enum Kind : u8 { input = 0, sum = 1, }
struct Packet { sender: u8 @sender; number: u16; now: u8; count: u8; messages: Message[count]; }
struct Message @message {
    kind: Kind @message_kind;
    tick: u8 @tick;
    switch (kind) { Kind.input => input: u8 @input; Kind.sum => sum: hash(2) @checksum; }
}
";

/// The same, with words: what becomes of late inputs, or which tick the sender has worked out.
fn wire(late_input: Option<&str>, now: bool) -> String {
    let now = if now { "now: u8 @tick;" } else { "now: u8;" };
    let wire = WIRE.replace("now: u8;", now);
    let Some(late_input) = late_input else {
        return wire;
    };
    let rules = format!(
        "
rules game {{
    unknown_migrate = drop; unknown_update = drop; unknown_destroy = drop;
    create = always; stale = never; update_from = anyone;
    late_input = {late_input}; input_delay = 1;
}}
enum Mode : u1 {{ game = 0 @rules(game) }}
struct Packet {{ let mode: Mode = Mode.game @rules; "
    );
    wire.replace("\nstruct Packet {", &rules)
}

const A: u8 = 0;
const B: u8 = 1;
const C: u8 = 2;

/// Each way takes this many ms, each tick this many.
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

/// What this many players say in this many ticks, each to all others: inputs, then checksums of which this
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
fn made(story: &[Packet]) -> Made {
    made_with(WIRE, story)
}

fn made_with(wire: &str, story: &[Packet]) -> Made {
    let port = |peer: u8| 1 + u16::from(peer);
    let players = story.iter().map(|it| it.from).max().map_or(0, |it| it + 1);
    let mut events: Vec<Vec<(u64, Happened)>> = vec![Vec::new(); usize::from(players)];
    for (number, each) in story.iter().enumerate() {
        // An input is told a tick before its own is worked out.
        let now = match each.says {
            Says::Input(tick, _) => tick.wrapping_sub(1),
            Says::Sum(tick, _) => tick,
        };
        let mut bytes = vec![each.from, number as u8, (number >> 8) as u8, now as u8, 1];
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
    Made::new(wire, nodes.collect())
}

/// Two players, of whom the second tells other checksums in these ticks.
pub fn parted(differ: std::ops::Range<u64>) -> Made {
    made(&played(2, 1..11, |by, tick| {
        tick as u8 + u8::from(by == B && differ.contains(&tick)) * 100
    }))
}

/// Two players in twenty ticks; A's input of tick 4 takes this many ms to B.
fn late_by(wire: &str, ms: u64) -> Made {
    let mut story = played(2, 1..21, |_, tick| tick as u8);
    for it in story.iter_mut().filter(|it| it.from == A) {
        if let Says::Input(4, _) = it.says {
            it.received = Some(it.at + ms);
        }
    }
    made_with(wire, &story)
}

/// An input that comes late to a game that drops it.
pub fn dropped(ms: u64) -> Made {
    late_by(&wire(Some("drop"), false), ms)
}

/// The same where the wire says how far nodes are, and not what becomes of the input.
pub fn late(ms: u64) -> Made {
    late_by(&wire(None, true), ms)
}

/// The same to a game that rolls back.
pub fn rolled_back(ms: u64) -> Made {
    late_by(&wire(Some("rollback"), false), ms)
}

/// Two players for this many ticks, the first of 100 ms each; those of B are shorter by this many parts in a
/// hundred thousand.
pub fn drifting(shorter: u64) -> Made {
    let mut story = played(2, 1..201, |_, tick| tick as u8);
    // The first checksum is told half a tick after the first input, which would count as a tick.
    story.retain(|it| matches!(it.says, Says::Input(..)));
    for it in story.iter_mut().filter(|it| it.from == B) {
        it.at = 100 + (it.at - 100) * (100_000 - shorter) / 100_000;
        it.received = Some(it.at + WAY);
    }
    made_with(&wire(None, true), &story)
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

/// What a rule says of a session.
#[track_caller]
fn says(made: &Made, rule: &str) -> Vec<(Level, String)> {
    let (session, _) = made.read();
    assert_eq!(session.warnings(), Vec::<String>::new());
    let found = made.found().into_iter().filter(|it| it.0 == rule);
    found.map(|it| (it.1, it.2)).collect()
}

#[test]
fn an_input_that_comes_late_is_dropped_and_named_with_how_late_it_was() {
    let found = says(&dropped(250), "input-late");
    let [(Level::Warning, sentence)] = &found[..] else {
        panic!("{found:#?}")
    };
    assert_eq!(
        sentence,
        "1 of 20 inputs of A came too late for their tick to B, which drops them: first that of tick 4 in \
         packet 12, when B was past tick 5; the latest by 2 ticks"
    );
}

#[test]
fn a_game_that_rolls_back_or_waits_has_no_late_inputs() {
    assert_eq!(says(&rolled_back(250), "input-late"), []);
    let waits = late_by(&wire(Some("wait"), false), 250);
    assert_eq!(says(&waits, "input-late"), []);
    assert_eq!(says(&waits, "rollback-deep"), []);
}

#[test]
fn a_rollback_is_as_deep_as_the_node_had_come_since() {
    let found = says(&rolled_back(1_350), "rollback-deep");
    let [(Level::Warning, sentence)] = &found[..] else {
        panic!("{found:#?}")
    };
    assert_eq!(
        sentence,
        "B has to play 13 ticks again, more than 12: the input of A of tick 4 came in packet 12, when B was past \
         tick 16; late inputs of A came in 1 of its ticks, with 13 ticks to play again in all"
    );
    let deeper = rolled_back(1_350).bounds("[rollback-deep]\nticks = 13\n");
    assert_eq!(says(&deeper, "rollback-deep"), []);
}

/// What comes late in several packets before the next tick is one rollback.
#[test]
fn late_inputs_are_counted_by_rollbacks() {
    let mut story = played(2, 1..21, |_, tick| tick as u8);
    for it in story.iter_mut().filter(|it| it.from == A) {
        if let Says::Input(4..=6, _) = it.says {
            it.received = Some(910);
        }
    }
    let (session, history) = made_with(&wire(Some("rollback"), false), &story).read();
    let at_b = history
        .inputs
        .iter()
        .find(|it| session.name(it.node) == "B");
    let at_b = at_b.expect("those of A at B");
    // B told its input of tick 9 at 900, so that it was past tick 8.
    let depth = at_b.worst.expect("one that was late").depth();
    assert_eq!((at_b.ticks, at_b.late), (20, 3));
    assert_eq!((at_b.rollbacks, at_b.played_again, depth), (1, 5, 5));
}

#[test]
fn ticks_that_drift_are_told_with_both_speeds() {
    let found = says(&drifting(2_500), "tick-drift");
    let [(Level::Warning, sentence)] = &found[..] else {
        panic!("{found:#?}")
    };
    assert!(
        sentence.starts_with(
            "the ticks of B drift: it made 10.26 a second, those of A 10.00, 1 in 39 too many"
        ),
        "{sentence}"
    );
}

#[test]
fn ticks_are_held_against_the_rate_that_the_game_means() {
    let with = |rate: u32| {
        let bounds = format!("[tick-drift]\nrate = {rate}\n");
        says(&drifting(0).bounds(&bounds), "tick-drift")
    };
    assert_eq!(with(10), []);
    assert_eq!(with(9).len(), 2, "{:?}", with(9));
}
