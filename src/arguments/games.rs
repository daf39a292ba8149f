//! What is asked of games that are played: the sample game, matches by a script, consoles.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use netreel_console::Way;

use super::replays::Switch;
use super::sessions::FailOn;
use super::source::{seconds, seconds_or_never, within};

#[derive(Debug, Args)]
pub struct Rules {
    /// How objects change owner: `host` has the historic race, the others are cures of it
    /// (docs/migration.md).
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Migration::Host)]
    pub migration: Migration,
    /// Who talks to whom.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Topology::P2p)]
    pub topology: Topology,
}

#[derive(Debug, Args)]
pub struct Demo {
    /// No window: write DIR/timeline.png.
    #[arg(long)]
    pub headless: bool,
    #[command(flatten)]
    pub rules: Rules,
    /// How many nodes play, 4 to 8.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(4..=8))]
    pub nodes: u8,
    /// No demonstration: for SECS seconds (5 unless it says another number) the players create, take
    /// and destroy boxes by chance, over links that each have a delay, jitter and loss of their own.
    /// Nothing is held back; the race comes when it comes.
    #[arg(
        long,
        value_name = "SECS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "5",
        value_parser = free_seconds
    )]
    pub free: Option<f64>,
    /// The seed of the game's scripts.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Where the reels go; must be empty or not exist. Default: a new folder below the system's
    /// temporary folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The first node's UDP port, 1 to 65535; the others follow. Default: whatever is free.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Play on until `q`, and keep the last SECS seconds alone: `t` keeps them for good, at all
    /// nodes (docs/record.md).
    #[arg(long, value_name = "SECS", conflicts_with = "json", value_parser = seconds)]
    pub ring: Option<f64>,
    /// Record the state of each node's layer every SECS seconds, so that a replay can start there
    /// and compare; 0 for never (docs/replay.md).
    #[arg(long, value_name = "SECS", default_value_t = 0.5, value_parser = seconds_or_never)]
    pub snapshots: f64,
    /// Whether the nodes' layers give up a peer that is silent for too long. Off, a node may be
    /// stopped in a debugger, or by a machine that is busy elsewhere; with --ring the key `o` throws
    /// the switch while they play.
    #[arg(long, value_name = "SWITCH", value_enum, default_value_t = Switch::Off)]
    pub time_outs: Switch,
    /// Print one JSON object instead of sentences (docs/json.md).
    #[arg(long)]
    pub json: bool,
}

/// How long players play freely: a demonstration has 60 seconds.
fn free_seconds(text: &str) -> Result<f64, String> {
    within(text, 0.1..=30.0, "seconds")
}

#[derive(Debug, Args)]
pub struct DemoNode {
    /// Where the reel goes.
    #[arg(long)]
    pub out: PathBuf,
    /// This node's number in the session.
    #[arg(long)]
    pub peer: u8,
    /// The UDP port to bind, 0 for whatever is free.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// The seed of the session.
    #[arg(long)]
    pub seed: u64,
    /// Ring mode, with so many seconds.
    #[arg(long)]
    pub ring: Option<f64>,
    /// Snapshots, every so many seconds; 0 for none.
    #[arg(long, default_value_t = 0.0)]
    pub snapshots: f64,
}

choices! {
    Migration of netreel_sample_engine::Mode {
        /// HOST tells everybody: the historic race
        Host,
        /// The new owner tells everybody, with a migration counter: the cure as published
        Counter,
        /// The same, with the counter in UPDATEs as well
        Owner,
        /// HOST tells everybody, and what is early at a receiver waits
        Queue,
        /// HOST tells everybody, and the new owner takes over when all have confirmed
        Handshake,
        /// Everybody hears of objects from HOST alone, in one order
        Order,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Topology {
    P2p,
    ClientServer,
}

#[derive(Debug, Args)]
#[command(after_help = "The game, its keys, and the script's language: docs/play.md.")]
pub struct Play {
    #[command(flatten)]
    pub rules: Rules,
    /// How many nodes play, 2 to 9.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=9))]
    pub nodes: u8,
    /// The seed of what links lose and how much they jitter.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Where the reels go; must be empty or not exist. Default: a new folder below the system's
    /// temporary folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Open the inspector beside the game, following it.
    #[arg(long, conflicts_with_all = ["script"])]
    pub inspect: bool,
    /// Play HOST here, and wait at this TCP address for the others, each on a machine of its own.
    #[arg(long, value_name = "ADDR:PORT", conflicts_with_all = ["join", "script"])]
    pub host: Option<SocketAddr>,
    /// Join the HOST that waits at this address; what is played is HOST's to say.
    #[arg(
        long,
        value_name = "ADDR:PORT",
        conflicts_with_all = ["migration", "topology", "nodes", "seed", "script"]
    )]
    pub join: Option<SocketAddr>,
    /// Which node to join as: A, B, X, C, ... Default: the next that is free.
    #[arg(long = "as", value_name = "NODE", requires = "join")]
    pub seat: Option<String>,
    /// No window, one node: it is driven by a console at this TCP address (port 0: a free one), as
    /// `netreel run` does. Without --host and --join the console chooses in the menu. `--out` may hold other
    /// nodes' reels.
    #[arg(long, value_name = "ADDR:PORT", conflicts_with_all = ["script", "inspect"])]
    pub console: Option<SocketAddr>,
    /// The first line of this file is the token that whoever speaks to the console must give; needed
    /// where other machines can reach it.
    #[arg(long, value_name = "FILE", requires = "console")]
    pub console_token: Option<PathBuf>,
    /// No window: for SECS seconds (20 unless it says another number) the players do by chance what hands
    /// do, over links that each have a delay, jitter and loss of their own; both follow from the seed.
    #[arg(
        long,
        value_name = "SECS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "20",
        value_parser = clap::value_parser!(u16).range(1..=240),
        conflicts_with_all = ["script", "console", "host", "join", "inspect"]
    )]
    pub free: Option<u16>,
    /// No window: play this script (`-` for the one that makes the zombie), then end.
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Play a script in virtual time, draw the window as it is at its end, and record nothing. Without
    /// `--script` the one that makes the zombie.
    #[cfg(feature = "gui")]
    #[arg(long, value_name = "FILE.png", conflicts_with_all = ["console", "host", "inspect", "join"])]
    pub screenshot: Option<PathBuf>,
    /// The picture's size in pixels, from 320x240 to 8192x8192.
    #[cfg(feature = "gui")]
    #[arg(
        long,
        value_name = "WxH",
        default_value = "1400x860",
        requires = "screenshot"
    )]
    pub size: String,
}

#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exits 1 where a match was bad. How a scenario is written: docs/scenarios.md; a first one: \
                  docs/guides/scripted-matches.md."
)]
pub struct Run {
    /// The scenario, a TOML file.
    #[arg(value_name = "FILE", required_unless_present_any = ["recover", "gather"])]
    pub file: Option<PathBuf>,
    /// How many matches are played, each from its own seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub repeat: u64,
    /// How many are played at once. Default: as many as there are processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// A match with a finding of this level or above is bad: it is kept with its reels and logs. All others
    /// are thrown away.
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = FailOn::Error)]
    pub fail_on: FailOn,
    /// The first match with a finding of this level or above ends the run.
    #[arg(long, value_name = "LEVEL", value_enum, conflicts_with = "fail_on")]
    pub until_finding: Option<FailOn>,
    /// Keep good matches as well.
    #[arg(long)]
    pub keep_all: bool,
    /// Shrink each match that has an error, as `netreel shrink` does: the smallest session that still fails
    /// goes into shrunk-NUMBER, beside the match.
    #[arg(long, conflicts_with_all = ["gather", "recover"])]
    pub shrink: bool,
    /// What the seeds of all matches come from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// A value in place of the one in the scenario's [values]; may be given again.
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub set: Vec<(String, String)>,
    /// Where bad matches are kept. A run that was ended goes on there. Default: netreel-run-NAME.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write a report for CI, a test case a match.
    #[arg(long, value_name = "FILE.xml")]
    pub junit: Option<PathBuf>,
    /// Each node of this machine waits for a debugger (gdbserver); where, is told. Nothing has a time-out
    /// meanwhile.
    #[arg(long)]
    pub gdb: bool,
    /// Write a launch file for VS Code, which attaches to all nodes that wait at once.
    #[arg(long, value_name = "FILE", requires = "gdb")]
    pub vscode: Option<PathBuf>,
    /// Write a report for people: one page, with a picture of each bad match.
    #[arg(long, value_name = "FILE.html")]
    pub html: Option<PathBuf>,
    /// Add each match to a dataset (docs/fleet.md): all of one that is kept, and what the others came to.
    /// With --gather: add the datasets that the jobs have in their folders.
    #[arg(long, value_name = "DIR")]
    pub dataset: Option<PathBuf>,
    /// Another run: whether this one is better or worse.
    #[arg(long, value_name = "DIR")]
    pub against: Option<PathBuf>,
    /// Play a part of the matches: 3/10 is the 3rd, the 13th, and so on. For jobs of a scheduler.
    #[arg(long, value_name = "K/N", value_parser = part)]
    pub part: Option<(u64, u64)>,
    /// Play nothing: write the loop as jobs for a scheduler to the output, as many as --jobs says (10), or as
    /// a workflow.
    #[arg(long, value_name = "FOR", value_enum)]
    pub emit: Option<Emit>,
    /// Play nothing: what runs in these folders come to together.
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["file", "repeat", "jobs", "set", "emit"])]
    pub gather: Vec<PathBuf>,
    /// Play once more whenever the scenario or a script beside it is saved, until Ctrl-C: for whoever writes
    /// one.
    #[arg(long, conflicts_with_all = ["gather", "emit", "recover", "dataset"])]
    pub watch: bool,
    /// Undo what a runner that was killed has left behind in this folder: processes and half a match.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["file", "repeat", "jobs", "set", "out"])]
    pub recover: Option<PathBuf>,
    /// Print a JSON object a match, and one of them all at the end (docs/json.md).
    #[arg(long)]
    pub json: bool,
}

/// For what a loop is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    Slurm,
    Kubernetes,
    Github,
}

/// `3/10`.
fn part(text: &str) -> Result<(u64, u64), String> {
    let parts = text
        .split_once('/')
        .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    parts
        .filter(|&(part, of)| 1 <= part && part <= of)
        .ok_or_else(|| "write K/N, with K from 1 to N".to_owned())
}

/// `NAME=VALUE`.
fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[derive(Debug, Args)]
#[command(
    after_help = "What is typed goes to all nodes; `help` lists their commands, Tab completes them, `@A spawn` speaks to \
                  the node at the address that is called A. With --say nothing is typed."
)]
pub struct Console {
    /// Consoles of nodes: ADDR:PORT or NAME=ADDR:PORT; `quake3:` or `rcon:` before the address where it is a
    /// server's own remote console, whose password --token has.
    #[arg(value_name = "NODE", required = true, value_parser = named)]
    pub nodes: Vec<(String, Way, SocketAddr)>,
    /// Say this and end; may be given again.
    #[arg(long, value_name = "COMMAND")]
    pub say: Vec<String>,
    /// The first line of this file is the consoles' token.
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,
    /// How long an answer may take, in seconds.
    #[arg(long, value_name = "SECS", default_value_t = 5.0)]
    pub patience: f64,
    /// Print a JSON object an answer (docs/json.md).
    #[arg(long)]
    pub json: bool,
}

/// `127.0.0.1:7101` or `A=127.0.0.1:7101`.
fn named(text: &str) -> Result<(String, Way, SocketAddr), String> {
    let (name, address) = text.split_once('=').unwrap_or((text, text));
    let (way, address) = Way::of(address);
    let found = std::net::ToSocketAddrs::to_socket_addrs(address).ok();
    let address = found
        .and_then(|mut found| found.next())
        .ok_or("write 127.0.0.1:7101 or A=127.0.0.1:7101")?;
    Ok((name.to_owned(), way, address))
}
