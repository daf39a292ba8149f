//! The layer follows from its start, its calls and its transport's answers, and from nothing else:
//! the ground on which a replay stands.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use netreel_sample_engine::{
    Mode, NetLayer, Peer, Script, SimWorld, SimWorldStart, Start, Topology,
};
use netreel_transport::{Datagram, Layer, LinkFaults, ReceiveError, SendError, Time, Transport};

/// What crossed the boundary, in order.
#[derive(Clone, Debug, PartialEq)]
enum Crossing {
    Now(Time),
    Random(u64),
    Sent(SocketAddr, Vec<u8>),
    Received(Option<(SocketAddr, Vec<u8>)>),
    Tick,
    Input(Vec<u8>),
}

/// Writes down what crosses.
struct Tape<T> {
    inner: T,
    tape: Arc<Mutex<Vec<Crossing>>>,
}

impl<T> Tape<T> {
    fn write(&self, crossing: Crossing) {
        self.tape.lock().expect("one thread").push(crossing);
    }
}

impl<T: Transport> Transport for Tape<T> {
    fn now(&mut self) -> Time {
        let now = self.inner.now();
        self.write(Crossing::Now(now));
        now
    }

    fn random(&mut self) -> u64 {
        let random = self.inner.random();
        self.write(Crossing::Random(random));
        random
    }

    fn send(&mut self, to: SocketAddr, packet: &[u8]) -> Result<(), SendError> {
        self.write(Crossing::Sent(to, packet.to_vec()));
        self.inner.send(to, packet)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        let datagram = self.inner.receive(buffer)?;
        let packet = datagram.map(|d| (d.from, buffer[..d.length].to_vec()));
        self.write(Crossing::Received(packet));
        Ok(datagram)
    }

    fn tick(&mut self, tick: u64, time: Time) {
        self.write(Crossing::Tick);
        self.inner.tick(tick, time);
    }

    fn input(&mut self, call: &[u8]) {
        self.write(Crossing::Input(call.to_vec()));
        self.inner.input(call);
    }

    fn note(&mut self, _text: &str) {}
}

/// Gives the answers of a tape, and writes a new one.
struct Again {
    old: VecDeque<Crossing>,
    new: Vec<Crossing>,
}

impl Transport for Again {
    fn now(&mut self) -> Time {
        let now = match self.old.pop_front() {
            Some(Crossing::Now(now)) => now,
            _ => Time::ZERO,
        };
        self.new.push(Crossing::Now(now));
        now
    }

    fn random(&mut self) -> u64 {
        let random = match self.old.pop_front() {
            Some(Crossing::Random(random)) => random,
            _ => 0,
        };
        self.new.push(Crossing::Random(random));
        random
    }

    fn send(&mut self, to: SocketAddr, packet: &[u8]) -> Result<(), SendError> {
        self.old.pop_front();
        self.new.push(Crossing::Sent(to, packet.to_vec()));
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        let packet = match self.old.pop_front() {
            Some(Crossing::Received(packet)) => packet,
            _ => None,
        };
        self.new.push(Crossing::Received(packet.clone()));
        Ok(packet.map(|(from, bytes)| {
            buffer[..bytes.len()].copy_from_slice(&bytes);
            Datagram {
                from,
                length: bytes.len(),
            }
        }))
    }

    fn tick(&mut self, _tick: u64, _time: Time) {}

    fn input(&mut self, _call: &[u8]) {}

    fn note(&mut self, _text: &str) {}
}

/// What one node of a session did, and its start conditions as a reel keeps them.
fn played(start: &SimWorldStart, node: Peer) -> (Vec<u8>, Vec<Crossing>) {
    let tape = Arc::new(Mutex::new(Vec::new()));
    let mut bytes = Vec::new();
    let mut world = SimWorld::wrapped(start, |of, faults| {
        if of.peer == node {
            bytes = of.start.clone();
            Box::new(Tape {
                inner: faults,
                tape: Arc::clone(&tape),
            })
        } else {
            Box::new(faults)
        }
    })
    .expect("good conditions");
    world.run(300);
    let crossings = tape.lock().expect("one thread").clone();
    (bytes, crossings)
}

/// What a new layer does with the same inputs; stops at the first difference.
fn again(start: Start, tape: &[Crossing]) -> Vec<Crossing> {
    let mut layer = NetLayer::new(start).expect("good conditions");
    let mut io = Again {
        old: tape.iter().cloned().collect(),
        new: Vec::new(),
    };
    while let Some(next) = io.old.pop_front() {
        match next {
            Crossing::Tick => {
                io.new.push(Crossing::Tick);
                layer.tick(&mut io);
            }
            Crossing::Input(call) => {
                io.new.push(Crossing::Input(call.clone()));
                layer.input(&call, &mut io).expect("a recorded call");
            }
            _ => break, // the layer left something undone that it did then
        }
        if io.new != tape[..io.new.len().min(tape.len())] {
            break;
        }
    }
    io.new
}

fn session(seed: u64, mode: Mode, topology: Topology) -> SimWorldStart {
    let mut start = SimWorldStart::new(seed, mode, topology, Script::Boxes { ticks: 200 });
    start.faults = LinkFaults {
        jitter: Duration::from_millis(30),
        loss: 0.1,
        duplicate: 0.1,
        reorder: 0.1,
        ..LinkFaults::default()
    };
    start
}

#[test]
fn the_same_inputs_lead_to_the_same_packets() {
    for seed in 0..4 {
        for mode in Mode::ALL {
            for topology in [Topology::PeerToPeer, Topology::ClientServer] {
                for node in [Peer(0), Peer(2)] {
                    let (start, tape) = played(&session(seed, mode, topology), node);
                    let start = Start::decode(&start).expect("what was encoded");
                    let same = again(start, &tape) == tape;
                    assert!(same, "seed {seed} {mode:?} {topology:?} {node:?}");
                }
            }
        }
    }
}

#[test]
fn another_constant_leads_to_other_packets() {
    let (start, tape) = played(&session(1, Mode::Owner, Topology::PeerToPeer), Peer(1));
    let mut start = Start::decode(&start).expect("what was encoded");
    start.tuning.resend_delay_ns += 50_000_000;
    let other = again(start, &tape);
    assert_ne!(other, tape);
    let same = other
        .iter()
        .zip(&tape)
        .take_while(|(new, old)| new == old)
        .count();
    assert!(same > 20, "the first {same} crossings are the same");
    assert!(
        matches!(tape[same], Crossing::Sent(..)),
        "a packet that is not sent again so soon"
    );
}
