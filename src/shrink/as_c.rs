//! A small session as a test in C, of an engine's plugin.

use std::fmt::Write;

use netreel_reel::Endpoint;
use netreel_replay::explore::{Begins, Ground, Natural, Script, ScriptTurn};

use crate::text;

/// The program without its data.
const TEMPLATE: &str = include_str!("as_test.c");

/// The program.
pub fn text(ground: &Ground, sentence: &str) -> String {
    let script = ground.script();
    let mut data = String::new();
    nodes(&script, ground, &mut data);
    turns(&script.turns, &mut data);
    packets(&script, &mut data);
    ways(&script, &mut data);
    // What stands in a comment does not end it.
    let sentence = sentence.replace("*/", "* /");
    TEMPLATE
        .replace("{sentence}", &sentence)
        .replace("{data}", data.trim_end())
}

/// `static const TYPE NAME[] = { ... };`, with one row at least: C has no empty arrays.
fn array(kind: &str, name: &str, rows: &[String], out: &mut String) {
    let empty = ["{0}".to_owned()];
    let rows = if rows.is_empty() { &empty[..] } else { rows };
    let _ = writeln!(out, "static const {kind} {name}[] = {{");
    for row in rows {
        let _ = writeln!(out, "    {row},");
    }
    let _ = writeln!(out, "}};\n");
}

/// Whole numbers, so many a line.
fn numbers<T: std::fmt::Display>(kind: &str, name: &str, all: &[T], out: &mut String) {
    let lines = all.chunks(16);
    let mut rows: Vec<String> = lines
        .map(|line| text::joined(line.iter().map(T::to_string), ", "))
        .collect();
    if rows.is_empty() {
        rows.push("0".to_owned());
    }
    array(kind, name, &rows, out);
}

fn endpoint(of: &Endpoint) -> String {
    let (family, flow, scope, address) = match of {
        Endpoint::V4(at) => (4, 0, 0, at.ip().octets().to_vec()),
        Endpoint::V6(at) => (6, at.flowinfo(), at.scope_id(), at.ip().octets().to_vec()),
    };
    let address = text::joined(address.iter().map(u8::to_string), ", ");
    format!(
        "{{{family}, {}, {flow}, {scope}, {{{address}}}}}",
        of.port()
    )
}

/// A word in quotes; what C could read otherwise is said by its bytes in octal digits.
fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    for it in word.chars() {
        match it {
            '"' | '\\' | '?' => quoted += &format!("\\{:03o}", u32::from(it)),
            it if it.is_control() => {
                for byte in it.to_string().bytes() {
                    quoted += &format!("\\{byte:03o}");
                }
            }
            it => quoted.push(it),
        }
    }
    quoted + "\""
}

fn nodes(script: &Script, ground: &Ground, out: &mut String) {
    let mut rows = Vec::new();
    for (place, node) in script.nodes.iter().enumerate() {
        let mut sockets = Vec::new();
        for (socket, local) in &node.sockets {
            let number = usize::from(socket.0);
            let room = sockets.len().max(number + 1);
            sockets.resize(room, "{0}".to_owned());
            sockets[number] = endpoint(local);
        }
        numbers("uint8_t", &format!("START_{place}"), &node.start, out);
        let randoms: Vec<String> = node.randoms.iter().map(|it| format!("{it}u")).collect();
        numbers("uint64_t", &format!("RANDOMS_{place}"), &randoms, out);
        array(
            "netreel_endpoint",
            &format!("SOCKETS_{place}"),
            &sockets,
            out,
        );
        let header = ground.reel(place).map(|it| it.header());
        let [engine, build] = [header.map(|it| &*it.engine), header.map(|it| &*it.build)]
            .map(|word| quoted(word.unwrap_or_default()));
        rows.push(format!(
            "{{{}, {engine}, {build}, START_{place}, {}, SOCKETS_{place}, {}, RANDOMS_{place}, {}}}",
            quoted(&node.name),
            node.start.len(),
            sockets.len(),
            node.randoms.len()
        ));
    }
    array("struct node", "NODES", &rows, out);
}

fn turns(turns: &[ScriptTurn], out: &mut String) {
    let (mut rows, mut bytes, mut clocks) = (Vec::new(), Vec::new(), Vec::new());
    for it in turns {
        let (does, tick, time, call) = match &it.does {
            Begins::Start => ("START", 0, 0, &[][..]),
            Begins::Tick(tick, time) => ("TICK", *tick, time.0, &[][..]),
            Begins::Call(call) => ("CALL", 0, 0, &call[..]),
        };
        rows.push(format!(
            "{{{}, {}, {}, {does}, {tick}u, {time}u, {}, {}, {}, {}}}",
            it.node,
            it.turn,
            it.at_ns,
            bytes.len(),
            call.len(),
            clocks.len(),
            it.clocks.len()
        ));
        bytes.extend_from_slice(call);
        clocks.extend(it.clocks.iter().map(|it| format!("{}u", it.0)));
    }
    numbers("uint8_t", "BYTES", &bytes, out);
    numbers("uint64_t", "CLOCKS", &clocks, out);
    array("struct turn", "TURNS", &rows, out);
}

fn packets(script: &Script, out: &mut String) {
    let (mut rows, mut arrivals) = (Vec::new(), Vec::new());
    for it in &script.sends {
        rows.push(format!(
            "{{{}, {}, {}, {}, {}, {}, {}}}",
            it.node,
            it.turn,
            it.socket.0,
            it.nth,
            endpoint(&it.to),
            arrivals.len(),
            it.comes.len()
        ));
        arrivals.extend(it.comes.iter().map(arrival));
    }
    array("struct arrival", "ARRIVALS", &arrivals, out);
    array("struct packet", "PACKETS", &rows, out);
}

fn arrival(it: &Natural) -> String {
    let source = endpoint(&it.source);
    format!(
        "{{{}, {}, {}, {}, {source}}}",
        it.node, it.at.turn, it.at.ns, it.socket.0
    )
}

fn ways(script: &Script, out: &mut String) {
    let rows = script.links.iter().map(|it| {
        // C has no literal for the smallest number.
        let from_ns = it.from_ns.max(-i64::MAX);
        format!(
            "{{{}, {}, {}, {from_ns}, {}, {}, {}, {}}}",
            it.node,
            it.socket.0,
            endpoint(&it.to),
            it.delay_ns,
            it.receiver,
            it.socket_there.0,
            endpoint(&it.source)
        )
    });
    let rows: Vec<String> = rows.collect();
    array("struct way", "WAYS", &rows, out);
}
