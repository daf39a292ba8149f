//! What `netreel diff` is asked.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 the same, 1 they differ, 2 they cannot be compared (docs/diff.md).")]
pub struct Diff {
    /// The first session: a reel, a folder of reels, or a packet capture.
    #[arg(value_name = "A")]
    pub first: PathBuf,
    /// The second session.
    #[arg(value_name = "B")]
    pub second: PathBuf,
    /// A key log for encrypted layers; without it `keys.log` beside what is read, where there is one.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// Decode both with this wire instead of those inside the reels.
    #[arg(long, value_name = "FILE")]
    pub wire: Option<PathBuf>,
    /// Judge both by the numbers in this file; without it by `bounds.toml` beside each, where there is
    /// one (docs/check.md).
    #[arg(long, value_name = "FILE")]
    pub bounds: Option<PathBuf>,
    /// Read the reels, and neither use nor keep an index beside them (docs/large-sessions.md).
    #[arg(long)]
    pub no_index: bool,
    /// Print all differences, not the first ones of each kind.
    #[arg(long)]
    pub all: bool,
    /// Print JSON (docs/json.md).
    #[arg(long)]
    pub json: bool,
}
