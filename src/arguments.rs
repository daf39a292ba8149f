//! What can be asked on the command line.

/// What may stand behind an option: the variants of a library's enum.
macro_rules! choices {
    ($(#[$about:meta])* $name:ident of $meant:ty { $($(#[$help:meta])* $choice:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
        pub enum $name {
            $($(#[$help])* $choice,)*
        }

        impl From<$name> for $meant {
            fn from(choice: $name) -> $meant {
                match choice {
                    $($name::$choice => <$meant>::$choice,)*
                }
            }
        }
    };
}

mod games;
#[cfg(feature = "gui")]
mod inspect;
mod replays;
mod sessions;
mod source;
mod wire;

pub use games::*;
#[cfg(feature = "gui")]
pub use inspect::Inspect;
pub use replays::*;
pub use sessions::*;
pub use source::*;
pub use wire::*;

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub use crate::record::arguments::Record;

/// A flight recorder for game netcode: records every packet at every node of a session, shows all
/// nodes on one timeline, says what went wrong and why, and replays a recording exactly.
///
/// Exit codes: 0 done and clean; 1 the thing asked about is wrong (findings, a divergence);
/// 2 could not do it, or could not tell.
#[derive(Debug, Parser)]
#[command(
    name = "netreel",
    bin_name = "netreel",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Plays the sample game over real UDP, records, checks and replays it, and opens the inspector.
    Demo(Demo),
    /// One node of the demonstration.
    #[command(hide = true)]
    DemoNode(DemoNode),
    /// The sample game, played by hand: four nodes in one window, or a window a machine. Links can be
    /// made slow; all of it is recorded.
    Play(Play),
    /// Plays matches that a script drives, again and again, until something goes wrong; bad ones are
    /// kept.
    Run(Run),
    /// Speaks to the consoles of nodes, one or many at once.
    Console(Console),
    /// Records a program that cannot be changed, what passes a proxy, or a network interface.
    Record(Box<Record>),
    /// Has the recorders of a folder keep their last seconds (`record --ring`).
    Trigger(Trigger),
    /// Makes reels of a packet capture: one of the observer, or one for each node that is named.
    Import(Import),
    /// What a recording is: nodes, times, counts, and what is missing.
    Info(Info),
    /// The packets of a session, a line each.
    Packets(Packets),
    /// The events of a reel, a line each: all that crossed the boundary of the network layer.
    Events(Events),
    /// One packet to the last field, or one event of a reel to the last bit.
    Show(Show),
    /// Replicated objects: what every node believed of them.
    Objects(Objects),
    /// The values of objects: what every node believed of every field, and where nodes differ.
    State(State),
    /// What went wrong, with the packets that prove it. Exits 1 when something did, 2 when that
    /// cannot be told.
    Check(Check),
    /// Where the bandwidth goes: links, and what the bytes were.
    Stats(Stats),
    /// What led to a packet's fate, a finding, or what a node believed: back along its causes.
    Why(Why),
    /// What differs between two sessions, by what it means. Exits 1 where something does.
    Diff(Diff),
    /// Writes a session for other tools: a capture for Wireshark, its packets as rows, or all of it
    /// as a part of a dataset for DuckDB and Spark.
    Export(Export),
    /// Feeds a reel back into the engine and compares every send. Exits 1 at a divergence.
    Replay(Box<Replay>),
    /// Tries the orders in which packets could have come as well, and says what goes wrong in them. Exits 1
    /// when something does.
    Explore(Box<Explore>),
    /// Makes a session that fails as small as it can be while it still fails for the same reason.
    Shrink(Box<Shrink>),
    /// Writes a copy without what must not leave the house, and checks that nothing else changed.
    Redact(Redact),
    /// Runs the tests of a team's own rules, in Lua (docs/rules.md). Exits 1 where one fails.
    Rules(Rules),
    /// The wire language: a protocol's bytes, described once (docs/wire-language.md).
    #[command(subcommand)]
    Wire(Wire),
    /// Prints the manual page, for `man -l -`.
    Manual,
    /// Prints what a shell needs to complete commands and options, for example for `bash`.
    Completions(Completions),
    /// Opens the window.
    #[cfg(feature = "gui")]
    Inspect(Box<Inspect>),
}

/// What was asked on the command line.
///
/// # Errors
/// A mistake; or help or the version was asked for.
pub fn parse() -> Result<Arguments, clap::Error> {
    let matches = command().try_get_matches().map_err(advised)?;
    Arguments::from_arg_matches(&matches)
}

/// A mistake with the advice that helps here.
fn advised(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument {
        // To write it behind `--`, where it would be a file of that name, or a program.
        error.remove(ContextKind::Suggested);
        let wrong = error
            .get(ContextKind::InvalidArg)
            .map(ToString::to_string)
            .filter(|it| !it.starts_with('-'));
        let records = std::env::args_os().nth(1).is_some_and(|it| it == "record");
        if let Some(program) = wrong.filter(|_| records) {
            let tip = format!("a program stands behind `--`: netreel record -- {program}");
            let tips = ContextValue::StyledStrs(vec![tip.into()]);
            error.insert(ContextKind::Suggested, tips);
        }
    }
    error
}

/// All commands, whose `-h` is shorter than their `--help`.
pub fn command() -> clap::Command {
    let command = Arguments::command();
    // A window can say itself what there is to open.
    #[cfg(feature = "gui")]
    let command = command.mut_subcommand("inspect", |inspect| {
        inspect.mut_arg("paths", |paths| paths.required(false))
    });
    shortened(command)
}

/// Whether the answer was asked for as JSON; what stands behind `--` is another program's.
pub fn wants_json() -> bool {
    let own = std::env::args_os().take_while(|it| it != "--");
    own.skip(1).any(|it| it == "--json")
}

/// Of each option and of what each command does, the first sentence is what `-h` says.
fn shortened(command: clap::Command) -> clap::Command {
    let about = command.get_about().map(ToString::to_string);
    let command = match about {
        Some(about) if command.get_long_about().is_none() => {
            command.about(first_sentence(&about)).long_about(about)
        }
        _ => command,
    };
    let command = command.mut_args(|argument| {
        let help = argument.get_help().map(ToString::to_string);
        match help {
            Some(help) if argument.get_long_help().is_none() => {
                argument.help(first_sentence(&help)).long_help(help)
            }
            _ => argument,
        }
    });
    command.mut_subcommands(shortened)
}

/// Up to the first full stop or semicolon, or to what stands in brackets.
fn first_sentence(words: &str) -> String {
    let ends = [". ", "; ", " (", ": ", ", for example"];
    let end = ends.iter().filter_map(|end| words.find(end)).min();
    let first = &words[..end.unwrap_or(words.len())];
    // A sentence that begins with an example has its end behind it.
    if first.len() < 12 {
        words.to_owned()
    } else {
        first.trim_end_matches('.').to_owned()
    }
}

#[derive(Debug, Args)]
pub struct Completions {
    /// Which shell.
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: clap_complete::Shell,
}

/// What `netreel trigger` asks for.
#[derive(Debug, Args)]
pub struct Trigger {
    /// The folder that the recorders write into, as their `--out` names it.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Why: what the window and `netreel info` say of the trigger.
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Exits 1 where the capture ends badly (docs/captures.md).")]
pub struct Import {
    /// A pcap or pcapng file.
    #[arg(value_name = "FILE")]
    pub capture: PathBuf,
    /// Where the reels go.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// A node by its address, for example `HOST=10.0.0.1:7000`, `A=10.0.0.2` or `B=[::1]:7001`: it
    /// gets a reel of its own. May be given again, for other nodes or other addresses of one.
    #[arg(long, value_name = "NAME=ADDR[:PORT]")]
    pub node: Vec<netreel_capture::import::NamedNode>,
    /// Put this wire into the reels, so that they explain themselves.
    #[arg(long, value_name = "FILE")]
    pub wire: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Rules {
    /// A file of rules.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "The capture has names, directions and findings (docs/export.md).")]
pub struct Export {
    #[command(flatten)]
    pub source: Source,
    /// What is written: a capture, a packet a line, or a part of a dataset.
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub format: ExportFormat,
    /// The file to write; without it the standard output. parquet: the folder of the dataset.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// parquet: each folder below that holds reels is a session of its own.
    #[arg(long)]
    pub each: bool,
    /// Only what fits (docs/filter.md).
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// pcapng: which ends of a packet have a frame.
    #[arg(long, value_name = "ENDS", value_enum, default_value_t = FramesOf::Both)]
    pub frames: FramesOf,
    /// pcapng: what is said beside the frames.
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = CommentsOf::All)]
    pub comments: CommentsOf,
    /// pcapng: the addresses of the recording, or one made up for each node, so that nodes on one
    /// machine have names.
    #[arg(long, value_name = "WHOSE", value_enum, default_value_t = Addresses::Recorded)]
    pub addresses: Addresses,
    /// pcapng: from here on a packet is called late.
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    pub late: String,
    /// pcapng: frames for ticks, calls of the game, notes and the like as well.
    #[arg(long)]
    pub extra: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A capture for Wireshark, tshark and tcpdump.
    Pcapng,
    /// What `packets --json` prints.
    Json,
    /// Comma-separated values, with a line of names.
    Csv,
    /// A folder of Parquet files, to which every session adds its own (docs/fleet.md).
    Parquet,
}

choices! {
    FramesOf of netreel_protocol::export::Frames {
        /// One where it was sent, and one for each receipt.
        Both,
        /// Where it was sent.
        Sent,
        /// Where it was received.
        Received,
        /// Where it was sent, or, if nobody recorded that, where it was received.
        Once,
    }
}

choices! {
    CommentsOf of netreel_protocol::export::Comments {
        /// Findings; and packets that were lost, late, resent, duplicated, or could not be sent.
        All,
        /// Findings.
        Findings,
        /// Nothing.
        None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Addresses {
    /// Those of the recording.
    Recorded,
    /// One for each node.
    Node,
}

#[derive(Debug, Args)]
#[command(
    after_help = "HOW: `keep` leaves it, `lengths` leaves as many zeros, `drop` leaves nothing, \
                        `scrub` maps the addresses, host names and people's folders that a text \
                        names. Unless told otherwise, addresses are mapped as well (docs/redact.md)."
)]
pub struct Redact {
    /// A reel, or a folder of the reels of one session.
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Where the copies go; must be empty or not exist.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// What packets become.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepBytes::Keep)]
    pub payloads: KeepBytes,
    /// Blank this field in all packets: by the end of its path (`chat.text`) or by its annotation
    /// (`@rpc_name`). May be given several times.
    #[arg(long, value_name = "FIELD")]
    pub blank: Vec<String>,
    /// Decode with this wire instead of the one inside the reels.
    #[arg(long, value_name = "FILE", requires = "blank")]
    pub wire: Option<PathBuf>,
    /// A key log for encrypted layers; without it `keys.log` beside what is read, where there is one.
    #[arg(long, value_name = "FILE", requires = "blank")]
    pub keys: Option<PathBuf>,
    /// What becomes of a packet that cannot be made safe and stay what it is.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepBytes::Lengths)]
    pub doubtful: KeepBytes,
    /// Remove this text wherever it stands: a name, a password. May be given several times.
    #[arg(long, value_name = "TEXT")]
    pub remove: Vec<String>,
    /// The same key maps the same addresses to the same ones. Default: one that nobody keeps.
    #[arg(long, value_name = "TEXT")]
    pub key: Option<String>,
    /// Map the machine's own addresses (127.0.0.1, ::1) as well.
    #[arg(long)]
    pub loopback: bool,
    /// Leave all addresses as they are.
    #[arg(long, conflicts_with = "loopback")]
    pub keep_addresses: bool,
    /// Map ports.
    #[arg(long)]
    pub ports: bool,
    /// Give nodes, and the files of their reels, numbers for names.
    #[arg(long)]
    pub nodes: bool,
    /// What the program's arguments become.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepTexts::Drop)]
    pub args: KeepTexts,
    /// Leave host names and names of people as they are.
    #[arg(long)]
    pub keep_names: bool,
    /// What the paths of files that a program opened become.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepTexts::Drop)]
    pub files: KeepTexts,
    /// What becomes of that with which a program was started: environment, folders, libraries.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepBytes::Lengths)]
    pub environment: KeepBytes,
    /// What becomes of what a program read from its standard input.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepBytes::Lengths)]
    pub typed: KeepBytes,
    /// What lines that a program printed become.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepBytes::Lengths)]
    pub printed: KeepBytes,
    /// What the addresses of names that a program looked up become.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepBytes::Lengths)]
    pub lookups: KeepBytes,
    /// What values that a game said it believes in become.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepBytes::Lengths)]
    pub beliefs: KeepBytes,
    /// What notes become.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepTexts::Scrub)]
    pub notes: KeepTexts,
    /// What the game's calls into the layer become. A replay needs them.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepBytes::Lengths)]
    pub inputs: KeepBytes,
    /// What the layer's start conditions become. A replay needs them.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepBytes::Lengths)]
    pub start: KeepBytes,
    /// What random numbers and seeds become. A replay needs them.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepBytes::Lengths)]
    pub random: KeepBytes,
    /// What snapshots become.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = KeepBytes::Lengths)]
    pub snapshots: KeepBytes,
    /// Print one JSON object (docs/json.md).
    #[arg(long)]
    pub json: bool,
}

choices! {
    /// What becomes of bytes: they stay, as many zeros, nothing.
    KeepBytes of netreel_redact::Bytes {
        Keep,
        Lengths,
        Drop,
    }
}

choices! {
    /// What becomes of texts: they stay, what they name is mapped, nothing.
    KeepTexts of netreel_redact::Texts {
        Keep,
        Scrub,
        Drop,
    }
}
