//! What an unmodified program asked its operating system for: where addresses, names and bytes of
//! strangers stand in the details. `docs/reel-format.md` has their layouts.

use netreel_reel::{CallId, Endpoint, Event, EventKind, Removed, plain_parts, plain_read};

use crate::forms::Form;
use crate::map::Map;
use crate::report::ReelReport;
use crate::rules::{Bytes, Redaction};
use crate::secrets::Place;

/// The endpoint in the details of a call, if it has one.
pub(crate) fn endpoint(call: CallId, details: &[u8]) -> Option<Endpoint> {
    match connected(call, details)? {
        Event::Sent { to, .. } => Some(to),
        _ => None,
    }
}

/// A socket and an endpoint: laid out as they are where a packet was sent.
fn connected(call: CallId, details: &[u8]) -> Option<Event<'_>> {
    let read = || plain_read(EventKind::Sent as u8, details).ok();
    (call == CallId::CONNECT).then(read)?
}

/// The path of the program that a call starts, where it is a text.
pub(crate) fn path(call: CallId, details: &[u8]) -> Option<&str> {
    let path = details.get(1..).filter(|_| starts_program(call))?;
    std::str::from_utf8(path).ok()
}

fn starts_program(call: CallId) -> bool {
    call == CallId::EXEC || call == CallId::SPAWN
}

/// The details as they are in the copy; `None`: as they were.
pub(crate) fn details(
    (call, details): (CallId, &[u8]),
    rules: &Redaction,
    map: &Map,
    peeked: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    report: &mut ReelReport,
) -> Option<Vec<u8>> {
    if let Some(mut sent) = connected(call, details) {
        let Event::Sent { to, .. } = &mut sent else {
            return None;
        };
        let old = *to;
        *to = map.endpoint(old);
        report.count_endpoint(old, *to);
        let is_other = *to != old;
        let (head, tail) = plain_parts(&sent);
        return is_other.then(|| [head.bytes(), tail].concat());
    }
    let (head, behind) = details.split_at_checked(numbers(call, details))?;
    let (what, new) = match (call, path(call, details)) {
        (_, Some(path)) => {
            let new = map.text(path, Form::Any, &rules.remove)?;
            (Removed::Paths, new.into_bytes())
        }
        // A path that is no text.
        (CallId::EXEC | CallId::SPAWN, None) => (Removed::Paths, Bytes::Lengths.of(behind)?),
        (CallId::PEEK, None) => (Removed::Payloads, peeked(behind)?),
        (CallId::RANDOM, None) => (Removed::Random, rules.random.of(behind)?),
        (CallId::SET_OPTION, None) if names_interface(details) => {
            (Removed::CallDetails, Bytes::Lengths.of(behind)?)
        }
        // Folders, the environment, libraries, what somebody typed, addresses.
        (
            CallId::START
            | CallId::INPUT
            | CallId::PRINTED
            | CallId::LOOKED_UP
            | CallId::OWN_NAME
            | CallId::PEER_NAME
            | CallId::GET_OPTION,
            None,
        ) => (Removed::CallDetails, Bytes::Lengths.of(behind)?),
        _ => return None,
    };
    report.count(what);
    Some([head, &new].concat())
}

/// What is searched in the details: all of them, as numbers, of which four may look like an address;
/// and the bytes in them that others filled.
pub(crate) fn searched(call: CallId, details: &[u8]) -> [(&[u8], Place); 2] {
    let content = behind(details, numbers(call, details));
    [(details, Place::Numbers), (content, Place::Content)]
}

/// How many bytes in front are numbers that tell which socket it was, how it was asked, and the like.
pub(crate) fn numbers(call: CallId, details: &[u8]) -> usize {
    match call {
        CallId::CONNECT if endpoint(call, details).is_some() => details.len(),
        CallId::CONNECT | CallId::PEEK => 2,
        CallId::SET_OPTION | CallId::GET_OPTION => 10,
        CallId::RANDOM | CallId::EXEC | CallId::SPAWN | CallId::START | CallId::INPUT => 1,
        CallId::PRINTED => 1,
        CallId::OWN_NAME | CallId::PEER_NAME => 2,
        CallId::LOOKED_UP => 0,
        // The last that is known here: nobody knows what others have.
        CallId(known) if known <= CallId::BATCH.0 => details.len(),
        _ => 2,
    }
}

fn behind(details: &[u8], head: usize) -> &[u8] {
    details.get(head..).unwrap_or_default()
}

/// How many bytes in front stay where the details cannot.
fn kept(call: CallId, details: &[u8]) -> usize {
    numbers(call, details).min(2)
}

/// The details with zeros behind the numbers that tell which socket it was, or how it was asked.
pub(crate) fn emptied(call: CallId, details: &[u8]) -> Vec<u8> {
    let mut new = details
        .get(..kept(call, details))
        .unwrap_or(details)
        .to_vec();
    new.resize(details.len(), 0);
    new
}

/// Whether the details of a call became what they may become, their endpoint and path aside.
pub(crate) fn fits(call: CallId, rules: &Redaction, old: &[u8], new: &[u8]) -> bool {
    let becomes = |rule: Bytes, head: usize| {
        old.get(..head) == new.get(..head) && rule.fits(behind(old, head), behind(new, head))
    };
    let zeros = |head: usize| becomes(Bytes::Lengths, head);
    let (numbers, kept) = (numbers(call, old), kept(call, old));
    match call {
        // What stands in it is taken away, whatever the rule.
        CallId::RANDOM => {
            becomes(rules.random, numbers) || rules.random == Bytes::Keep && zeros(numbers)
        }
        CallId::PEEK => old == new || zeros(numbers) || becomes(Bytes::Drop, numbers),
        _ => old == new || zeros(numbers) || zeros(kept),
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
