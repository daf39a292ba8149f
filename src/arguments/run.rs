//! What `netreel run` and `netreel console` can be asked.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use netreel_console::Way;

use super::FailOn;

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
