//! The transport of a node that is played on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use netreel_reel::{Believed, Endpoint, EventNumber, SocketId, Time, say_numbers};
use netreel_transport::{Datagram, ReceiveError, SendError, Transport};

use super::world::World;

/// One node's socket, clock and randomness in a session that is played on.
#[derive(Clone)]
pub struct NodeIo {
    pub(super) world: Arc<Mutex<World>>,
    pub(super) node: usize,
}

impl NodeIo {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last tick that began, and the game's virtual time then.
    pub fn last_tick(&self) -> (u64, Time) {
        let world = self.world();
        world
            .lanes
            .get(self.node)
            .map_or((0, Time::ZERO), |lane| lane.tick)
    }

    /// The event of the tick, or the call of the game, that is played.
    pub fn turn(&self) -> EventNumber {
        let world = self.world();
        let lane = world.lanes.get(self.node);
        lane.map_or(EventNumber(0), |lane| lane.begun_by)
    }

    /// [`send`](Transport::send) of a layer with several sockets.
    pub fn send_on(
        &mut self,
        socket: SocketId,
        to: Endpoint,
        packet: &[u8],
    ) -> Result<(), SendError> {
        self.world().send(self.node, Some(socket), to, packet)
    }

    /// [`receive`](Transport::receive) of a layer with several sockets.
    pub fn receive_on(
        &mut self,
        socket: SocketId,
        buffer: &mut [u8],
    ) -> Result<Option<Datagram>, ReceiveError> {
        self.world().receive(self.node, Some(socket), buffer)
    }
}

impl Transport for NodeIo {
    fn now(&mut self) -> Time {
        self.world().now(self.node)
    }

    fn random(&mut self) -> u64 {
        self.world().random(self.node)
    }

    fn send(&mut self, to: Endpoint, packet: &[u8]) -> Result<(), SendError> {
        self.world().send(self.node, None, to, packet)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        self.world().receive(self.node, None, buffer)
    }

    /// Ticks are the recording's.
    fn tick(&mut self, _tick: u64, _time: Time) {}

    /// Calls of the game are the recording's.
    fn input(&mut self, _call: &[u8]) {}

    fn note(&mut self, text: &str) {
        self.world().note(self.node, text);
    }

    fn believes(&mut self, object: u64, believed: Believed<'_>) {
        self.world().believes(self.node, object, believed);
    }

    fn believes_value(&mut self, object: u64, property: &str, numbers: &[f64]) {
        let mut said = String::new();
        say_numbers(property, numbers, &mut said);
        let said = said.as_bytes();
        self.believes(object, Believed::Value { said });
    }
}
