//! What can be asked of a replay under a debugger.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct Gdb {
    /// Start gdb on the replay of the node, with a breakpoint before the first event that fits:
    /// `event N`, `time 1.2s`, `finding`, or a filter. For several nodes, or where the output is no
    /// terminal, print the commands that start it (docs/replay.md).
    #[arg(long, value_name = "EXPR", conflicts_with_all = ["together", "step", "until", "from", "to", "json"])]
    pub gdb: Option<String>,
    /// Write a launch file for VS Code, which starts the replays of all nodes at once, each with its
    /// breakpoint.
    #[arg(long, value_name = "FILE", requires = "gdb")]
    pub vscode: Option<PathBuf>,
}
