//! All nodes of a session in one process, under virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use netreel_transport::{Faults, Gates, LinkFaults, SimClock, SimNet, SimTransport, Transport};

use crate::call::Call;
use crate::event::Event;
use crate::fault::Fault;
use crate::game::{
    Beliefs, Believing, Boxes, Demonstration, Game, Hands, Idle, free_link, link_end, play_tick,
    tell_events,
};
use crate::layer::NetLayer;
use crate::message::{Counter, ObjectId, Peer, State, node_name};
use crate::mode::{Mode, Topology};
use crate::object::Object;
use crate::start::{PeerStart, Start, StartError, Tuning};

/// What a simulated session is made of. Everything that happens in it follows from this and the
/// calls of the test.
#[derive(Clone, Debug)]
pub struct SimWorldStart {
    /// Of the network, the faults and the scripts.
    pub seed: u64,
    /// How objects change owner.
    pub mode: Mode,
    /// Who talks to whom.
    pub topology: Topology,
    /// 2 to 16.
    pub nodes: u8,
    /// What the players do.
    pub script: Script,
    /// What every packet takes, apart from faults.
    pub latency: Duration,
    /// The faults of every link, applied as packets leave.
    pub faults: LinkFaults,
    /// The faults of some links, by sender and receiver, in place of `faults`.
    pub link_faults: BTreeMap<(Peer, Peer), LinkFaults>,
    /// The nodes whose time-outs are switched off.
    pub without_time_outs: BTreeSet<Peer>,
    /// How far some nodes' clocks are ahead of the world's.
    pub clock_offsets: BTreeMap<Peer, Duration>,
    /// The constants of the layers.
    pub tuning: Tuning,
    /// What the layers of some nodes do wrong on purpose.
    pub planted: BTreeMap<Peer, Fault>,
    /// Whether the games say what they believe ([`Transport::believes`]).
    pub says_beliefs: bool,
}

/// What the players of a simulated session do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// [`Boxes`] by chance, for this many ticks.
    Boxes {
        /// How many.
        ticks: u64,
    },
    /// The [`Demonstration`].
    Demonstration,
    /// Nothing: the test makes the calls.
    Idle,
}

/// A session in virtual time.
pub struct SimWorld {
    net: SimNet,
    nodes: Vec<SimPlayer>,
    tick: u64,
    tick_length: Duration,
}

/// A node as it joins a simulated world: what a recorder needs to know.
#[derive(Clone, Debug)]
pub struct SimNode {
    /// Its number.
    pub peer: Peer,
    /// Its name.
    pub name: String,
    /// Its socket's address.
    pub local: SocketAddr,
    /// Its start conditions, encoded.
    pub start: Vec<u8>,
    /// Its clock.
    pub clock: SimClock,
}

/// What a node believes of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRow {
    /// Who owns it.
    pub owner: Peer,
    /// How often it has migrated.
    pub counter: Counter,
    /// Its type and fields.
    pub state: State,
}

struct SimPlayer {
    layer: NetLayer,
    game: Box<dyn Game>,
    io: Box<dyn Transport>,
    gates: Gates,
    events: Vec<Event>,
    /// Where it says what it believes.
    beliefs: Option<Beliefs>,
    is_running: bool,
}

impl SimWorldStart {
    /// Four nodes that talk to each other, 10 ms apart, without faults.
    pub fn new(seed: u64, mode: Mode, topology: Topology, script: Script) -> SimWorldStart {
        SimWorldStart {
            seed,
            mode,
            topology,
            nodes: 4,
            script,
            latency: Duration::from_millis(10),
            faults: LinkFaults::default(),
            link_faults: BTreeMap::new(),
            without_time_outs: BTreeSet::new(),
            clock_offsets: BTreeMap::new(),
            tuning: Tuning::default(),
            planted: BTreeMap::new(),
            says_beliefs: false,
        }
    }

    /// Four players who do everything by chance for so many ticks, over links that are each another
    /// ([`free_link`]).
    pub fn free(seed: u64, mode: Mode, topology: Topology, ticks: u64) -> SimWorldStart {
        let script = Script::Boxes { ticks };
        let mut start = SimWorldStart::new(seed, mode, topology, script);
        start.latency = Duration::ZERO;
        let peers = || (0..start.nodes).map(Peer);
        start.link_faults = peers()
            .flat_map(|from| peers().map(move |to| (from, to)))
            .map(|(from, to)| ((from, to), free_link(seed, from, to)))
            .collect();
        start
    }

    /// The start conditions of one node.
    pub fn start(&self, own: Peer) -> Start {
        let peer = |number: u8| PeerStart {
            name: node_name(Peer(number)),
            endpoint: SocketAddr::from(([127, 0, 0, 1], 27_000 + u16::from(number))),
        };
        let peers = (0..self.nodes).map(peer).collect();
        let mut start = Start::new(own, peers, self.topology, self.mode);
        start.tuning = self.tuning;
        start.fault = self.planted.get(&own).copied();
        start.time_outs = !self.without_time_outs.contains(&own);
        start
    }
}

impl SimWorld {
    /// A world before its first tick, with bare transports.
    pub fn new(start: &SimWorldStart) -> Result<SimWorld, StartError> {
        SimWorld::wrapped(start, |_, faults| Box::new(faults))
    }

    /// The same, with `wrap` around each node's transport: a recorder, say.
    pub fn wrapped(
        start: &SimWorldStart,
        mut wrap: impl FnMut(&SimNode, Faults<SimTransport>) -> Box<dyn Transport>,
    ) -> Result<SimWorld, StartError> {
        let net = SimNet::new(start.seed, start.latency);
        let mut nodes = Vec::new();
        let mut tick_length = Duration::ZERO;
        for peer in (0..start.nodes).map(Peer) {
            let node_start = start.start(peer);
            tick_length = Duration::from_nanos(node_start.tick_ns);
            let known = &node_start.peers;
            let Some(local) = known.get(usize::from(peer.0)).map(|own| own.endpoint) else {
                break;
            };
            let ends = (0..)
                .map(Peer)
                .zip(known)
                .map(|(other, it)| (it.endpoint, link_end(other)));
            let offset = start.clock_offsets.get(&peer).copied().unwrap_or_default();
            let socket = net.join_offset(local, offset);
            let clock = socket.clock();
            let mut faults = Faults::new(socket, start.seed, link_end(peer), ends);
            for other in (0..start.nodes).map(Peer) {
                let of_link = start
                    .link_faults
                    .get(&(peer, other))
                    .unwrap_or(&start.faults);
                if *of_link != LinkFaults::default() {
                    faults.set_egress(link_end(other), *of_link);
                }
            }
            let gates = faults.gates();
            let name = node_name(peer);
            let game: Box<dyn Game> = match start.script {
                Script::Boxes { ticks } => Box::new(Boxes::new(start.seed, &name, ticks)),
                Script::Demonstration => Box::new(Demonstration::new(start.seed, &name)),
                Script::Idle => Box::new(Idle),
            };
            let node = SimNode {
                peer,
                name,
                local,
                start: node_start.encode(),
                clock,
            };
            nodes.push(SimPlayer {
                layer: NetLayer::new(node_start)?,
                game,
                io: wrap(&node, faults),
                gates,
                events: Vec::new(),
                beliefs: start.says_beliefs.then(Beliefs::default),
                is_running: true,
            });
        }
        Ok(SimWorld {
            net,
            nodes,
            tick: 0,
            tick_length,
        })
    }

    /// Plays one tick of every running node, then lets a tick's time pass.
    pub fn step(&mut self) {
        for node in self.nodes.iter_mut().filter(|node| node.is_running) {
            let stalls = node.layer.start().fault == Some(Fault::Stall);
            if stalls && (60..120).contains(&self.tick) {
                continue;
            }
            let mut game = Listening {
                game: node.game.as_mut(),
                events: &mut node.events,
            };
            let (layer, io, gates) = (&mut node.layer, node.io.as_mut(), &node.gates);
            match &mut node.beliefs {
                Some(beliefs) => {
                    let mut game = Believing::new(beliefs, &mut game);
                    play_tick(self.tick, layer, &mut game, io, gates);
                }
                None => play_tick(self.tick, layer, &mut game, io, gates),
            }
        }
        self.tick += 1;
        self.net.advance(self.tick_length);
    }

    /// Plays this many ticks.
    pub fn run(&mut self, ticks: u64) {
        (0..ticks).for_each(|_| self.step());
    }

    /// Plays until every running node is idle and nothing is under way, at most this many ticks;
    /// whether it came to that. Two seconds are played on, so that what waits for its time comes.
    pub fn run_until_idle(&mut self, ticks_max: u64) -> bool {
        let mut idle_ticks = 0;
        for _ in 0..ticks_max {
            self.step();
            idle_ticks = if self.is_idle() { idle_ticks + 1 } else { 0 };
            if idle_ticks >= 120 {
                return true;
            }
        }
        false
    }

    /// Whether every running node is idle.
    pub fn is_idle(&self) -> bool {
        let mut running = self.nodes.iter().filter(|node| node.is_running);
        running.all(|node| node.game.is_idle(&node.layer))
    }

    /// The number of the next tick.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// The network.
    pub fn net(&self) -> &SimNet {
        &self.net
    }

    /// A node's layer; `None` where there is no such node.
    pub fn layer(&self, peer: Peer) -> Option<&NetLayer> {
        self.node(peer).map(|node| &node.layer)
    }

    /// A node's gates: they hold what arrives at it (from, itself) and what it sends (itself, to).
    pub fn gates(&self, peer: Peer) -> Option<Gates> {
        self.node(peer).map(|node| node.gates.clone())
    }

    /// All that a node's layer has told its game so far.
    pub fn events(&self, peer: Peer) -> &[Event] {
        self.node(peer).map_or(&[], |node| &node.events)
    }

    /// What a node believes of every object that lives there.
    pub fn table(&self, peer: Peer) -> BTreeMap<ObjectId, TableRow> {
        let objects = self.layer(peer).into_iter().flat_map(NetLayer::objects);
        let row = |object: &Object| TableRow {
            owner: object.owner,
            counter: object.counter,
            state: object.state.clone(),
        };
        objects.map(|(id, object)| (id, row(object))).collect()
    }

    /// The nodes that run.
    pub fn running(&self) -> Vec<Peer> {
        let numbered = (0..).map(Peer).zip(&self.nodes);
        numbered
            .filter(|(_, node)| node.is_running)
            .map(|(peer, _)| peer)
            .collect()
    }

    /// Makes a call of a node's game into its layer.
    pub fn call(&mut self, peer: Peer, call: &Call) {
        if let Some(node) = self.node_mut(peer) {
            let mut game = Listening {
                game: node.game.as_mut(),
                events: &mut node.events,
            };
            let mut hands = Hands::new(&mut node.layer, node.io.as_mut(), &node.gates);
            hands.call(call);
            tell_events(&mut game, &mut hands);
        }
    }

    /// Gives a node another game.
    pub fn set_game(&mut self, peer: Peer, game: Box<dyn Game>) {
        if let Some(node) = self.node_mut(peer) {
            node.game = game;
        }
    }

    /// Stops a node at once, as a crash does.
    pub fn stop(&mut self, peer: Peer) {
        if let Some(node) = self.node_mut(peer) {
            node.is_running = false;
        }
    }

    fn node(&self, peer: Peer) -> Option<&SimPlayer> {
        self.nodes.get(usize::from(peer.0))
    }

    fn node_mut(&mut self, peer: Peer) -> Option<&mut SimPlayer> {
        self.nodes.get_mut(usize::from(peer.0))
    }
}

/// A game whose events are written down on the way.
struct Listening<'a> {
    game: &'a mut dyn Game,
    events: &'a mut Vec<Event>,
}

impl Game for Listening<'_> {
    fn event(&mut self, event: &Event, hands: &mut Hands<'_>) {
        self.events.push(event.clone());
        self.game.event(event, hands);
    }

    fn play(&mut self, tick: u64, hands: &mut Hands<'_>) {
        self.game.play(tick, hands);
    }

    fn is_idle(&self, layer: &NetLayer) -> bool {
        self.game.is_idle(layer)
    }
}
