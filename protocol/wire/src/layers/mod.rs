//! Transforms between the bytes of a packet and those of a stream inside it: compression, ciphers,
//! scripts. All of it is pure: bytes and arguments in, bytes or a reason out.

mod adaptive;
mod argument;
mod cipher;
mod compression;
mod function;
#[cfg(feature = "lua")]
pub mod guest;
mod huffman;
mod keys;
#[cfg(feature = "lua")]
mod sandbox;
mod script;
#[cfg(feature = "lua")]
mod steps;
mod xor;
mod xor_text;

use std::sync::Arc;

pub(crate) use argument::{Argument, Failure};
pub(crate) use cipher::Cipher;
pub(crate) use function::Function;
pub(crate) use huffman::{CODE_BITS_MAX, CodeConflict, HuffmanTable, SYMBOLS_MAX};
pub use keys::{Keys, KeysError};
pub(crate) use script::{Script, begin_packet, slow, steps};

use crate::layout::BitOrder;

/// What a layer does to bytes.
#[derive(Clone, Debug)]
pub(crate) enum Transform {
    /// RFC 1950
    Zlib,
    /// RFC 1951
    Deflate,
    /// RFC 1952
    Gzip,
    /// One LZ4 block. Its argument is the number of bytes inside.
    Lz4,
    /// LZ4 frames.
    Lz4Frame,
    /// RFC 8878
    Zstd,
    /// Exclusive or with a key that repeats.
    Xor,
    /// Exclusive or with a key that a text changes: the key, the text, the first byte.
    XorText,
    /// A code for each byte, the bits of each byte in this order.
    Huffman(Arc<HuffmanTable>, BitOrder),
    /// A Huffman code that learns from each byte.
    AdaptiveHuffman,
    /// The tag follows the text. Key, nonce, associated data.
    Cipher(Cipher),
    /// Functions of the wire's Lua.
    Lua {
        script: Arc<Script>,
        decode: Arc<str>,
        encode: Arc<str>,
    },
}

impl Transform {
    /// The bytes inside, `max` at most.
    pub(crate) fn unpack(
        &self,
        arguments: &[Argument],
        packed: &[u8],
        max: usize,
    ) -> Result<Vec<u8>, Failure> {
        let inner = match self {
            Transform::Zlib => compression::unzlib(packed, max),
            Transform::Deflate => compression::inflate(packed, max),
            Transform::Gzip => compression::gunzip(packed, max),
            Transform::Lz4 => compression::unlz4(packed, size(arguments)?, max),
            Transform::Lz4Frame => compression::unlz4_frame(packed, max),
            Transform::Zstd => compression::unzstd(packed, max),
            Transform::Xor => xor::xor(packed, &xor::key(arguments)?),
            Transform::XorText => xor_text::xor_text(packed, arguments),
            Transform::Huffman(table, order) => table.unpack(packed, *order, max),
            Transform::AdaptiveHuffman => adaptive::unpack(packed, max),
            Transform::Cipher(cipher) => cipher.open(arguments, packed),
            Transform::Lua { script, decode, .. } => script.call(decode, packed, arguments, max),
        }?;
        if inner.len() <= max {
            Ok(inner)
        } else {
            Err(Failure::TooLong { max })
        }
    }

    /// Bytes that unpack to these.
    pub(crate) fn pack(&self, arguments: &[Argument], inner: &[u8]) -> Result<Vec<u8>, Failure> {
        match self {
            Transform::Zlib => compression::zlib(inner),
            Transform::Deflate => compression::deflate(inner),
            Transform::Gzip => compression::gzip(inner),
            Transform::Lz4 if size(arguments)? != inner.len() => Err(Failure::because(format!(
                "the size is {}, the bytes are {}",
                size(arguments)?,
                inner.len()
            ))),
            Transform::Lz4 => Ok(compression::lz4(inner)),
            Transform::Lz4Frame => compression::lz4_frame(inner),
            Transform::Zstd => compression::zstd(inner),
            Transform::Xor => xor::xor(inner, &xor::key(arguments)?),
            Transform::XorText => xor_text::xor_text(inner, arguments),
            Transform::Huffman(table, order) => table.pack(inner, *order),
            Transform::AdaptiveHuffman => adaptive::pack(inner),
            Transform::Cipher(cipher) => cipher.seal(arguments, inner),
            Transform::Lua { script, encode, .. } => {
                script.call(encode, inner, arguments, PACKED_MAX)
            }
        }
    }
}

/// How many bytes a script may give for a packet.
const PACKED_MAX: usize = 1 << 20;

/// The number of bytes that an LZ4 block says it holds.
fn size(arguments: &[Argument]) -> Result<usize, Failure> {
    match arguments {
        [Argument::Integer(size)] => usize::try_from(*size)
            .map_err(|_| Failure::because(format!("the size of the block is {size}"))),
        _ => Err(Failure::because("an LZ4 block takes its size")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX: usize = 1 << 16;

    fn all() -> Vec<(Transform, Vec<Argument>)> {
        let bytes = |count: u8| Argument::Bytes(Arc::new((0..count).collect()));
        let table = Arc::new(HuffmanTable::of_depths(8));
        vec![
            (Transform::Zlib, vec![]),
            (Transform::Deflate, vec![]),
            (Transform::Gzip, vec![]),
            (Transform::Lz4Frame, vec![]),
            (Transform::Zstd, vec![]),
            (Transform::AdaptiveHuffman, vec![]),
            (Transform::Xor, vec![Argument::Integer(0xdead_beef)]),
            (Transform::Xor, vec![bytes(5)]),
            (
                Transform::XorText,
                vec![Argument::Integer(77), bytes(5), Argument::Integer(2)],
            ),
            (Transform::Huffman(table.clone(), BitOrder::Lsb), vec![]),
            (Transform::Huffman(table, BitOrder::Msb), vec![]),
            (
                Transform::Cipher(Cipher::ChaCha20Poly1305),
                vec![bytes(32), bytes(12), bytes(3)],
            ),
            (
                Transform::Cipher(Cipher::Aes128Gcm),
                vec![bytes(16), Argument::Integer(7), bytes(0)],
            ),
            (
                Transform::Cipher(Cipher::Aes256Gcm),
                vec![bytes(32), bytes(12), bytes(3)],
            ),
        ]
    }

    proptest! {
        #[test]
        fn what_was_packed_unpacks(inner in prop::collection::vec(any::<u8>(), 0..400)) {
            for (transform, arguments) in all() {
                let packed = transform.pack(&arguments, &inner).expect("any bytes can be packed");
                let unpacked = transform.unpack(&arguments, &packed, MAX);
                prop_assert_eq!(unpacked, Ok(inner.clone()), "{:?}", transform);
            }
            let size = [Argument::Integer(inner.len() as i128)];
            let packed = Transform::Lz4.pack(&size, &inner).expect("the size is right");
            prop_assert_eq!(Transform::Lz4.unpack(&size, &packed, MAX), Ok(inner));
        }

        #[test]
        fn hostile_bytes_never_grow_past_the_limit(
            packed in prop::collection::vec(any::<u8>(), 0..200),
            max in 0usize..300,
            size in any::<i64>(),
        ) {
            let lz4 = (Transform::Lz4, vec![Argument::Integer(size.into())]);
            let small = (Transform::Lz4, vec![Argument::Integer((size & 0x3ff).into())]);
            for (transform, arguments) in all().into_iter().chain([lz4, small]) {
                if let Ok(inner) = transform.unpack(&arguments, &packed, max) {
                    prop_assert!(inner.len() <= max, "{:?}", transform);
                }
            }
        }

        #[test]
        fn packed_bytes_that_were_changed_do_no_harm(
            inner in prop::collection::vec(0u8..4, 0..300),
            place in any::<prop::sample::Index>(),
            change in 1u8..,
        ) {
            for (transform, arguments) in all() {
                let mut packed = transform.pack(&arguments, &inner).expect("any bytes can be packed");
                if packed.is_empty() {
                    continue;
                }
                let place = place.index(packed.len());
                packed[place] ^= change;
                let _ = transform.unpack(&arguments, &packed, MAX);
                packed.truncate(place);
                let _ = transform.unpack(&arguments, &packed, MAX);
            }
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let zeros = vec![0; 1 << 20];
        for transform in [
            Transform::Zlib,
            Transform::Deflate,
            Transform::Gzip,
            Transform::Lz4Frame,
            Transform::Zstd,
        ] {
            let packed = transform.pack(&[], &zeros).expect("zeros can be packed");
            assert!(packed.len() < 10_000, "{transform:?}");
            let stopped = transform.unpack(&[], &packed, 1000);
            assert_eq!(
                stopped,
                Err(Failure::TooLong { max: 1000 }),
                "{transform:?}"
            );
        }
    }
}
