//! A packet as it is counted.

use netreel_wire::MessageFacts;

use crate::history::History;
use crate::session::{MessageId, Packet, PacketId, Session};
use crate::why::Resends;

/// What is asked of packets: the session, its history, and what resends were for.
pub(super) type Known<'a> = (&'a Session, &'a History, Option<&'a Resends<'a>>);

/// A packet, and its messages.
pub(super) struct Read<'a> {
    pub id: PacketId,
    pub packet: Packet,
    pub messages: &'a [(MessageId, MessageFacts)],
}
