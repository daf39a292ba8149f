//! Exclusive or with a key that repeats.

use super::argument::{Argument, Failure};

/// The bytes of a key: an integer is four bytes, the lowest first.
pub(super) fn key(arguments: &[Argument]) -> Result<Vec<u8>, Failure> {
    match arguments {
        [Argument::Integer(key)] => {
            let unsigned = u32::try_from(*key).ok();
            let signed = i32::try_from(*key).ok().map(i32::cast_unsigned);
            let key = unsigned
                .or(signed)
                .ok_or_else(|| Failure::because("the key is no integer of 32 bits"))?;
            Ok(key.to_le_bytes().to_vec())
        }
        [Argument::Bytes(key)] if !key.is_empty() => Ok(key.to_vec()),
        _ => Err(Failure::because("the key is empty")),
    }
}

/// The same both ways.
pub(super) fn xor(bytes: &[u8], key: &[u8]) -> Result<Vec<u8>, Failure> {
    let pairs = bytes.iter().zip(key.iter().cycle());
    Ok(pairs.map(|(byte, key)| byte ^ key).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn an_integer_is_four_bytes_the_lowest_first() {
        let key = key(&[Argument::Integer(0x0403_0201)]).expect("32 bits");
        assert_eq!(xor(&[0; 6], &key), Ok(vec![1, 2, 3, 4, 1, 2]));
    }

    #[test]
    fn a_negative_integer_is_the_key_of_its_bits() {
        assert_eq!(key(&[Argument::Integer(-1)]), Ok(vec![0xff; 4]));
        assert!(key(&[Argument::Integer(1 << 32)]).is_err());
        assert!(key(&[Argument::Bytes(Arc::default())]).is_err());
    }
}
