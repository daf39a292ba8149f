//! Authenticated encryption: what comes out is what was sealed with the same key, or nothing.

use aes_gcm::aead::generic_array::typenum::Unsigned;
use aes_gcm::aead::{Aead, AeadCore, Key, KeyInit, KeySizeUser, Nonce, Payload};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use chacha20poly1305::ChaCha20Poly1305;

use super::argument::{Argument, Failure};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cipher {
    /// RFC 8439
    ChaCha20Poly1305,
    /// NIST SP 800-38D
    Aes128Gcm,
    /// The same with a key of 32 bytes.
    Aes256Gcm,
}

impl Cipher {
    /// The text that was sealed; the tag is the last 16 bytes.
    pub(super) fn open(self, arguments: &[Argument], sealed: &[u8]) -> Result<Vec<u8>, Failure> {
        self.run(arguments, sealed, false)
    }

    /// The text, sealed, with the tag after it.
    pub(super) fn seal(self, arguments: &[Argument], text: &[u8]) -> Result<Vec<u8>, Failure> {
        self.run(arguments, text, true)
    }

    fn run(self, arguments: &[Argument], bytes: &[u8], seals: bool) -> Result<Vec<u8>, Failure> {
        match self {
            Cipher::ChaCha20Poly1305 => apply::<ChaCha20Poly1305>(arguments, bytes, seals),
            Cipher::Aes128Gcm => apply::<Aes128Gcm>(arguments, bytes, seals),
            Cipher::Aes256Gcm => apply::<Aes256Gcm>(arguments, bytes, seals),
        }
    }
}

fn apply<C: Aead + AeadCore + KeyInit + KeySizeUser>(
    arguments: &[Argument],
    bytes: &[u8],
    seals: bool,
) -> Result<Vec<u8>, Failure> {
    let [Argument::Bytes(key), nonce, Argument::Bytes(aad)] = arguments else {
        return Err(Failure::because(
            "a cipher takes a key, a nonce and associated data",
        ));
    };
    let (key_bytes, nonce_bytes) = (C::KeySize::USIZE, C::NonceSize::USIZE);
    if key.len() != key_bytes {
        let found = key.len();
        return Err(Failure::because(format!(
            "the key has {found} bytes, the cipher takes {key_bytes}"
        )));
    }
    let nonce = nonce_of(nonce, nonce_bytes)?;
    let cipher = C::new(Key::<C>::from_slice(key));
    let nonce = Nonce::<C>::from_slice(&nonce);
    let payload = Payload { msg: bytes, aad };
    if seals {
        cipher.encrypt(nonce, payload)
    } else {
        cipher.decrypt(nonce, payload)
    }
    .map_err(|_| Failure::because("the tag does not match the bytes, the key and the nonce"))
}

/// A number stands in the last eight bytes, the lowest first, with zeros before it.
fn nonce_of(nonce: &Argument, bytes: usize) -> Result<Vec<u8>, Failure> {
    match nonce {
        Argument::Bytes(nonce) if nonce.len() == bytes => Ok(nonce.to_vec()),
        Argument::Bytes(nonce) => {
            let found = nonce.len();
            Err(Failure::because(format!(
                "the nonce has {found} bytes, the cipher takes {bytes}"
            )))
        }
        Argument::Integer(number) => {
            let number = u64::try_from(*number)
                .map_err(|_| Failure::because("the nonce is no unsigned integer of 64 bits"))?;
            let mut nonce = vec![0; bytes.saturating_sub(8)];
            nonce.extend(number.to_le_bytes());
            Ok(nonce)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
        digits
            .chunks(2)
            .map(|pair| (pair[0] * 16 + pair[1]) as u8)
            .collect()
    }

    /// RFC 8439, section 2.8.2.
    #[test]
    fn chacha20_poly1305_is_that_of_the_rfc() {
        let arguments = [
            Argument::Bytes(Arc::new((0x80..0xa0).collect())),
            Argument::Bytes(Arc::new(bytes("070000004041424344454647"))),
            Argument::Bytes(Arc::new(bytes("50515253c0c1c2c3c4c5c6c7"))),
        ];
        let text = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip \
                     for the future, sunscreen would be it.";
        let sealed = Cipher::ChaCha20Poly1305
            .seal(&arguments, text)
            .expect("sealed");
        assert_eq!(sealed[..8], bytes("d31a8d34648e60db"));
        assert_eq!(sealed[114..], bytes("1ae10b594f09e26a7e902ecbd0600691"));
        assert_eq!(
            Cipher::ChaCha20Poly1305.open(&arguments, &sealed),
            Ok(text.to_vec())
        );
    }

    /// The second test case of the GCM specification by McGrew and Viega.
    #[test]
    fn aes_128_gcm_is_that_of_the_specification() {
        let zeros = |count| Argument::Bytes(Arc::new(vec![0; count]));
        let arguments = [zeros(16), zeros(12), zeros(0)];
        let sealed = bytes("0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf");
        assert_eq!(Cipher::Aes128Gcm.open(&arguments, &sealed), Ok(vec![0; 16]));
    }

    #[test]
    fn a_number_as_a_nonce_stands_in_the_last_eight_bytes() {
        let nonce = nonce_of(&Argument::Integer(0x0102), 12);
        assert_eq!(nonce, Ok(vec![0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn what_was_changed_does_not_open() {
        let arguments = [
            Argument::Bytes(Arc::new(vec![1; 32])),
            Argument::Integer(1),
            Argument::Bytes(Arc::new(vec![2])),
        ];
        let mut sealed = Cipher::Aes256Gcm.seal(&arguments, b"text").expect("sealed");
        sealed[0] ^= 1;
        let opened = Cipher::Aes256Gcm.open(&arguments, &sealed);
        assert_eq!(
            opened.map_err(|why| why.to_string()),
            Err("the tag does not match the bytes, the key and the nonce".to_owned())
        );
        assert!(Cipher::Aes256Gcm.open(&arguments, &[]).is_err());
    }
}
