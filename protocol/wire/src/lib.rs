//! The wire language: a protocol's bytes, described once.
//!
//! A [`Wire`] is compiled from text at run time. It gives the facts of a packet quickly
//! ([`Wire::facts`]) or every field of it ([`Wire::decode`]), and writes packets from JSON
//! ([`Wire::encode`]).
//!
//! ```
//! use netreel_wire::{PacketFacts, Wire};
//!
//! let text = "
//!     wire ping { version = 1; byte_order = big; bit_order = msb; root = Packet; }
//!     struct Packet { sequence: u16 @sequence; hops: u8; }
//! ";
//! let wire = Wire::compile("ping.wire", text)?;
//!
//! let mut facts = PacketFacts::default();
//! wire.facts(&[1, 2, 3], &mut facts);
//! assert_eq!(facts.sequence.map(|sequence| sequence.value), Some(0x0102));
//!
//! let decoded = wire.decode(&[1, 2]);
//! assert_eq!(decoded.diagnostics[0].path, "hops");
//! # Ok::<(), netreel_wire::CompileError>(())
//! ```
//!
//! The way of a text: `files` gathers what is imported, `syntax` makes a tree of it, `check` a
//! model of what it means, and `lower` two plans of `operation`s, one for the facts and one for
//! every field; `program` is what these refer to. The way of a packet: `run` takes a plan along a
//! tape, which reads bits or writes them. `values` and `layers` say how single values and whole
//! streams are laid out, `state` what a connection keeps from one packet to the next, `limits` what
//! none of it goes past. `tree` and `facts` are what comes out, `json` is the tree as text.
//!
//! Why it is so: `docs/decisions/wire.md`.

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
mod format;
mod json;
mod layers;
mod layout;
mod lexemes;
mod limits;
mod lower;
mod misfits;
mod operation;
mod outline;
mod program;
mod property;
mod report;
mod run;
mod said_back;
mod select;
mod spelled;
mod state;
mod states;
mod suggest;
mod syntax;
mod testing;
mod told;
mod tree;
mod values;
mod wire;
mod words;

#[cfg(test)]
mod tests;

pub use connections::{Connections, EncodedPacket, Spent};
pub use context::Context;
pub use encode::{EncodeError, Encoded};
pub use error::CompileError;
pub use facts::{
    CreateRule, InnerContent, Kind, KindId, LateInput, MessageFacts, OlderUpdate, PacketFacts,
    Piece, PieceAt, Place, Promise, ProtocolId, Role, RpcName, Rules, RulesId, Sequence, Slow,
    StaleRule, UnknownDestroy, UnknownMigrate, UnknownUpdate, UpdateFrom,
};
pub use format::format;
pub use json::Instead;
#[cfg(feature = "lua")]
pub use layers::guest as rules;
pub use layers::{Keys, KeysError};
pub use layout::StreamId;
pub use lexemes::{Lexeme, LexemeKind, lexemes};
pub use limits::{FILE_STEPS_MAX, PACKET_STEPS};
pub use misfits::{Misfit, Misfits};
pub use outline::{
    FilePlace, ImportPlace, Outline, OutlineFile, Symbol, SymbolId, SymbolKind, help, help_of,
};
pub use property::{Property, PropertyId, PropertyKind};
pub use report::{Related, Report};
pub use run::Change;
pub use state::ConnectionState;
pub use states::States;
pub use testing::{TestFailure, TestResult};
pub use told::{ToldProperty, ToldSnapshot};
pub use tree::{Diagnostic, Name, Tree, TreeId, TreeNode, Value};
pub use values::rotation::Axes;
pub use wire::{Decoded, Wire};
pub use words::{Help, HelpKind};
