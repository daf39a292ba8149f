//! Layers: streams inside a packet, behind a transform or a code.

use netreel_wire::{Decoded, Keys, PacketFacts, StreamId, Value, Wire};

const HEAD: &str = "wire w { version = 1; byte_order = little; bit_order = lsb; root = P; }\n";

fn wire(text: &str) -> Wire {
    let text = format!("{HEAD}{text}");
    Wire::compile("layers.wire", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Every leaf with its path, stream, first bit and value, then every diagnostic; the packet comes
/// back from its JSON, and the facts plan agrees.
#[track_caller]
fn check(wire: &Wire, packet: &[u8], expected: &str) -> Decoded {
    let decoded = wire.decode(packet);
    let mut lines = Vec::new();
    for node in decoded.tree.iter().filter(|node| node.descendants() == 0) {
        let value = match node.value() {
            Value::Unsigned(value) => value.to_string(),
            Value::Signed(value) => value.to_string(),
            Value::Bytes(bytes) => format!("{bytes:02x?}"),
            Value::Text(text) => format!("{text:?}"),
            Value::None => "-".to_owned(),
            other => format!("{other:?}"),
        };
        let (path, bit) = (decoded.tree.path(node.id()), node.bits().start);
        lines.push(format!("{path} @{}.{bit} = {value}", node.stream().0));
    }
    for diagnostic in &decoded.diagnostics {
        lines.push(format!("{}: {}", diagnostic.path, diagnostic.message));
    }
    assert_eq!(lines.join("\n"), expected);
    check_round_trip(wire, &decoded, packet);
    decoded
}

#[track_caller]
fn check_round_trip(wire: &Wire, decoded: &Decoded, packet: &[u8]) {
    let json = decoded.to_json();
    let encoded = wire.encode(&json);
    let encoded = encoded.unwrap_or_else(|error| panic!("{error}\n{json:#}"));
    assert_eq!(encoded.bytes, packet, "{json:#}");
    let mut facts = PacketFacts::default();
    wire.facts(packet, &mut facts);
    assert_eq!(facts, decoded.facts);
}

#[test]
fn a_key_of_the_packet_unlocks_what_is_inside() {
    let wire = wire(
        "layer Locked(key: int) { transform = xor(key); }\n\
         struct P { key: u8; n: u8; body: B size(n) through Locked(key * 0x01010101); after: u8; }\n\
         struct B { a: u8; b: u16; }",
    );
    let decoded = check(
        &wire,
        &[0x0f, 3, 1 ^ 0x0f, 2 ^ 0x0f, 0x0f, 9],
        "key @0.0 = 15\nn @0.8 = 3\nbody.a @1.0 = 1\nbody.b @1.8 = 2\nafter @0.40 = 9",
    );
    assert_eq!(decoded.tree.stream(StreamId(1)), Some(&[1, 2, 0][..]));
    let body = decoded.tree.at_bit(20).map(|id| decoded.tree.path(id));
    assert_eq!(body.as_deref(), Some("body"));
    let inner = decoded.tree.at_bit_of(StreamId(1), 8);
    assert_eq!(
        inner.map(|id| decoded.tree.path(id)).as_deref(),
        Some("body.b")
    );
}

#[test]
fn what_was_edited_is_packed_again() {
    let wire = wire(
        "layer Z { transform = zlib; }\n\
         struct P { n: u8 derived size(body); body: B size(n) through Z; }\n\
         struct B { text: string(u8, utf8); }",
    );
    let json = serde_json::json!({ "packet": { "body": { "text": "hello hello hello hello" } } });
    let packet = wire.encode(&json).expect("all is there").bytes;
    assert!(packet.len() < 24, "{packet:?}");
    let decoded = wire.decode(&packet);
    assert_eq!(decoded.diagnostics, []);
    check_round_trip(&wire, &decoded, &packet);
    let mut json = decoded.to_json();
    json["packet"]["body"]["text"] = "a text of another length".into();
    let edited = wire.encode(&json).expect("it is packed anew").bytes;
    assert_ne!(edited, packet);
    let value = |decoded: &Decoded| decoded.tree.iter().last().map(|node| node.value());
    let expected = Value::Text("a text of another length".to_owned());
    assert_eq!(value(&wire.decode(&edited)), Some(expected));
}

/// A stored block, which no compressor would make of these bytes.
const STORED: [u8; 13] = [
    0x78, 0x01, 0x01, 2, 0, 0xfd, 0xff, 7, 8, 0x00, 0x18, 0x00, 0x10,
];

#[test]
fn a_packet_that_another_compressor_made_comes_back() {
    let wire = wire(
        "layer Z { transform = zlib; }\nstruct P { body: B through Z; }\nstruct B { a: u8; b: u8; }",
    );
    check(&wire, &STORED, "body.a @1.0 = 7\nbody.b @1.8 = 8");
}

#[test]
fn what_does_not_unpack_is_unresolved_and_decoding_goes_on() {
    let wire = wire(
        "layer Z { transform = zlib; }\n\
         struct P { n: u8; body: B size(n) through Z; after: u8; }\nstruct B { a: u8; }",
    );
    let decoded = check(
        &wire,
        &[2, 1, 2, 9],
        "n @0.0 = 2\nbody.unresolved @0.8 = [01, 02]\nafter @0.24 = 9\n\
         body: `through Z` does not unpack: corrupt deflate stream",
    );
    assert!(decoded.tree.iter().any(|node| node.is_unresolved()));
}

#[test]
fn what_is_left_inside_is_a_rest_of_the_stream_inside() {
    let wire = wire(
        "layer Z { transform = zlib; }\nstruct P { body: B through Z; }\n\
         struct B { a: u8; c: u32; }",
    );
    check(
        &wire,
        &STORED,
        "body.a @1.0 = 7\nbody.rest @1.8 = [08]\n\
         body.c: `u32` needs 32 bits, 8 are left in what `through Z` gave",
    );
}

#[test]
fn the_stream_inside_has_an_order_of_its_own() {
    let wire = wire(
        "layer L { transform = xor(x\"00\"); byte_order = big; bit_order = msb; }\n\
         struct P { a: u4; b: u4; body: B size(3) through L; c: u16; }\n\
         struct B { a: u4; b: u4; c: u16; }",
    );
    check(
        &wire,
        &[0x12, 0x12, 0x34, 0x56, 0x34, 0x12],
        "a @0.0 = 2\nb @0.4 = 1\nbody.a @1.0 = 1\nbody.b @1.4 = 2\nbody.c @1.8 = 13398\n\
         c @0.32 = 4660",
    );
}

#[test]
fn layers_stand_in_layers() {
    let wire = wire(
        "layer Outer { transform = xor(x\"ff\"); }\nlayer Inner { transform = deflate; }\n\
         struct P { a: A through Outer; }\n\
         struct A { n: u8; b: B size(n) through Inner; last: u8; }\n\
         struct B { x: u16; }",
    );
    let json = serde_json::json!({ "packet": { "a": { "n": 4, "b": { "x": 5 }, "last": 6 } } });
    let packet = wire.encode(&json).expect("all is there").bytes;
    check(
        &wire,
        &packet,
        "a.n @1.0 = 4\na.b.x @2.0 = 5\na.last @1.40 = 6",
    );
}

#[test]
fn a_huffman_text_ends_at_its_end() {
    let wire = wire(
        "huffman small { codes = [\"0\", \"10\", \"110\", \"111\"]; eof = 3; }\n\
         layer H { transform = huffman(small); }\n\
         struct P { n: u8; body: B size(n) through H; after: u8; }\n\
         struct B { data: u8[until end]; }",
    );
    check(
        &wire,
        &[2, 0b1001_1011, 0b11, 9],
        "n @0.0 = 2\nbody.data[0] @1.0 = 2\nbody.data[1] @1.8 = 2\nbody.data[2] @1.16 = 0\n\
         after @0.24 = 9",
    );
}

/// Each read takes its odd bits as they are, and then a symbol for each byte, the lowest first.
#[test]
fn a_coding_is_read_as_quake_3_reads_it() {
    let codes: Vec<String> = (0..256)
        .map(|symbol| match symbol {
            0 => "\"0\"".to_owned(),
            _ => format!("\"1{symbol:08b}\""),
        })
        .collect();
    let wire = wire(&format!(
        "huffman q {{ codes = [{}]; }}\nlayer Q {{ coding = huffman(q); }}\n\
         struct P {{ n: u8; body: B size(n) through Q; after: u8; }}\n\
         struct B {{ flag: u1; number: u10; text: bytes(3); long: u32; align(8); }}",
        codes.join(", ")
    ));
    let json = serde_json::json!({
        "packet": {
            "n": 6,
            "body": { "flag": 1, "number": 0x201, "text": "410042", "long": 5 },
            "after": 9,
        }
    });
    let packet = wire.encode(&json).expect("all is there").bytes;
    // flag 1; number: 2 raw bits 01, then 0x80 as 1 10000000; 41 as 1 01000001; 00 as 0; 42; 05 00 00 00
    let bits = "1 10 110000000 101000001 0 101000010 100000101 0 0 0";
    let bits: Vec<u8> = bits
        .bytes()
        .filter(|bit| *bit != b' ')
        .map(|bit| bit - b'0')
        .collect();
    let mut expected = vec![6];
    for byte in bits.chunks(8) {
        let value = byte
            .iter()
            .enumerate()
            .map(|(place, bit)| bit << place)
            .sum();
        expected.push(value);
    }
    expected.push(9);
    assert_eq!(packet, expected);
    check(
        &wire,
        &packet,
        "n @0.0 = 6\nbody.flag @1.0 = 1\nbody.number @1.1 = 513\nbody.text @1.12 = [41, 00, 42]\n\
         body.long @1.31 = 5\nbody.padding @1.43 = 0\nafter @0.56 = 9",
    );
}

#[test]
fn keys_come_from_a_key_log() {
    let text = "layer Sealed(id: int, nonce: int) {\n\
                transform = chacha20_poly1305(keylog(\"CLIENT\", id), nonce, x\"aa\");\n}\n\
                struct P { id: u16; sequence: u32; body: B through Sealed(id, sequence); }\n\
                struct B { kind: u8; text: string(2, ascii); }";
    let keys = format!("CLIENT 0102 {}", "5a".repeat(32));
    let keyed = wire(text).with_keys(Keys::parse(&keys).expect("a key log"));
    let json = serde_json::json!({
        "packet": { "id": 258, "sequence": 7, "body": { "kind": 3, "text": "hi" } }
    });
    let packet = keyed.encode(&json).expect("all is there").bytes;
    assert_eq!(packet.len(), 6 + 3 + 16);
    check(
        &keyed,
        &packet,
        "id @0.0 = 258\nsequence @0.16 = 7\nbody.kind @1.0 = 3\nbody.text @1.8 = \"hi\"",
    );
    let decoded = wire(text).decode(&packet);
    let [diagnostic] = &decoded.diagnostics[..] else {
        panic!("{:?}", decoded.diagnostics)
    };
    assert_eq!(
        diagnostic.message,
        "`through Sealed(id, sequence)` does not unpack: the key log has no key `CLIENT` with the \
         id 0102"
    );
    check_round_trip(&wire(text), &decoded, &packet);
}

#[cfg(feature = "lua")]
#[test]
fn lua_says_what_declarations_cannot() {
    let wire = wire(
        "lua \"\"\"\nfunction shift(bytes, by)\n  local out = {}\n  for i = 1, #bytes do\n\
         out[i] = string.char((bytes:byte(i) + by * i) & 255)\n  end\n\
         return table.concat(out)\nend\n\
         function unshift(bytes, by) return shift(bytes, -by) end\n\
         function fails(bytes) return bytes.x.y end\n\"\"\"\n\
         layer L(by: int) { transform = lua(\"unshift\", \"shift\", by); }\n\
         layer F { transform = lua(\"fails\", \"fails\"); }\n\
         struct P { by: u8; a: A size(3) through L(by); b: A size(1) through F; }\n\
         struct A { x: u8; y: u16; }",
    );
    check(
        &wire,
        &[10, 11, 22, 31, 5],
        "by @0.0 = 10\na.x @1.0 = 1\na.y @1.8 = 258\nb.unresolved @0.32 = [05]\n\
         b: `through F` does not unpack: `fails`, line 11: attempt to index a nil value (field 'x')",
    );
}

#[test]
fn facts_of_a_stream_inside_name_it_and_keep_their_bytes() {
    let wire = wire(
        "layer X { transform = xor(x\"55\"); }\n\
         enum K : u8 { call @rpc }\n\
         struct P { body: B through X; }\n\
         struct B { messages: M[until end]; }\n\
         struct M @message { kind: K @message_kind; name: string(u8, ascii) @rpc_name; }",
    );
    let packet: Vec<u8> = [0, 4, b'j', b'u', b'm', b'p']
        .iter()
        .map(|b| b ^ 0x55)
        .collect();
    let decoded = wire.decode(&packet);
    assert_eq!(decoded.diagnostics, []);
    check_round_trip(&wire, &decoded, &packet);
    let message = &decoded.facts.messages[0];
    assert_eq!((message.stream, message.bits.clone()), (StreamId(1), 0..48));
    let name = message.rpc_name.clone().expect("a name");
    assert_eq!(&*name.text, "jump");
    let place = name.place;
    assert_eq!((place.stream, place.bits.clone()), (StreamId(1), 16..48));
    assert_eq!(wire.bytes_at(&decoded.facts, &packet, &place), b"jump");
}

#[test]
fn one_layer_gives_no_more_than_it_may() {
    let wire = wire(
        "layer Z { transform = zlib; inflated_max = 10; }\nstruct P { body: B through Z; }\n\
         struct B { a: u8[until end]; }",
    );
    let packet = |count: usize| {
        let json = serde_json::json!({ "packet": { "body": { "a": vec![1; count] } } });
        wire.encode(&json).expect("all is there").bytes
    };
    assert_eq!(wire.decode(&packet(10)).diagnostics, []);
    let message = &wire.decode(&packet(11)).diagnostics[0].message;
    assert_eq!(
        message,
        "`through Z` does not unpack: more than the limit of 10 bytes come out"
    );
}

#[test]
fn all_layers_together_give_no_more_than_they_may() {
    let wire = wire(
        "layer Z { transform = zlib; inflated_max = 1 << 20; }\n\
         struct P { parts: Part[until end]; }\n\
         struct Part { n: u16; body: B size(n) through Z; }\nstruct B { a: bytes(1 << 20); }",
    );
    let part = serde_json::json!({ "n": 1040, "body": { "a": "00".repeat(1 << 20) } });
    let json = serde_json::json!({ "packet": { "parts": [part] } });
    // How long it is nobody knows before it was packed.
    let error = wire
        .encode(&json)
        .expect_err("the size is another one")
        .to_string();
    let bits = error
        .split_whitespace()
        .rev()
        .nth(1)
        .and_then(|word| word.parse::<u32>().ok());
    let n = bits.expect("it says how many bits") / 8;
    let part = serde_json::json!({ "n": n, "body": { "a": "00".repeat(1 << 20) } });
    let json = serde_json::json!({ "packet": { "parts": vec![part; 6] } });
    let packet = wire.encode(&json).expect("the size is right").bytes;
    let decoded = wire.decode(&packet);
    let paths: Vec<&str> = decoded
        .diagnostics
        .iter()
        .map(|d| d.path.as_str())
        .collect();
    assert_eq!(paths, ["parts[4].body", "parts[5].body"]);
    assert_eq!(
        decoded.diagnostics[0].message,
        "`through Z` does not unpack: the layers of the packet give more than the limit of 4194304 \
         bytes together"
    );
}

#[test]
fn a_packet_has_only_so_many_layers() {
    let wire = wire(
        "layer X { transform = xor(1); }\nstruct P { parts: Part[until end]; }\n\
         struct Part { body: B size(1) through X; }\nstruct B { a: u8; }",
    );
    let decoded = wire.decode(&[0; 258]);
    let paths: Vec<&str> = decoded
        .diagnostics
        .iter()
        .map(|d| d.path.as_str())
        .collect();
    assert_eq!(paths, ["parts[256].body", "parts[257].body"]);
    assert_eq!(
        decoded.diagnostics[0].message,
        "`through X` does not unpack: the packet has more layers than the limit of 256"
    );
    check_round_trip(&wire, &decoded, &[0; 258]);
}

#[test]
fn layers_stand_only_so_deep_in_each_other() {
    let wire = wire(
        "layer X { transform = xor(0); }\nstruct P { a: A; }\nstruct A { more: B through X; }\n\
         struct B { n: u8; if (n > 0) { a: A; } }",
    );
    let decoded = wire.decode(&[1; 20]);
    let deepest = &decoded.diagnostics[0];
    assert_eq!(
        deepest.message,
        "`through X` does not unpack: layers stand deeper in each other than the limit of 8"
    );
    assert_eq!(deepest.stream, StreamId(8));
    check_round_trip(&wire, &decoded, &[1; 20]);
}

#[test]
fn the_layers_of_joined_messages_count_as_the_packets_own() {
    const ZEROS: &str = "layer Z { transform = zlib; inflated_max = 1048576; }\n\
                         struct Zeros { a: bytes(1048576); }\n";
    let packer = wire(&format!("{ZEROS}struct P {{ zeros: Zeros through Z; }}"));
    let json = serde_json::json!({ "packet": { "zeros": { "a": "00".repeat(1 << 20) } } });
    let packed = packer.encode(&json).expect("all is there").bytes;

    let head = HEAD.replace("root = P;", "root = P; state = S;");
    let text = format!(
        "{head}{ZEROS}state S {{ whole: parts[4]; }}\n\
         struct P {{ pieces: Piece[6]; }}\n\
         struct Piece {{ n: u16; data: bytes(n); join all: B from state.whole[0] (0, 1, data); }}\n\
         struct B {{ zeros: Zeros through Z; }}"
    );
    let wire = Wire::compile("layers.wire", &text).unwrap_or_else(|error| panic!("{error}"));
    let mut piece = (packed.len() as u16).to_le_bytes().to_vec();
    piece.extend_from_slice(&packed);
    let decoded = wire.decode(&piece.repeat(6));
    let too_much = "the layers of the packet give more than the limit of 4194304 bytes together";
    let messages = decoded.diagnostics.iter().map(|d| d.message.as_str());
    let refused = messages.filter(|message| message.contains(too_much));
    assert_eq!(refused.count(), 2, "{:?}", decoded.diagnostics);
}

#[test]
fn the_scripts_of_a_packet_share_their_steps() {
    let text = r#"wire w { byte_order = little; bit_order = lsb; root = P; }
        lua """
        function slow(a) local n = 0 for i = 1, 100000 do n = n + 1 end return n end
        """
        struct P { parts: Part[until end]; }
        struct Part { x: u8; let h = lua("slow", x); }"#;
    let wire = Wire::compile("w.wire", text).unwrap_or_else(|error| panic!("{error}"));
    let decoded = wire.decode(&[1; 200]);
    let told: Vec<&str> = decoded
        .diagnostics
        .iter()
        .map(|told| told.message.as_str())
        .collect();
    assert!(
        told.iter()
            .any(|told| told.contains("more than the limit of 1500000 steps")),
        "{told:?}"
    );
    // The next packet has its own.
    assert_eq!(wire.decode(&[1, 1]).diagnostics, []);
}
