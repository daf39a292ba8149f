//! The example's layer as a plugin: `netreel replay DIR --layer target/debug/examples/librusty_enet_layer.so`

use netreel_plugin::{Start, World};
use netreel_record::Shared;
use rusty_enet_recorded::example::Game;

fn create(start: &Start<'_>, io: Shared<World>) -> Result<Game<World>, Box<dyn std::error::Error>> {
    Game::new(io, start.conditions)
}

netreel_plugin::layer!(c"rusty_enet example", create);
