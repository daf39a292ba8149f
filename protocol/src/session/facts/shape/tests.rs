//! Facts come back as they were written.

use netreel_wire::{KindId, Place, Sequence, message_facts, packet_facts};
use proptest::prelude::*;

use super::*;
use crate::session::facts::parts::Numbered;
use crate::session::{ACKNOWLEDGES, OBJECT};

fn some<T: std::fmt::Debug + Clone>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    proptest::option::of(value)
}

fn sequence() -> impl Strategy<Value = Option<Sequence>> {
    some((any::<u64>(), 1u8..=64).prop_map(|(value, bits)| Sequence { value, bits }))
}

fn place() -> impl Strategy<Value = Option<Place>> {
    some(
        (0u16..4, any::<u32>(), any::<u32>()).prop_map(|(stream, start, end)| Place {
            stream: StreamId(stream),
            bits: start..end,
        }),
    )
}

/// Numbers by chance, which facts are made of.
fn drawn() -> impl Strategy<Value = Vec<Option<Sequence>>> {
    proptest::collection::vec(sequence(), 32)
}

/// Gives facts what was drawn.
macro_rules! give {
    ($facts:ident $drawn:ident $($(#[$doc:meta])* $name:ident: $of:ident,)*) => {
        let mut drawn = $drawn.into_iter();
        $($facts.$name = drawn.next().flatten().map(<$of>::of);)*
    };
}

prop_compose! {
    fn message()(
        drawn in drawn(),
        kind in some(any::<u16>()),
        at in (0u16..3, any::<u32>(), any::<u32>(), any::<bool>()),
        promise in 0usize..3,
        fragment in some((any::<u64>(), any::<u64>())),
        places in (place(), place()),
    ) -> MessageFacts {
        let mut facts = MessageFacts {
            kind: kind.map(KindId),
            stream: StreamId(at.0),
            bits: at.1..at.2,
            reliable: at.3,
            promise: [Promise::Ordered, Promise::Unordered, Promise::Sequenced][promise],
            rpc_name: places.0.map(|place| RpcName {
                text: format!("call {}", place.bits.start % 3).into(),
                place,
            }),
            fragment,
            fragment_data: places.1,
            ..MessageFacts::default()
        };
        message_facts!(give facts drawn);
        facts
    }
}

prop_compose! {
    fn packet()(
        drawn in drawn(),
        lacks in (sequence(), proptest::collection::vec((any::<u64>(), any::<u64>()), 0..4)),
        protocol in some(any::<u16>()),
        ack_bits in some((any::<u64>(), any::<u8>())),
        ack_ranges in proptest::collection::vec((any::<u64>(), any::<u64>()), 0..4),
        range_bits in any::<u8>(),
        diagnostics in 0u32..3,
        messages in proptest::collection::vec(message(), 0..5),
    ) -> PacketFacts {
        let mut facts = PacketFacts {
            protocol: protocol.map(ProtocolId),
            nack: lacks.0,
            nack_ranges: lacks.1,
            ack_bits,
            ack_ranges,
            range_bits,
            messages,
            diagnostics,
            ..PacketFacts::default()
        };
        packet_facts!(give facts drawn);
        facts
    }
}

/// What is said of a packet whose messages have these numbers.
macro_rules! said {
    ($facts:ident $messages:ident $($(#[$doc:meta])* $name:ident: $of:ident,)*) => {
        Said {
            protocol: $facts.protocol,
            $($name: $facts.$name,)*
            ack_bits: $facts.ack_bits,
            ack_ranges: $facts.ack_ranges.clone(),
            lacks: lacks($facts),
            range_bits: $facts.range_bits,
            messages: $messages,
            diagnostics: $facts.diagnostics,
        }
    };
}

fn lacks(facts: &PacketFacts) -> Vec<(u64, u64)> {
    let single = facts.nack.map(|nack| (nack.value, nack.value));
    facts.nack_ranges.iter().copied().chain(single).collect()
}

proptest! {
    #[test]
    fn facts_come_back(packets in proptest::collection::vec(packet(), 1..6)) {
        let mut shapes = Shapes::default();
        let rows: Vec<Vec<u8>> = packets.iter().map(|facts| {
            let mut row = Vec::new();
            shapes.write(facts, &mut row);
            row
        }).collect();
        // Each is written over the one before.
        let (mut said, mut latest) = (Said::default(), MessageFacts::default());
        for (facts, row) in packets.iter().zip(&rows) {
            let count = facts.messages.len() as u32;
            prop_assert_eq!(shapes.head(row), (count, facts.diagnostics > 0));
            let messages = shapes.read(row, 7, &mut said);
            let numbers = 7..7 + count;
            let expected = packet_facts!(said facts numbers);
            prop_assert_eq!(&said, &expected);
            prop_assert_eq!(messages.clone().collect::<Vec<_>>(), facts.messages.clone());
            let mut all = messages.clone();
            for expected in &facts.messages {
                prop_assert!(all.next_that(|_| true, &mut latest).is_some());
                prop_assert_eq!(&latest, expected);
            }
            let about = messages.those(|shape| shape.has(OBJECT | ACKNOWLEDGES));
            let is_about = |it: &MessageFacts| {
                let acknowledges = it.acknowledges.or(it.acknowledges_before);
                it.object.is_some() || acknowledges.is_some()
            };
            let expected = (0..).zip(facts.messages.iter().cloned());
            let expected = expected.filter(|(_, it)| is_about(it));
            prop_assert_eq!(about.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
    }
}
