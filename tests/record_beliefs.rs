//! What a program that cannot be changed says of its objects, by lines that it prints.

mod support;

use support::netreel;
use support::programs::{Bench, text};

/// A message a packet: rules, sender, number, kind, place in the stream, object, owner.
const WIRE: &str = "
wire tiny { version = 1; byte_order = little; bit_order = lsb; root = Packet; }
rules plain {
    unknown_migrate = drop; unknown_update = drop; unknown_destroy = drop;
    create = always; stale = never; update_from = anyone;
}
enum Mode : u8 { plain = 0 @rules(plain) }
enum Kind : u8 { create = 0 @create, destroy = 1 @destroy, hello = 2, bye = 3 }
struct Packet {
    mode: Mode @rules;
    sender: u8 @sender;
    sequence: u8 @sequence;
    messages: Message[1];
}
struct Message @message {
    kind: Kind @message_kind;
    reliable: u1 @reliable; pad: u7 = 0;
    place: u8 @reliable_sequence;
    object: u8 @object;
    owner: u8 @owner;
}
";

/// What `check` says of the program's session: its JSON.
fn judged(bugs: &str) -> serde_json::Value {
    let bench = Bench::new();
    let program = bench.compile("believes");
    bench.record(&[], &[text(&program), bugs]).expect(0);
    let wire = bench.at("tiny.wire");
    std::fs::write(&wire, WIRE).unwrap();
    let out = bench.out();
    let read = ["--wire", text(&wire), "--json", "--no-index"];
    netreel(&[&["check", text(&out)][..], &read].concat()).json()
}

fn found(judged: &serde_json::Value) -> Vec<(String, String)> {
    let findings = judged["findings"].as_array().unwrap().iter();
    let word = |it: &serde_json::Value| it.as_str().unwrap_or_default().to_owned();
    findings
        .map(|it| (word(&it["rule"]), word(&it["level"])))
        .collect()
}

#[test]
fn a_client_that_does_not_do_what_it_is_told_says_so_itself() {
    let found = found(&judged("1"));
    let has = |rule: &str, level: &str| found.contains(&(rule.to_owned(), level.to_owned()));
    assert!(has("belief-differs", "warning"), "{found:?}");
    assert!(has("objects-differ-at-rest", "error"), "{found:?}");
}

#[test]
fn a_client_that_does_is_believed() {
    let judged = judged("0");
    assert_eq!(found(&judged), [], "{judged:#}");
}
