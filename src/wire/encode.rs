//! `netreel wire encode`: fields to bytes.

use std::io::{Read, Write};

use netreel_wire::{Change, Connections, EncodeError, Wire};
use serde_json::Value as Json;

use super::source::Source;
use crate::arguments::WireEncode;
use crate::outcome::{Answer, Failure, Result, fail};
use crate::{open, packets, text};

/// More JSON than this is refused.
const JSON_BYTES_MAX: u64 = 256 << 20;

pub fn run(arguments: &WireEncode, out: &mut dyn Write) -> Result<Answer> {
    let beside = [arguments.json.as_deref().unwrap_or(&arguments.wire)];
    let keys = open::keys(arguments.keys.as_deref(), &beside)?;
    let wire = Source::read(&arguments.wire).wire()?.with_keys(keys);
    let (name, text) = match &arguments.json {
        Some(path) => (path.display().to_string(), std::fs::read_to_string(path)),
        None => {
            let mut text = String::new();
            let read = std::io::stdin()
                .take(JSON_BYTES_MAX)
                .read_to_string(&mut text);
            ("the standard input".to_owned(), read.map(|_| text))
        }
    };
    let json = text.map_err(|error| format!("{name}: {error}"))?;
    let packets = read(&json)
        .map_err(|error| format!("{name} is not one JSON value, nor one a line: {error}"))?;
    match packets.as_slice() {
        [] => fail(format!("{name} holds no packet")),
        [Ok(one)] if one.get("from").is_none() => packet(&wire, &name, one.clone(), arguments, out),
        lines => session(&wire, &name, lines, arguments, out),
    }
}

/// The values one after the other. Where they are a session's lines, of which one is no JSON, each
/// line for itself.
fn read(json: &str) -> serde_json::Result<Vec<serde_json::Result<Json>>> {
    let values = serde_json::Deserializer::from_str(json).into_iter();
    let whole: serde_json::Result<Vec<Json>> = values.collect();
    let error = match whole {
        Ok(values) => return Ok(values.into_iter().map(Ok).collect()),
        Err(error) => error,
    };
    let lines = json.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<serde_json::Result<Json>> = lines.map(serde_json::from_str).collect();
    let is_session = lines.iter().flatten().any(|it| it.get("from").is_some());
    if is_session { Ok(lines) } else { Err(error) }
}

fn packet(
    wire: &Wire,
    name: &str,
    mut json: Json,
    arguments: &WireEncode,
    out: &mut dyn Write,
) -> Result<Answer> {
    if let Json::Object(parts) = &mut json {
        // What `decode` has to say of the packet says nothing of its bytes.
        parts.shift_remove("diagnostics");
    }
    let encoded = match wire.encode(&json) {
        Ok(encoded) => encoded,
        Err(error) => return Ok(refused(name, &error)),
    };
    say_changes("", &encoded.changes);
    match &arguments.out {
        Some(_) => save(arguments, &encoded.bytes)?,
        None => {
            writeln!(out, "{}", text::hex(&encoded.bytes))?;
        }
    }
    Ok(Answer::Clean)
}

/// Packets of connections, in order. Prints the lines as they read now, and tells those that came out
/// other than they were. A packet that does not fit the wire is named and left out; those after it are
/// made as if it had not been sent.
fn session(
    wire: &Wire,
    name: &str,
    lines: &[serde_json::Result<Json>],
    arguments: &WireEncode,
    out: &mut dyn Write,
) -> Result<Answer> {
    let mut connections = Connections::new(wire);
    let mut encoded = Vec::new();
    let (mut different, mut left_out) = (0, 0);
    for (number, line) in lines.iter().enumerate() {
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                left_out += 1;
                anstream::eprintln!("netreel: {name}, packet {number}, is no JSON: {error}");
                continue;
            }
        };
        let packet = match connections.encode(line) {
            Ok(packet) => packet,
            Err(error) => {
                left_out += 1;
                refused(&format!("{name}, packet {number},"), &error);
                continue;
            }
        };
        if packet.differs {
            different += 1;
            anstream::eprintln!("netreel: packet {number} is not what it was");
        }
        say_changes(&format!("packet {number}: "), &packet.changes);
        packets::json(&packet.line, &mut encoded)?;
    }
    let count = text::counted(lines.len(), "packet");
    let missing = match left_out {
        0 => String::new(),
        _ => format!(", {left_out} left out"),
    };
    anstream::eprintln!("netreel: {count}, {different} of them changed{missing}");
    match &arguments.out {
        Some(_) => save(arguments, &encoded)?,
        None => out.write_all(&encoded)?,
    }
    Ok(Answer::clean_if(left_out == 0))
}

fn save(arguments: &WireEncode, bytes: &[u8]) -> Result {
    let Some(path) = &arguments.out else {
        return Ok(());
    };
    std::fs::write(path, bytes).map_err(|error| Failure::at(path, error))
}

fn refused(name: &str, error: &EncodeError) -> Answer {
    anstream::eprintln!("netreel: {name} does not fit the wire\n{error}");
    Answer::Wrong
}

fn say_changes(what: &str, changes: &[Change]) {
    for Change { path, from, to } in changes {
        anstream::eprintln!("netreel: {what}{path} was {from}, is {to}");
    }
}
