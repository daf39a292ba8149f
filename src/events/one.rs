//! `netreel show --node N --event N`: one event to the last bit.

use std::io::Write;

use netreel_protocol::export::{self, event_words};
use netreel_protocol::session::SessionReel;
use netreel_reel::{Event, EventNumber, Record};
use serde_json::{Value, json};

use super::{Calls, chosen};
use crate::open::Story;
use crate::outcome::{Failure, Result};
use crate::packets::{json as print_json, messages};
use crate::text;
use crate::tree::{diagnostics, hex, tree};

/// Prints event `number` of the reel of `node`; with one reel in the session it need not be named.
pub fn show(
    story: &Story,
    (node, number): (Option<&str>, u64),
    as_json: bool,
    out: &mut dyn Write,
) -> Result {
    let reels = story.session.session_reels();
    let chosen = chosen(&reels, node)?;
    let [reel] = chosen.as_slice() else {
        let names = text::joined(reels.iter().map(|reel| reel.name.as_str()), ", ");
        return Err(Failure::new(format!(
            "--event {number}: each reel has its own numbers; name one with --node: {names}"
        )));
    };
    let number = EventNumber(number);
    let Some(record) = reel.reel.record(number) else {
        return Err(Failure::new(none(reel, number)));
    };
    let record = record.as_record();
    if as_json {
        return print_json(&object(story, reel, &record), out);
    }
    print(story, reel, &record, out)
}

/// Why there is no such event.
fn none(reel: &SessionReel<'_>, number: EventNumber) -> String {
    let blocks = reel.reel.blocks();
    let last = (0..blocks).rev().find_map(|block| {
        let block = reel.reel.block(block).ok()?;
        block.records().last().map(|record| record.number)
    });
    match last {
        None => format!("--event {number}: the reel of {} has no events", reel.name),
        Some(last) => format!(
            "--event {number}: the reel of {} has no such event; they are numbered from {} to {last}, \
             and `netreel events` lists them",
            reel.name,
            reel.reel.first_number()
        ),
    }
}

fn object(story: &Story, reel: &SessionReel<'_>, record: &Record<'_>) -> Value {
    let call = match record.event {
        Event::Input { call } => Calls::of(reel.reel).words(call),
        _ => None,
    };
    let event = export::event(reel, record, call, usize::MAX);
    let mut object = serde_json::to_value(event).unwrap_or_default();
    if record.event.is_packet() {
        let id = reel.packet_of(record);
        let decoded = id.and_then(|id| export::show(&story.session, story.history(), id));
        object["decoded"] = json!(decoded);
    }
    object
}

fn print(
    story: &Story,
    reel: &SessionReel<'_>,
    record: &Record<'_>,
    out: &mut dyn Write,
) -> Result {
    let session = &story.session;
    let Record {
        number,
        thread,
        event,
        ..
    } = record;
    let call = match event {
        Event::Input { call } => Calls::of(reel.reel).words(call),
        _ => None,
    };
    writeln!(
        out,
        "event {number} of {}  {}  {}",
        reel.name,
        event.kind().name(),
        event_words(reel, event, call)
    )?;
    writeln!(out, "time      {} s", text::seconds(reel.time(record)))?;
    writeln!(out, "thread    {}", thread.0)?;
    if let Some(node) = reel.node
        && let Some(turn) = session.turn_at(node, *number)
        && turn.begins != *number
    {
        let tick = session.record(node, turn.begins);
        if let Some(Event::Tick { tick, .. }) = tick.as_ref().map(|it| it.as_record().event) {
            writeln!(out, "tick      {tick}, event {}", turn.begins)?;
        }
    }
    let of = reel.packet_of(record);
    if let Some(packet) = of {
        writeln!(out, "packet    {}  {}", packet.0, messages(session, packet))?;
    }
    let Some(bytes) = event.bytes() else {
        return Ok(());
    };
    writeln!(out)?;
    if record.event.is_packet() {
        let decoded = match of.and_then(|packet| session.decode(packet)) {
            Some(decoded) => Some(decoded),
            None => session.wire.as_ref().map(|wire| wire.decode(bytes)),
        };
        if let Some(decoded) = decoded {
            tree(&decoded.tree, out)?;
            diagnostics(&decoded, out)?;
            writeln!(out)?;
        }
    }
    hex(bytes, out)
}
