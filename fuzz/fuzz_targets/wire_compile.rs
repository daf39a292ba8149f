//! Any text: a wire, or refused with reports that can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netreel_wire::Wire;

fuzz_target!(|text: &str| {
    match Wire::compile("fuzz.wire", text) {
        Ok(wire) => {
            let decoded = wire.decode(text.as_bytes());
            let mut facts = decoded.facts.clone();
            wire.facts(text.as_bytes(), &mut facts);
            assert_eq!(facts, decoded.facts);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
