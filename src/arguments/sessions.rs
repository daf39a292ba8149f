//! What is asked of sessions.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use netreel_protocol::history::Level;
use netreel_reel::EventKind;

use super::source::{Filtered, Read, seconds};

#[derive(Debug, Args)]
pub struct Info {
    #[command(flatten)]
    pub read: Read,
    /// Count messages, objects, resends and round trips too where there are more than 100 000
    /// packets, and list each endpoint, group, broadcast address and address that nothing could be
    /// sent to
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct Packets {
    #[command(flatten)]
    pub filtered: Filtered,
    /// Print what is sent and received while it is recorded, and end with the recording
    /// (docs/record.md).
    #[arg(long, conflicts_with = "filter")]
    pub follow: bool,
}

#[derive(Debug, Args)]
pub struct Show {
    #[command(flatten)]
    pub read: Read,
    #[command(flatten)]
    pub which: Which,
    /// Whose event it is; may be left out where there is only one reel.
    #[arg(long, value_name = "NAME", requires = "event")]
    pub node: Option<String>,
}

/// Which packets are shown.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Which {
    /// The packet's number, as `packets` prints it.
    #[arg(long, value_name = "N")]
    pub packet: Option<u32>,
    /// The event's number in the reel of --node, as `events` and `check` print it.
    #[arg(long, value_name = "N")]
    pub event: Option<u64>,
    /// Every packet that fits, for example `kind == migrate` (docs/filter.md).
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
}

#[derive(Debug, Args)]
pub struct Objects {
    #[command(flatten)]
    pub filtered: Filtered,
    /// Only what was believed at this time of the session, for example `1.25s`.
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// How they changed owners: who asked, who was told when, what of that came back, and when the new
    /// owner first spoke.
    #[arg(long, conflicts_with = "at")]
    pub migrations: bool,
}

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

choices! {
    FailOn of Level {
        Info,
        Warning,
        Error,
    }
}

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

#[derive(Debug, Args)]
pub struct Events {
    #[command(flatten)]
    pub read: Read,
    /// The node, proxy or observer whose reel is listed; without it all reels, one after the other.
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Only events of packets that fit, for example `to == X && object == 42` (docs/filter.md).
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// Only events of this kind, for example `input` or `sent`; may be given several times.
    #[arg(long, value_name = "WHICH", value_parser = kind)]
    pub kind: Vec<EventKind>,
}

fn kind(text: &str) -> Result<EventKind, String> {
    EventKind::named(text).ok_or_else(|| {
        let names = EventKind::ALL.map(EventKind::name);
        format!("there is no such kind; there are: {}", names.join(", "))
    })
}

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
    #[arg(long, value_name = "SECONDS", conflicts_with = "by", value_parser = seconds)]
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
