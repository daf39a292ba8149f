//! What can be asked of wires.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum Wire {
    /// Writes a wire to begin with: rules, comments, tests.
    New(WireNew),
    /// Says what the packets of an unknown protocol look like, and writes the wire that they suggest.
    Guess(WireGuess),
    /// Says what is wrong with wire files. Exits 1 when something is.
    Check(WireCheck),
    /// Bytes to fields. Exits 1 where the bytes do not fit the wire.
    Decode(WireDecode),
    /// Fields, as `decode --json` prints them, to bytes. Exits 1 where they do not fit the wire.
    Encode(WireEncode),
    /// Runs the `test` blocks of wire files. Exits 1 when one fails.
    Test(WireTest),
    /// Writes wire files anew, laid out as all wires are. With `--check` it only looks, and exits 1
    /// where a file is laid out otherwise.
    Format(WireFormat),
    /// A language server for editors, on the standard input and output (docs/editor.md).
    Lsp(WireLsp),
}

#[derive(Debug, Args)]
pub struct WireNew {
    /// The file that is written; one that is there is left as it is.
    #[arg(value_name = "FILE.wire")]
    pub file: PathBuf,
    /// What the protocol is like.
    #[arg(long, value_name = "PROTOCOL", value_enum, default_value_t = Like::Custom)]
    pub like: Like,
}

/// What a wire begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Like {
    /// Of your own: packets of many messages, acked as a whole.
    Custom,
    /// ENet 1.3, with the game's payload left open.
    Enet,
    /// RakNet, with the game's messages left open.
    Raknet,
    /// Quake III Arena and its relatives.
    Quake3,
}

#[derive(Debug, Args)]
pub struct WireGuess {
    /// Reels, folders of reels, or packet captures (pcap, pcapng). The first 20 000 packets are looked at.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Write the wire into this file; one that is there is left as it is.
    #[arg(long, value_name = "FILE.wire")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct WireCheck {
    /// Wire files; what they import is read from their folders.
    #[arg(required = true, value_name = "FILE.wire")]
    pub files: Vec<PathBuf>,
    /// Go on, and say it again whenever a file changes.
    #[arg(long)]
    pub watch: bool,
    /// Print JSON (docs/json.md).
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WireTest {
    /// Wire files; what they import is read from their folders.
    #[arg(required = true, value_name = "FILE.wire")]
    pub files: Vec<PathBuf>,
    /// Print JSON (docs/json.md).
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WireFormat {
    /// Wire files; each is changed in its place. `-` is the standard input, which goes to the
    /// standard output.
    #[arg(required = true, value_name = "FILE.wire")]
    pub files: Vec<PathBuf>,
    /// Change nothing: name the files that would be changed.
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Args)]
pub struct WireLsp {
    /// A recording: a folder of reels, a reel, or a capture. What the pointer rests on in the
    /// editor is told with a value from it.
    #[arg(long, value_name = "PATH")]
    pub capture: Option<PathBuf>,
    /// The standard input and output, which is all there is: editors say so.
    #[arg(long, hide = true)]
    pub stdio: bool,
}

#[derive(Debug, Args)]
pub struct WireDecode {
    /// The wire file.
    #[arg(value_name = "FILE.wire")]
    pub wire: PathBuf,
    /// A key log for encrypted layers; without it `keys.log` beside what is read, where there is one.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// The packet in hexadecimal digits. Without it, and without FILE or PATH: the bytes of the
    /// standard input.
    #[arg(value_name = "HEX", conflicts_with_all = ["file", "from"])]
    pub hex: Option<String>,
    /// A file whose bytes are the packet.
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    pub file: Option<PathBuf>,
    /// A pcap or pcapng file, a reel, or a folder of reels: its packets.
    #[arg(long, value_name = "PATH")]
    pub from: Option<PathBuf>,
    /// Only this packet of PATH, from 0.
    #[arg(long, value_name = "N", requires = "from")]
    pub packet: Option<usize>,
    /// The packet's source and destination port, for example `27960,50000`.
    #[arg(long, value_name = "FROM,TO", conflicts_with = "from")]
    pub ports: Option<String>,
    /// Print JSON, an object a packet (docs/json.md).
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WireEncode {
    /// The wire file.
    #[arg(value_name = "FILE.wire")]
    pub wire: PathBuf,
    /// A key log for encrypted layers; without it `keys.log` beside what is read, where there is one.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// JSON: one packet, or the lines of a session as `decode --from CAPTURE --json` prints them;
    /// without it the standard input.
    #[arg(value_name = "FILE.json")]
    pub json: Option<PathBuf>,
    /// Write the packet's bytes into this file instead of printing them in hexadecimal; of a
    /// session, its lines.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}
