//! `netreel state`: what can be asked.

use clap::Args;

use super::Filtered;

#[derive(Debug, Args)]
pub struct State {
    #[command(flatten)]
    pub filtered: Filtered,
    /// At this time of the session, for example `1.25s`; without it at the end.
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// Only what this node believed, and the packets that told it.
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Only this object.
    #[arg(long, value_name = "ID")]
    pub object: Option<u64>,
    /// How what two nodes believed differed: at the time, first, how often and how long.
    #[arg(long, value_name = "A,B", conflicts_with = "node")]
    pub diff: Option<String>,
}
