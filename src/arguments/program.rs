//! What can be asked of starting a recorded program again.

use std::ffi::OsString;

use clap::Args;

/// See [`Program::threads`].
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Threads {
    /// All of them.
    All,
    /// Those with packets.
    Packets,
}

#[derive(Debug, Args)]
pub struct Program {
    /// Start this program again, which `netreel record` recorded, with the recorded packets,
    /// clocks and random bytes, and compare what it sends (docs/guides/replay-a-program.md).
    /// `--until` stops it there for a debugger.
    #[arg(last = true, value_name = "CMD", conflicts_with_all = ["together", "layer", "tune", "set", "step", "from", "to", "gdb"])]
    pub command: Vec<OsString>,
    /// Which of the program's threads are answered from the recording: `all`, in the recorded
    /// order, or those that used UDP sockets; the others then run as they like, with the system's
    /// clocks.
    #[arg(long, value_name = "WHICH", requires = "command")]
    pub threads: Option<Threads>,
    /// Do not compare what the program prints: for lines with what no recording has, a count of the
    /// processor's time for example.
    #[arg(long, requires = "command")]
    pub no_log: bool,
}
