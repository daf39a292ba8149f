//! Wires that keep state, over whole sessions.

use std::sync::Arc;

use netreel_protocol::session::{Message, MessageId, PacketId, ReelInput, Said, Session};
use netreel_reel::{
    Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId, ThreadId, Time,
    WireText,
};
use netreel_wire::packet_facts;
use proptest::prelude::*;

/// Any first byte is a step of the sum; `names` and `last` go into the facts by way of deltas.
const WIRE: &str = "wire w { byte_order = little; bit_order = lsb; root = P; state = S; }
state S { each last: u32 = 0; other_last: u32; lengths: u8[4]; }
struct P {
    step: delta(u8, state.last) @sequence;
    set state.last = step;
    back: delta(u4, state.other.last) @ack;
    key: u2;
    kind: u2;
    if (kind == 1) { length: u8; set state.lengths[key] = length; }
    if (kind == 2) { text: bytes(state.lengths[key]); set state.other_last = back; }
    if (kind == 3) { check: u8[state.other_last % 3]; }
    messages: M[until end];
}
enum K : u1 { a, b }
struct M @message { kind: K @message_kind; object: delta(u7, state.last) @object; }";

fn at(port: u16) -> Endpoint {
    ([127, 0, 0, 1], port).into()
}

/// The reel of a node on a port: to or from which port each packet went, and its bytes.
fn reel(port: u16, wire: &str, packets: &[(u16, bool, Vec<u8>)]) -> Vec<u8> {
    let header = Header {
        node: format!("node {port}"),
        session: [1; 16],
        wires: vec![WireText {
            name: "w.wire".to_owned(),
            text: wire.to_owned(),
        }],
        ..Header::default()
    };
    let mut writer = ReelWriter::create(Vec::new(), &header).unwrap();
    let socket = SocketId(0);
    let mut push = |number: u64, event| {
        let record = Record {
            number: EventNumber(number),
            time: Time(number * 1000),
            thread: ThreadId(0),
            event,
        };
        writer.push(&record).unwrap();
    };
    let local = at(port);
    push(0, Event::SocketOpened { socket, local });
    for (number, (peer, out, payload)) in (1..).zip(packets) {
        let event = match out {
            true => Event::Sent {
                socket,
                to: at(*peer),
                payload,
            },
            false => Event::Received {
                socket,
                from: at(*peer),
                payload,
            },
        };
        push(number, event);
    }
    writer.finish().unwrap()
}

fn session(reels: Vec<Vec<u8>>) -> Session {
    let input = |(place, bytes): (usize, Vec<u8>)| ReelInput {
        name: format!("{place}.reel"),
        reel: Arc::new(Reel::from_bytes(bytes).unwrap()),
    };
    Session::builder()
        .build(reels.into_iter().enumerate().map(input).collect())
        .unwrap()
}

macro_rules! said {
    ($facts:ident $messages:ident $($(#[$doc:meta])* $name:ident: $of:ident,)*) => {{
        let single = $facts.nack.map(|nack| (nack.value, nack.value));
        Said {
            protocol: $facts.protocol,
            $($name: $facts.$name,)*
            ack_bits: $facts.ack_bits,
            ack_ranges: $facts.ack_ranges,
            lacks: $facts.nack_ranges.into_iter().chain(single).collect(),
            range_bits: $facts.range_bits,
            messages: $messages,
            diagnostics: $facts.diagnostics,
        }
    }};
}

/// A full look at every packet, in any order, says what the pass at load said.
fn check(session: &Session) -> Result<(), TestCaseError> {
    for place in (0..session.packet_count() as u32).rev() {
        let id = PacketId(place);
        let at_load = session.said(id).unwrap();
        let facts = session.decode(id).unwrap().facts;
        let numbers = at_load.messages.clone();
        let said = packet_facts!(said facts numbers);
        prop_assert_eq!(&said, &at_load);
        let numbers = at_load.messages.map(MessageId);
        let messages: Vec<_> = numbers.zip(facts.messages).collect();
        prop_assert_eq!(&messages, &session.messages_of(id).collect::<Vec<_>>());
        for (number, facts) in messages {
            let message = Message { packet: id, facts };
            prop_assert_eq!(session.message(number), Some(message));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_full_look_says_what_the_pass_at_load_said(
        packets in prop::collection::vec(
            (2u16..4, any::<bool>(), prop::collection::vec(any::<u8>(), 0..8)),
            0..300,
        ),
        lost in prop::collection::vec(any::<bool>(), 300),
    ) {
        let of_peer: Vec<(u16, bool, Vec<u8>)> = packets
            .iter()
            .zip(lost)
            .filter(|((peer, out, _), lost)| *peer == 2 && !(*out && *lost))
            .map(|((_, out, payload), _)| (1, !out, payload.clone()))
            .collect();
        check(&session(vec![reel(1, WIRE, &packets)]))?;
        if !of_peer.is_empty() && !packets.is_empty() {
            check(&session(vec![reel(1, WIRE, &packets), reel(2, WIRE, &of_peer)]))?;
        }
    }
}

const KEYED: &str = "wire w { byte_order = big; bit_order = msb; root = P; state = S; ports = 1; }
state S { key: u8; }
struct P {
    kind: u8;
    if (kind == 0) { key: u8; set state.key = key; }
    else { sequence: u8 @sequence; if (state.key == 7) { good: u8; } else { bad: u16; } }
}";

fn sequences(session: &Session) -> Vec<(Option<u64>, u32)> {
    let packets = (0..session.packet_count() as u32).map(PacketId);
    packets
        .filter_map(|id| session.said(id))
        .map(|said| {
            let sequence = said.sequence.map(|sequence| sequence.value);
            (sequence, said.diagnostics)
        })
        .collect()
}

#[test]
fn each_connection_has_a_state_of_its_own() {
    let packets = [
        (2, false, vec![0, 7]),
        (3, false, vec![0, 9]),
        (2, true, vec![1, 10, 0]),
        (3, true, vec![1, 11, 0, 0]),
        (4, true, vec![1, 12, 0]),
    ];
    let session = session(vec![reel(1, KEYED, &packets)]);
    assert_eq!(
        sequences(&session),
        [
            (None, 0),
            (None, 0),
            (Some(10), 0),
            (Some(11), 0),
            (Some(12), 1),
        ]
    );
    let told = session.decode(PacketId(4)).unwrap().diagnostics;
    assert_eq!(
        told[0].message,
        "`state.key` has no value: no packet so far has set it"
    );
}

#[test]
fn what_a_node_sent_is_read_with_what_it_had_heard() {
    // The answer leaves before the key arrives, although the key was sent before that.
    let one = [(2, true, vec![1, 5, 0]), (2, false, vec![0, 7])];
    let two = [(1, true, vec![0, 7]), (1, false, vec![1, 5, 0])];
    let session = session(vec![reel(1, KEYED, &one), reel(2, KEYED, &two)]);
    let mut seen = sequences(&session);
    seen.sort_unstable();
    assert_eq!(seen, [(None, 0), (Some(5), 1)]);
}

#[test]
fn a_session_knows_ports_and_the_first_direction() {
    let packets = [(2, false, vec![0, 7]), (2, true, vec![1, 1, 0])];
    let session = session(vec![reel(1, KEYED, &packets)]);
    let (context, state) = session.surroundings(PacketId(1)).unwrap();
    assert_eq!((context.source_port, context.destination_port), (1, 2));
    assert!(!context.from_first);
    assert_ne!(
        Some(state),
        session.wire.as_ref().map(|wire| wire.new_state())
    );
}
