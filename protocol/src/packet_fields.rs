//! What is known of a packet, field by field: **the one place where a field is declared**.
//!
//! From a declaration are made the keys of `packets --json` and `packets --follow --json`, the columns
//! of `export --format csv` and of the `packets` table of a dataset, the tables of `netreel packets`
//! and of the window with the order in which they can be sorted, and the names of the filter. A new
//! field is a line here; a column of a table for people also stands in [`SHOWN`]. How a few of them look
//! in particular (a link, a list of messages, a fate) is each surface's own.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use netreel_reel::FaultVerdict;
use netreel_wire::MessageFacts;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::figures;
use crate::history::History;
use crate::session::{
    Fate, LivePacket, Look, MessageId, NodeId, Packet, PacketId, ProxyFault, ProxyId, Said,
    Session, SessionTime, Stamp,
};

/// What stands in a field, and in which unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// How many, or which of those that netreel numbers.
    Count,
    /// How many bytes.
    Bytes,
    /// A number that a protocol or a reel chose: all 64 bits of it.
    Number,
    /// Nanoseconds on the session's clock.
    Moment,
    /// The same, which is shown as the calendar and the clock have it, UTC.
    Utc,
    /// Nanoseconds from one moment to another.
    Duration,
    /// Yes or no.
    Truth,
    /// Words.
    Text,
    /// A node.
    Node,
    /// Two nodes: from and to.
    Link,
    /// Several things. A table has how many.
    List,
}

impl FieldType {
    /// Whether it is a number, which ends at the right edge of its column.
    pub fn is_number(self) -> bool {
        use FieldType::{Link, List, Node, Text, Truth};
        !matches!(self, Truth | Text | Node | Link | List)
    }

    /// Whether it is a moment.
    pub fn is_moment(self) -> bool {
        matches!(self, FieldType::Moment | FieldType::Utc)
    }
}

/// What a packet has in a field.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// Nothing is known, or nothing applies.
    Nothing,
    /// The same, and a JSON object has no such key.
    #[serde(skip)]
    LeftOut,
    /// A number in the unit of its type.
    Number(i128),
    /// Yes or no.
    Truth(bool),
    /// Words.
    Text(String),
    /// A node: [`PacketAt::named`] says its name.
    #[serde(skip)]
    Node(NodeId),
    /// From and to.
    #[serde(skip)]
    Link(NodeId, NodeId),
    /// Numbers.
    Numbers(Vec<i128>),
    /// Sightings.
    Sightings(Vec<SightingJson>),
    /// What proxies did.
    Faults(Vec<FaultJson>),
}

/// A packet, seen on its way.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SightingJson {
    /// Who saw it.
    pub observer: String,
    /// When.
    pub time_ns: i64,
    /// The event in the observer's reel.
    pub event: u64,
}

/// Something that a proxy did to a packet.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FaultJson {
    /// Which.
    pub proxy: String,
    /// `lost`, `delayed`, `reordered`, `duplicated`, `queued`, `queue full`, `refused`.
    pub verdict: &'static str,
    /// How long it was held back, or would have been; `null` where that means nothing.
    pub time_ns: Option<u64>,
}

/// What is declared of a field. A surface that lacks it has no name for it.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// What it means, for people.
    pub says: &'static str,
    /// Its type and unit.
    pub of: FieldType,
    value: fn(&PacketAt<'_, '_>) -> FieldValue,
    /// The same of a packet of a reel that is still recorded; `None` where only a session tells.
    pub live: Option<fn(&LivePacket) -> FieldValue>,
    /// Its key in JSON.
    pub json: &'static str,
    /// Whether an object has that key only where the answer is yes.
    pub json_if_true: bool,
    /// Its column in comma-separated values.
    pub csv: &'static str,
    /// Its column in a dataset.
    pub parquet: &'static str,
    /// Whether that may be null.
    pub or_null: bool,
    /// Its name in a filter.
    pub filter: &'static str,
    /// What stands above its column in a table for people: see [`SHOWN`].
    pub head: &'static str,
    /// Whether the table of `netreel packets` has it.
    pub printed: bool,
    /// The name by which the window keeps its column.
    pub window: &'static str,
    /// Whether the wire says it.
    pub of_wire: bool,
    /// Whether what followed from the packets says it.
    pub of_history: bool,
}

/// On no surface.
const NOWHERE: Declaration = Declaration {
    says: "",
    of: FieldType::Text,
    value: |_| FieldValue::Nothing,
    live: None,
    json: "",
    json_if_true: false,
    csv: "",
    parquet: "",
    or_null: false,
    filter: "",
    head: "",
    printed: false,
    window: "",
    of_wire: false,
    of_history: false,
};

/// Makes the fields of their declarations: what each means, its type, where its value is read, and its
/// names.
macro_rules! packet_fields {
    ($(#[doc = $says:literal] $name:ident: $of:ident, |$it:ident| $value:expr $(, $key:ident: $with:expr)*;)*) => {
        /// A field of a packet. Their order is that of JSON, of comma-separated values and of a dataset.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum PacketField { $(#[doc = $says] $name,)* }

        impl PacketField {
            /// All of them.
            pub const ALL: &[PacketField] = &[$(PacketField::$name,)*];

            /// What is declared of it.
            pub const fn declared(self) -> &'static Declaration {
                match self {
                    $(PacketField::$name => const {
                        &Declaration {
                            says: $says.trim_ascii(),
                            of: FieldType::$of,
                            value: |$it| FieldValue::from($value),
                            $($key: $with,)*
                            ..NOWHERE
                        }
                    },)*
                }
            }
        }
    };
}

packet_fields! {
    /// its number in the session
    Packet: Count, |it| Some(it.id.0),
        json: "packet", csv: "packet", parquet: "packet", filter: "packet",
        head: "#", printed: true, window: "number";
    /// the node that sent it
    From: Node, |it| it.packet.from, live: Some(|it| it.from.clone().into()),
        json: "from", csv: "from", parquet: "sender", filter: "from";
    /// the node that it was sent to
    To: Node, |it| it.packet.to, live: Some(|it| it.to.clone().into()),
        json: "to", csv: "to", parquet: "receiver", filter: "to";
    /// its way, from and to
    Link: Link, |it| FieldValue::Link(it.packet.from, it.packet.to),
        live: Some(|it| format!("{} -> {}", it.from, it.to).into()),
        filter: "link", head: "link", printed: true, window: "link";
    /// when it left its sender; else the first that is known of it
    Time: Moment, |it| it.first(),
        filter: "time", head: "time s", printed: true, window: "time";
    /// when it left its sender; else the first that is known of it
    Utc: Utc, |it| it.first(),
        parquet: "utc", or_null: true, head: "UTC", window: "clock";
    /// when it was sent; null where the sender was not recorded
    Sent: Moment, |it| it.packet.sent.map(ns),
        json: "sent_ns", csv: "sent_ns", parquet: "sent_ns", or_null: true;
    /// the event of the sender's reel
    SentEvent: Number, |it| it.packet.sent.map(event),
        json: "sent_event", parquet: "sent_event", or_null: true;
    /// when it was first received
    Received: Moment, |it| it.packet.received.map(ns), filter: "received",
        json: "received_ns", csv: "received_ns", parquet: "received_ns", or_null: true;
    /// the event of the receiver's reel
    ReceivedEvent: Number, |it| it.packet.received.map(event),
        json: "received_event", parquet: "received_event", or_null: true;
    /// from send to receipt
    Late: Duration, |it| it.late(),
        json: "late_ns", csv: "late_ns", parquet: "late_ns", or_null: true, filter: "late",
        head: "latency", window: "latency";
    /// from send to its sender's learning that it had arrived
    Rtt: Duration, |it| between(it.packet.departed(), it.acked()), filter: "rtt", of_history: true;
    /// how often it was received again
    Duplicates: List, |it| numbers(it.packet.duplicates.iter().map(|it| ns(*it))),
        json: "duplicates_ns", csv: "duplicates", parquet: "duplicates";
    /// the events of these receipts in the receiver's reel
    DuplicatesEvents: List, |it| numbers(it.packet.duplicates.iter().map(|it| event(*it))),
        json: "duplicates_events";
    /// how often observers saw it pass
    Seen: List, |it| it.sightings(), json: "seen", parquet: "seen";
    /// when its sender learnt that it had arrived
    Acked: Moment, |it| it.acked().map(ns), json: "acked_ns", csv: "acked_ns", of_history: true;
    /// `received`, `lost`, `send-failed`, `unread`, `unknown`
    Fate: Text, |it| it.packet.fate.name().to_owned(),
        json: "fate", csv: "fate", parquet: "fate", head: "fate", printed: true, window: "fate";
    /// whether its receipt may be that of another packet with the same payload
    Doubtful: Truth, |it| FieldValue::Truth(it.packet.doubtful),
        json: "doubtful", json_if_true: true, parquet: "doubtful";
    /// what proxies did to it on its way
    Faults: List, |it| it.faults(), json: "faults";
    /// what proxies did to it, with commas between; null where nothing
    FaultNames: Text, |it| it.fault_names(), parquet: "faults", or_null: true;
    /// bytes of payload
    Length: Bytes, |it| Some(it.packet.length), live: Some(|it| count(it.length)),
        json: "length", csv: "length", parquet: "length", filter: "length",
        head: "bytes", printed: true, window: "bytes";
    /// how many of them are known, where a capture kept the first ones only
    Cut: Bytes, |it| it.packet.cut, json: "cut", parquet: "cut", or_null: true;
    /// the protocol that claims it, where the wire has several
    Protocol: Text, |it| it.protocol(), json: "protocol", parquet: "protocol", or_null: true,
        head: "protocol", printed: true, of_wire: true;
    /// its number on its link
    Sequence: Number, |it| it.sequence(), live: Some(|it| it.facts.sequence.map(|it| it.value).into()),
        json: "sequence", csv: "sequence", parquet: "sequence", or_null: true, filter: "sequence",
        head: "seq", printed: true, window: "sequence", of_wire: true;
    /// the newest packet that its sender had received
    Ack: Number, |it| it.said().and_then(|it| it.ack).map(|it| it.value),
        live: Some(|it| it.facts.ack.map(|it| it.value).into()),
        json: "ack", csv: "ack", parquet: "ack", or_null: true, filter: "ack", of_wire: true;
    /// how many things a full decode has to say of it
    Diagnostics: Count, |it| it.said().map(|it| it.diagnostics),
        json: "diagnostics", csv: "diagnostics", parquet: "diagnostics", of_wire: true;
    /// how many messages it has
    Messages: List, |it| count(it.message_ids().len()),
        live: Some(|it| count(it.facts.messages.len())), parquet: "messages",
        head: "messages", printed: true, window: "messages", of_wire: true;
    /// the objects that its messages are about
    Objects: List, |it| it.objects(), head: "object", window: "objects", of_wire: true;
    /// how many of these repeat an earlier one
    Resends: Count, |it| it.resends(), parquet: "resends", of_history: true;
    /// the kinds of its messages in wire order, with blanks between
    Kinds: Text, |it| it.kinds(), csv: "kinds", of_wire: true;
    /// when an observer saw it first
    SeenFirst: Moment, |it| it.packet.seen.first().map(|it| ns(it.stamp)), csv: "seen_ns";
}

/// The columns of the tables for people, in order.
pub const SHOWN: [PacketField; 11] = [
    PacketField::Packet,
    PacketField::Time,
    PacketField::Utc,
    PacketField::Link,
    PacketField::Protocol,
    PacketField::Messages,
    PacketField::Objects,
    PacketField::Sequence,
    PacketField::Length,
    PacketField::Late,
    PacketField::Fate,
];

/// A packet whose fields are read.
#[derive(Clone, Copy)]
pub struct PacketAt<'a, 'h> {
    /// Of this session.
    pub session: &'a Session,
    /// What followed from the packets, worked out when a field first asks.
    pub history: &'a dyn Fn() -> &'h History,
    /// Its number.
    pub id: PacketId,
    /// What is known of it without the wire.
    pub packet: &'a Packet,
    /// What the wire says of it, where somebody looked at it alone.
    pub look: Option<&'a Look>,
    /// What the wire says of it, once a field has asked.
    pub said: &'a OnceCell<Option<Said>>,
}

impl PacketField {
    /// The fields that a surface has, each by its name there.
    pub fn on(
        surface: fn(&Declaration) -> &'static str,
    ) -> impl Iterator<Item = (&'static str, PacketField)> {
        let all = PacketField::ALL.iter();
        let named = all.map(move |&field| (surface(field.declared()), field));
        named.filter(|(name, _)| !name.is_empty())
    }

    /// What a packet has there.
    pub fn value(self, at: &PacketAt<'_, '_>) -> FieldValue {
        (self.declared().value)(at)
    }

    /// The same for people: a moment in seconds, a duration in the unit that suits it.
    pub fn words(self, value: &FieldValue) -> String {
        match (self.declared().of, value) {
            (FieldType::Moment, FieldValue::Number(ns)) => {
                figures::seconds(SessionTime(*ns as i64))
            }
            (FieldType::Duration, FieldValue::Number(ns)) => figures::duration(*ns as i64),
            _ => value.plain(),
        }
    }
}

impl PacketAt<'_, '_> {
    /// Reads fields of a packet; `None` where there is no such packet.
    ///
    /// A look answers [`Sequence`](PacketField::Sequence), [`Protocol`](PacketField::Protocol),
    /// [`Objects`](PacketField::Objects) and [`Kinds`](PacketField::Kinds). For the other fields of the wire
    /// the session is asked, which works out the facts of all packets for the first of them.
    pub fn with<'h, T>(
        session: &Session,
        history: &dyn Fn() -> &'h History,
        (id, look): (PacketId, Option<&Look>),
        read: impl FnOnce(&PacketAt<'_, 'h>) -> T,
    ) -> Option<T> {
        let (packet, said) = (session.packet(id)?, OnceCell::new());
        Some(read(&PacketAt {
            session,
            history,
            id,
            packet: &packet,
            look,
            said: &said,
        }))
    }

    /// What it has in a field, with nodes by their names.
    pub fn named(&self, field: PacketField) -> FieldValue {
        let name = |node| self.session.name(node);
        match field.value(self) {
            FieldValue::Node(node) => name(node).into(),
            FieldValue::Link(from, to) => format!("{} -> {}", name(from), name(to)).into(),
            value => value,
        }
    }

    fn first(&self) -> Option<i64> {
        self.packet.first().map(ns)
    }

    /// What the wire says of it.
    pub fn said(&self) -> Option<&Said> {
        let said = self.said.get_or_init(|| self.session.said(self.id));
        said.as_ref()
    }

    /// When its sender learnt that it had arrived.
    pub fn acked(&self) -> Option<Stamp> {
        (self.history)().acked(self.session, self.id)
    }

    fn sequence(&self) -> Option<u64> {
        let sequence = match self.look {
            Some(look) => look.sequence,
            None => self.said()?.sequence,
        };
        Some(sequence?.value)
    }

    fn message_ids(&self) -> Range<u32> {
        let said = self.said();
        said.map(|it| it.messages.clone()).unwrap_or_default()
    }

    fn messages<T>(&self, mut read: impl FnMut(&MessageFacts) -> Option<T>) -> Vec<T> {
        match self.look {
            Some(look) => look.messages.iter().filter_map(read).collect(),
            None => {
                let messages = self.session.messages_of(self.id);
                messages.filter_map(|(_, facts)| read(&facts)).collect()
            }
        }
    }

    /// Each once, the smallest first.
    fn objects(&self) -> FieldValue {
        let objects: BTreeSet<u64> = self.messages(|it| it.object).into_iter().collect();
        numbers(objects)
    }

    fn kinds(&self) -> String {
        let session = self.session;
        let name = |facts: &MessageFacts| session.kind_of(facts).map(|kind| kind.name.as_str());
        let names = self.messages(|facts| Some(name(facts).unwrap_or("?").to_owned()));
        names.join(" ")
    }

    fn resends(&self) -> FieldValue {
        let resend_of = |id: &u32| (self.history)().resend_of(MessageId(*id));
        count(
            self.message_ids()
                .filter(|id| resend_of(id).is_some())
                .count(),
        )
    }

    fn late(&self) -> Option<i64> {
        let Packet { sent, received, .. } = *self.packet;
        between(sent, received).filter(|_| self.packet.fate == Fate::Received)
    }

    fn protocol(&self) -> FieldValue {
        let wire = self.session.wire.as_ref();
        let Some(mut protocols) = wire.map(|it| it.protocols()).filter(|it| it.len() > 1) else {
            return FieldValue::LeftOut;
        };
        let id = match self.look {
            Some(look) => look.protocol,
            None => self.said().and_then(|it| it.protocol),
        };
        let named = id.and_then(|id| protocols.nth(usize::from(id.0)));
        named.map_or(FieldValue::Nothing, |(name, _)| name.to_owned().into())
    }

    fn sightings(&self) -> FieldValue {
        let seen = self.packet.seen.iter().map(|seen| SightingJson {
            observer: self.session.observer_name(seen.observer),
            time_ns: ns(seen.stamp),
            event: event(seen.stamp),
        });
        FieldValue::Sightings(seen.collect())
    }

    fn faults(&self) -> FieldValue {
        let fault = |ProxyFault { proxy, verdict }: &ProxyFault| FaultJson {
            proxy: match *proxy {
                ProxyId::NETWORK => "network".to_owned(),
                ProxyId(place) => {
                    let proxies = &self.session.proxies;
                    proxies.get(usize::from(place)).cloned().unwrap_or_default()
                }
            },
            verdict: verdict.name(),
            time_ns: fault_ns(*verdict),
        };
        FieldValue::Faults(self.packet.faults.iter().map(fault).collect())
    }

    fn fault_names(&self) -> FieldValue {
        let names = self
            .packet
            .faults
            .iter()
            .map(|it| it.verdict.name())
            .collect::<Vec<_>>()
            .join(",");
        if names.is_empty() {
            FieldValue::Nothing
        } else {
            names.into()
        }
    }
}

impl FieldValue {
    /// As a number, to be compared: of a list how many things it has, and 1 for yes.
    pub fn number(&self) -> Option<i128> {
        match self {
            FieldValue::Number(number) => Some(*number),
            FieldValue::Truth(truth) => Some(i128::from(*truth)),
            list => list.length().map(|it| it as i128),
        }
    }

    /// Of a list, how many things it has.
    pub fn length(&self) -> Option<usize> {
        match self {
            FieldValue::Numbers(all) => Some(all.len()),
            FieldValue::Sightings(all) => Some(all.len()),
            FieldValue::Faults(all) => Some(all.len()),
            _ => None,
        }
    }

    /// The number or the words alone; of a list how many; empty where nothing is known.
    pub fn plain(&self) -> String {
        match self {
            FieldValue::Number(number) => number.to_string(),
            FieldValue::Truth(truth) => truth.to_string(),
            FieldValue::Text(text) => text.clone(),
            list => list.length().map_or_else(String::new, |it| it.to_string()),
        }
    }
}

impl<T: Into<i128>> From<Option<T>> for FieldValue {
    fn from(number: Option<T>) -> FieldValue {
        number.map_or(FieldValue::Nothing, |it| FieldValue::Number(it.into()))
    }
}

impl From<String> for FieldValue {
    fn from(text: String) -> FieldValue {
        FieldValue::Text(text)
    }
}

impl From<NodeId> for FieldValue {
    fn from(node: NodeId) -> FieldValue {
        FieldValue::Node(node)
    }
}

fn count(count: usize) -> FieldValue {
    FieldValue::Number(count as i128)
}

fn numbers<T: Into<i128>>(all: impl IntoIterator<Item = T>) -> FieldValue {
    FieldValue::Numbers(all.into_iter().map(Into::into).collect())
}

fn ns(stamp: Stamp) -> i64 {
    stamp.time.0
}

fn event(stamp: Stamp) -> u64 {
    stamp.number.0
}

fn between(from: Option<Stamp>, to: Option<Stamp>) -> Option<i64> {
    let (from, to) = from.zip(to)?;
    Some(ns(to).saturating_sub(ns(from)))
}

/// The time that a verdict names.
pub(crate) fn fault_ns(verdict: FaultVerdict) -> Option<u64> {
    match verdict {
        FaultVerdict::Lost | FaultVerdict::Refused | FaultVerdict::Corrupted { .. } => None,
        FaultVerdict::Delayed { nanos }
        | FaultVerdict::Reordered { nanos }
        | FaultVerdict::Duplicated { nanos }
        | FaultVerdict::Queued { nanos }
        | FaultVerdict::QueueFull { nanos } => Some(nanos),
    }
}

/// Fields as the keys of a JSON object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldsJson(Vec<(&'static str, FieldValue)>);

impl FieldsJson {
    /// Those that have a key, each with its value; without those that have none, and without a no where
    /// the declaration has the key for a yes alone.
    pub fn new(value: impl Fn(PacketField) -> Option<FieldValue>) -> FieldsJson {
        let keys = PacketField::on(|it| it.json).filter_map(|(key, field)| {
            let value = value(field)?;
            let is_untold = match value {
                FieldValue::LeftOut => true,
                FieldValue::Truth(truth) => field.declared().json_if_true && !truth,
                _ => false,
            };
            (!is_untold).then_some((key, value))
        });
        FieldsJson(keys.collect())
    }
}

impl Serialize for FieldsJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_for_a_yes_is_there_where_the_answer_is_yes() {
        let keys = |truth| {
            let doubtful = |it| (it == PacketField::Doubtful).then_some(FieldValue::Truth(truth));
            serde_json::to_string(&FieldsJson::new(doubtful)).expect("JSON")
        };
        assert_eq!(keys(true), r#"{"doubtful":true}"#);
        assert_eq!(keys(false), "{}");
    }

    #[test]
    fn a_list_is_compared_by_its_length_and_a_yes_is_one() {
        assert_eq!(numbers([7, 8, 9]).number(), Some(3));
        assert_eq!(FieldValue::Truth(true).number(), Some(1));
        assert_eq!(FieldValue::Nothing.number(), None);
    }
}
