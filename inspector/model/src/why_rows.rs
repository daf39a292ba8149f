//! What led to a finding, as it is shown.

use std::ops::Range;
use std::sync::Arc;

use netreel_protocol::session::{PacketId, SessionTime};

use crate::links::LinkEnds;

/// Something that led to a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyRow {
    /// How many steps lie between it and the finding.
    pub depth: usize,
    /// For people.
    pub sentence: String,
    /// Whether it follows from what the reels hold.
    pub is_certain: bool,
    /// A packet that shows it.
    pub packet: Option<PacketId>,
}

/// What a link held back: from the departure of its first packet until all of them arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// From whom to whom.
    pub link: LinkEnds,
    /// From when to when.
    pub time: Range<SessionTime>,
    /// How many packets.
    pub packets: u32,
}

/// What led to one finding.
#[derive(Clone, Debug, Default)]
pub struct Led {
    pub rows: Arc<[WhyRow]>,
    pub cause: Option<WhyRow>,
    pub link: Option<LinkEnds>,
    pub held: Option<Held>,
}
