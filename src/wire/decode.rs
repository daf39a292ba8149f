//! `netreel wire decode`: bytes to fields.

use std::io::Write;
use std::sync::Arc;

use netreel_wire::{Connections, Decoded, Diagnostic, Misfits, PacketFacts, Spent, States};
use serde_json::{Value as Json, json};

use super::packets::{Given, each_packet};
use super::source::Source;
use crate::arguments::WireDecode;
use crate::open;
use crate::outcome::{Answer, Failure, Result};
use crate::packets;
use crate::tree;

pub fn run(arguments: &WireDecode, out: &mut dyn Write) -> Result<Answer> {
    let beside = [arguments.from.as_deref().unwrap_or(&arguments.wire)];
    let keys = open::keys(arguments.keys.as_deref(), &beside)?;
    let wire = Arc::new(Source::read(&arguments.wire).wire()?.with_keys(keys));
    // A packet is read after those before it: each connection keeps what they left.
    let mut connections = Connections::new(&wire);
    let mut facts = PacketFacts::default();
    let mut misfits = Misfits::default();
    let (mut count, mut shown, mut clean) = (0, 0, true);
    each_packet(arguments, &wire, &mut |number, given| {
        count += 1;
        let is_wanted = arguments.packet.is_none_or(|wanted| wanted == number);
        let mut json = None;
        let decoded = match given {
            Given::Decoded(_) if !is_wanted => return Ok(()),
            Given::Decoded(decoded) => *decoded,
            Given::Bytes { context, bytes } => {
                wire.decode_in(&context, &mut wire.new_state(), &bytes)
            }
            Given::Captured { from, to, bytes } if !is_wanted => {
                if wire.has_state() {
                    connections.facts(from, to, &bytes, &mut facts);
                }
                return Ok(());
            }
            Given::Captured { from, to, bytes } => {
                let decoded = connections.decode(from, to, &bytes);
                if arguments.json {
                    json = Some(decoded.to_session_json(from, to, &bytes));
                }
                decoded
            }
        };
        clean &= decoded.diagnostics.is_empty();
        misfits.take(number, &decoded.diagnostics);
        if arguments.json {
            let json = json.unwrap_or_else(|| decoded.to_json());
            packets::json(&with_diagnostics(json, &decoded), out)?;
        } else {
            if shown > 0 {
                writeln!(out)?;
            }
            if arguments.from.is_some() {
                writeln!(out, "packet {number}")?;
            }
            tree::tree(&decoded.tree, out)?;
            tree::diagnostics(&decoded, out)?;
        }
        shown += 1;
        Ok(())
    })?;
    if shown > 1 {
        out.flush()?;
        for line in misfits.lines() {
            anstream::eprintln!("netreel: {line}");
        }
    }
    let Spent { forgotten, unread } = connections.spent();
    if forgotten > 0 {
        anstream::eprintln!(
            "netreel: the wire keeps more of its connections than the {} MiB that all may take: \
             connections were forgotten {forgotten} times",
            States::BYTES_MAX >> 20
        );
    }
    if unread > 0 {
        anstream::eprintln!(
            "netreel: the wire's scripts took all steps that they may take for a \
             file: {unread} packets were not read"
        );
    }
    match arguments.packet {
        Some(wanted) if shown == 0 => Err(Failure::new(format!(
            "there is no packet {wanted}: there are {count}, numbered from 0"
        ))),
        _ if clean => Ok(Answer::Clean),
        _ => Ok(Answer::Wrong),
    }
}

/// What `encode` takes, and what is wrong with the packet.
fn with_diagnostics(mut whole: Json, decoded: &Decoded) -> Json {
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
