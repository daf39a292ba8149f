//! What an engine calls the calls of its game.

use netreel_reel::Reel;
use netreel_sample_engine::Call;

use crate::boxes::ENGINE;

/// Names calls, where the engine of a reel is one that this command knows.
pub struct Calls {
    known: bool,
}

impl Calls {
    /// For the engine that a reel was recorded at.
    pub fn of(reel: &Reel) -> Calls {
        Calls {
            known: reel.header().engine == ENGINE,
        }
    }

    /// A call in words; `None` where the engine is not known here, or cannot read it.
    pub fn words(&self, call: &[u8]) -> Option<String> {
        let call = self.known.then(|| Call::decode(call).ok())??;
        Some(call.to_string())
    }
}
