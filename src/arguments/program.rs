//! What can be asked of starting a recorded program again.

use std::ffi::OsString;

use clap::Args;

#[derive(Debug, Args)]
pub struct Program {
    /// Start this program again, which `netreel record` recorded, with the recorded packets,
    /// clocks and random bytes, and compare what it sends (docs/guides/replay-a-program.md).
    /// `--until` stops it there for a debugger.
    #[arg(last = true, value_name = "CMD", conflicts_with_all = ["together", "layer", "tune", "set", "step", "from"])]
    pub command: Vec<OsString>,
    /// End a program that does nothing for so long; 0 waits for ever.
    #[arg(long, value_name = "SECS", default_value_t = 10.0, requires = "command", value_parser = super::seconds_or_never)]
    pub patience: f64,
}
