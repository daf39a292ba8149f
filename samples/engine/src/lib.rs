//! A small network layer in the manner of the Bitsquid engine, and a game on it.
//!
//! The layer is sans-IO: [`NetLayer`] follows from its [`Start`], its [`Call`]s and what its
//! transport answers, and from nothing else. Its packets are those of
//! `samples/wires/boxes.wire`.
//!
//! What it does where the manner of the Bitsquid engine leaves a choice:
//!
//! - A node's word counts at the node itself at once: an object lives at its creator from the call
//!   on, and HOST believes in a new owner when it gives the order.
//! - An UPDATE carries *every* field whose newest value is not acked, also those under way, and is
//!   sent when one is neither acked nor under way. A receiver ignores an UPDATE older than one it
//!   has taken, yet acks its packet; so the newer one must not lack what the older one had.
//! - A packet that cannot be read as a whole, or whose reliable messages are too far ahead of the
//!   stream, is not acked. Whatever is acked was taken.
//! - HOST alone says who is in the session. The others judge nobody but HOST: a link between two
//!   of them may be silent for ever. HOST says `leave` in the name of a peer that it drops, and to
//!   that peer itself if it speaks again.
//! - The modes with a migration counter ([`Mode::counts`]) hold also when a peer dies with something
//!   half told: HOST says again what the peer had destroyed, and whoever holds an object of a dead
//!   peer of which no new owner speaks asks HOST for it; what HOST has never heard of and can never
//!   hear of ends. Where a MIGRATE creates, HOST's next one brings what the peer had not told of; in
//!   mode `queue` HOST creates all objects of the peer anew, at a raised counter, before the others
//!   hear that it left. In mode `order` nothing is half told: HOST has it and passes it on, or nobody
//!   has it.
//! - A DESTROY that crosses a MIGRATE is old, and the object lives on with the new owner, who tells
//!   everybody all of it; where a MIGRATE has no state (`queue`, `order`) HOST ends the object instead.
//! - In mode `handshake` HOST takes an object over at once: its MIGRATE and its UPDATEs go to each peer
//!   on one link. Whoever gets an object from HOST waits for the others; those that die meanwhile
//!   are waited for no longer, and if it dies itself, HOST gives the object to another.
//! - In client-server, what a client says by reliable RPC goes to everybody: a message has no
//!   addressee. A client's call to one peer is refused.
//! - The ids of a creator come in runs of 40, so that they stay short and never meet.

mod bits;
mod call;
mod event;
mod fault;
mod game;
mod layer;
mod link;
mod message;
mod mode;
mod object;
mod packet;
mod sequence;
mod start;
mod state;
mod stream;
mod told;
mod travels;
mod types;
mod world;

pub use bits::Malformed;
pub use call::Call;
pub use event::{EndReason, Event, IgnoreReason, ObjectMessage, Refusal};
pub use fault::Fault;
pub use game::{
    ARENA, Beliefs, Believing, Boxes, Deed, Demonstration, Doing, Game, Hands, Idle, News, Player,
    cube, free_link, link_end, play_tick,
};
pub use layer::{NetLayer, PROTOCOL_VERSION};
pub use message::{Argument, Body, Counter, Message, Migration, ObjectId, Peer, State, node_name};
pub use mode::{Mode, Topology};
pub use object::Object;
pub use packet::{PACKET_BYTES_MAX, PacketHeader, read_packet};
pub use start::{PeerStart, Start, StartError, Tuning};
pub use types::{BOXES, FieldKind, FieldType, ObjectType, Quantized, Types, TypesError, Value};
pub use world::{Script, SimNode, SimWorld, SimWorldStart, TableRow};
