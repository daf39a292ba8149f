//! Any bytes as a ring file, its magic and identity put right.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use netreel_reel::ring::{RING_MAGIC, RING_PAGE};
use netreel_reel::{Header, Reel, ReelWriter};

fuzz_target!(|bytes: &[u8]| {
    let header = Header::default();
    let Ok(writer) = ReelWriter::create_with_identity(Vec::new(), &header, 1) else {
        return;
    };
    let start = writer.length() as usize;
    let Ok(mut reel) = writer.finish() else {
        return;
    };
    reel.truncate(start);
    // The bytes are spread over the places that mean something: control page, ring page, data.
    let mut rings = vec![0; 3 * RING_PAGE];
    let mut parts = bytes.chunks(16);
    for at in [64, 128, 192, 4096, 4096 + 64, 4096 + 128, 4096 + 192] {
        if let Some(part) = parts.next() {
            rings[at..at + part.len()].copy_from_slice(part);
        }
    }
    for (part, place) in parts.zip(rings[2 * RING_PAGE..].chunks_mut(16)) {
        place[..part.len()].copy_from_slice(part);
    }
    rings[..8].copy_from_slice(&RING_MAGIC);
    rings[8..12].copy_from_slice(&0u32.to_le_bytes());
    rings[12..16].copy_from_slice(&(RING_PAGE as u32).to_le_bytes());
    rings[16..24].copy_from_slice(&1u64.to_le_bytes());
    let Ok(reel) = Reel::open_parts(vec![Arc::new(reel)], Some(&rings)) else {
        panic!("it is whole")
    };
    let walk = reel.for_each(|_| {});
    assert_eq!(walk.events, reel.len());
});
