//! The sample engine as a plugin. With BOXES_CURED set its objects change owner in mode `owner`, whatever was
//! recorded.

use std::ffi::CStr;

use netreel_plugin::{Start, World};
use netreel_sample_engine::{Mode, NetLayer, StartError};
use netreel_transport::Shared;

fn create(start: &Start<'_>, _: Shared<World>) -> Result<NetLayer, StartError> {
    let mut start = netreel_sample_engine::Start::decode(start.conditions)?;
    if std::env::var_os("BOXES_CURED").is_some() {
        start.mode = Mode::Owner;
    }
    NetLayer::new(start)
}

/// As the reels of the demonstration have it.
const BUILD: &CStr = match CStr::from_bytes_with_nul(
    concat!("netreel ", env!("CARGO_PKG_VERSION"), "\0").as_bytes(),
) {
    Ok(build) => build,
    Err(_) => c"",
};

netreel_plugin::layer!(c"boxes", create, BUILD);
