//! One field that holds a value, as JSON.

use serde_json::{Map, Number, Value as Json};

use crate::layout::{ByteOrder, Encoding};
use crate::program::{Dictionary, Shown};
use crate::suggest;
use crate::tree::Value;
use crate::tree::show;
use crate::values::{hexadecimal, rotation, uuid};

/// The largest integer that every reader of JSON takes for what it is.
const EXACT_MAX: u64 = 1 << 53;

/// A field as its JSON says it, before anybody asks whether it fits the wire.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leaf<'j> {
    /// What is on the wire, where it is said apart.
    pub raw: Option<&'j Json>,
    pub value: Option<&'j Json>,
    /// How many bits it takes, where that is not the fewest.
    pub bits: Option<u32>,
    /// How many bits the length before it takes, where that is not the fewest.
    pub prefix_bits: Option<u32>,
    /// A derived field that keeps what it says.
    pub keeps: bool,
}

impl<'j> Leaf<'j> {
    /// # Errors
    /// What is odd about the JSON.
    pub(crate) fn of(json: &'j Json) -> Result<Leaf<'j>, String> {
        let Json::Object(parts) = json else {
            return Ok(Leaf {
                value: Some(json),
                ..Leaf::default()
            });
        };
        let mut leaf = Leaf::default();
        let mut change = None;
        let width = |json: &Json| {
            let bits = json.as_u64().and_then(|bits| u32::try_from(bits).ok());
            bits.ok_or_else(|| format!("{json} is not a number of bits"))
        };
        for (key, json) in parts {
            match key.as_str() {
                "raw" => leaf.raw = Some(json),
                "value" => leaf.value = Some(json),
                "bits" => leaf.bits = Some(width(json)?),
                "prefix_bits" => leaf.prefix_bits = Some(width(json)?),
                // What is on the wire of a delta; what it adds up to is for people.
                "change" => change = Some(json),
                "override" => leaf.keeps = json.as_bool().unwrap_or(false),
                _ => {
                    return Err(format!(
                        "a field has `raw`, `value`, `bits`, `prefix_bits`, `change` and `override`, \
                         not `{key}`"
                    ));
                }
            }
        }
        leaf.value = change.or(leaf.value);
        if leaf.raw.is_none() && leaf.value.is_none() {
            return Err("neither `raw` nor `value` is there".to_owned());
        }
        Ok(leaf)
    }
}

/// The JSON of an integer that was on the wire.
pub(crate) fn leaf_of(raw: u64, shown: Shown, dictionary: &Dictionary) -> Json {
    let both = |value: Json| pair(unsigned(raw), value);
    match show::value(raw, shown, dictionary) {
        Value::Unsigned(value) => unsigned(value),
        Value::Signed(value) => signed(value),
        Value::Bool(value) => Json::Bool(value),
        Value::Float(value) => match float(value) {
            Some(json) if float_raw(value, shown) == Some(raw) => json,
            _ => pair(unsigned(raw), Json::String(value.to_string())),
        },
        Value::Quantized { value, .. } => both(float(value).unwrap_or(Json::Null)),
        Value::Enum {
            raw,
            name: Some(name),
        } => pair(unsigned(raw), Json::String(name.to_string())),
        Value::Enum { raw, name: None } => unsigned(raw),
        Value::Flags { set, unnamed, .. } => {
            let mut names: Vec<Json> = set.iter().map(|name| Json::from(&**name)).collect();
            if unnamed != 0 {
                names.push(Json::String(format!("{unnamed:#x}")));
            }
            both(Json::Array(names))
        }
        Value::Rotation {
            quaternion: [x, y, z, w],
            euler_degrees,
            axes,
            ..
        } => both(serde_json::json!({
            "x": x, "y": y, "z": z, "w": w,
            "axes": axes.name(), "euler_degrees": euler_degrees,
        })),
        Value::Wide(value) => wide(value),
        Value::None
        | Value::Text(_)
        | Value::Uuid(_)
        | Value::Hash(_)
        | Value::Bytes(_)
        | Value::Delta { .. } => unsigned(raw),
    }
}

/// The bits that a field's JSON asks for.
///
/// # Errors
/// Why there are none.
pub(crate) fn raw_of(leaf: Leaf<'_>, shown: Shown, dictionary: &Dictionary) -> Result<u64, String> {
    let raw = match leaf.raw {
        Some(json) => Some(raw_integer(json, shown)?),
        None => None,
    };
    let value = match leaf.value {
        Some(json) => raw_of_value(json, shown, dictionary).map(Some),
        None => Ok(None),
    };
    match (raw, value) {
        // What `value` says of a NaN or of a rounded number is for people.
        (Some(raw), Ok(Some(value))) if raw == value => Ok(raw),
        (Some(raw), _)
            if leaf
                .value
                .is_none_or(|value| says(raw, value, shown, dictionary)) =>
        {
            Ok(raw)
        }
        (Some(raw), _) => Err(format!(
            "`raw` is {raw}, which stands for {}, and `value` is {}: leave one of them out",
            leaf_of_value(raw, shown, dictionary),
            leaf.value.unwrap_or(&Json::Null)
        )),
        (None, Ok(Some(value))) => Ok(value),
        (None, Ok(None)) => Err("there is no value".to_owned()),
        (None, Err(why)) => Err(why),
    }
}

/// The bits of an integer that a field is to say.
///
/// # Errors
/// Why the field cannot say it.
pub(crate) fn raw_of_integer(value: i128, shown: Shown) -> Result<u64, String> {
    raw_of_value(
        &Json::String(value.to_string()),
        shown,
        &Dictionary::default(),
    )
}

/// The integer that a field says.
pub(crate) fn integer_of(raw: u64, shown: Shown) -> Option<i128> {
    match show::value(raw, shown, &Dictionary::default()) {
        Value::Unsigned(value) => Some(value.into()),
        Value::Signed(value) => Some(value.into()),
        Value::Bool(value) => Some(value.into()),
        _ => None,
    }
}

/// Whether a raw integer is shown so.
fn says(raw: u64, value: &Json, shown: Shown, dictionary: &Dictionary) -> bool {
    leaf_of_value(raw, shown, dictionary) == *value
}

/// The value alone.
fn leaf_of_value(raw: u64, shown: Shown, dictionary: &Dictionary) -> Json {
    match leaf_of(raw, shown, dictionary) {
        Json::Object(mut both) => both.remove("value").unwrap_or(Json::Null),
        plain => plain,
    }
}

/// `raw` of an enum counts from where the enum does.
fn raw_integer(json: &Json, shown: Shown) -> Result<u64, String> {
    let raw = to_unsigned(json).ok_or_else(|| format!("`raw` is {json}, not an integer"))?;
    match shown {
        Shown::Enum { low, .. } => raw
            .checked_sub(low)
            .ok_or_else(|| format!("{raw} is below {low}")),
        _ => Ok(raw),
    }
}

fn raw_of_value(json: &Json, shown: Shown, dictionary: &Dictionary) -> Result<u64, String> {
    let integer = || to_integer(json).ok_or_else(|| format!("{json} is not an integer"));
    let number = || to_float(json).ok_or_else(|| format!("{json} is not a number"));
    match shown {
        Shown::Unsigned => {
            let value = integer()?;
            u64::try_from(value).map_err(|_| format!("{value} is not 0 to 2^64 - 1"))
        }
        Shown::Signed { bits } => {
            let value = integer()?;
            let half = 1i128 << (bits - 1);
            if !(-half..half).contains(&value) {
                return Err(format!("{value} does not fit {bits} bits"));
            }
            Ok(value as u64 & u64::MAX >> (64 - u32::from(bits)))
        }
        Shown::Bool => match json {
            Json::Bool(value) => Ok(u64::from(*value)),
            _ => match integer()? {
                value @ (0 | 1) => Ok(value as u64),
                _ => Err(format!("{json} is neither true nor false")),
            },
        },
        Shown::Range { low } => {
            let value = integer()?;
            u64::try_from(value - low).map_err(|_| format!("{value} is below {low}"))
        }
        Shown::Zigzag => {
            let value = i64::try_from(integer()?).map_err(|_| format!("{json} needs 65 bits"))?;
            Ok((value << 1 ^ value >> 63).cast_unsigned())
        }
        Shown::Float { .. } | Shown::QuakeFloat => {
            let value = number()?;
            float_raw(value, shown).ok_or_else(|| format!("{json} is no such float"))
        }
        Shown::Quantized(quantized) => {
            let value = number()?;
            let (low, high) = (quantized.low, quantized.high);
            let raw = quantized.raw(value);
            raw.ok_or_else(|| format!("{value} is not between {low} and {high}"))
        }
        Shown::Rotation { bits, .. } => {
            let parts = ["x", "y", "z", "w"].map(|part| json.get(part).and_then(to_float));
            let [Some(x), Some(y), Some(z), Some(w)] = parts else {
                return Err(
                    "the `value` of a rotation is `{x, y, z, w}`, all four of them numbers"
                        .to_owned(),
                );
            };
            let raw = rotation::raw([x, y, z, w], bits);
            raw.ok_or_else(|| "the rotation is not of unit length".to_owned())
        }
        Shown::Flags { table } => flags(json, table, dictionary),
        Shown::Enum { table, low } => member(json, (table, low), dictionary),
        Shown::Nothing
        | Shown::Text(_)
        | Shown::ZeroText(_)
        | Shown::PaddedText(_)
        | Shown::Bytes
        | Shown::Wide(_)
        | Shown::Uuid
        | Shown::Hash => Err("it is not an integer".to_owned()),
    }
}

/// A number, or the bits of a list of names.
fn flags(json: &Json, table: u16, dictionary: &Dictionary) -> Result<u64, String> {
    if let Some(value) = to_integer(json) {
        return u64::try_from(value).map_err(|_| format!("{value} is not 0 to 2^64 - 1"));
    }
    let names = json
        .as_array()
        .ok_or_else(|| format!("{json} is neither a number nor a list of the names of bits"))?;
    let mut raw = 0;
    for name in names {
        raw |= flag(name, table, dictionary)?;
    }
    Ok(raw)
}

/// The value of a member, or a number, less the lowest that can be.
fn member(json: &Json, (table, low): (u16, u64), dictionary: &Dictionary) -> Result<u64, String> {
    if let Json::String(name) = json {
        let members = dictionary.members(table);
        if let Some(member) = members.iter().find(|member| &*member.name == name) {
            return Ok(member.value - low.min(member.value));
        }
        let names = members.iter().map(|member| &*member.name);
        let hint = suggest::hint(name, names);
        if to_integer(json).is_none() {
            return Err(format!("the enum has no member `{name}`{hint}"));
        }
    }
    let value = to_integer(json).ok_or_else(|| format!("{json} is not an integer"))?;
    u64::try_from(value - i128::from(low)).map_err(|_| format!("{value} is below {low}"))
}

/// The bits of a name, or of a number.
fn flag(name: &Json, table: u16, dictionary: &Dictionary) -> Result<u64, String> {
    let members = dictionary.members(table);
    let wanted = name.as_str().unwrap_or_default();
    if let Some(member) = members.iter().find(|member| &*member.name == wanted) {
        return Ok(member.value);
    }
    let names = members.iter().map(|member| &*member.name);
    let hint = suggest::hint(wanted, names);
    to_unsigned(name).ok_or_else(|| format!("there is no bit {name}{hint}"))
}

/// The float that the value rounds to, as it is on the wire; `None` where that is not the value.
pub(crate) fn float_raw(value: f64, shown: Shown) -> Option<u64> {
    match shown {
        Shown::Float { bits: 16 } => half_bits(value),
        Shown::Float { bits: 32 } => Some(u64::from((value as f32).to_bits())),
        Shown::Float { .. } => Some(value.to_bits()),
        // A whole number that has room is one; a zero with a sign is not.
        Shown::QuakeFloat => {
            let is_short = value.fract() == 0.0 && (-4096.0..4096.0).contains(&value);
            Some(if is_short && (value != 0.0 || value.is_sign_positive()) {
                (value + 4096.0) as u64
            } else {
                1 << 32 | u64::from((value as f32).to_bits())
            })
        }
        _ => None,
    }
}

/// IEEE 754 binary16, rounded to the nearest, ties to even; section 4.3.1.
fn half_bits(value: f64) -> Option<u64> {
    let sign = u64::from(value.is_sign_negative()) << 15;
    let magnitude = value.abs();
    if value.is_nan() {
        return None;
    }
    if magnitude >= 65520.0 {
        return Some(sign | 0x7c00);
    }
    // The distance between neighbours: 2^-24 below the least normal number.
    let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
    let exponent = exponent.max(-14);
    let steps = (magnitude * 2f64.powi(10 - exponent)).round_ties_even() as u64;
    // A full 2048 carries into the exponent by itself.
    Some(sign | ((((exponent + 14) as u64) << 10) + steps))
}

/// The bytes that the JSON of a text, of bytes, or of an integer of 128 bits asks for.
///
/// # Errors
/// Why there are none.
pub(crate) fn bytes_of(leaf: Leaf<'_>, shown: Shown) -> Result<Vec<u8>, String> {
    if let Some(raw) = leaf.raw {
        let bytes = bytes_of_hex(raw)?;
        let shown = match shown {
            Shown::Text(encoding) | Shown::ZeroText(encoding) => show::text(&bytes, encoding),
            Shown::PaddedText(encoding) => show::padded_text(&bytes, encoding),
            _ => return Ok(bytes),
        };
        if leaf
            .value
            .is_some_and(|value| value.as_str() != Some(&shown))
        {
            return Err("`raw` and `value` are different texts: leave one of them out".to_owned());
        }
        return Ok(bytes);
    }
    let Some(value) = leaf.value else {
        return Err("there is no value".to_owned());
    };
    let encoding = match shown {
        Shown::Text(encoding) | Shown::ZeroText(encoding) | Shown::PaddedText(encoding) => encoding,
        Shown::Wide(order) => {
            let number = to_wide(value).ok_or_else(|| format!("{value} is not 0 to 2^128 - 1"))?;
            return Ok(match order {
                Some(ByteOrder::Big) => number.to_be_bytes().to_vec(),
                _ => number.to_le_bytes().to_vec(),
            });
        }
        Shown::Uuid => {
            let bytes = value.as_str().and_then(uuid::from_text);
            return bytes.ok_or_else(|| format!("{value} is no UUID"));
        }
        _ => return bytes_of_hex(value),
    };
    match value {
        Json::String(text) => text_bytes(text, encoding),
        other => Err(format!("{other} is not a text")),
    }
}

/// A text in its encoding.
pub(crate) fn text_bytes(text: &str, encoding: Encoding) -> Result<Vec<u8>, String> {
    let cannot = |what| format!("{text:?} has characters that {what} lacks");
    match encoding {
        Encoding::Utf8 => Ok(text.as_bytes().to_vec()),
        Encoding::Ascii if text.is_ascii() => Ok(text.as_bytes().to_vec()),
        Encoding::Ascii => Err(cannot("ASCII")),
        Encoding::Latin1 => {
            let byte = |character| u8::try_from(u32::from(character)).ok();
            let bytes: Option<Vec<u8>> = text.chars().map(byte).collect();
            bytes.ok_or_else(|| cannot("Latin-1"))
        }
        Encoding::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        Encoding::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
    }
}

/// Two digits a byte.
pub(crate) fn hex(bytes: &[u8]) -> Json {
    Json::String(hexadecimal::text(bytes))
}

/// # Errors
/// The JSON is not bytes.
pub(crate) fn bytes_of_hex(json: &Json) -> Result<Vec<u8>, String> {
    let bad = || format!("{json} is not bytes: two hexadecimal digits each");
    let text = json.as_str().ok_or_else(bad)?;
    let digits = text.chars().filter(|character| !character.is_whitespace());
    hexadecimal::bytes(digits).ok_or_else(bad)
}

fn pair(raw: Json, value: Json) -> Json {
    let mut both = Map::new();
    both.insert("raw".to_owned(), raw);
    both.insert("value".to_owned(), value);
    Json::Object(both)
}

fn unsigned(value: u64) -> Json {
    match value {
        0..=EXACT_MAX => Json::from(value),
        _ => Json::String(value.to_string()),
    }
}

/// An integer of 128 bits.
pub(crate) fn wide(value: u128) -> Json {
    match u64::try_from(value) {
        Ok(value) => unsigned(value),
        Err(_) => Json::String(value.to_string()),
    }
}

fn signed(value: i64) -> Json {
    match value.unsigned_abs() {
        0..=EXACT_MAX => Json::from(value),
        _ => Json::String(value.to_string()),
    }
}

/// JSON has no word for what is not a number.
fn float(value: f64) -> Option<Json> {
    Number::from_f64(value).map(Json::Number)
}

fn to_unsigned(json: &Json) -> Option<u64> {
    u64::try_from(to_integer(json)?).ok()
}

/// A number, or a text with one: in decimal, or with `0x` in hexadecimal.
fn to_integer(json: &Json) -> Option<i128> {
    match json {
        Json::Number(number) => {
            let signed = number.as_i64().map(i128::from);
            signed.or_else(|| number.as_u64().map(i128::from))
        }
        Json::String(text) => match text.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        _ => None,
    }
}

/// The same, without a sign and of 128 bits.
fn to_wide(json: &Json) -> Option<u128> {
    match json {
        Json::String(text) => match text.strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        json => u128::try_from(to_integer(json)?).ok(),
    }
}

fn to_float(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => match text.as_str() {
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::quantized::{Quantized, Rounding};

    #[track_caller]
    fn back(json: Json, shown: Shown, expected: Result<u64, &str>) {
        let raw = Leaf::of(&json).and_then(|leaf| raw_of(leaf, shown, &Dictionary::default()));
        assert_eq!(raw, expected.map_err(str::to_owned), "{json}");
    }

    #[test]
    fn integers_past_two_to_the_53_are_texts() {
        let json = leaf_of(u64::MAX, Shown::Unsigned, &Dictionary::default());
        assert_eq!(json, Json::from("18446744073709551615"));
        back(json, Shown::Unsigned, Ok(u64::MAX));
    }

    #[test]
    fn raw_and_value_that_disagree_are_refused() {
        let shown = Shown::Quantized(Quantized {
            low: 0.0,
            high: 255.0,
            bits: 8,
            rounding: Rounding::Nearest,
        });
        back(serde_json::json!({"raw": 7, "value": 7.0}), shown, Ok(7));
        back(serde_json::json!({"value": 9.4}), shown, Ok(9));
        back(
            serde_json::json!({"raw": 7, "value": 9.0}),
            shown,
            Err("`raw` is 7, which stands for 7.0, and `value` is 9.0: leave one of them out"),
        );
    }

    #[test]
    fn every_half_float_comes_back() {
        for raw in 0..=0xffffu64 {
            let json = leaf_of(raw, Shown::Float { bits: 16 }, &Dictionary::default());
            back(json, Shown::Float { bits: 16 }, Ok(raw));
        }
    }

    #[test]
    fn a_half_float_rounds_to_the_nearest_even() {
        for (value, raw) in [(1.0, 0x3c00), (1.000_488_281_25, 0x3c00), (65519.9, 0x7bff)] {
            assert_eq!(half_bits(value), Some(raw), "{value}");
        }
    }

    #[test]
    fn the_bits_of_a_nan_survive() {
        let raw = 0x7fa0_0001;
        let json = leaf_of(raw, Shown::Float { bits: 32 }, &Dictionary::default());
        back(json, Shown::Float { bits: 32 }, Ok(raw));
    }
}
