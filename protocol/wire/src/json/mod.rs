//! Packets as JSON, both ways.
//!
//! A struct is an object, a repeat an array. A plain number, a truth value, a text stands for itself;
//! where what is on the wire and what it means differ, a field is an object with `raw` and `value`.
//! Whatever a canonical encoding would lose is said as well, so that a packet that nobody touched
//! comes back to the byte: the width of an over-long varint (`bits`), padding that is not what it
//! should be, the bits of a NaN, the bytes of a text that is none.

mod blank;
mod from_tree;
mod leaf;

use serde_json::Value as Json;

pub use from_tree::Instead;
pub(crate) use from_tree::packet;
pub(crate) use leaf::{
    Leaf, bytes_of, bytes_of_hex, float_raw, hex, integer_of, leaf_of, raw_of, raw_of_integer,
    text_bytes, wide,
};

/// The bits that the wire does not explain, and how many there are.
///
/// # Errors
/// What is odd about the JSON.
pub(crate) fn bytes_of_rest(json: &Json) -> Result<(Vec<u8>, u32), String> {
    let expected = || format!("expected {{\"bits\": ..., \"bytes\": \"...\"}}, found {json}");
    let bits = json.get("bits").and_then(Json::as_u64);
    let bits = bits
        .and_then(|bits| u32::try_from(bits).ok())
        .ok_or_else(expected)?;
    let bytes = leaf::bytes_of_hex(json.get("bytes").ok_or_else(expected)?)?;
    if bytes.len() != bits.div_ceil(8) as usize {
        return Err(format!("{bits} bits are not {} bytes", bytes.len()));
    }
    Ok((bytes, bits))
}

/// What the `index`th `align` of a struct, from 0, is called: `padding`, `padding_2`, ...
pub(crate) fn padding_name(index: u32) -> String {
    match index {
        0 => "padding".to_owned(),
        more => format!("padding_{}", more + 1),
    }
}
