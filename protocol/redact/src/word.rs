//! Single words in a text: addresses, names of machines, ports, people's folders.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// Something in a text that is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Address(IpAddr),
    /// The port behind an address or a host name.
    Port(u16),
    Host(String),
    User(String),
}

/// Whether a text is an address, be it of a net (`10.0.0.0/8`).
pub(crate) fn is_address(text: &str) -> bool {
    let address_only = text.split_once('/').map_or(text, |(address, _)| address);
    address(text, "").is_some_and(|(length, _)| length == address_only.len())
}

/// Whether a machine's name is found in any text, not only where a text's form tells it.
pub(crate) fn is_host(name: &str) -> bool {
    host(name, None).is_some_and(|(length, _)| length == name.len())
}

/// An address at the front of a text, and how long it is.
pub(crate) fn address(text: &str, before: &str) -> Option<(usize, Word)> {
    let front = |is_part: fn(char) -> bool| text.split(|c| !is_part(c)).next().unwrap_or_default();
    let alone = |found: &str| {
        let behind = text.as_bytes().get(found.len()..).unwrap_or_default();
        is_alone(found.contains(':'), before.as_bytes(), behind)
    };
    let four = front(|c| c.is_ascii_digit() || c == '.').trim_end_matches('.');
    if let Ok(v4) = four.parse::<Ipv4Addr>()
        && alone(four)
    {
        return Some((four.len(), Word::Address(v4.into())));
    }
    let six = front(|c| c.is_ascii_hexdigit() || c == ':' || c == '.');
    let cut = [
        six,
        six.trim_end_matches('.'),
        six.trim_end_matches(['.', ':']),
    ];
    let (six, v6) = cut
        .into_iter()
        .find_map(|six| Some((six, six.parse::<Ipv6Addr>().ok()?)))?;
    alone(six).then(|| (six.len(), Word::Address(v6.into())))
}

/// Whether nothing before or behind an address in digits makes another one of it.
pub(crate) fn is_alone(is_v6: bool, before: &[u8], behind: &[u8]) -> bool {
    if is_v6 {
        let goes_on = match behind {
            [b':', next, ..] => next.is_ascii_hexdigit() || *next == b':',
            [next, ..] => next.is_ascii_alphanumeric(),
            [] => false,
        };
        let last = before.last();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b':';
        return !goes_on && !last.is_some_and(is_part);
    }
    let is_part = |near: Option<&u8>, next: Option<&u8>| match near {
        Some(b'.') => next.is_some_and(u8::is_ascii_digit),
        near => near.is_some_and(u8::is_ascii_digit),
    };
    let (mut backward, mut forward) = (before.iter().rev(), behind.iter());
    !is_part(backward.next(), backward.next()) && !is_part(forward.next(), forward.next())
}

/// Ends of names that are files, not machines.
const FILES: &[&str] = &[
    "bak", "bin", "bsp", "c", "cc", "cfg", "conf", "cpp", "csv", "dat", "db", "dll", "dm_71",
    "exe", "gz", "h", "hpp", "html", "ini", "jpg", "js", "json", "log", "lua", "map", "md", "mp3",
    "ogg", "pak", "pcap", "pcapng", "pck", "pk3", "png", "py", "reel", "ring", "rs", "sh", "so",
    "tar", "tmp", "toml", "ts", "tscn", "txt", "wad", "wasm", "wav", "wire", "xml", "yaml", "yml",
    "zip", "zst",
];

/// A machine's name at the front of a text: labels with points between, the last of letters. A
/// name before an `@` belongs to it.
pub(crate) fn host(text: &str, before: Option<char>) -> Option<(usize, Word)> {
    let is_label = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if before.is_some_and(|c| is_label(c) || matches!(c, '.' | '/' | '\\')) {
        return None;
    }
    let length = text.find(|c| !(is_label(c) || matches!(c, '.' | '@' | '+')));
    let name = text.get(..length.unwrap_or(text.len()))?;
    let name = name.trim_end_matches(['.', '@', '+', '-', '_']);
    let labels = name.rsplit('@').next()?.split('.').collect::<Vec<_>>();
    let last = labels.last()?;
    let is_name = labels.len() >= 2
        && last.len() >= 2
        && labels.iter().all(|label| !label.is_empty())
        && last.chars().all(|c| c.is_ascii_alphabetic())
        && *last != "example"
        && !FILES.contains(&last.to_ascii_lowercase().as_str());
    is_name.then(|| (name.len(), Word::Host(name.to_owned())))
}

/// `:7000`, or `]:7000`.
pub(crate) fn port(text: &str) -> Option<(Range<usize>, u16)> {
    let start = if text.starts_with("]:") { 2 } else { 1 };
    let rest = text.strip_prefix("]:").or_else(|| text.strip_prefix(':'))?;
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let port = rest.get(..digits)?.parse().ok()?;
    Some((start..start + digits, port))
}

/// A person's folder: where the name stands.
pub(crate) fn user(text: &str) -> Option<(Range<usize>, Word)> {
    let folders = ["/home/", "/Users/", "\\Users\\", "/Documents and Settings/"];
    let start = folders
        .iter()
        .find(|folder| text.starts_with(**folder))?
        .len();
    let rest = text.get(start..)?;
    let end = |c: char| matches!(c, '/' | '\\' | ':' | '"' | '\'' | ',' | ';') || c.is_whitespace();
    let name = rest.get(..rest.find(end).unwrap_or(rest.len()))?;
    (!name.is_empty()).then(|| (start..start + name.len(), Word::User(name.to_owned())))
}
