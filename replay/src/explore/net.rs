//! The network of a run, and what layers are answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use netreel_reel::{
    Believed, Duration, Endpoint, Event, EventNumber, Record, SendOutcome, SocketId, ThreadId, Time,
};
use netreel_transport::{Datagram, Draw, ReceiveError, SendError, Shared, Transport};

use super::change::{Change, Moment, fate, late};
use super::cut::{Cut, PacketId};
use super::ground::{Ground, Natural, number_of, ticks_back};
use super::tables::number as packet_number;
use crate::node_transport::node_transport;
use crate::together::Sink;

/// How a note of a layer begins that says that one of its invariants does not hold.
pub const BROKEN: &str = "broken:";

/// A packet that a layer was given.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub node: usize,
    pub from: usize,
    /// When it was there.
    pub at: Moment,
    /// When it would have been without changes.
    pub natural: Moment,
    /// `None` where no layer sent it.
    pub sent: Option<PacketId>,
    /// A number for the packet, the same in every run.
    pub key: u64,
    pub payload: Arc<[u8]>,
}

impl Delivery {
    /// Whether the same came at the same time from the same node.
    pub fn is_like(&self, other: &Delivery) -> bool {
        let key = |it: &Delivery| (it.node, it.from, it.at);
        key(self) == key(other) && self.payload == other.payload
    }
}

/// A layer said that something in it is broken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Broken {
    /// The node, by its place.
    pub node: usize,
    /// On the session's clock, in nanoseconds.
    pub at_ns: i64,
    /// The layer's words.
    pub words: String,
}

/// What changes from turn to turn: kept, and taken up again.
#[derive(Clone, Debug)]
pub(super) struct NetState {
    pub nodes: Vec<NodeState>,
    sent: u64,
}

#[derive(Clone, Debug)]
pub(super) struct NodeState {
    pub turn: u32,
    clocks: usize,
    randoms: usize,
    draw: Draw,
    inbox: BTreeMap<(Moment, u64), Item>,
    unsent: usize,
    /// How many packets of this turn went out by a socket to a destination.
    sends: Vec<((SocketId, Endpoint), u32)>,
    /// When the last packet that left late is at whom: what leaves behind it does not overtake it.
    late: Vec<(usize, Moment)>,
    /// What the game and the layer said that they believe: the owner, and a number for each property.
    pub beliefs: BTreeMap<u64, (Option<u64>, BTreeMap<u64, u64>)>,
    /// Whether they ever said so: who then believes in nothing says that too.
    pub says_beliefs: bool,
    /// What the clock said last.
    clock: Time,
    written: u64,
    now: Time,
}

#[derive(Clone, Debug)]
struct Item {
    from: usize,
    natural: Moment,
    sent: Option<PacketId>,
    key: u64,
    socket: SocketId,
    source: Endpoint,
    payload: Arc<[u8]>,
}

pub(super) struct Net {
    pub ground: Arc<Ground>,
    pub changes: Vec<Change>,
    pub state: NetState,
    pub trace: Vec<Delivery>,
    pub broken: Vec<Broken>,
    pub sink: Option<Box<dyn Sink>>,
    /// What is not played; `None`: all is.
    pub cut: Option<Arc<Cut>>,
    naturals: Vec<Natural>,
}

/// One node's sockets, clock and randomness in a run. The network takes everything that is sent, and no
/// receive fails.
#[derive(Clone)]
pub struct NodeSocket {
    pub(super) net: Shared<Net>,
    pub(super) node: usize,
}

impl NetState {
    pub fn new(ground: &Ground) -> NetState {
        let nodes = ground.nodes.iter().map(|node| NodeState {
            turn: 0,
            clocks: 0,
            randoms: 0,
            draw: Draw::named(1, &node.name),
            inbox: BTreeMap::new(),
            unsent: 0,
            sends: Vec::new(),
            late: Vec::new(),
            beliefs: BTreeMap::new(),
            says_beliefs: false,
            clock: Time::ZERO,
            written: 0,
            now: Time::ZERO,
        });
        NetState {
            nodes: nodes.collect(),
            sent: 0,
        }
    }

    /// Gives all that is under way without changes the fate that it has under these.
    pub fn changed(mut self, changes: &[Change]) -> NetState {
        for (place, node) in self.nodes.iter_mut().enumerate() {
            if !changes.iter().any(|it| it.moves_at() == Some(place)) {
                continue;
            }
            for ((_, number), item) in std::mem::take(&mut node.inbox) {
                put(node, changes, (place, number), item);
            }
        }
        self
    }
}

impl Net {
    pub fn new(ground: Arc<Ground>) -> Net {
        Net {
            state: NetState::new(&ground),
            cut: None,
            ground,
            changes: Vec::new(),
            trace: Vec::new(),
            broken: Vec::new(),
            sink: None,
            naturals: Vec::new(),
        }
    }

    /// Goes on from a state under these changes; nothing is delivered yet.
    pub fn go_on(&mut self, state: NetState, changes: &[Change]) {
        self.state = state;
        self.changes = changes.to_vec();
        self.trace.clear();
        self.broken.clear();
    }

    /// A node's turn begins.
    pub fn begin(&mut self, node: usize, turn: u32) {
        let ground = Arc::clone(&self.ground);
        let of = &ground.nodes[node];
        let it = &of.turns[turn as usize];
        let late = late(&self.changes, node, turn);
        let played = late.map_or(it, |(_, last)| &of.turns[last as usize]);
        let state = &mut self.state.nodes[node];
        state.turn = turn;
        state.clocks = it.clocks.start;
        state.sends.clear();
        let shift = self.shift_ns(node, turn);
        let state = &mut self.state.nodes[node];
        state.now = state.now.max(earlier(played.time, shift));
        if self.sink.is_some() {
            for record in &it.beside {
                self.write(node, record.as_record().event);
            }
        }
        let state = &mut self.state.nodes[node];
        while let Some(unsent) = of.unsent.get(state.unsent)
            && unsent.at.turn <= late.map_or(turn, |it| it.1)
        {
            let number = state.unsent as u64;
            state.unsent += 1;
            let item = Item {
                from: unsent.from,
                natural: unsent.at,
                sent: None,
                key: packet_number(&(node, number)),
                socket: unsent.socket,
                source: unsent.source,
                payload: Arc::clone(&unsent.payload),
            };
            put(state, &self.changes, (node, number), item);
        }
    }

    /// How much of the time before a turn is left out. ns.
    fn shift_ns(&self, node: usize, turn: u32) -> u64 {
        self.cut.as_ref().map_or(0, |cut| cut.shift_ns(node, turn))
    }

    /// Writes an event of a node, where somebody takes it.
    pub fn write(&mut self, node: usize, event: Event<'_>) -> EventNumber {
        let state = &mut self.state.nodes[node];
        let number = EventNumber(state.written);
        if let Some(sink) = &mut self.sink {
            state.written += 1;
            let record = Record {
                number,
                time: state.now,
                thread: ThreadId(0),
                event,
            };
            sink.write(node, &record);
        }
        number
    }

    fn now(&mut self, node: usize) -> Time {
        let of = &self.ground.nodes[node];
        let state = &mut self.state.nodes[node];
        let turn = &of.turns[state.turn as usize];
        let value = if turn.clocks.contains(&state.clocks) {
            state.clocks += 1;
            of.clocks[state.clocks - 1]
        } else {
            let said = of.clocks[turn.clocks.clone()].last();
            said.copied().unwrap_or(turn.clock)
        };
        let turn = state.turn;
        let shift = self.shift_ns(node, turn);
        let value = earlier(value, shift);
        let value = match late(&self.changes, node, turn) {
            // Reads of turns that are played at one time do not go back.
            Some((_, last)) => {
                let value = value + of_late(&self.ground, node, (turn, last));
                value.max(self.state.nodes[node].clock)
            }
            None => value,
        };
        self.state.nodes[node].clock = value;
        self.write(node, Event::Clock { value });
        value
    }

    fn random(&mut self, node: usize) -> u64 {
        let state = &mut self.state.nodes[node];
        let recorded = self.ground.nodes[node].randoms.get(state.randoms);
        state.randoms += 1;
        let value = recorded.copied().unwrap_or_else(|| state.draw.bits());
        self.write(node, Event::Random { value });
        value
    }

    /// # Errors
    /// None: the network takes everything.
    fn send(
        &mut self,
        node: usize,
        socket: Option<SocketId>,
        to: Endpoint,
        payload: &[u8],
    ) -> Result<(), SendError> {
        let ground = Arc::clone(&self.ground);
        let socket = socket.unwrap_or(ground.nodes[node].socket);
        let sent = Event::Sent {
            socket,
            to,
            payload,
        };
        let of = self.write(node, sent);
        let outcome = SendOutcome::Sent;
        self.write(node, Event::SendResult { of, outcome });
        // Where one node is played alone, nobody takes what it sends.
        if ground.alone().is_some() {
            return Ok(());
        }
        let state = &mut self.state.nodes[node];
        let (nth, turn) = (nth_of(&mut state.sends, (socket, to)), state.turn);
        let at_ns = ground.nodes[node].turns[turn as usize].at_ns;
        let mut naturals = std::mem::take(&mut self.naturals);
        let place = nth as usize;
        ground.natural((node, turn), (socket, to), (place, at_ns), &mut naturals);
        self.leave_late((node, turn), &mut naturals);
        let payload: Arc<[u8]> = payload.into();
        for (natural, arrival) in naturals.drain(..).zip(0..) {
            self.state.sent += 1;
            let packet = PacketId {
                from: node,
                turn,
                socket,
                to,
                nth,
                arrival,
            };
            // Who is not played takes nothing.
            let is_played = ground.nodes[natural.node].reel.is_some();
            if !is_played || self.cut.as_ref().is_some_and(|cut| cut.loses(&packet)) {
                continue;
            }
            // Behind what is not sent by a layer.
            let number = (1 << 40) | self.state.sent;
            let item = Item {
                from: node,
                natural: natural.at,
                sent: Some(packet),
                key: packet_number(&packet),
                socket: natural.socket,
                source: natural.source,
                payload: Arc::clone(&payload),
            };
            let state = &mut self.state.nodes[natural.node];
            put(state, &self.changes, (natural.node, number), item);
        }
        self.naturals = naturals;
        Ok(())
    }

    /// What a node sends in a turn that is late leaves late, takes as long as it did, and stays in order.
    fn leave_late(&mut self, (node, turn): (usize, u32), naturals: &mut Vec<Natural>) {
        let ground = Arc::clone(&self.ground);
        let last = late(&self.changes, node, turn).map(|it| it.1);
        let behind = &mut self.state.nodes[node].late;
        if last.is_none() && behind.is_empty() {
            return;
        }
        let turn_ns = |turn| ground.turn_ns(node, turn).unwrap_or_default();
        let late_ns = last.map(|last| turn_ns(last).saturating_sub(turn_ns(turn)));
        naturals.retain_mut(|natural| {
            if let Some(late_ns) = late_ns {
                let ns = natural.at.ns.saturating_add(late_ns);
                let Some(at) = ground.moment(natural.node, ns) else {
                    return false;
                };
                natural.at = at;
            }
            let before = behind.iter().position(|it| it.0 == natural.node);
            match before {
                Some(place) if natural.at <= behind[place].1 => {
                    natural.at = behind[place].1.behind(1);
                    behind[place].1 = natural.at;
                }
                Some(place) if late_ns.is_some() => behind[place].1 = natural.at,
                Some(place) => drop(behind.remove(place)),
                None if late_ns.is_some() => behind.push((natural.node, natural.at)),
                None => {}
            }
            true
        });
    }

    /// # Errors
    /// None: no receive fails.
    fn receive(
        &mut self,
        node: usize,
        socket: Option<SocketId>,
        buffer: &mut [u8],
    ) -> Result<Option<Datagram>, ReceiveError> {
        let state = &mut self.state.nodes[node];
        let last = Moment {
            turn: state.turn,
            ns: i64::MAX,
        };
        let mut there = state.inbox.range(..=(last, u64::MAX));
        let key = match socket {
            None => there.next().map(|it| *it.0),
            Some(socket) => there.find(|it| it.1.socket == socket).map(|it| *it.0),
        };
        let item = key.and_then(|key| Some((key, state.inbox.remove(&key)?)));
        let Some(((at, _), item)) = item else {
            let socket = socket.unwrap_or(self.ground.nodes[node].socket);
            self.write(node, Event::PollEmpty { socket });
            return Ok(None);
        };
        let length = item.payload.len().min(buffer.len());
        buffer[..length].copy_from_slice(&item.payload[..length]);
        let received = Event::Received {
            socket: item.socket,
            from: item.source,
            payload: &buffer[..length],
        };
        self.write(node, received);
        self.trace.push(Delivery {
            node,
            from: item.from,
            at,
            natural: item.natural,
            sent: item.sent,
            key: item.key,
            payload: item.payload,
        });
        let from = item.source;
        Ok(Some(Datagram { from, length }))
    }

    fn note(&mut self, node: usize, text: &str) {
        let said = text.as_bytes();
        self.write(node, Event::Note { text: said });
        if let Some(words) = text.strip_prefix(BROKEN) {
            let turn = self.state.nodes[node].turn;
            let turn = late(&self.changes, node, turn).map_or(turn, |it| it.1);
            self.broken.push(Broken {
                node,
                at_ns: self.ground.nodes[node].turns[turn as usize].at_ns,
                words: words.trim().to_owned(),
            });
        }
    }

    fn believes(&mut self, node: usize, object: u64, believed: Believed<'_>) {
        self.write(node, Event::Believed { object, believed });
        let state = &mut self.state.nodes[node];
        state.says_beliefs = true;
        let beliefs = &mut state.beliefs;
        match believed {
            Believed::Created { owner } => beliefs.entry(object).or_default().0 = owner,
            Believed::Destroyed => {
                beliefs.remove(&object);
            }
            Believed::Owner { owner } => beliefs.entry(object).or_default().0 = Some(owner),
            Believed::Value { said } => {
                let name = said.split(|byte| *byte == b' ').next().unwrap_or(said);
                let of = beliefs.entry(object).or_default();
                of.1.insert(number_of(name), number_of(said));
            }
        }
    }
}

/// Which packet of a turn this is on its way, from 0.
fn nth_of(sends: &mut Vec<((SocketId, Endpoint), u32)>, way: (SocketId, Endpoint)) -> u32 {
    match sends.iter_mut().find(|it| it.0 == way) {
        Some((_, count)) => {
            *count += 1;
            *count - 1
        }
        None => {
            sends.push((way, 1));
            0
        }
    }
}

/// A time with so many nanoseconds left out before it.
fn earlier(time: Time, shift_ns: u64) -> Time {
    Time(time.0.saturating_sub(shift_ns))
}

/// How late a turn of a node is that is played at the time of its turn `last`.
fn of_late(ground: &Ground, node: usize, (turn, last): (u32, u32)) -> Duration {
    let turns = &ground.nodes[node].turns;
    turns[last as usize].time.since(turns[turn as usize].time)
}

/// Puts a packet where its link brings it.
fn put(state: &mut NodeState, changes: &[Change], (node, number): (usize, u64), item: Item) {
    let fate = fate(changes, (item.from, node), item.natural);
    if let Some(again) = fate.again {
        state.inbox.insert((again, number), item.clone());
    }
    if let Some(comes) = fate.comes {
        state.inbox.insert((comes, number), item);
    }
}

impl NodeSocket {
    /// The last tick that began, and the game's virtual time then.
    pub fn last_tick(&self) -> (u64, Time) {
        let net = self.net.lock();
        let state = &net.state.nodes[self.node];
        let turns = net.ground.nodes[self.node]
            .turns
            .get(..=state.turn as usize);
        let last = ticks_back(turns.unwrap_or_default()).next();
        last.map_or((0, Time::ZERO), |(tick, time, _)| (tick, time))
    }

    /// The event of the turn that is played.
    pub fn turn(&self) -> EventNumber {
        let net = self.net.lock();
        EventNumber(net.state.nodes[self.node].turn.into())
    }
}

node_transport!(NodeSocket, self => self.net.lock());
