//! What `netreel why` is asked.

use std::path::PathBuf;

use clap::Args;

use super::Read;

#[derive(Debug, Args)]
pub struct Why {
    #[command(flatten)]
    pub read: Read,
    #[command(flatten)]
    pub of: WhyOf,
    /// Of `--finding`: the file of rules that `check` was given, whose findings have numbers too.
    #[arg(long, value_name = "FILE", requires = "finding")]
    pub rules: Option<PathBuf>,
    /// Of `--object`: the node that believed it.
    #[arg(long, value_name = "NAME", requires = "object")]
    pub node: Option<String>,
    /// Of `--object`: when, for example `1.25s`. Default: when the session ends.
    #[arg(long, value_name = "TIME", requires = "object")]
    pub at: Option<String>,
}

/// What is to be explained.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct WhyOf {
    /// A packet: why it was sent, lost or late, and what its messages did.
    #[arg(long, value_name = "N")]
    pub packet: Option<u32>,
    /// A finding, by its number in `check`.
    #[arg(long, value_name = "N")]
    pub finding: Option<u32>,
    /// What a node (`--node`) believed of an object, by its number in the protocol.
    #[arg(long, value_name = "ID", requires = "node")]
    pub object: Option<u64>,
}
