//! `netreel packets`: the packets of a session, a line each.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::io::Write;

use netreel_protocol::export;
use netreel_protocol::packet_fields::{FieldValue, PacketAt, PacketField, SHOWN};
use netreel_protocol::session::{Fate, Packet, PacketId, Session};
use netreel_wire::{Kind, MessageFacts};

use crate::arguments::Packets;
use crate::open::{self, Story};
use crate::outcome::{Answer, Result};
use crate::text;

pub fn run(arguments: &Packets, out: &mut dyn Write) -> Result<Answer> {
    let arguments = &arguments.filtered;
    let story = open::story(&arguments.read.source)?;
    let query = open::query(arguments.filter.as_deref(), &story.session)?;
    let columns = Columns::new(&story);
    if !arguments.read.json {
        columns.line(|field| field.declared().head.to_owned(), out)?;
    }
    let chosen = story.packets(&query);
    if chosen.len() > MANY {
        story.session.message_count();
    }
    for id in chosen {
        if arguments.read.json {
            if let Some(row) = export::packet(&story.session, story.history(), id) {
                json(&row, out)?;
            }
        } else {
            line(&story, id, &columns, out)?;
        }
    }
    story.answered(out)
}

/// Prints a value as one line of JSON.
pub fn json(value: &impl serde::Serialize, out: &mut dyn Write) -> Result {
    serde_json::to_writer(&mut *out, value).map_err(std::io::Error::from)?;
    Ok(writeln!(out)?)
}

/// The columns, and how wide each is. What is wider, a packet of many messages, moves the rest of its
/// line.
struct Columns(Vec<(PacketField, usize)>);

/// When more packets than this are printed, decoding the whole session at once is quicker than
/// decoding these one by one.
const MANY: usize = 20_000;

/// How many packets are read to find how wide the column of messages has to be.
const LOOKED_AT: usize = 4096;
/// How many characters of an RPC's name are shown.
const RPC_NAME_MAX: usize = 40;

/// The name of an RPC as it is shown. It is what somebody sent: no terminal may take it for more than
/// text.
pub fn rpc_name(name: &str) -> String {
    let name: String = name.chars().take(RPC_NAME_MAX).collect();
    name.escape_debug().to_string()
}

/// A list of messages that is longer stands out of its column.
pub const MESSAGES_MAX: usize = 48;

impl Columns {
    fn new(story: &Story) -> Columns {
        let session = &story.session;
        let printed = SHOWN.into_iter().filter(|it| it.declared().printed);
        let protocols = session.wire.as_ref().map_or(0, |it| it.protocols().len());
        let printed = printed.filter(|it| *it != PacketField::Protocol || protocols > 1);
        Columns(printed.map(|it| (it, width(story, it))).collect())
    }

    /// Prints a line: what `cell` says for each column.
    fn line(&self, cell: impl Fn(PacketField) -> String, out: &mut dyn Write) -> Result {
        let mut line = String::new();
        for &(field, width) in &self.0 {
            let cell = cell(field);
            if field.declared().of.is_number() {
                line += &format!("{cell:>width$}  ")
            } else {
                line += &format!("{cell:<width$}  ")
            }
        }
        Ok(writeln!(out, "{}", line.trim_end())?)
    }
}

/// How wide a column is: as what is widest in it where that is known, else as in the first packets.
fn width(story: &Story, field: PacketField) -> usize {
    let session = &story.session;
    let digits = |number: u64| number.to_string().len();
    let packets = || (0..session.packet_count() as u32).map(PacketId);
    let least = field.declared().head.chars().count();
    match field {
        PacketField::Packet => digits(session.packet_count().saturating_sub(1) as u64).max(2),
        PacketField::Time => {
            let ends = [session.span.start, session.span.end].map(|it| text::seconds(it).len());
            ends.into_iter().fold(least, usize::max)
        }
        PacketField::Link => text::link_width(session, least),
        PacketField::Protocol => {
            let names = session.wire.iter().flat_map(|wire| wire.protocols());
            let widths = names.map(|(name, _)| name.chars().count());
            widths.fold(least, usize::max)
        }
        PacketField::Messages => {
            let first = packets().take(LOOKED_AT);
            let lists = first
                .map(|packet| messages(session, packet).chars().count())
                .filter(|width| *width <= MESSAGES_MAX);
            lists.fold(least, usize::max)
        }
        PacketField::Length => digits(u64::from(session.longest())).max(least),
        // What became of a packet stands last.
        PacketField::Fate => 0,
        _ => {
            // Of many packets, what the wire says of the first ones shows how wide its numbers are.
            let looked_at = if session.is_small() {
                usize::MAX
            } else {
                LOOKED_AT
            };
            let width = |id| {
                let look = session.look(id);
                PacketAt::with(session, &|| story.history(), (id, Some(&look)), |it| {
                    field.words(&it.named(field)).chars().count()
                })
            };
            let widths = packets().take(looked_at).filter_map(width);
            widths.fold(least, usize::max)
        }
    }
}

fn line(story: &Story, id: PacketId, columns: &Columns, out: &mut dyn Write) -> Result {
    let session = &story.session;
    let look = session.look(id);
    let line = PacketAt::with(session, &|| story.history(), (id, Some(&look)), |it| {
        let cell = |field| match field {
            PacketField::Link => text::link(session, it.packet.from, it.packet.to),
            PacketField::Messages => {
                let names = rpcs(session, id, &look.messages);
                kinds_of(session.kinds(), look.messages.iter(), &names)
            }
            PacketField::Protocol => match it.named(field) {
                FieldValue::Nothing => "-".to_owned(),
                protocol => protocol.plain(),
            },
            PacketField::Fate => outcome(story, id, it.packet),
            _ => field.words(&it.named(field)),
        };
        columns.line(cell, out)
    });
    line.unwrap_or(Ok(()))
}

/// The kinds of a packet's messages: `create 42, update 7 x3, rpc ready(slot 3)`.
pub fn messages(session: &Session, packet: PacketId) -> String {
    let messages = session.look(packet).messages;
    let names = rpcs(session, packet, &messages);
    kinds_of(session.kinds(), messages.iter(), &names)
}

/// What RPCs a packet's messages are, as they are shown.
fn rpcs(session: &Session, packet: PacketId, messages: &[MessageFacts]) -> Vec<Option<String>> {
    let rpcs = session.rpcs(packet, messages.iter()).into_iter();
    rpcs.map(|rpc| Some(rpc?.short())).collect()
}

/// The same of messages without a session; with the calls of those that are RPCs, as far as they are
/// known.
pub fn kinds_of(
    kinds: &[Kind],
    messages: impl Iterator<Item = impl Borrow<MessageFacts>>,
    calls: &[Option<String>],
) -> String {
    let mut parts: Vec<(String, u32)> = Vec::new();
    for (place, facts) in messages.enumerate() {
        let facts = facts.borrow();
        let kind = facts.kind.and_then(|kind| kinds.get(usize::from(kind.0)));
        let kind = kind.map_or("?", |kind| kind.name.as_str());
        let mut part = kind.to_owned();
        if let Some(Some(call)) = calls.get(place) {
            part += &format!(" {call}");
        }
        if let Some(object) = facts.object {
            part += &format!(" {object}");
        }
        match parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, times)) => *times += 1,
            None => parts.push((part, 1)),
        }
    }
    let parts = parts.into_iter().map(|(part, times)| match times {
        1 => part,
        _ => format!("{part} x{times}"),
    });
    text::joined(parts, ", ")
}

/// What became of a packet, and what is known of it where nobody recorded that.
pub fn outcome(story: &Story, id: PacketId, packet: &Packet) -> String {
    let mut outcome = fate(&story.session, packet);
    // Whoever saw it pass cannot say more; what came back can.
    if only_seen(packet)
        && let Some(seen) = packet.departed()
        && let Some(acked) = story.history().acked(&story.session, id)
    {
        let after = text::duration(acked.time.0.saturating_sub(seen.time.0));
        outcome = format!("seen, acked +{after}");
    }
    if let Some(kept) = packet.cut {
        outcome += &format!(", cut to {kept} bytes");
    }
    for words in ambiguous(story, id) {
        outcome += &format!("; {words}");
    }
    outcome
}

/// What does not tell messages of a packet apart from others, each once: `ambiguous number`. Of very many
/// packets nobody waits for it.
fn ambiguous(story: &Story, id: PacketId) -> BTreeSet<&'static str> {
    let session = &story.session;
    if !session.is_small() {
        return BTreeSet::new();
    }
    let messages = session.messages_of(id);
    let told = messages.filter_map(|(it, _)| story.history().ambiguity(session, it));
    told.map(|(why, _)| why.words()).collect()
}

/// Whether nothing is known of a packet but that it came by: where an observer was, or where the
/// capture was made of which both ends have their reels.
fn only_seen(packet: &Packet) -> bool {
    let watched = packet.sent.is_none() && !packet.seen.is_empty();
    packet.fate == Fate::Unknown && (watched || packet.received.is_some())
}

/// What became of a packet: `+1.2 ms`, `lost`.
pub fn fate(session: &Session, packet: &Packet) -> String {
    let to = session.node(packet.to);
    let to_group = to.is_some_and(|to| to.group);
    let mut fate = match (packet.fate, packet.sent, packet.received) {
        (Fate::Received, Some(sent), Some(received)) => {
            let late = text::duration(received.time.0 - sent.time.0);
            match session.measured(packet.from, packet.to).words() {
                Some(stretch) => format!("+{late} {stretch}"),
                None => format!("+{late}"),
            }
        }
        (Fate::Received, None, Some(received)) if !packet.seen.is_empty() => {
            let seen = packet.departed().unwrap_or_default();
            format!(
                "+{} since seen",
                text::duration(received.time.0 - seen.time.0)
            )
        }
        (Fate::Received, _, _) => "received; its send was not recorded".to_owned(),
        (Fate::Lost, _, _) => "lost".to_owned(),
        (Fate::SendFailed, _, _) => "send failed".to_owned(),
        (Fate::Unread, _, _) => "unread".to_owned(),
        (Fate::Unknown, ..) if only_seen(packet) => "seen".to_owned(),
        (Fate::Unknown, _, _) if to_group => "unknown, sent to a group".to_owned(),
        (Fate::Unknown, _, _) => "unknown".to_owned(),
    };
    if !packet.duplicates.is_empty() {
        fate += &format!(", {} more", packet.duplicates.len());
    }
    for fault in &packet.faults {
        fate += &format!("; {}", session.verdict(*fault, text::duration));
    }
    fate
}
