//! Values of fields as JSON.

use netreel_wire::Value;
use serde_json::{Number, Value as Json};

use crate::figures::hex;

/// Integers up to this size are exact in every JSON reader.
const EXACT_MAX: u64 = (1 << 53) - 1;

/// What stands on the wire, where that is another thing than the value; and the value.
pub(super) fn raw_and_value(value: Value) -> (Option<String>, Json) {
    match value {
        Value::None => (None, Json::Null),
        Value::Unsigned(value) => (Some(value.to_string()), unsigned(value)),
        Value::Wide(value) => {
            let json = u64::try_from(value)
                .map(unsigned)
                .unwrap_or_else(|_| Json::String(value.to_string()));
            (Some(value.to_string()), json)
        }
        Value::Signed(value) => (Some(value.to_string()), signed(value)),
        Value::Bool(value) => (Some(u8::from(value).to_string()), Json::Bool(value)),
        Value::Float(value) => (None, float(value)),
        Value::Quantized { raw, value } => (Some(raw.to_string()), float(value)),
        Value::Enum {
            raw,
            name: Some(name),
        } => (Some(raw.to_string()), Json::String(name.to_string())),
        Value::Enum { raw, name: None } => (Some(raw.to_string()), unsigned(raw)),
        Value::Delta { change, value } => {
            let value = value.and_then(|value| i64::try_from(value).ok());
            (Some(change.to_string()), value.map_or(Json::Null, signed))
        }
        Value::Rotation {
            raw,
            quaternion: [x, y, z, w],
            euler_degrees,
            axes,
        } => {
            let value = serde_json::json!({
                "x": x, "y": y, "z": z, "w": w,
                "axes": axes.name(), "euler_degrees": euler_degrees,
            });
            (Some(raw.to_string()), value)
        }
        Value::Flags { raw, set, unnamed } => {
            let mut names: Vec<Json> = set.iter().map(|name| Json::from(&**name)).collect();
            if unnamed != 0 {
                names.push(Json::String(format!("{unnamed:#x}")));
            }
            (Some(raw.to_string()), Json::Array(names))
        }
        Value::Text(text) | Value::Uuid(text) => (None, Json::String(text)),
        Value::Bytes(bytes) | Value::Hash(bytes) => (None, Json::String(hex(&bytes))),
    }
}

fn unsigned(value: u64) -> Json {
    if value <= EXACT_MAX {
        Json::from(value)
    } else {
        Json::String(value.to_string())
    }
}

fn signed(value: i64) -> Json {
    if value.unsigned_abs() <= EXACT_MAX {
        Json::from(value)
    } else {
        Json::String(value.to_string())
    }
}

/// JSON has no word for what is not a number.
fn float(value: f64) -> Json {
    Number::from_f64(value).map_or_else(|| Json::String(value.to_string()), Json::Number)
}
