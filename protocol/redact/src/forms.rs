//! Names in the texts that netreel itself writes: what has a known form names machines and ports
//! that could be any word elsewhere.

use std::ops::Range;

use crate::word::{Word, is_address};

/// What is known of how a text was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Nothing: anybody wrote it.
    Any,
    /// A note, which may be one of netreel's own.
    Note,
    /// An argument of a program.
    Argument,
    /// What another node said of its trigger, behind that machine's name.
    PeerTrigger,
}

/// What stands in a text at places that its form tells, in order.
pub(crate) fn told(text: &str, form: Form) -> Vec<(Range<usize>, Word)> {
    match form {
        Form::Any => Vec::new(),
        Form::Note => proxied(text)
            .map(|name| vec![name])
            .or_else(|| filtered(text))
            .unwrap_or_default(),
        Form::Argument => target(text).into_iter().collect(),
        Form::PeerTrigger => text
            .find(": ")
            .and_then(|end| named(text, 0..end))
            .into_iter()
            .collect(),
    }
}

/// `LISTEN stands for NAME:PORT, which is ADDRESS; its receive buffer has ...`, as a proxy says.
fn proxied(text: &str) -> Option<(Range<usize>, Word)> {
    let (before, rest) = text.split_once(" stands for ")?;
    let (target, rest) = rest.split_once(", which is ")?;
    let (name, _) = target.rsplit_once(':')?;
    let start = before.len() + " stands for ".len();
    let is_own = rest.contains("; its receive buffer has ");
    named(text, start..start + name.len()).filter(|_| is_own)
}

/// `NAME:PORT`, `LISTEN=NAME:PORT`, `--connect=NAME:PORT`.
fn target(text: &str) -> Option<(Range<usize>, Word)> {
    let start = text.rfind('=').map_or(0, |at| at + 1);
    let (name, port) = text.get(start..)?.split_once(':')?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let is_name = name.chars().all(is_part) && name.contains(|c: char| c.is_ascii_alphabetic());
    let is_port = port.parse::<u16>().is_ok();
    named(text, start..start + name.len()).filter(|_| is_name && is_port)
}

/// `captured at INTERFACE with the filter ...`, as a capture says.
fn filtered(text: &str) -> Option<Vec<(Range<usize>, Word)>> {
    let opening = " with the filter `";
    let start = text
        .starts_with("captured at ")
        .then(|| text.find(opening))??
        + opening.len();
    let end = text.rfind('`').filter(|end| *end >= start)?;
    let mut found = Vec::new();
    let mut asked = Asked::Nothing;
    let mut at = start;
    while at < end {
        let rest = text.get(at..end).unwrap_or_default();
        let is_part = |c: char| c.is_ascii_alphanumeric() || ".:-_/".contains(c);
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let Some(word) = rest.get(..length).filter(|word| !word.is_empty()) else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        match Asked::by(word) {
            Some(by) => asked = by.unwrap_or(asked),
            None if asked == Asked::Machine => found.extend(named(text, at..at + length)),
            None if asked == Asked::Port => {
                let mut start = at;
                for number in word.split('-') {
                    let range = start..start + number.len();
                    let port = number.parse().ok();
                    found.extend(port.map(|port| (range, Word::Port(port))));
                    start += number.len() + 1;
                }
            }
            None => {}
        }
        at += length;
    }
    Some(found)
}

/// What a word of a capture filter that is not one of its own is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Machine,
    Port,
    Nothing,
}

impl Asked {
    /// What is asked behind one of a filter's own words (`Some(None)`: the same as before it).
    fn by(word: &str) -> Option<Option<Asked>> {
        Some(match word {
            "and" | "or" | "not" => None,
            "host" | "net" | "gateway" | "src" | "dst" => Some(Asked::Machine),
            "port" | "portrange" => Some(Asked::Port),
            "arp" | "broadcast" | "ether" | "greater" | "icmp" | "icmp6" | "ip" | "ip6" | "len"
            | "less" | "mask" | "mpls" | "multicast" | "proto" | "protochain" | "rarp" | "tcp"
            | "udp" | "vlan" => Some(Asked::Nothing),
            _ => return None,
        })
    }
}

/// A machine's name at a place of a text, unless it is an address, which is found as such, or one
/// that stands for another already.
fn named(text: &str, range: Range<usize>) -> Option<(Range<usize>, Word)> {
    let name = text.get(range.clone())?;
    let is_name = !name.is_empty()
        && !name.contains(char::is_whitespace)
        && !name.ends_with(".example")
        && !is_address(name.trim_matches(['[', ']']));
    is_name.then(|| (range, Word::Host(name.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(form: Form, text: &str, expected: &[&str]) {
        let found = told(text, form);
        let found: Vec<&str> = found.into_iter().map(|(range, _)| &text[range]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_proxy_s_target_is_a_name_unless_it_is_an_address() {
        let note = |target: &str| {
            format!("127.0.0.1:7 stands for {target}, which is [::1]:9; its receive buffer has 8")
        };
        check(Form::Note, &note("game-host:7000"), &["game-host"]);
        check(Form::Note, &note("10.0.0.9:7000"), &[]);
        check(Form::Note, &note("[fe80::9]:7000"), &[]);
        check(Form::Any, &note("game-host:7000"), &[]);
        check(
            Form::Note,
            "it stands for nothing: a note, which is mine",
            &[],
        );
    }

    #[test]
    fn an_argument_names_a_machine_before_a_port() {
        check(Form::Argument, "127.0.0.1:7=game-host:7000", &["game-host"]);
        check(Form::Argument, "--connect=game-host:7000", &["game-host"]);
        check(Form::Argument, "game-host:7000", &["game-host"]);
        check(Form::Argument, "--at=12:30", &[]);
        check(Form::Argument, "10.0.0.1:7000", &[]);
        check(Form::Argument, "::1", &[]);
    }

    #[test]
    fn a_peer_s_machine_stands_before_what_it_said() {
        check(Form::PeerTrigger, "vm: SIGUSR1: now", &["vm"]);
        check(Form::Note, "vm: SIGUSR1", &[]);
    }

    #[test]
    fn a_capture_filter_names_machines_and_ports() {
        let check = |filter: &str, expected: &[&str]| {
            let note = format!("captured at lo with the filter `{filter}`");
            check(Form::Note, &note, expected);
        };
        check("udp portrange 7800-7801 or 7000", &["7800", "7801", "7000"]);
        check("udp and not host game-host", &["game-host"]);
        check("src a or b and dst port 9", &["a", "b", "9"]);
        check("ether host AA:BB:CC:DD:EE:FF", &["AA:BB:CC:DD:EE:FF"]);
        check("host 010.1.2.3 or net 10.1", &["010.1.2.3", "10.1"]);
        check("host 10.0.0.1 or net 2001:DB8::/32 or host ::1", &[]);
        check("port 7 and udp[8:4] = 1234 and len > 60", &["7"]);
    }
}
