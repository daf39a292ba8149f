//! The plain layout of an event: its kind, and a body with fixed-width little-endian fields.
//!
//! It stands in the ring file, where speed of writing counts, and in blocks for the kinds that
//! are too rare to deserve a shorter form (see `docs/reel-format.md`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use netreel_shared::body::{self, EventKind, SendOutcome};
use netreel_shared::call::{CallId, ClockId};

use crate::varint::Cursor;
use crate::{
    Believed, Endpoint, Event, EventNumber, FaultVerdict, SocketId, Time, Trigger, TriggerCause,
};

/// The longest fixed part of a body: two IPv6 endpoints.
const HEAD_MAX: usize = 54;

/// The fixed part of a body. The variable part is the event's own bytes, which follow it.
#[derive(Clone, Copy)]
pub struct PlainHead {
    bytes: [u8; HEAD_MAX],
    length: usize,
}

impl PlainHead {
    /// The bytes of the fixed part.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        // The layouts below fit HEAD_MAX; a test holds each of them to it.
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    #[inline]
    fn put_endpoint(&mut self, endpoint: &Endpoint) {
        with_bytes_of(endpoint, |bytes| self.put(bytes));
    }

    #[inline]
    fn put_packet(&mut self, socket: SocketId, endpoint: &Endpoint) {
        with_bytes_of(endpoint, |bytes| {
            body::packet(|field| self.put(field), socket.0, bytes);
        });
    }
}

// Both kinds are written out for whoever takes them, so that their lengths are known.
#[inline(always)]
fn with_bytes_of(endpoint: &Endpoint, take: impl FnOnce(&[u8])) {
    match endpoint {
        SocketAddr::V4(v4) => take(&body::v4(v4.port(), v4.ip().octets())),
        SocketAddr::V6(v6) => {
            let ip = v6.ip().octets();
            take(&body::v6(v6.port(), ip, v6.flowinfo(), v6.scope_id()));
        }
    }
}

/// Lays an event out: the fixed part, and the bytes that follow it.
// Where the kind of the event is known, most of this is not there.
#[inline(always)]
pub fn plain_parts<'a>(event: &Event<'a>) -> (PlainHead, &'a [u8]) {
    let mut head = PlainHead {
        bytes: [0; HEAD_MAX],
        length: 0,
    };
    let mut tail: &'a [u8] = &[];
    match event {
        Event::Sent {
            socket,
            to: endpoint,
            payload,
        }
        | Event::Received {
            socket,
            from: endpoint,
            payload,
        } => {
            head.put_packet(*socket, endpoint);
            tail = payload;
        }
        Event::SocketOpened { socket, local } => head.put_packet(*socket, local),
        Event::SocketClosed { socket } | Event::PollEmpty { socket } => {
            head.put(&body::socket(socket.0));
        }
        Event::SendResult { of, outcome } => head.put(&body::send_result(of.0, *outcome)),
        Event::ReceiveFailed { socket, code } => head.put(&body::receive_failed(socket.0, *code)),
        Event::Clock { value } => head.put(&value.0.to_le_bytes()),
        Event::Random { value } => head.put(&value.to_le_bytes()),
        Event::Tick { tick, time } => {
            head.put(&tick.to_le_bytes());
            head.put(&time.0.to_le_bytes());
        }
        Event::Input { call: bytes }
        | Event::Note { text: bytes }
        | Event::Snapshot { state: bytes } => tail = bytes,
        Event::Switched { on } => head.put(&[u8::from(*on)]),
        Event::Dropped { count } => head.put(&body::dropped(*count)),
        Event::Stalled { nanos } => head.put(&body::stalled(*nanos)),
        Event::WriteFailed { code } => head.put(&code.to_le_bytes()),
        Event::ClockRead { clock, value } => head.put(&body::clock_read(*clock, *value)),
        Event::Called {
            call,
            result,
            details,
        } => {
            head.put(&body::called(*call, *result));
            tail = details;
        }
        Event::Seen { from, to, payload } => {
            head.put_endpoint(from);
            head.put_endpoint(to);
            tail = payload;
        }
        Event::CaptureDrops { count } => head.put(&count.to_le_bytes()),
        Event::Cut { of, length } => {
            head.put(&of.0.to_le_bytes());
            head.put(&length.to_le_bytes());
        }
        Event::Fault { of, verdict } => {
            let (number, nanos) = verdict.to_numbers();
            head.put(&of.0.to_le_bytes());
            head.put(&[number]);
            head.put(&nanos.to_le_bytes());
        }
        Event::Relay {
            socket,
            listener,
            client,
        } => {
            head.put(&socket.0.to_le_bytes());
            head.put(&listener.0.to_le_bytes());
            head.put_endpoint(client);
        }
        Event::Interface { link_type, name } => {
            head.put(&link_type.to_le_bytes());
            tail = name;
        }
        Event::Believed { object, believed } => {
            head.put(&object.to_le_bytes());
            match believed {
                Believed::Created { owner: None } => head.put(&[CREATED]),
                Believed::Created { owner: Some(owner) } => {
                    head.put(&[CREATED_BY]);
                    head.put(&owner.to_le_bytes());
                }
                Believed::Destroyed => head.put(&[DESTROYED]),
                Believed::Owner { owner } => {
                    head.put(&[OWNER]);
                    head.put(&owner.to_le_bytes());
                }
                Believed::Value { said } => {
                    head.put(&[VALUE]);
                    tail = said;
                }
            }
        }
        Event::Triggered { trigger, text } => {
            head.put(&[trigger.cause.0, u8::from(trigger.from_peer)]);
            head.put(&trigger.id.to_le_bytes());
            head.put(&trigger.utc_ns.to_le_bytes());
            head.put(&trigger.before_ms.to_le_bytes());
            head.put(&trigger.after_ms.to_le_bytes());
            tail = text;
        }
    }
    (head, tail)
}

/// What a game believes, in a body.
const CREATED: u8 = 0;
const CREATED_BY: u8 = 1;
const DESTROYED: u8 = 2;
const OWNER: u8 = 3;
const VALUE: u8 = 4;

/// Why a plain event could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainError {
    /// This reader does not know the kind.
    UnknownKind,
    /// The kind is known, and the body is not one of its kind.
    BrokenBody,
}

/// Reads an event back.
#[inline]
pub fn plain_read(kind: u8, body: &[u8]) -> Result<Event<'_>, PlainError> {
    let kind = EventKind::from_number(kind).ok_or(PlainError::UnknownKind)?;
    let mut from = Cursor::new(body);
    // A later writer may have put more behind the fields that are known here.
    read_known(kind, &mut from).ok_or(PlainError::BrokenBody)
}

// What most events are is read in place: an event that a call returns is copied.
#[inline]
fn read_known<'a>(kind: EventKind, from: &mut Cursor<'a>) -> Option<Event<'a>> {
    match kind {
        EventKind::Sent => Some(Event::Sent {
            socket: socket(from)?,
            to: endpoint(from)?,
            payload: from.rest(),
        }),
        EventKind::Received => Some(Event::Received {
            socket: socket(from)?,
            from: endpoint(from)?,
            payload: from.rest(),
        }),
        EventKind::SendResult => {
            let of = EventNumber(from.u64()?);
            let (tag, value) = (from.u8()?, from.u32()?);
            let outcome = match tag {
                0 => SendOutcome::Sent,
                1 => SendOutcome::Short(value),
                2 => SendOutcome::Failed(value as i32),
                _ => return None,
            };
            Some(Event::SendResult { of, outcome })
        }
        _ => read_rarely(kind, from),
    }
}

#[inline(never)]
fn read_rarely<'a>(kind: EventKind, from: &mut Cursor<'a>) -> Option<Event<'a>> {
    Some(match kind {
        EventKind::Sent | EventKind::Received | EventKind::SendResult => return None,
        EventKind::SocketOpened => Event::SocketOpened {
            socket: socket(from)?,
            local: endpoint(from)?,
        },
        EventKind::SocketClosed => Event::SocketClosed {
            socket: socket(from)?,
        },
        EventKind::PollEmpty => Event::PollEmpty {
            socket: socket(from)?,
        },
        EventKind::ReceiveFailed => Event::ReceiveFailed {
            socket: socket(from)?,
            code: from.u32()? as i32,
        },
        EventKind::Clock => Event::Clock {
            value: Time(from.u64()?),
        },
        EventKind::Random => Event::Random { value: from.u64()? },
        EventKind::Input => Event::Input { call: from.rest() },
        EventKind::Tick => Event::Tick {
            tick: from.u64()?,
            time: Time(from.u64()?),
        },
        EventKind::Note => Event::Note { text: from.rest() },
        EventKind::Snapshot => Event::Snapshot { state: from.rest() },
        EventKind::Switched => Event::Switched {
            on: from.u8()? != 0,
        },
        EventKind::Dropped => Event::Dropped { count: from.u64()? },
        EventKind::Stalled => Event::Stalled { nanos: from.u64()? },
        EventKind::WriteFailed => Event::WriteFailed {
            code: from.u32()? as i32,
        },
        EventKind::ClockRead => Event::ClockRead {
            clock: ClockId(from.u8()?),
            value: from.u64()?,
        },
        EventKind::Called => Event::Called {
            call: CallId(from.u8()?),
            result: from.u32()? as i32,
            details: from.rest(),
        },
        EventKind::Seen => Event::Seen {
            from: endpoint(from)?,
            to: endpoint(from)?,
            payload: from.rest(),
        },
        EventKind::CaptureDrops => Event::CaptureDrops { count: from.u64()? },
        EventKind::Cut => Event::Cut {
            of: EventNumber(from.u64()?),
            length: from.u32()?,
        },
        EventKind::Fault => Event::Fault {
            of: EventNumber(from.u64()?),
            verdict: FaultVerdict::from_numbers(from.u8()?, from.u64()?)?,
        },
        EventKind::Relay => Event::Relay {
            socket: socket(from)?,
            listener: socket(from)?,
            client: endpoint(from)?,
        },
        EventKind::Interface => Event::Interface {
            link_type: from.u32()?,
            name: from.rest(),
        },
        EventKind::Believed => Event::Believed {
            object: from.u64()?,
            believed: match from.u8()? {
                CREATED => Believed::Created { owner: None },
                CREATED_BY => Believed::Created {
                    owner: Some(from.u64()?),
                },
                DESTROYED => Believed::Destroyed,
                OWNER => Believed::Owner { owner: from.u64()? },
                VALUE => Believed::Value { said: from.rest() },
                _ => return None,
            },
        },
        EventKind::Triggered => Event::Triggered {
            trigger: Trigger {
                cause: TriggerCause(from.u8()?),
                from_peer: from.u8()? != 0,
                id: from.u64()?,
                utc_ns: from.u64()? as i64,
                before_ms: from.u32()?,
                after_ms: from.u32()?,
            },
            text: from.rest(),
        },
    })
}

#[inline]
fn socket(from: &mut Cursor<'_>) -> Option<SocketId> {
    from.u16().map(SocketId)
}

#[inline]
fn endpoint(from: &mut Cursor<'_>) -> Option<Endpoint> {
    let family = from.u8()?;
    let port = from.u16()?;
    match family {
        4 => Some(SocketAddr::new(
            IpAddr::V4(Ipv4Addr::from(from.array::<4>()?)),
            port,
        )),
        6 => {
            let ip = Ipv6Addr::from(from.array::<16>()?);
            let flowinfo = from.u32()?;
            let scope = from.u32()?;
            Some(SocketAddr::V6(SocketAddrV6::new(ip, port, flowinfo, scope)))
        }
        _ => None,
    }
}

/// A record that owns its bytes, for whoever cannot hold on to the block that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRecord {
    number: EventNumber,
    time: Time,
    thread: crate::ThreadId,
    kind: EventKind,
    body: Vec<u8>,
}

impl OwnedRecord {
    /// Copies a record.
    pub fn copy_of(record: &crate::Record<'_>) -> OwnedRecord {
        let (head, tail) = plain_parts(&record.event);
        let mut body = Vec::with_capacity(head.bytes().len() + tail.len());
        body.extend_from_slice(head.bytes());
        body.extend_from_slice(tail);
        OwnedRecord {
            number: record.number,
            time: record.time,
            thread: record.thread,
            kind: record.event.kind(),
            body,
        }
    }

    /// Its number.
    pub(crate) fn number(&self) -> EventNumber {
        self.number
    }

    /// The record, borrowing from `self`.
    pub fn as_record(&self) -> crate::Record<'_> {
        let event = read_known(self.kind, &mut Cursor::new(&self.body))
            // The body was laid out by `copy_of` and cannot be reached from outside.
            .unwrap_or(Event::Note { text: &self.body });
        crate::Record {
            number: self.number,
            time: self.time,
            thread: self.thread,
            event,
        }
    }
}

#[cfg(test)]
mod tests;
