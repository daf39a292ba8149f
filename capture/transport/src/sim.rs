//! A seeded world in virtual time: every node of a session in one process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use netreel_reel::{Duration, Endpoint, Time};
use netreel_system::locked;

use crate::draw::mix;
use crate::{Datagram, Draw, LinkEnd, LinkFaults, ReceiveError, SendError, Transport};

/// The network of a simulated world, and its clock. Clones are the same world.
///
/// Nothing happens by itself: time stands still until [`advance`](SimNet::advance). Everything
/// that happens follows from the seed and the order of calls.
#[derive(Clone, Debug)]
pub struct SimNet {
    world: Arc<Mutex<World>>,
}

/// One node's socket, clock and randomness in a [`SimNet`].
#[derive(Debug)]
pub struct SimTransport {
    world: Arc<Mutex<World>>,
    local: Endpoint,
    draw: Draw,
}

/// Reads the clock of a [`SimNet`] from outside of it.
#[derive(Clone, Debug)]
pub struct SimClock {
    world: Arc<Mutex<World>>,
    /// Whose it is; `None`: the world's own.
    of: Option<Endpoint>,
}

#[derive(Debug, Default)]
struct World {
    seed: u64,
    now: Time,
    /// How far the machines' clocks are ahead.
    ahead: BTreeMap<Endpoint, Duration>,
    ends: BTreeMap<Endpoint, LinkEnd>,
    default_link: LinkFaults,
    links: BTreeMap<(Endpoint, Endpoint), LinkFaults>,
    counts: BTreeMap<(Endpoint, Endpoint), u64>,
    last: BTreeMap<(Endpoint, Endpoint), Time>,
    /// Packets under way, by receiver, arrival, and order of sending.
    flying: BTreeMap<(Endpoint, Time, u64), (Endpoint, Vec<u8>)>,
    sent: u64,
}

impl SimNet {
    /// An empty world at time zero, whose links take `latency`.
    pub fn new(seed: u64, latency: Duration) -> SimNet {
        SimNet {
            world: Arc::new(Mutex::new(World {
                seed,
                default_link: LinkFaults::delayed(latency),
                ..World::default()
            })),
        }
    }

    /// Sets what one directed link is like.
    pub fn set_link(&self, from: Endpoint, to: Endpoint, faults: LinkFaults) {
        self.world(|world| world.links.insert((from, to), faults));
    }

    /// Opens a socket on `local`. Its randomness follows from the world's seed and the endpoint.
    pub fn join(&self, local: Endpoint) -> SimTransport {
        self.join_offset(local, Duration::ZERO)
    }

    /// The same, on a machine whose clock is ahead of the world's by `clock_offset`.
    pub fn join_offset(&self, local: Endpoint, clock_offset: Duration) -> SimTransport {
        let seed = self.world(|world| {
            let next = LinkEnd(u16::try_from(world.ends.len()).unwrap_or(u16::MAX));
            world.ends.entry(local).or_insert(next);
            world.ahead.insert(local, clock_offset);
            world.seed
        });
        let draw = Draw::named(seed, &local.to_string());
        SimTransport {
            world: Arc::clone(&self.world),
            local,
            draw,
        }
    }

    /// Sets the clock of the machine that has the socket on `local` forward.
    pub fn set_clock(&self, local: Endpoint, by: Duration) {
        self.world(|world| {
            let ahead = world.ahead.entry(local).or_default();
            *ahead += by;
        });
    }

    /// The world's time.
    pub fn now(&self) -> Time {
        self.world(|world| world.now)
    }

    /// Lets time pass.
    pub fn advance(&self, length: Duration) {
        self.world(|world| world.now = world.now + length);
    }

    /// How many packets are under way or wait to be taken.
    pub fn flying(&self) -> usize {
        self.world(|world| world.flying.len())
    }

    /// A clock that shows the world's time.
    pub fn clock(&self) -> SimClock {
        SimClock {
            world: Arc::clone(&self.world),
            of: None,
        }
    }

    fn world<R>(&self, action: impl FnOnce(&mut World) -> R) -> R {
        action(&mut locked(&self.world))
    }
}

impl SimClock {
    /// The time.
    pub fn now(&self) -> Time {
        let world = locked(&self.world);
        let ahead = self.of.and_then(|of| world.ahead.get(&of));
        world.now + ahead.copied().unwrap_or_default()
    }
}

impl SimTransport {
    /// The socket's address.
    pub fn local(&self) -> Endpoint {
        self.local
    }

    /// This node's clock, as a recorder reads it.
    pub fn clock(&self) -> SimClock {
        SimClock {
            world: Arc::clone(&self.world),
            of: Some(self.local),
        }
    }

    fn world<R>(&self, action: impl FnOnce(&mut World) -> R) -> R {
        action(&mut locked(&self.world))
    }
}

impl Transport for SimTransport {
    fn now(&mut self) -> Time {
        self.clock().now()
    }

    fn random(&mut self) -> u64 {
        self.draw.bits()
    }

    fn send(&mut self, to: Endpoint, packet: &[u8]) -> Result<(), SendError> {
        let from = self.local;
        self.world(|world| world.send(from, to, packet));
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        let local = self.local;
        Ok(self.world(|world| world.take(local)).map(|(from, packet)| {
            let length = packet.len().min(buffer.len());
            buffer[..length].copy_from_slice(&packet[..length]);
            Datagram { from, length }
        }))
    }

    fn tick(&mut self, _tick: u64, _time: Time) {}

    fn input(&mut self, _call: &[u8]) {}

    fn note(&mut self, _text: &str) {}
}

impl World {
    fn send(&mut self, from: Endpoint, to: Endpoint, packet: &[u8]) {
        let (Some(&from_end), Some(&to_end)) = (self.ends.get(&from), self.ends.get(&to)) else {
            return; // as on a real network, nobody is told
        };
        let n = self.counts.entry((from, to)).or_insert(0);
        let faults = self.links.get(&(from, to)).unwrap_or(&self.default_link);
        let verdict = faults.verdict(mix(&[self.seed, 2]), (from_end, to_end), (*n, packet.len()));
        *n += 1;
        if verdict.lost {
            return;
        }
        let last = self.last.entry((from, to)).or_default();
        let (due, copy) = verdict.arrivals(self.now, last);
        for (due, number) in [Some(due), copy].into_iter().zip(self.sent..) {
            let Some(due) = due else { continue };
            let packet = (from, packet.to_vec());
            self.flying.insert((to, due, number), packet);
        }
        self.sent += 2;
    }

    fn take(&mut self, local: Endpoint) -> Option<(Endpoint, Vec<u8>)> {
        let range = (local, Time::ZERO, 0)..=(local, self.now, u64::MAX);
        let key = *self.flying.range(range).next()?.0;
        self.flying.remove(&key)
    }
}
