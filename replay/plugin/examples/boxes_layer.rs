//! The sample engine as a plugin.

use std::ffi::CStr;

use netreel_plugin::{Start, World};
use netreel_sample_engine::{NetLayer, StartError};
use netreel_transport::Shared;

fn create(start: &Start<'_>, _: Shared<World>) -> Result<NetLayer, StartError> {
    NetLayer::new(netreel_sample_engine::Start::decode(start.conditions)?)
}

/// As the reels of the demonstration have it.
const BUILD: &CStr = match CStr::from_bytes_with_nul(
    concat!("netreel ", env!("CARGO_PKG_VERSION"), "\0").as_bytes(),
) {
    Ok(build) => build,
    Err(_) => c"",
};

netreel_plugin::layer!(c"boxes", create, BUILD);
