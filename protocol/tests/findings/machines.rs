//! Findings about machines, reels and bytes: clocks, ticks, what is cut, what does not fit, and what
//! values nodes believe in.

use netreel_protocol::history::Level;

use crate::reels::{Happened, Made, Node};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// Each packet has a number of its own.
const NUMBERED: &str = "
wire numbered { byte_order = little; bit_order = lsb; root = Packet; }
struct Packet { number: u32; }
";

/// What follows from the data stands before it.
const SUMMED: &str = "
wire summed { byte_order = little; bit_order = lsb; root = Packet; }
struct Packet { sum: u8 derived sum8(data); length: u8 derived size(data); data: bytes(length); }
";

/// Objects with a value; two nodes agree where theirs are no farther apart than 1.
const VALUED: &str = "
wire valued { byte_order = little; bit_order = lsb; root = Packet; }
rules plain {
    unknown_migrate = drop; unknown_update = drop; unknown_destroy = drop;
    create = always; stale = never; update_from = anyone;
}
enum Mode : u8 { plain = 0 @rules(plain), }
enum Kind : u8 { create = 0 @create, update = 1 @update, }
struct Packet { mode: Mode @rules; sender: u8 @sender; messages: Message[1]; }
struct Message @message {
    kind: Kind @message_kind;
    object: u8 @object;
    switch (kind) { Kind.create => owner: u8 @owner; Kind.update => unused: u8; }
    value: u8 @property(number, 1);
}
";

fn node(name: &str, boot: &str, port: u16, events: Vec<(u64, Happened)>) -> Node {
    let start = events.first().map_or(0, |&(time, _)| time);
    let end = events
        .last()
        .map_or(0, |&(time, _)| time)
        .max(start + 10 * SECOND);
    Node {
        name: name.to_owned(),
        boot: boot.to_owned(),
        port,
        events,
        span: (start, end),
    }
}

/// A's packet to B with these bytes.
fn one(wire: &str, payload: &[u8], (sent, received): (u64, u64)) -> Made {
    let to = Happened::Sent(2, payload.to_vec());
    let from = Happened::Received(1, payload.to_vec());
    let a = node("A", "boot", 1, vec![(sent, to)]);
    let b = node("B", "boot", 2, vec![(received, from)]);
    Made::new(wire, vec![a, b])
}

/// Two machines of one boot id, and a packet that takes this long.
pub fn took(ns: i64) -> Made {
    let received = SECOND.saturating_add_signed(ns);
    one(NUMBERED, &7u32.to_le_bytes(), (SECOND, received))
}

/// A packet whose sum is off by this, and that ends with these bytes.
pub fn summed(off: u8, end: &[u8]) -> Made {
    let data = [3u8, 4, 5];
    let sum = data.iter().sum::<u8>() + off;
    let bytes = [&[sum, 3], &data[..], end].concat();
    one(SUMMED, &bytes, (SECOND, SECOND + MS))
}

/// Two machines that talk; the reel of B lacks this many bytes at its end.
pub fn cut(bytes: usize) -> Made {
    Made {
        cut: bytes,
        ..set_by(0)
    }
}

/// Two machines that talk for twenty seconds, 5 ms apart. The clock of B is set by this much halfway.
pub fn set_by(by: u64) -> Made {
    let b_shows = |at: u64| {
        let set = if at >= 10 * SECOND { by } else { 0 };
        1_000 * SECOND + at + set
    };
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    for number in 0..400u32 {
        let at = u64::from(number) * 50 * MS;
        let there = (2 * number).to_le_bytes().to_vec();
        let back = (2 * number + 1).to_le_bytes().to_vec();
        of_a.push((at, Happened::Sent(2, there.clone())));
        of_b.push((b_shows(at + 5 * MS), Happened::Received(1, there)));
        of_b.push((b_shows(at + 6 * MS), Happened::Sent(1, back.clone())));
        of_a.push((at + 11 * MS, Happened::Received(2, back)));
    }
    let a = node("A", "one machine", 1, of_a);
    let b = node("B", "another one", 2, of_b);
    Made::new(NUMBERED, vec![a, b])
}

/// Ticks of 16 ms, of which one begins so late.
pub fn ticks(late_ms: u64) -> Made {
    let ticks = (0..60).map(|tick| {
        let late = if tick >= 30 { late_ms - 16 } else { 0 };
        (SECOND + (tick * 16 + late) * MS, Happened::Tick(tick))
    });
    let packet = 7u32.to_le_bytes().to_vec();
    let mut events: Vec<_> = ticks.collect();
    events.push((9 * SECOND, Happened::Sent(2, packet.clone())));
    let a = node("A", "boot", 1, events);
    let b = node(
        "B",
        "boot",
        2,
        vec![(9 * SECOND + MS, Happened::Received(1, packet))],
    );
    Made::new(NUMBERED, vec![a, b]).bounds("[tick-stall]\nlongest = \"500ms\"\n")
}

/// A creates an object with value 10 for B, and later tells a value that is lost.
pub fn last_told(value: u8) -> Made {
    let says =
        |kind: u8, sender: u8, object: u8, value: u8| vec![0, sender, kind, object, sender, value];
    let (created, other) = (says(0, 0, 5, 10), says(0, 1, 9, 1));
    let of_a = vec![
        (SECOND, Happened::Sent(2, created.clone())),
        (SECOND + 20 * MS, Happened::Received(2, other.clone())),
        (SECOND + 90 * MS, Happened::Sent(2, says(1, 0, 5, value))),
    ];
    let of_b = vec![
        (SECOND + 5 * MS, Happened::Received(1, created)),
        (SECOND + 15 * MS, Happened::Sent(1, other)),
    ];
    let a = node("A", "boot", 1, of_a);
    let b = node("B", "boot", 2, of_b);
    Made::new(VALUED, vec![a, b])
}

/// A creates an object with value 10 for B, and tells 12 from then on, ten times a second; the first of that
/// which comes through is sent so many ms after the first that does not, or none is.
pub fn behind(lost_ms: Option<u64>) -> Made {
    let comes = |nth| lost_ms.is_some_and(|lost| nth * 100 >= lost);
    behind_of(comes, |_| 12)
}

/// The same where the nth value comes through or not, and is this.
fn behind_of(comes: impl Fn(u64) -> bool, value: impl Fn(u64) -> u8) -> Made {
    let says =
        |kind: u8, sender: u8, object: u8, value: u8| vec![0, sender, kind, object, sender, value];
    let (created, other) = (says(0, 0, 5, 10), says(0, 1, 9, 1));
    let mut of_a = vec![
        (SECOND, Happened::Sent(2, created.clone())),
        (SECOND + 20 * MS, Happened::Received(2, other.clone())),
    ];
    let mut of_b = vec![
        (SECOND + 5 * MS, Happened::Received(1, created)),
        (SECOND + 15 * MS, Happened::Sent(1, other)),
    ];
    for nth in 0..99u64 {
        let at = SECOND + 90 * MS + nth * 100 * MS;
        // No two packets are the same.
        let bytes = vec![0, 0, 1, 5, nth as u8, value(nth)];
        of_a.push((at, Happened::Sent(2, bytes.clone())));
        if comes(nth) {
            of_b.push((at + 5 * MS, Happened::Received(1, bytes)));
        }
        // B is there, and says so.
        if nth % 5 == 0 {
            let bytes = vec![0, 1, 1, 9, nth as u8, 1];
            of_b.push((at + 10 * MS, Happened::Sent(1, bytes.clone())));
            of_a.push((at + 15 * MS, Happened::Received(2, bytes)));
        }
    }
    let a = node("A", "boot", 1, of_a);
    let b = node("B", "boot", 2, of_b);
    Made::new(VALUED, vec![a, b])
}

#[test]
fn a_difference_that_lasts_is_found_though_nothing_rests() {
    let found = behind(Some(2_100)).found();
    let found = found.iter().find(|it| it.0 == "difference-lasts");
    let Some((_, Level::Info, sentence)) = found else {
        panic!("{found:?}")
    };
    assert_eq!(
        sentence,
        "for 2.1 s B believed that value of object 5 is 10, which its owner A had left behind (12 by \
         then, 2.00 apart)"
    );
}

/// What A still tells when the reels end, and what is lost on its way, may come right; but no link loses all
/// for twice as long as a difference needs to last.
#[test]
fn a_difference_that_stands_is_an_error_unless_it_is_being_told_again() {
    let level = |lost_from| {
        let found = behind_of(|nth| nth < lost_from, |nth| 12 + nth as u8).found();
        let own = found.into_iter().find(|it| it.0 == "difference-lasts");
        own.map(|it| (it.1, it.2.ends_with("where it was being told again")))
    };
    assert_eq!(level(74), Some((Level::Info, true)));
    assert_eq!(level(40), Some((Level::Error, false)));
    // It lasts for less than two seconds.
    assert_eq!(level(90), None);
}

/// In each of ten ticks, 16 ms apart, A tells B another value of an object, and the same again this many
/// ms later.
pub fn updates(again_ms: u64) -> Made {
    let says = |kind: u8, value: u8| vec![0, 0, kind, 5, 0, value];
    let mut sent = vec![(SECOND, says(0, 1))];
    let mut of_a = Vec::new();
    for tick in 0..10u8 {
        let at = SECOND + (1 + u64::from(tick)) * 16 * MS;
        of_a.push((at, Happened::Tick(tick.into())));
        sent.push((at + MS, says(1, 10 + tick)));
        sent.push((at + MS + again_ms * MS, says(1, 10 + tick)));
    }
    let mut of_b = Vec::new();
    for (at, bytes) in sent {
        of_a.push((at, Happened::Sent(2, bytes.clone())));
        of_b.push((at + 5 * MS, Happened::Received(1, bytes)));
    }
    for events in [&mut of_a, &mut of_b] {
        events.sort_by_key(|&(at, _)| at);
    }
    let (a, b) = (node("A", "boot", 1, of_a), node("B", "boot", 2, of_b));
    Made::new(VALUED, vec![a, b])
}

#[test]
fn what_is_told_twice_in_one_tick_is_counted() {
    let found = updates(2).found();
    let [("update-twice", Level::Warning, sentence)] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        sentence,
        "A sent B the same UPDATE of object 5 twice in one tick (packets 1 and 2); so with 9 more"
    );
    // The second one leaves in the next tick.
    assert_eq!(updates(16).rules(), [""; 0]);
}

#[test]
fn a_clock_that_was_set_is_named_with_how_far() {
    let found = set_by(2 * SECOND).found();
    let [("clock-set", Level::Warning, sentence)] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(sentence, "the clock of B was set forward by 2.0 s");
}

#[test]
fn a_clock_that_was_set_by_less_than_the_packets_leave_open_is_not() {
    assert_eq!(set_by(MS).rules(), [""; 0]);
    assert_eq!(set_by(0).rules(), [""; 0]);
}

#[test]
fn a_field_that_does_not_follow_is_named_with_both_values() {
    let found = summed(1, &[]).found();
    let [("derived-field-wrong", Level::Warning, sentence)] = &found[..] else {
        panic!("{found:?}")
    };
    assert!(
        sentence.starts_with("`sum` is wrong in 1 packet from A; in packet 0 "),
        "{sentence}"
    );
    assert!(
        sentence.contains("13") && sentence.contains("12"),
        "{sentence}"
    );
}

#[test]
fn a_packet_with_something_else_wrong_is_undecodable_and_not_both() {
    assert_eq!(summed(0, &[]).rules(), [""; 0]);
    assert_eq!(summed(1, &[9]).rules(), ["undecodable-packet"]);
    assert_eq!(summed(0, &[9]).rules(), ["undecodable-packet"]);
}
