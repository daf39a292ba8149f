//! The header and the index in bytes. The only place that knows bincode.
//!
//! bincode 2.0.1 is finished and not maintained any more (RUSTSEC-2025-0141), so nothing outside
//! this file may depend on it; `docs/reel-format.md` describes its bytes, so that a reader can be
//! written without it.

use bincode::config;
use bincode::serde::{decode_from_slice, encode_to_vec};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The largest header or index in bytes. Also bounds what a decoder may allocate, whatever
/// lengths the bytes claim.
pub(crate) const META_MAX: usize = 16 << 20;

/// Stands before what was taken out of a recording. No number begins with it, and so no `Part`.
pub(crate) const REDACTED: u8 = 0xff;

/// Stands before what a program was started with, behind a `Part`.
pub(crate) const BEGUN: u8 = 0xfe;

/// The bytes of `value`.
pub(crate) fn encode<T: Serialize>(value: &T) -> Option<Vec<u8>> {
    let bytes = encode_to_vec(value, config::standard()).ok()?;
    (bytes.len() <= META_MAX).then_some(bytes)
}

/// Reads what [`encode`] wrote; it must fill `bytes` to the end.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match decode_prefix(bytes)? {
        (value, []) => Ok(value),
        (_, rest) => Err(format!("{} bytes too many", rest.len())),
    }
}

/// Reads what [`encode`] wrote, and gives what follows it.
pub(crate) fn decode_prefix<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), String> {
    // bincode allocates what a string's length says before it looks whether the bytes are there,
    // and the limit is a constant: the tightest one that these bytes can need is chosen.
    let result = match bytes.len() {
        0..=0x1000 => decode_from_slice(bytes, config::standard().with_limit::<0x1_0000>()),
        0x1001..=0x1_0000 => decode_from_slice(bytes, config::standard().with_limit::<0x10_0000>()),
        0x1_0001..=0x10_0000 => {
            decode_from_slice(bytes, config::standard().with_limit::<0x100_0000>())
        }
        _ => decode_from_slice(bytes, config::standard().with_limit::<0x1000_0000>()),
    };
    let (value, read) = result.map_err(|error| error.to_string())?;
    Ok((value, bytes.get(read..).unwrap_or(&[])))
}
