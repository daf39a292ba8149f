//! `netreel wire decode`: bytes to fields.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use netreel_reel::Endpoint;
use netreel_wire::{ConnectionState, Decoded, Diagnostic, PacketFacts};
use serde_json::{Value as Json, json};

use super::packets::{Given, each_packet};
use super::source::Source;
use crate::arguments::WireDecode;
use crate::outcome::{Answer, Failure};
use crate::packets;
use crate::show;

pub fn run(arguments: &WireDecode, out: &mut dyn Write) -> Result<Answer, Failure> {
    let wire = Arc::new(Source::read(&arguments.wire).wire()?);
    // What each connection keeps: a packet is read after those before it.
    let mut states: BTreeMap<(Endpoint, Endpoint), ConnectionState> = BTreeMap::new();
    let mut facts = PacketFacts::default();
    let (mut count, mut shown, mut clean) = (0, 0, true);
    each_packet(arguments, &wire, &mut |number, given| {
        count += 1;
        let is_wanted = arguments.packet.is_none_or(|wanted| wanted == number);
        let decoded = match given {
            Given::Decoded(decoded) if is_wanted => *decoded,
            Given::Decoded(_) => return Ok(()),
            Given::Bytes {
                context,
                connection,
                bytes,
            } => {
                let state = states.entry(connection).or_insert_with(|| wire.new_state());
                if !is_wanted {
                    if wire.has_state() {
                        wire.facts_in(&context, state, &bytes, &mut facts);
                    }
                    return Ok(());
                }
                wire.decode_in(&context, state, &bytes)
            }
        };
        clean &= decoded.diagnostics.is_empty();
        if arguments.json {
            packets::json(&with_diagnostics(&decoded), out)?;
        } else {
            if shown > 0 {
                writeln!(out)?;
            }
            if arguments.from.is_some() {
                writeln!(out, "packet {number}")?;
            }
            show::tree(&decoded.tree, out)?;
            show::diagnostics(&decoded, out)?;
        }
        shown += 1;
        Ok(())
    })?;
    match arguments.packet {
        Some(wanted) if shown == 0 => Err(Failure::new(format!(
            "there is no packet {wanted}: there are {count}, numbered from 0"
        ))),
        _ if clean => Ok(Answer::Clean),
        _ => Ok(Answer::Wrong),
    }
}

/// What `encode` takes, and what is wrong with the packet.
fn with_diagnostics(decoded: &Decoded) -> Json {
    let mut whole = decoded.to_json();
    let diagnostics = decoded.diagnostics.iter().map(diagnostic);
    if let Json::Object(parts) = &mut whole {
        parts.insert("diagnostics".to_owned(), diagnostics.collect());
    }
    whole
}

fn diagnostic(diagnostic: &Diagnostic) -> Json {
    json!({
        "path": diagnostic.path,
        "bit": diagnostic.bit,
        "message": diagnostic.message,
    })
}
