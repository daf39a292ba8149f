//! The file of a scenario: what is declared.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

use netreel_console::Way;
use serde::Deserialize;
use toml::Spanned;

use crate::chunk::{Script, compiles};
use crate::fill::{self, Fillers, SecretAs, checked, checked_with_secrets, fill, secrets, values};
use crate::mistake::{Mistake, Place, Wrong, about, wrong};
use crate::reach::Bring;
use crate::secrets::Source;

/// A scenario that was read.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// What it is about, in a sentence; may be empty.
    pub about: String,
    /// Where the file is: relative paths begin there.
    pub folder: PathBuf,
    /// How long a match may take, in seconds.
    pub limit: f64,
    /// Values that commands and the script use; `--set` changes them.
    pub values: BTreeMap<String, String>,
    /// Where secrets come from, by name.
    pub secrets: BTreeMap<String, Source>,
    /// How many bytes the log of a node may have.
    pub log_limit: u64,
    /// The nodes, in the order in which they start.
    pub nodes: Vec<NodePlan>,
    /// Commands that make what the nodes need, run in order before the first match; to be filled.
    pub prepare: Vec<Vec<String>>,
    /// How packets are decoded that no recording explains.
    pub wire: Option<PathBuf>,
    /// Whether what is brought to other machines stays there when the run is over.
    pub keeps_brought: bool,
    /// Whether the nodes of a match have a network of their own, which makes the faults.
    pub has_own_network: bool,
    /// The script in Lua.
    pub script: Script,
    /// The text of the file.
    pub text: String,
}

/// How a node is started and spoken to.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePlan {
    /// What it is called in the script, in messages and in file names.
    pub name: String,
    /// What it is in the match; for the script.
    pub role: String,
    /// Program and arguments, to be filled.
    pub command: Vec<String>,
    /// What its environment has besides; to be filled.
    pub environment: BTreeMap<String, String>,
    /// The folder it starts in, to be filled; the scenario's without one.
    pub folder: Option<String>,
    /// How it is started.
    pub start: Start,
    /// How its machine is reached, to be filled; this one without a word.
    pub reach: Vec<String>,
    /// What is brought to its machine before the first match.
    pub bring: Vec<Bring>,
    /// A folder of its machine whose files come to the match's folder when it is over; to be filled.
    pub fetch: Option<String>,
    /// How somebody speaks to it.
    pub console: ConsolePlan,
    /// Whether it may end by itself, with exit code 0.
    pub ends: bool,
    /// What it is told when the match is over; SIGTERM without it.
    pub quit: Option<String>,
    /// What its console is told to make the link from another node worse, or that it is itself: to be filled
    /// with `{from}` and `{faults}`.
    pub faults: Option<String>,
}

/// How a node is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// As a process of this machine.
    Local,
    /// By a command that has the node's command in it, in one word: `{command}`.
    Through(Vec<String>),
    /// By hand.
    External,
}

/// How somebody speaks to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsolePlan {
    /// At a console of this address.
    Remote {
        /// Which kind of console it is.
        way: Way,
        /// `127.0.0.1:{port}`, to be filled.
        address: String,
        /// The file whose first line is the token or the password, to be filled.
        token: Option<String>,
    },
    /// By its standard input, a line at a time.
    Stdin,
    /// Nobody does.
    None,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    name: Option<String>,
    #[serde(default)]
    about: String,
    limit: Option<Spanned<f64>>,
    #[serde(default)]
    values: BTreeMap<String, Spanned<toml::Value>>,
    #[serde(default)]
    secrets: BTreeMap<String, Spanned<SecretAs>>,
    log_limit: Option<Spanned<u64>>,
    /// What holds for every node that does not say otherwise.
    every: Option<Settings>,
    #[serde(default)]
    node: Vec<Spanned<Settings>>,
    #[serde(default)]
    prepare: Vec<Spanned<Vec<Spanned<String>>>>,
    wire: Option<Spanned<String>>,
    #[serde(default)]
    keep_brought: bool,
    network: Option<Spanned<String>>,
    script: Option<Spanned<String>>,
    file: Option<Spanned<String>>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    name: Option<Spanned<String>>,
    role: Option<String>,
    command: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    environment: BTreeMap<String, Spanned<String>>,
    folder: Option<Spanned<String>>,
    start: Option<Spanned<StartAs>>,
    reach: Option<Spanned<Vec<Spanned<String>>>>,
    bring: Option<Vec<BringAs>>,
    fetch: Option<Spanned<String>>,
    console: Option<Spanned<String>>,
    token: Option<Spanned<String>>,
    ends: Option<bool>,
    quit: Option<Spanned<String>>,
    faults: Option<Spanned<String>>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct BringAs {
    from: Spanned<String>,
    to: Spanned<String>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum StartAs {
    Word(String),
    Through(Vec<String>),
}

/// A match that takes longer than this has failed, where the file names no limit. Seconds.
const LIMIT: f64 = 120.0;
/// The longest match, in seconds.
const LIMIT_MAX: f64 = 86_400.0;
/// What a node's log may have where the file says nothing, and at the most. MiB.
const LOG_LIMIT: u64 = 64;
const LOG_LIMIT_MAX: u64 = 1 << 20;
/// So many nodes can a scenario have.
const NODES_MAX: usize = 256;

const WHICH_NETWORK: &str =
    "the network is \"own\", one that is made for each match, or \"machine\"";
const HOW_TO_START: &str =
    "a node starts as \"local\", as \"external\", or by a list with \"{command}\" in it";
const HOW_TO_SPEAK: &str = "a console is \"127.0.0.1:{port}\", \"quake3:ADDR:PORT\", \"rcon:ADDR:PORT\", \"stdin\" or \"none\"";

impl Scenario {
    /// Reads the file at `path`, and the script that it names. `set` has values that hold in place of
    /// those of the file.
    ///
    /// # Errors
    /// The first [`Mistake`], with its line and column.
    pub fn read(path: &Path, set: &[(String, String)]) -> Result<Scenario, Mistake> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| Mistake {
            file: file.clone(),
            line: 1,
            column: 1,
            why: format!("cannot be read: {error}"),
        })?;
        Scenario::of_text(&text, path, set)
    }

    /// The same of a text that stands in for the file at `path`.
    ///
    /// # Errors
    /// As [`Scenario::read`].
    pub fn of_text(text: &str, path: &Path, set: &[(String, String)]) -> Result<Scenario, Mistake> {
        let file = path.display().to_string();
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        // The runner may be elsewhere than the file.
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let scenario = Scenario::parse(text, (&file, folder), set);
        scenario.map_err(|wrong| wrong.placed(&file, text))
    }

    fn parse(
        text: &str,
        (file, folder): (&str, PathBuf),
        set: &[(String, String)],
    ) -> Result<Scenario, Place> {
        let whole: Whole = toml::from_str(text).map_err(|error| Wrong {
            at: error.span().unwrap_or(0..0),
            why: error.message().to_owned(),
        })?;
        let limit = whole.limit()?;
        let log_limit = whole.log_limit()?;
        let has_own_network = whole.has_own_network()?;
        let values = values(&whole.values, set)?;
        let secrets = secrets(&whole.secrets, &folder)?;
        let nodes = whole.nodes(((&values, &secrets), &folder), has_own_network)?;
        let wire = whole.wire(&folder)?;
        let prepare = whole.prepare(&values)?;
        let script = whole.script(text, (file, &folder))?;
        if let Err((line, why)) = compiles(&script) {
            return Err(Place::Elsewhere(Mistake {
                file: script.name,
                line,
                column: 1,
                why,
            }));
        }
        let stem = Path::new(file).file_stem();
        let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
        Ok(Scenario {
            name: whole.name.or(stem).unwrap_or_default(),
            about: whole.about,
            folder,
            limit,
            values,
            secrets,
            log_limit: log_limit << 20,
            nodes,
            prepare,
            wire,
            keeps_brought: whole.keep_brought,
            has_own_network,
            script,
            text: text.to_owned(),
        })
    }

    /// The plan of a node.
    pub fn node(&self, name: &str) -> Option<&NodePlan> {
        self.nodes.get(self.place(name)?)
    }

    /// Which node of the file it is.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// Words whose places are filled before there is a match.
    pub(crate) fn of_a_run(
        &self,
        words: &[String],
        (run, netreel): (&Path, &Path),
    ) -> Result<Vec<String>, String> {
        let mut value = |name: &str| match name {
            "run" => Ok(run.display().to_string()),
            "netreel" => Ok(netreel.display().to_string()),
            _ => self.values.get(name).cloned().ok_or(()),
        };
        let words = words.iter().map(|word| fill(word, &mut value));
        words
            .map(|word| word.map_err(|_| "a place that nobody fills".to_owned()))
            .collect()
    }
}

/// What the file says, where that is within these bounds; `otherwise`, where it says nothing.
fn within<T: Copy + PartialOrd>(
    said: Option<&Spanned<T>>,
    otherwise: T,
    bounds: RangeInclusive<T>,
    why: String,
) -> Result<T, Wrong> {
    match said {
        None => Ok(otherwise),
        Some(said) if bounds.contains(said.as_ref()) => Ok(*said.as_ref()),
        Some(said) => wrong(said.span(), why),
    }
}

impl Whole {
    /// How long a match may take, in seconds.
    fn limit(&self) -> Result<f64, Wrong> {
        let why = format!("a limit is from 0.001 to {LIMIT_MAX} seconds");
        within(self.limit.as_ref(), LIMIT, 0.001..=LIMIT_MAX, why)
    }

    /// What a node's log may have, in MiB.
    fn log_limit(&self) -> Result<u64, Wrong> {
        let why = format!("a log has from 1 to {LOG_LIMIT_MAX} MiB");
        within(self.log_limit.as_ref(), LOG_LIMIT, 1..=LOG_LIMIT_MAX, why)
    }

    fn has_own_network(&self) -> Result<bool, Wrong> {
        let Some(network) = &self.network else {
            return Ok(false);
        };
        match network.as_ref().as_str() {
            "own" => Ok(true),
            "machine" => Ok(false),
            _ => wrong(network.span(), WHICH_NETWORK),
        }
    }

    fn nodes(
        &self,
        with: (Fillers<'_>, &Path),
        has_own_network: bool,
    ) -> Result<Vec<NodePlan>, Wrong> {
        let every = self.every.clone().unwrap_or_default();
        if let Some(name) = &every.name {
            return wrong(name.span(), "every node has a name of its own");
        }
        if self.node.is_empty() {
            let why = "there is no [[node]]: a match needs one at least";
            return wrong(0..0, why);
        }
        if let Some(node) = self.node.get(NODES_MAX) {
            let why = format!("a scenario has at most {NODES_MAX} nodes");
            return wrong(node.span(), why);
        }
        let mut nodes: Vec<NodePlan> = Vec::new();
        for node in &self.node {
            let plan = node_plan(node, &every, with)?;
            if nodes.iter().any(|known| known.name == plan.name) {
                let name = node.as_ref().name.as_ref();
                let at = name.map_or(node.span(), Spanned::span);
                let why = format!("there are two nodes {:?}", plan.name);
                return wrong(at, why);
            }
            let is_elsewhere = !plan.reach.is_empty() || plan.start == Start::External;
            if let (Some(network), true) = (&self.network, has_own_network && is_elsewhere) {
                let why = format!(
                    "node {} is not started here, and cannot be in it",
                    plan.name
                );
                return wrong(network.span(), why);
            }
            nodes.push(plan);
        }
        Ok(nodes)
    }

    fn wire(&self, folder: &Path) -> Result<Option<PathBuf>, Wrong> {
        let Some(wire) = &self.wire else {
            return Ok(None);
        };
        let path = folder.join(wire.as_ref());
        if path.is_file() {
            Ok(Some(path))
        } else {
            let why = format!("there is no file {}", path.display());
            wrong(wire.span(), why)
        }
    }

    fn prepare(&self, values: &BTreeMap<String, String>) -> Result<Vec<Vec<String>>, Wrong> {
        let each = self.prepare.iter().map(|command| {
            let words: Vec<String> = command
                .as_ref()
                .iter()
                .map(|word| checked(word, &fill::OF_A_RUN, values))
                .collect::<Result<_, _>>()?;
            if words.is_empty() {
                wrong(command.span(), "a command begins with a program")
            } else {
                Ok(words)
            }
        });
        each.collect()
    }

    fn script(&self, text: &str, (file, folder): (&str, &Path)) -> Result<Script, Wrong> {
        match (&self.script, &self.file) {
            (Some(script), None) => Ok(Script {
                name: file.to_owned(),
                lines_before: lines_before(text, script),
                text: script.as_ref().clone(),
            }),
            (None, Some(named)) => {
                let path = folder.join(named.as_ref());
                let read = std::fs::read_to_string(&path).map_err(about(path.display()));
                Ok(Script {
                    name: path.display().to_string(),
                    lines_before: 0,
                    text: read.map_err(|why| Wrong::new(named.span(), why))?,
                })
            }
            (Some(_), Some(named)) => wrong(named.span(), "write `script` or `file`, not both"),
            (None, None) => {
                let why = "there is no script: write script = '''...''', or file = \"NAME.lua\"";
                wrong(0..0, why)
            }
        }
    }
}

impl Settings {
    /// What holds for a node: its own, and for what it does not say, `every` node's. Of the environment
    /// and the name, its own alone.
    fn over(&self, every: &Settings) -> Settings {
        let own = self.clone();
        let every = every.clone();
        Settings {
            name: own.name,
            role: own.role.or(every.role),
            command: own.command.or(every.command),
            environment: own.environment,
            folder: own.folder.or(every.folder),
            start: own.start.or(every.start),
            reach: own.reach.or(every.reach),
            bring: own.bring.or(every.bring),
            fetch: own.fetch.or(every.fetch),
            console: own.console.or(every.console),
            token: own.token.or(every.token),
            ends: own.ends.or(every.ends),
            quit: own.quit.or(every.quit),
            faults: own.faults.or(every.faults),
        }
    }
}

fn node_plan(
    node: &Spanned<Settings>,
    every: &Settings,
    (fillers, here): (Fillers<'_>, &Path),
) -> Result<NodePlan, Wrong> {
    let values = fillers.0;
    let at = node.span();
    let node = node.as_ref().over(every);
    let name = node_name(&node, at.clone())?;
    let is_here = node.reach.is_none();
    let filled = |text: &Spanned<String>| checked_with_secrets(text, fillers, is_here);
    let optional = |text: Option<&Spanned<String>>| text.map(filled).transpose();
    let Some(command) = &node.command else {
        let why =
            format!("node {name} has no command: write command = [\"PROGRAM\", \"ARGUMENT\"]");
        return wrong(at, why);
    };
    if command.as_ref().is_empty() {
        return wrong(command.span(), "a command begins with a program");
    }
    let command: Result<Vec<String>, Wrong> = command.as_ref().iter().map(filled).collect();
    let mut environment = BTreeMap::new();
    for (key, value) in every.environment.iter().chain(&node.environment) {
        environment.insert(key.clone(), filled(value)?);
    }
    // The runner itself reads it.
    let token = node.token.as_ref();
    let token = token
        .map(|token| checked_with_secrets(token, fillers, true))
        .transpose()?;
    let console = match &node.console {
        None => ConsolePlan::None,
        Some(console) => console_plan(console.span(), &filled(console)?, token)?,
    };
    let reach = node.reach.as_ref().map(|words| {
        let words = words.as_ref().iter();
        words
            .map(|word| checked(word, &fill::OF_A_RUN, values))
            .collect()
    });
    let bring = node.bring.iter().flatten().map(|bring| {
        // It may be made by then.
        let from = here.join(checked(&bring.from, &[], values)?);
        let to = checked(&bring.to, &[], values)?;
        Ok(Bring { from, to })
    });
    if let (Some(fetch), true) = (&node.fetch, is_here) {
        let why = "what is recorded here needs no fetching: a node with `fetch` has a `reach`";
        return wrong(fetch.span(), why);
    }
    if let Some(faults) = &node.faults
        && !faults.as_ref().contains("{faults}")
    {
        let why = "what a console is told of faults has {faults} in it, and {from} where it is a node's link";
        return wrong(faults.span(), why);
    }
    Ok(NodePlan {
        name,
        role: node.role.unwrap_or_default(),
        command: command?,
        environment,
        folder: optional(node.folder.as_ref())?,
        start: match &node.start {
            None => Start::Local,
            Some(start) => start_as(start, values)?,
        },
        reach: reach.transpose()?.unwrap_or_default(),
        bring: bring.collect::<Result<_, _>>()?,
        fetch: optional(node.fetch.as_ref())?,
        console,
        ends: node.ends.unwrap_or(false),
        quit: optional(node.quit.as_ref())?,
        faults: node.faults.map(Spanned::into_inner),
    })
}

/// What a node that stands at `at` is called.
fn node_name(node: &Settings, at: Range<usize>) -> Result<String, Wrong> {
    let Some(name) = &node.name else {
        return wrong(at, "this node has no name");
    };
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_".contains(letter);
    let text = name.as_ref();
    if text.is_empty() || text.len() > 64 || !text.chars().all(is_plain) || text == "RUNNER" {
        let why = "a node's name is of letters, digits, - and _, up to 64, and not RUNNER: files are called so";
        return wrong(name.span(), why);
    }
    Ok(text.clone())
}

fn start_as(start: &Spanned<StartAs>, values: &BTreeMap<String, String>) -> Result<Start, Wrong> {
    match start.as_ref() {
        StartAs::Word(word) if word == "local" => Ok(Start::Local),
        StartAs::Word(word) if word == "external" => Ok(Start::External),
        StartAs::Through(words) if words.iter().any(|word| word.contains("{command}")) => {
            for word in words {
                let word = word.replace("{command}", "");
                fill::check(&word, &fill::OWN, values)
                    .map_err(|why| Wrong::new(start.span(), why))?;
            }
            Ok(Start::Through(words.clone()))
        }
        _ => wrong(start.span(), HOW_TO_START),
    }
}

fn console_plan(at: Range<usize>, text: &str, token: Option<String>) -> Result<ConsolePlan, Wrong> {
    let (way, address) = Way::of(text);
    match text {
        "stdin" => Ok(ConsolePlan::Stdin),
        "none" => Ok(ConsolePlan::None),
        _ if address
            .split_once(':')
            .is_none_or(|(host, _)| host.is_empty()) =>
        {
            wrong(at, HOW_TO_SPEAK)
        }
        _ if way.needs_token() && token.is_none() => {
            let why = "a remote console has a password: name its file with token = \"FILE\"";
            wrong(at, why)
        }
        _ => Ok(ConsolePlan::Remote {
            way,
            address: address.to_owned(),
            token,
        }),
    }
}

/// How many lines of the file stand before the first of an inline script.
fn lines_before(text: &str, script: &Spanned<String>) -> usize {
    let before = text.get(..script.span().start).unwrap_or_default();
    let literal = text.get(script.span()).unwrap_or_default();
    let opens = ["'''\n", "\"\"\"\n"]
        .iter()
        .any(|it| literal.starts_with(it));
    before.matches('\n').count() + usize::from(opens)
}
