//! What holds for every packet: no panic, nothing past the end, every bit explained once, and both
//! plans agree. On the boxes wire and on random small wires.

use std::sync::LazyLock;

use netreel_wire::{Decoded, Name, PacketFacts, StreamId, Tree, Wire};
use proptest::prelude::*;

const BOXES: &str = include_str!("../../../samples/wires/boxes.wire");

static WIRE: LazyLock<Wire> =
    LazyLock::new(|| Wire::compile("boxes.wire", BOXES).unwrap_or_else(|error| panic!("{error}")));

/// All that holds for a wire and a packet.
fn check(wire: &Wire, packet: &[u8]) -> Result<(), TestCaseError> {
    let decoded = wire.decode(packet);
    let jumps = wire.text().contains("at (");
    check_tree(&decoded.tree, packet.len() as u32 * 8, jumps)?;
    check_diagnostics(&decoded, packet.len() as u32 * 8)?;
    // What is in `out` before does not matter.
    let mut facts = wire.decode(&[0xa5; 70]).facts;
    wire.facts(packet, &mut facts);
    prop_assert_eq!(&facts, &decoded.facts, "both plans");
    check_round_trip(wire, &decoded, packet)?;
    let joined = wire.decode_message(None, packet);
    check_tree(&joined.tree, packet.len() as u32 * 8, jumps)?;
    wire.message_facts(None, packet, &mut facts);
    prop_assert_eq!(&facts, &joined.facts, "both plans of a joined message");
    for message in &decoded.facts.messages {
        let stream = decoded.tree.stream(message.stream).unwrap_or_default();
        prop_assert!(message.bits.end <= stream.len() as u32 * 8);
        for place in [&message.rpc_name, &message.fragment_data]
            .into_iter()
            .flatten()
        {
            let bytes = wire.bytes_at(&decoded.facts, packet, place);
            let bits = place.bits.end - place.bits.start;
            prop_assert_eq!(bytes.len() as u32, bits / 8);
        }
    }
    Ok(())
}

/// The packet comes back to the byte, through the text of its JSON.
fn check_round_trip(wire: &Wire, decoded: &Decoded, packet: &[u8]) -> Result<(), TestCaseError> {
    let text = decoded.to_json().to_string();
    let json =
        serde_json::from_str(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let encoded = wire.encode(&json);
    let jumps = wire.text().contains("at (");
    if let Err(error) = &encoded
        && jumps
        && error.to_string().contains("do not come to rest")
    {
        // Two readers of the same bits: what one has written changes what the other one asks.
        return Ok(());
    }
    let encoded = encoded.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    prop_assert_eq!(&encoded.bytes, packet, "{}", text);
    prop_assert_eq!(encoded.changes, []);
    Ok(())
}

/// In every stream, leaves and `rest` follow each other from the first bit to the last; parents
/// cover their children; the links between nodes are right. `jumps`: but for what stands elsewhere.
fn check_tree(tree: &Tree, bits: u32, jumps: bool) -> Result<(), TestCaseError> {
    let mut at = vec![0; tree.streams()];
    for node in tree.iter() {
        let (id, bits_of) = (node.id(), node.bits());
        let stream = usize::from(node.stream().0);
        let length = tree.stream(node.stream()).map_or(0, <[u8]>::len) as u32 * 8;
        prop_assert!(bits_of.start <= bits_of.end);
        prop_assert!(bits_of.end <= length, "{} ends past the end", tree.path(id));
        // A layer that gives nothing has no node inside that would tell that it took whole bytes.
        let after_nothing = tree.path(id).ends_with(".rest")
            && bits_of.start > at[stream]
            && (bits_of.start - at[stream]).is_multiple_of(8)
            && (0..tree.streams()).any(|it| tree.stream(StreamId(it as u16)) == Some(&[]));
        let follows = jumps || after_nothing || bits_of.start == at[stream];
        prop_assert!(follows, "{} leaves a hole", tree.path(id));
        let children: Vec<_> = tree.children(id).filter_map(|id| tree.get(id)).collect();
        if children.iter().any(|child| child.stream() != node.stream()) {
            // It went through a layer with all whole bytes.
            at[stream] += (bits_of.end - bits_of.start) / 8 * 8;
        } else if children.is_empty() {
            at[stream] = bits_of.end;
        }
        for child in children {
            prop_assert_eq!(child.parent(), Some(id));
            let is_covered = child.bits().end <= bits_of.end || child.stream() != node.stream();
            prop_assert!(is_covered || jumps);
        }
        if let (Name::Index(_), Some(parent)) = (node.name(), node.parent()) {
            let place = tree.children(parent).position(|child| child == id);
            prop_assert_eq!(node.name(), Name::Index(place.unwrap_or(usize::MAX) as u32));
        }
    }
    prop_assert!(at[0] == bits || jumps, "consumed + rest = input");
    Ok(())
}

fn check_diagnostics(decoded: &Decoded, bits: u32) -> Result<(), TestCaseError> {
    prop_assert_eq!(
        decoded.facts.diagnostics as usize,
        decoded.diagnostics.len()
    );
    for diagnostic in &decoded.diagnostics {
        let stream = decoded.tree.stream(diagnostic.stream);
        let bits = stream.map_or(bits, |stream| stream.len() as u32 * 8);
        prop_assert!(diagnostic.bit <= bits);
        prop_assert!(!diagnostic.path.is_empty(), "{}", diagnostic.message);
        prop_assert!(!diagnostic.message.ends_with('.'));
    }
    let has_rest = decoded
        .tree
        .roots()
        .any(|root| decoded.tree.path(root) == "rest");
    prop_assert!(
        !has_rest || !decoded.diagnostics.is_empty(),
        "rest without a word"
    );
    Ok(())
}

/// A field of a random wire; `depth` structs may still be declared below it.
#[derive(Clone, Debug)]
enum Part {
    Plain(&'static str),
    Constant(u8),
    Repeat(&'static str, u8),
    Counted(Vec<Part>),
    UntilEnd(&'static str),
    Bytes,
    Text(&'static str),
    Ending(&'static str),
    Filled(&'static str),
    UntilItem(&'static str, &'static str),
    UntilLast(Vec<Part>),
    Computed(&'static str),
    Parameters(Vec<Part>, bool),
    Asks(&'static str, Vec<Part>),
    Measured(&'static str),
    If(Vec<Part>, Vec<Part>),
    Switch(Vec<Vec<Part>>, bool),
    Nested(Vec<Part>),
    Window(Vec<Part>),
    Block(Vec<Part>),
    Layer(&'static str, Option<u8>, Vec<Part>),
    RepeatWindow(&'static str),
    At(Vec<Part>),
    Message(Vec<Part>),
    Itself,
    Align(u8, &'static str),
}

const PLAIN: [&str; 40] = [
    "u1",
    "u3",
    "u8",
    "u13",
    "u64",
    "i1",
    "i7",
    "i33",
    "bool",
    "f16",
    "f32",
    "leb128",
    "zigzag",
    "range(3, 12)",
    "quantized(-1.0, 1.0, 9)",
    "E",
    "u24be",
    "i16le",
    "f32be",
    "sleb128",
    "vlq",
    "prefix_varint",
    "quic_varint",
    "ubitvar",
    "packed_int",
    "compressed(u32)",
    "compressed(i16be)",
    "quake_float",
    "-5..=9",
    "0..=1000",
    "quantized(0.0, 9.0, 7, down)",
    "vec3(i7)",
    "vec2(f16)",
    "smallest_three(7, zyx)",
    "F",
    "uuid",
    "u128",
    "u128le",
    "u128be",
    "hash(3)",
];

const ENDINGS: [&str; 9] = [
    "string(zero, utf8)",
    "string(zero, utf16be)",
    "string(5, ascii, padded)",
    "string(4, utf16le, padded)",
    "string(rest, utf8)",
    "bytes(rest)",
    "string(u16be, utf16le)",
    "string(quic_varint, latin1)",
    "string(prefix_varint, utf8)",
];

/// An element's type and a condition that reads it.
const ITEMS: [(&str, &str); 5] = [
    ("u3", "item == 2"),
    ("packed_int", "item < 0 || left() < 20"),
    ("F", "item.b"),
    ("vec2(u2)", "item.x == item.y"),
    ("u7", "peek(u8) > 99"),
];

/// With `n` for a byte that comes before.
const COMPUTED: [&str; 7] = [
    "let f = 7 / (n - 3);",
    "let f: u4 = n - 1;",
    "let f: 3..=80 = n;",
    "let f = n > 100;",
    "let f: E = n & 3;",
    "let f: F = position() + popcount(n);",
    "let f = min(n, left()) - max(n, 9);",
];

const ASKED: [&str; 4] = [
    "left() > 40",
    "peek(u8) > 100",
    "peek(u16be, 4) & 1 == 1",
    "left() % 16 < 8 && peek(u3) != 2",
];

fn part() -> impl Strategy<Value = Part> {
    let leaf = prop_oneof![
        6 => prop::sample::select(&PLAIN[..]).prop_map(Part::Plain),
        1 => any::<u8>().prop_map(Part::Constant),
        1 => (prop::sample::select(&PLAIN[..]), 0u8..40).prop_map(|(t, n)| Part::Repeat(t, n)),
        1 => prop::sample::select(&PLAIN[..]).prop_map(Part::UntilEnd),
        1 => Just(Part::Bytes),
        1 => prop::sample::select(&["utf8", "ascii", "latin1"][..]).prop_map(Part::Text),
        2 => prop::sample::select(&ENDINGS[..]).prop_map(Part::Ending),
        1 => prop::sample::select(&PLAIN[..]).prop_map(Part::Filled),
        1 => prop::sample::select(&ITEMS[..]).prop_map(|(t, until)| Part::UntilItem(t, until)),
        2 => prop::sample::select(&COMPUTED[..]).prop_map(Part::Computed),
        1 => prop::sample::select(&PLAIN[..]).prop_map(Part::Measured),
        1 => Just(Part::Itself),
        1 => prop::sample::select(&PLAIN[..]).prop_map(Part::RepeatWindow),
        1 => (2u8..65, prop::sample::select(&["", "= 0", "= 1"][..]))
            .prop_map(|(bits, pad)| Part::Align(bits, pad)),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let parts = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            parts().prop_map(Part::Counted),
            (parts(), parts()).prop_map(|(then, other)| Part::If(then, other)),
            (prop::collection::vec(parts(), 1..3), any::<bool>())
                .prop_map(|(arms, default)| Part::Switch(arms, default)),
            parts().prop_map(Part::Nested),
            parts().prop_map(Part::UntilLast),
            (parts(), any::<bool>()).prop_map(|(parts, again)| Part::Parameters(parts, again)),
            (prop::sample::select(&ASKED[..]), parts())
                .prop_map(|(asked, parts)| Part::Asks(asked, parts)),
            parts().prop_map(Part::Window),
            parts().prop_map(Part::Block),
            parts().prop_map(Part::At),
            (
                prop::sample::select(&["Lx", "Ly(3)", "Lz", "Lh", "Lc"][..]),
                prop::option::of(0u8..12),
                parts()
            )
                .prop_map(|(layer, size, parts)| Part::Layer(layer, size, parts)),
            parts().prop_map(Part::Message),
        ]
    })
}

/// The text of a wire in the making.
struct Writer {
    structs: Vec<String>,
    fields: u32,
    in_message: bool,
}

impl Writer {
    fn field(&mut self) -> String {
        self.fields += 1;
        format!("f{}", self.fields)
    }

    /// A struct's text; its name. `at_end`: as for [`Writer::body`].
    fn structure(&mut self, parts: &[Part], annotation: &str, at_end: bool) -> String {
        let name = format!("S{}", self.structs.len());
        self.structs.push(String::new());
        let place = self.structs.len() - 1;
        let body = self.body(parts, &name, at_end);
        self.structs[place] = format!("struct {name} {annotation} {{ {body} }}\n");
        name
    }

    /// `at_end`: nothing comes after it in the window around it, so that its last part may take all
    /// that is left.
    fn body(&mut self, parts: &[Part], own: &str, at_end: bool) -> String {
        let last = parts.len().saturating_sub(1);
        let parts = parts.iter().enumerate();
        parts
            .map(|(place, part)| self.part(part, own, at_end && place == last))
            .collect()
    }

    fn part(&mut self, part: &Part, own: &str, at_end: bool) -> String {
        let field = self.field();
        match part {
            Part::Plain(spelled) => format!("{field}: {spelled};\n"),
            Part::Constant(value) => format!("{field}: u8 = {value};\n"),
            Part::Repeat(spelled, count) => format!("{field}: {spelled}[{count}];\n"),
            Part::UntilEnd(spelled) if !at_end => {
                format!("{field}: {spelled}[until end] size(left() / 8);\n")
            }
            Part::UntilEnd(spelled) => format!("{field}: {spelled}[until end];\n"),
            Part::Bytes => format!("{field}n: u4; {field}: bytes({field}n - 1);\n"),
            Part::Text(encoding) => format!("{field}: string(u3, {encoding});\n"),
            Part::Ending(spelled) if spelled.contains("(rest") && !at_end => {
                format!("{field}: {spelled} size(left() / 8);\n")
            }
            Part::Ending(spelled) => format!("{field}: {spelled};\n"),
            Part::Filled(spelled) => format!("{field}n: u3; {field}: {spelled}[bytes {field}n];\n"),
            Part::UntilItem(spelled, until) => format!("{field}: {spelled}[until {until}];\n"),
            Part::UntilLast(parts) => {
                let inner = self.structure(parts, "", at_end);
                let place: usize = inner[1..].parse().unwrap_or(0);
                self.structs[place] = self.structs[place].replacen('{', "{ last: bool; ", 1);
                format!("{field}: {inner}[until item.last];\n")
            }
            Part::Computed(spelled) => {
                let n = format!("{field}n");
                let spelled = spelled.replace("let f", &format!("let {field}"));
                let words = spelled.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
                let spelled: String = words
                    .map(|word| match word.strip_prefix('n') {
                        Some(end) if end.len() <= 1 && !end.starts_with(char::is_alphanumeric) => {
                            format!("{n}{end}")
                        }
                        _ => word.to_owned(),
                    })
                    .collect();
                format!("{n}: u8; {spelled}\n")
            }
            Part::Parameters(parts, again) => {
                let inner = self.structure(parts, "", at_end && !again);
                let place: usize = inner[1..].parse().unwrap_or(0);
                let text = std::mem::take(&mut self.structs[place]);
                let again = match again {
                    true => format!("if (n > 1) {{ inner: {inner}(n - 1, b); }}"),
                    false => String::new(),
                };
                // What holds itself by way of `Itself` gives itself what it was given.
                let given = format!(": {inner}(n, b)");
                let text = text.replace(&format!(": {inner};"), &format!("{given};"));
                let text = text.replace(&format!(": {inner} size"), &format!("{given} size"));
                self.structs[place] = text.replacen(
                    &format!("{inner}  {{"),
                    &format!(
                        "{inner}(n: int, b: bool) {{ x: u2[n]; if (b) {{ y: u5; }} \
                         let z = n * 2; {again}"
                    ),
                    1,
                );
                format!("{field}n: u2; {field}: {inner}({field}n, {field}n == 1);\n")
            }
            Part::Asks(asked, parts) => {
                let inner = self.body(parts, own, at_end);
                format!("if ({asked}) {{ {inner} }}\n")
            }
            Part::Measured(spelled) => format!(
                "{field}n: u2; {field}: {spelled}[{field}n]; \
                 let {field}m = count({field}) + size({field}) * bits({field}n);\n"
            ),
            Part::Counted(parts) => {
                let inner = self.structure(parts, "", at_end);
                format!("{field}n: u5; {field}: {inner}[{field}n * {field}n];\n")
            }
            Part::If(then, otherwise) => {
                let then = self.body(then, own, at_end);
                let otherwise = self.body(otherwise, own, at_end);
                format!(
                    "{field}: u2; if ({field} == 1 || {field} > 2) {{ {then} }} else {{ \
                     {otherwise} }}\n"
                )
            }
            Part::Switch(arms, default) => {
                let mut text = format!("{field}: u2; switch ({field}) {{ ");
                for (index, arm) in arms.iter().enumerate() {
                    text += &format!("{index} => {{ {} }} ", self.body(arm, own, at_end));
                }
                text + if *default { "default => {} }\n" } else { "}\n" }
            }
            Part::Nested(parts) => {
                let inner = self.structure(parts, "", at_end);
                format!("{field}: {inner};\n")
            }
            Part::Window(parts) => {
                let inner = self.structure(parts, "", true);
                format!("{field}n: u3; {field}: {inner} size({field}n);\n")
            }
            Part::Layer(layer, size, parts) => {
                let inner = self.structure(parts, "", true);
                let size = match size {
                    Some(size) => format!("size({size})"),
                    None if !at_end => "size(left() / 8)".to_owned(),
                    None => String::new(),
                };
                format!("{field}: {inner} {size} through {layer};\n")
            }
            Part::At(parts) => {
                let inner = self.body(parts, own, true);
                format!(
                    "label {field}l; {field}: u6; at ({field} ^ ({field}l & 1)) {{ {inner} }}\n"
                )
            }
            Part::Block(parts) => {
                let inner = self.body(parts, own, true);
                format!("{field}: u3; size ({field}) {{ {inner} }}\n")
            }
            Part::RepeatWindow(spelled) => {
                format!("{field}n: u3; {field}: {spelled}[until end] size({field}n);\n")
            }
            Part::Message(parts) if !self.in_message => {
                self.in_message = true;
                let inner = self.structure(parts, "@message", at_end);
                self.in_message = false;
                let kind = self.field();
                let place: usize = inner[1..].parse().unwrap_or(0);
                let annotated = format!("@message {{ {kind}: E @message_kind; ");
                self.structs[place] = self.structs[place].replacen("@message {", &annotated, 1);
                format!("{field}n: u2; {field}: {inner}[{field}n];\n")
            }
            Part::Message(_) => String::new(),
            Part::Itself if !self.in_message && own != "P" => {
                // It may end with what takes all that is left.
                let size = if at_end { "" } else { " size(left() / 8)" };
                format!("{field}n: u1; if ({field}n == 1) {{ {field}: {own}{size}; }}\n")
            }
            Part::Itself => String::new(),
            Part::Align(bits, pad) => format!("align({bits}) {pad};\n"),
        }
    }
}

const LAYERS: &str = "\
    huffman h { codes = [\"0\", \"10\", \"1101\", \"1110\", \"1111\"]; eof = 2; }\n\
    layer Lx { transform = xor(x\"5a\"); byte_order = big; bit_order = msb; }\n\
    layer Ly(key: int) { transform = xor(key); bit_order = lsb; }\n\
    layer Lz { transform = zlib; }\n\
    layer Lh { transform = huffman(h); }\n\
    layer Lc { coding = huffman(c); }\n";

/// A wire in a random order of bits and bytes.
fn wire_text(parts: &[Part], order: u8) -> String {
    let bytes = if order & 1 == 0 { "little" } else { "big" };
    let bits = if order & 2 == 0 { "lsb" } else { "msb" };
    let mut writer = Writer {
        structs: Vec::new(),
        fields: 0,
        in_message: false,
    };
    let body = writer.body(parts, "P", true);
    let codes: Vec<String> = (1..=255).map(|code| format!("\"1{code:08b}\"")).collect();
    let table = format!("huffman c {{ codes = [\"0\", {}]; }}\n", codes.join(", "));
    format!(
        "wire w {{ version = 1; byte_order = {bytes}; bit_order = {bits}; root = P; }}\n\
         enum E : u3 {{ a, b, c }}\nflags F : u5 {{ a, b, c = 0x10 }}\n{LAYERS}{table}\
         struct P {{ {body} }}\n{}",
        writer.structs.concat()
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1024,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_boxes_wire_takes_any_bytes(packet in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&WIRE, &packet)?;
    }

    #[test]
    fn the_boxes_wire_takes_any_bytes_after_a_header(
        messages in 0u8..20,
        tail in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let mut packet = vec![0xb0, 0x20, 1, 0, messages];
        packet.extend(tail);
        check(&WIRE, &packet)?;
    }

    #[test]
    fn random_wires_take_any_bytes(
        parts in prop::collection::vec(part(), 1..6),
        order in 0u8..4,
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 4),
    ) {
        let text = wire_text(&parts, order);
        match Wire::compile("random.wire", &text) {
            Ok(wire) => {
                for packet in packets {
                    check(&wire, &packet)?;
                }
            }
            Err(error) => {
                // A message that can hold itself by way of a struct above it is refused, and so is
                // reading what is in an element that can.
                let error = error.to_string();
                let known = error.contains("a message cannot hold itself")
                    || error.contains("`item` can hold itself");
                prop_assert!(known, "{error}\n{text}");
            }
        }
    }

    #[test]
    fn any_text_is_a_wire_or_is_refused(text in "\\PC{0,200}") {
        if let Err(error) = Wire::compile("any.wire", &text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn a_wire_with_a_piece_missing_is_a_wire_or_is_refused(
        from in 0..BOXES.len(),
        length in 1usize..30,
    ) {
        let to = (from + length).min(BOXES.len());
        if let (Some(before), Some(after)) = (BOXES.get(..from), BOXES.get(to..)) {
            let text = format!("{before}{after}");
            if let Err(error) = Wire::compile("cut.wire", &text) {
                prop_assert!(error.to_string().contains("cut.wire:"));
            }
        }
    }
}

#[test]
fn what_is_given_up_elsewhere_ends_no_earlier_than_it_begins() {
    let deep = Part::At(vec![Part::Itself, Part::Itself]);
    let text = wire_text(&[Part::Counted(vec![deep, Part::Align(18, "")])], 0);
    let wire = Wire::compile("deep.wire", &text).unwrap();
    check(&wire, &[1, 119, 1, 64, 163, 87, 192, 36, 11]).unwrap();
}

#[test]
fn the_facts_of_a_packet_do_not_depend_on_the_packet_before() {
    let mut facts = PacketFacts::default();
    WIRE.facts(&[0xb0, 0x20, 1, 0, 1, 0x07, 0], &mut facts);
    let first = facts.clone();
    WIRE.facts(&[], &mut facts);
    WIRE.facts(&[0xb0, 0x20, 1, 0, 1, 0x07, 0], &mut facts);
    assert_eq!(facts, first);
}

/// Wires and packets that a random seed once found.
#[track_caller]
fn check_found(parts: &[Part], order: u8, packet: &[u8]) {
    let text = wire_text(parts, order);
    let wire = Wire::compile("found.wire", &text).unwrap_or_else(|error| panic!("{error}"));
    check(&wire, packet).unwrap_or_else(|error| panic!("{error}\n{text}"));
}

#[test]
fn a_block_elsewhere_may_ask_what_comes() {
    let asks = Part::Asks("peek(u8) > 100", vec![Part::Plain("i1")]);
    let parts = [Part::At(vec![Part::Block(vec![asks])])];
    check_found(&parts, 2, &[0xa0, 0, 0, 0, 0, 0xcd, 0, 0, 0, 0, 0x40, 0]);
}

#[test]
fn a_layer_that_gives_nothing_leaves_no_hole() {
    let layer = Part::Layer("Lh", Some(5), vec![]);
    let mut packet = [0; 39];
    (packet[0], packet[36]) = (3, 0xb0);
    for length in [37, 38, 39] {
        let parts = [Part::Counted(vec![layer.clone(), Part::Plain("bool")])];
        check_found(&parts, 0, &packet[..length]);
    }
}

#[test]
fn two_readers_of_the_same_bits_may_not_come_to_rest() {
    let parts = [
        Part::Message(vec![Part::Plain("quake_float")]),
        Part::At(vec![Part::Window(vec![
            Part::UntilItem("packed_int", "item < 0 || left() < 20"),
            Part::Asks("peek(u8) > 100", vec![Part::Bytes]),
            Part::Plain("bool"),
        ])]),
    ];
    check_found(
        &parts,
        0,
        &[0xa6, 0, 0x20, 0x90, 0xc0, 0x6a, 0x19, 0, 0, 0x4c],
    );
}
