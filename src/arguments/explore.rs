//! What can be asked of an exploration.

use std::path::PathBuf;

use clap::Args;

use super::Read;

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
    #[arg(long, value_name = "SECS", value_parser = super::seconds_or_never)]
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
    let (seed, depth) = match text.split_once(',') {
        None => (text, None),
        Some((seed, depth)) => (seed, Some(depth)),
    };
    let seed = seed
        .trim()
        .parse()
        .map_err(|_| "a seed is a whole number")?;
    let depth = depth
        .map_or(Ok(DEPTH), |it| it.trim().parse())
        .ok()
        .filter(|it| (1..=100).contains(it));
    Ok((seed, depth.ok_or("a depth is a number from 1 to 100")?))
}
