//! Any packets of a connection on any sample wire: to JSON, as text, and back to the same bytes.
#![no_main]

mod story;

use libfuzzer_sys::fuzz_target;

use story::Story;

fuzz_target!(|bytes: &[u8]| {
    let Some(story) = Story::new(bytes) else {
        return;
    };
    let wire = story.wire;
    // Encoding takes no state yet: what such packets say may depend on the ones before.
    if wire.has_state() {
        return;
    }
    let mut state = wire.new_state();
    for (context, packet) in story {
        let decoded = wire.decode_in(&context, &mut state, packet);
        let text = decoded.to_json().to_string();
        let json = serde_json::from_str(&text).expect("JSON");
        let encoded = wire.encode(&json).expect("what was decoded");
        assert_eq!(encoded.bytes, packet);
        assert_eq!(encoded.changes, []);
    }
});
