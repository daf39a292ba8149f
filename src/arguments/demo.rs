//! What can be asked of a demonstration.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Switch, seconds_or_never};

#[derive(Debug, Args)]
pub struct Demo {
    /// No window: write DIR/timeline.png.
    #[arg(long)]
    pub headless: bool,
    /// How objects change owner: `host` has the historic race, the others are cures of it
    /// (docs/migration.md).
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Migration::Host)]
    pub migration: Migration,
    /// Who talks to whom.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Topology::P2p)]
    pub topology: Topology,
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
    #[arg(long, value_name = "SECS", conflicts_with = "json", value_parser = crate::lengths::seconds)]
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
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=30.0).contains(&seconds) => Ok(seconds),
        _ => Err("write seconds from 0.1 to 30".to_owned()),
    }
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Migration {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Topology {
    P2p,
    ClientServer,
}
