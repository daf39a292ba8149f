//! The messages of packets, numbered in their order.

use netreel_table::Column;

use crate::session::index::plain::indexed;

/// The numbers of the messages of packets.
#[derive(Default)]
pub(crate) struct Numbers {
    /// For each packet the number of its first message.
    pub first: Column,
    /// How many messages the packets have.
    pub messages: u32,
    /// The packets that do not fit the wire, in order.
    pub unfit: Vec<u32>,
    /// The messages that are fragments, in order.
    pub fragments: Column,
}

indexed!(Numbers: (messages, unfit) first, fragments);
