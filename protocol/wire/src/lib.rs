//! The wire language: a protocol's bytes, described once.
//!
//! A [`Wire`] is compiled from text at run time. It gives the facts of a packet quickly
//! ([`Wire::facts`]) or every field of it ([`Wire::decode`]).

mod arithmetic;
mod bit_writer;
mod bits;
mod check;
mod connections;
mod context;
mod display;
mod encode;
mod error;
mod facts;
mod files;
#[cfg(test)]
mod highlighting;
mod json;
mod layers;
mod limits;
mod lower;
mod operation;
mod program;
mod run;
mod select;
mod state;
mod suggest;
mod syntax;
mod testing;
mod tree;
mod values;
mod wire;

pub use connections::{Connections, EncodedPacket};
pub use context::Context;
pub use encode::{Change, EncodeError, Encoded};
pub use error::{CompileError, Related, Report};
pub use facts::{
    CreateRule, InnerContent, Kind, KindId, MessageFacts, PacketFacts, Place, ProtocolId, Role,
    Rules, RulesId, Sequence, StaleRule, UnknownDestroy, UnknownMigrate, UnknownUpdate, UpdateFrom,
};
pub use layers::{Keys, KeysError};
pub use state::ConnectionState;
pub use testing::{TestFailure, TestResult};
pub use tree::{Diagnostic, Name, StreamId, Tree, TreeId, TreeNode, Value};
pub use values::rotation::Axes;
pub use wire::{Decoded, Wire};
