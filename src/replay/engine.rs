//! What makes the layers that a recording is played into.

use netreel_reel::Reel;
use netreel_replay::together::NodeIo;
use netreel_transport::{Layer, Shared};

use super::ENGINE;
use super::boxes::{self, Alone, Changes};
use crate::outcome::Failure;

/// An engine's network layer.
pub enum Engine<'a> {
    /// The sample engine's.
    Boxes(Changes<'a>),
}

impl<'a> Engine<'a> {
    /// The engine that was asked for.
    pub fn asked(changes: Changes<'a>) -> Engine<'a> {
        Engine::Boxes(changes)
    }

    /// Why it cannot play the recording of a node; `None`: it can.
    pub fn cannot_play(&self, reel: &Reel) -> Option<String> {
        let header = reel.header();
        match self {
            Engine::Boxes(_) => (header.engine != ENGINE).then(|| {
                format!(
                    "the reel of {} was recorded at the engine `{}`; this command can play \
                     `{ENGINE}` alone",
                    header.node, header.engine
                )
            }),
        }
    }

    /// The start conditions that it begins with.
    pub fn start(&self, reel: &Reel) -> Result<Vec<u8>, Failure> {
        match self {
            Engine::Boxes(changes) => {
                let start = boxes::start(reel, *changes)?;
                let encoded = start.encode();
                boxes::layer(reel, start, *changes)?;
                Ok(encoded)
            }
        }
    }

    /// The layer of a node.
    pub fn layer(&self, reel: &Reel, _io: Shared<NodeIo>) -> Result<Box<dyn Layer>, Failure> {
        match self {
            Engine::Boxes(changes) => {
                let layer = boxes::layer(reel, boxes::start(reel, *changes)?, *changes)?;
                Ok(Box::new(Alone(layer)))
            }
        }
    }
}
