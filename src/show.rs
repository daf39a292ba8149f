//! `netreel show`: one packet to the last field.

use std::io::Write;

use netreel_protocol::export;
use netreel_protocol::session::PacketId;
use netreel_protocol::why::Resend;

use crate::arguments::{Show, Which};
use crate::open::{self, Story};
use crate::outcome::{Answer, Result};
use crate::packets::{fate, json, messages};
use crate::text;
use crate::tree::{diagnostics, hex, tree};
use crate::why::no_packet;

pub fn run(arguments: &Show, out: &mut dyn Write) -> Result<Answer> {
    let story = open::story(&arguments.read.source)?;
    if let Some(number) = arguments.which.event {
        let which = (arguments.node.as_deref(), number);
        crate::events::show(&story, which, arguments.read.json, out)?;
        return story.answered(out);
    }
    let chosen = chosen(&story, &arguments.which)?;
    if chosen.is_empty() && !arguments.read.json {
        writeln!(out, "no packet fits the filter")?;
    }
    for (place, id) in chosen.into_iter().enumerate() {
        if arguments.read.json {
            if let Some(whole) = export::show(&story.session, story.history(), id) {
                json(&whole, out)?;
            }
            continue;
        }
        if place > 0 {
            writeln!(out)?;
        }
        packet(&story, id, out)?;
    }
    story.answered(out)
}

/// The packets that were asked for.
fn chosen(story: &Story, which: &Which) -> Result<Vec<PacketId>> {
    let Some(number) = which.packet else {
        let query = open::query(which.filter.as_deref(), &story.session)?;
        return Ok(story.packets(&query));
    };
    if (number as usize) < story.session.packet_count() {
        return Ok(vec![PacketId(number)]);
    }
    Err(no_packet(&story.session, number))
}

fn packet(story: &Story, id: PacketId, out: &mut dyn Write) -> Result {
    let session = &story.session;
    let Some(packet) = session.packet(id) else {
        return Ok(());
    };
    writeln!(
        out,
        "packet {}  {}  {}",
        id.0,
        text::link(session, packet.from, packet.to),
        messages(session, id)
    )?;
    if let Some(sent) = packet.sent {
        let node = text::node(session, packet.from);
        writeln!(
            out,
            "sent      {} s  event {} of {node}",
            text::seconds(sent.time),
            sent.number
        )?;
    }
    for seen in &packet.seen {
        writeln!(
            out,
            "seen      {} s  event {} of {}",
            text::seconds(seen.stamp.time),
            seen.stamp.number,
            session.observer_name(seen.observer)
        )?;
    }
    for received in packet.received.iter().chain(&packet.duplicates) {
        let node = text::node(session, packet.to);
        let time = text::seconds(received.time);
        writeln!(
            out,
            "received  {time} s  event {} of {node}",
            received.number
        )?;
    }
    writeln!(out, "fate      {}", fate(session, &packet))?;
    if packet.doubtful {
        writeln!(
            out,
            "          the same payload was on its way twice: which one was received when is a guess"
        )?;
    }
    if !story.answers_at_once() {
        writeln!(
            out,
            "acked     not worked out: it takes all packets of this session; `netreel check` does it, once"
        )?;
    } else if let Some(acked) = story.history().acked(&story.session, id) {
        writeln!(out, "acked     {} s", text::seconds(acked.time))?;
    }
    if story.answers_at_once() {
        resends(story, id, out)?;
    }
    writeln!(out)?;
    if let Some(kept) = packet.cut {
        writeln!(
            out,
            "! the capture kept {kept} of its {} bytes; what follows is read of these alone",
            packet.length
        )?;
    }
    if let Some(decoded) = session.decode(id) {
        tree(&decoded.tree, out)?;
        diagnostics(&decoded, out)?;
        writeln!(out)?;
    }
    if let Some(payload) = session.payload(id) {
        hex(&payload, out)?;
    }
    Ok(())
}

/// Says why messages of a packet were sent again, once for all that were sent together before.
fn resends(story: &Story, id: PacketId, out: &mut dyn Write) -> Result {
    let session = &story.session;
    let mut told: Vec<String> = Vec::new();
    for (message, _) in session.messages_of(id) {
        let Some(resend) = Resend::new(session, story.history(), message) else {
            continue;
        };
        let before = session.carrier(resend.before).unwrap_or_default();
        let line = format!(
            "resent    {} after packet {}: {}",
            text::duration(resend.after_ns),
            before.0,
            resend.heard.0.sentence(session, story.history())
        );
        if !told.contains(&line) {
            writeln!(out, "{line}")?;
            told.push(line);
        }
    }
    Ok(())
}
