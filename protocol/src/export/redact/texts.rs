//! Addresses, host names and people's folders in texts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use super::forms::{self, Form};
use super::map::{Found, Map};

/// Something in a text that is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Address(IpAddr),
    /// The port behind an address or a host name.
    Port(u16),
    Host(String),
    User(String),
}

/// What stands in a text, in order.
fn words(text: &str, form: Form) -> Vec<(Range<usize>, Word)> {
    let mut told = forms::told(text, form).into_iter().peekable();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let is_web = text.get(..at).is_some_and(|before| before.ends_with("//"));
        let before_host = before.filter(|_| !is_web);
        while told.next_if(|(range, _)| range.start < at).is_some() {}
        let told = told.next_if(|(range, _)| range.start == at);
        let next = match told
            .map(|(range, word)| (range.len(), word))
            .or_else(|| address(rest, text.get(..at).unwrap_or_default()))
            .or_else(|| host(rest, before_host))
        {
            Some((length, word)) => {
                let end = at + length;
                found.push((at..end, word));
                match port(text.get(end..).unwrap_or_default()) {
                    Some((digits, port)) => {
                        found.push((end + digits.start..end + digits.end, Word::Port(port)));
                        end + digits.end
                    }
                    None => end,
                }
            }
            None => match user(rest) {
                Some((name, word)) => {
                    found.push((at + name.start..at + name.end, word));
                    at + name.end
                }
                None => at + rest.chars().next().map_or(1, char::len_utf8),
            },
        };
        at = next;
    }
    found
}

/// Whether a text is an address, be it of a net (`10.0.0.0/8`).
pub(super) fn is_address(text: &str) -> bool {
    let address_only = text.split_once('/').map_or(text, |(address, _)| address);
    address(text, "").is_some_and(|(length, _)| length == address_only.len())
}

/// Whether a machine's name is found in any text, not only where a text's form tells it.
pub(super) fn is_host(name: &str) -> bool {
    host(name, None).is_some_and(|(length, _)| length == name.len())
}

/// An address at the front of a text, and how long it is.
fn address(text: &str, before: &str) -> Option<(usize, Word)> {
    let length = |part: fn(char) -> bool| text.find(|c| !part(c)).unwrap_or(text.len());
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let is_part = match before.strip_suffix('.') {
        Some(more) => is_digit(more.chars().next_back()),
        None => is_digit(before.chars().next_back()),
    };
    let four = length(|c| c.is_ascii_digit() || c == '.');
    let four = text.get(..four)?.trim_end_matches('.');
    if !is_part && let Ok(v4) = four.parse::<Ipv4Addr>() {
        return Some((four.len(), Word::Address(v4.into())));
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == ':';
    if before.chars().next_back().is_some_and(is_part) {
        return None;
    }
    let six = length(|c| c.is_ascii_hexdigit() || c == ':' || c == '.');
    let six = text.get(..six)?;
    let cut = [
        six,
        six.trim_end_matches('.'),
        six.trim_end_matches(['.', ':']),
    ];
    let parsed = cut.iter().find_map(|six| {
        let v6 = six.parse::<Ipv6Addr>().ok()?;
        Some((six.len(), Word::Address(v6.into())))
    });
    let goes_on = |length: usize| {
        let after = text.get(length..).and_then(|after| after.chars().next());
        after.is_some_and(|c| c.is_ascii_alphanumeric())
    };
    parsed.filter(|&(length, _)| !goes_on(length))
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
fn host(text: &str, before: Option<char>) -> Option<(usize, Word)> {
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
fn port(text: &str) -> Option<(Range<usize>, u16)> {
    let start = if text.starts_with("]:") { 2 } else { 1 };
    let rest = text.strip_prefix("]:").or_else(|| text.strip_prefix(':'))?;
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let port = rest.get(..digits)?.parse().ok()?;
    Some((start..start + digits, port))
}

/// A person's folder: where the name stands.
fn user(text: &str) -> Option<(Range<usize>, Word)> {
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

impl Found {
    /// What a text names.
    pub fn text(&mut self, text: &str, form: Form) {
        for (_, word) in words(text, form) {
            match word {
                Word::Address(address) => self.address(address),
                Word::Port(port) => drop(self.ports.insert(port)),
                Word::Host(host) => drop(self.hosts.insert(host)),
                Word::User(user) => drop(self.users.insert(user)),
            }
        }
    }
}

impl Map {
    /// A text in which what is mapped is mapped and what is to be removed is removed; `None` where
    /// nothing changes.
    pub fn text(&self, text: &str, form: Form, remove: &[String]) -> Option<String> {
        let mut new = String::with_capacity(text.len());
        let mut copied = 0;
        for (range, other) in self.mapped(text, form) {
            new.push_str(text.get(copied..range.start).unwrap_or_default());
            new.push_str(&other);
            copied = range.end;
        }
        new.push_str(text.get(copied..).unwrap_or_default());
        for (node, other) in &self.nodes {
            new = replace_word(&new, node, other);
        }
        for text in remove {
            let cross = |c: char| if c.is_whitespace() { c } else { 'x' };
            new = new.replace(text.as_str(), &text.chars().map(cross).collect::<String>());
        }
        (new != text).then_some(new)
    }

    /// What in a text is mapped, nodes aside, and what stands there in the copy.
    pub fn mapped(&self, text: &str, form: Form) -> Vec<(Range<usize>, String)> {
        let other = |word| match word {
            Word::Address(address) => self.addresses.get(&address).map(IpAddr::to_string),
            Word::Port(port) => self.ports.get(&port).map(u16::to_string),
            Word::Host(host) => self.hosts.get(&host).cloned(),
            Word::User(user) => self.users.get(&user).cloned(),
        };
        let words = words(text, form).into_iter();
        words
            .filter_map(|(range, word)| Some((range, other(word)?)))
            .collect()
    }
}

/// Replaces a name where it is not a part of another.
fn replace_word(text: &str, word: &str, other: &str) -> String {
    if word.is_empty() {
        return text.to_owned();
    }
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut new = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, behind) = (&rest[..at], &rest[at + word.len()..]);
        let last = before
            .chars()
            .next_back()
            .or_else(|| new.chars().next_back());
        new.push_str(before);
        let whole = !is_part(last) && !is_part(behind.chars().next());
        new.push_str(if whole { other } else { word });
        rest = behind;
    }
    new + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = words(text, Form::Any)
            .into_iter()
            .map(|(range, _)| &text[range])
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn addresses_are_found_with_their_ports() {
        check("to 10.0.0.1:7000, then", &["10.0.0.1", "7000"]);
        check("--connect=192.168.1.9.", &["192.168.1.9"]);
        check("[fe80::1%eth0]:7000", &["fe80::1"]);
        check("[2001:db8::7]:53", &["2001:db8::7", "53"]);
        check("at ::ffff:10.0.0.1", &["::ffff:10.0.0.1"]);
    }

    #[test]
    fn what_only_looks_like_an_address_is_none() {
        check("12:30:45 std::fs 1.2.3 1.2.3.4.5 999.1.1.1", &[]);
    }

    #[test]
    fn machines_are_found_and_files_are_not() {
        check("play.game.org:27960", &["play.game.org", "27960"]);
        check("mail to ann@studio.com please", &["ann@studio.com"]);
        check("server.cfg libc.so.6 boxes.wire v1.2", &[]);
    }

    #[test]
    fn the_owner_of_a_folder_is_found() {
        check("/home/ann/game/server", &["ann"]);
        check("C:\\Users\\bob\\x", &["bob"]);
    }
}
