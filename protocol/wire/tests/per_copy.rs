//! `@per_copy`: what is another thing in each copy of a message.

use netreel_wire::{Name, TreeNode, Wire};

const HEAD: &str = "wire w { version = 1; byte_order = big; bit_order = msb; root = Packet; }\n";

fn compile(items: &str) -> Result<Wire, String> {
    let text = format!("{HEAD}{items}");
    Wire::compile("copies.wire", &text).map_err(|error| error.to_string())
}

#[test]
fn a_field_tells_that_it_is_of_the_copy_besides_what_it_means() {
    let wire = compile(
        "struct Packet { messages: Message[1]; }
         struct Message @message {
             number: u8 @reliable_sequence; room: u8 @per_copy; tick: u8 @tick @per_copy; of: Of @per_copy;
         }
         struct Of { sent: u8; }",
    );
    let wire = wire.unwrap_or_else(|error| panic!("{error}"));
    let decoded = wire.decode(&[1, 2, 3, 4]);
    assert_eq!(decoded.diagnostics, []);
    let of_copy = |it: TreeNode<'_>| match it.name() {
        Name::Field(name) if it.is_per_copy() => Some(name.to_owned()),
        _ => None,
    };
    let of_copy: Vec<String> = decoded.tree.iter().filter_map(of_copy).collect();
    assert_eq!(of_copy, ["room", "tick", "of"]);
    let message = &decoded.facts.messages[0];
    assert_eq!(message.tick.map(|it| it.value), Some(3));
}

#[test]
fn it_takes_no_arguments_and_stands_on_fields() {
    let refused = |items: &str, why: &str| {
        let error = compile(items).expect_err("a mistake");
        assert!(error.contains(why), "{error}");
    };
    refused(
        "struct Packet { a: u8 @per_copy(room); }",
        "`@per_copy` takes no arguments",
    );
    refused(
        "struct Packet @per_copy { a: u8; }",
        "`@per_copy` cannot be on a struct",
    );
}
