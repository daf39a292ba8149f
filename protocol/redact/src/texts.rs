//! Addresses, host names and people's folders in texts.

use std::net::IpAddr;
use std::ops::Range;

use crate::forms::{self, Form};
use crate::map::{Found, Map};
use crate::word::{Word, address, host, port, user};

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

impl Found {
    /// Whose folders a text names.
    pub fn people(&mut self, text: &str) {
        for (at, _) in text.match_indices(['/', '\\']) {
            if let Some((_, Word::User(name))) = user(text.get(at..).unwrap_or_default()) {
                self.users.insert(name);
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
        let named = self.nodes.iter().chain(&self.people).chain(&self.machines);
        for (node, other) in named {
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
    let (mut new, mut copied) = (String::with_capacity(text.len()), 0);
    for (at, _) in text.match_indices(word) {
        let (before, behind) = (&text[..at], &text[at + word.len()..]);
        if !is_part(before.chars().next_back()) && !is_part(behind.chars().next()) {
            new.push_str(&text[copied..at]);
            new.push_str(other);
            copied = at + word.len();
        }
    }
    new + &text[copied..]
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
