//! The example's layer as a plugin: `netreel replay DIR --layer target/debug/examples/libkcp_layer.so`

use kcp_recorded::example::Game;
use netreel_plugin::{Start, World};
use netreel_record::Shared;

fn create(start: &Start<'_>, io: Shared<World>) -> Result<Game<World>, Box<dyn std::error::Error>> {
    Game::new(io, start.conditions)
}

netreel_plugin::layer!(c"KCP example", create);
