//! How the reels of a play-through are read.

use std::sync::Arc;

use netreel_system::Cancel;
use netreel_wire::{Keys, Wire};

use super::parallel;
use crate::history::bounds::Bounds;

/// What may be said of how reels are read, before they are
/// ([`Session::builder`](super::Session::builder)).
///
/// ```no_run
/// # use netreel_protocol::session::{ReelInput, Session, SessionError};
/// # fn read(reels: Vec<ReelInput>, wire: std::sync::Arc<netreel_wire::Wire>) -> Result<(), SessionError> {
/// let session = Session::builder().wire(wire).workers(2).build(reels)?;
/// println!("{} packets", session.packet_count());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct SessionBuilder {
    pub(super) wire: Option<Arc<Wire>>,
    keys: Keys,
    workers: Option<usize>,
    pub(super) bounds: Bounds,
    pub(super) cancel: Cancel,
    pub(super) with_facts: bool,
}

impl SessionBuilder {
    /// Packets are read by this wire; without one, by the one inside the reels.
    pub fn wire(mut self, wire: impl Into<Option<Arc<Wire>>>) -> SessionBuilder {
        self.wire = wire.into();
        self
    }

    /// Keys for the wire's encrypted layers.
    pub fn keys(mut self, keys: Keys) -> SessionBuilder {
        self.keys = keys;
        self
    }

    /// How many processors work on it at most, which changes nothing in the answer; `None`: all that
    /// there are.
    pub fn workers(mut self, workers: impl Into<Option<usize>>) -> SessionBuilder {
        self.workers = workers.into();
        self
    }

    /// The numbers by which rules decide.
    pub fn bounds(mut self, bounds: Bounds) -> SessionBuilder {
        self.bounds = bounds;
        self
    }

    /// What is asked while the reels are read, while their packets are matched, and while these are put
    /// in order.
    pub fn cancel(mut self, cancel: &Cancel) -> SessionBuilder {
        self.cancel = cancel.clone();
        self
    }

    /// The wire is asked about packets while the reels are read, for who asks what it says of all of them:
    /// that spares reading the reels again. It changes nothing in the answer.
    pub fn with_facts(mut self) -> SessionBuilder {
        self.with_facts = true;
        self
    }

    /// What was given to [`cancel`](SessionBuilder::cancel).
    pub fn cancelled_by(&self) -> &Cancel {
        &self.cancel
    }

    pub(super) fn processors(&self) -> usize {
        self.workers.unwrap_or_else(parallel::processors)
    }

    pub(super) fn with_keys(&self, wire: Option<Arc<Wire>>) -> Option<Arc<Wire>> {
        if self.keys == Keys::default() {
            wire
        } else {
            wire.map(|wire| {
                let wire = Arc::unwrap_or_clone(wire);
                Arc::new(wire.with_keys(self.keys.clone()))
            })
        }
    }
}
