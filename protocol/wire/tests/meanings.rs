//! What annotations turn into: facts.

use netreel_wire::{PacketFacts, Promise, Role, Sequence, Wire};

fn facts(text: &str, packet: &[u8]) -> PacketFacts {
    let text = format!(
        "wire w {{ version = 1; byte_order = little; bit_order = lsb; root = Packet; }}\n{text}"
    );
    let wire = match Wire::compile("meanings.wire", &text) {
        Ok(wire) => wire,
        Err(error) => panic!("{error}"),
    };
    let mut facts = PacketFacts::default();
    wire.facts(packet, &mut facts);
    assert_eq!(wire.decode(packet).facts, facts);
    facts
}

const RANGES: &str = "
    struct Packet { sequence: u16 @sequence; acks: u8; ack: Ack[acks]; nacks: u8; nack: Nack[nacks]; }
    struct Ack @ack_range { single: u8; first: u24 @range_first; if (single == 0) { last: u24 @range_last; } }
    struct Nack @nack_range { first: u24 @range_first; last: u24 @range_last; }
";

#[test]
fn each_range_struct_is_one_range_and_a_missing_last_is_the_first() {
    let packet = [
        9, 0, 2, 0, 3, 0, 0, 7, 0, 0, 1, 0xff, 0xff, 0xff, 1, 2, 0, 0, 4, 0, 0,
    ];
    let facts = facts(RANGES, &packet);
    assert_eq!(facts.ack_ranges, [(3, 7), (0xff_ffff, 0xff_ffff)]);
    assert_eq!(facts.nack_ranges, [(2, 4)]);
    assert_eq!(facts.range_bits, 24);
}

#[test]
fn ranges_of_one_packet_are_not_those_of_the_next() {
    let text =
        format!("wire w {{ byte_order = little; bit_order = lsb; root = Packet; }}\n{RANGES}");
    let wire = Wire::compile("ranges.wire", &text).expect("it compiles");
    let mut facts = PacketFacts::default();
    wire.facts(&[9, 0, 1, 1, 5, 0, 0, 0], &mut facts);
    assert_eq!(facts.ack_ranges, [(5, 5)]);
    wire.facts(&[9, 0, 0, 0], &mut facts);
    assert_eq!((facts.ack_ranges.len(), facts.range_bits), (0, 0));
}

#[test]
fn a_packet_can_lack_another_and_have_a_tick_and_a_host() {
    let facts = facts(
        "struct Packet { lacks: u8 @nack; tick: u8 @tick; host: u8 @host; }",
        &[5, 6, 7],
    );
    let lacks = Sequence { value: 5, bits: 8 };
    assert_eq!(
        (facts.nack, facts.tick, facts.host),
        (Some(lacks), Some(tick(6)), Some(7))
    );
}

#[test]
fn inside_a_message_tick_and_host_are_the_messages() {
    let facts = facts(
        "struct Packet { tick: u8 @tick; message: Message; }
         struct Message @message { tick: u8 @tick; host: u8 @host; }",
        &[1, 2, 3],
    );
    assert_eq!((facts.tick, facts.host), (Some(tick(1)), None));
    let message = &facts.messages[0];
    assert_eq!((message.tick, message.host), (Some(tick(2)), Some(3)));
}

fn tick(value: u64) -> Sequence {
    Sequence { value, bits: 8 }
}

#[test]
fn a_tick_has_a_checksum_and_inputs_in_a_message_and_outside() {
    let facts = facts(
        "struct Packet { tick: u8 @tick; sum: hash(4) @checksum; input: bytes(2) @input; message: Message; }
         struct Message @message { tick: u8 @tick; count: u8 @input_count; sum: u16 @checksum; held: u8 @input; }",
        &[1, 0x11, 0x22, 0x33, 0x44, 5, 6, 2, 3, 0xcd, 0xab, 9],
    );
    assert_eq!(facts.tick, Some(tick(1)));
    assert_eq!(
        (facts.checksum, facts.input),
        (Some(0x4433_2211), Some(0x0605))
    );
    assert_eq!(facts.input_count, None);
    let message = &facts.messages[0];
    assert_eq!(message.tick, Some(tick(2)));
    assert_eq!((message.checksum, message.input), (Some(0xabcd), Some(9)));
    assert_eq!(message.input_count, Some(3));
}

/// Of more than eight bytes the number is a hash: FNV-1a, 64 bits.
#[test]
fn a_long_checksum_is_told_by_its_hash() {
    let sum = |last: u8| {
        let mut packet = [0; 16];
        packet[15] = last;
        facts("struct Packet { sum: hash(16) @checksum; }", &packet).checksum
    };
    let fnv = |bytes: [u8; 16]| {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        hash
    };
    assert_eq!(sum(0), Some(fnv([0; 16])));
    assert_ne!(sum(0), sum(1));
}

#[test]
fn a_message_has_a_channel_its_places_and_its_fragment() {
    let facts = facts(
        "enum Channel : u8 { state, chat }
         struct Packet { message: Message; }
         struct Message @message {
             channel: Channel @channel;
             reliable: u16 @reliable_sequence;
             ordered: u16 @ordered_sequence;
             acked: u16 @acknowledges;
             id: u16 @fragment_id; index: u8 @fragment_index; count: u8 @fragment_count;
             data: bytes(1) @fragment_data;
         }",
        &[1, 2, 0, 3, 0, 4, 0, 5, 0, 6, 7, 8],
    );
    let message = &facts.messages[0];
    let sequence = |value| Some(Sequence { value, bits: 16 });
    assert_eq!(message.channel, Some(1));
    assert_eq!(message.reliable_sequence, sequence(2));
    assert_eq!(message.ordered_sequence, sequence(3));
    assert_eq!(message.acknowledges, sequence(4));
    assert_eq!(
        (message.fragment_id, message.fragment),
        (Some(5), Some((6, 7)))
    );
}

#[test]
fn ack_is_a_field_of_a_packet_and_a_kind_of_message() {
    let text = "wire w { byte_order = little; bit_order = lsb; root = Packet; }
        enum Kind : u8 { acked @ack }
        struct Packet { newest: u8 @ack; message: Message; }
        struct Message @message { kind: Kind @message_kind; }";
    let wire = Wire::compile("ack.wire", text).expect("it compiles");
    assert_eq!(wire.kinds()[0].role, Role::Ack);
    let mut facts = PacketFacts::default();
    wire.facts(&[4, 0], &mut facts);
    assert_eq!(facts.ack.map(|ack| ack.value), Some(4));
}

#[test]
fn the_data_of_all_fragments_may_be_the_games_own_bytes() {
    let structs = "struct Packet { message: Message; }
        struct Message @message { id: u8 @object; }
        struct Payload { first: u8; more: u8[until end]; }";
    let wire = |setting: &str| {
        let text = format!(
            "wire w {{ byte_order = little; bit_order = lsb; root = Packet; {setting} }} {structs}"
        );
        Wire::compile("joined.wire", &text).unwrap_or_else(|error| panic!("{error}"))
    };
    let mut facts = PacketFacts::default();
    wire("").message_facts(None, &[7], &mut facts);
    assert_eq!(facts.messages[0].object, Some(7));

    let own = wire("joined = Payload;");
    own.message_facts(None, &[7, 8, 9], &mut facts);
    assert_eq!((facts.messages.len(), facts.diagnostics), (0, 0));
    let decoded = own.decode_message(None, &[7, 8, 9]);
    let paths: Vec<String> = decoded
        .tree
        .iter()
        .map(|node| decoded.tree.path(node.id()))
        .collect();
    assert_eq!(paths, ["Payload", "first", "more", "more[0]", "more[1]"]);
}

#[test]
fn a_message_with_a_reliable_sequence_is_reliable() {
    let text = "struct Packet { messages: Message[until end]; }
        struct Message @message { has: u8; if (has == 1) { number: u8 @reliable_sequence; } }";
    let facts = facts(text, &[1, 7, 0]);
    let reliable: Vec<bool> = facts.messages.iter().map(|it| it.reliable).collect();
    assert_eq!(reliable, [true, false]);
}

#[test]
fn a_cumulative_ack_is_of_a_message_or_of_the_packet() {
    let text = "struct Packet { ack: u8 @acknowledges_before; messages: Message[until end]; }
        struct Message @message { una: u16 @acknowledges_before; }";
    let facts = facts(text, &[9, 1, 2]);
    let (value, bits) = (9, 8);
    assert_eq!(facts.acknowledges_before, Some(Sequence { value, bits }));
    let (value, bits) = (0x201, 16);
    assert_eq!(
        facts.messages[0].acknowledges_before,
        Some(Sequence { value, bits })
    );
}

#[test]
fn a_packet_says_when_it_was_sent_and_which_time_came_back() {
    let text =
        "struct Packet { sent: u16 @sent_time; echo: u32 @echoes_time; acks: Ack[until end]; }
        struct Ack @message { has: u8; if (has == 1) { echo: u16 @echoes_time; } }";
    let facts = facts(text, &[1, 2, 3, 0, 0, 0, 1, 9, 0, 0]);
    let time = |value, bits| Some(Sequence { value, bits });
    assert_eq!(facts.sent_time, time(0x201, 16));
    let echoed: Vec<Option<Sequence>> = facts.echoed_times.into_iter().map(Some).collect();
    assert_eq!(echoed, [time(3, 32), time(9, 16)]);
    // What the packet before said is not said again.
    let wire = "wire w { byte_order = little; bit_order = lsb; root = Packet; }
        struct Packet { has: u8; if (has == 1) { sent: u8 @sent_time; echo: u8 @echoes_time; } }";
    let wire = Wire::compile("times.wire", wire).expect("it compiles");
    let mut facts = PacketFacts::default();
    wire.facts(&[1, 5, 6], &mut facts);
    assert_eq!((facts.sent_time, facts.echoed_times.len()), (time(5, 8), 1));
    wire.facts(&[0], &mut facts);
    assert_eq!((facts.sent_time, facts.echoed_times.len()), (None, 0));
}

#[test]
fn a_message_says_when_its_copy_was_sent_and_which_time_comes_back() {
    let text = "struct Packet { messages: M[until end]; }
        struct M @message { is_ack: u8; if (is_ack == 1) { echo: u16 @echoes_time; } else { sent: u16 @sent_time; } }";
    let facts = facts(text, &[0, 1, 2, 1, 3, 4]);
    let time = |value, bits| Some(Sequence { value, bits });
    let times = facts.messages.iter();
    let times: Vec<_> = times.map(|it| (it.sent_time, it.echoed_time)).collect();
    assert_eq!(times, [(time(0x201, 16), None), (None, time(0x403, 16))]);
    assert_eq!(facts.sent_time, None);
}

#[test]
fn a_time_of_sending_is_an_integer() {
    let refused = |text: &str, part: &str| {
        let text = format!("wire w {{ byte_order = little; bit_order = lsb; root = P; }} {text}");
        let error = Wire::compile("times.wire", &text).expect_err("it is refused");
        assert!(error.to_string().contains(part), "{error}");
    };
    refused(
        "struct P { a: f32 @sent_time; }",
        "an unsigned integer, such as `u16` or `leb128`",
    );
    refused(
        "struct P { a: f32 @echoes_time; }",
        "an unsigned integer, such as `u16` or `leb128`",
    );
}

#[test]
fn a_stream_promises_what_its_sequence_says() {
    let text = "
        struct Packet { count: u8; messages: Message[count]; }
        struct Message @message {
            channel: u8 @channel;
            switch (channel) {
                0 => plain: u8 @reliable_sequence;
                1 => ordered: u8 @reliable_sequence(ordered);
                2 => unordered: u8 @reliable_sequence(unordered);
                3 => sequenced: u8 @reliable_sequence(sequenced);
                4 => newest: u8 @ordered_sequence(sequenced);
                5 => turn: u8 @ordered_sequence;
            }
        }";
    let packet: Vec<u8> = std::iter::once(6)
        .chain((0..6).flat_map(|it| [it, 9]))
        .collect();
    let facts = facts(text, &packet);
    let nine = Some(Sequence { value: 9, bits: 8 });
    let promised: Vec<_> = facts.messages.iter().map(|it| it.promise).collect();
    use Promise::{Ordered, Sequenced, Unordered};
    let expected = [Ordered, Ordered, Unordered, Sequenced, Sequenced, Ordered];
    assert_eq!(promised, expected);
    for (at, message) in facts.messages.iter().enumerate() {
        let reliable = if at < 4 { nine } else { None };
        assert_eq!(
            (message.reliable_sequence, message.reliable),
            (reliable, at < 4)
        );
        assert_eq!(message.ordered_sequence, if at < 4 { None } else { nine });
    }
}
