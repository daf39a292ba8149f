//! The sample engine's game in a simulated world, for as long as it takes to send enough.
//!
//! All of it is played: no packet is a copy of another one, and sequence numbers, acks and objects go
//! on as in a long game. It is the engine that takes the time: a million packets took 7 s of a
//! processor with 4 nodes and 14 s with 16, once.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use netreel_reel::{Event, Header, SendOutcome, SocketId, Time};
use netreel_sample_engine::{Mode, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::{Datagram, Endpoint, LinkFaults, ReceiveError, SendError, Transport};

use crate::Made;
use crate::reels::{self, NodeReel};

const WIRE: &str = include_str!("../../../samples/wires/boxes.wire");
const SOCKET: SocketId = SocketId(0);

/// Plays until `packets` are sent, to the end of that tick; writes a reel a node.
pub fn make(nodes: u8, packets: u64, folder: &Path) -> Made {
    let script = Script::Boxes { ticks: u64::MAX };
    let mut start = SimWorldStart::new(1, Mode::Owner, Topology::PeerToPeer, script);
    start.nodes = nodes;
    start.faults = LinkFaults {
        loss: 0.02,
        duplicate: 0.01,
        ..LinkFaults::default()
    };
    let sent = Rc::new(Cell::new(0));
    let mut recorded = Vec::new();
    let mut world = SimWorld::wrapped(&start, |node, faults| {
        let header = Header {
            start: node.start.clone(),
            ..reels::header(&node.name, "boxes", "boxes", WIRE)
        };
        let reel = Rc::new(RefCell::new(NodeReel::create(folder, &header)));
        recorded.push(Rc::clone(&reel));
        Box::new(Tape::new(faults, node.local, reel, Rc::clone(&sent)))
    })
    .expect("good conditions");
    while sent.get() < packets {
        world.step();
    }
    drop(world);
    let events = recorded.into_iter().map(|reel| {
        let reel = Rc::into_inner(reel).expect("the world is gone");
        reel.into_inner().finish()
    });
    Made {
        packets: sent.get(),
        events: events.sum(),
    }
}

/// Writes down what `netreel_transport::Recorded` does, straight into a file: that one's recorders
/// hold the whole reel in memory, or have a thread of their own.
struct Tape<T> {
    inner: T,
    reel: Rc<RefCell<NodeReel>>,
    sent: Rc<Cell<u64>>,
    latest: Time,
}

impl<T: Transport> Tape<T> {
    fn new(
        mut inner: T,
        local: Endpoint,
        reel: Rc<RefCell<NodeReel>>,
        sent: Rc<Cell<u64>>,
    ) -> Tape<T> {
        let latest = inner.now();
        let socket = SOCKET;
        reel.borrow_mut()
            .push(latest, Event::SocketOpened { socket, local });
        Tape {
            inner,
            reel,
            sent,
            latest,
        }
    }

    fn record(&mut self, event: Event<'_>) {
        self.latest = self.inner.now();
        self.reel.borrow_mut().push(self.latest, event);
    }
}

impl<T: Transport> Transport for Tape<T> {
    fn now(&mut self) -> Time {
        let value = self.inner.now();
        self.latest = value;
        self.reel.borrow_mut().push(value, Event::Clock { value });
        value
    }

    fn random(&mut self) -> u64 {
        let value = self.inner.random();
        self.record(Event::Random { value });
        value
    }

    fn send(&mut self, to: Endpoint, payload: &[u8]) -> Result<(), SendError> {
        let socket = SOCKET;
        self.latest = self.inner.now();
        let mut reel = self.reel.borrow_mut();
        let sent = Event::Sent {
            socket,
            to,
            payload,
        };
        let of = reel.push(self.latest, sent);
        let result = self.inner.send(to, payload);
        let outcome = match result {
            Ok(()) => SendOutcome::Sent,
            Err(SendError::Short(taken)) => SendOutcome::Short(taken),
            Err(SendError::Os(code)) => SendOutcome::Failed(code),
        };
        reel.push(self.latest, Event::SendResult { of, outcome });
        self.sent.set(self.sent.get() + 1);
        result
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        let result = self.inner.receive(buffer);
        let socket = SOCKET;
        match &result {
            Ok(Some(Datagram { from, length })) => {
                let payload = buffer.get(..*length).unwrap_or(buffer);
                self.record(Event::Received {
                    socket,
                    from: *from,
                    payload,
                });
            }
            Ok(None) => {
                let mut reel = self.reel.borrow_mut();
                reel.push(self.latest, Event::PollEmpty { socket });
            }
            Err(ReceiveError(code)) => {
                let code = *code;
                self.record(Event::ReceiveFailed { socket, code });
            }
        }
        result
    }

    fn tick(&mut self, tick: u64, time: Time) {
        self.inner.tick(tick, time);
        self.record(Event::Tick { tick, time });
    }

    fn input(&mut self, call: &[u8]) {
        self.inner.input(call);
        self.record(Event::Input { call });
    }

    fn note(&mut self, text: &str) {
        self.inner.note(text);
        self.record(Event::Note {
            text: text.as_bytes(),
        });
    }
}

impl<T> Drop for Tape<T> {
    fn drop(&mut self) {
        let socket = SOCKET;
        let closed = Event::SocketClosed { socket };
        self.reel.borrow_mut().push(self.latest, closed);
    }
}
