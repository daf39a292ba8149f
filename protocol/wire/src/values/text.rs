//! Text in a packet, at any bit.

use smol_str::SmolStr;

use crate::bits::BitReader;
use crate::layout::Encoding;

/// Whether the bytes of a bit range are text. Takes no memory.
pub(crate) fn is_text(reader: &BitReader<'_>, from: u32, to: u32, encoding: Encoding) -> bool {
    match encoding {
        Encoding::Latin1 => true,
        Encoding::Utf16Le | Encoding::Utf16Be => {
            let units = (from..to).step_by(16).map(|at| {
                let pair = [reader.byte(at), reader.byte(at + 8)];
                unit(pair, encoding)
            });
            (to - from).is_multiple_of(16) && char::decode_utf16(units).all(|c| c.is_ok())
        }
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

/// The same as [`decode_text`] for what is short as a rule: memory is taken for what is long alone.
pub(crate) fn short_text(bytes: &[u8], encoding: Encoding) -> SmolStr {
    match (encoding, std::str::from_utf8(bytes)) {
        (Encoding::Utf8, Ok(text)) => SmolStr::new(text),
        (Encoding::Ascii, Ok(text)) if text.is_ascii() => SmolStr::new(text),
        _ => decode_text(bytes, encoding).into(),
    }
}

/// The text; what is no text becomes U+FFFD.
pub(crate) fn decode_text(bytes: &[u8], encoding: Encoding) -> String {
    match encoding {
        Encoding::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
        Encoding::Utf16Le | Encoding::Utf16Be => {
            let pairs = bytes.chunks_exact(2);
            let half = !pairs.remainder().is_empty();
            let units = pairs.map(|pair| unit([pair[0], pair[1]], encoding));
            let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
            text.chain(half.then_some(char::REPLACEMENT_CHARACTER))
                .collect()
        }
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

/// How many bytes a zero takes that ends a text.
pub(crate) fn unit_bytes(encoding: Encoding) -> u32 {
    match encoding {
        Encoding::Utf8 | Encoding::Ascii | Encoding::Latin1 => 1,
        Encoding::Utf16Le | Encoding::Utf16Be => 2,
    }
}

/// The bytes before the first zero, which may be all.
pub(crate) fn before_zero(bytes: &[u8], encoding: Encoding) -> &[u8] {
    let unit = unit_bytes(encoding) as usize;
    let mut units = bytes.chunks_exact(unit);
    let zero = units.position(|unit| unit.iter().all(|&byte| byte == 0));
    let end = zero.map_or(bytes.len(), |zero| zero * unit);
    bytes.get(..end).unwrap_or(bytes)
}

/// The first bit of the first zero in a bit range, where there is one.
pub(crate) fn find_zero(
    reader: &BitReader<'_>,
    from: u32,
    to: u32,
    encoding: Encoding,
) -> Option<u32> {
    let unit = unit_bytes(encoding);
    let whole = to - (to - from) % (8 * unit);
    if let Some(bytes) = reader.slice(from, whole) {
        let before = before_zero(bytes, encoding);
        return (before.len() < bytes.len()).then(|| from + 8 * before.len() as u32);
    }
    let is_zero = |at: u32| (0..unit).all(|place| reader.byte(at + 8 * place) == 0);
    (from..whole)
        .step_by(8 * unit as usize)
        .find(|&at| is_zero(at))
}

fn unit(pair: [u8; 2], encoding: Encoding) -> u16 {
    match encoding {
        Encoding::Utf16Be => u16::from_be_bytes(pair),
        _ => u16::from_le_bytes(pair),
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
    use crate::layout::Order;

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
    fn the_first_zero_is_found_at_any_bit() {
        let bytes = [1, 0, 0, 2, 0, 0, 3];
        for (packet, from) in [(bytes.to_vec(), 0), (shifted(&bytes), 3)] {
            let reader = BitReader::new(&packet, Order::default());
            let to = from + 56;
            let zero = |encoding| find_zero(&reader, from, to, encoding);
            assert_eq!(zero(Encoding::Utf8), Some(from + 8));
            assert_eq!(zero(Encoding::Utf16Le), Some(from + 32));
            assert_eq!(
                find_zero(&reader, from + 24, from + 40, Encoding::Utf16Be),
                None
            );
        }
    }

    #[test]
    fn utf16_is_text_where_its_surrogates_are_in_pairs() {
        for (units, is) in [
            (&[0x0041u16, 0x20ac][..], true),
            (&[0xd834, 0xdd1e], true),
            (&[0xd834, 0x0041], false),
            (&[0xdd1e], false),
        ] {
            for encoding in [Encoding::Utf16Le, Encoding::Utf16Be] {
                let bytes: Vec<u8> = units
                    .iter()
                    .flat_map(|&unit| match encoding {
                        Encoding::Utf16Be => unit.to_be_bytes(),
                        _ => unit.to_le_bytes(),
                    })
                    .collect();
                let packet = shifted(&bytes);
                let reader = BitReader::new(&packet, Order::default());
                let to = 3 + 8 * bytes.len() as u32;
                assert_eq!(super::is_text(&reader, 3, to, encoding), is, "{units:x?}");
                assert_eq!(!decode_text(&bytes, encoding).contains('\u{fffd}'), is);
                assert!(!super::is_text(&reader, 3, to - 8, encoding));
            }
        }
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
