//! What one migration costs: four nodes, 50 ms from each to each, nothing lost.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use netreel_sample_engine::{
    BOXES, Body, Call, Mode, ObjectId, Peer, Script, SimWorld, SimWorldStart, Topology, Types,
    Value, read_packet,
};
use netreel_transport::{Datagram, Faults, ReceiveError, SendError, SimTransport, Time, Transport};

pub const A: Peer = Peer(1);
pub const B: Peer = Peer(2);
pub const X: Peer = Peer(3);
/// A's first object.
pub const OBJECT: ObjectId = ObjectId(40);
const COLOR: u8 = 2;
/// A second of ticks.
pub const SECOND: u64 = 60;

/// What a migration of a box from A to B costs, beyond what the same seconds cost without it.
#[derive(Default)]
pub struct Cost {
    /// Reliable messages that were sent.
    pub messages: u64,
    /// Payload of UDP packets.
    pub bytes: i64,
    /// When B takes the box for its own. Ticks after HOST's order, as all times here.
    pub owned_after: u64,
    /// When X has the value that B sets as soon as it owns the box.
    pub seen_after: u64,
    /// In how many ticks no node takes it for its own.
    pub without_owner: u64,
    /// In how many ticks two nodes do.
    pub two_owners: u64,
}

/// What all nodes have sent.
#[derive(Default)]
struct Sent {
    messages: Cell<u64>,
    bytes: Cell<i64>,
}

/// Plays the migration, and the same seconds without it.
pub fn of_migration(mode: Mode) -> Cost {
    let mut cost = played(mode, true);
    let without = played(mode, false);
    cost.messages -= without.messages;
    cost.bytes -= without.bytes;
    cost
}

fn played(mode: Mode, migrates: bool) -> Cost {
    let mut start = SimWorldStart::new(1, mode, Topology::PeerToPeer, Script::Idle);
    start.latency = Duration::from_millis(50);
    let sent = Rc::new(Sent::default());
    let counted = Rc::clone(&sent);
    let mut world = SimWorld::wrapped(&start, move |_, inner| {
        let types = Types::parse(BOXES).expect("the declaration of the game");
        Box::new(Counting {
            inner,
            types,
            sent: Rc::clone(&counted),
        })
    })
    .expect("good conditions");
    world.run(SECOND);
    world.call(A, &spawn());
    world.run(SECOND);
    sent.messages.set(0);
    sent.bytes.set(0);
    if migrates {
        let (object, to) = (OBJECT, B);
        world.call(Peer::HOST, &Call::Migrate { object, to });
    }
    let owner = if migrates { B } else { A };
    let mut cost = Cost::default();
    let (mut is_set, mut is_seen) = (false, false);
    for tick in 0..3 * SECOND {
        let owners = [Peer::HOST, A, B, X].into_iter();
        match owners.filter(|&peer| owns(&world, peer)).count() {
            0 => cost.without_owner += 1,
            1 => {}
            _ => cost.two_owners += 1,
        }
        if !is_set && owns(&world, owner) {
            is_set = true;
            cost.owned_after = tick;
            paint(&mut world, owner, 99);
        }
        let known = world.table(X);
        let color = known
            .get(&OBJECT)
            .and_then(|it| it.state.values.get(usize::from(COLOR)));
        if !is_seen && color == Some(&Value::Integer(99)) {
            is_seen = true;
            cost.seen_after = tick;
        }
        world.step();
    }
    assert!(is_seen, "{mode}: X never had it");
    cost.messages = sent.messages.get();
    cost.bytes = sent.bytes.get();
    cost
}

/// Whether a peer believes that the box is its own.
pub fn owns(world: &SimWorld, peer: Peer) -> bool {
    let table = world.table(peer);
    table.get(&OBJECT).is_some_and(|it| it.owner == peer)
}

/// Its owner gives the box another color.
pub fn paint(world: &mut SimWorld, owner: Peer, color: i64) {
    let (object, field, value) = (OBJECT, COLOR, Value::Integer(color));
    let set = Call::Set {
        object,
        field,
        value,
    };
    world.call(owner, &set);
}

/// A box.
pub fn spawn() -> Call {
    Call::Spawn {
        kind: 0,
        values: vec![
            Value::Vector(vec![1.0, 2.0, 3.0]),
            Value::Number(0.0),
            Value::Integer(5),
            Value::Integer(0),
            Value::Number(1.0),
        ],
    }
}

/// A transport that counts what is sent.
struct Counting {
    inner: Faults<SimTransport>,
    types: Types,
    sent: Rc<Sent>,
}

impl Transport for Counting {
    fn now(&mut self) -> Time {
        self.inner.now()
    }

    fn random(&mut self) -> u64 {
        self.inner.random()
    }

    fn send(&mut self, to: std::net::SocketAddr, packet: &[u8]) -> Result<(), SendError> {
        let (_, messages) = read_packet(&self.types, packet).expect("the layer's own packet");
        let told = messages
            .iter()
            .filter(|it| it.reliable.is_some() && !matches!(it.body, Body::Connect { .. }));
        let sent = &self.sent;
        sent.messages.set(sent.messages.get() + told.count() as u64);
        sent.bytes.set(sent.bytes.get() + packet.len() as i64);
        self.inner.send(to, packet)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        self.inner.receive(buffer)
    }

    fn tick(&mut self, tick: u64, time: Time) {
        self.inner.tick(tick, time);
    }

    fn input(&mut self, call: &[u8]) {
        self.inner.input(call);
    }

    fn note(&mut self, text: &str) {
        self.inner.note(text);
    }
}
