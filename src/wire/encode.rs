//! `netreel wire encode`: fields to bytes.

use std::io::{Read, Write};

use serde_json::Value as Json;

use super::source::Source;
use crate::arguments::WireEncode;
use crate::outcome::{Answer, Failure};

/// More JSON than this is not one packet.
const JSON_BYTES_MAX: u64 = 256 << 20;

pub fn run(arguments: &WireEncode, out: &mut dyn Write) -> Result<Answer, Failure> {
    let wire = Source::read(&arguments.wire).wire()?;
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
    let text = text.map_err(|error| Failure::new(format!("{name}: {error}")))?;
    let mut json: Json = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("{name} is not one JSON value: {error}")))?;
    if let Json::Object(parts) = &mut json {
        // What `decode` has to say of the packet says nothing of its bytes.
        parts.remove("diagnostics");
    }
    let encoded = match wire.encode(&json) {
        Ok(encoded) => encoded,
        Err(error) => {
            anstream::eprintln!("netreel: {name} does not fit the wire\n{error}");
            return Ok(Answer::Wrong);
        }
    };
    for change in &encoded.changes {
        anstream::eprintln!(
            "netreel: {} was {}, is {}",
            change.path,
            change.from,
            change.to
        );
    }
    match &arguments.out {
        Some(path) => std::fs::write(path, &encoded.bytes)
            .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?,
        None => {
            let digits: String = encoded
                .bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            writeln!(out, "{digits}")?;
        }
    }
    Ok(Answer::Clean)
}
