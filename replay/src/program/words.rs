//! What stands on a tape, and what a program did instead, in words.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use netreel_reel::tape::{Came, Entry};
use netreel_reel::{CallId, ClockId, Endpoint, EventKind};

use super::laid_out::first_at;
use super::threads::socket_at;

/// An endpoint as the bodies of events have it.
pub(super) fn endpoint_bytes(endpoint: Endpoint) -> Vec<u8> {
    let port = endpoint.port().to_le_bytes();
    match endpoint {
        SocketAddr::V4(v4) => [&[4][..], &port, &v4.ip().octets()].concat(),
        SocketAddr::V6(v6) => [
            &[6][..],
            &port,
            &v6.ip().octets(),
            &v6.flowinfo().to_le_bytes(),
            &v6.scope_id().to_le_bytes(),
        ]
        .concat(),
    }
}

/// The same back; `None` where it is none.
pub(super) fn endpoint_from(bytes: &[u8]) -> Option<Endpoint> {
    match bytes {
        [4, p, q, a, b, c, d] => {
            let ip = IpAddr::from([*a, *b, *c, *d]);
            Some(SocketAddr::new(ip, u16::from_le_bytes([*p, *q])))
        }
        [6, p, q, rest @ ..] if rest.len() == 24 => {
            let ip: [u8; 16] = *rest.first_chunk()?;
            let word = |at| first_at(rest, at).map_or(0, u32::from_le_bytes);
            let port = u16::from_le_bytes([*p, *q]);
            let v6 = SocketAddrV6::new(Ipv6Addr::from(ip), port, word(16), word(20));
            Some(SocketAddr::V6(v6))
        }
        _ => None,
    }
}

/// What a call is.
pub(crate) fn call_words(of: CallId) -> String {
    call(of, "")
}

/// What a step is, apart from the bytes of a packet.
fn step(kind: u8, id: u8, socket: u16) -> String {
    let on = match socket {
        u16::MAX => String::new(),
        socket => format!(" on socket {socket}"),
    };
    match EventKind::from_number(kind) {
        Some(EventKind::Sent) => format!("a send{on}"),
        Some(EventKind::Received | EventKind::PollEmpty | EventKind::ReceiveFailed) => {
            format!("a receive{on}")
        }
        Some(EventKind::ClockRead) => format!("a read of {}", clock(ClockId(id))),
        Some(EventKind::Called) => call(CallId(id), &on),
        _ => "another step".to_owned(),
    }
}

fn call(call: CallId, on: &str) -> String {
    match call {
        CallId::RANDOM => "a draw of random bytes".to_owned(),
        CallId::LOOKED_UP => "a lookup of a name".to_owned(),
        CallId::BARRIER => "a wait at a barrier".to_owned(),
        CallId::ONCE => "what is to run once (pthread_once)".to_owned(),
        CallId::JOIN => "a join that may fail (pthread_tryjoin_np)".to_owned(),
        CallId::LEVEL => "a look at a semaphore (sem_getvalue)".to_owned(),
        CallId::EVENTFD => "a read or raise of an eventfd".to_owned(),
        CallId::TIMERFD => "a call on a timerfd".to_owned(),
        CallId::INPUT => "a read of the standard input".to_owned(),
        CallId::END => "the program's end".to_owned(),
        CallId::JOINED => format!("a send of several packets{on}"),
        CallId::PART => format!("a part of a packet{on}"),
        CallId::BATCH => format!("a receive of several packets{on}"),
        CallId::PEEK => format!("a look at a packet{on}"),
        other => format!("{}{on}", other.name()),
    }
}

fn clock(clock: ClockId) -> String {
    match clock {
        ClockId::REALTIME => "the calendar's clock".to_owned(),
        ClockId::MONOTONIC => "the monotonic clock".to_owned(),
        ClockId::GETTIMEOFDAY => "gettimeofday".to_owned(),
        ClockId::TIME => "time()".to_owned(),
        ClockId(other) => format!("clock {other}"),
    }
}

/// What the recording has.
pub(super) fn of_entry(entry: &Entry) -> String {
    let on_socket = match EventKind::from_number(entry.kind) {
        Some(EventKind::ClockRead) => false,
        Some(EventKind::Called) => socket_at(CallId(entry.id)).is_some(),
        _ => true,
    };
    let socket = if on_socket { entry.socket } else { u16::MAX };
    let step = step(entry.kind, entry.id, socket);
    match EventKind::from_number(entry.kind) {
        Some(EventKind::PollEmpty) => format!("{step} that finds nothing"),
        Some(EventKind::ReceiveFailed) => format!("{step} that fails"),
        _ => step,
    }
}

/// What the program did instead.
pub(super) fn of_came(came: &Came) -> String {
    let step = step(came.kind, came.id, came.socket);
    match came.descriptor {
        fd if fd >= 0 => format!("{step} (descriptor {fd})"),
        _ => step,
    }
}
