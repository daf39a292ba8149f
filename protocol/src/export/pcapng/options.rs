//! What of a session is written for Wireshark, and what beside it.

use super::addresses::Naming;

/// Which of a packet's two ends have a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frames {
    /// One where it was sent, one where it was received, one for each further receipt.
    #[default]
    Both,
    /// One where it was sent.
    Sent,
    /// One for each receipt.
    Received,
    /// One where it was sent, or, where nobody recorded that, where it was received first.
    Once,
}

/// Which comments are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comments {
    /// Findings, holes, and what became of each packet.
    #[default]
    All,
    /// Findings alone.
    Findings,
    /// None.
    None,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcapngOptions {
    /// Which ends have a frame.
    pub frames: Frames,
    /// What is said beside them.
    pub comments: Comments,
    /// Which addresses they have.
    pub naming: Naming,
    /// A packet that took this long, in ns, is called late.
    pub late_ns: i64,
    /// Whether ticks, calls of the game, notes and the like have frames as well: IP packets of
    /// protocol 253, from a node to itself, with words in them.
    pub extra: bool,
}

impl Default for PcapngOptions {
    fn default() -> PcapngOptions {
        PcapngOptions {
            frames: Frames::default(),
            comments: Comments::default(),
            naming: Naming::default(),
            late_ns: 100_000_000,
            extra: false,
        }
    }
}
