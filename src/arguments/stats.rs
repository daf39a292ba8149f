//! What `netreel stats` is asked.

use clap::{Args, ValueEnum};

use super::Filtered;

#[derive(Debug, Args)]
#[command(
    after_help = "Bytes are those of payload, as they were sent. The rows of a table sum up to them \
                  (docs/stats.md)."
)]
pub struct Stats {
    #[command(flatten)]
    pub filtered: Filtered,
    /// One table alone, with all its rows.
    #[arg(long, value_name = "WHAT", value_enum)]
    pub by: Option<StatsBy>,
    /// The links by stretches of so many seconds, for example `0.5`.
    #[arg(long, value_name = "SECONDS", conflicts_with = "by", value_parser = crate::lengths::seconds)]
    pub over: Option<f64>,
}

/// By what the bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsBy {
    /// From whom to whom.
    Link,
    /// What the wire calls messages.
    Kind,
    /// The types of objects.
    Type,
    /// Objects.
    Object,
    /// Remote procedures, where the wire names them.
    Rpc,
    /// Players' inputs, where the wire tells them: which came late, and how far games rolled back.
    Input,
    /// Seconds of the session.
    Second,
}
