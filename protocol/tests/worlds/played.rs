//! A simulated world, played, recorded and read again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use netreel_protocol::history::{Belief, Finding, History, Level};
use netreel_protocol::session::{NodeId, ReelInput, Session};
use netreel_reel::{ClockAnchor, Header, Reel, WireText};
use netreel_sample_engine::{Mode, ObjectId, Peer, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::{LinkFaults, MemoryRecorder, Recorded};
use netreel_wire::Wire;

const WIRE: &str = include_str!("../../../samples/wires/boxes.wire");

/// The four ways to play.
pub const WAYS: [(Mode, Topology); 4] = [
    (Mode::Host, Topology::PeerToPeer),
    (Mode::Host, Topology::ClientServer),
    (Mode::Owner, Topology::PeerToPeer),
    (Mode::Owner, Topology::ClientServer),
];

/// A world after its last tick, and what its reels tell.
pub struct Played {
    pub world: SimWorld,
    /// By node, in the order of the peers.
    pub reels: Vec<(String, Vec<u8>)>,
    pub session: Session,
    pub history: History,
}

impl Played {
    /// Plays a world and reads its reels.
    pub fn new(start: &SimWorldStart, play: impl FnOnce(&mut SimWorld)) -> Played {
        Played::with_boots(start, |_| "a simulated world".to_owned(), play)
    }

    /// The same of nodes whose machines have these boot ids.
    pub fn with_boots(
        start: &SimWorldStart,
        boot: impl Fn(&str) -> String,
        play: impl FnOnce(&mut SimWorld),
    ) -> Played {
        let mut recorders: Vec<(String, MemoryRecorder)> = Vec::new();
        let mut world = SimWorld::wrapped(start, |node, faults| {
            let header = Header {
                node: node.name.clone(),
                session: [7; 16],
                clock: ClockAnchor {
                    boot_id: boot(&node.name),
                    ..ClockAnchor::default()
                },
                engine: "boxes".to_owned(),
                start: node.start.clone(),
                wires: vec![WireText {
                    name: "boxes.wire".to_owned(),
                    text: WIRE.to_owned(),
                }],
                ..Header::default()
            };
            let recorder = MemoryRecorder::create(&header).expect("a small header");
            recorders.push((node.name.clone(), recorder.clone()));
            Box::new(Recorded::new(faults, recorder.pusher(), node.local))
        })
        .expect("good conditions");
        play(&mut world);
        let reels: Vec<(String, Vec<u8>)> = recorders
            .into_iter()
            .map(|(name, recorder)| (name, recorder.finish()))
            .collect();
        let (session, history) = read(&reels);
        Played {
            world,
            reels,
            session,
            history,
        }
    }

    /// Plays until nothing is left to do.
    pub fn to_rest(start: &SimWorldStart) -> Played {
        Played::new(start, |world| {
            assert!(
                world.run_until_idle(60 * 120),
                "seed {}: it comes to rest",
                start.seed
            );
        })
    }

    /// The findings of a rule.
    pub fn findings(&self, rule: &str) -> Vec<&Finding> {
        self.history
            .findings
            .iter()
            .filter(|finding| finding.rule == rule)
            .collect()
    }

    /// `rule at node` of every finding of a level.
    pub fn named(&self, level: Level) -> Vec<String> {
        let found = self
            .history
            .findings
            .iter()
            .filter(|finding| finding.level == level);
        found
            .map(|each| format!("{} at {}", each.rule, self.session.name(each.node)))
            .collect()
    }

    /// The node of a peer.
    pub fn node(&self, peer: Peer) -> NodeId {
        self.session
            .node_of_peer(u64::from(peer.0))
            .expect("every peer says its number")
    }

    /// What a node believes at the end of the objects that live there: their owners.
    pub fn believed(&self, peer: Peer) -> BTreeMap<u64, u64> {
        let node = self.node(peer);
        let alive = self.history.objects.keys().filter_map(|&object| {
            match self.history.last_belief(object, node)? {
                Belief::Owned(owner) | Belief::Orphaned(owner) => Some((object, owner)),
                Belief::Destroyed => None,
                Belief::Unknown => panic!("object {object} is unknown at {peer:?}"),
            }
        });
        alive.collect()
    }

    /// Whether the engines' own tables have different values of the object that a finding is about: at
    /// its node, and at a node that owns it.
    pub fn really_differs(&self, finding: &Finding) -> bool {
        let object = ObjectId(finding.object().expect("it is about an object"));
        let tables = self.world.running().into_iter();
        let rows: Vec<_> = tables
            .filter_map(|peer| Some((peer, self.world.table(peer).remove(&object)?)))
            .collect();
        let at_node = rows
            .iter()
            .find(|(peer, _)| self.node(*peer) == finding.node);
        let mut owners = rows.iter().filter(|(peer, row)| row.owner == *peer);
        at_node.is_some_and(|(_, row)| owners.any(|(_, owner)| owner.state != row.state))
    }

    /// What its engine really believes.
    pub fn real(&self, peer: Peer) -> BTreeMap<u64, u64> {
        let table = self.world.table(peer);
        table
            .iter()
            .map(|(id, row)| (id.0, u64::from(row.owner.0)))
            .collect()
    }
}

/// Opens reels and builds session and history.
pub fn read(reels: &[(String, Vec<u8>)]) -> (Session, History) {
    read_with(reels, WIRE)
}

/// The same with another wire.
pub fn read_with(reels: &[(String, Vec<u8>)], wire: &str) -> (Session, History) {
    let inputs = reels
        .iter()
        .filter_map(|(name, bytes)| {
            let reel = Arc::new(Reel::from_bytes(bytes.clone()).ok()?);
            Some(ReelInput {
                name: format!("{name}.reel"),
                reel,
            })
        })
        .collect();
    let wire = Wire::compile("boxes.wire", wire).expect("the wire compiles");
    let session = Session::builder()
        .wire(Arc::new(wire))
        .build(inputs)
        .expect("one session");
    let history = History::build(&session);
    (session, history)
}

/// Boxes for two seconds under faults that differ from seed to seed.
pub fn boxes(seed: u64, mode: Mode, topology: Topology) -> SimWorldStart {
    let mut start = SimWorldStart::new(seed, mode, topology, Script::Boxes { ticks: 120 });
    start.nodes = 2 + (seed % 4) as u8;
    start.faults = LinkFaults {
        delay: Duration::from_millis(seed % 60),
        jitter: Duration::from_millis(seed * 7 % 50),
        loss: (seed % 7) as f64 * 0.05,
        duplicate: (seed % 3) as f64 * 0.15,
        reorder: (seed % 5) as f64 * 0.08,
        ..LinkFaults::default()
    };
    // One slow link, so that news overtakes older news on its way around.
    let slow = Duration::from_millis(200 + seed % 300);
    start.link_faults.insert(
        (Peer(1), Peer(3)),
        LinkFaults {
            delay: slow,
            ..start.faults
        },
    );
    start
}
