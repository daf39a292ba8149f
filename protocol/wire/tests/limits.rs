//! Every hard limit, hit.

use netreel_wire::{PacketFacts, Wire};

/// The last diagnostic of a packet; both plans count the same.
fn told(body: &str, packet: &[u8]) -> (String, String) {
    let text = format!(
        "wire t {{ version = 1; byte_order = little; bit_order = lsb; root = P; }}\n{body}"
    );
    let wire = Wire::compile("t.wire", &text).unwrap_or_else(|error| panic!("{error}"));
    let decoded = wire.decode(packet);
    let mut facts = PacketFacts::default();
    wire.facts(packet, &mut facts);
    assert_eq!(facts, decoded.facts);
    let diagnostic = decoded
        .diagnostics
        .into_iter()
        .next_back()
        .expect("a diagnostic");
    (diagnostic.path, diagnostic.message)
}

fn check(body: &str, packet: &[u8], path: &str, message: &str) {
    assert_eq!(told(body, packet), (path.to_owned(), message.to_owned()));
}

#[test]
fn a_repeat_has_a_limit() {
    check(
        "struct P { n: u32; a: S[n]; } struct S { }",
        &[1, 0, 1, 0],
        "a",
        "65537 elements are more than the limit of 65536",
    );
}

#[test]
fn a_packet_has_a_limit_of_nodes() {
    check(
        "struct P { a: u1[40000]; b: u1[40000]; c: u1[40000]; d: u1[40000]; }",
        &[0; 20_000],
        "d",
        "the packet has more fields than the limit of 131072",
    );
    check(
        "struct P { a: u1[until end]; }",
        &[0; 20_000],
        "a",
        "the packet has more fields than the limit of 131072",
    );
}

#[test]
fn repeats_in_repeats_have_a_limit_too() {
    let body = "struct P { a: S[65536]; } struct S { b: E[65536]; } struct E { }";
    check(
        body,
        &[0],
        "a[1].b",
        "the packet has more fields than the limit of 131072",
    );
}

#[test]
fn recursion_has_a_limit() {
    let deep = ["inner"; 31].join(".");
    check(
        "struct P { inner: R; } struct R { more: u1; if (more == 1) { inner: R; } }",
        &[0xff; 100],
        &format!("{deep}.inner.inner"),
        "structs stand deeper in each other than the limit of 32",
    );
}

#[test]
fn a_packet_has_a_limit_of_bytes() {
    let message = "the packet has 16777217 bytes, only the first 16777216 count";
    let packet = vec![0; (16 << 20) + 1];
    let text = "wire t { version = 1; byte_order = big; bit_order = msb; root = P; }
                struct P { a: bytes(0x1000000); }";
    let wire = Wire::compile("t.wire", text).expect("a wire");
    let decoded = wire.decode(&packet);
    assert_eq!(decoded.diagnostics.len(), 1);
    assert_eq!(decoded.diagnostics[0].message, message);
}

#[test]
fn both_plans_stop_at_the_same_message() {
    let text = "wire t { version = 1; byte_order = big; bit_order = msb; root = P; }
                struct P { a: M[60000]; } struct M @message { b: u1[4]; c: S; }
                struct S { d: u2[2]; }";
    let wire = Wire::compile("t.wire", text).expect("a wire");
    let packet = [0; 60_000];
    let decoded = wire.decode(&packet);
    let mut facts = PacketFacts::default();
    wire.facts(&packet, &mut facts);
    assert_eq!(facts, decoded.facts);
    // Ten nodes each: the message, `b` and four bits, `c`, `d` and two elements. One for the packet
    // and one for all messages are counted first.
    assert_eq!(facts.messages.len(), (131_072 - 2) / 10);
}

/// A wire that is too much for the compiler is refused, not tried.
fn check_refused(body: &str, message: &str) {
    let text =
        format!("wire t {{ version = 1; byte_order = big; bit_order = msb; root = P; }}\n{body}");
    let error = Wire::compile("t.wire", &text).expect_err("too much");
    assert_eq!(error.reports()[0].message, message);
}

#[test]
fn a_struct_has_a_limit_of_fields() {
    let fields: String = (0..4097).map(|i| format!("f{i}: u8;\n")).collect();
    check_refused(
        &format!("struct P {{ {fields} }}"),
        "the struct has too many fields",
    );
}

#[test]
fn reports_have_a_limit() {
    let fields: String = (0..4000).map(|i| format!("f{i}: nothing;\n")).collect();
    let text = format!(
        "wire t {{ version = 1; byte_order = big; bit_order = msb; root = P; }}\n\
         struct P {{ {fields} }}"
    );
    let error = Wire::compile("t.wire", &text).expect_err("4000 mistakes");
    assert_eq!(error.reports().len(), 20);
}

#[test]
fn structs_in_structs_multiply_up_to_a_limit() {
    let levels: String = (0..10)
        .map(|i| {
            format!(
                "struct S{i} {{ a: S{0}; b: S{0}; c: S{0}; d: S{0}; }}\n",
                i + 1
            )
        })
        .collect();
    check_refused(
        &format!("struct P {{ a: S0; }} {levels} struct S10 {{ a: leb128; }}"),
        "the wire is too large: more than 200000 operations",
    );
}

#[test]
fn what_a_packet_reads_elsewhere_has_a_limit() {
    check(
        "struct P { n: X[40000]; s: u8; } struct X { at (0) { y: bytes(1000); } }",
        &[7; 1200],
        "n[2016]",
        "what the packet reads elsewhere is more than the limit of 2 MiB",
    );
}

#[test]
fn what_is_looked_for_elsewhere_and_not_found_counts_too() {
    let (path, message) = told(
        "struct P { n: X[1000]; }
         struct X { size(1) { at (0) { y: string(zero, utf8); } } }",
        &[7; 60_000],
    );
    assert!(path.starts_with("n["), "{path}: {message}");
    assert_eq!(
        message,
        "what the packet reads elsewhere is more than the limit of 2 MiB"
    );
}

#[test]
fn a_packet_that_reads_little_often_takes_of_the_files_steps() {
    let steps = |body: &str| {
        let text = format!(
            "wire t {{ version = 1; byte_order = little; bit_order = lsb; root = P; }}\n{body}"
        );
        let wire = Wire::compile("t.wire", &text).unwrap_or_else(|error| panic!("{error}"));
        let mut facts = PacketFacts::default();
        wire.facts(&[7; 100], &mut facts);
        facts.steps
    };
    assert_eq!(steps("struct P { n: u8[100]; }"), 0);
    let often = steps("struct P { n: X[40000]; r: bytes(rest); } struct X { at (0) { y: u8; } }");
    assert!(often > 100_000, "{often}");
}
