//! The first field that differs inside what was unpacked, or put together of several packets.

use std::net::SocketAddr;

use netreel_reel::{
    Endpoint, Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId, ThreadId, Time,
};
use netreel_replay::{FieldDifference, explain};
use netreel_transport::{Divergence, Step};
use netreel_wire::Wire;
use serde_json::{Value, json};

fn endpoint(port: u16) -> Endpoint {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// A node's reel that sends these packets.
fn reel(packets: &[Vec<u8>]) -> Reel {
    let mut writer = ReelWriter::create(Vec::new(), &Header::default()).unwrap();
    let (socket, to) = (SocketId(0), endpoint(2));
    let local = endpoint(1);
    let opened = Event::SocketOpened { socket, local };
    let sent = packets.iter().map(|payload| Event::Sent {
        socket,
        to,
        payload,
    });
    for (number, event) in [opened].into_iter().chain(sent).enumerate() {
        let (number, time) = (EventNumber(number as u64), Time(number as u64));
        let thread = ThreadId(0);
        let record = Record {
            number,
            time,
            thread,
            event,
        };
        writer.push(&record).unwrap();
    }
    Reel::from_bytes(writer.finish().unwrap()).unwrap()
}

/// What is said where the last of `packets` comes otherwise.
fn told(wire: &Wire, packets: &[Vec<u8>], came: &[u8]) -> FieldDifference {
    let step = |packet: &[u8]| Step::Send {
        to: endpoint(2),
        packet: packet.to_vec(),
    };
    let divergence = Divergence {
        number: EventNumber(packets.len() as u64),
        time: Time(0),
        expected: step(packets.last().unwrap()),
        came: step(came),
        sockets: None,
    };
    let reel = reel(packets);
    let explanation = explain(&divergence, (Some(wire), Some(&reel)), &|_| None);
    explanation.field.expect("a difference")
}

fn inside(field: &FieldDifference) -> (&str, &str, &str) {
    let inside = field.inside.as_deref().expect("a difference inside");
    (&inside.path, &inside.expected, &inside.came)
}

fn made(wire: &Wire, packet: &Value) -> Vec<u8> {
    wire.encode(packet).unwrap().bytes
}

#[test]
fn what_was_unpacked_is_told_beside_the_length_of_what_it_was_unpacked_from() {
    let wire = Wire::compile(
        "packed",
        "wire packed { byte_order = little; bit_order = lsb; root = Packet; }
         layer Small { transform = deflate; byte_order = little; bit_order = lsb; }
         struct Packet { length: u16 derived size(body); body: Body size(length) through Small(); }
         struct Body { health: u32; name: string(u8, utf8); }",
    );
    let wire = wire.unwrap();
    let packet = |health: u32, name: &str| {
        made(
            &wire,
            &json!({ "packet": { "body": { "health": health, "name": name } } }),
        )
    };
    let (was, is) = (packet(7, "aaaaaaaaaaaaaaaa"), packet(7, "abcdefghijklmnop"));
    let field = told(&wire, &[was], &is);
    assert_eq!(field.path, "length");
    assert_eq!(inside(&field).0, "body.name");
    // The same length: then it is inside alone.
    let (was, is) = (packet(7, "x"), packet(8, "x"));
    let field = told(&wire, &[was], &is);
    let named = field.inside.as_deref().unwrap_or(&field);
    assert_eq!(
        (named.path.as_str(), named.came.as_str()),
        ("body.health", "8")
    );
}

const JOINS: &str =
    "wire parted { byte_order = little; bit_order = lsb; root = Packet; state = Connection; }
     state Connection { splits: parts[8]; }
     struct Packet {
         id: u16; index: u16; count: u16; length: u16;
         data: bytes(length);
         join whole: Message from state.splits[id] (index, count, data);
     }
     struct Message { kind: u8; place: u32; rest_of: u8; }";

#[test]
fn what_the_connection_joins_is_told_beside_the_part() {
    let wire = Wire::compile("parted", JOINS).unwrap();
    let part = |index: u8, data: &[u8]| {
        let head = [7, 0, index, 0, 2, 0, data.len() as u8, 0];
        [&head[..], data].concat()
    };
    let packets = [part(0, &[3, 1, 2]), part(1, &[3, 4, 9])];
    let field = told(&wire, &packets, &part(1, &[3, 5, 9]));
    assert_eq!(field.path, "data");
    let expected = (0x0403_0201_u32).to_string();
    let came = (0x0503_0201_u32).to_string();
    assert_eq!(
        inside(&field),
        ("whole.place", expected.as_str(), came.as_str())
    );
}

#[test]
fn what_the_connection_keeps_is_known() {
    let wire = Wire::compile(
        "kept",
        "wire kept { byte_order = little; bit_order = lsb; root = Packet; state = Connection; }
         state Connection { known: bool = false; }
         struct Packet {
             if (state.known) { value: u16; } else { first: u8; second: u8; set state.known = true; }
         }",
    );
    let wire = wire.unwrap();
    let field = told(&wire, &[vec![1, 2], vec![1, 2]], &[1, 3]);
    assert_eq!((field.path.as_str(), field.came.as_str()), ("value", "769"));
}

#[test]
fn a_message_in_fragments_is_read_as_far_as_it_was_sent() {
    let wire = Wire::compile(
        "split",
        "wire split { byte_order = little; bit_order = lsb; root = Packet; joined = Whole; }
         enum Kind : u8 { part = 1 @fragment }
         struct Packet { message: Message; }
         struct Message @message {
             kind: Kind @message_kind;
             id: u16 @fragment_id; index: u8 @fragment_index; count: u8 @fragment_count;
             length: u8;
             data: bytes(length) @fragment_data;
         }
         struct Whole { kind: u8; place: u32; health: u16; }",
    );
    let wire = wire.map_err(|error| error.to_string()).unwrap();
    let part = |id: u8, index: u8, data: &[u8]| {
        let head = [1, id, 0, index, 3, data.len() as u8];
        [&head[..], data].concat()
    };
    let packets = [
        part(9, 0, &[1, 1, 1]),
        part(5, 0, &[3, 1, 2]),
        part(5, 1, &[3, 4]),
    ];
    let field = told(&wire, &packets, &part(5, 1, &[3, 6]));
    assert_eq!(field.path, "message.data");
    let expected = (0x0403_0201_u32).to_string();
    let came = (0x0603_0201_u32).to_string();
    let told = (
        "the joined message's place",
        expected.as_str(),
        came.as_str(),
    );
    assert_eq!(inside(&field), told);
}
