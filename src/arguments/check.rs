//! What `netreel check` is asked.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use netreel_protocol::history::Level;

use super::Filtered;

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 clean, 1 wrong, 2 unknown: not all could be judged, for example because a reel is \
missing (docs/check.md).")]
pub struct Check {
    #[command(flatten)]
    pub filtered: Filtered,
    /// Ask the rules in this file as well, once its tests have passed (docs/rules.md). With `--follow`
    /// when all is recorded.
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// A finding of this level or a worse one is wrong.
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = FailOn::Error)]
    pub fail_on: FailOn,
    /// Accept what is there: exit 0 unless something is wrong. What is printed stays the same.
    #[arg(long)]
    pub partial: bool,
    /// Print each finding while the session is recorded, once nothing that comes can change it, and
    /// end with the recording.
    #[arg(long, conflicts_with = "filter")]
    pub follow: bool,
    /// Of a finding that tells of several objects, print what happened to each, with its proof.
    #[arg(long, short, conflicts_with = "each")]
    pub verbose: bool,
    /// Print what other tools read: a test report for CI, or findings for code scanning (docs/check.md).
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with_all = ["json", "follow", "verbose"])]
    pub format: Option<ReportFormat>,
    /// Each folder below that holds reels is a session of its own: a line each, and a summary.
    #[arg(long, conflicts_with = "follow")]
    pub each: bool,
}

/// In what others read the findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// JUnit's XML: a session is a suite, a rule a test case.
    Junit,
    /// SARIF 2.1.0.
    Sarif,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    Info,
    Warning,
    Error,
}

impl FailOn {
    /// The level that is meant.
    pub fn level(self) -> Level {
        match self {
            FailOn::Info => Level::Info,
            FailOn::Warning => Level::Warning,
            FailOn::Error => Level::Error,
        }
    }
}
