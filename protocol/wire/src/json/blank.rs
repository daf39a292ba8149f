//! Values that say nothing, of the same kind and length as those that said something.

use serde_json::Value as Json;

use super::leaf::raw_of_integer;
use crate::layout::Encoding;
use crate::program::Shown;

/// As many bytes of a text, filled with `x`.
pub(super) fn blank_text(bytes: usize, encoding: Encoding) -> Json {
    let unit = match encoding {
        Encoding::Utf8 | Encoding::Ascii | Encoding::Latin1 => 1,
        Encoding::Utf16Le | Encoding::Utf16Be => 2,
    };
    if !bytes.is_multiple_of(unit) {
        return serde_json::json!({ "raw": super::hex(&blank_bytes(bytes)) });
    }
    Json::String("x".repeat(bytes / unit))
}

/// Zeros.
pub(super) fn blank_bytes(bytes: usize) -> Vec<u8> {
    vec![0; bytes]
}

/// What a field of so many bits has on the wire when it says 0, or where it cannot, the least that
/// it can say.
pub(super) fn blank_raw(shown: Shown, bits: u32) -> u64 {
    match shown {
        Shown::Range { .. } => raw_of_integer(0, shown)
            .ok()
            .filter(|&raw| bits >= 64 || raw >> bits == 0)
            .unwrap_or(0),
        Shown::Quantized(quantized) => quantized.raw(0.0).unwrap_or(0),
        // Short, or with the bits of a float.
        Shown::QuakeFloat if bits > 14 => 1 << 32,
        Shown::QuakeFloat => 4096,
        _ => 0,
    }
}
