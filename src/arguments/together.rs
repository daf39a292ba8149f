//! What can be asked of playing on.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub struct Together {
    /// Play into the network layer of this shared library, which exports `netreel_layer`
    /// (docs/engines.md, docs/c-api.md), instead of the sample engine's.
    #[arg(long, value_name = "FILE.so", conflicts_with_all = ["tune", "set"])]
    pub layer: Option<PathBuf>,
    /// Play all nodes on at once over the network that they had, to the end, whatever they do now,
    /// and write it as a new session: does my fix cure it? (docs/play-on.md)
    #[arg(long, requires = "out", conflicts_with = "node")]
    pub together: bool,
    /// Where the new reels go; must be empty or not exist.
    #[arg(long, value_name = "DIR", requires = "together")]
    pub out: Option<PathBuf>,
    /// What the recording does not tell follows from this number: what is lost of packets that it
    /// does not have, further random numbers.
    #[arg(long, value_name = "N", requires = "together", default_value_t = 1)]
    pub seed: u64,
}
