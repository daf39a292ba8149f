//! The wire language: a protocol's bytes, described once.
//!
//! A [`Wire`] is compiled from text at run time. It gives the facts of a packet quickly
//! ([`Wire::facts`]) or every field of it ([`Wire::decode`]).

mod facts;
mod tree;

pub use facts::{
    CreateRule, Kind, KindId, MessageFacts, PacketFacts, Role, Rules, RulesId, Sequence, StaleRule,
    UnknownDestroy, UnknownMigrate, UpdateFrom,
};
pub use tree::{Diagnostic, Name, Tree, TreeId, TreeNode, Value};

/// A compiled wire.
pub struct Wire {}
