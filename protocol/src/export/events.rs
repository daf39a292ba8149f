//! `events`: one object an event of a reel, and the same in words.

use netreel_reel::{
    Believed, CallId, ClockId, Endpoint, Event, ProcessEnd, Record, SaidNumber, SaidValue,
    SendOutcome, os_code_words, said_value,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::figures::{hex, moment};
use crate::packet_fields::fault_ns;
use crate::session::{SessionReel, SessionTime};

/// How many characters of a text stand in a line of a terminal.
pub const TEXT_MAX: usize = 120;

/// One line of `netreel events --json`.
#[derive(Clone, Debug, Serialize)]
pub struct EventJson {
    /// Whose reel it is in.
    pub node: String,
    /// Its number there.
    pub event: u64,
    /// When it was.
    pub time_ns: i64,
    /// The thread that it happened on.
    pub thread: u16,
    /// What it is.
    pub kind: &'static str,
    /// The packet of the session that it is an event of, or tells something of.
    pub packet: Option<u32>,
    /// What the kind has besides.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// An event in plain fields. Of its bytes the first `bytes_max` are told; `call` is what the engine
/// calls a call of the game.
pub fn event(
    of: &SessionReel<'_>,
    record: &Record<'_>,
    call: Option<String>,
    bytes_max: usize,
) -> EventJson {
    let mut fields = fields(of, &record.event);
    if matches!(record.event, Event::Input { .. }) {
        fields.insert("call".to_owned(), json!(call));
    }
    let texts = matches!(
        record.event,
        Event::Note { .. }
            | Event::Triggered { .. }
            | Event::Interface { .. }
            | Event::Believed { .. }
    );
    if let Some(bytes) = record.event.bytes().filter(|_| !texts) {
        fields.insert("length".to_owned(), json!(bytes.len()));
        let first = bytes.get(..bytes_max).unwrap_or(bytes);
        fields.insert("bytes".to_owned(), json!(hex(first)));
    }
    EventJson {
        node: of.name.clone(),
        event: record.number.0,
        time_ns: of.time(record).0,
        thread: record.thread.0,
        kind: record.event.kind().name(),
        packet: of.packet_of(record).map(|packet| packet.0),
        fields,
    }
}

fn fields(of: &SessionReel<'_>, event: &Event<'_>) -> Map<String, Value> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let fields = match *event {
        Event::SocketOpened { socket, local } => json!({ "socket": socket.0, "endpoint": local }),
        Event::SocketClosed { socket } | Event::PollEmpty { socket } => {
            json!({ "socket": socket.0 })
        }
        Event::Sent { socket, to, .. } => {
            json!({ "socket": socket.0, "to": of.name_of(to), "endpoint": to })
        }
        Event::SendResult { of, outcome } => match outcome {
            SendOutcome::Sent => json!({ "of": of.0, "outcome": "sent" }),
            SendOutcome::Short(taken) => json!({ "of": of.0, "outcome": "short", "taken": taken }),
            SendOutcome::Failed(code) => json!({ "of": of.0, "outcome": "failed", "code": code }),
        },
        Event::Received { socket, from, .. } => {
            json!({ "socket": socket.0, "from": of.name_of(from), "endpoint": from })
        }
        Event::ReceiveFailed { socket, code } => json!({ "socket": socket.0, "code": code }),
        // These are not on the session's clock, and may be beyond 2^53.
        Event::Clock { value } => json!({ "value": value.0.to_string() }),
        Event::Random { value } => json!({ "value": value.to_string() }),
        Event::Input { .. } | Event::Snapshot { .. } => json!({}),
        Event::Tick { tick, time } => json!({ "tick": tick, "game_ns": time.0 }),
        Event::Note { text: note } => json!({ "text": text(note) }),
        Event::Switched { on } => json!({ "on": on }),
        Event::Dropped { count } | Event::CaptureDrops { count } => json!({ "count": count }),
        Event::Stalled { nanos } => json!({ "wait_ns": nanos }),
        Event::WriteFailed { code } => json!({ "code": code }),
        Event::ClockRead { clock, value } => {
            json!({ "clock": clock.0, "value": value.to_string() })
        }
        Event::Called {
            call: call @ CallId::PRINTED,
            details: [descriptor, line @ ..],
            ..
        } => json!({ "call": call.name(), "descriptor": descriptor, "text": text(line) }),
        Event::Called { call, result, .. } => json!({ "call": call.name(), "result": result }),
        Event::Seen { from, to, .. } => json!({ "from": of.name_of(from), "to": of.name_of(to) }),
        Event::Cut { of, length } => json!({ "of": of.0, "whole": length }),
        Event::Triggered {
            trigger,
            text: said,
        } => json!({
            "cause": trigger.cause.name(),
            "text": text(said),
            "from_peer": trigger.from_peer,
            "id": format!("{:016x}", trigger.id),
        }),
        Event::Fault { of, verdict } => {
            let wait_ns = fault_ns(verdict);
            json!({ "of": of.0, "verdict": verdict.name(), "wait_ns": wait_ns })
        }
        Event::Relay {
            socket,
            listener,
            client,
        } => json!({ "socket": socket.0, "listener": listener.0, "client": client }),
        Event::Interface { link_type, name } => {
            json!({ "link_type": link_type, "name": text(name) })
        }
        Event::Believed { object, believed } => believed_fields(object, believed),
    };
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn believed_fields(object: u64, believed: Believed<'_>) -> Value {
    match believed {
        Believed::Created { owner } => {
            json!({ "belief": "created", "object": object, "owner": owner })
        }
        Believed::Destroyed => json!({ "belief": "destroyed", "object": object }),
        Believed::Owner { owner } => {
            json!({ "belief": "owner", "object": object, "owner": owner })
        }
        Believed::Value { said } => {
            let number = |number| match number {
                SaidNumber::Whole(whole) => json!(whole),
                SaidNumber::Real(real) => json!(real),
            };
            let read = said_value(said);
            let value = read.as_ref().map(|(_, value)| match value {
                SaidValue::Numbers(numbers) => numbers.iter().copied().map(number).collect(),
                SaidValue::Text(text) => json!(text),
            });
            json!({
                "belief": "value",
                "object": object,
                "property": read.map(|(property, _)| property),
                "value": value,
            })
        }
    }
}

/// An event in words, without its number, its time and its bytes; `call` as for [`event`], and what people
/// call whoever is at an endpoint. Of texts so many characters at most.
pub fn event_words(
    event: &Event<'_>,
    call: Option<String>,
    name_of: impl Fn(Endpoint) -> String,
    longest: usize,
) -> String {
    let text = |bytes: &[u8]| beginning(bytes, longest);
    match *event {
        Event::SocketOpened { socket, local } => format!("socket {} at {local}", socket.0),
        Event::SocketClosed { socket } | Event::PollEmpty { socket } => {
            format!("socket {}", socket.0)
        }
        Event::Sent { to, payload, .. } => {
            format!("to {}, {}", name_of(to), length(payload))
        }
        Event::SendResult { of, outcome } => match outcome {
            SendOutcome::Sent => format!("of event {of}: taken"),
            SendOutcome::Short(taken) => format!("of event {of}: only {taken} bytes were taken"),
            SendOutcome::Failed(code) => format!("of event {of}: {}", os_code_words(code)),
        },
        Event::Received { from, payload, .. } => {
            format!("from {}, {}", name_of(from), length(payload))
        }
        Event::ReceiveFailed { code, .. } => os_code_words(code),
        Event::Clock { value } => format!("{} ns", value.0),
        Event::Random { value } => format!("{value:#018x}"),
        Event::Input { call: bytes } => {
            call.unwrap_or_else(|| format!("a call of {}", length(bytes)))
        }
        Event::Tick { tick, time } => {
            format!(
                "tick {tick}, {} of the game",
                moment(SessionTime(time.0 as i64))
            )
        }
        Event::Note { text: note } => text(note),
        Event::Snapshot { state } => format!("the layer's state, {}", length(state)),
        Event::Switched { on: true } => "recording switched on".to_owned(),
        Event::Switched { on: false } => "recording switched off".to_owned(),
        Event::Dropped { count } => format!("{count} events before this were dropped"),
        Event::Stalled { nanos } => format!("the program waited {nanos} ns for the recorder"),
        Event::WriteFailed { code } => format!("recording stopped: {}", os_code_words(code)),
        Event::ClockRead { clock, value } => format!("{}: {value} ns", clock_name(clock)),
        Event::Called {
            call,
            result,
            details,
        } => called_words(call, result, details, longest),
        Event::Seen { from, to, payload } => format!(
            "from {} to {}, {}",
            name_of(from),
            name_of(to),
            length(payload)
        ),
        Event::CaptureDrops { count } => format!("{count} packets went by unseen"),
        Event::Cut { of, length } => format!("the packet of event {of} had {length} bytes"),
        Event::Triggered { trigger, text: [] } => trigger.cause.name().to_owned(),
        Event::Triggered {
            trigger,
            text: said,
        } => format!("{}: {}", trigger.cause.name(), text(said)),
        Event::Fault { of, verdict } => format!("the packet of event {of}: {}", verdict.name()),
        Event::Relay {
            socket,
            listener,
            client,
        } => format!(
            "socket {} stands for {client} at socket {}",
            socket.0, listener.0
        ),
        Event::Interface {
            link_type,
            name: [],
        } => format!("an interface of link type {link_type}"),
        Event::Interface { link_type, name } => {
            format!("interface {} of link type {link_type}", text(name))
        }
        Event::Believed { object, believed } => {
            format!("the game says: {}", text(believed.words(object).as_bytes()))
        }
    }
}

fn called_words(call: CallId, result: i32, details: &[u8], longest: usize) -> String {
    if let (CallId::PRINTED, [descriptor, line @ ..]) = (call, details) {
        return format!(
            "prints on descriptor {descriptor}: {}",
            printed(line, longest)
        );
    }
    let end = (call == CallId::STATUS).then(|| ProcessEnd::from_result(result));
    match (end.flatten(), details) {
        (Some(end), _) => format!("the process ended: {end}"),
        (None, []) => format!("{} = {result}", call.name()),
        (None, _) => format!("{} = {result}, {}", call.name(), length(details)),
    }
}

fn length(bytes: &[u8]) -> String {
    match bytes.len() {
        1 => "1 byte".to_owned(),
        length => format!("{length} bytes"),
    }
}

/// A line that was printed, without its end; a part of one goes on.
fn printed(line: &[u8], longest: usize) -> String {
    match line.strip_suffix(b"\n") {
        Some(whole) => beginning(whole.strip_suffix(b"\r").unwrap_or(whole), longest),
        None => beginning(line, longest) + " …",
    }
}

/// A text in one line, its first characters.
fn beginning(bytes: &[u8], longest: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(longest) {
        Some((end, _)) => readable(text.get(..end).unwrap_or_default()) + " …",
        None => readable(&text),
    }
}

/// A stranger's text as one line that a terminal shows as it is: what would move the cursor, erase, or
/// turn the direction of letters is written out.
pub fn readable(text: &str) -> String {
    let mut line = String::new();
    for character in text.chars() {
        let turns = matches!(character,
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if character.is_control() || turns {
            line.extend(character.escape_default())
        } else {
            line.push(character)
        }
    }
    line
}

/// What programmers call a clock.
fn clock_name(clock: ClockId) -> String {
    match clock {
        ClockId::REALTIME => "CLOCK_REALTIME".to_owned(),
        ClockId::MONOTONIC => "CLOCK_MONOTONIC".to_owned(),
        ClockId::GETTIMEOFDAY => "gettimeofday".to_owned(),
        ClockId::TIME => "time".to_owned(),
        ClockId(other) => format!("clock {other}"),
    }
}
