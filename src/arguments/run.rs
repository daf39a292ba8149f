//! What `netreel run` and `netreel console` can be asked.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use netreel_console::Way;

use super::FailOn;

#[derive(Debug, Args)]
#[command(
    after_help = "Exits 1 where a match was bad. How a scenario is written: docs/scenarios.md; a first one: \
                  docs/guides/scripted-matches.md."
)]
pub struct Run {
    /// The scenario, a TOML file.
    #[arg(value_name = "FILE", required_unless_present = "recover")]
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
    /// Undo what a runner that was killed has left behind in this folder: processes and half a match.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["file", "repeat", "jobs", "set", "out"])]
    pub recover: Option<PathBuf>,
    /// Print a JSON object a match, and one of them all at the end (docs/json.md).
    #[arg(long)]
    pub json: bool,
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
    let address = address.parse();
    let address = address.map_err(|_| "write 127.0.0.1:7101 or A=127.0.0.1:7101".to_owned())?;
    Ok((name.to_owned(), way, address))
}
