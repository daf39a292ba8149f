//! What an unmodified program asked its operating system for: where addresses, names and bytes of
//! strangers stand in the details. `docs/reel-format.md` has their layouts.

use netreel_reel::{CallId, Endpoint, Event, EventKind, Removed, StartId, plain_parts, plain_read};

use crate::forms::Form;
use crate::map::Map;
use crate::report::ReelReport;
use crate::rules::{Bytes, DROPPED, Redaction, Texts};
use crate::secrets::Place;

/// What stands in the details behind the numbers that tell which socket it was, how it was asked, and
/// the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// Nothing.
    Numbers,
    /// An endpoint.
    Peer,
    /// The path of a program that is started.
    Program,
    /// The path of a file that was opened.
    File,
    /// A file that the program changed, with what was in it: a copy that cannot be started again needs none
    /// of it.
    Found,
    /// A packet.
    Packet,
    /// Bytes that go their kind's way.
    Bytes(Removed),
    /// Nobody knows.
    Unknown,
}

/// What a call's details hold, and how many bytes in front of that are numbers.
fn holds(call: CallId, details: &[u8]) -> (usize, Holds) {
    match call {
        CallId::CONNECT | CallId::TCP if endpoint(call, details).is_some() => {
            (details.len(), Holds::Peer)
        }
        CallId::CONNECT | CallId::TCP => (2, Holds::Numbers),
        CallId::EXEC | CallId::SPAWN => (1, Holds::Program),
        CallId::FILE => (FILE_NUMBERS.min(details.len()), Holds::File),
        CallId::FOUND => (1, Holds::Found),
        CallId::PEEK => (2, Holds::Packet),
        CallId::RANDOM => (1, Holds::Bytes(Removed::Random)),
        CallId::START => (1, Holds::Bytes(Removed::Environment)),
        CallId::INPUT | CallId::PIPE => (1, Holds::Bytes(Removed::Typed)),
        CallId::PRINTED => (1, Holds::Bytes(Removed::Printed)),
        CallId::LOOKED_UP => (0, Holds::Bytes(Removed::Lookups)),
        CallId::OWN_NAME | CallId::PEER_NAME => (2, Holds::Bytes(Removed::CallDetails)),
        CallId::GET_OPTION => (10, Holds::Bytes(Removed::CallDetails)),
        CallId::SET_OPTION if names_interface(details) => (10, Holds::Bytes(Removed::CallDetails)),
        CallId::SET_OPTION => (10, Holds::Numbers),
        call if call.holds_numbers() => (details.len(), Holds::Numbers),
        _ => (details.len().min(2), Holds::Unknown),
    }
}

/// A file's length, its last change, its sum, and flags.
const FILE_NUMBERS: usize = 25;
/// The flag that says that the sum is there.
const FILE_HAS_SUM: u8 = 2;

/// Of a file that was found: how it was, and numbers.
const FOUND_NUMBERS: usize = 31;

/// The endpoint in the details of a call, if it has one.
pub(crate) fn endpoint(call: CallId, details: &[u8]) -> Option<Endpoint> {
    match connected(call, details)? {
        Event::Sent { to, .. } => Some(to),
        _ => None,
    }
}

/// A socket, or how a connection was made, and an endpoint: laid out as they are where a packet was sent.
fn connected(call: CallId, details: &[u8]) -> Option<Event<'_>> {
    let read = || plain_read(EventKind::Sent as u8, details).ok();
    matches!(call, CallId::CONNECT | CallId::TCP).then(read)?
}

/// The path of the program that a call starts, where it is a text.
pub(crate) fn path(call: CallId, details: &[u8]) -> Option<&str> {
    let path = details.get(1..).filter(|_| starts_program(call))?;
    std::str::from_utf8(path).ok()
}

fn starts_program(call: CallId) -> bool {
    call == CallId::EXEC || call == CallId::SPAWN
}

/// The path of the file that was opened, where it is a text.
pub(crate) fn file(call: CallId, details: &[u8]) -> Option<&str> {
    let path = details
        .get(FILE_NUMBERS..)
        .filter(|_| call == CallId::FILE)?;
    std::str::from_utf8(path).ok()
}

/// What people wrote, or what names them, in details that have no form of their own: the environment,
/// the standard input, printed lines.
pub(crate) fn written(call: CallId, details: &[u8]) -> Option<&[u8]> {
    let text = matches!(
        call,
        CallId::START | CallId::INPUT | CallId::PIPE | CallId::PRINTED
    );
    details.get(1..).filter(|_| text)
}

/// A variable of the environment.
pub(crate) fn variable(call: CallId, details: &[u8]) -> Option<(&str, &str)> {
    let (kind, text) = details.split_first().filter(|_| call == CallId::START)?;
    let text = std::str::from_utf8(text).ok()?;
    (StartId(*kind) == StartId::VARIABLE).then(|| text.split_once('='))?
}

/// The working directory that the program was started in.
pub(crate) fn folder(call: CallId, details: &[u8]) -> Option<&str> {
    let (kind, text) = details.split_first().filter(|_| call == CallId::START)?;
    let is_folder = StartId(*kind) == StartId::FOLDER;
    std::str::from_utf8(text).ok().filter(|_| is_folder)
}

/// The addresses of a name that was looked up: 29 bytes each, behind two numbers the endpoint.
pub(crate) fn looked_up(call: CallId, details: &[u8]) -> impl Iterator<Item = Endpoint> {
    let all = details
        .chunks_exact(29)
        .filter(move |_| call == CallId::LOOKED_UP);
    // As a peer stands behind the number of a socket.
    all.filter_map(|one| endpoint(CallId::CONNECT, one))
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
    let (numbers, holds) = holds(call, details);
    let (head, behind) = details.split_at_checked(numbers)?;
    let scrubbed = |path: Option<&str>| {
        let new = map.text(path?, Form::Any, &rules.remove)?;
        Some([head, new.as_bytes()].concat())
    };
    let (what, new) = match holds {
        Holds::Numbers | Holds::Peer => return None,
        Holds::Program => match path(call, details) {
            Some(path) => (Removed::Paths, scrubbed(Some(path))?),
            // A path that is no text.
            None => (Removed::Paths, [head, &Bytes::Lengths.of(behind)?].concat()),
        },
        Holds::File => match (rules.files, file(call, details)) {
            (Texts::Keep, _) => return None,
            (Texts::Scrub, Some(path)) => (Removed::Files, scrubbed(Some(path))?),
            (Texts::Scrub, None) | (Texts::Drop, _) => (Removed::Files, emptied(call, details)),
        },
        Holds::Found => (Removed::Files, emptied(call, details)),
        Holds::Packet => (Removed::Payloads, [head, &peeked(behind)?].concat()),
        Holds::Bytes(what) => (what, [head, &rules.details(what).of(behind)?].concat()),
        Holds::Unknown => (
            Removed::CallDetails,
            [head, &Bytes::Lengths.of(behind)?].concat(),
        ),
    };
    report.count(what);
    Some(new)
}

/// What is searched in the details: all of them, as numbers, of which four may look like an address;
/// and the bytes in them that others filled.
pub(crate) fn searched(call: CallId, details: &[u8]) -> [(&[u8], Place); 2] {
    let content = behind(details, holds(call, details).0);
    [(details, Place::Numbers), (content, Place::Content)]
}

fn behind(details: &[u8], head: usize) -> &[u8] {
    details.get(head..).unwrap_or_default()
}

/// How many bytes in front stay where the details cannot.
fn kept(call: CallId, details: &[u8]) -> usize {
    holds(call, details).0.min(2)
}

/// The details with zeros behind the numbers that tell which socket it was, or how it was asked; of a
/// file is left that the program opened one, and whether it may write to it.
pub(crate) fn emptied(call: CallId, details: &[u8]) -> Vec<u8> {
    if let Some(flags) = details
        .get(FILE_NUMBERS - 1)
        .filter(|_| call == CallId::FILE)
    {
        let mut new = vec![0; FILE_NUMBERS - 1];
        new.push(flags & !FILE_HAS_SUM);
        new.extend(DROPPED.as_bytes());
        return new;
    }
    if call == CallId::FOUND {
        let mut new = vec![0; FOUND_NUMBERS];
        new[..1].copy_from_slice(details.get(..1).unwrap_or(&[0]));
        return new;
    }
    let mut new = details
        .get(..kept(call, details))
        .unwrap_or(details)
        .to_vec();
    new.resize(details.len(), 0);
    new
}

/// Whether the details of a call became what they may become, their endpoint and paths aside.
pub(crate) fn fits(call: CallId, rules: &Redaction, old: &[u8], new: &[u8]) -> bool {
    let becomes = |rule: Bytes, head: usize| {
        old.get(..head) == new.get(..head) && rule.fits(behind(old, head), behind(new, head))
    };
    let zeros = |head: usize| becomes(Bytes::Lengths, head);
    let (numbers, holds) = holds(call, old);
    // What was to be removed stood in it.
    let is_emptied = new == emptied(call, old);
    is_emptied
        || match holds {
            Holds::Numbers | Holds::Peer | Holds::Program => old == new || zeros(numbers),
            Holds::File => rules.files == Texts::Keep && old == new,
            Holds::Found => false,
            Holds::Packet => old == new || zeros(numbers) || becomes(Bytes::Drop, numbers),
            Holds::Bytes(what) => becomes(rules.details(what), numbers),
            Holds::Unknown => zeros(numbers),
        }
}

/// The paths of a file that was opened, before and after, where all else of it is the same.
pub(crate) fn files<'d>(
    call: CallId,
    (old, new): (&'d [u8], &'d [u8]),
) -> Option<(&'d str, &'d str)> {
    let same = old.get(..FILE_NUMBERS) == new.get(..FILE_NUMBERS);
    file(call, old).zip(file(call, new)).filter(|_| same)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_call_holds_is_known() {
        let known = (0..=u8::MAX).map(CallId);
        for call in known.filter(|call| call.name() != "call") {
            let name = call.name();
            assert_ne!(
                holds(call, &[0; 64]).1,
                Holds::Unknown,
                "`holds` lacks what the details of {name} hold beside numbers"
            );
        }
        assert_eq!(holds(CallId(200), &[0; 64]), (2, Holds::Unknown));
    }

    #[test]
    fn of_a_file_that_was_changed_is_left_that_there_was_one() {
        let details = [&[1; 31][..], b"/home/ann/x and what was in it"].concat();
        let left = [&[1][..], &[0; 30]].concat();
        assert_eq!(emptied(CallId::FOUND, &details), left);
        assert!(fits(CallId::FOUND, &Redaction::default(), &details, &left));
    }

    #[test]
    fn of_a_file_is_left_whether_it_is_written_to() {
        let details = [&[7; 24][..], &[3], b"/home/ann/x"].concat();
        let left = [&[0; 24][..], &[1], DROPPED.as_bytes()].concat();
        assert_eq!(emptied(CallId::FILE, &details), left);
    }
}
