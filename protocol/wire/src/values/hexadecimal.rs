//! Bytes as pairs of hexadecimal digits.

use std::fmt::Write as _;

/// The bytes of an even number of digits.
pub(crate) fn bytes(digits: impl IntoIterator<Item = char>) -> Option<Vec<u8>> {
    let digits = digits.into_iter().map(|digit| digit.to_digit(16));
    let digits: Vec<u32> = digits.collect::<Option<_>>()?;
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some((high << 4 | low) as u8),
        _ => None,
    });
    pairs.collect()
}

/// Two digits a byte.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
