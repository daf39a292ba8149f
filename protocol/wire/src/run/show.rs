//! How what is on the wire becomes a value.

use super::reading::{sign_extended, zigzag};
use super::text::decode_text;
use crate::check::model::Encoding;
use crate::program::{Dictionary, Shown};
use crate::tree::Value;

/// The text that bytes are; what is no text becomes U+FFFD.
pub(crate) fn text(bytes: &[u8], encoding: Encoding) -> String {
    decode_text(bytes, encoding)
}

/// The value of an integer that was on the wire. Texts and bytes are not integers.
pub(crate) fn value(raw: u64, shown: Shown, dictionary: &Dictionary) -> Value {
    match shown {
        Shown::Nothing => Value::None,
        Shown::Unsigned | Shown::Text(_) | Shown::Bytes => Value::Unsigned(raw),
        Shown::Signed { bits } => Value::Signed(sign_extended(raw, bits)),
        Shown::Bool => Value::Bool(raw != 0),
        Shown::Range { low } => {
            let value = low + i128::from(raw);
            match (u64::try_from(value), i64::try_from(value)) {
                (Ok(value), _) if low >= 0 => Value::Unsigned(value),
                (_, Ok(value)) => Value::Signed(value),
                _ => Value::Unsigned(raw),
            }
        }
        Shown::Zigzag => Value::Signed(zigzag(raw)),
        Shown::Float { bits: 16 } => Value::Float(half(raw as u16)),
        Shown::Float { bits: 32 } => Value::Float(f32::from_bits(raw as u32).into()),
        Shown::Float { .. } => Value::Float(f64::from_bits(raw)),
        Shown::Quantized { low, high, bits } => {
            let steps = (u64::MAX >> (64 - u32::from(bits))) as f64;
            Value::Quantized {
                raw,
                value: low + (high - low) * (raw as f64 / steps),
            }
        }
        Shown::Enum { table, low } => {
            let raw = raw.saturating_add(low);
            let member = dictionary
                .enumeration(table)
                .and_then(|table| table.member(raw));
            Value::Enum {
                raw,
                name: member.map(|member| member.name.clone()),
            }
        }
    }
}

/// IEEE 754 binary16.
fn half(raw: u16) -> f64 {
    let sign = if raw >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(raw >> 10 & 0x1f);
    let fraction = f64::from(raw & 0x3ff);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    sign * magnitude
}
