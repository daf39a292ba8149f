//! renet's core, recorded and replayed.
//!
//! What to take over: [`ServerPump`] and [`ClientPump`], the loop that renet leaves to its user.
//! They call `update(dt)`, `process_packet_from` and `get_packets_to_send` with what a `Transport`
//! says, so that a `Recorded<UdpTransport>` gives a reel and a replay gives the same packets again.
//! renet walks a hash map where it lists its clients: the pump takes them in the order of their
//! ids, or no two runs would send in the same order.

pub mod example;

use std::collections::BTreeMap;

use netreel_reel::{Duration, Endpoint, Time};
use netreel_transport::{Datagram, Transport};
use renet::{ClientId, RenetClient, RenetServer};

/// How much time went by on the transport's clock.
#[derive(Default)]
struct Clock(Option<Time>);

impl Clock {
    fn passed(&mut self, io: &mut dyn Transport) -> Duration {
        let now = io.now();
        now.since(self.0.replace(now).unwrap_or(now))
    }
}

/// The packets that have arrived.
fn arrived(io: &mut dyn Transport, mut take: impl FnMut(Endpoint, &[u8])) {
    let mut buffer = [0; 2048];
    while let Ok(Some(Datagram { from, length })) = io.receive(&mut buffer) {
        take(from, &buffer[..length]);
    }
}

/// What lies between a [`RenetServer`] and the world. Whoever sends a packet is a client.
#[derive(Default)]
pub struct ServerPump {
    clock: Clock,
    clients: BTreeMap<ClientId, Endpoint>,
    known: BTreeMap<Endpoint, ClientId>,
}

impl ServerPump {
    /// The clients, in the order of their ids.
    pub fn clients(&self) -> impl Iterator<Item = ClientId> {
        self.clients.keys().copied()
    }

    /// Lets time pass and hands over what has arrived.
    pub fn receive(&mut self, server: &mut RenetServer, io: &mut dyn Transport) {
        server.update(self.clock.passed(io));
        arrived(io, |from, packet| {
            let next = self.known.len() as ClientId;
            let id = *self.known.entry(from).or_insert(next);
            if self.clients.insert(id, from).is_none() {
                server.add_connection(id);
            }
            // The client is known: it was added above.
            let _ = server.process_packet_from(packet, id);
        });
    }

    /// Sends what is due.
    pub fn send(&mut self, server: &mut RenetServer, io: &mut dyn Transport) {
        for (id, to) in &self.clients {
            for packet in server.get_packets_to_send(*id).unwrap_or_default() {
                // A packet that the system refuses is one that is lost: renet sends it again.
                let _ = io.send(*to, &packet);
            }
        }
    }
}

/// What lies between a [`RenetClient`] and the world.
pub struct ClientPump {
    clock: Clock,
    server: Endpoint,
}

impl ClientPump {
    /// A client of `server`.
    pub fn new(server: Endpoint) -> ClientPump {
        let clock = Clock::default();
        ClientPump { clock, server }
    }

    /// Lets time pass and hands over what has arrived.
    pub fn receive(&mut self, client: &mut RenetClient, io: &mut dyn Transport) {
        client.update(self.clock.passed(io));
        arrived(io, |_, packet| client.process_packet(packet));
    }

    /// Sends what is due.
    pub fn send(&mut self, client: &mut RenetClient, io: &mut dyn Transport) {
        for packet in client.get_packets_to_send() {
            let _ = io.send(self.server, &packet);
        }
    }
}
