use proptest::prelude::*;

use super::*;
use crate::message::{Argument, Body, Counter, Migration, ObjectId, State};
use crate::mode::Topology;
use crate::types::{BOXES, Value};

fn types() -> Types {
    Types::parse(BOXES).expect("the declaration of the game")
}

fn pack(header: &PacketHeader, messages: &[Message]) -> Vec<u8> {
    let write = |message: &Message| {
        let mut bits = BitWriter::new();
        message.write(&types(), &mut bits);
        bits
    };
    let bits: Vec<BitWriter> = messages.iter().map(write).collect();
    write_packet(header, bits.iter())
}

const HEADER: PacketHeader = PacketHeader {
    mode: Mode::Owner,
    sender: Peer(2),
    sequence: 0x1234,
    ack: None,
};

fn said(body: Body) -> Message {
    Message {
        origin: Peer(2),
        reliable: Some(7),
        body,
    }
}

#[test]
fn a_packet_that_says_nothing_is_its_frame() {
    // magic; mode owner, no ack, sender 2; sequence; count
    assert_eq!(pack(&HEADER, &[]), [0xB0, 0x21, 0x34, 0x12, 0]);
    let header = PacketHeader {
        ack: Some((0x0102, 0x8000_0001)),
        mode: Mode::Host,
        ..HEADER
    };
    let bytes = [0xB0, 0x22, 0x34, 0x12, 0x02, 0x01, 0x01, 0, 0, 0x80, 0];
    assert_eq!(pack(&header, &[]), bytes);
}

#[test]
fn destroy_of_42_at_counter_1_is_these_bits() {
    let destroy = Body::Destroy {
        object: ObjectId(42),
        counter: Some(Counter(1)),
    };
    // kind 4, reliable, origin 2, sequence 7, object 42, has_counter, counter 1
    let bits = 4u64 | 1 << 4 | 2 << 5 | 7 << 9 | 42 << 25 | 1 << 33 | 1 << 34;
    let bytes = pack(&HEADER, &[said(destroy)]);
    assert_eq!(bytes[4], 1);
    assert_eq!(bytes[5..], bits.to_le_bytes()[..6]);
}

/// One of each kind of message.
fn all_kinds() -> Vec<Message> {
    let types = types();
    let position = Value::Vector(vec![1.0, -2.0, 3.0]);
    let cube = vec![
        position.clone(),
        Value::Number(90.0),
        Value::Integer(200),
        Value::Integer(1),
        Value::Number(12.5),
    ];
    let player = vec![position, Value::Integer(99), Value::Text("Zoë".into())];
    let state = |kind: u8, values: &[Value]| State {
        kind,
        values: types
            .get(kind)
            .and_then(|t| t.settle(values))
            .expect("values that fit"),
    };
    let cube = state(0, &cube);
    let object = ObjectId(300);
    let counter = Some(Counter(200));
    let migration = Migration {
        object,
        new_owner: Peer(3),
        full: Some((Counter(1), cube.clone())),
    };
    let changes = vec![None, Some(cube.values[1].clone()), None, None, None];
    let arguments = vec![
        Argument::Int(-5),
        Argument::Float(1.5),
        Argument::Bool(true),
        Argument::Text("text".into()),
        Argument::Object(object),
    ];
    let name = "a name".to_owned();
    let topology = Topology::ClientServer;
    let bodies = vec![
        Body::Connect {
            version: 1,
            topology,
            name: name.clone(),
        },
        Body::Leave,
        Body::Create {
            object,
            counter,
            owner: Peer(1),
            state: state(1, &player),
        },
        Body::Create {
            object,
            counter: None,
            owner: Peer(1),
            state: cube,
        },
        Body::Update {
            object,
            counter,
            kind: 0,
            changes,
        },
        Body::Destroy { object, counter },
        Body::Migrate(migration.clone()),
        Body::Migrate(Migration {
            full: None,
            ..migration.clone()
        }),
        Body::Order(migration),
        Body::Request { object },
        Body::Rpc { name, arguments },
        Body::Assign {
            object,
            new_owner: Peer(15),
            counter: Counter(300),
        },
        Body::Confirm {
            object,
            counter: Counter(0),
        },
        Body::Fragment {
            index: 1,
            total: 3,
            data: vec![1, 2, 3],
        },
    ];
    let mut all: Vec<Message> = bodies.into_iter().map(said).collect();
    all[4].reliable = None;
    all
}

#[test]
fn every_kind_of_message_is_read_as_it_was_written() {
    let header = PacketHeader {
        ack: Some((9, 0xFFFF)),
        ..HEADER
    };
    let bytes = pack(&header, &all_kinds());
    assert_eq!(read_packet(&types(), &bytes), Ok((header, all_kinds())));
}

#[test]
fn a_packet_says_by_which_of_the_modes_its_sender_plays() {
    for mode in Mode::ALL {
        let header = PacketHeader { mode, ..HEADER };
        let bytes = pack(&header, &[]);
        assert_eq!(read_packet(&types(), &bytes), Ok((header, vec![])));
    }
    let mut bytes = pack(&HEADER, &[]);
    bytes[1] |= 0b1000; // number 5
    assert!(read_packet(&types(), &bytes).is_err());
}

#[test]
fn a_packet_cut_short_is_malformed_at_its_end() {
    let bytes = pack(&HEADER, &all_kinds());
    for length in 0..bytes.len() {
        assert!(
            read_packet(&types(), &bytes[..length]).is_err(),
            "{length} bytes"
        );
    }
}

#[test]
fn a_packet_with_something_left_over_is_malformed() {
    let mut bytes = pack(&HEADER, &[]);
    bytes.push(0);
    assert!(read_packet(&types(), &bytes).is_err());
}

#[test]
fn another_protocol_is_told_by_its_first_byte() {
    let error = read_packet(&types(), &[0xB1, 0, 0, 0, 0]).expect_err("not ours");
    assert_eq!(
        error,
        Malformed {
            at_bit: 0,
            why: "not a packet of this protocol"
        }
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_bytes_make_the_reader_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_packet(&types(), &bytes);
        if let Some(first) = bytes.first_mut() {
            *first = 0xB0;
        }
        let _ = read_packet(&types(), &bytes);
    }

    #[test]
    fn no_flipped_bits_make_the_reader_panic(flips in prop::collection::vec(any::<u32>(), 1..8)) {
        let mut bytes = pack(&HEADER, &all_kinds());
        for flip in flips {
            let at = flip as usize % (bytes.len() * 8);
            bytes[at / 8] ^= 1 << (at % 8);
        }
        let _ = read_packet(&types(), &bytes);
    }
}
