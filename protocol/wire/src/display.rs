//! How a value reads in print.

use std::fmt;

use crate::tree::Value;

/// Bytes of a value that are printed; the rest is counted.
const BYTES_SHOWN: usize = 16;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => Ok(()),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Unsigned(value) => write!(f, "{value}"),
            // A number that large is a name, and names are compared by eye.
            Value::Wide(value) => match u64::try_from(*value) {
                Ok(value) => write!(f, "{value}"),
                Err(_) => write!(f, "{value:#034x}"),
            },
            Value::Signed(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value}"),
            Value::Quantized { raw, value } => write!(f, "{value:.4} (raw {raw})"),
            Value::Enum {
                raw,
                name: Some(name),
            } => write!(f, "{name} ({raw})"),
            Value::Enum { raw, name: None } => write!(f, "{raw} (no name)"),
            Value::Delta {
                change,
                value: Some(value),
            } => write!(f, "{value} ({change:+})"),
            Value::Delta {
                change: 0,
                value: None,
            } => f.write_str("unknown"),
            Value::Delta {
                change,
                value: None,
            } => write!(f, "unknown {change:+}"),
            Value::Rotation {
                quaternion: [x, y, z, w],
                euler_degrees: [first, second, third],
                axes,
                ..
            } => {
                let axes = axes.name();
                write!(
                    f,
                    "({x:.4}, {y:.4}, {z:.4}, {w:.4}), {axes} {first:.1}° {second:.1}° {third:.1}°"
                )
            }
            Value::Flags { raw, set, unnamed } => {
                for (place, name) in set.iter().enumerate() {
                    write!(f, "{}{name}", if place > 0 { " | " } else { "" })?;
                }
                match (set.is_empty(), unnamed) {
                    (true, 0) => f.write_str("none")?,
                    (true, unnamed) => write!(f, "{unnamed:#x}")?,
                    (false, 0) => {}
                    (false, unnamed) => write!(f, " | {unnamed:#x}")?,
                }
                write!(f, " ({raw:#x})")
            }
            Value::Uuid(text) => f.write_str(text),
            Value::Hash(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Bytes(bytes) => {
                for byte in bytes.iter().take(BYTES_SHOWN) {
                    write!(f, "{byte:02x} ")?;
                }
                let more = if bytes.len() > BYTES_SHOWN {
                    "... "
                } else {
                    ""
                };
                let plural = if bytes.len() == 1 { "" } else { "s" };
                write!(f, "{more}({} byte{plural})", bytes.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: Value, text: &str) {
        assert_eq!(value.to_string(), text);
    }

    #[test]
    fn a_quantised_float_shows_both_sides() {
        check(Value::Quantized { raw: 3, value: 0.5 }, "0.5000 (raw 3)");
    }

    #[test]
    fn a_delta_shows_the_sum_where_it_is_known() {
        let (change, value) = (-3, Some(40));
        check(Value::Delta { change, value }, "40 (-3)");
        let value = None;
        check(Value::Delta { change, value }, "unknown -3");
        let change = 0;
        check(Value::Delta { change, value }, "unknown");
    }

    #[test]
    fn an_enum_without_a_name_says_so() {
        check(Value::Enum { raw: 9, name: None }, "9 (no name)");
    }

    #[test]
    fn long_bytes_are_cut_and_counted() {
        check(
            Value::Bytes(vec![0xab; 17]),
            &format!("{}... (17 bytes)", "ab ".repeat(16)),
        );
    }

    #[test]
    fn an_integer_past_64_bits_is_hexadecimal() {
        check(Value::Wide(7), "7");
        check(
            Value::Wide(u128::MAX >> 4),
            "0x0fffffffffffffffffffffffffffffff",
        );
    }

    #[test]
    fn text_is_quoted() {
        check(Value::Text("a\nb".into()), r#""a\nb""#);
    }
}
