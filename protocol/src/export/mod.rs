//! A session for others to read: what the command prints with `--json` (the schema is in
//! `docs/json.md`), captures for Wireshark, and parts of it as sessions of their own.
//!
//! Times are whole nanoseconds on the session's clock; nodes are named; numbers of packets,
//! messages and objects are JSON numbers. The raw integers of fields are strings, because a JSON
//! reader may not hold 64 bits.

mod check;
mod csv;
mod cut;
mod diff;
mod events;
mod info;
mod migrations;
mod objects;
mod packets;
mod pcapng;
mod show;
mod state;
mod stats;
mod values;
mod why;

pub use check::{
    Check, EvidenceJson, FindingJson, InstanceJson, check, conclusion, evidence, finding,
};
pub use csv::{csv_columns, csv_row};
pub use cut::Cut;
pub use diff::{
    AboutJson, Alike, BelievedJson, Both, ChangedJson, DiffJson, DifferentlyJson, FieldChangeJson,
    FirstJson, LevelJson, SpokenJson, ValuedJson, diff,
};
pub use events::{EventJson, TEXT_MAX, event, event_words, readable};
pub use info::{Fates, HoleJson, Info, LinkJson, NodeJson, Spread, info, info_of_packets};
pub use migrations::{MigrationJson, MigrationStepJson, Migrations, migrations};
pub(crate) use objects::object;
pub use objects::{DeliveryJson, LaneJson, ObjectJson, Objects, SpanJson, objects, span};
pub use packets::{ArgumentJson, EffectJson, MessageJson, PacketJson, messages, packet};
pub use pcapng::{Comments, Frames, Naming, PcapngOptions, PcapngSummary, pcapng};
pub use show::{DiagnosticJson, FieldJson, ResendJson, Show, show};
pub use state::{
    State, StateDiff, StateDiffValue, StateDiffers, StateExistence, StateFirst, StateLives,
    StateObject, StateProperty, StateQuestion, StateRest, StateValue, known_json, state,
    state_diff,
};
pub use stats::{BucketJson, LinkStatsJson, RowJson, StatsJson, StatsParts, stats, tables};
pub use why::{StepJson, WhyJson, WhyOf, why};
