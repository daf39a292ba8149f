//! The panes that there are.

use serde::{Deserialize, Serialize};

use crate::named::named;

named! {
    "pane"
    /// A part of a workspace. Any workspace can have any of them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Pane {
        /// Who sent what to whom.
        Timeline = "timeline",
        /// Who owned what.
        Objects = "objects",
        /// The packet table.
        Packets = "packets",
        /// The fields of the selected packet.
        Fields = "packet",
        /// Its bytes.
        Bytes = "bytes",
        /// What went wrong, and what led to it.
        Findings = "findings",
        /// What each node believed of each property.
        Values = "values",
        /// Objects from above.
        Map = "from above",
        /// A property over time.
        Course = "value over time",
        /// All links, from whom to whom.
        Links = "links",
        /// One link over time.
        Link = "link over time",
        /// What the bytes were.
        Ledger = "ledger",
        /// A replay that one sits in.
        Replay = "replay",
        /// The state of the layer that is played.
        Layer = "layer",
        /// Where the layer parts from the recording.
        Parting = "divergence",
        /// The timeline of the session that this one is compared with.
        Other = "other session",
        /// How two sessions differ.
        Differences = "differences",
        /// Bookmarks, and what nodes wrote.
        Notes = "notes",
    }
}
