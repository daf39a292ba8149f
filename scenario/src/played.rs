//! What a match is played with, and what it comes to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use netreel_system::Cancel;
use netreel_system::network::Network;
use serde::{Deserialize, Serialize};

use crate::file::Scenario;
use crate::journal::Recovered;
use crate::judged::{Expected, Judge, Judged};
use crate::secrets::Secrets;

/// What a match is played with.
pub(crate) struct Wants<'a> {
    /// Which match of the run, from 1.
    pub number: u64,
    /// Of all that is drawn in it.
    pub seed: u64,
    /// Where its reels and logs go; made here.
    pub folder: PathBuf,
    /// The folder of the run.
    pub run: &'a Path,
    /// The digests of what was brought to the nodes, by node and file.
    pub brought: &'a [(String, String)],
    /// What nobody may read.
    pub secrets: &'a Arc<Secrets>,
    /// Hears what a person has to do, and what the script prints.
    pub tell: &'a (dyn Fn(&str) + Sync),
    /// What is asked of all matches.
    pub asked: &'a Loop<'a>,
}

/// How a scenario is repeated.
pub struct Loop<'a> {
    /// What is played.
    pub scenario: &'a Scenario,
    /// Where matches are kept, with the run's own files.
    pub folder: &'a Path,
    /// How many matches.
    pub matches: u64,
    /// Of them every so many are played here: the first of 10 parts has the 1st, the 11th, and so on. From 1.
    pub part: (u64, u64),
    /// How many at once.
    pub jobs: usize,
    /// What the seed of each match comes from.
    pub seed: u64,
    /// A match with a finding of this level or above is bad: it is kept.
    pub level: &'a str,
    /// Whether the first bad match ends the run.
    pub ends_at_bad: bool,
    /// Whether good matches are kept as well.
    pub keeps_good: bool,
    /// The program that `{netreel}` stands for.
    pub netreel: &'a Path,
    /// Each node of this machine waits for a debugger before its first instruction, and nothing has a
    /// time-out: who hears of each. `None`: nobody debugs.
    pub debugs: Option<Debugs<'a>>,
    /// Says when the run is to end.
    pub cancel: &'a Cancel,
    /// Hears what happens.
    pub tell: &'a (dyn Fn(RunNews<'_>) + Sync),
    /// See [`MakesNotes`].
    pub notes: &'a MakesNotes<'a>,
    /// See [`MakesNetwork`].
    pub network: &'a MakesNetwork<'a>,
    /// Says what a match came to.
    pub judge: Judge<'a>,
    /// The rules whose findings that may be; none where nobody knows.
    pub rules: &'a [&'static str],
}

/// What happens in a run.
#[derive(Clone, Copy, Debug)]
pub enum RunNews<'a> {
    /// So many matches were played before, by an earlier runner.
    GoesOn(u64),
    /// What an earlier runner had left behind was undone.
    Recovered(&'a Recovered),
    /// A match was judged: the folder with its recordings, and whether they stay there.
    Judged(&'a Match, &'a Path, bool),
    /// A match is over; where it is kept, if it is.
    Over(&'a Match, Option<&'a Path>),
    /// A line for a person, of a match.
    Line(u64, &'a str),
}

/// A node that waits for a debugger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Of which match.
    pub number: u64,
    /// Which node.
    pub node: String,
    /// Where the debugger's server is: `127.0.0.1:4711`.
    pub server: String,
    /// The program, as the node's command names it.
    pub program: String,
}

/// Hears of each node that waits for a debugger, before it starts.
pub type Debugs<'a> = &'a (dyn Fn(&Waiting) + Sync);

/// Who writes down what the runner did.
pub type Notes = Box<dyn FnMut(&str)>;

/// Begins to write down what a runner does, in this file; what began it: the match's seed, and the digests of
/// what was brought to its nodes.
pub type MakesNotes<'a> =
    dyn Fn(&Path, u64, &[(String, String)]) -> Result<Notes, String> + Sync + 'a;

/// The network of a match's nodes.
pub struct Between {
    /// Each node's own, in the order of the file.
    pub networks: Vec<Arc<Network>>,
    /// What becomes of packets from one node to another, in the words of `netreel record --faults`; `none`;
    /// `held`.
    pub faults: Box<SetsFaults>,
}

/// Changes the faults of a directed link, whose ends are places among the nodes.
pub type SetsFaults = dyn Fn((usize, usize), &str) -> Result<(), String>;

/// Makes a network for nodes of these names, with the match's seed; what passes goes into this file.
pub type MakesNetwork<'a> = dyn Fn(&[String], u64, &Path) -> Result<Between, String> + Sync + 'a;

/// How a match ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was played to its end, and all was as the script expects.
    Played,
    /// It was played to its end, and something was not as the script expects; what.
    Unexpected(Vec<String>),
    /// It could not be played to its end; why.
    Failed(String),
}

/// A match that was played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// Which of the run, from 1.
    pub number: u64,
    /// What all that was drawn in it came from.
    pub seed: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What its recordings say.
    pub judged: Judged,
    /// How long it took, in seconds.
    pub took: f64,
    /// Whether it was bad, at the level that the run had; `None` where that was not written down
    /// when it was played.
    #[serde(default)]
    pub bad: Option<bool>,
}

impl Match {
    /// Whether it has a finding of this level or above, or something was not as expected, or it could
    /// not be played.
    pub fn is_bad(&self, level: &str) -> bool {
        let least = Expected::NoFinding(level.to_owned());
        self.outcome != Outcome::Played || least.missed(&self.judged).is_some()
    }
}

/// A match that could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The run was to end.
    #[error("the run was ended")]
    Cancelled,
    /// The runner itself cannot go on.
    #[error("{0}")]
    Runner(String),
}
