//! What a walk along a node's events reads.

use std::sync::OnceLock;

use super::claims::is_whole;
use super::streams::Streams;
use super::wholes::Wholes;
use crate::session::Session;

/// What the packets of all nodes say together.
pub(super) struct Facts<'a> {
    pub session: &'a Session,
    pub streams: &'a Streams,
    pub wholes: &'a Wholes,
    begins: [OnceLock<Option<i64>>; 2],
}

impl<'a> Facts<'a> {
    pub fn new(session: &'a Session, streams: &'a Streams, wholes: &'a Wholes) -> Facts<'a> {
        Facts {
            session,
            streams,
            wholes,
            begins: Default::default(),
        }
    }

    /// The earliest place at which a stream begins whose sender has a whole reel: of those that are ordered,
    /// or of the others.
    pub fn usual_begin(&self, ordered: bool) -> Option<i64> {
        *self.begins[usize::from(ordered)].get_or_init(|| {
            let lines = self.streams.lines();
            let whole =
                lines.filter(|(it, _)| it.ordered == ordered && is_whole(self.session, it.from));
            whole.filter_map(|(_, line)| line.start()).min()
        })
    }
}
