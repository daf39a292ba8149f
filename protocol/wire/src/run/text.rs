//! Text in a packet, at any bit.

use crate::bits::BitReader;
use crate::check::model::Encoding;

/// Whether the bytes of a bit range are text. Takes no memory.
pub(crate) fn is_text(reader: &BitReader<'_>, from: u32, to: u32, encoding: Encoding) -> bool {
    match encoding {
        Encoding::Latin1 => true,
        Encoding::Ascii => match reader.slice(from, to) {
            Some(bytes) => bytes.is_ascii(),
            None => (from..to).step_by(8).all(|at| reader.byte(at).is_ascii()),
        },
        Encoding::Utf8 => match reader.slice(from, to) {
            Some(bytes) => std::str::from_utf8(bytes).is_ok(),
            None => is_shifted_utf8(reader, from, to),
        },
    }
}

/// The text; what is no text becomes U+FFFD.
pub(crate) fn decode_text(bytes: &[u8], encoding: Encoding) -> String {
    match encoding {
        Encoding::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
        Encoding::Latin1 => bytes.iter().map(|&byte| char::from(byte)).collect(),
        Encoding::Ascii => {
            let shown = |&byte: &u8| {
                if byte.is_ascii() {
                    char::from(byte)
                } else {
                    '\u{fffd}'
                }
            };
            bytes.iter().map(shown).collect()
        }
    }
}

/// A window of bytes at a time; a character that a window cuts begins the next one.
fn is_shifted_utf8(reader: &BitReader<'_>, from: u32, to: u32) -> bool {
    let mut window = [0u8; 64];
    let mut kept = 0;
    let mut at = from;
    while at < to {
        let mut filled = kept;
        while filled < window.len() && at < to {
            window[filled] = reader.byte(at);
            filled += 1;
            at += 8;
        }
        match std::str::from_utf8(&window[..filled]) {
            Ok(_) => kept = 0,
            Err(error) if error.error_len().is_some() => return false,
            Err(error) => {
                let start = error.valid_up_to();
                window.copy_within(start..filled, 0);
                kept = filled - start;
            }
        }
    }
    kept == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::model::Order;

    /// The bytes shifted up by three bits.
    fn shifted(bytes: &[u8]) -> Vec<u8> {
        let mut shifted = vec![0u8; bytes.len() + 1];
        for (index, &byte) in bytes.iter().enumerate() {
            shifted[index] |= byte << 3;
            shifted[index + 1] |= byte >> 5;
        }
        shifted
    }

    fn check(bytes: &[u8]) {
        let expected = std::str::from_utf8(bytes).is_ok();
        let packet = shifted(bytes);
        let reader = BitReader::new(&packet, Order::default());
        let to = 3 + 8 * bytes.len() as u32;
        assert_eq!(
            is_text(&reader, 3, to, Encoding::Utf8),
            expected,
            "{bytes:?}"
        );
    }

    #[test]
    fn utf8_at_an_odd_bit_is_judged_as_utf8_is() {
        for before in 58..70 {
            let text = format!("{}ö€𝄞", "x".repeat(before));
            check(text.as_bytes());
            for cut in 1..9 {
                check(&text.as_bytes()[..text.len() - cut]);
            }
            let mut broken = text.into_bytes();
            broken[before] = 0xff;
            check(&broken);
        }
    }
}
