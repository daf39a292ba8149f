//! How many processors work on a session changes nothing in it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use netreel_protocol::history::History;
use netreel_protocol::session::{PacketId, ReelInput, Session};
use netreel_protocol::stats::Stats;
use netreel_reel::Reel;
use netreel_transport::LinkFaults;
use netreel_wire::Wire;

use crate::index::through_index;
use crate::played::{Played, WAYS, boxes};
use crate::story::{RECORDINGS, imported, rows, story, wire_of};
use crate::tape::{Tape, again};

fn build(workers: usize, reels: &[ReelInput], wire: Option<&Arc<Wire>>) -> Session {
    let session = Session::builder()
        .workers(workers)
        .wire(wire.cloned())
        .build(again(reels));
    session.unwrap_or_else(|error| panic!("{error}"))
}

/// What is asked gets the same answer of a session that one processor built as of those that
/// several did. Gives the former.
#[track_caller]
fn check<A: PartialEq + std::fmt::Debug>(
    reels: &[ReelInput],
    wire: Option<&Arc<Wire>>,
    ask: impl Fn(&Session) -> Vec<A>,
) -> Session {
    let session = build(1, reels, wire);
    let expected = ask(&session);
    assert!(!expected.is_empty());
    for workers in [2, 7] {
        let answer = ask(&build(workers, reels, wire));
        let both = expected.iter().zip(&answer).enumerate();
        let different = both.into_iter().find(|(_, (one, other))| one != other);
        assert_eq!(different, None, "{workers} processors");
        assert_eq!(answer.len(), expected.len(), "{workers} processors");
    }
    // What was asked for is in its index, and what was not is found out anew.
    for kept in [&session, &build(2, reels, wire)] {
        for history in [None, Some(&History::build(kept))] {
            let found = through_index(kept, history, reels, wire);
            assert_eq!(found.has_history(), history.is_some());
            assert_eq!(ask(&found), expected);
        }
    }
    session
}

#[test]
fn a_simulated_world_tells_one_story() {
    for seed in [11, 13, 17] {
        for (mode, topology) in WAYS {
            let mut start = boxes(seed, mode, topology);
            start.nodes = 4;
            start.faults = LinkFaults {
                jitter: Duration::from_millis(seed),
                loss: 0.1,
                duplicate: 0.1,
                reorder: 0.1,
                ..LinkFaults::default()
            };
            let played = Played::to_rest(&start);
            let reels = played.reels.iter().map(|(name, bytes)| ReelInput {
                name: format!("{name}.reel"),
                reel: Arc::new(Reel::from_bytes(bytes.clone()).expect("a good reel")),
            });
            let reels: Vec<ReelInput> = reels.collect();
            let session = check(&reels, None, story);
            let duplicates = session.packets().map(|packet| packet.duplicates.len());
            assert!(duplicates.sum::<usize>() > 10);
        }
    }
}

#[test]
fn a_capture_tells_one_story() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    for (capture, wire) in RECORDINGS {
        let wire = wire_of(wire);
        let capture = here.join("wire/tests/recordings").join(capture);
        let session = check(&imported(&capture, &[]), Some(&wire), story);
        let nodes = session.nodes.iter().map(|node| node.name.clone());
        let nodes: Vec<String> = nodes.collect();
        assert!(nodes.len() > 1);
        // Each end a node of its own, and what all of them saw at the wire besides.
        check(&imported(&capture, &nodes), Some(&wire), story);
    }
}

/// Each end of a connection counts its own steps, and has heard of the other's.
const STEPS: &str = "wire w { byte_order = little; bit_order = lsb; root = P; state = S; }
state S { each sum: u32 = 0; }
struct P {
    number: u32;
    sum: delta(u8, state.sum) @sequence;
    set state.sum = sum;
    back: delta(u8, state.other.sum) @ack;
    messages: M[until end];
}
enum K : u1 { a, b }
struct M @message { kind: K @message_kind; object: u7 @object; }";

/// What the pass over whole reels found in a packet is what a look at it alone finds.
fn check_looks(session: &Session, ids: impl Iterator<Item = u32>) {
    for id in ids.map(PacketId) {
        let facts = session.decode(id).expect("a wire").facts;
        let said = session.said(id).expect("the packet");
        assert_eq!((facts.sequence, facts.ack), (said.sequence, said.ack));
        let messages = session.messages_of(id).map(|(_, facts)| facts);
        assert_eq!(facts.messages, messages.collect::<Vec<_>>(), "{id:?}");
    }
}

#[test]
fn a_long_reel_of_a_wire_with_state_is_read_in_pieces_that_make_one_whole() {
    // More packets than one piece takes, and more connections than there are pieces.
    let (packets, peers) = (80_000, 6);
    let mut server = Tape::node("server", 1, STEPS);
    for n in 0..packets {
        let peer = 100 + ((n * 7 + n / 11) % peers) as u16;
        let messages = [n as u8, n as u8 ^ 0x55, 7];
        let number = (n as u32).to_le_bytes();
        let steps = [n as u8 % 5, n as u8 % 3];
        let payload = [&number, &steps[..], &messages[..n as usize % 4]].concat();
        match n % 3 {
            0 => server.sent(n * 10, peer, &payload),
            _ => server.received(n * 10, peer, &payload),
        }
    }
    let session = check(&[server.end(packets * 10)], None, rows);
    assert_eq!(session.packet_count() as u64, packets);
    check_looks(&session, (0..packets as u32).step_by(997));
}

const NUMBERED: &str = "wire w { byte_order = little; bit_order = lsb; root = P; }
struct P { sequence: u16 @sequence; messages: M[until end]; }
enum K : u1 { a, b }
struct M @message { kind: K @message_kind; object: u7 @object; }";

#[test]
fn a_long_reel_of_a_wire_without_state_is_read_in_pieces_that_make_one_whole() {
    // A piece has 1024 blocks.
    let packets = 12_000;
    let mut client = Tape::node("client", 2, NUMBERED);
    let mut server = Tape::node("server", 1, NUMBERED);
    for n in 0..packets {
        let number = (n as u16).to_le_bytes();
        let payload = [&number, &[n as u8, 3, n as u8 / 3][..n as usize % 4]].concat();
        client.sent(n * 10, 1, &payload);
        // Some are lost in a row, around where shares of the packets may end.
        if n % 7 != 0 && !(4090..4110).contains(&n) {
            server.received(n * 10 + n % 4, 2, &payload);
        }
        if n % 5 == 0 {
            client.seal();
        }
        if n % 3 == 0 {
            server.seal();
        }
    }
    let end = packets * 10 + 1_000_000_000;
    let reels = [client.end(end), server.end(end)];
    assert!(reels.iter().all(|input| input.reel.blocks() > 2 * 1024));
    let session = check(&reels, None, rows);
    assert_eq!(session.packet_count() as u64, packets);
    check_looks(&session, (0..packets as u32).step_by(97));
    let all: Vec<PacketId> = (0..packets as u32).map(PacketId).collect();
    let stats = |session: &Session| vec![Stats::new(session, &History::build(session), &all)];
    check(&reels, None, stats);
    let [stats] = &stats(&session)[..] else {
        unreachable!("one")
    };
    assert_eq!(stats.all.bursts.longest, 20);
    // What only the server's reel tells.
    let session = check(&reels[1..], None, rows);
    check_looks(&session, (0..session.packet_count() as u32).step_by(97));
}

#[test]
fn more_ends_than_are_matched_at_once_find_each_other() {
    // This many ends are matched at once.
    let part = 1u64 << 20;
    let packets = part / 2 + 5_000;
    let (mut a, mut b) = (Tape::node("A", 1, ""), Tape::node("B", 2, ""));
    for n in 0..packets {
        // Each payload comes twice, and one in a hundred never arrives.
        let payload = (n / 2).to_le_bytes();
        a.sent(n * 10, 2, &payload);
        if n % 100 != 0 {
            b.received(n * 10 + 25, 1, &payload);
        }
    }
    let end = packets * 10 + 1_000_000_000;
    let ends = |session: &Session| {
        let packets = session.packets().map(|packet| {
            let copies = packet.duplicates.len();
            (packet.sent, packet.received, packet.fate, copies)
        });
        packets.collect()
    };
    let session = check(&[a.end(end), b.end(end)], None, ends);
    assert_eq!(session.packet_count() as u64, packets);
    for (n, packet) in (0..).zip(session.packets()) {
        let at = (n % 100 != 0).then_some(n * 10 + 25);
        let received = packet.received.map(|stamp| stamp.time.0);
        assert_eq!((received, packet.duplicates.len()), (at, 0), "packet {n}");
    }
}
