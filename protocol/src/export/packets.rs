//! `packets`: one object a packet.

use netreel_reel::FaultVerdict;
use netreel_wire::MessageFacts;
use serde::Serialize;
use serde_json::Value as Json;

use super::values::raw_and_value;
use crate::history::History;
use crate::query::effect_name;
use crate::session::{Fate, MessageId, PacketId, ProxyFault, ProxyId, Rpc, Session};

/// One line of `netreel packets --json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PacketJson {
    /// Its number.
    pub packet: u32,
    /// Who sent it.
    pub from: String,
    /// Whom it was sent to.
    pub to: String,
    /// When it was sent; `null` where the sender was not recorded.
    pub sent_ns: Option<i64>,
    /// The event in the sender's reel that sent it; `null` where that was not recorded.
    pub sent_event: Option<u64>,
    /// When it was first received.
    pub received_ns: Option<i64>,
    /// The event in the receiver's reel.
    pub received_event: Option<u64>,
    /// From send to receipt.
    pub late_ns: Option<i64>,
    /// When it was received again.
    pub duplicates_ns: Vec<i64>,
    /// The events of these in the receiver's reel.
    pub duplicates_events: Vec<u64>,
    /// When observers saw it pass.
    pub seen: Vec<SightingJson>,
    /// When its sender learnt that it had arrived.
    pub acked_ns: Option<i64>,
    /// `received`, `lost`, `send-failed`, `unknown`.
    pub fate: &'static str,
    /// Whether its receipt may be that of another packet with the same payload; left out where not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub doubtful: bool,
    /// What a proxy did to it on its way.
    pub faults: Vec<FaultJson>,
    /// Bytes of payload.
    pub length: u32,
    /// How many of them are known, where a capture kept the first ones only; else `null`.
    pub cut: Option<u32>,
    /// The protocol that claims it, `null` where none does; left out where the wire has only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Option<String>>,
    /// Its number on its link.
    pub sequence: Option<u64>,
    /// The newest packet that its sender had received.
    pub ack: Option<u64>,
    /// How many things a full decode has to say of it.
    pub diagnostics: u32,
    /// In wire order.
    pub messages: Vec<MessageJson>,
}

/// A packet, seen on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SightingJson {
    /// Who saw it.
    pub observer: String,
    /// When.
    pub time_ns: i64,
    /// The event in the observer's reel.
    pub event: u64,
}

/// Something that a proxy did to a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FaultJson {
    /// Which.
    pub proxy: String,
    /// `lost`, `delayed`, `reordered`, `duplicated`, `queued`, `queue full`, `refused`.
    pub verdict: &'static str,
    /// How long it was held back, or would have been; `null` where that means nothing.
    pub time_ns: Option<u64>,
}

/// One message of a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArgumentJson {
    /// The path of the field.
    pub path: String,
    /// Its value, as `show` has it.
    pub value: Json,
}

/// What a message did at a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    let rpcs = session.rpcs(id, messages.iter().map(|(_, facts)| facts));
    let mut rpcs = rpcs.into_iter();
    let messages = messages.iter().map(|(id, facts)| {
        let (rpc, arguments) = rpcs.next().flatten().map(told).unzip();
        let ambiguous = history.ambiguity(session, *id).map(|(why, _)| why.name());
        MessageJson {
            rpc,
            arguments,
            ambiguous,
            ..message(session, history, *id, facts)
        }
    });
    around(session, history, id, messages.collect())
}

/// Many packets in plain fields, without what can only be told by decoding each message of each of them:
/// what stands behind an RPC's name, and whether copies say something else.
pub struct PacketRows<'a> {
    session: &'a Session,
    history: &'a History,
}

impl<'a> PacketRows<'a> {
    /// Of the packets of a session.
    pub fn new(session: &'a Session, history: &'a History) -> PacketRows<'a> {
        PacketRows { session, history }
    }

    /// One of them; `None` where there is no such packet.
    pub fn get(&self, id: PacketId) -> Option<PacketJson> {
        let messages = self.session.messages_of(id);
        let messages = messages.map(|(message_id, facts)| MessageJson {
            rpc: facts.rpc_name.as_ref().map(|name| name.text.to_string()),
            ..message(self.session, self.history, message_id, &facts)
        });
        around(self.session, self.history, id, messages.collect())
    }
}

/// What is told of a packet besides its messages, and these.
fn around(
    session: &Session,
    history: &History,
    id: PacketId,
    messages: Vec<MessageJson>,
) -> Option<PacketJson> {
    let packet = session.packet(id)?;
    let said = session.said(id)?;
    let sent_ns = packet.sent.map(|stamp| stamp.time.0);
    let received_ns = packet.received.map(|stamp| stamp.time.0);
    Some(PacketJson {
        packet: id.0,
        from: session.name(packet.from),
        to: session.name(packet.to),
        sent_ns,
        sent_event: packet.sent.map(|stamp| stamp.number.0),
        received_ns,
        received_event: packet.received.map(|stamp| stamp.number.0),
        late_ns: sent_ns
            .zip(received_ns)
            .filter(|_| packet.fate == Fate::Received)
            .map(|(sent, received)| received.saturating_sub(sent)),
        duplicates_ns: packet.duplicates.iter().map(|stamp| stamp.time.0).collect(),
        duplicates_events: packet
            .duplicates
            .iter()
            .map(|stamp| stamp.number.0)
            .collect(),
        seen: packet
            .seen
            .iter()
            .map(|seen| SightingJson {
                observer: session.observer_name(seen.observer),
                time_ns: seen.stamp.time.0,
                event: seen.stamp.number.0,
            })
            .collect(),
        acked_ns: history.acked(session, id).map(|stamp| stamp.time.0),
        fate: match packet.fate {
            Fate::Received => "received",
            Fate::Lost => "lost",
            Fate::SendFailed => "send-failed",
            Fate::Unread => "unread",
            Fate::Unknown => "unknown",
        },
        doubtful: packet.doubtful,
        faults: packet
            .faults
            .iter()
            .map(|each| fault(session, each))
            .collect(),
        length: packet.length,
        cut: packet.cut,
        protocol: protocol(session, id),
        sequence: said.sequence.map(|sequence| sequence.value),
        ack: said.ack.map(|ack| ack.value),
        diagnostics: said.diagnostics,
        messages,
    })
}

/// An RPC's name and its arguments.
fn told(rpc: Rpc) -> (String, Vec<ArgumentJson>) {
    let arguments = rpc.arguments.into_iter().map(|(path, value)| {
        let (_, value) = raw_and_value(value);
        ArgumentJson { path, value }
    });
    (rpc.name, arguments.collect())
}

/// The name of the protocol that claims a packet, where the wire has several.
pub fn protocol(session: &Session, packet: PacketId) -> Option<Option<String>> {
    let wire = session.wire.as_ref()?;
    let mut protocols = wire.protocols();
    if protocols.len() < 2 {
        return None;
    }
    let id = session.said(packet).and_then(|said| said.protocol);
    Some(id.and_then(|id| Some(protocols.nth(usize::from(id.0))?.0.to_owned())))
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
            effect: effect_name(delivery.effect),
        })
        .collect()
}

/// The time that a verdict names.
pub(super) fn time_ns(verdict: FaultVerdict) -> Option<u64> {
    match verdict {
        FaultVerdict::Lost | FaultVerdict::Refused | FaultVerdict::Corrupted { .. } => None,
        FaultVerdict::Delayed { nanos }
        | FaultVerdict::Reordered { nanos }
        | FaultVerdict::Duplicated { nanos }
        | FaultVerdict::Queued { nanos }
        | FaultVerdict::QueueFull { nanos } => Some(nanos),
    }
}

fn fault(session: &Session, fault: &ProxyFault) -> FaultJson {
    let verdict = fault.verdict;
    let time_ns = time_ns(verdict);
    let proxy = match fault.proxy {
        ProxyId::NETWORK => Some("network"),
        ProxyId(place) => session.proxies.get(usize::from(place)).map(String::as_str),
    };
    FaultJson {
        proxy: proxy.unwrap_or_default().to_owned(),
        verdict: verdict.name(),
        time_ns,
    }
}
