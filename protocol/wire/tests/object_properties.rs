//! What messages tell of the properties of objects.

use netreel_wire::{PropertyKind, ToldProperty, Value, Wire};

const HEAD: &str = "wire w { version = 1; byte_order = big; bit_order = msb; root = Packet; }\n";

fn wire(text: &str) -> Wire {
    let text = format!("{HEAD}{text}");
    Wire::compile("w.wire", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// What a packet tells: the message, the property's name, its values.
fn told(wire: &Wire, packet: &[u8]) -> Vec<(u32, String, Vec<Value>)> {
    let decoded = wire.decode(packet);
    let named = |told: ToldProperty| {
        let property = &wire.properties()[usize::from(told.property.0)];
        (told.message, property.name.clone(), told.values)
    };
    decoded.properties().into_iter().map(named).collect()
}

#[test]
fn a_message_tells_the_properties_that_it_has() {
    let wire = wire(
        "struct Packet { messages: Message[until end]; }
         struct Message @message {
             object: u8 @object;
             moved: u8;
             if (moved == 1) { place: Place @property(position, \"m\", 0.5); }
             health: u8 @property(count);
         }
         struct Place { x: i8; y: i8; }",
    );
    let told = told(&wire, &[7, 0, 100, 8, 1, 5, 0xff, 90]);
    let place = vec![Value::Signed(5), Value::Signed(-1)];
    assert_eq!(
        told,
        [
            (0, "health".to_owned(), vec![Value::Unsigned(100)]),
            (1, "place".to_owned(), place),
            (1, "health".to_owned(), vec![Value::Unsigned(90)]),
        ]
    );
}

#[test]
fn a_message_about_an_object_stands_in_another_one() {
    let wire = wire(
        "struct Packet { messages: Snapshot[until end]; }
         struct Snapshot @message {
             number: u8 @snapshot;
             count: u8;
             items: Item[count];
             let base: u8 = number - 1 @base;
             tick: u8 @tick;
         }
         struct Item @message { object: u8 @object; health: u8 @property(count); }",
    );
    let packet = [9, 2, 7, 100, 8, 90, 33, 10, 0, 34];
    let health = |message, value| {
        let values = vec![Value::Unsigned(value)];
        (message, "health".to_owned(), values)
    };
    assert_eq!(told(&wire, &packet), [health(1, 100), health(2, 90)]);
    let decoded = wire.decode(&packet);
    let messages = decoded.facts.messages.iter();
    let facts: Vec<_> = messages
        .map(|it| (it.object, it.tick.map(|tick| tick.value), it.bits.clone()))
        .collect();
    assert_eq!(
        facts,
        [
            (None, Some(33), 0..56),
            (Some(7), None, 16..32),
            (Some(8), None, 32..48),
            (None, Some(34), 56..80),
        ]
    );
    let snapshots: Vec<_> = decoded.snapshots().into_iter().collect();
    let snapshots: Vec<_> = snapshots
        .iter()
        .map(|it| (it.message, it.number, it.base))
        .collect();
    assert_eq!(snapshots, [(0, 9, Some(8)), (3, 10, Some(9))]);
}

#[test]
fn a_packet_that_ends_inside_a_message_in_a_message_ends_both() {
    let wire = wire(
        "struct Packet { messages: Snapshot[until end]; }
         struct Snapshot @message { count: u8; items: Item[count]; tick: u8 @tick; }
         struct Item @message { object: u8 @object; health: u16 @property(count); }",
    );
    let decoded = wire.decode(&[1, 7, 0]);
    let messages = decoded.facts.messages.iter();
    let facts: Vec<_> = messages.map(|it| (it.object, it.bits.clone())).collect();
    assert_eq!(facts, [(None, 0..16), (Some(7), 8..16)]);
}

#[test]
fn a_wire_says_what_its_properties_are() {
    let wire = wire(
        "struct Packet @message {
             object: u8 @object;
             a: f32 @property(0.25, angle, \"rad\");
             b: bool @property;
             c: string(zero, utf8) @property;
             d: u8[2] @property(count);
         }",
    );
    let all = wire.properties().iter();
    let all: Vec<_> = all
        .map(|it| (&*it.name, it.kind, &*it.unit, it.tolerance))
        .collect();
    assert_eq!(
        all,
        [
            ("a", PropertyKind::Angle, "rad", 0.25),
            ("b", PropertyKind::Flag, "", 0.0),
            ("c", PropertyKind::Name, "", 0.0),
            ("d", PropertyKind::Count, "", 0.0),
        ]
    );
}

#[test]
fn marked_values_alone_count_and_a_let_can_be_one() {
    let wire = wire(
        "struct Packet @message {
             object: u8 @object;
             speed: Change @property;
             size: Change @property;
             weight: Change @property;
         }
         struct Change {
             changed: u8;
             if (changed == 1) { value: u8 @value; }
             else if (changed == 2) { let value: u8 = 0 @value; }
         }",
    );
    assert_eq!(
        told(&wire, &[1, 1, 44, 0, 2]),
        [
            (0, "speed".to_owned(), vec![Value::Unsigned(44)]),
            (0, "weight".to_owned(), vec![Value::Unsigned(0)]),
        ]
    );
}

#[test]
fn of_a_packet_that_is_cut_what_was_read_is_told() {
    let wire = wire(
        "struct Packet @message {
             object: u8 @object;
             speed: u8 @property;
             size: u16 @property;
         }",
    );
    assert_eq!(
        told(&wire, &[1, 2, 3]),
        [(0, "speed".to_owned(), vec![Value::Unsigned(2)])]
    );
}

#[test]
fn facts_are_the_same_with_properties_and_without() {
    let text = include_str!("../../../samples/wires/boxes.wire");
    let with = Wire::compile("boxes.wire", text).expect("it compiles");
    let mut plain = String::new();
    for piece in text.split("@property") {
        match plain.is_empty() {
            true => plain.push_str(piece),
            false => plain.push_str(piece.split_once(')').expect("arguments").1),
        }
    }
    let without = Wire::compile("plain.wire", &plain).expect("it compiles");
    assert!(without.properties().is_empty());
    // CREATE of box 42 by peer 1, in mode `host`.
    for packet in [
        [0xb0, 0x10, 1, 0, 1, 0x52, 0x2a],
        [0xb0, 0x10, 2, 0, 1, 0x53, 0x2a],
    ] {
        let (mut one, mut other) = Default::default();
        with.facts(&packet, &mut one);
        without.facts(&packet, &mut other);
        assert_eq!(one, other);
    }
}

#[test]
fn a_message_that_begins_a_snapshot_says_its_number_and_its_base() {
    let wire = wire(
        "struct Packet { sequence: u8; messages: Message(sequence)[until end]; }
         struct Message(sequence: int) @message {
             begins: u8;
             if (begins == 1) {
                 let number: u8 = sequence @snapshot;
                 delta: u8;
                 if (delta != 0) { let base: u8 = sequence - delta @base; }
             } else {
                 object: u8 @object;
                 speed: u8 @property;
             }
         }",
    );
    let begins = |packet: &[u8]| {
        let all = wire.decode(packet).snapshots();
        let all = all.iter().map(|it| (it.message, it.number, it.base));
        all.collect::<Vec<_>>()
    };
    assert_eq!(begins(&[9, 1, 2, 0, 5, 7]), [(0, 9, Some(7))]);
    assert_eq!(begins(&[9, 0, 5, 7, 1, 0]), [(1, 9, None)]);
    assert_eq!(begins(&[9, 0, 5, 7]), []);
}
