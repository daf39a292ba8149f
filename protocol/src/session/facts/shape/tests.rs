//! Facts come back as they were written.

use proptest::prelude::*;

use super::*;

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

prop_compose! {
    fn message()(
        sequences in (sequence(), sequence(), sequence(), sequence()),
        times in (sequence(), sequence()),
        kind in some(any::<u16>()),
        at in (0u16..3, any::<u32>(), any::<u32>(), any::<bool>()),
        promise in 0usize..3,
        numbers in proptest::array::uniform9(some(any::<u64>())),
        tick in (sequence(), proptest::array::uniform3(some(any::<u64>()))),
        fragment in some((any::<u64>(), any::<u64>())),
        places in (place(), place()),
    ) -> MessageFacts {
        let [channel, host, origin, object, object_type, owner, new_owner, counter, id] =
            numbers;
        MessageFacts {
            kind: kind.map(KindId),
            stream: StreamId(at.0),
            bits: at.1..at.2,
            reliable: at.3,
            reliable_sequence: sequences.0,
            ordered_sequence: sequences.1,
            promise: [Promise::Ordered, Promise::Unordered, Promise::Sequenced][promise],
            acknowledges: sequences.2,
            acknowledges_before: sequences.3,
            channel,
            host,
            origin,
            object,
            object_type,
            owner,
            new_owner,
            migration_counter: counter,
            tick: tick.0,
            checksum: tick.1[0],
            input: tick.1[1],
            input_count: tick.1[2],
            sent_time: times.0,
            echoed_time: times.1,
            rpc_name: places.0.map(|place| RpcName {
                text: format!("call {}", place.bits.start % 3).into(),
                place,
            }),
            fragment_id: id,
            fragment,
            fragment_data: places.1,
        }
    }
}

prop_compose! {
    fn packet()(
        sequences in (sequence(), sequence(), sequence(), sequence()),
        lacks in (sequence(), proptest::collection::vec((any::<u64>(), any::<u64>()), 0..4)),
        host in some(any::<u64>()),
        tick in (sequence(), proptest::array::uniform3(some(any::<u64>()))),
        protocol in some(any::<u16>()),
        ack_bits in some((any::<u64>(), any::<u8>())),
        ack_ranges in proptest::collection::vec((any::<u64>(), any::<u64>()), 0..4),
        range_bits in any::<u8>(),
        diagnostics in 0u32..3,
        messages in proptest::collection::vec(message(), 0..5),
    ) -> PacketFacts {
        PacketFacts {
            protocol: protocol.map(ProtocolId),
            sequence: sequences.0,
            ack: sequences.1,
            acknowledges_before: sequences.2,
            sent_time: sequences.3,
            nack: lacks.0,
            nack_ranges: lacks.1,
            host,
            tick: tick.0,
            checksum: tick.1[0],
            input: tick.1[1],
            input_count: tick.1[2],
            ack_bits,
            ack_ranges,
            range_bits,
            messages,
            diagnostics,
            ..PacketFacts::default()
        }
    }
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
        for (facts, row) in packets.iter().zip(&rows) {
            let count = facts.messages.len() as u32;
            prop_assert_eq!(shapes.head(row), (count, facts.diagnostics > 0));
            let (said, messages) = shapes.read(row, 7);
            let expected = Said {
                protocol: facts.protocol,
                sequence: facts.sequence,
                ack: facts.ack,
                acknowledges_before: facts.acknowledges_before,
                ack_bits: facts.ack_bits,
                ack_ranges: facts.ack_ranges.clone(),
                lacks: lacks(facts),
                host: facts.host,
                sent_time: facts.sent_time,
                tick: facts.tick,
                checksum: facts.checksum,
                input: facts.input,
                input_count: facts.input_count,
                range_bits: facts.range_bits,
                messages: 7..7 + count,
                diagnostics: facts.diagnostics,
            };
            prop_assert_eq!(said, expected);
            prop_assert_eq!(messages.clone().collect::<Vec<_>>(), facts.messages.clone());
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

#[track_caller]
fn check_lacking(ranges: &[(u64, u64)], bits: u8, number: u64, expected: bool) {
    let said = Said {
        lacks: ranges.to_vec(),
        range_bits: bits,
        ..Said::default()
    };
    let sequence = Sequence {
        value: number,
        bits: 24,
    };
    assert_eq!(said.is_lacking(sequence), expected);
}

#[test]
fn a_range_of_what_is_lacked_has_its_ends() {
    check_lacking(&[(3, 5)], 24, 3, true);
    check_lacking(&[(3, 5)], 24, 5, true);
    check_lacking(&[(3, 5)], 24, 6, false);
}

#[test]
fn a_range_of_what_is_lacked_reaches_over_the_wrap() {
    check_lacking(&[(0xFF_FFFE, 1)], 24, 0, true);
    check_lacking(&[(0xFF_FFFE, 1)], 24, 2, false);
}

#[test]
fn a_single_number_is_as_wide_as_the_packets_are() {
    check_lacking(&[(7, 7)], 0, 7, true);
    check_lacking(&[(7, 7)], 0, 8, false);
}
