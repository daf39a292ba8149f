//! All nodes in virtual time, recorded into memory: the same to the byte every time.

use std::net::SocketAddr;
use std::time::Duration;

use netreel_reel::Header;
use netreel_sample_engine::{Mode, Peer, Start, StartError, Topology};
use netreel_transport::{MemoryRecorder, SimNet, SimTransport};

use crate::node::{Node, Order};
use crate::seen::Seen;
use crate::setup::Setup;
use crate::stage::Stage;

/// What every packet takes where no hand has changed it.
const LATENCY: Duration = Duration::from_millis(10);

/// A game that is played by hand in a simulated world.
pub struct SimStage {
    net: SimNet,
    names: Vec<String>,
    nodes: Vec<Node<SimTransport>>,
    recorders: Vec<MemoryRecorder>,
    tick_length: Duration,
}

impl SimStage {
    /// How many nodes before their first tick; `header` says what each reel begins with.
    ///
    /// # Errors
    /// Start conditions that make no sense.
    pub fn new(
        (mode, topology): (Mode, Topology),
        (nodes, seed): (u8, u64),
        header: &dyn Fn(&str, &Start) -> Header,
    ) -> Result<SimStage, StartError> {
        let endpoint = |peer: u8| SocketAddr::from(([127, 0, 0, 1], 27_000 + u16::from(peer)));
        let setup = Setup {
            session: [7; 16],
            mode,
            topology,
            seed,
            endpoints: (0..nodes).map(endpoint).collect(),
        };
        let mut stage = SimStage {
            net: SimNet::new(seed, LATENCY),
            names: setup.names(),
            nodes: Vec::new(),
            recorders: Vec::new(),
            tick_length: Duration::ZERO,
        };
        for (peer, local) in setup.peers().zip(&setup.endpoints) {
            let start = setup.start(peer);
            stage.tick_length = Duration::from_nanos(start.tick_ns);
            let recorder = MemoryRecorder::create(&header(&setup.name(peer), &start))
                .map_err(|_| StartError::Wrong("the header is too large"))?;
            let socket = stage.net.join(*local);
            let node = Node::new(start, socket, recorder.pusher(), seed)?;
            stage.nodes.push(node);
            stage.recorders.push(recorder);
        }
        Ok(stage)
    }

    /// Plays this many ticks of every node.
    pub fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.nodes.iter_mut().for_each(Node::step);
            self.net.advance(self.tick_length);
        }
    }

    /// Ends the game: the reels, by peer number.
    pub fn finish(self) -> Vec<Vec<u8>> {
        drop(self.nodes);
        let recorders = self.recorders.iter();
        recorders.map(MemoryRecorder::finish).collect()
    }
}

impl Stage for SimStage {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn seen(&mut self) -> Vec<Seen> {
        self.nodes.iter().map(Node::seen).collect()
    }

    fn order(&mut self, to: Peer, order: Order) {
        if let Some(node) = self.nodes.get_mut(usize::from(to.0)) {
            node.order(order);
        }
    }
}
