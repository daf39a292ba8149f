//! What a rule pulls, found as it is pulled: a row holds little of what it gives.

use std::collections::btree_map::Iter;
use std::vec::IntoIter;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::export;
use crate::history::{History, Link, Object};
use crate::query::Query;
use crate::session::{MessageId, NodeId, PacketId, Session};

/// How many packets are asked at once whether they fit.
const PACKETS_AT_ONCE: usize = 1 << 20;

/// What a rule pulls from.
pub(super) enum Row<'a> {
    Packets(Packets),
    Messages(Messages),
    Objects(Iter<'a, u64, Object>),
    Links(Iter<'a, (NodeId, NodeId), Link>),
}

impl Row<'_> {
    /// The next thing, as its JSON; `None` behind the last one.
    ///
    /// # Errors
    /// It cannot be shown, in words.
    pub fn next(&mut self, session: &Session, history: &History) -> Result<Option<Value>, String> {
        match self {
            Row::Packets(packets) => packets.next(session, history),
            Row::Messages(messages) => messages.next(session, history),
            Row::Objects(objects) => {
                let object = objects.next();
                let shown = |(&id, object)| export::object(session, history, id, object, None);
                object.map(|it| json_of(&shown(it))).transpose()
            }
            Row::Links(links) => Ok(links.next().map(|(&nodes, it)| link(session, nodes, it))),
        }
    }
}

/// Packets that fit a filter.
pub(super) struct Packets {
    query: Query,
    /// From this one on nobody has looked.
    from: usize,
    fitting: IntoIter<PacketId>,
}

impl Packets {
    pub fn new(query: Query) -> Packets {
        Packets {
            query,
            from: 0,
            fitting: IntoIter::default(),
        }
    }

    fn next(&mut self, session: &Session, history: &History) -> Result<Option<Value>, String> {
        loop {
            if let Some(id) = self.fitting.next() {
                return packet(session, history, id).map(Some);
            }
            if self.from >= session.packet_count() {
                self.fitting = IntoIter::default();
                return Ok(None);
            }
            let some = (self.from, PACKETS_AT_ONCE);
            self.from += PACKETS_AT_ONCE;
            self.fitting = self.query.packets(session, &|| history, some).into_iter();
        }
    }
}

/// Messages that fit a filter.
pub(super) struct Messages {
    query: Query,
    /// At this one begins the next packet that nobody has looked at.
    from: u32,
    fitting: IntoIter<MessageId>,
    /// The packet of those that fit: its other fields, and the messages that were not given.
    carrier: (Map<String, Value>, IntoIter<Value>),
}

impl Messages {
    pub fn new(query: Query) -> Messages {
        Messages {
            query,
            from: 0,
            fitting: IntoIter::default(),
            carrier: Default::default(),
        }
    }

    fn next(&mut self, session: &Session, history: &History) -> Result<Option<Value>, String> {
        loop {
            if let Some(id) = self.fitting.next() {
                return self.message(id).map(Some);
            }
            if self.from as usize >= session.message_count() {
                return Ok(None);
            }
            let unknown = || format!("nobody knows the packet of message {}", self.from);
            let id = session.carrier(MessageId(self.from)).ok_or_else(unknown)?;
            let said = session.said(id).ok_or_else(unknown)?;
            self.from = said.messages.end.max(self.from + 1);
            let fitting = self.query.messages(session, history, id);
            if fitting.is_empty() {
                continue;
            }
            self.fitting = fitting.into_iter();
            let Value::Object(mut fields) = packet(session, history, id)? else {
                return Err(no_such("packet", id.0));
            };
            let messages = match fields.remove("messages") {
                Some(Value::Array(messages)) => messages,
                _ => Vec::new(),
            };
            self.carrier = (fields, messages.into_iter());
        }
    }

    /// A message of the packet that was read last. What its own fields do not say, its packet does.
    fn message(&mut self, id: MessageId) -> Result<Value, String> {
        let (fields, messages) = &mut self.carrier;
        let mut message = messages
            .find(|it| it["message"] == json!(id.0))
            .ok_or_else(|| no_such("message", id.0))?;
        for (name, value) in fields {
            if message.get(name).is_none() {
                message[name.as_str()] = value.clone();
            }
        }
        Ok(message)
    }
}

#[cfg(test)]
thread_local! {
    /// How often a packet was shown.
    static SHOWN: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

fn packet(session: &Session, history: &History, id: PacketId) -> Result<Value, String> {
    #[cfg(test)]
    SHOWN.set(SHOWN.get() + 1);
    let packet = export::packet(session, history, id);
    json_of(&packet.ok_or_else(|| no_such("packet", id.0))?)
}

fn no_such(what: &str, number: u32) -> String {
    format!("{what} {number} cannot be shown")
}

fn json_of(thing: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(thing).map_err(|error| error.to_string())
}

fn link(session: &Session, (from, to): (NodeId, NodeId), link: &Link) -> Value {
    let times = |of: Option<(i64, i64, i64)>| {
        of.map(|(least, middle, most)| json!({ "least": least, "middle": middle, "most": most }))
    };
    json!({
        "from": session.name(from),
        "to": session.name(to),
        "packets": link.packets,
        "bytes": link.bytes,
        "lost": link.lost,
        "duplicated": link.duplicated,
        "reordered": link.reordered,
        "resent": link.resent,
        "latency_ns": times(link.latency_ns),
        "rtt_ns": times(link.rtt_ns),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use netreel_reel::{
        Event, EventNumber, Header, Record, Reel, ReelWriter, SocketId, ThreadId, Time,
    };
    use netreel_wire::Wire;

    use super::*;
    use crate::session::ReelInput;

    const WIRE: &str = "wire w { byte_order = little; bit_order = lsb; root = P; }
        struct P { count: u8; messages: M[count]; }
        struct M @message { value: u8; }";

    /// A session of packets with messages of these values.
    fn session(packets: &[&[u8]]) -> Session {
        let mut writer = ReelWriter::create(Vec::new(), &Header::default()).expect("a reel");
        let mut push = |number: u64, event: Event<'_>| {
            let record = Record {
                number: EventNumber(number),
                time: Time(number),
                thread: ThreadId(0),
                event,
            };
            writer.push(&record).expect("an event");
        };
        let (socket, local) = (SocketId(0), ([127, 0, 0, 1], 1).into());
        let to = ([127, 0, 0, 1], 2).into();
        push(0, Event::SocketOpened { socket, local });
        for (number, values) in (1..).zip(packets) {
            let payload = [&[values.len() as u8], *values].concat();
            let payload = &payload[..];
            push(
                number,
                Event::Sent {
                    socket,
                    to,
                    payload,
                },
            );
        }
        let reel = Reel::from_bytes(writer.finish().expect("its bytes")).expect("it opens");
        let input = ReelInput {
            name: "a.reel".to_owned(),
            reel: Arc::new(reel),
        };
        let wire = Wire::compile("w.wire", WIRE).unwrap_or_else(|error| panic!("{error}"));
        Session::builder()
            .wire(Arc::new(wire))
            .build(vec![input])
            .expect("a session")
    }

    /// The packets and numbers of the messages that fit a filter, and how many packets were shown.
    fn pulled(session: &Session, filter: &str) -> (Vec<(Value, Value)>, u32) {
        let before = SHOWN.get();
        let history = History::default();
        let mut row = Messages::new(Query::parse(filter).expect("a filter"));
        let mut all = Vec::new();
        while let Some(message) = row.next(session, &history).expect("it can be shown") {
            all.push((message["packet"].clone(), message["message"].clone()));
        }
        (all, SHOWN.get() - before)
    }

    #[test]
    fn a_packet_is_shown_once_for_all_of_its_messages() {
        let session = session(&[&[1, 2, 3, 4], &[], &[5, 1], &[7]]);
        let said = |all: &[(u32, u32)]| -> Vec<(Value, Value)> {
            all.iter()
                .map(|&(packet, it)| (json!(packet), json!(it)))
                .collect()
        };
        let all = said(&[(0, 0), (0, 1), (0, 2), (0, 3), (2, 4), (2, 5), (3, 6)]);
        assert_eq!(pulled(&session, ""), (all, 3));
        assert_eq!(
            pulled(&session, "packet == 2"),
            (said(&[(2, 4), (2, 5)]), 1)
        );
    }
}
