//! What `netreel record` can be asked for.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[group(skip)]
#[command(
    group = clap::ArgGroup::new("way").required(true),
    override_usage = "netreel record [OPTIONS] -- <CMD>...\n       \
                      netreel record [OPTIONS] --proxy <LISTEN=TARGET>\n       \
                      netreel record [OPTIONS] --live <IFACE>",
    after_help = "A program is recorded with every packet, clock read, random draw and wait, in \
                  order. Exits with the program's code, 128 + n for signal n; with 2 where it could \
                  not be recorded (docs/record.md).",
)]
pub struct Record {
    /// The program and its arguments, behind `--`.
    #[arg(last = true, group = "way", value_name = "CMD")]
    pub command: Vec<std::ffi::OsString>,
    /// Where the reels go, one for each process or one for the proxy. Default: a new folder
    /// `netreel-DATE` here.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub program: Program,
    #[command(flatten)]
    pub proxy: Proxy,
    #[command(flatten)]
    pub live: RecordLive,
    #[command(flatten)]
    pub recording: super::options::Recording,
    #[command(flatten)]
    pub ring: super::RingArguments,
}

/// A name for a node that a file may have as well.
fn node_name(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_alphanumeric() || "-_ ".contains(letter);
    if text.len() <= 100 && text.starts_with(char::is_alphanumeric) && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("a name has letters, digits, -, _ and spaces, 100 at most, and begins with a letter or a digit".to_owned())
    }
}

/// How a program is run.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "A program")]
pub struct Program {
    /// What the program's node and reel are called: NODE.reel. Without, they have the program's
    /// name and its process id.
    #[arg(long, value_name = "NODE", value_parser = node_name)]
    pub name: Option<String>,
    /// Record the programs that the program starts as well (the default).
    #[arg(long, overrides_with = "no_children")]
    pub follow_children: bool,
    /// Record the program alone.
    #[arg(long)]
    pub no_children: bool,
    /// Leave addresses random, as the system has them. Without, memory lies where it will lie in
    /// a replay; some programs make numbers of addresses.
    #[arg(long)]
    pub random_addresses: bool,
    /// Let one thread of the program run at a time, from call to call. Slower; a replay is then
    /// exact too where threads wait for each other by looking at memory.
    #[arg(long)]
    pub one_thread_at_a_time: bool,
    /// Leave out what the program prints on its standard output and its standard error.
    #[arg(long)]
    pub no_log: bool,
    /// Do not watch for system calls that go past the recorder. Watching takes from the program
    /// the right to start setuid programs as somebody else.
    #[arg(long)]
    pub no_tripwire: bool,
    /// Exit with 1 where something was not recorded, even if the program ended with 0.
    #[arg(long)]
    pub fail_on_missing: bool,
}

/// What a proxy passes on, and what it does to it.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "A proxy between clients and a server")]
pub struct Proxy {
    /// Listen at LISTEN for the clients of the server TARGET, pass on what they and the server
    /// send, and record it; for example `0.0.0.0:7000=game-host:7000`. May be given several times.
    #[arg(long = "proxy", group = "way", value_name = "LISTEN=TARGET")]
    pub routes: Vec<netreel_capture::proxy::Route>,
    /// Make the network worse:
    /// `delay=50ms,jitter=10ms,loss=2%,burst=1%,corrupt=0.1%,dup=1%,reorder=5%,rate=1mbit`, each for both
    /// directions, or with `up:` or `down:` before it for one. What was done to which
    /// packet is in the reel.
    #[arg(long, value_name = "SPEC")]
    pub faults: Option<netreel_capture::proxy::FaultSpec>,
    /// What the faults are drawn from: with the same seed, the nth packet of a link has the same
    /// fate. Default: another one each time, which is told.
    #[arg(long, requires = "faults", value_name = "N")]
    pub seed: Option<u64>,
    /// Listen at this TCP address (port 0: a free one) for commands that change the faults while it runs:
    /// `faults SPEC`, `faults none` (`netreel console`, docs/scenarios.md).
    #[arg(long, requires = "routes", value_name = "ADDR:PORT")]
    pub console: Option<std::net::SocketAddr>,
    /// The first line of this file is the console's token; needed where other machines can reach it.
    #[arg(long, requires = "console", value_name = "FILE")]
    pub console_token: Option<PathBuf>,
    /// So many clients are served at a time. Default: 256.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=60_000))]
    pub clients: Option<u16>,
    /// A client is forgotten after so many seconds without a packet to or from it. Default: 120.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub idle: Option<u32>,
}

/// What of a network interface is recorded (docs/captures.md).
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "A network interface")]
pub struct RecordLive {
    /// Record what passes this network interface; `any` is all of them.
    #[arg(long = "live", group = "way", value_name = "IFACE")]
    pub interface: Option<String>,
    /// What of it, in libpcap's language, for example `udp port 7000`. Default: everything UDP.
    #[arg(long, value_name = "FILTER")]
    pub capture_filter: Option<String>,
    /// A node by its address, for example `HOST=10.0.0.1:7000`: it gets a reel of its own. May be
    /// given again.
    #[arg(long, value_name = "NAME=ADDR[:PORT]")]
    pub node: Vec<netreel_capture::import::NamedNode>,
    /// With --live: put this wire into the reels, so that they explain themselves. With
    /// --trigger-on-finding: decode with it.
    #[arg(long, value_name = "FILE")]
    pub wire: Option<PathBuf>,
}
