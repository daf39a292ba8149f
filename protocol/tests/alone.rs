//! Packets are asked about alone, at the end that tells them, and only those that depend on what came before
//! at all their ends: what is said of each has to be what one reading of its reel from the front says.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_protocol::session::{NodeId, PacketId, ReelInput, Session};
use netreel_reel::{
    ClockAnchor, Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId,
    ThreadId, Time,
};
use netreel_wire::{ConnectionState, Context, PacketFacts, Wire};

const WITH_STATE: &str = "
wire w { byte_order = little; bit_order = lsb; root = P; state = S; }
state S { sum: u32 = 0; }
struct P {
    key: u32 @sequence;
    adds: u8;
    if (adds == 1) { total: delta(u8, state.sum) @ack; set state.sum = total; }
    else { plain: u8 @ack; }
}";

const WITHOUT: &str = "
wire w { byte_order = little; bit_order = lsb; root = P; }
struct P { key: u32 @sequence; adds: u8; plain: u8 @ack; }";

/// A packet of one of two nodes: when it leaves and arrives, and its bytes. Not all are in the reels.
struct Sent {
    from: usize,
    left: Option<u64>,
    arrived: Option<u64>,
    bytes: Vec<u8>,
}

/// So many packets, of which so many in a hundred add to the state, and so many lack their send.
fn packets(count: u32, adding: u32, unsent: u32) -> Vec<Sent> {
    let mut seed = 7u32;
    let mut draw = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % below
    };
    (0..count)
        .map(|key| {
            let left = u64::from(key) * 1000;
            let mut bytes = key.to_le_bytes().to_vec();
            bytes.push(u8::from(draw(100) < adding));
            bytes.push(draw(200) as u8);
            let is_unsent = draw(100) < unsent;
            let is_lost = !is_unsent && draw(10) == 0;
            Sent {
                from: draw(2) as usize,
                left: (!is_unsent).then_some(left),
                arrived: (!is_lost).then_some(left + 1500 + u64::from(draw(3000)) * 2),
                bytes,
            }
        })
        .collect()
}

/// Of each node and each of its events the ack that one reading of its reel from the front finds.
type Acks = BTreeMap<(u16, u64), Option<u64>>;

/// The bytes of the reel of each node, and the acks in them.
fn reels(wire: &Wire, packets: &[Sent]) -> (Vec<Vec<u8>>, Acks) {
    let endpoint = |node: usize| -> Endpoint { ([127, 0, 0, 1], 1 + node as u16).into() };
    let mut acks = BTreeMap::new();
    let reels = (0..2).map(|node| {
        let header = Header {
            node: ["A", "B"][node].to_owned(),
            session: [1; 16],
            clock: ClockAnchor {
                boot_id: "boot".to_owned(),
                ..ClockAnchor::default()
            },
            ..Header::default()
        };
        let mut writer = ReelWriter::create(Vec::new(), &header).expect("a reel");
        let (socket, peer) = (SocketId(0), endpoint(1 - node));
        let local = endpoint(node);
        let mut events = vec![(0, Event::SocketOpened { socket, local })];
        for packet in packets {
            let payload = &packet.bytes[..];
            let (own, event) = match packet.from == node {
                true => (
                    packet.left,
                    Event::Sent {
                        socket,
                        to: peer,
                        payload,
                    },
                ),
                false => (
                    packet.arrived,
                    Event::Received {
                        socket,
                        from: peer,
                        payload,
                    },
                ),
            };
            events.extend(own.map(|time| (time + 1, event)));
        }
        events.sort_by_key(|(time, _)| *time);
        let (mut state, mut facts) = (wire.new_state(), PacketFacts::default());
        for (number, (time, event)) in (0..).zip(events) {
            if let Event::Sent { payload, .. } | Event::Received { payload, .. } = event {
                wire.facts_in(&Context::default(), &mut state, payload, &mut facts);
                acks.insert((node as u16, number), facts.ack.map(|ack| ack.value));
            }
            let record = Record {
                number: EventNumber(number),
                time: Time(time),
                thread: ThreadId(0),
                event,
            };
            writer.push(&record).expect("an event");
        }
        writer.finish().expect("its bytes")
    });
    let reels = reels.collect();
    (reels, acks)
}

fn opened(reels: &[Vec<u8>]) -> Vec<ReelInput> {
    let inputs = ["A", "B"].into_iter().zip(reels);
    inputs
        .map(|(name, bytes)| ReelInput {
            name: format!("{name}.reel"),
            reel: Arc::new(Reel::from_bytes(bytes.clone()).expect("a reel")),
        })
        .collect()
}

fn compiled(wire: &str) -> Arc<Wire> {
    Arc::new(Wire::compile("w.wire", wire).unwrap_or_else(|error| panic!("{error}")))
}

#[track_caller]
fn check(wire: &str, packets: &[Sent]) {
    let wire = compiled(wire);
    let (reels, acks) = reels(&wire, packets);
    for (with_facts, workers) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
        let mut how = Session::builder().wire(wire.clone()).workers(workers);
        if with_facts {
            how = how.with_facts();
        }
        let session = how.build(opened(&reels)).expect("a session");
        assert_eq!(session.packet_count(), packets.len());
        // Looks go forward and back, so that they begin from states that others left.
        let order = (0..packets.len() as u32).chain((0..packets.len() as u32).rev().step_by(7));
        for id in order.map(PacketId) {
            let packet = session.packet(id).expect("a packet");
            let told = packet.sent.map(|sent| (packet.from, sent));
            let told = told.or_else(|| Some((packet.to, packet.received?)));
            let (NodeId(node), stamp) = told.expect("an end");
            let expected = acks[&(node, stamp.number.0)];
            let said = session.said(id).expect("what the wire says");
            let at = format!("{id:?} with facts: {with_facts}, {workers} workers");
            assert_eq!(said.ack.map(|ack| ack.value), expected, "{at}");
            let decoded = session.decode(id).expect("it decodes");
            assert_eq!(decoded.facts.ack.map(|ack| ack.value), expected, "{at}");
        }
    }
}

#[test]
fn a_reel_that_is_damaged_is_asked_about_what_came_from_one_that_grows() {
    let wire = compiled(WITH_STATE);
    let (mut reels, _) = reels(&wire, &packets(40_000, 30, 0));
    // In the first of its blocks.
    reels[1][30_000] ^= 0xff;
    let how = || Session::builder().wire(wire.clone());
    let acks = |session: &Session| {
        let all = (0..session.packet_count() as u32).map(PacketId);
        let acks = all.map(|id| session.said(id)?.ack);
        acks.collect::<Vec<_>>()
    };
    let expected = how().build(opened(&reels)).expect("a session");
    let sent = expected.counts(NodeId(1)).expect("a reel").0;
    assert!(!expected.nodes[1].holes.is_empty() && sent > 2000, "{sent}");
    let grown = how().growing().look(opened(&reels)).expect("a session");
    assert_eq!(acks(&grown), acks(&expected));
    let along = how().with_facts().build(opened(&reels)).expect("a session");
    assert_eq!(acks(&along), acks(&expected));
}

#[test]
fn a_few_packets_depend_on_others() {
    check(WITH_STATE, &packets(3000, 3, 5));
}

#[test]
fn nearly_all_packets_depend_on_others() {
    check(WITH_STATE, &packets(3000, 90, 5));
}

#[test]
fn most_sends_are_in_no_reel() {
    check(WITH_STATE, &packets(2000, 10, 80));
    check(WITHOUT, &packets(2000, 10, 80));
}

#[test]
fn no_packet_depends_on_others() {
    check(WITH_STATE, &packets(2000, 0, 5));
    check(WITHOUT, &packets(2000, 0, 5));
}

#[test]
fn what_touches_the_state_is_not_said_alone() {
    let wire = compiled(WITH_STATE);
    let mut facts = PacketFacts::default();
    for (adds, expected) in [(0, true), (1, false)] {
        let packet = [9, 0, 0, 0, adds, 5];
        let is_alone = wire.facts_alone(&Context::default(), &packet, &mut facts);
        assert_eq!(is_alone, expected);
        assert_eq!(wire.decode_alone(&Context::default(), &packet).1, expected);
    }
    let mut state: ConnectionState = wire.new_state();
    wire.facts_in(
        &Context::default(),
        &mut state,
        &[9, 0, 0, 0, 1, 5],
        &mut facts,
    );
    assert_eq!(facts.ack.map(|ack| ack.value), Some(5));
}
