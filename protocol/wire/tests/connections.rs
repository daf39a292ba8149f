//! Packets of connections, one after the other, and back from the JSON of a whole session.

use std::net::SocketAddr;

use netreel_wire::{Connections, PacketFacts, Wire};
use serde_json::{Value as Json, json};

const WIRE: &str = "wire t { byte_order = little; bit_order = lsb; root = P; state = S; }
    state S { count: u8; each base: u8; }
    enum Kind : u8 { set = 0, list = 1, delta = 2 }
    struct P {
        kind: Kind;
        switch (kind) {
            Kind.set => { count: u8; base: u8; set state.count = count; set state.base = base; }
            Kind.list => items: u8[state.count];
            Kind.delta => { value: delta(i8, state.base); }
        }
    }";

fn wire() -> Wire {
    compiled(WIRE)
}

fn compiled(text: &str) -> Wire {
    Wire::compile("t.wire", text).unwrap_or_else(|error| panic!("{error}"))
}

fn end(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

/// Sets up two connections; lists and deltas in both directions of the first.
fn packets() -> Vec<(SocketAddr, SocketAddr, Vec<u8>)> {
    let (a, b, c) = (end(1), end(2), end(3));
    vec![
        (a, b, vec![0, 2, 100]),
        (c, b, vec![0, 3, 50]),
        (b, a, vec![1, 7, 8]),
        (c, b, vec![1, 7, 8, 9]),
        (a, b, vec![2, 0xfd]),
        (b, a, vec![2, 1]),
    ]
}

fn lines(wire: &Wire) -> Vec<Json> {
    let mut connections = Connections::new(wire);
    let line = |(from, to, packet): (SocketAddr, SocketAddr, Vec<u8>)| {
        connections.to_json(from, to, &packet)
    };
    packets().into_iter().map(line).collect()
}

/// The numbers of the lines that come out other than they were, or why one does not.
fn encode(wire: &Wire, lines: &[Json]) -> Result<Vec<usize>, String> {
    let mut connections = Connections::new(wire);
    let mut different = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let packet = connections
            .encode(line)
            .map_err(|error| format!("{number}: {error}"))?;
        if packet.differs {
            different.push(number);
        }
    }
    Ok(different)
}

#[test]
fn a_session_comes_back_as_it_was() {
    let wire = wire();
    let mut connections = Connections::new(&wire);
    for (line, (from, to, bytes)) in lines(&wire).iter().zip(packets()) {
        let packet = connections
            .encode(line)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((packet.from, packet.to, packet.bytes), (from, to, bytes));
        assert!(!packet.differs);
        assert_eq!(packet.line, *line);
    }
}

#[test]
fn state_is_of_one_connection_and_each_of_one_direction() {
    let lines = lines(&wire());
    assert_eq!(lines[3]["packet"]["items"], json!([7, 8, 9]));
    let delta = json!({"change": -3, "value": "97"});
    assert_eq!(lines[4]["packet"]["value"], delta);
    // Nobody has set the base of the other direction.
    assert_eq!(
        lines[5]["packet"]["value"],
        json!({"change": 1, "value": null})
    );
}

#[test]
fn an_edit_lists_the_later_packets_that_it_changes() {
    let wire = wire();
    let mut lines = lines(&wire);
    lines[0]["packet"]["base"] = json!(90);
    assert_eq!(encode(&wire, &lines), Ok(vec![0, 4]));
}

#[test]
fn an_edit_that_a_later_packet_cannot_follow_is_refused_there() {
    let wire = wire();
    let mut lines = lines(&wire);
    lines[0]["packet"]["count"] = json!(3);
    let refused = "2: items: it has 2 elements, and its count is 3";
    assert_eq!(encode(&wire, &lines), Err(refused.to_owned()));
}

#[test]
fn a_line_without_endpoints_is_refused() {
    let wire = wire();
    let line = json!({"from": "10.0.0.1", "packet": {}});
    let error = Connections::new(&wire).encode(&line).expect_err("no port");
    let expected = r#"from: expected an address and a port, such as "10.0.0.1:5000""#;
    assert_eq!(error.to_string(), expected);
}

#[test]
fn the_states_of_all_connections_are_bounded_together() {
    let wire = compiled(
        "wire w { byte_order = little; bit_order = lsb; root = P; state = S; }
         state S { texts: bytes[64]; }
         struct P { key: u8; known: bool; text: bytes(rest); set state.texts[key] = text; }",
    );
    let mut connections = Connections::new(&wire).with_limits(100_000, u64::MAX);
    let mut packet = vec![0; 1000];
    let mut send = |from: u16, key: u8| {
        packet[0] = key;
        let (from, to) = (end(from), end(99));
        connections.facts(from, to, &packet, &mut PacketFacts::default());
        connections.spent().forgotten
    };
    for key in 0..60 {
        assert_eq!(send(1, key), 0);
    }
    let forgotten: Vec<u64> = (0..60).map(|key| send(2, key)).collect();
    assert_eq!(forgotten.last(), Some(&1), "the one that kept most");
}

#[test]
fn the_steps_of_all_packets_are_bounded_together() {
    let wire = compiled(
        "wire w { byte_order = little; bit_order = lsb; root = P; }
         lua \"\"\" function f(n) for i = 1, n * 1000 do end return n end \"\"\"
         struct P { n: u8; let m = lua(\"f\", n); }",
    );
    let mut connections = Connections::new(&wire).with_limits(usize::MAX, 100_000);
    let (from, to) = (end(1), end(2));
    let mut say = || {
        let decoded = connections.decode(from, to, &[10]);
        decoded
            .diagnostics
            .first()
            .map(|first| first.message.clone())
    };
    let said: Vec<Option<String>> = (0..6).map(|_| say()).collect();
    assert_eq!(said[..3], [None, None, None]);
    let why = "not read: the wire's scripts have taken all the steps that a file may take for the \
               packets before";
    assert_eq!(said[5].as_deref(), Some(why));
    assert_eq!(
        connections.spent().unread,
        6 - said.iter().filter(|it| it.is_none()).count() as u64
    );
}

#[test]
fn how_a_number_is_spelled_changes_no_packet() {
    let wire = compiled(
        "wire w { byte_order = little; bit_order = lsb; root = P; }
         struct P { magic: u8 = 7; x: f32; kind: Kind; }
         enum Kind : u8 { a = 1 }",
    );
    let line = |packet: Json| {
        let mut line = json!({"from": "10.0.0.1:1", "to": "10.0.0.2:2", "bytes": "070000a04001"});
        line["packet"] = packet;
        Connections::new(&wire).encode(&line).expect("it fits")
    };
    for packet in [
        json!({"magic": 7, "x": 5.0, "kind": {"raw": 1, "value": "a"}}),
        json!({"x": 5, "kind": "a"}),
    ] {
        let encoded = line(packet);
        assert!(!encoded.differs, "{:?}", encoded.line);
    }
    assert!(line(json!({"x": 6, "kind": "a"})).differs);
}
