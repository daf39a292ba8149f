//! How a recording is written, the same for every way of making one.

use std::time::Duration;

use clap::Args;
use netreel_capture::{Limits, Options, WhenFull};

/// How a recording is written.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
#[command(next_help_heading = "How it is written")]
pub struct Recording {
    /// Where the disk cannot keep up, drop events (counted in the reel) instead of waiting.
    #[arg(long)]
    pub drop: bool,
    /// The room for what is recorded and not yet written, for each thread: 256k to 1G.
    /// Default: 4M, with --proxy 32M, with --keep-size a sixteenth of that where it is less.
    #[arg(long, value_name = "BYTES", value_parser = buffer)]
    pub buffer: Option<u64>,
    /// Go on in a new file when one has this size: NAME.reel, NAME.0001.reel and so on, which read
    /// as one reel. Sizes may end in k, M or G.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub rotate_size: Option<u64>,
    /// Go on in a new file after so many seconds.
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub rotate_time: Option<Duration>,
    /// Delete the oldest files of a reel, so that the rest stays below this size, buffers included.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub keep_size: Option<u64>,
    /// Delete the files of a reel that ended longer ago.
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub keep_time: Option<Duration>,
    /// End a reel when so much was written into it.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub max_size: Option<u64>,
    /// End a reel after so many seconds.
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub max_time: Option<Duration>,
    /// Compress what is written, a block at a time.
    #[arg(long)]
    pub zstd: bool,
}

impl Recording {
    /// The same, as the recorder takes it.
    pub fn options(&self) -> Options {
        let limits = |bytes, time| Limits { bytes, time };
        let usual = Options::default();
        // Buffers count: three of them take less than a fifth of what is kept.
        let kept = self
            .keep_size
            .map(|bytes| (bytes / 16).max(BUFFER_MIN))
            .map(|bytes| bytes.min(usual.ring_capacity as u64));
        let buffer = self
            .buffer
            .or(kept)
            .and_then(|bytes| usize::try_from(bytes).ok());
        Options {
            ring_capacity: buffer.unwrap_or(usual.ring_capacity),
            when_full: if self.drop {
                WhenFull::Drop
            } else {
                WhenFull::Block
            },
            rotate: limits(self.rotate_size, self.rotate_time),
            keep: limits(self.keep_size, self.keep_time),
            max: limits(self.max_size, self.max_time),
            zstd: self.zstd,
            ..usual
        }
    }
}

/// A size: `65536`, `64k`, `10M`, `2G`.
fn bytes(text: &str) -> Result<u64, String> {
    let units = [('k', 1u64 << 10), ('m', 1 << 20), ('g', 1 << 30)];
    let unit = text.chars().last().map(|last| last.to_ascii_lowercase());
    let unit = units.iter().find(|(name, _)| Some(*name) == unit);
    let (digits, factor) = match unit {
        Some((_, factor)) => (text.get(..text.len() - 1).unwrap_or(""), *factor),
        None => (text, 1),
    };
    let number = digits
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(factor));
    let number = number.filter(|number| *number > 0);
    number.ok_or_else(|| "a size is a number above 0, for example 65536, 64k, 10M or 2G".to_owned())
}

/// The smallest ring: a quarter of it has to hold the largest packet with what is told of it.
const BUFFER_MIN: u64 = 256 << 10;
/// The largest ring.
const BUFFER_MAX: u64 = 1 << 30;

/// A size that a ring may have.
fn buffer(text: &str) -> Result<u64, String> {
    let size = bytes(text)?;
    match size {
        BUFFER_MIN..=BUFFER_MAX => Ok(size),
        _ => Err("a buffer has 256k to 1G, which each thread takes on the disk".to_owned()),
    }
}

/// A time in seconds: `30`, `0.5`.
fn seconds(text: &str) -> Result<Duration, String> {
    let time = text
        .parse::<f64>()
        .ok()
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    // Less than half a nanosecond would come to nothing.
    let time = time.filter(|time| !time.is_zero());
    time.ok_or_else(|| "a time is a number of seconds above 0, for example 30 or 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_may_have_a_unit() {
        assert_eq!(bytes("65536"), Ok(65536));
        assert_eq!(bytes("64k"), Ok(64 << 10));
        assert_eq!(bytes("10M"), Ok(10 << 20));
        assert_eq!(bytes("2g"), Ok(2 << 30));
    }

    #[test]
    fn what_is_no_size_says_how_to_write_one() {
        for text in [
            "",
            "k",
            "0",
            "-1",
            "10T",
            "99999999999999999999",
            "1e3",
            "µ",
        ] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_buffer_has_a_smallest_and_a_largest_size() {
        assert_eq!(buffer("256k"), Ok(256 << 10));
        assert_eq!(buffer("1G"), Ok(1 << 30));
        for text in ["1", "1k", "255k", "262143", "1025M", "100g", "17179869183G"] {
            let error = buffer(text).unwrap_err();
            assert!(error.contains("256k to 1G"), "{text}: {error}");
        }
    }

    #[test]
    fn a_time_is_above_zero() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["", "0", "-1", "nan", "inf", "soon", "1e-12"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
