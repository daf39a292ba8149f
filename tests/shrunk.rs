//! A race that `netreel shrink` has made small, as a test of the sample engine: what the command writes
//! compiles, and the historic engine fails it; the cured one passes it. The test that it has for an engine's
//! own CI is left out here by being no test of the harness.

use std::sync::OnceLock;

use netreel_sample_engine::{Mode, NetLayer, Start};
use netreel_transport::Layer;

/// Made by `netreel shrink samples/sessions/host --finding 2 --out tests/shrunk --as-test
/// tests/shrunk/race.rs`.
#[path = "shrunk/race.rs"]
mod race;

/// How objects change owner, in place of what was recorded.
static CURE: OnceLock<Mode> = OnceLock::new();

fn layer(start: &[u8]) -> Box<dyn Layer> {
    let mut start = Start::decode(start).expect("start conditions");
    if let Some(mode) = CURE.get() {
        start.mode = *mode;
    }
    Box::new(NetLayer::new(start).expect("good conditions"))
}

fn main() {
    let ran = race::played();
    assert!(ran.is_wrong(), "{ran:#?}");
    assert_eq!(ran.differences[0].object, 42);
    CURE.set(Mode::Owner).expect("not set before");
    let ran = race::played();
    assert!(!ran.is_wrong(), "{ran:#?}");
}
