//! What most commands are asked alike.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

/// The time that [`seconds_or_never`] took.
pub fn longest(seconds: f64) -> Duration {
    if seconds > 0.0 {
        Duration::from_secs_f64(seconds)
    } else {
        Duration::MAX
    }
}

/// Seconds, 0 for never.
pub fn seconds_or_never(text: &str) -> Result<f64, String> {
    within(text, 0.0..=86_400.0, "seconds")
}

/// What is read, and with which wire.
#[derive(Clone, Debug, Default, Args)]
pub struct Source {
    /// Reels, folders of reels, or packet captures (pcap, pcapng).
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// A key log for encrypted layers; without it `keys.log` beside what is read, where there is one.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// Decode with this wire instead of the one inside the reels.
    #[arg(long, value_name = "FILE")]
    pub wire: Option<PathBuf>,
    /// Judge by the numbers in this file; without it `bounds.toml` beside what is read, where there is
    /// one (docs/check.md).
    #[arg(long, value_name = "FILE")]
    pub bounds: Option<PathBuf>,
    /// Read the reels, and neither use nor keep an index beside them (docs/large-sessions.md).
    #[arg(long)]
    pub no_index: bool,
}

/// What every reading command takes.
#[derive(Debug, Default, Args)]
pub struct Read {
    #[command(flatten)]
    pub source: Source,
    /// Print JSON (docs/json.md).
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Filtered {
    #[command(flatten)]
    pub read: Read,
    /// Only what fits, for example `from == A && kind == create && object == 42`
    /// (docs/filter.md).
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
}

impl Source {
    /// What is recorded at a path, with nothing beside it, and no index of it.
    pub fn alone(path: &Path) -> Source {
        Source {
            paths: vec![path.to_owned()],
            no_index: true,
            ..Source::default()
        }
    }
}

/// A number within a range; else what to write.
pub fn within(text: &str, range: RangeInclusive<f64>, what: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("write {what} from {} to {}", range.start(), range.end()))
}

/// A number of seconds from a tenth to a day.
pub fn seconds(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if (0.1..=86_400.0).contains(&number) {
        Ok(number)
    } else {
        Err("from 0.1 seconds to a day, 86400".to_owned())
    }
}
