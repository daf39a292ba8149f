//! What `netreel play` can be asked.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::{Migration, Topology};

#[derive(Debug, Args)]
#[command(after_help = "The game, its keys, and the script's language: docs/play.md.")]
pub struct Play {
    /// How objects change owner: `host` has the historic race, the others are cures of it
    /// (docs/migration.md).
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Migration::Host)]
    pub migration: Migration,
    /// Who talks to whom.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Topology::P2p)]
    pub topology: Topology,
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
