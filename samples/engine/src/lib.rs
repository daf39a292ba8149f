//! A small network layer in the manner of the Bitsquid engine, and a game on it.
//!
//! The layer is sans-IO: [`NetLayer`] follows from its [`Start`], its [`Call`]s and what its
//! transport answers, and from nothing else. Its packets are those of
//! `samples/wires/boxes.wire`.

mod bits;
mod call;
mod event;
mod game;
mod layer;
mod link;
mod message;
mod object;
mod packet;
mod sequence;
mod start;
mod stream;
mod types;
mod world;

pub use bits::Malformed;
pub use call::Call;
pub use event::{EndReason, Event, IgnoreReason, ObjectMessage, Refusal};
pub use game::{Boxes, Demonstration, Game, Hands, Idle, play_tick};
pub use layer::{NetLayer, PROTOCOL_VERSION};
pub use message::{Argument, Body, Counter, Message, Migration, ObjectId, Peer, State};
pub use object::Object;
pub use packet::{PACKET_BYTES_MAX, PacketHeader, read_packet};
pub use start::{Mode, PeerStart, Start, StartError, Topology, Tuning};
pub use types::{BOXES, FieldKind, FieldType, ObjectType, Quantized, Types, TypesError, Value};
pub use world::{Script, SimNode, SimWorld, SimWorldStart, TableRow, node_name};
