//! Small wires at random, of every kind of part that the language knows.

use proptest::prelude::*;

/// A field of a random wire; `depth` structs may still be declared below it.
#[derive(Clone, Debug)]
pub enum Part {
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

/// Any part of a wire.
pub fn part() -> impl Strategy<Value = Part> {
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
pub fn wire_text(parts: &[Part], order: u8) -> String {
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
