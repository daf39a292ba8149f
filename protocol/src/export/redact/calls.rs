//! What an unmodified program asked its operating system for: where addresses, names and bytes of
//! strangers stand in the details. `docs/reel-format.md` has their layouts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use netreel_reel::{CallId, Endpoint};

use super::forms::Form;
use super::map::Map;
use super::report::{ReelReport, Removed};
use super::secrets::Place;
use super::{Bytes, Redaction};

/// The endpoint in the details of a call, if it has one.
pub(super) fn endpoint(call: CallId, details: &[u8]) -> Option<Endpoint> {
    let bytes = details.get(2..).filter(|_| call == CallId::CONNECT)?;
    let port = u16::from_le_bytes(bytes.get(1..3)?.try_into().ok()?);
    match bytes.first()? {
        4 => {
            let ip: [u8; 4] = bytes.get(3..7)?.try_into().ok()?;
            Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(ip)), port))
        }
        6 => {
            let ip: [u8; 16] = bytes.get(3..19)?.try_into().ok()?;
            let flow = u32::from_le_bytes(bytes.get(19..23)?.try_into().ok()?);
            let scope = u32::from_le_bytes(bytes.get(23..27)?.try_into().ok()?);
            Some(SocketAddrV6::new(Ipv6Addr::from(ip), port, flow, scope).into())
        }
        _ => None,
    }
}

/// The path of the program that a call starts, where it is a text.
pub(super) fn path(call: CallId, details: &[u8]) -> Option<&str> {
    let starts = call == CallId::EXEC || call == CallId::SPAWN;
    let path = details.get(1..).filter(|_| starts)?;
    std::str::from_utf8(path).ok()
}

/// Where the bytes of strangers begin in the details of a call: a packet that was looked at.
pub(super) fn peeked(call: CallId, details: &[u8]) -> Option<&[u8]> {
    details.get(2..).filter(|_| call == CallId::PEEK)
}

/// The details as they are in the copy; `None`: as they were.
pub(super) fn details(
    (call, details): (CallId, &[u8]),
    rules: &Redaction,
    map: &Map,
    opaque: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    report: &mut ReelReport,
) -> Option<Vec<u8>> {
    let with_head = |head: usize, rest: Vec<u8>| {
        let mut new = details.get(..head).unwrap_or_default().to_vec();
        new.extend(rest);
        new
    };
    if let Some(old) = endpoint(call, details) {
        let new = map.endpoint(old);
        count_endpoint(old, new, report);
        return (new != old).then(|| put(details, new));
    }
    if let Some(old) = path(call, details) {
        let new = map.text(old, Form::Any, &rules.remove)?;
        report.count(Removed::Paths);
        return Some(with_head(1, new.into_bytes()));
    }
    if let Some(bytes) = peeked(call, details) {
        let new = opaque(bytes)?;
        report.count(Removed::Payloads);
        return Some(with_head(2, new));
    }
    let (head, what, becomes) = match call {
        CallId::RANDOM => (1, Removed::Random, rules.random),
        CallId::SET_OPTION if names_interface(details) => {
            (10, Removed::CallDetails, Bytes::Lengths)
        }
        // A path that is no text.
        CallId::EXEC | CallId::SPAWN => (1, Removed::Paths, Bytes::Lengths),
        _ => return None,
    };
    let new = becomes.of(details.get(head..)?)?;
    report.count(what);
    Some(with_head(head, new))
}

/// What is searched in the details: all of them, as numbers, of which four may look like an address;
/// and the bytes in them that others filled.
pub(super) fn searched(call: CallId, details: &[u8]) -> [(&[u8], Place); 2] {
    let head = match call {
        CallId::CONNECT if endpoint(call, details).is_some() => details.len(),
        CallId::SET_OPTION => 10,
        CallId::RANDOM | CallId::EXEC | CallId::SPAWN => 1,
        CallId::SOCKET
        | CallId::BIND
        | CallId::CLOSE
        | CallId::DUP
        | CallId::POLL
        | CallId::PPOLL
        | CallId::SELECT
        | CallId::PSELECT
        | CallId::EPOLL_WAIT
        | CallId::EPOLL_PWAIT
        | CallId::EPOLL_CTL
        | CallId::SLEEP
        | CallId::FORK
        | CallId::RECEIVE_QUEUE
        | CallId::IOCTL
        | CallId::ERROR_QUEUE
        | CallId::SHUTDOWN
        | CallId::VDSO
        | CallId::PAST
        | CallId::JOINED => details.len(),
        _ => 2,
    };
    let content = details.get(head..).unwrap_or_default();
    [(details, Place::Numbers), (content, Place::Content)]
}

/// The details with zeros behind the numbers that tell which socket it was, or how it was asked.
pub(super) fn emptied(call: CallId, details: &[u8]) -> Vec<u8> {
    let head = match call {
        CallId::RANDOM | CallId::EXEC | CallId::SPAWN => 1,
        _ => 2,
    };
    let mut new = details.get(..head).unwrap_or(details).to_vec();
    new.resize(details.len(), 0);
    new
}

pub(super) fn count_endpoint(old: Endpoint, new: Endpoint, report: &mut ReelReport) {
    if old.ip() != new.ip() {
        report.count(Removed::Addresses);
    }
    if old.port() != new.port() {
        report.count(Removed::Ports);
    }
}

/// Options whose value is an address of the machine, or the name of an interface.
fn names_interface(details: &[u8]) -> bool {
    let number = |at: usize| {
        let bytes = details.get(at..at + 4)?.try_into().ok()?;
        Some(i32::from_le_bytes(bytes))
    };
    match (number(2), number(6)) {
        // SOL_SOCKET: SO_BINDTODEVICE.
        (Some(1), Some(25)) => true,
        // IPPROTO_IP: the groups of IP_MULTICAST_IF to MCAST_MSFILTER, IP_UNICAST_IF.
        (Some(0), Some(32 | 35..=48 | 50)) => true,
        // IPPROTO_IPV6: memberships, multicast and unicast interfaces, destination options.
        (Some(41), Some(17 | 20 | 21 | 27 | 28 | 42..=48 | 76)) => true,
        _ => false,
    }
}

/// The details with another endpoint, as long as the one that was there where it is of its kind.
fn put(details: &[u8], endpoint: Endpoint) -> Vec<u8> {
    let mut new = details.get(..2).unwrap_or_default().to_vec();
    let old_length = match endpoint {
        SocketAddr::V4(v4) => {
            new.push(4);
            new.extend(v4.port().to_le_bytes());
            new.extend(v4.ip().octets());
            9
        }
        SocketAddr::V6(v6) => {
            new.push(6);
            new.extend(v6.port().to_le_bytes());
            new.extend(v6.ip().octets());
            new.extend(v6.flowinfo().to_le_bytes());
            new.extend(v6.scope_id().to_le_bytes());
            29
        }
    };
    new.extend(details.get(old_length..).unwrap_or_default());
    new
}
