//! `show`: every field of one packet.

use netreel_wire::{Decoded, Name, Tree, TreeId, TreeNode};
use serde::Serialize;
use serde_json::Value as Json;

use super::packets::{PacketJson, packet};
use super::values::raw_and_value;
use crate::figures::hex;
use crate::history::History;
use crate::session::{MessageId, PacketId, Session};
use crate::why::Resend;

/// The answer of `netreel show --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Show {
    /// The plain fields, as `packets` prints them.
    #[serde(flatten)]
    pub packet: PacketJson,
    /// The bytes, two hexadecimal digits each.
    pub payload: String,
    /// Every field in wire order: a parent stands before its children. Empty without a wire.
    pub fields: Vec<FieldJson>,
    /// What is wrong with the packet.
    pub problems: Vec<DiagnosticJson>,
    /// Of its messages those that were sent before, and why they were sent again.
    pub resends: Vec<ResendJson>,
    /// The whole of each message of which this packet carries a fragment.
    pub joined: Vec<Vec<FieldJson>>,
}

/// A message that repeats an earlier one.
#[derive(Clone, Debug, Serialize)]
pub struct ResendJson {
    /// The message.
    pub message: u32,
    /// The packet that carried the copy before it.
    pub before: Option<u32>,
    /// How long after that one it was sent.
    pub after_ns: i64,
    /// What its sender had heard by then: `nacked`, `ack-gap`, `silence`, `eager`, `acked`, `unknown`.
    pub heard: &'static str,
    /// `certain`, `doubtful`, `unknown`.
    pub certainty: &'static str,
    /// The packets that it cites.
    pub packets: Vec<u32>,
    /// The same in words.
    pub sentence: String,
}

/// One field.
#[derive(Clone, Debug, Serialize)]
pub struct FieldJson {
    /// `messages[2].create.object`; empty for the packet itself.
    pub path: String,
    /// How many fields are around it.
    pub depth: u32,
    /// As the wire spells it.
    #[serde(rename = "type")]
    pub type_name: String,
    /// First bit and the bit after the last.
    pub bits: (u32, u32),
    /// The integer on the wire, in decimal; `null` where it is none.
    pub raw: Option<String>,
    /// What it says; `null` where its children say it.
    pub value: Json,
    /// The annotation that gives it a meaning.
    pub annotation: Option<String>,
}

/// Something wrong with a packet.
#[derive(Clone, Debug, Serialize)]
pub struct DiagnosticJson {
    /// The path of the field.
    pub path: String,
    /// Its first bit.
    pub bit: u32,
    /// What is wrong.
    pub message: String,
}

/// A packet to the last field; `None` where there is no such packet, or its reel can no longer be
/// read.
pub fn show(session: &Session, history: &History, id: PacketId) -> Option<Show> {
    let row = packet(session, history, id)?;
    let payload = session.payload(id)?;
    let decoded = match &session.wire {
        Some(_) => session.decode(id)?,
        None => Decoded::default(),
    };
    let joined = session.said(id)?.messages.filter_map(|message| {
        let whole = history.joined_of.get(&MessageId(message))?;
        let joined = history.joined.get(*whole as usize)?;
        Some(fields(
            &session
                .wire
                .as_ref()?
                .decode_message(joined.protocol, &history.payload(session, joined))
                .tree,
        ))
    });
    Some(Show {
        packet: row,
        payload: hex(&payload),
        fields: fields(&decoded.tree),
        problems: decoded
            .diagnostics
            .into_iter()
            .map(|each| DiagnosticJson {
                path: each.path,
                bit: each.bit,
                message: each.message,
            })
            .collect(),
        resends: resends(session, history, id),
        joined: joined.collect(),
    })
}

/// Why messages of a packet were sent again.
fn resends(session: &Session, history: &History, id: PacketId) -> Vec<ResendJson> {
    let messages = session.messages_of(id);
    let resends = messages.filter_map(|(message, _)| {
        let resend = Resend::new(session, history, message)?;
        let (fact, certainty) = &resend.heard;
        let packets = fact.packets(session, history).into_iter();
        Some(ResendJson {
            message: message.0,
            before: session.carrier(resend.before).map(|it| it.0),
            after_ns: resend.after_ns,
            heard: resend.cause.name(),
            certainty: certainty.name(),
            packets: packets.map(|it| it.0).collect(),
            sentence: fact.sentence(session, history),
        })
    });
    resends.collect()
}

fn fields(tree: &Tree) -> Vec<FieldJson> {
    let mut fields: Vec<FieldJson> = Vec::with_capacity(tree.len());
    for node in tree.iter() {
        let parent = node
            .parent()
            .and_then(|TreeId(parent)| fields.get(parent as usize));
        let path = match (node.name(), parent) {
            (_, None) => String::new(),
            (Name::Field(name), Some(parent)) if parent.path.is_empty() => name.to_string(),
            (Name::Field(name), Some(parent)) => format!("{}.{name}", parent.path),
            (Name::Index(index), Some(parent)) => format!("{}[{index}]", parent.path),
        };
        let depth = parent.map_or(0, |parent| parent.depth + 1);
        fields.push(field(node, path, depth));
    }
    fields
}

fn field(node: TreeNode<'_>, path: String, depth: u32) -> FieldJson {
    let (raw, value) = raw_and_value(node.value());
    FieldJson {
        path,
        depth,
        type_name: node.type_name().to_owned(),
        bits: (node.bits().start, node.bits().end),
        raw,
        value,
        annotation: node.annotation().map(str::to_owned),
    }
}
