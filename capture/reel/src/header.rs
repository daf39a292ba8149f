//! What a reel says of itself before the first event.

use serde::{Deserialize, Serialize};

use crate::{Redacted, Time};

/// The start of a reel: who was recorded, when, and from what start conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The node's name, as people say it: `HOST`, `A`.
    pub node: String,
    /// The same in all reels of one session; all zero where nobody gave one. In reels of
    /// [unmodified](Header::UNMODIFIED) programs it names the recording: a session may have several.
    pub session: [u8; 16],
    /// Ties the node's clock to the calendar and to its machine.
    pub clock: ClockAnchor,
    /// Which network layer was recorded, as `netreel replay` knows it: `boxes`. Where it was none,
    /// [`Header::OBSERVER`] or [`Header::CAPTURED`].
    pub engine: String,
    /// The recorded program's build: a version, a hash, whatever tells two builds apart.
    pub build: String,
    /// The program's arguments.
    pub args: Vec<String>,
    /// The layer's start conditions, in the engine's own encoding. A replay starts from these.
    pub start: Vec<u8>,
    /// Seeds, by name.
    pub seeds: Vec<(String, u64)>,
    /// Hashes of configuration and data files, by name.
    pub hashes: Vec<(String, String)>,
    /// The wires that decode this reel's packets; the first is the default.
    pub wires: Vec<WireText>,
    /// What was taken out of the recording later; `None`: it is as it was recorded.
    #[serde(skip)]
    pub redacted: Option<Redacted>,
}

impl Header {
    /// The [`engine`](Header::engine) of a reel of packets that passed an observer. Its node is the
    /// observer, who took no part.
    pub const OBSERVER: &'static str = "observer";
    /// The [`engine`](Header::engine) of a node's reel that was made of a packet capture: what the
    /// capture holds may have begun before it, and nothing but packets is known.
    pub const CAPTURED: &'static str = "packet capture";
    /// The [`engine`](Header::engine) of a reel that a proxy made: it tells of both ends whose packets it
    /// passed on.
    pub const PROXY: &'static str = "proxy";
    /// The [`engine`](Header::engine) of a node that was recorded from outside its program. Its
    /// session is the recording.
    pub const UNMODIFIED: &'static str = "unmodified program";
}

/// One moment, on the node's clock and on the calendar.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockAnchor {
    /// The node's monotonic clock at that moment.
    pub monotonic: Time,
    /// Nanoseconds since 1970-01-01T00:00:00Z at that moment.
    pub utc_ns: i64,
    /// The boot of the machine. Two reels with the same boot id share one monotonic clock.
    /// Empty where it is unknown.
    pub boot_id: String,
}

/// The text of a wire, with the name that its errors show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireText {
    /// The file's name, for people.
    pub name: String,
    /// The whole text.
    pub text: String,
}
