//! What `netreel record` can be asked for, which options belong to which way of recording, and how a
//! recording is written.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use netreel_capture::ring_mode::Ring;
use netreel_capture::{Limits, Options, WhenFull};

use crate::arguments::FailOn;
use crate::outcome::{Result, fail};

#[derive(Debug, Args)]
#[group(skip)]
#[command(
    group = clap::ArgGroup::new("way").required(true),
    override_usage = "netreel record [OPTIONS] -- <CMD>...\n       \
                      netreel record [OPTIONS] --proxy <LISTEN=TARGET>\n       \
                      netreel record [OPTIONS] --live <IFACE>",
    after_help = "A program is recorded with every packet, clock read, random draw and wait, in \
                  order. Exits with the program's code, 128 + n for signal n; with 2 where it could \
                  not be recorded (docs/record.md).",
)]
pub struct Record {
    /// The program and its arguments, behind `--`.
    #[arg(last = true, group = "way", value_name = "CMD")]
    pub command: Vec<std::ffi::OsString>,
    /// Where the reels go, one for each process or one for the proxy. Default: a new folder
    /// `netreel-DATE` here.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub program: Program,
    #[command(flatten)]
    pub proxy: Proxy,
    #[command(flatten)]
    pub live: RecordLive,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub ring: RingArguments,
}

/// Ring mode, the same for all ways of recording (docs/record.md).
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Ring mode")]
pub struct RingArguments {
    /// Keep the last SECS seconds alone, and what a trigger keeps of them for good, in a folder
    /// `window-UTC-ID` of its own.
    #[arg(long, value_name = "SECS", value_parser = crate::arguments::seconds)]
    pub ring: Option<f64>,
    /// A window goes on for so long after its trigger. Default: 0.
    #[arg(long, value_name = "SECS", value_parser = crate::arguments::seconds, requires = "ring")]
    pub ring_after: Option<f64>,
    /// After so many windows none is kept any more. Default: 100.
    #[arg(long, value_name = "N", requires = "ring")]
    pub ring_windows: Option<u32>,
    /// This signal to the recorder is a trigger. Default: usr1.
    #[arg(long, value_name = "NAME", value_enum, requires = "ring")]
    pub trigger_signal: Option<TriggerSignal>,
    /// Check the recording while it runs: something at or above this level is a trigger.
    #[arg(long, value_name = "LEVEL", value_enum, requires = "ring")]
    pub trigger_on_finding: Option<FailOn>,
    /// Keep the same window when another node asks for it, here.
    #[arg(long, value_name = "ADDR:PORT", requires_all = ["ring", "trigger_key"])]
    pub trigger_listen: Option<SocketAddr>,
    /// Ask these nodes for the same window.
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',', requires_all = ["ring", "trigger_key"])]
    pub trigger_peers: Vec<String>,
    /// A file with what all nodes know and strangers do not: its first line, at least 8 bytes.
    #[arg(long, value_name = "FILE", requires = "ring")]
    pub trigger_key: Option<PathBuf>,
}

/// A signal that is a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TriggerSignal {
    Usr1,
    Usr2,
    None,
}

impl RingArguments {
    /// The ring that was asked for.
    pub fn ring(&self) -> Option<Ring> {
        let mut ring = Ring::new(Duration::from_secs_f64(self.ring?));
        ring.after = self.ring_after.map_or(ring.after, Duration::from_secs_f64);
        ring.windows_max = self.ring_windows.unwrap_or(ring.windows_max);
        Some(ring)
    }
}

/// A name for a node that a file may have as well.
fn node_name(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_alphanumeric() || "-_ ".contains(letter);
    if text.len() <= 100 && text.starts_with(char::is_alphanumeric) && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("a name has letters, digits, -, _ and spaces, 100 at most, and begins with a letter or a digit".to_owned())
    }
}

/// How a program is run.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "A program")]
pub struct Program {
    /// What the program's node and reel are called: NODE.reel. Without, they have the program's
    /// name and its process id.
    #[arg(long, value_name = "NODE", value_parser = node_name)]
    pub name: Option<String>,
    /// Record the programs that the program starts as well (the default).
    #[arg(long, overrides_with = "no_children")]
    pub follow_children: bool,
    /// Record the program alone.
    #[arg(long)]
    pub no_children: bool,
    /// Leave addresses random, as the system has them. Without, memory lies where it will lie in
    /// a replay; some programs make numbers of addresses.
    #[arg(long)]
    pub random_addresses: bool,
    /// Let one thread of the program run at a time, from call to call. Slower; a replay is then
    /// exact too where threads wait for each other by looking at memory.
    #[arg(long)]
    pub one_thread_at_a_time: bool,
    /// Leave out what the program prints on its standard output and its standard error.
    #[arg(long)]
    pub no_log: bool,
    /// Do not watch for system calls that go past the recorder. Watching takes from the program
    /// the right to start setuid programs as somebody else.
    #[arg(long)]
    pub no_tripwire: bool,
    /// Exit with 1 where something was not recorded, even if the program ended with 0.
    #[arg(long)]
    pub fail_on_missing: bool,
}

/// What a proxy passes on, and what it does to it.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "A proxy between clients and a server")]
pub struct Proxy {
    /// Listen at LISTEN for the clients of the server TARGET, pass on what they and the server
    /// send, and record it; for example `0.0.0.0:7000=game-host:7000`. May be given several times.
    #[arg(long = "proxy", group = "way", value_name = "LISTEN=TARGET")]
    pub routes: Vec<netreel_capture::proxy::Route>,
    /// Make the network worse:
    /// `delay=50ms,jitter=10ms,loss=2%,burst=1%,corrupt=0.1%,dup=1%,reorder=5%,rate=1mbit`, each for both
    /// directions, or with `up:` or `down:` before it for one. What was done to which
    /// packet is in the reel.
    #[arg(long, value_name = "SPEC")]
    pub faults: Option<netreel_capture::proxy::FaultSpec>,
    /// What the faults are drawn from: with the same seed, the nth packet of a link has the same
    /// fate. Default: another one each time, which is told.
    #[arg(long, requires = "faults", value_name = "N")]
    pub seed: Option<u64>,
    /// Listen at this TCP address (port 0: a free one) for commands that change the faults while it runs:
    /// `faults SPEC`, `faults none` (`netreel console`, docs/scenarios.md).
    #[arg(long, requires = "routes", value_name = "ADDR:PORT")]
    pub console: Option<std::net::SocketAddr>,
    /// The first line of this file is the console's token; needed where other machines can reach it.
    #[arg(long, requires = "console", value_name = "FILE")]
    pub console_token: Option<PathBuf>,
    /// So many clients are served at a time. Default: 256.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=60_000))]
    pub clients: Option<u16>,
    /// A client is forgotten after so many seconds without a packet to or from it. Default: 120.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub idle: Option<u32>,
}

/// What of a network interface is recorded (docs/captures.md).
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "A network interface")]
pub struct RecordLive {
    /// Record what passes this network interface; `any` is all of them.
    #[arg(long = "live", group = "way", value_name = "IFACE")]
    pub interface: Option<String>,
    /// What of it, in libpcap's language, for example `udp port 7000`. Default: everything UDP.
    #[arg(long, value_name = "FILTER")]
    pub capture_filter: Option<String>,
    /// A node by its address, for example `HOST=10.0.0.1:7000`: it gets a reel of its own. May be
    /// given again.
    #[arg(long, value_name = "NAME=ADDR[:PORT]")]
    pub node: Vec<netreel_capture::import::NamedNode>,
    /// With --live: put this wire into the reels, so that they explain themselves. With
    /// --trigger-on-finding: decode with it.
    #[arg(long, value_name = "FILE")]
    pub wire: Option<PathBuf>,
}

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

/// A way of recording, as it is asked for.
const PROGRAM: &str = "`-- CMD`";
const PROXY: &str = "`--proxy`";
const LIVE: &str = "`--live`";

/// Refuses options of another way than the one that was chosen: they would do nothing.
///
/// # Errors
/// The first option that is out of place, and where it belongs.
pub fn check(arguments: &Record) -> Result {
    let Record {
        program,
        proxy,
        live,
        ..
    } = arguments;
    let chosen = match &live.interface {
        Some(_) => LIVE,
        None if !proxy.routes.is_empty() => PROXY,
        None => PROGRAM,
    };
    let options = [
        (proxy.faults.is_some(), "--faults", PROXY),
        (proxy.seed.is_some(), "--seed", PROXY),
        (proxy.clients.is_some(), "--clients", PROXY),
        (proxy.idle.is_some(), "--idle", PROXY),
        (live.capture_filter.is_some(), "--capture-filter", LIVE),
        (!live.node.is_empty(), "--node", LIVE),
        (program.follow_children, "--follow-children", PROGRAM),
        (program.name.is_some(), "--name", PROGRAM),
        (program.no_children, "--no-children", PROGRAM),
        (program.random_addresses, "--random-addresses", PROGRAM),
        (
            program.one_thread_at_a_time,
            "--one-thread-at-a-time",
            PROGRAM,
        ),
        (program.no_log, "--no-log", PROGRAM),
        (program.no_tripwire, "--no-tripwire", PROGRAM),
        (program.fail_on_missing, "--fail-on-missing", PROGRAM),
    ];
    for (given, option, way) in options {
        if given && way != chosen {
            return fail(format!(
                "{option} belongs to {way}; with {chosen} it does nothing: leave it out"
            ));
        }
    }
    if live.wire.is_some() && chosen != LIVE && arguments.ring.trigger_on_finding.is_none() {
        return fail(format!(
            "--wire belongs to {LIVE} and to --trigger-on-finding; with {chosen} alone it does \
             nothing: leave it out"
        ));
    }
    Ok(())
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
