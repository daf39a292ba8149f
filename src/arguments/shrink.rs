//! What can be asked of shrinking.

use std::path::PathBuf;

use clap::Args;

use super::Read;

#[derive(Debug, Args)]
pub struct Shrink {
    #[command(flatten)]
    pub read: Read,
    /// Which finding is to stay, by its number in `check`; without it the first error.
    #[arg(long, value_name = "N")]
    pub finding: Option<usize>,
    /// Where the small session goes, in `failing`, and beside it in `healthy` the same one with the one
    /// order that cures it; must be empty or not exist.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Also write a test that plays the small session into the engine's layer: in Rust, or in C for a
    /// plugin (FILE.c).
    #[arg(long, value_name = "FILE.rs|FILE.c", value_parser = rust_or_c)]
    pub as_test: Option<PathBuf>,
    /// The longest time; 0: as long as it takes.
    #[arg(long, value_name = "SECS", default_value_t = 60.0, value_parser = super::seconds_or_never)]
    pub seconds: f64,
    /// How long the nodes play on behind the end of the recording, so that all arrives.
    #[arg(long, value_name = "MS", default_value_t = 3000)]
    pub rest: u64,
    /// Play into the network layer of this shared library (docs/engines.md).
    #[arg(long, value_name = "FILE.so")]
    pub layer: Option<PathBuf>,
}

fn rust_or_c(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    match path.extension().and_then(|it| it.to_str()) {
        Some("rs" | "c") => Ok(path),
        _ => Err("a test is in Rust (FILE.rs) or in C (FILE.c)".to_owned()),
    }
}
