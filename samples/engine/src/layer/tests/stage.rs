//! A stage for tests: one real layer, its peers played by hand.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use netreel_transport::{Datagram, Layer, ReceiveError, SendError, Time, Transport};

use crate::bits::BitWriter;
use crate::call::Call;
use crate::event::Event;
use crate::layer::{NetLayer, PROTOCOL_VERSION};
use crate::message::{Body, Counter, Message, Migration, ObjectId, Peer, State};
use crate::mode::{Mode, Topology};
use crate::packet::{PacketHeader, read_packet, write_packet};
use crate::start::Start;
use crate::types::{BOXES, Types, Value};
use crate::world::{Script, SimWorldStart};

pub const HOST: Peer = Peer::HOST;
pub const A: Peer = Peer(1);
pub const B: Peer = Peer(2);
pub const X: Peer = Peer(3);
pub const OBJECT: ObjectId = ObjectId(42);

/// The place of a box's position and colour in the type.
pub const POSITION: usize = 0;
pub const COLOR: usize = 2;

/// One node's layer, and everybody else by hand.
pub struct Stage {
    pub layer: NetLayer,
    pub io: StageIo,
    hands: BTreeMap<Peer, HandPlayed>,
}

/// A peer played by hand.
#[derive(Default)]
struct HandPlayed {
    next_packet: u16,
    next_reliable: u16,
    /// What the layer has sent it, newest last: the sequence and the messages.
    heard: Vec<(u16, Vec<Message>)>,
}

/// A transport whose packets the test holds in hand.
#[derive(Default)]
pub struct StageIo {
    pub now_ns: u64,
    pub arriving: VecDeque<(SocketAddr, Vec<u8>)>,
    pub sent: Vec<(SocketAddr, Vec<u8>)>,
}

impl Stage {
    pub fn new(own: Peer, mode: Mode) -> Stage {
        Stage::with(own, mode, Topology::PeerToPeer, |_| {})
    }

    pub fn with(
        own: Peer,
        mode: Mode,
        topology: Topology,
        change: impl FnOnce(&mut Start),
    ) -> Stage {
        let world = SimWorldStart::new(0, mode, topology, Script::Idle);
        let mut start = world.start(own);
        change(&mut start);
        let layer = NetLayer::new(start).expect("start conditions that make sense");
        let mut stage = Stage {
            layer,
            io: StageIo::default(),
            hands: BTreeMap::new(),
        };
        let peers: Vec<Peer> = stage.layer.links.keys().copied().collect();
        for peer in peers {
            let name = format!("peer {}", peer.0);
            stage.say(
                peer,
                Body::Connect {
                    version: PROTOCOL_VERSION,
                    topology,
                    name,
                },
            );
        }
        stage.tick();
        stage.ack_all();
        stage.tick();
        stage.hands.values_mut().for_each(|hand| hand.heard.clear());
        stage
    }

    pub fn endpoint(&self, peer: Peer) -> SocketAddr {
        self.layer.start.peers[usize::from(peer.0)].endpoint
    }

    /// The peer sends a reliable message, in a packet of its own.
    pub fn say(&mut self, peer: Peer, body: Body) {
        self.pass_on(peer, peer, body);
    }

    /// The same of a message that `origin` said first.
    pub fn pass_on(&mut self, peer: Peer, origin: Peer, body: Body) {
        let hand = self.hands.entry(peer).or_default();
        let reliable = Some(hand.next_reliable);
        hand.next_reliable = hand.next_reliable.wrapping_add(1);
        self.packet(
            peer,
            &[Message {
                origin,
                reliable,
                body,
            }],
        );
    }

    /// The peer sends an unreliable message, in a packet of its own; the packet's sequence.
    pub fn mumble(&mut self, peer: Peer, body: Body) -> u16 {
        self.packet(
            peer,
            &[Message {
                origin: peer,
                reliable: None,
                body,
            }],
        )
    }

    pub fn packet(&mut self, peer: Peer, messages: &[Message]) -> u16 {
        let hand = self.hands.entry(peer).or_default();
        let sequence = hand.next_packet;
        hand.next_packet = hand.next_packet.wrapping_add(1);
        self.packet_at(peer, sequence, messages, None);
        sequence
    }

    /// The same with a sequence and acks of the test's choosing.
    pub fn packet_at(
        &mut self,
        peer: Peer,
        sequence: u16,
        messages: &[Message],
        ack: Option<(u16, u32)>,
    ) {
        let header = PacketHeader {
            mode: self.layer.start.mode,
            sender: peer,
            sequence,
            ack,
        };
        let bits: Vec<BitWriter> = messages
            .iter()
            .map(|message| {
                let mut bits = BitWriter::new();
                message.write(&self.layer.types, &mut bits);
                bits
            })
            .collect();
        let from = self.endpoint(peer);
        self.io
            .arriving
            .push_back((from, write_packet(&header, bits.iter())));
    }

    /// The peer acks one packet.
    pub fn ack(&mut self, peer: Peer, sequence: u16) {
        let hand = self.hands.entry(peer).or_default();
        let own = hand.next_packet;
        hand.next_packet = hand.next_packet.wrapping_add(1);
        self.packet_at(peer, own, &[], Some((sequence, 0)));
    }

    /// Every peer acks everything that it was sent so far.
    pub fn ack_all(&mut self) {
        let peers: Vec<Peer> = self.hands.keys().copied().collect();
        peers.into_iter().for_each(|peer| self.ack_from(peer));
    }

    /// One peer acks everything that it was sent so far.
    pub fn ack_from(&mut self, peer: Peer) {
        let heard: Option<Vec<u16>> = self
            .hands
            .get(&peer)
            .map(|hand| hand.heard.iter().map(|h| h.0).collect());
        for sequence in heard.unwrap_or_default() {
            self.ack(peer, sequence);
        }
    }

    /// One tick, a sixtieth of a second after the last; what the layer told the game.
    pub fn tick(&mut self) -> Vec<Event> {
        self.io.now_ns += 16_666_667;
        self.layer.tick(&mut self.io);
        for (to, bytes) in std::mem::take(&mut self.io.sent) {
            let (header, messages) =
                read_packet(&self.layer.types, &bytes).expect("the layer's packets can be read");
            let peer = self.layer.peer_of[&to];
            let hand = self.hands.entry(peer).or_default();
            hand.heard.push((header.sequence, messages));
        }
        std::iter::from_fn(|| self.layer.poll_event()).collect()
    }

    pub fn ticks(&mut self, count: usize) -> Vec<Event> {
        (0..count).flat_map(|_| self.tick()).collect()
    }

    pub fn call(&mut self, call: &Call) {
        let Stage { layer, io, .. } = self;
        layer
            .input(&call.encode(), io)
            .expect("a call that can be read");
    }

    /// What a peer has been sent since the last time: packet sequences and messages.
    pub fn heard(&mut self, peer: Peer) -> Vec<(u16, Message)> {
        let heard = self
            .hands
            .get_mut(&peer)
            .map(|hand| std::mem::take(&mut hand.heard));
        let flat = |(sequence, messages): (u16, Vec<Message>)| {
            messages.into_iter().map(move |message| (sequence, message))
        };
        heard
            .unwrap_or_default()
            .into_iter()
            .flat_map(flat)
            .collect()
    }

    /// The places of the fields of each UPDATE that a peer has been sent since the last time.
    pub fn updates(&mut self, peer: Peer) -> Vec<Vec<usize>> {
        let fields = |(_, message): (u16, Message)| match message.body {
            Body::Update { changes, .. } => {
                let there = changes
                    .iter()
                    .enumerate()
                    .filter(|(_, change)| change.is_some());
                Some(there.map(|(place, _)| place).collect())
            }
            _ => None,
        };
        self.heard(peer).into_iter().filter_map(fields).collect()
    }

    /// The layer under test spawns a box.
    pub fn spawn(&mut self) -> ObjectId {
        let object = self.layer.next_object();
        self.call(&Call::Spawn {
            kind: 0,
            values: cube(7).values,
        });
        object
    }

    pub fn set(&mut self, object: ObjectId, field: usize, value: Value) {
        self.call(&Call::Set {
            object,
            field: field as u8,
            value,
        });
    }

    /// The owner and colour of the object, if it lives.
    pub fn belief(&self) -> Option<(Peer, i64)> {
        self.layer.object(OBJECT).map(|object| {
            let Value::Integer(color) = object.state.values[COLOR] else {
                panic!("a colour")
            };
            (object.owner, color)
        })
    }
}

/// A box of some colour.
pub fn cube(color: i64) -> State {
    let values = vec![
        Value::Vector(vec![0.0, 0.0, 0.0]),
        Value::Number(0.0),
        Value::Integer(color),
        Value::Integer(0),
        Value::Number(12.5),
    ];
    let types = Types::parse(BOXES).expect("the declaration of the game");
    let settled = types
        .get(0)
        .and_then(|object_type| object_type.settle(&values));
    State {
        kind: 0,
        values: settled.expect("values that fit"),
    }
}

/// CREATE by `owner`, at this counter (mode `owner`) or none.
pub fn create(owner: Peer, counter: Option<u64>) -> Body {
    Body::Create {
        object: OBJECT,
        counter: counter.map(Counter),
        owner,
        state: cube(1),
    }
}

/// UPDATE of the colour.
pub fn update(counter: Option<u64>, color: i64) -> Body {
    let mut changes = vec![None; 5];
    changes[COLOR] = Some(Value::Integer(color));
    Body::Update {
        object: OBJECT,
        counter: counter.map(Counter),
        kind: 0,
        changes,
    }
}

/// DESTROY.
pub fn destroy(counter: Option<u64>) -> Body {
    Body::Destroy {
        object: OBJECT,
        counter: counter.map(Counter),
    }
}

/// MIGRATE, with everything where there is a counter.
pub fn migrate(new_owner: Peer, counter: Option<u64>) -> Body {
    Body::Migrate(migration(new_owner, counter))
}

/// HOST's word of a new owner, in modes `queue` and `order`.
pub fn assign(new_owner: Peer, counter: u64) -> Body {
    Body::Assign {
        object: OBJECT,
        new_owner,
        counter: Counter(counter),
    }
}

/// What MIGRATE and an order say.
pub fn migration(new_owner: Peer, counter: Option<u64>) -> Migration {
    let full = counter.map(|counter| (Counter(counter), cube(1)));
    Migration {
        object: OBJECT,
        new_owner,
        full,
    }
}

impl Transport for StageIo {
    fn now(&mut self) -> Time {
        Time(self.now_ns)
    }

    fn random(&mut self) -> u64 {
        4
    }

    fn send(&mut self, to: SocketAddr, packet: &[u8]) -> Result<(), SendError> {
        self.sent.push((to, packet.to_vec()));
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        Ok(self.arriving.pop_front().map(|(from, packet)| {
            let length = packet.len().min(buffer.len());
            buffer[..length].copy_from_slice(&packet[..length]);
            Datagram { from, length }
        }))
    }

    fn tick(&mut self, _tick: u64, _time: Time) {}

    fn input(&mut self, _call: &[u8]) {}

    fn note(&mut self, _text: &str) {}
}
