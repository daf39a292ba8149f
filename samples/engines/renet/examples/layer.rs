//! The example's layer as a plugin: `netreel replay DIR --layer target/debug/examples/librenet_layer.so`

use netreel_plugin::{Start, World};
use netreel_record::Shared;
use renet_recorded::example::Game;

fn create(start: &Start<'_>, _: Shared<World>) -> Result<Game, Box<dyn std::error::Error>> {
    Game::new(start.conditions)
}

netreel_plugin::layer!(c"renet example", create);
