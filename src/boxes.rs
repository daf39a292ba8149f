//! What every reel of the sample game begins with.

use netreel_capture::clock_anchor;
use netreel_reel::{Header, WireText};
use netreel_sample_engine::{BOXES, Start};

/// The engine that this command can replay, as reels name it.
pub const ENGINE: &str = "boxes";

/// The wire of the sample engine, which goes into every reel.
const WIRE: &str = include_str!("../samples/wires/boxes.wire");

/// The beginning of a node's reel. The seed has a name, for whoever reads it.
pub fn header(node: &str, session: [u8; 16], seed: (&str, u64), start: &Start) -> Header {
    Header {
        node: node.to_owned(),
        session,
        clock: clock_anchor(),
        engine: ENGINE.to_owned(),
        build: build(),
        args: std::env::args().skip(1).collect(),
        start: start.encode(),
        seeds: vec![(seed.0.to_owned(), seed.1)],
        hashes: vec![(
            "boxes.toml".to_owned(),
            format!("{:08x}", crc32fast::hash(BOXES.as_bytes())),
        )],
        wires: vec![WireText {
            name: "boxes.wire".to_owned(),
            text: WIRE.to_owned(),
        }],
        redacted: None,
    }
}

/// What this build calls itself in reels.
pub fn build() -> String {
    format!("netreel {}", env!("CARGO_PKG_VERSION"))
}

/// Tells a session from every other: the time, the process and the seed.
pub fn session_id(seed: u64) -> [u8; 16] {
    let now = chrono::Utc::now().timestamp_nanos_opt().unwrap_or_default();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&now.to_be_bytes());
    id[8..12].copy_from_slice(&std::process::id().to_be_bytes());
    id[12..].copy_from_slice(&seed.to_be_bytes()[4..]);
    id
}
