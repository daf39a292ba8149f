//! `netreel wire decode`: bytes to fields, from wherever packets are.

use std::fs::File;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use netreel_capture::pcap::{Ending, PcapError, UdpPayloads};
use netreel_protocol::session::{PacketId, Session};
use netreel_wire::{
    Connections, Context, Decoded, Diagnostic, Misfits, PacketFacts, Spent, States, Wire,
};
use serde_json::{Value as Json, json};

use super::source::Source;
use crate::arguments::WireDecode;
use crate::outcome::{Answer, Failure, Result, fail};
use crate::{open, packets, text, tree};

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
        text::warn(misfits.lines());
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
        Some(wanted) if shown == 0 => fail(format!(
            "there is no packet {wanted}: there are {count}, numbered from 0"
        )),
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

/// More than this is not one packet.
const PACKET_BYTES_MAX: u64 = 16 << 20;

/// A packet.
pub enum Given {
    /// Its bytes, and how it travelled.
    Bytes { context: Context, bytes: Vec<u8> },
    /// A packet of a capture.
    Captured {
        from: SocketAddr,
        to: SocketAddr,
        bytes: Vec<u8>,
    },
    /// A session has decoded it, after the packets before it.
    Decoded(Box<Decoded>),
}

/// Calls `each` with every packet that the command line names, numbered from 0.
pub fn each_packet(
    arguments: &WireDecode,
    wire: &Arc<Wire>,
    each: &mut dyn FnMut(usize, Given) -> Result,
) -> Result {
    if let Some(path) = &arguments.from {
        let file = File::open(path).map_err(|error| Failure::at(path, error))?;
        let is_file = file.metadata().is_ok_and(|found| found.is_file());
        if is_file {
            match UdpPayloads::new(file) {
                Ok(payloads) => return of_capture(path, payloads, each),
                Err(PcapError::NotACapture { .. }) => {}
                Err(error) => return Err(Failure::at(path, error)),
            }
        }
        return of_reels(path, wire, each);
    }
    let context = match &arguments.ports {
        Some(ports) => ports_of(ports)?,
        None => Context::default(),
    };
    let bytes = match (&arguments.hex, &arguments.file) {
        (Some(hex), _) => hexadecimal(hex)?,
        (None, Some(path)) => {
            let file = File::open(path).map_err(|error| Failure::at(path, error))?;
            whole(file).map_err(|error| Failure::at(path, error))?
        }
        (None, None) => whole(std::io::stdin().lock())
            .map_err(|error| format!("the standard input: {error}"))?,
    };
    each(0, Given::Bytes { context, bytes })
}

fn whole(input: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(PACKET_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn hexadecimal(text: &str) -> Result<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text).chars();
    let digits = digits.filter(|character| !character.is_whitespace() && *character != ':');
    let digits: Option<Vec<u8>> = digits
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2));
    let digits = digits.ok_or_else(|| {
        format!(
            "`{text}` is not a packet: give two hexadecimal digits for each byte, or --file FILE"
        )
    })?;
    let pairs = digits.chunks_exact(2);
    Ok(pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn ports_of(text: &str) -> Result<Context> {
    let ports = text.split_once(',').and_then(|(source, destination)| {
        Some((
            source.trim().parse().ok()?,
            destination.trim().parse().ok()?,
        ))
    });
    let (source_port, destination_port) = ports.ok_or_else(|| {
        format!("--ports {text}: give the source and the destination port, such as `27960,50000`")
    })?;
    Ok(Context {
        source_port,
        destination_port,
        from_first: true,
    })
}

fn of_capture(
    path: &Path,
    mut payloads: UdpPayloads<File>,
    each: &mut dyn FnMut(usize, Given) -> Result,
) -> Result {
    for (number, udp) in payloads.by_ref().enumerate() {
        let given = Given::Captured {
            from: udp.source,
            to: udp.destination,
            bytes: udp.payload,
        };
        each(number, given)?;
    }
    match payloads.ending() {
        Ending::Cut { offset } => {
            anstream::eprintln!("netreel: {} is cut at byte {offset}", path.display());
            Ok(())
        }
        Ending::Broken { offset, length } => Err(Failure::at(
            path,
            format!("the block at byte {offset} says that it has {length} bytes"),
        )),
        Ending::Failed { offset, error } => {
            Err(Failure::at(path, format!("at byte {offset}: {error}")))
        }
        Ending::Open | Ending::Whole => Ok(()),
    }
}

fn of_reels(path: &Path, wire: &Arc<Wire>, each: &mut dyn FnMut(usize, Given) -> Result) -> Result {
    let reels = open::reels(&[path])?;
    let session = Session::builder().wire(wire.clone()).build(reels.inputs)?;
    for number in 0..session.packet_count() {
        let id = PacketId(number as u32);
        let Some(decoded) = session.decode(id) else {
            return Err(Failure::at(
                path,
                format!("packet {number} cannot be read again"),
            ));
        };
        each(number, Given::Decoded(Box::new(decoded)))?;
    }
    Ok(())
}
