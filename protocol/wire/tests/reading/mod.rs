//! A wire of one struct, what it makes of bytes, and back.

use netreel_wire::{Context, Decoded, TreeId, Value, Wire};

/// A wire in an order of bytes and bits, such as `little` and `lsb`.
pub fn wire_in(byte_order: &str, bit_order: &str, body: &str) -> Wire {
    let text = format!(
        "wire t {{ version = 1; byte_order = {byte_order}; bit_order = {bit_order}; root = P; }}\n\
         {body}"
    );
    Wire::compile("t.wire", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// A little, lsb one.
pub fn wire(body: &str) -> Wire {
    wire_in("little", "lsb", body)
}

/// `path = value` of every field that says something, in wire order.
pub fn lines(decoded: &Decoded) -> Vec<String> {
    let ids = (0..decoded.tree.len() as u32).map(TreeId);
    let said = ids.filter_map(|id| {
        let value = decoded.tree.get(id)?.value();
        (value != Value::None).then(|| format!("{} = {value}", decoded.tree.path(id)))
    });
    said.collect()
}

/// Decodes, with the same facts from both plans, and comes back to the same bytes through JSON.
#[track_caller]
pub fn decode(wire: &Wire, packet: &[u8]) -> Decoded {
    let decoded = wire.decode(packet);
    let mut facts = decoded.facts.clone();
    wire.facts(packet, &mut facts);
    assert_eq!(facts, decoded.facts, "both plans");
    let text = decoded.to_json().to_string();
    let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    let encoded = wire
        .encode(&json)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(encoded.bytes, packet, "{text}");
    assert_eq!(encoded.changes, [], "{text}");
    decoded
}

/// The fields of a packet that fits its wire.
#[track_caller]
pub fn check(body: &str, packet: &[u8], expected: &[&str]) {
    let decoded = decode(&wire(body), packet);
    assert_eq!(decoded.diagnostics, []);
    assert_eq!(lines(&decoded), expected);
}

/// The only diagnostic of a packet: its path, bit and message.
#[track_caller]
#[allow(dead_code)]
pub fn check_told(body: &str, packet: &[u8], expected: (&str, u32, &str)) {
    let decoded = decode(&wire(body), packet);
    let told: Vec<(&str, u32, &str)> = decoded
        .diagnostics
        .iter()
        .map(|told| (told.path.as_str(), told.bit, told.message.as_str()))
        .collect();
    assert_eq!(told, [expected]);
}

/// What a changed packet is, as JSON.
#[track_caller]
#[allow(dead_code)]
pub fn encode(wire: &Wire, json: serde_json::Value) -> Vec<u8> {
    let encoded = wire.encode(&json);
    encoded.unwrap_or_else(|error| panic!("{error}")).bytes
}

/// A context with ports.
#[allow(dead_code)]
pub fn between(source_port: u16, destination_port: u16) -> Context {
    Context {
        source_port,
        destination_port,
        ..Context::default()
    }
}
