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
    /// clocks and random bytes, and compare what it sends (docs/guides/replay-a-program.md). It is
    /// named as it was for `record`; with nothing behind `--`, the recorded one is started.
    /// `--until` stops it there for a debugger, which `--gdb` starts.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
    /// Which of the program's threads are answered from the recording: `all`, in the recorded
    /// order, or those that used UDP sockets; the others then run as they like, with the system's
    /// clocks.
    #[arg(long, value_name = "WHICH")]
    pub threads: Option<Threads>,
    /// Do not compare what the program prints: for lines with what no recording has, a count of the
    /// processor's time for example.
    #[arg(long)]
    pub no_log: bool,
}

impl Program {
    /// Whether a program is to be started: one stands behind `--`, or nothing does.
    pub fn is_asked(&self) -> bool {
        let last = std::env::args_os().next_back();
        !self.command.is_empty() || last.is_some_and(|last| last == "--")
    }
}
