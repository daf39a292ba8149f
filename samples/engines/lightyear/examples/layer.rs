//! The example's layer as a plugin: `netreel replay DIR --layer target/debug/examples/liblightyear_layer.so`

use lightyear_recorded::example::Game;
use netreel_plugin::{Start, World};
use netreel_transport::Shared;

fn create(start: &Start<'_>, io: Shared<World>) -> Result<Game, Box<dyn std::error::Error>> {
    Game::over(io, start.conditions)
}

netreel_plugin::layer!(c"lightyear example", create);
