//! One transport for a library that takes its socket, its clock and its seed apart.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use netreel_reel::{Believed, Endpoint, Time};

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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(Arc::clone(&self.0))
    }
}

impl<T: Transport> Transport for Shared<T> {
    fn now(&mut self) -> Time {
        self.lock().now()
    }

    fn random(&mut self) -> u64 {
        self.lock().random()
    }

    fn send(&mut self, to: Endpoint, packet: &[u8]) -> Result<(), SendError> {
        self.lock().send(to, packet)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        self.lock().receive(buffer)
    }

    fn tick(&mut self, tick: u64, time: Time) {
        self.lock().tick(tick, time);
    }

    fn input(&mut self, call: &[u8]) {
        self.lock().input(call);
    }

    fn note(&mut self, text: &str) {
        self.lock().note(text);
    }

    fn believes(&mut self, object: u64, believed: Believed<'_>) {
        self.lock().believes(object, believed);
    }

    fn believes_value(&mut self, object: u64, property: &str, numbers: &[f64]) {
        self.lock().believes_value(object, property, numbers);
    }

    fn offer_state(&mut self, save: &mut dyn FnMut() -> Option<Vec<u8>>) {
        self.lock().offer_state(save);
    }
}
