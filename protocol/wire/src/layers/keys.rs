//! Keys that are not in the packets: a key-log file beside the recording.

use std::collections::BTreeMap;
use std::fmt;

use crate::values::hexadecimal;

/// Keys by label and id.
///
/// One a line: `LABEL ID KEY`, the last two in hexadecimal; `#` begins a comment. The shape is that
/// of the key logs that TLS libraries write (`SSLKEYLOGFILE`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    keys: BTreeMap<(String, Vec<u8>), Vec<u8>>,
}

/// A line of a key log that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysError {
    /// From 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for KeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for KeysError {}

/// The longest id or key, in bytes.
const BYTES_MAX: usize = 1024;

impl Keys {
    /// Reads a key log. Of two keys with one label and id the last one counts.
    ///
    /// # Errors
    /// The first line that is not a key.
    pub fn parse(text: &str) -> Result<Keys, KeysError> {
        let mut keys = Keys::default();
        for (index, line) in text.lines().enumerate() {
            let failed = |why: String| KeysError {
                line: index + 1,
                why,
            };
            let line = line.split('#').next().unwrap_or_default();
            let parts: Vec<&str> = line.split_ascii_whitespace().collect();
            let [label, id, key] = parts[..] else {
                match parts.len() {
                    0 => continue,
                    found => {
                        let why = format!("expected `LABEL ID KEY`, found {found} words");
                        return Err(failed(why));
                    }
                }
            };
            let id = bytes_of(id).map_err(|why| failed(format!("the id {why}")))?;
            let key = bytes_of(key).map_err(|why| failed(format!("the key {why}")))?;
            keys.insert(label, &id, &key);
        }
        Ok(keys)
    }

    /// Adds all keys of another log; of two with one label and id the later one counts.
    pub fn extend(&mut self, other: Keys) {
        self.keys.extend(other.keys);
    }

    /// Adds a key.
    pub fn insert(&mut self, label: &str, id: &[u8], key: &[u8]) {
        self.keys
            .insert((label.to_owned(), id.to_vec()), key.to_vec());
    }

    /// The key with this label and id.
    pub fn get(&self, label: &str, id: &[u8]) -> Option<&[u8]> {
        let found = self.keys.get(&(label.to_owned(), id.to_vec()));
        found.map(Vec::as_slice)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

fn bytes_of(text: &str) -> Result<Vec<u8>, String> {
    if !text.len().is_multiple_of(2) || text.len() > 2 * BYTES_MAX {
        return Err(format!(
            "has {} digits, which is no number of bytes up to {BYTES_MAX}",
            text.len()
        ));
    }
    hexadecimal::bytes(text.chars()).ok_or_else(|| "is not hexadecimal".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_label_an_id_and_a_key() {
        let text =
            "# a comment\n\nCLIENT 0a0b ff00 # of the first client\nSERVER 01 02\nSERVER 01 03";
        let keys = Keys::parse(text).expect("a key log");
        assert_eq!(keys.get("CLIENT", &[0x0a, 0x0b]), Some(&[0xff, 0][..]));
        assert_eq!(keys.get("SERVER", &[1]), Some(&[3][..]));
        assert_eq!(keys.get("CLIENT", &[1]), None);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let check = |text: &str, expected: &str| {
            let error = Keys::parse(text).expect_err("no key log");
            assert_eq!(error.to_string(), expected);
        };
        check(
            "A 00 11\nA 00\n",
            "line 2: expected `LABEL ID KEY`, found 2 words",
        );
        check("A 0x 11", "line 1: the id is not hexadecimal");
        check(
            "A 00 123",
            "line 1: the key has 3 digits, which is no number of bytes up to 1024",
        );
    }
}
