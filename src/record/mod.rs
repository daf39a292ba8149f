//! `netreel record`: every way of making a reel from the command line, a file each.

pub mod arguments;
mod findings;
mod line;
#[cfg(any(feature = "pcap", windows))]
mod live;
mod program;
mod proxy;
mod ring;

use std::io::Write;
use std::path::PathBuf;

use crate::arguments::Record;
use crate::outcome::{Answer, Result};

pub fn run(arguments: &Record, out: &mut dyn Write) -> Result<Answer> {
    arguments::check(arguments)?;
    let folder = arguments.out.clone().unwrap_or_else(new_folder);
    // What a recorder has left here that was killed.
    netreel_capture::tidy(&folder);
    match &arguments.live.interface {
        Some(interface) => live::run(arguments, interface, &folder, out),
        None if !arguments.proxy.routes.is_empty() => proxy::run(arguments, &folder, out),
        None => program::run(arguments, &folder),
    }
}

/// What a build without libpcap says.
#[cfg(not(any(feature = "pcap", windows)))]
mod live {
    use std::io::Write;

    use crate::arguments::Record;
    use crate::outcome::{Answer, Result, fail};

    pub fn run(
        _: &Record,
        interface: &str,
        _: &std::path::Path,
        _: &mut dyn Write,
    ) -> Result<Answer> {
        fail(format!(
            "--live {interface}: this netreel was built without libpcap. Install libpcap-dev and \
             build it with the feature `pcap`; or capture with `tcpdump -i {interface} -w FILE udp` \
             and read FILE"
        ))
    }
}

/// The folder of a recording that was not given one.
fn new_folder() -> PathBuf {
    let now = chrono::Local::now().format("netreel-%Y%m%d-%H%M%S");
    PathBuf::from(now.to_string())
}
