//! One transport for a library that takes its socket, its clock and its seed apart.

use std::sync::{Arc, Mutex, MutexGuard};

use netreel_reel::{Believed, Endpoint, Time};
use netreel_system::locked;

use crate::transport::handed_on;
use crate::{Datagram, ReceiveError, SendError, Transport};

/// A transport with several owners; a clone reaches the same one. For a network library that keeps
/// its socket and its clock inside itself: each gets a clone, and the owner of the loop keeps one.
#[derive(Debug, Default)]
pub struct Shared<T>(Arc<Mutex<T>>);

impl<T> Shared<T> {
    /// Shares `transport`.
    pub fn new(transport: T) -> Shared<T> {
        Shared(Arc::new(Mutex::new(transport)))
    }

    /// The transport itself. While the guard lives, the other owners wait.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        locked(&self.0)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(Arc::clone(&self.0))
    }
}

impl<T: Transport> Transport for Shared<T> {
    handed_on! {
        self => self.lock();
        now random send receive tick input note believes believes_value offer_state
    }
}
