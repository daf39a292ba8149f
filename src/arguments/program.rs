//! What can be asked of starting a recorded program again.

use std::ffi::OsString;

use clap::Args;

#[derive(Debug, Args)]
pub struct Program {
    /// Start this program again, which `netreel record` recorded, with the recorded packets,
    /// clocks and random bytes, and compare what it sends (docs/guides/replay-a-program.md).
    /// `--until` stops it there for a debugger.
    #[arg(last = true, value_name = "CMD", conflicts_with_all = ["together", "layer", "tune", "set", "step", "from", "to", "gdb"])]
    pub command: Vec<OsString>,
}
