//! What is asked of an interface, and what comes of it, on any system.

use std::path::PathBuf;

use netreel_record::{Options, RecordError};
use netreel_reel::WireText;

use crate::import::NamedNode;

/// What is to be recorded.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The interface: `eth0`, `lo`, `any`; on Windows its name or its description.
    pub interface: String,
    /// A filter in libpcap's language; without one, everything that is UDP.
    pub filter: Option<String>,
    /// The nodes that get a reel each; none: the observer has one.
    pub nodes: Vec<NamedNode>,
    /// The wires that decode the packets.
    pub wires: Vec<WireText>,
    /// Where the reels go.
    pub out: PathBuf,
    /// How they are recorded.
    pub options: Options,
}

/// An interface that cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// There is no such interface.
    #[error("there is no interface {name}; there are: {}", there.join(", "))]
    NoInterface {
        /// The name that was asked for.
        name: String,
        /// Those that there are.
        there: Vec<String>,
    },
    /// The system allows it only to some.
    #[error(
        "capturing on {name} needs the right to read raw packets ({why}): {}",
        advice()
    )]
    Forbidden {
        /// The interface.
        name: String,
        /// What libpcap said.
        why: String,
    },
    /// libpcap does not understand the filter.
    #[error(
        "the filter `{filter}` is not one: {why} (its language: {})",
        language()
    )]
    Filter {
        /// The filter.
        filter: String,
        /// What libpcap said.
        why: String,
    },
    /// libpcap cannot open the interface.
    #[error("capturing on {name}: {why}")]
    Open {
        /// The interface.
        name: String,
        /// What libpcap said.
        why: String,
    },
    /// The folder cannot be made.
    #[error("{}: {error}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A reel cannot be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Where the language of filters is explained.
fn language() -> &'static str {
    if cfg!(windows) {
        "https://www.tcpdump.org/manpages/pcap-filter.7.html"
    } else {
        "man 7 pcap-filter"
    }
}

/// Who may read raw packets.
fn advice() -> &'static str {
    if cfg!(windows) {
        "run it as an administrator, or install Npcap without the restriction to administrators"
    } else {
        "run it as root, or give netreel the right once with `sudo setcap cap_net_raw=ep $(command -v \
             netreel)`"
    }
}

/// The kernel hands packets over after this many milliseconds at the latest. In between it gathers
/// them: with immediate delivery one packet in ten is dropped at 300 000 a second.
pub const HANDED_OVER_MS: i32 = 20;

/// No datagram is longer, with room for what stands before it.
pub(super) const SNAP_LENGTH: i32 = 65_535 + 512;

/// What the kernel holds while the recorder is not at it.
pub(super) const BUFFER_BYTES: i32 = 64 << 20;

/// Fragments of UDP packets are UDP to libpcap; what is in a VLAN is asked for apart, where the kind
/// of link has any.
const EVERYTHING: [&str; 2] = ["udp or (vlan and udp)", "udp"];

/// An interface that was opened.
pub(super) struct Opened<T> {
    pub tap: T,
    /// The filter that it got.
    pub filter: String,
    /// See `Live::counts_twice`.
    pub counts_twice: bool,
}

/// The first filter that `set` takes: the one that is wanted, or else what catches all UDP.
///
/// # Errors
/// What `set` says of the last one.
pub(super) fn filtered(
    wanted: &Wanted,
    mut set: impl FnMut(&str) -> Result<(), String>,
) -> Result<String, LiveError> {
    let filters = match &wanted.filter {
        Some(filter) => vec![filter.as_str()],
        None => EVERYTHING.to_vec(),
    };
    let mut wrong = (String::new(), String::new());
    for filter in filters {
        match set(filter) {
            Ok(()) => return Ok(filter.to_owned()),
            Err(why) => wrong = (filter.to_owned(), why),
        }
    }
    let (filter, why) = wrong;
    Err(LiveError::Filter { filter, why })
}

/// What an interface that is open has next.
pub(super) enum Next<'a> {
    /// A frame, and when it passed by the calendar, in nanoseconds.
    Packet {
        /// Since 1970.
        utc_ns: i128,
        /// The frame, as far as it is handed over.
        bytes: &'a [u8],
    },
    /// Nothing so far.
    Nothing,
    /// It cannot be read any more; why.
    Gone(String),
}

/// What is counted at an interface.
#[derive(Clone, Copy)]
pub(super) struct Stats {
    /// How many packets the kernel has put where they can be read; `None` where that is not told.
    pub taken: Option<u32>,
    pub dropped: u32,
    pub if_dropped: u32,
}
