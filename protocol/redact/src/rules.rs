//! What a copy is to be without.

use netreel_protocol::session::SessionError;
use netreel_reel::Removed;

/// What becomes of bytes that nobody can look into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bytes {
    /// They stay.
    Keep,
    /// Zeros, as many.
    #[default]
    Lengths,
    /// Nothing is left, not even how many there were.
    Drop,
}

/// What becomes of texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Texts {
    /// They stay.
    Keep,
    /// Addresses, host names and names of people's folders in them are mapped.
    #[default]
    Scrub,
    /// Nothing is left.
    Drop,
}

/// What stands where a text was dropped.
pub(crate) const DROPPED: &str = "[removed]";

/// What a copy is to be without.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// The same key maps the same things to the same things.
    pub key: [u8; 16],
    /// Addresses are mapped.
    pub addresses: bool,
    /// Those of the machine itself (127.0.0.1) as well.
    pub loopback: bool,
    /// Ports are mapped.
    pub ports: bool,
    /// Nodes are numbered.
    pub nodes: bool,
    /// Packets.
    pub payloads: Bytes,
    /// Packets that still hold something that is to be removed.
    pub doubtful: Bytes,
    /// Host names and names of people stay.
    pub keep_names: bool,
    /// Program arguments.
    pub args: Texts,
    /// Paths of files that a program opened.
    pub files: Texts,
    /// What a program was started with: the environment, folders, libraries, open files.
    pub environment: Bytes,
    /// What a program read from its standard input.
    pub typed: Bytes,
    /// Lines that a program printed.
    pub printed: Bytes,
    /// Addresses of names that a program looked up.
    pub lookups: Bytes,
    /// Notes, and what was said of a trigger.
    pub notes: Texts,
    /// Calls of the game into the layer.
    pub inputs: Bytes,
    /// Values that the game said it believes in.
    pub beliefs: Bytes,
    /// Snapshots.
    pub snapshots: Bytes,
    /// Random numbers and seeds.
    pub random: Bytes,
    /// The layer's start conditions.
    pub start: Bytes,
    /// Texts that are removed wherever they stand.
    pub remove: Vec<String>,
}

/// A redaction that cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedactError {
    /// The addresses for documentation do not suffice.
    #[error("the session names more addresses than there are for documentation, {most} of a kind")]
    TooManyAddresses {
        /// How many there are.
        most: u64,
    },
    /// All ports are taken.
    #[error("the session names so many ports that none is left; do not map them")]
    TooManyPorts,
    /// A text that would be found everywhere.
    #[error("`{0}` is too short to be searched for: give at least 3 bytes")]
    TooShort(String),
    /// A typing mistake must not leave a field as it was.
    #[error(
        "the wire has no field `{0}`; name a field by the end of its path (`chat.text`) or by its \
         annotation (`@rpc_name`)"
    )]
    NoSuchField(String),
    /// Fields are to be blanked, and nobody says what is in a packet.
    #[error("the reels hold no wire that says what is in a packet")]
    NoWire,
    /// The reels are not of one session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// An event that the reel does not take.
    #[error(transparent)]
    Write(#[from] netreel_reel::WriteError),
}

impl Bytes {
    /// What becomes of these bytes; `None`: they stay.
    pub(crate) fn of(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let new = match self {
            Bytes::Keep => return None,
            Bytes::Lengths => vec![0; bytes.len()],
            Bytes::Drop => Vec::new(),
        };
        (new != bytes).then_some(new)
    }

    /// Whether bytes became what they were to become.
    pub(crate) fn fits(self, old: &[u8], new: &[u8]) -> bool {
        match self {
            Bytes::Keep => old == new,
            Bytes::Lengths => old.len() == new.len() && new.iter().all(|&byte| byte == 0),
            Bytes::Drop => new.is_empty(),
        }
    }
}

impl Redaction {
    /// What becomes of bytes of this kind.
    pub(crate) fn bytes(&self, what: Removed) -> Bytes {
        match what {
            Removed::Payloads => self.payloads,
            Removed::Inputs => self.inputs,
            Removed::Beliefs => self.beliefs,
            Removed::Snapshots => self.snapshots,
            Removed::Random => self.random,
            Removed::Start => self.start,
            _ => Bytes::Keep,
        }
    }

    /// What becomes of bytes of this kind in the details of a call.
    pub(crate) fn details(&self, what: Removed) -> Bytes {
        match what {
            Removed::Random => self.random,
            Removed::Environment => self.environment,
            Removed::Typed => self.typed,
            Removed::Printed => self.printed,
            Removed::Lookups => self.lookups,
            _ => Bytes::Lengths,
        }
    }
}
