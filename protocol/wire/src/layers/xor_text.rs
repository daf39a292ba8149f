//! Exclusive or with a key that a text changes from byte to byte: the old protocols of Quake 3.

use super::argument::{Argument, Failure};

/// The byte that stands for those that its messages do not carry.
const REPLACED: u8 = b'.';

/// The key, the text, and the first byte that is changed; the same both ways.
///
/// The key starts as the lowest byte of the integer. Before each byte the next one of the text, again
/// from its start after its end, goes into it, at odd places shifted up by one (ioquake3,
/// `SV_Netchan_Encode`). A text ends at a zero; without one byte it changes nothing.
pub(super) fn xor_text(bytes: &[u8], arguments: &[Argument]) -> Result<Vec<u8>, Failure> {
    let [
        Argument::Integer(key),
        Argument::Bytes(text),
        Argument::Integer(from),
    ] = arguments
    else {
        return Err(Failure::because(
            "`xor_text` takes a key, a text and a place",
        ));
    };
    let from =
        usize::try_from(*from).map_err(|_| Failure::because("the place is no number of bytes"))?;
    let mut letters = letters(text).cycle();
    let mut key = (*key & 0xff) as u8;
    let mut changed = bytes.to_vec();
    for (place, byte) in changed.iter_mut().enumerate().skip(from) {
        key ^= letters.next().unwrap_or(0) << (place & 1);
        *byte ^= key;
    }
    Ok(changed)
}

/// What Quake 3's messages carry of a text, which ends at a zero.
pub(super) fn letters(text: &[u8]) -> impl Iterator<Item = u8> + Clone {
    let letters = text.iter().take_while(|&&letter| letter != 0);
    letters.map(|&letter| match letter {
        b'%' | 0x80.. => REPLACED,
        letter => letter,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn xored(key: i128, text: &[u8], from: i128, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
        let text = Argument::Bytes(Arc::new(text.to_vec()));
        xor_text(
            bytes,
            &[Argument::Integer(key), text, Argument::Integer(from)],
        )
    }

    #[test]
    fn the_text_goes_into_the_key() {
        // 7, 7 ^ 1 << 1, ^ 2, ^ 1 << 1: odd places count from the first byte of all.
        assert_eq!(
            xored(7, b"\x01\x02", 1, &[0; 4]),
            Ok(vec![0, 7 ^ 2, 7 ^ 2 ^ 2, 7 ^ 2])
        );
    }

    #[test]
    fn only_the_lowest_byte_of_the_key_counts() {
        assert_eq!(xored(-256, b"", 0, &[1, 2]), Ok(vec![1, 2]));
        assert_eq!(xored(0x1234, b"", 0, &[0, 0]), Ok(vec![0x34, 0x34]));
    }

    #[test]
    fn what_no_message_carries_counts_as_a_point() {
        assert_eq!(
            xored(0, b"%\xe9\0x", 0, &[0; 3]),
            xored(0, b"..", 0, &[0; 3])
        );
    }

    #[test]
    fn bytes_before_the_place_stay() {
        assert_eq!(xored(1, b"ab", 9, &[1, 2, 3]), Ok(vec![1, 2, 3]));
        assert!(xored(1, b"ab", -1, &[1]).is_err());
    }
}
