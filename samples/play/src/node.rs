//! One node of a game that is played by hand.

use std::collections::BTreeMap;
use std::time::Duration;

use netreel_sample_engine::{
    Beliefs, Believing, Deed, NetLayer, Peer, Player, Start, StartError, link_end, play_tick,
};
use netreel_transport::{Faults, Gates, LinkFaults, Pusher, Recorded, SnapshotPlan, Transport};

use crate::link_setting::LinkSetting;
use crate::seen::Seen;

/// How often the layer's state is recorded, so that a replay can start there.
const SNAPSHOTS: Duration = Duration::from_millis(500);

/// What a node can be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// Its player is to do something.
    Deed(Deed),
    /// Its link from another node is to be so from now on.
    Link {
        /// Whose packets.
        from: Peer,
        /// What becomes of them.
        setting: LinkSetting,
    },
}

/// A layer with its player and its recorder, over any transport.
pub struct Node<T: Transport> {
    layer: NetLayer,
    player: Player,
    beliefs: Beliefs,
    io: Recorded<Faults<T>>,
    gates: Gates,
    links: BTreeMap<Peer, LinkSetting>,
    tick: u64,
}

impl<T: Transport> Node<T> {
    /// A node before its first tick, which talks through `inner` and is recorded by `pusher`.
    ///
    /// # Errors
    /// Start conditions that make no sense.
    pub fn new(start: Start, inner: T, pusher: Pusher, seed: u64) -> Result<Node<T>, StartError> {
        let own = start.own;
        let layer = NetLayer::new(start)?;
        let peers = &layer.start().peers;
        let ends = (0u8..)
            .map(Peer)
            .zip(peers)
            .map(|(peer, known)| (known.endpoint, link_end(peer)));
        let faults = Faults::new(inner, seed, link_end(own), ends);
        let gates = faults.gates();
        let known = peers.get(usize::from(own.0));
        let (name, local) =
            known
                .map(|it| (it.name.clone(), it.endpoint))
                .ok_or(StartError::Wrong(
                    "the node's own number is not among the peers",
                ))?;
        let player = Player::new(own, &name, peers.len());
        let mut io = Recorded::new(faults, pusher, local);
        io.snapshots(SnapshotPlan {
            every: SNAPSHOTS,
            ..SnapshotPlan::default()
        });
        Ok(Node {
            layer,
            player,
            io,
            gates,
            beliefs: Beliefs::default(),
            links: BTreeMap::new(),
            tick: 0,
        })
    }

    /// Plays one tick.
    pub fn step(&mut self) {
        let (io, gates) = (&mut self.io, &self.gates);
        let mut game = Believing::new(&mut self.beliefs, &mut self.player);
        play_tick(self.tick, &mut self.layer, &mut game, io, gates);
        self.tick += 1;
    }

    /// Does what it is told, or begins to.
    pub fn order(&mut self, order: Order) {
        match order {
            Order::Deed(deed) => self.player.tell(deed),
            Order::Link { from, setting } => self.set_link(from, setting),
        }
    }

    fn set_link(&mut self, from: Peer, setting: LinkSetting) {
        let faults = LinkFaults {
            delay: setting.delay,
            jitter: setting.jitter,
            loss: setting.loss.clamp(0.0, 1.0),
            burst: setting.burst.clamp(0.0, 1.0),
            corrupt: setting.corrupt.clamp(0.0, 1.0),
            ..LinkFaults::default()
        };
        let own = self.layer.own();
        if from == own {
            return;
        }
        self.links.insert(from, setting);
        self.io.inner_mut().set_ingress(link_end(from), faults);
        if setting.held {
            self.gates.shut(link_end(from), link_end(own))
        } else {
            self.gates.open(link_end(from), link_end(own))
        }
        // Whoever reads the recording is to know that it was a hand.
        let name = |peer: Peer| {
            let known = self.layer.start().peers.get(usize::from(peer.0));
            known.map_or("?", |known| known.name.as_str())
        };
        let text = match setting.text() {
            text if text.is_empty() => "as it is".to_owned(),
            text => text,
        };
        let note = format!("link {} -> {}: {text}", name(from), name(own));
        self.io.note(&note);
    }

    /// Notes in the recording what was done from outside.
    pub fn note(&mut self, text: &str) {
        self.io.note(text);
    }

    /// What its pane shows.
    pub fn seen(&self) -> Seen {
        Seen::of(self.tick, (&self.layer, &self.player), &self.links)
    }
}
