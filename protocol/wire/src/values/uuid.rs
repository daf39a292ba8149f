//! UUIDs as text: RFC 9562, section 4.

use super::hexadecimal;

/// `00112233-4455-6677-8899-aabbccddeeff`; bytes that are not 16 are left as plain digits.
pub(crate) fn to_text(bytes: &[u8]) -> String {
    let mut text = hexadecimal::text(bytes);
    if bytes.len() == 16 {
        for place in [20, 16, 12, 8] {
            text.insert(place, '-');
        }
    }
    text
}

/// The 16 bytes of a text, with hyphens or without.
pub(crate) fn from_text(text: &str) -> Option<Vec<u8>> {
    let digits = text.chars().filter(|&character| character != '-');
    hexadecimal::bytes(digits).filter(|bytes| bytes.len() == 16)
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
