//! The example's layer as a plugin: `netreel replay DIR --layer target/debug/examples/libquinn_layer.so`

use std::sync::Arc;

use netreel_plugin::{Start, World};
use netreel_record::Shared;
use quinn_recorded::example::Game;
use rustls::NoKeyLog;

fn create(start: &Start<'_>, io: Shared<World>) -> Result<Game<World>, Box<dyn std::error::Error>> {
    Game::new(io, start.conditions, Arc::new(NoKeyLog))
}

netreel_plugin::layer!(c"quinn example", create);
