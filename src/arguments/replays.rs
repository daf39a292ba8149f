//! What is asked of replays.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::source::{Read, seconds_or_never, within};

#[derive(Debug, Default, Args)]
pub struct Replay {
    #[command(flatten)]
    pub read: Read,
    /// The node to replay; where it is left out, all nodes are, one after the other.
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Change one of the sample engine's constants first, to see where that shows, for example
    /// `resend_delay_ns=20000000`; a name that is not one lists them all.
    #[arg(long, value_name = "NAME=VALUE")]
    pub tune: Vec<String>,
    #[command(flatten)]
    pub sit: Sit,
    /// Change another of the sample engine's start conditions first, for example `mode=owner`.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    #[command(flatten)]
    pub together: Together,
    #[command(flatten)]
    pub program: Program,
    #[command(flatten)]
    pub onto: Onto,
    /// How long what does not come is waited for: by a program behind `--`, until it is ended as
    /// standing still (10; 0 waits for ever), and with `--to` (1).
    #[arg(long, value_name = "SECS", value_parser = seconds_or_never)]
    pub patience: Option<f64>,
    #[command(flatten)]
    pub gdb: Gdb,
}

#[derive(Debug, Default, Args)]
pub struct Sit {
    /// Play to the first packet that fits, for example `kind == migrate`, and show it; also
    /// `event N`, `time 1.2s`, `finding`, and what the node is to believe of an object, such as
    /// `objects[42].owner == X` (docs/replay.md).
    #[arg(long, value_name = "EXPR", conflicts_with = "together")]
    pub until: Option<String>,
    /// Start at the last snapshot before this time of the session, for example `1.25s`.
    #[arg(long, value_name = "TIME", conflicts_with = "together")]
    pub from: Option<String>,
    /// Step through the recording at a prompt, forward and back; `help` there says how.
    #[arg(long, conflicts_with = "together")]
    pub step: bool,
    /// Throw the one switch of the layer's time-outs, where it has one: `off`, and nothing is given
    /// up for having taken too long. Default: off with --step and --gdb, else on, as recorded.
    #[arg(long, value_name = "SWITCH", value_enum, conflicts_with_all = ["together", "to"])]
    pub time_outs: Option<Switch>,
}

/// How a switch is to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

impl Sit {
    /// Whether a replay is asked for that does not go from the begin to the end.
    pub fn asked(&self) -> bool {
        self.step || self.until.is_some() || self.from.is_some()
    }

    /// Whether the layer's time-outs are to be off.
    pub fn without_time_outs(&self) -> bool {
        match self.time_outs {
            Some(switch) => switch == Switch::Off,
            None => self.step,
        }
    }
}

#[derive(Debug, Default, Args)]
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

choices! {
    /// See [`Program::threads`].
    Threads of netreel_replay::program::Which {
        /// All of them.
        All,
        /// Those with packets.
        Packets,
    }
}

#[derive(Debug, Default, Args)]
pub struct Program {
    /// Start this program again, which `netreel record` recorded, with the recorded packets,
    /// clocks and random bytes, and compare what it sends (docs/guides/replay-a-program.md). It is
    /// named as it was for `record`; with nothing behind `--`, the recorded one is started.
    /// `--until` stops it there for a debugger, which `--gdb` starts.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
    /// Which of the program's threads are answered from the recording: `all`, in the recorded
    /// order, or those that used UDP sockets; the others then run as they like, with the system's
    /// clocks.
    #[arg(long, value_name = "WHICH")]
    pub threads: Option<Threads>,
    /// Do not compare what the program prints: for lines with what no recording has, a count of the
    /// processor's time for example.
    #[arg(long)]
    pub no_log: bool,
}

impl Program {
    /// Whether a program is to be started: one stands behind `--`, or nothing does.
    pub fn is_asked(&self) -> bool {
        let last = std::env::args_os().next_back();
        !self.command.is_empty() || last.is_some_and(|last| last == "--")
    }
}

#[derive(Debug, Args)]
pub struct Onto {
    /// Say what the node said to this live endpoint, over UDP, and show what comes back beside what
    /// was recorded (docs/replay.md).
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["together", "step", "until", "from", "tune", "set", "layer"])]
    pub to: Option<String>,
    /// Of what the node said, take what it said to this node or endpoint. May be left out where there
    /// is only one.
    #[arg(long, value_name = "NODE", requires = "to")]
    pub peer: Option<String>,
    /// So many times as fast as it was recorded.
    #[arg(long, value_name = "FACTOR", requires = "to", default_value_t = 1.0, value_parser = factor)]
    pub speed: f64,
    /// Send each packet as soon as everything has come that had come before it.
    #[arg(long, requires = "to", conflicts_with = "speed")]
    pub as_answered: bool,
}

impl Default for Onto {
    fn default() -> Onto {
        Onto {
            to: None,
            peer: None,
            speed: 1.0,
            as_answered: false,
        }
    }
}

fn factor(text: &str) -> Result<f64, String> {
    within(text, 0.001..=100_000.0, "a factor")
}

#[derive(Debug, Default, Args)]
pub struct Gdb {
    /// Start gdb on the replay of the node, with a breakpoint before the first event that fits:
    /// `event N`, `time 1.2s`, `finding`, or a filter. For several nodes, or where the output is no
    /// terminal, print the commands that start it (docs/replay.md).
    #[arg(long, value_name = "EXPR", conflicts_with_all = ["together", "step", "until", "from", "to", "json"])]
    pub gdb: Option<String>,
    /// Write a launch file for VS Code, which starts the replays of all nodes at once, each with its
    /// breakpoint.
    #[arg(long, value_name = "FILE", requires = "gdb")]
    pub vscode: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 1 where something was found, 0 where nothing was within the limits, 2 where the \
                  session cannot be explored (docs/explore.md)."
)]
pub struct Explore {
    #[command(flatten)]
    pub read: Read,
    /// PATH is no recording but a file that says how a match begins: it is played in a simulated network
    /// first (docs/explore.md).
    #[arg(long, conflicts_with_all = ["node", "bounds"])]
    pub scenario: bool,
    /// Move the packets of this node alone, and play its layer alone: what the others sent arrives as it
    /// did, or later. Quicker; what is found is a candidate, not a session.
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Move only what is about this object.
    #[arg(long, value_name = "N")]
    pub object: Option<u64>,
    /// Put these packets, by their numbers in `packets`, into every order in which they can reach the node,
    /// and say what it believes after each.
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "node")]
    pub orders: Vec<usize>,
    /// Where what is found is written, a folder of reels each; must be empty or not exist, but with
    /// --continue.
    #[arg(long, value_name = "DIR", conflicts_with = "node")]
    pub out: Option<PathBuf>,
    /// Go on where the exploration ended that wrote this --out, with the same session and options; what it
    /// found is not found again.
    #[arg(long = "continue", requires = "out")]
    pub continues: bool,
    /// Count only what has an error of this rule, towards --until; what else is found is told as well.
    #[arg(long, value_name = "RULE")]
    pub rule: Option<String>,
    /// End when so many different things were found.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub until: usize,
    /// The most that the network does otherwise in one run: a link that is held, a packet that is lost.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub changes: usize,
    /// The most runs, with those before --continue.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub runs: u64,
    /// The longest time; 0: as long as it takes.
    #[arg(long, value_name = "SECS", value_parser = seconds_or_never)]
    pub seconds: Option<f64>,
    /// The longest time for which a link is held.
    #[arg(long, value_name = "MS", default_value_t = 3000)]
    pub hold: u64,
    /// How long the nodes play on behind the end of the recording, so that all arrives.
    #[arg(long, value_name = "MS", default_value_t = 3000)]
    pub rest: u64,
    /// Also lose packets, at most N in a run (1 unless it says another number).
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1"
    )]
    pub losses: Option<usize>,
    /// Also let packets come twice.
    #[arg(long)]
    pub repeats: bool,
    /// Also let packets of one link overtake each other.
    #[arg(long)]
    pub overtakes: bool,
    /// Also let nodes die.
    #[arg(long)]
    pub deaths: bool,
    /// Also let nodes stand still for a while, and put what a node does itself, a call of its game or a tick,
    /// before or behind what it receives.
    #[arg(long, conflicts_with = "node")]
    pub ticks: bool,
    /// Instead of orders, delays by chance from this seed on: for comparison.
    #[arg(
        long,
        value_name = "SEED",
        conflicts_with_all = ["by_priorities", "object", "losses", "repeats", "overtakes", "deaths", "ticks"]
    )]
    pub by_chance: Option<u64>,
    /// Instead of orders, priorities of links by chance from this seed on, for what is too large to be gone
    /// through; DEPTH (3): how many constraints an order takes that is looked for.
    #[arg(
        long,
        value_name = "SEED[,DEPTH]",
        value_parser = seed_and_depth,
        conflicts_with_all = ["object", "losses", "repeats", "overtakes", "deaths", "ticks"]
    )]
    pub by_priorities: Option<(u64, usize)>,
    /// How many threads play; as many as there are processors, and one with --layer.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Play into the network layer of this shared library (docs/engines.md).
    #[arg(long, value_name = "FILE.so", conflicts_with_all = ["tune", "set"])]
    pub layer: Option<PathBuf>,
    /// Change one of the sample engine's constants first.
    #[arg(long, value_name = "NAME=VALUE")]
    pub tune: Vec<String>,
    /// Change another of the sample engine's start conditions first, for example `mode=owner`.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

/// How many constraints an order takes that is looked for where nobody says so.
const DEPTH: usize = 3;

fn seed_and_depth(text: &str) -> Result<(u64, usize), String> {
    let mut parts = text.splitn(2, ',').map(str::trim);
    let seed = parts.next().unwrap_or_default().parse();
    let seed = seed.map_err(|_| "a seed is a whole number")?;
    let depth = parts
        .next()
        .map_or(Ok(DEPTH), str::parse)
        .ok()
        .filter(|it| (1..=100).contains(it));
    Ok((seed, depth.ok_or("a depth is a number from 1 to 100")?))
}

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
    #[arg(long, value_name = "SECS", default_value_t = 60.0, value_parser = seconds_or_never)]
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
