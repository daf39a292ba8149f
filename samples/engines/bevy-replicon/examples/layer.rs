//! The example's layer as a plugin: `netreel replay DIR --layer target/debug/examples/libreplicon_layer.so`

use netreel_plugin::{Start, World};
use netreel_transport::Shared;
use replicon_recorded::example::Game;

fn create(start: &Start<'_>, io: Shared<World>) -> Result<Game, Box<dyn std::error::Error>> {
    Game::over(io, start.conditions)
}

netreel_plugin::layer!(c"bevy_replicon example", create);
