//! How what is on the wire becomes a value.

use crate::layout::Encoding;
use crate::program::{Dictionary, Shown};
use crate::tree::Value;
use crate::values::codec::{sign_extended, zigzag};
use crate::values::rotation;
use crate::values::text::{before_zero, decode_text};

/// The text that bytes are; what is no text becomes U+FFFD.
pub(crate) fn text(bytes: &[u8], encoding: Encoding) -> String {
    decode_text(bytes, encoding)
}

/// The text of bytes that a text is padded to.
pub(crate) fn padded_text(bytes: &[u8], encoding: Encoding) -> String {
    decode_text(before_zero(bytes, encoding), encoding)
}

/// The value of an integer that was on the wire. Texts and bytes are not integers.
pub(crate) fn value(raw: u64, shown: Shown, dictionary: &Dictionary) -> Value {
    match shown {
        Shown::Nothing => Value::None,
        Shown::Unsigned
        | Shown::Text(_)
        | Shown::ZeroText(_)
        | Shown::PaddedText(_)
        | Shown::Bytes
        | Shown::Wide(_)
        | Shown::Uuid
        | Shown::Hash => Value::Unsigned(raw),
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
        Shown::Quantized(quantized) => Value::Quantized {
            raw,
            value: quantized.value(raw),
        },
        Shown::QuakeFloat => Value::Float(quake_float(raw)),
        Shown::Rotation { bits, axes } => {
            let quaternion = rotation::quaternion(raw, bits);
            Value::Rotation {
                raw,
                quaternion,
                euler_degrees: rotation::euler_degrees(quaternion, axes),
                axes,
            }
        }
        Shown::Flags { table } => {
            let members = dictionary.members(table).iter();
            let set = members.filter(|member| raw & member.value != 0);
            let unnamed = set.clone().fold(raw, |left, member| left & !member.value);
            Value::Flags {
                raw,
                set: set.map(|member| member.name.clone()).collect(),
                unnamed,
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

/// See [`Codec::QuakeFloat`](crate::values::codec::Codec::QuakeFloat).
fn quake_float(raw: u64) -> f64 {
    match raw >> 32 {
        0 => raw as f64 - 4096.0,
        _ => f32::from_bits(raw as u32).into(),
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
