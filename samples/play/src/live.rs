//! Nodes over UDP and the clock: a thread each, recorded into a file each.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netreel_record::{Options, RecordError, Recorder};
use netreel_reel::Header;
use netreel_sample_engine::{Peer, Start, StartError};
use netreel_system::{Cancel, locked};
use netreel_transport::UdpTransport;

use crate::commanded::Commanded;
use crate::node::{Node, Order};
use crate::seen::Seen;
use crate::setup::Setup;
use crate::stage::Stage;

/// A game that could not be played or recorded.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The recorder could not begin, or could not write all of it.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The layer refuses its start conditions.
    #[error(transparent)]
    Start(#[from] StartError),
    /// There can be no thread.
    #[error("there can be no thread for node {name}: {error}")]
    Thread {
        /// Of which node.
        name: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// A node's thread has died.
    #[error("the thread of node {name} has died; what it had recorded is kept")]
    Died {
        /// Which node.
        name: String,
    },
}

/// The nodes of a session that are played by this process.
pub struct LiveStage {
    names: Vec<String>,
    nodes: Vec<LiveNode>,
    quit: Cancel,
}

struct LiveNode {
    peer: Peer,
    name: String,
    orders: Sender<Order>,
    seen: Arc<Mutex<Seen>>,
    recorder: Recorder,
    /// Gives back the console, whose own thread may take long to end on a busy machine.
    thread: Option<JoinHandle<Option<Commanded>>>,
}

impl LiveStage {
    /// Begins to play the nodes whose `sockets` are here, each recorded into a file of its name in
    /// `folder`. `header` says what a node's reel begins with.
    ///
    /// # Errors
    /// A file that cannot be made; start conditions that make no sense.
    pub fn start(
        setup: &Setup,
        sockets: Vec<(Peer, UdpTransport)>,
        folder: &Path,
        header: &dyn Fn(&str, &Start) -> Header,
    ) -> Result<LiveStage, LiveError> {
        LiveStage::begin(setup, (sockets, None), folder, header)
    }

    /// Begins to play one node that is driven by its console.
    ///
    /// # Errors
    /// As [`LiveStage::start`].
    pub fn commanded(
        setup: &Setup,
        (socket, commanded): ((Peer, UdpTransport), Commanded),
        folder: &Path,
        header: &dyn Fn(&str, &Start) -> Header,
    ) -> Result<LiveStage, LiveError> {
        LiveStage::begin(setup, (vec![socket], Some(commanded)), folder, header)
    }

    fn begin(
        setup: &Setup,
        (sockets, mut commanded): (Vec<(Peer, UdpTransport)>, Option<Commanded>),
        folder: &Path,
        header: &dyn Fn(&str, &Start) -> Header,
    ) -> Result<LiveStage, LiveError> {
        let quit = Cancel::default();
        let mut stage = LiveStage {
            names: setup.names(),
            nodes: Vec::new(),
            quit: quit.clone(),
        };
        for (peer, socket) in sockets {
            let name = setup.name(peer);
            let start = setup.start(peer);
            let path = reel_path(folder, &name);
            let tick = Duration::from_nanos(start.tick_ns);
            let recorder = Recorder::create(path, &header(&name, &start), Options::default())?;
            let node = Node::new(start, socket, recorder.pusher()?, setup.seed)?;
            let seen = Arc::new(Mutex::new(node.seen()));
            let (orders, given) = channel();
            let shown = seen.clone();
            let quit = quit.clone();
            let mut drive = Drive {
                orders: given,
                seen: shown,
                commanded: commanded.take(),
            };
            let thread = std::thread::Builder::new()
                .name(format!("node {name}"))
                .spawn(move || {
                    play(node, tick, &mut drive, &quit);
                    drive.commanded
                })
                .map_err(|error| LiveError::Thread {
                    name: name.clone(),
                    error,
                })?;
            stage.nodes.push(LiveNode {
                peer,
                name,
                orders,
                seen,
                recorder,
                thread: Some(thread),
            });
        }
        Ok(stage)
    }

    /// Whether somebody has told the game to end: the console of its node.
    pub fn is_over(&self) -> bool {
        !self.quit.goes_on()
    }

    /// Ends the game; how many events were recorded.
    ///
    /// # Errors
    /// What could not be written.
    pub fn finish(mut self) -> Result<u64, LiveError> {
        self.quit.cancel();
        let mut events = 0;
        for mut node in std::mem::take(&mut self.nodes) {
            let ended = node.thread.take().map(JoinHandle::join);
            events += node.recorder.finish()?.events;
            if let Some(Err(_)) = ended {
                return Err(LiveError::Died { name: node.name });
            }
        }
        Ok(events)
    }
}

impl Stage for LiveStage {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn seen(&mut self) -> Vec<Seen> {
        let seen = self.nodes.iter().map(|node| &node.seen);
        seen.map(|seen| locked(seen).clone()).collect()
    }

    fn order(&mut self, to: Peer, order: Order) {
        if let Some(node) = self.nodes.iter().find(|node| node.peer == to) {
            // A node whose thread has died takes no more orders; `finish` says so.
            let _ = node.orders.send(order);
        }
    }
}

impl Drop for LiveStage {
    fn drop(&mut self) {
        self.quit.cancel();
        for node in &mut self.nodes {
            if let Some(thread) = node.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

/// Who drives a node, and who looks at it.
struct Drive {
    orders: Receiver<Order>,
    seen: Arc<Mutex<Seen>>,
    commanded: Option<Commanded>,
}

/// Plays a node until it is told to quit. Ticks keep to a grid; one that comes late does not move the
/// ones behind it.
fn play(mut node: Node<UdpTransport>, tick: Duration, drive: &mut Drive, quit: &Cancel) {
    let begin = Instant::now();
    for played in 1.. {
        if let Some(commanded) = &drive.commanded
            && commanded.serve(&mut node)
        {
            quit.cancel();
        }
        if !quit.goes_on() {
            return;
        }
        while let Ok(order) = drive.orders.try_recv() {
            node.order(order);
        }
        node.step();
        *locked(&drive.seen) = node.seen();
        let next = begin + tick * played;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// The file of a node's reel: `NAME.reel`, or where a node of this name was here before, `NAME-2.reel`.
fn reel_path(folder: &Path, name: &str) -> PathBuf {
    let again = (2..).map(|life| format!("{name}-{life}.reel"));
    let mut paths = std::iter::once(format!("{name}.reel"))
        .chain(again)
        .map(|file| folder.join(file));
    // The names do not end.
    paths.find(|path| !path.exists()).unwrap_or_default()
}
