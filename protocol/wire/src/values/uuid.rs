//! UUIDs as text: RFC 9562, section 4.

use std::fmt::Write as _;

/// `00112233-4455-6677-8899-aabbccddeeff`; bytes that are not 16 are left as plain digits.
pub(crate) fn to_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in bytes.iter().enumerate() {
        if bytes.len() == 16 && matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The 16 bytes of a text, with hyphens or without.
pub(crate) fn from_text(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|&character| character != '-')
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits.filter(|digits| digits.len() == 32)?;
    let pairs = digits.chunks_exact(2);
    Some(pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_comes_back() {
        let text = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
        let bytes = from_text(text).unwrap_or_default();
        assert_eq!(bytes[..4], [0xf8, 0x1d, 0x4f, 0xae]);
        assert_eq!(to_text(&bytes), text);
        assert_eq!(from_text(&text.replace('-', "")), Some(bytes));
        assert_eq!(from_text("f81d"), None);
    }
}
