//! The panes that there are.

use serde::{Deserialize, Serialize};

/// A part of a workspace. Any workspace can have any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pane {
    /// Who sent what to whom.
    Timeline,
    /// Who owned what.
    Objects,
    /// The packet table.
    Packets,
    /// The fields of the selected packet.
    Fields,
    /// Its bytes.
    Bytes,
    /// What went wrong, and what led to it.
    Findings,
    /// What each node believed of each property.
    Values,
    /// Objects from above.
    Map,
    /// A property over time.
    Course,
    /// All links, from whom to whom.
    Links,
    /// One link over time.
    Link,
    /// What the bytes were.
    Ledger,
    /// A replay that one sits in.
    Replay,
    /// The state of the layer that is played.
    Layer,
    /// Where the layer parts from the recording.
    Parting,
    /// The timeline of the session that this one is compared with.
    Other,
    /// How two sessions differ.
    Differences,
    /// Bookmarks, and what nodes wrote.
    Notes,
}

impl Pane {
    /// All panes and their names.
    pub const ALL: [(&'static str, Pane); 18] = [
        ("timeline", Pane::Timeline),
        ("objects", Pane::Objects),
        ("packets", Pane::Packets),
        ("packet", Pane::Fields),
        ("bytes", Pane::Bytes),
        ("findings", Pane::Findings),
        ("values", Pane::Values),
        ("from above", Pane::Map),
        ("value over time", Pane::Course),
        ("links", Pane::Links),
        ("link over time", Pane::Link),
        ("ledger", Pane::Ledger),
        ("replay", Pane::Replay),
        ("layer", Pane::Layer),
        ("divergence", Pane::Parting),
        ("other session", Pane::Other),
        ("differences", Pane::Differences),
        ("notes", Pane::Notes),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Pane::ALL.iter().find(|(_, it)| *it == self);
        found.map_or("", |(name, _)| name)
    }

    /// A pane by its name.
    ///
    /// # Errors
    /// A sentence with the names that there are.
    pub fn named(name: &str) -> Result<Pane, String> {
        let found = Pane::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, pane)| *pane).ok_or_else(|| {
            let names = Pane::ALL.map(|(name, _)| name).join(", ");
            format!("there is no pane {name:?}; there are {names}")
        })
    }
}
