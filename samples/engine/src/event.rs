//! What the layer tells the game.

use std::net::SocketAddr;

use crate::bits::Malformed;
use crate::message::{Argument, ObjectId, Peer};

/// Something that happened at this node.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The peer has said its name; in client-server perhaps through the server.
    Joined {
        /// Who.
        peer: Peer,
        /// Its name.
        name: String,
    },
    /// The peer has left, or HOST has dropped it.
    Left {
        /// Who.
        peer: Peer,
    },
    /// The session is over for this node. No further call does anything.
    SessionEnded {
        /// Why.
        because: EndReason,
    },
    /// An object came to life here, by a peer's CREATE.
    Created {
        /// Which.
        object: ObjectId,
        /// Its owner.
        owner: Peer,
    },
    /// Fields changed by a peer's UPDATE.
    Updated {
        /// Of which object.
        object: ObjectId,
    },
    /// A peer destroyed an object.
    Destroyed {
        /// Which.
        object: ObjectId,
    },
    /// An object has a new owner.
    Migrated {
        /// Which.
        object: ObjectId,
        /// Who owns it now.
        owner: Peer,
        /// Whether it came to life here by this.
        created: bool,
    },
    /// A message about an object did nothing.
    Ignored {
        /// What kind of message.
        message: ObjectMessage,
        /// About which object.
        object: ObjectId,
        /// Why.
        because: IgnoreReason,
    },
    /// HOST alone: a peer asks to own an object, which HOST may not have heard of yet.
    Requested {
        /// Which.
        object: ObjectId,
        /// Who asks.
        by: Peer,
    },
    /// A peer called a procedure.
    Called {
        /// Who.
        from: Peer,
        /// The procedure.
        name: String,
        /// Its arguments.
        arguments: Vec<Argument>,
    },
    /// An unreliable call has reached its peer.
    Arrived {
        /// Which peer.
        to: Peer,
        /// Unreliable calls are numbered from 0.
        ticket: u64,
    },
    /// An unreliable call was judged lost.
    Lost {
        /// Which peer did not get it.
        to: Peer,
        /// Unreliable calls are numbered from 0.
        ticket: u64,
    },
    /// A call of the game did nothing.
    Refused {
        /// Why.
        because: Refusal,
    },
    /// A packet could not be read or does not belong here, and was dropped.
    BadPacket {
        /// Where it came from.
        from: SocketAddr,
        /// What was wrong with it.
        malformed: Malformed,
    },
}

/// Why a session ended for a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// HOST said that it leaves.
    HostLeft,
    /// HOST was silent for too long.
    HostSilent,
    /// HOST has dropped this node for its silence.
    Dropped,
    /// The node itself left.
    OwnLeave,
}

/// A kind of message about an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // named as in the wire
pub enum ObjectMessage {
    Create,
    Update,
    Destroy,
    Migrate,
    Order,
}

/// Why a message about an object did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreReason {
    /// The object does not exist here.
    Unknown,
    /// The migration counter is lower than what was heard, or the same after DESTROY.
    Stale,
    /// The sender is not the believed owner.
    NotOwner,
    /// A newer UPDATE of the same sender was taken before.
    OutOfOrder,
    /// It does not fit the object, or lacks what this mode needs.
    Unfit,
    /// It does nothing yet: it waits for what must come before it (mode `queue`).
    Early,
}

/// Why a call did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The session is over.
    Ended,
    /// The object does not exist here.
    Unknown,
    /// This node does not own the object.
    NotOwner,
    /// Only HOST may do that.
    NotHost,
    /// The type or a value does not fit the declaration.
    Unfit,
    /// The peer does not exist, has left, or is this node itself.
    NoPeer,
    /// In client-server, a client cannot call one peer: the server relays to everybody.
    OnlyToAll,
    /// The message takes more than 255 pieces, or an UPDATE of the object more than a packet.
    TooLarge,
}
