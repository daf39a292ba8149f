//! `packets`: one object a packet.

use netreel_wire::MessageFacts;
use serde::Serialize;
use serde_json::Value as Json;

use super::values::raw_and_value;
use crate::history::History;
use crate::packet_fields::{FieldsJson, PacketAt};
use crate::session::{MessageId, PacketId, Rpc, Session};

/// One line of `netreel packets --json`.
#[derive(Clone, Debug, Serialize)]
pub struct PacketJson {
    /// The fields that have a key in JSON.
    #[serde(flatten)]
    pub fields: FieldsJson,
    /// In wire order.
    pub messages: Vec<MessageJson>,
}

/// One message of a packet.
#[derive(Clone, Debug, Serialize)]
pub struct MessageJson {
    /// Its number.
    pub message: u32,
    /// As the wire spells it; `null` where the packet ended before saying.
    pub kind: Option<String>,
    /// Whether it belongs to the reliable stream.
    pub reliable: bool,
    /// Its place in the stream.
    pub reliable_sequence: Option<u64>,
    /// The node that said it first.
    pub origin: Option<String>,
    /// The name of the RPC that it is; left out where the wire names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpc: Option<String>,
    /// What stands behind the name, by the fields' paths from there; left out where the wire names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<ArgumentJson>>,
    /// The object that it is about.
    pub object: Option<u64>,
    /// The owner, or the new owner.
    pub owner: Option<String>,
    /// The migration counter.
    pub counter: Option<u64>,
    /// The earlier message that it repeats.
    pub resend_of: Option<u32>,
    /// What does not tell it apart from another message: `numbers`, `fragment-id`, `content`; left out where
    /// its numbers tell which it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ambiguous: Option<&'static str>,
    /// `[index, count]` of a fragment.
    pub fragment: Option<(u64, u64)>,
    /// Where it was delivered, and what it did there.
    pub effects: Vec<EffectJson>,
}

/// What an RPC carries.
#[derive(Clone, Debug, Serialize)]
pub struct ArgumentJson {
    /// The path of the field.
    pub path: String,
    /// Its value, as `show` has it.
    pub value: Json,
}

/// What a message did at a node.
#[derive(Clone, Debug, Serialize)]
pub struct EffectJson {
    /// Where.
    pub node: String,
    /// When the engine was handed it, or did it.
    pub time_ns: i64,
    /// Whether the node did it itself.
    pub local: bool,
    /// What it did: `created`, `stale`, `unknown-object`, ...
    pub effect: &'static str,
}

/// A packet in plain fields; `None` where there is no such packet.
pub fn packet(session: &Session, history: &History, id: PacketId) -> Option<PacketJson> {
    let messages: Vec<(MessageId, MessageFacts)> = session.messages_of(id).collect();
    let mut rpcs = session
        .rpcs(id, messages.iter().map(|(_, facts)| facts))
        .into_iter();
    let messages = messages
        .iter()
        .map(|(id, facts)| {
            let (rpc, arguments) = rpcs.next().flatten().map(told).unzip();
            let ambiguous = history.ambiguity(session, *id).map(|(why, _)| why.name());
            MessageJson {
                rpc,
                arguments,
                ambiguous,
                ..message(session, history, *id, facts)
            }
        })
        .collect();
    let fields = PacketAt::with(session, &|| history, (id, None), |it| {
        FieldsJson::new(|field| Some(it.named(field)))
    })?;
    Some(PacketJson { fields, messages })
}

/// A packet's messages in plain fields, without what can only be told by decoding each of them: what
/// stands behind an RPC's name, and whether copies say something else.
pub fn messages(session: &Session, history: &History, id: PacketId) -> Vec<MessageJson> {
    let messages = session.messages_of(id).map(|(id, facts)| MessageJson {
        rpc: facts.rpc_name.as_ref().map(|name| name.text.to_string()),
        ..message(session, history, id, &facts)
    });
    messages.collect()
}

/// An RPC's name and its arguments.
fn told(rpc: Rpc) -> (String, Vec<ArgumentJson>) {
    let arguments = rpc.arguments.into_iter().map(|(path, value)| {
        let (_, value) = raw_and_value(value);
        ArgumentJson { path, value }
    });
    (rpc.name, arguments.collect())
}

fn message(
    session: &Session,
    history: &History,
    id: MessageId,
    facts: &MessageFacts,
) -> MessageJson {
    MessageJson {
        message: id.0,
        kind: session.kind_of(facts).map(|kind| kind.name.clone()),
        reliable: facts.reliable,
        reliable_sequence: facts.reliable_sequence.map(|sequence| sequence.value),
        origin: facts.origin.map(|peer| session.peer_name(peer)),
        rpc: None,
        arguments: None,
        object: facts.object,
        owner: facts
            .owner
            .or(facts.new_owner)
            .map(|peer| session.peer_name(peer)),
        counter: facts.migration_counter,
        resend_of: history.resend_of(id).map(|message| message.0),
        ambiguous: None,
        fragment: facts.fragment,
        effects: effects(session, history, id),
    }
}

fn effects(session: &Session, history: &History, id: MessageId) -> Vec<EffectJson> {
    history
        .deliveries_of(id)
        .filter_map(|place| history.deliveries.get(place as usize))
        .map(|delivery| EffectJson {
            node: session.name(delivery.node),
            time_ns: delivery.at.time.0,
            local: delivery.local,
            effect: delivery.effect.name(),
        })
        .collect()
}
