//! What a walk along a node's events reads.

use super::streams::Streams;
use super::wholes::Wholes;
use crate::session::Session;

/// What the packets of all nodes say together.
pub(super) struct Facts<'a> {
    pub session: &'a Session,
    pub streams: &'a Streams,
    pub wholes: &'a Wholes,
}
