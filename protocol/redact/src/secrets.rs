//! What must not be found any more, in all forms in which it may stand in bytes.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netreel_reel::Removed;

use crate::map::Map;
use crate::rules::{RedactError, Redaction};
use crate::word::{is_alone, is_host};

/// Shorter texts are found by chance.
const TEXT_MIN: usize = 3;

/// IPv6 addresses with fewer bytes that are not 0, such as ::1, are numbers as well.
const TELLING_BYTES: usize = 4;

/// All that is searched for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    patterns: Vec<Pattern>,
    /// The places of patterns in the list, by their first two bytes.
    starts: BTreeMap<[u8; 2], Vec<u32>>,
    /// Whether some pattern starts with these two bytes, by the number that they are.
    is_start: Vec<bool>,
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
    /// In the details of a call that are numbers.
    Numbers,
    /// Anywhere in a file, between its own numbers.
    File,
    /// In the text of a wire, which has words of its own.
    Wire,
}

impl Secrets {
    pub fn new(rules: &Redaction, map: &Map) -> Result<Secrets, RedactError> {
        let mut secrets = Secrets {
            is_start: vec![false; 1 << 16],
            ..Secrets::default()
        };
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
                let form = match telling < TELLING_BYTES {
                    true => Form::Short,
                    false => Form::Binary,
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
        let Some(&[a, b]) = bytes.first_chunk::<2>() else {
            return;
        };
        if let Some(is_start) = self.is_start.get_mut(number(a, b)) {
            *is_start = true;
        }
        let place = self.patterns.len() as u32;
        self.starts.entry([a, b]).or_default().push(place);
        self.patterns.push(Pattern { bytes, what, form });
    }

    /// How many bytes the longest has.
    pub fn longest(&self) -> usize {
        let lengths = self.patterns.iter().map(|pattern| pattern.bytes.len());
        lengths.max().unwrap_or(0)
    }

    /// The first thing that stands in these bytes, and where.
    pub fn find(&self, bytes: &[u8], place: Place) -> Option<(usize, Removed)> {
        // A quick look, for a file may be long.
        let is_start = |pair: &[u8]| match *pair {
            [a, b] => self.is_start.get(number(a, b)) == Some(&true),
            _ => false,
        };
        let pairs = bytes.windows(2).enumerate();
        let mut starts = pairs.filter(|(_, pair)| is_start(pair));
        starts.find_map(|(at, _)| Some((at, self.at(bytes, at, place)?)))
    }

    fn at(&self, bytes: &[u8], at: usize, place: Place) -> Option<Removed> {
        let rest = bytes.get(at..)?;
        let places = self.starts.get(rest.first_chunk::<2>()?)?;
        let patterns = places
            .iter()
            .filter_map(|&at| self.patterns.get(at as usize));
        let mut stands = patterns.filter(|pattern| {
            let behind = || rest.get(pattern.bytes.len()..).unwrap_or_default();
            rest.starts_with(&pattern.bytes)
                && match pattern.form {
                    Form::Binary => true,
                    Form::Text => place != Place::Wire || pattern.what == Removed::Texts,
                    Form::Digits => {
                        let is_v6 = pattern.bytes.contains(&b':');
                        is_alone(is_v6, bytes.get(..at).unwrap_or_default(), behind())
                    }
                    // As the reel writes an endpoint.
                    Form::Short if place == Place::Numbers => {
                        let before = |by| at.checked_sub(by).and_then(|at| bytes.get(at));
                        // The port stands between.
                        match pattern.bytes.len() {
                            4 => before(1) == Some(&5) || before(3) == Some(&4),
                            _ => before(3) == Some(&6),
                        }
                    }
                    // In a file they are found by chance: its endpoints were read back and
                    // compared one by one.
                    Form::Short => place == Place::Content,
                }
        });
        stands.next().map(|pattern| pattern.what)
    }
}

fn number(a: u8, b: u8) -> usize {
    usize::from(u16::from_le_bytes([a, b]))
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}
