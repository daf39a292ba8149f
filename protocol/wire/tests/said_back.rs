//! `@gives` and `@takes`: values that one side says and the other says back.

use netreel_wire::{Instead, Name, TreeNode, Wire};

fn compile(items: &str) -> Result<Wire, String> {
    let text = format!(
        "wire w {{ version = 1; byte_order = big; bit_order = msb; root = Packet; }}\n{items}"
    );
    Wire::compile("said.wire", &text).map_err(|error| error.to_string())
}

fn wire(items: &str) -> Wire {
    compile(items).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn refused(items: &str, why: &str) {
    let error = compile(items).expect_err("a mistake");
    assert!(error.contains(why), "{error}");
}

const PACKET: &str = "struct Packet {
    sequence: u8 @sequence @gives(number);
    token: u16 @takes(token);
    new: u16 @gives(token);
    length: u8 derived size(cookie);
    cookie: bytes(length) @takes(cookie) @gives(cookie);
}";

#[test]
fn a_field_tells_what_it_gives_and_takes_besides_what_it_means() {
    let wire = wire(PACKET);
    let decoded = wire.decode(&[7, 0, 1, 0, 2, 2, 0xaa, 0xbb]);
    assert_eq!(decoded.diagnostics, []);
    let said = |node: TreeNode<'_>| {
        let name = match node.name() {
            Name::Field(name) => name.to_owned(),
            Name::Index(index) => index.to_string(),
        };
        let owned = |it: Option<&str>| it.map(str::to_owned);
        (name, owned(node.gives()), owned(node.takes()))
    };
    let said: Vec<_> = decoded.tree.iter().map(said).collect();
    let row = |name: &str, gives: Option<&str>, takes: Option<&str>| {
        let owned = |it: Option<&str>| it.map(str::to_owned);
        (name.to_owned(), owned(gives), owned(takes))
    };
    assert!(
        said.contains(&row("sequence", Some("number"), None)),
        "{said:?}"
    );
    assert!(said.contains(&row("token", None, Some("token"))));
    assert!(said.contains(&row("new", Some("token"), None)));
    assert!(said.contains(&row("cookie", Some("cookie"), Some("cookie"))));
    assert!(said.contains(&row("length", None, None)));
    assert_eq!(decoded.facts.sequence.map(|it| it.value), Some(7));
}

#[test]
fn other_numbers_and_bytes_are_written_in_their_place_and_lengths_follow() {
    let wire = wire(PACKET);
    let decoded = wire.decode(&[7, 0, 1, 0, 2, 2, 0xaa, 0xbb]);
    let json = decoded.to_other_json(&|node| match node.takes()? {
        "token" => Some(Instead::Number(0x1234)),
        _ => Some(Instead::Bytes(vec![1, 2, 3])),
    });
    let encoded = wire.encode(&json).expect("it fits");
    assert_eq!(encoded.bytes, [7, 0x12, 0x34, 0, 2, 3, 1, 2, 3]);
}

#[test]
fn a_number_that_the_field_cannot_say_leaves_it_as_it_is() {
    let wire = wire(PACKET);
    let packet = [7, 0, 1, 0, 2, 0];
    let decoded = wire.decode(&packet);
    let json = decoded.to_other_json(&|node| node.takes().map(|_| Instead::Number(70_000)));
    assert_eq!(wire.encode(&json).expect("it fits").bytes, packet);
}

#[test]
fn what_is_taken_has_to_be_given_somewhere() {
    refused(
        "struct Packet { a: u8 @gives(token); b: u8 @takes(tokem); }",
        "no field gives `tokem`",
    );
    refused(
        "struct Packet { a: u8 @gives(token); b: u8 @takes(tokem); }",
        "did you mean `token`?",
    );
}

#[test]
fn only_single_numbers_and_bytes_are_said_back() {
    for field in ["a: f32", "a: string(4, utf8)", "a: u8[3]", "a: i16"] {
        let items = format!("struct Packet {{ {field} @gives(token); }}");
        refused(&items, "`@gives` cannot be on a field of type");
    }
}

#[test]
fn a_value_has_a_name() {
    refused(
        "struct Packet { a: u8 @gives; }",
        "`@gives` names one value",
    );
    refused(
        "struct Packet { a: u8 @takes(1 + 2); }",
        "this is no name of a value",
    );
    refused(
        "struct Packet @gives(token) { a: u8; }",
        "`@gives` cannot be on a struct",
    );
}
