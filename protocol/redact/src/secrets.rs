//! What must not be found any more, in all forms in which it may stand in bytes.

use std::collections::BTreeSet;
use std::net::IpAddr;

use netreel_reel::Removed;

use crate::map::Map;
use crate::rules::{RedactError, Redaction};
use crate::word::{is_alone, is_host};

/// Shorter texts are found by chance.
const TEXT_MIN: usize = 3;

/// Names with fewer letters are found by chance as well, between numbers also those of this many.
const WORD_MIN: usize = 4;

/// IPv6 addresses with fewer bytes that are not 0, such as ::1, are numbers as well.
const TELLING_BYTES: usize = 4;

/// All that is searched for.
#[derive(Clone, Debug)]
pub(crate) struct Secrets {
    /// Patterns by their first two bytes, as the number that they are: a file may be long.
    starts: Vec<Vec<Pattern>>,
}

#[derive(Clone, Debug)]
struct Pattern {
    bytes: Vec<u8>,
    what: Removed,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    /// A name, which letters before or behind make another word.
    Word,
    /// In digits, which further digits before or behind make another address.
    Digits,
    Binary,
    /// Four bytes, or sixteen that are nearly all 0, which numbers are as well.
    Short,
}

/// Where something is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In bytes that somebody else filled: packets, calls, snapshots, texts.
    Content,
    /// Between numbers, of which four bytes may look like an address: in the details of a call, and
    /// anywhere in a file.
    Numbers,
    /// In the text of a wire, which has words of its own.
    Wire,
}

impl Secrets {
    pub fn new(
        rules: &Redaction,
        map: &Map,
        paths: &BTreeSet<String>,
    ) -> Result<Secrets, RedactError> {
        let starts = vec![Vec::new(); 1 << 16];
        let mut secrets = Secrets { starts };
        for address in map.addresses.keys() {
            secrets.address(*address);
        }
        // One that is known by its place alone may be any word elsewhere.
        for host in map.hosts.keys().filter(|host| is_host(host)) {
            secrets.text(host, Removed::Hosts);
        }
        for user in map.users.keys() {
            // A name alone may be any word.
            for folder in ["/home/", "/Users/", "\\Users\\"] {
                secrets.text(&format!("{folder}{user}"), Removed::Users);
            }
        }
        for (names, what) in [
            (&map.people, Removed::Users),
            (&map.machines, Removed::Hosts),
        ] {
            for name in names.keys() {
                secrets.add(name.as_bytes().to_vec(), what, Form::Word);
                secrets.add(utf16(name), what, Form::Word);
            }
        }
        for path in paths {
            secrets.text(path, Removed::Files);
        }
        for text in &rules.remove {
            if text.len() < TEXT_MIN {
                return Err(RedactError::TooShort(text.clone()));
            }
            secrets.text(text, Removed::Texts);
        }
        Ok(secrets)
    }

    /// What fields said that say nothing now.
    pub fn values(&mut self, values: impl IntoIterator<Item = Vec<u8>>) {
        for value in values {
            self.add(value, Removed::Fields, Form::Text);
        }
    }

    fn address(&mut self, address: IpAddr) {
        let what = Removed::Addresses;
        let text = address.to_string();
        self.add(utf16(&text), what, Form::Text);
        self.add(text.into_bytes(), what, Form::Digits);
        match address {
            IpAddr::V4(v4) => {
                let octets = v4.octets();
                let mut reversed = octets;
                reversed.reverse();
                // RakNet sends them inverted.
                for form in [octets, reversed, octets.map(|byte| !byte)] {
                    self.add(form.to_vec(), what, Form::Short);
                }
            }
            IpAddr::V6(v6) => {
                let octets = v6.octets().to_vec();
                let telling = octets.iter().filter(|byte| **byte != 0).count();
                let form = if telling < TELLING_BYTES {
                    Form::Short
                } else {
                    Form::Binary
                };
                self.add(octets, what, form);
            }
        }
    }

    /// A text, as bytes and in UTF-16.
    fn text(&mut self, text: &str, what: Removed) {
        self.add(text.as_bytes().to_vec(), what, Form::Text);
        self.add(utf16(text), what, Form::Text);
    }

    fn add(&mut self, bytes: Vec<u8>, what: Removed, form: Form) {
        let start = bytes.first_chunk().map(|start| u16::from_le_bytes(*start));
        if let Some(start) = start.and_then(|start| self.starts.get_mut(usize::from(start))) {
            start.push(Pattern { bytes, what, form });
        }
    }

    /// How many bytes the longest has.
    pub fn longest(&self) -> usize {
        let patterns = self.starts.iter().flatten();
        patterns.map(|it| it.bytes.len()).max().unwrap_or(0)
    }

    /// The first thing that stands in these bytes, and where.
    pub fn find(&self, bytes: &[u8], place: Place) -> Option<(usize, Removed)> {
        let mut starts = bytes.array_windows().enumerate();
        starts.find_map(|(at, start)| {
            let patterns = self.starts.get(usize::from(u16::from_le_bytes(*start)))?;
            let mut patterns = patterns.iter();
            let stands = patterns.find(|pattern| pattern.stands_at(at, bytes, place))?;
            Some((at, stands.what))
        })
    }
}

impl Pattern {
    fn stands_at(&self, at: usize, bytes: &[u8], place: Place) -> bool {
        let (before, rest) = bytes.split_at(at);
        let Some(behind) = rest.strip_prefix(self.bytes.as_slice()) else {
            return false;
        };
        match self.form {
            Form::Binary => true,
            Form::Text => place != Place::Wire || self.what == Removed::Texts,
            // In a file's other bytes short ones are found by chance.
            Form::Word => {
                let is_wide = self.bytes.get(1) == Some(&0);
                let letters = self.bytes.len() >> u32::from(is_wide);
                let is_sure = match place {
                    Place::Content => letters >= WORD_MIN,
                    Place::Numbers => letters > WORD_MIN,
                    Place::Wire => false,
                };
                is_sure && is_word(is_wide, before, behind)
            }
            Form::Digits => is_alone(self.bytes.contains(&b':'), before, behind),
            // Between numbers they are found by chance: endpoints are read back and compared one by one.
            Form::Short => place == Place::Content,
        }
    }
}

/// Whether a letter stands on neither side; `is_wide`: of two bytes (UTF-16).
fn is_word(is_wide: bool, before: &[u8], behind: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_before = match (is_wide, before) {
        (true, [.., letter, 0]) | (false, [.., letter]) => is_part(letter),
        _ => false,
    };
    !is_before && !behind.first().is_some_and(is_part)
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}
