//! What the wire says of packets, worked out when somebody asks.

mod alone;
mod asked;
pub(super) mod asking;
pub(crate) mod bytes;
pub(super) mod decoded;
mod dependent;
pub(super) mod kept;
pub(super) mod looks;
pub(super) mod numbered;
pub(super) mod parts;
mod pieces;
pub(super) mod properties;
pub(super) mod reader;
pub(super) mod said;
pub(super) mod shape;
pub(super) mod told;
pub(crate) mod values;
