//! Several protocols in one file: which one a packet is of.

use netreel_wire::{Context, PacketFacts, Wire};

const VERSIONS: &str = r#"
const MAGIC = x"ff ff";

wire connectionless { version = 68; byte_order = little; bit_order = lsb; root = Command;
    ports = 27960..=27969, 27900; magic = MAGIC; }
wire game { version = 68; byte_order = little; bit_order = lsb; root = Packet;
    ports = 27960..=27969; }
wire other { byte_order = big; bit_order = msb; root = Packet; magic = "RK"; }

struct Command { magic: u16; text: string(2, ascii); }
struct Packet { sequence: u16 @sequence; }
"#;

fn wire(text: &str) -> Wire {
    match Wire::compile("versions.wire", text) {
        Ok(wire) => wire,
        Err(error) => panic!("{error}"),
    }
}

/// From one port to another: which protocol is it, and its sequence?
#[track_caller]
fn check(ports: (u16, u16), packet: &[u8], expected: Option<&str>, sequence: Option<u64>) {
    let wire = wire(VERSIONS);
    let context = Context {
        source_port: ports.0,
        destination_port: ports.1,
        ..Context::default()
    };
    let mut facts = PacketFacts::default();
    wire.facts_in(&context, &mut wire.new_state(), packet, &mut facts);
    let found = facts.protocol.map(|id| usize::from(id.0));
    let name = found.and_then(|place| wire.protocols().nth(place));
    assert_eq!(name.map(|(name, _)| name), expected);
    assert_eq!(facts.sequence.map(|sequence| sequence.value), sequence);
    let decoded = wire.decode_in(&context, &mut wire.new_state(), packet);
    assert_eq!(decoded.facts, facts);
    assert_eq!(decoded.diagnostics.len() as u32, facts.diagnostics);
}

#[test]
fn the_first_whose_conditions_all_hold_takes_the_packet() {
    check(
        (50_000, 27_960),
        b"\xff\xffok",
        Some("connectionless"),
        None,
    );
    check(
        (27_900, 50_000),
        b"\xff\xffok",
        Some("connectionless"),
        None,
    );
    check((27_961, 50_000), &[1, 2], Some("game"), Some(0x0201));
}

#[test]
fn a_text_is_a_magic_too_and_each_protocol_has_its_orders() {
    check((1, 2), b"RK", Some("other"), Some(0x524b));
}

#[test]
fn what_no_protocol_claims_is_rest_with_a_diagnostic() {
    check((1, 2), &[1, 2], None, None);
    check((27_970, 27_899), &[0xff, 0xff], None, None);
    let decoded = wire(VERSIONS).decode(&[7, 8]);
    let told = &decoded.diagnostics[0];
    assert_eq!(told.message, "no protocol of this file claims the packet");
    let root = decoded.tree.roots().next().expect("a node");
    assert_eq!(decoded.tree.path(root), "rest");
}

#[test]
fn without_conditions_a_protocol_takes_every_packet() {
    let text = "wire all { byte_order = little; bit_order = lsb; root = P; } struct P { a: u8; }";
    let mut facts = PacketFacts::default();
    wire(text).facts(&[], &mut facts);
    assert_eq!(facts.protocol.map(|id| id.0), Some(0));
}

#[test]
fn names_and_versions_are_told_in_the_order_of_the_text() {
    let wire = wire(VERSIONS);
    let told: Vec<_> = wire.protocols().collect();
    assert_eq!(
        told,
        [
            ("connectionless", Some(68)),
            ("game", Some(68)),
            ("other", None)
        ]
    );
    assert_eq!(wire.name(), "connectionless");
}

#[test]
fn json_names_the_protocol_where_there_are_several() {
    let wire = wire(VERSIONS);
    let json = wire.decode(b"RK").to_json();
    assert_eq!(
        json.to_string(),
        r#"{"wire":"other","packet":{"sequence":21067}}"#
    );
    assert_eq!(wire.encode(&json).expect("it encodes").bytes, b"RK");
    let nobody = wire.decode(&[7, 8, 9]).to_json();
    assert_eq!(wire.encode(&nobody).expect("it encodes").bytes, [7, 8, 9]);
    let typo = serde_json::json!({"wire": "othre", "packet": {"sequence": 1}});
    let error = wire.encode(&typo).expect_err("there is none of this name");
    assert_eq!(
        error.to_string(),
        "wire: there is no protocol \"othre\"; did you mean `other`?"
    );
}
