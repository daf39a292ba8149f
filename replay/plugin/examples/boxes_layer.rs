//! The sample engine as a plugin.

use netreel_plugin::{Start, World};
use netreel_sample_engine::{NetLayer, StartError};
use netreel_transport::Shared;

fn create(start: &Start<'_>, _: Shared<World>) -> Result<NetLayer, StartError> {
    NetLayer::new(netreel_sample_engine::Start::decode(start.conditions)?)
}

netreel_plugin::layer!(c"boxes", create);
