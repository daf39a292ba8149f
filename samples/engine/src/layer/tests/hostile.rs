//! Whatever arrives, the layer goes on.

use proptest::prelude::*;

use super::stage::{A, B, HOST, Stage, X, cube};
use crate::message::{Argument, Body, Counter, Message, Migration, ObjectId, Peer};
use crate::mode::{Mode, Topology};
use crate::types::Value;

fn object() -> impl Strategy<Value = ObjectId> {
    prop_oneof![
        (40u64..44).prop_map(ObjectId),
        any::<u64>().prop_map(ObjectId)
    ]
}

fn counter() -> impl Strategy<Value = Option<Counter>> {
    let some = prop_oneof![0u64..4, Just(u64::MAX)];
    prop_oneof![1 => Just(None), 4 => some.prop_map(|counter| Some(Counter(counter)))]
}

fn peer() -> impl Strategy<Value = Peer> {
    prop_oneof![4 => (0u8..4).prop_map(Peer), 1 => (0u8..16).prop_map(Peer)]
}

fn migration() -> impl Strategy<Value = Migration> {
    (object(), peer(), counter()).prop_map(|(object, new_owner, counter)| Migration {
        object,
        new_owner,
        full: counter.map(|counter| (counter, cube(3))),
    })
}

fn body() -> impl Strategy<Value = Body> {
    let update = |(object, counter, color): (_, _, Option<i64>)| {
        let mut changes = vec![None; 5];
        changes[2] = color.map(Value::Integer);
        Body::Update {
            object,
            counter,
            kind: 0,
            changes,
        }
    };
    prop_oneof![
        1 => any::<u8>().prop_map(|version| Body::Connect {
            version: version % 3,
            topology: Topology::PeerToPeer,
            name: "anybody".into()
        }),
        1 => Just(Body::Leave),
        4 => (object(), counter(), peer()).prop_map(|(object, counter, owner)| {
            Body::Create { object, counter, owner, state: cube(1) }
        }),
        4 => (object(), counter(), prop::option::of(0i64..256)).prop_map(update),
        4 => (object(), counter()).prop_map(|(object, counter)| Body::Destroy { object, counter }),
        4 => migration().prop_map(Body::Migrate),
        4 => migration().prop_map(Body::Order),
        2 => object().prop_map(|object| Body::Request { object }),
        4 => (object(), peer(), counter()).prop_map(|(object, new_owner, counter)| Body::Assign {
            object,
            new_owner,
            counter: counter.unwrap_or_default(),
        }),
        4 => (object(), counter()).prop_map(|(object, counter)| Body::Confirm {
            object,
            counter: counter.unwrap_or_default(),
        }),
        1 => object().prop_map(|object| {
            Body::Rpc { name: "x".into(), arguments: vec![Argument::Object(object)] }
        }),
        2 => (0u8..4, 0u8..4, prop::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(index, total, data)| Body::Fragment { index, total, data }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let sequence = prop_oneof![4 => 0u16..20, 1 => any::<u16>()];
    (peer(), prop::option::of(sequence), body()).prop_map(|(origin, reliable, body)| Message {
        origin,
        reliable,
        body,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_messages_make_the_layer_panic(
        own in 0u8..4,
        mode in 0..Mode::ALL.len(),
        server in any::<bool>(),
        packets in prop::collection::vec(
            (0u8..4, any::<u16>(), prop::collection::vec(message(), 0..6),
             prop::option::of((any::<u16>(), any::<u32>()))),
            1..30,
        ),
    ) {
        let mode = Mode::ALL[mode];
        let topology = if server { Topology::ClientServer } else { Topology::PeerToPeer };
        let mut stage = Stage::with(Peer(own), mode, topology, |_| {});
        stage.spawn();
        for (from, sequence, messages, ack) in packets {
            // Most packets come in order, so that they get past the link.
            let sequence = if sequence % 4 == 0 { sequence } else { 10 + sequence % 64 };
            stage.packet_at(Peer(from), sequence, &messages, ack);
            stage.tick();
        }
        stage.ticks(20);
    }

    #[test]
    fn no_bytes_make_the_layer_panic(
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 1..20),
    ) {
        let mut stage = Stage::new(X, Mode::Owner);
        for (bytes, peer) in packets.into_iter().zip([HOST, A, B].into_iter().cycle()) {
            let from = stage.endpoint(peer);
            let mut framed = vec![0xB0, 0x01 | peer.0 << 4];
            framed.extend_from_slice(&bytes);
            stage.io.arriving.push_back((from, bytes));
            stage.io.arriving.push_back((from, framed));
            stage.tick();
        }
    }

    #[test]
    fn a_bad_packet_leaves_a_session_as_it_was(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut stage = Stage::new(X, Mode::Owner);
        stage.say(A, super::stage::create(A, Some(0)));
        stage.tick();
        // Another magic: it can say nothing.
        let mut bytes = bytes;
        bytes.insert(0, 0xB1);
        let from = stage.endpoint(A);
        stage.io.arriving.push_back((from, bytes));
        stage.tick();
        prop_assert_eq!(stage.belief(), Some((A, 1)));
        stage.mumble(A, super::stage::update(Some(0), 9));
        stage.tick();
        prop_assert_eq!(stage.belief(), Some((A, 9)));
    }
}
