//! Copies of reels without what must not leave the house.
//!
//! [`Survey`] looks at all reels and gives each thing that is mapped another one; [`Survey::copy`]
//! writes a reel anew with it, file by file. [`Checker`] reads a copy beside what it was made from, with rules of
//! its own, and says where they differ in more than they may; [`FileScan`] looks through its bytes.

mod blank;
mod calls;
mod check;
mod events;
mod fields;
mod file_scan;
mod follow;
mod forms;
mod fragments;
mod header;
mod map;
mod pieces;
mod report;
mod secrets;
mod survey;
mod texts;
mod walk;

pub use blank::Blanked;
pub use check::{Broken, Checker};
pub use fields::Field;
pub use file_scan::FileScan;
pub use map::key_of;
pub use report::{HeldBack, ReelReport, Removed};
pub use survey::Survey;

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
    /// Program arguments.
    pub args: Texts,
    /// Notes, and what was said of a trigger.
    pub notes: Texts,
    /// Calls of the game into the layer.
    pub inputs: Bytes,
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
    /// An event that the reel does not take.
    #[error(transparent)]
    Write(#[from] netreel_reel::WriteError),
}

impl Bytes {
    /// What becomes of these bytes; `None`: they stay.
    fn of(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let new = match self {
            Bytes::Keep => return None,
            Bytes::Lengths => vec![0; bytes.len()],
            Bytes::Drop => Vec::new(),
        };
        (new != bytes).then_some(new)
    }
}
