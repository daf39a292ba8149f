//! The race, played so that it never flakes: every step waits for an event, not for a time.
//!
//! All players push their own boxes about. When all have all, X shuts the link from A at its own
//! end. A creates a box and pushes it. When all but X have it as it is, A tells them so, and when
//! they have answered, no UPDATE of A is under way any more on links that keep the order: A offers
//! the box. B asks for it; HOST makes B its owner; B pushes it, and destroys it when everybody has
//! heard of the new owner. X, who has processed the DESTROY, opens the link again, and hears at
//! last that A created the box. Whether X believes it is up to the mode.
//!
//! In modes `host`, `queue` and `order` A and B hear of the new owner each from HOST. So that A always
//! stops before B starts, HOST holds back what it sends to B until A has said that it has heard. In
//! modes `owner` and `counter` A hears it from B, and always later; in mode `handshake` B takes over
//! when A has confirmed.

use std::collections::BTreeSet;

use super::background::Background;
use super::boxes::{cube, hold, place, rpc};
use super::{Game, Hands};
use crate::call::Call;
use crate::event::{Event, ObjectMessage};
use crate::layer::NetLayer;
use crate::message::{ObjectId, Peer};
use crate::mode::Topology;

const A: Peer = Peer(1);
const B: Peer = Peer(2);
const X: Peer = Peer(3);
const OBJECT: ObjectId = Demonstration::OBJECT;

/// How long A, then B, pushes the box about, and how long all play on after its end. Ticks.
const FIRST_PUSH_TICKS: u64 = 16;
const PUSH_TICKS: u64 = 24;
const AFTER_TICKS: u64 = 30;

/// One player of the demonstration; which, follows from its number. Needs four or more players.
#[derive(Debug)]
pub struct Demonstration {
    background: Background,
    tick: u64,
    progress: Progress,
}

/// How far the race has come, as one player sees it.
#[derive(Debug, Default)]
struct Progress {
    said_ready: bool,
    /// Who has all that there was at the start.
    ready: BTreeSet<Peer>,
    /// X: whether the link from A is shut. HOST: whether the link to B is.
    gate_is_shut: bool,
    created: bool,
    /// A: when the object was created.
    created_at: u64,
    /// A: whether it has said that it pushes the object no more, and who has answered.
    said_pushed: bool,
    seen: BTreeSet<Peer>,
    offered: bool,
    wanted_by: Option<Peer>,
    said_migrated: bool,
    /// B: who has processed the MIGRATE.
    migrated: BTreeSet<Peer>,
    owned_since: Option<u64>,
    create_seen: bool,
    destroy_seen: bool,
    /// Since when everything has happened that this player waits for.
    done_since: Option<u64>,
}

impl Demonstration {
    /// The object that the race is about: A's third.
    pub const OBJECT: ObjectId = ObjectId(42);

    /// With fewer players the race cannot be run.
    pub const PLAYERS_MIN: u8 = 4;

    /// A player before the first tick. What it does beside the race follows from `seed` and its
    /// `name`; how the race ends does not.
    pub fn new(seed: u64, name: &str) -> Demonstration {
        Demonstration {
            background: Background::new(seed, name),
            tick: 0,
            progress: Progress::default(),
        }
    }

    fn is_done(&self) -> bool {
        self.progress
            .done_since
            .is_some_and(|since| self.tick >= since + AFTER_TICKS)
    }

    fn heard_migrate(&mut self, owner: Option<Peer>, hands: &mut Hands<'_>) {
        if hands.layer().own() == B {
            if owner == Some(B) {
                self.progress.owned_since.get_or_insert(self.tick + 1);
            }
        } else if !self.progress.said_migrated {
            self.progress.said_migrated = true;
            match (hands.layer().own(), hands.layer().start().mode) {
                (A, mode) if mode.host_tells_all() => tell(&[Peer::HOST, B], "migrated", hands),
                _ => tell(&[B], "migrated", hands),
            }
        }
    }

    /// A has heard who owns the object: where HOST tells all B may hear it now.
    fn heard_that_a_knows(&mut self, hands: &mut Hands<'_>) {
        if self.progress.gate_is_shut {
            self.progress.gate_is_shut = false;
            hands.open_to(B);
        }
    }

    fn heard_destroy(&mut self, hands: &mut Hands<'_>) {
        self.progress.destroy_seen = true;
        if hands.layer().own() == X && self.progress.gate_is_shut {
            self.progress.gate_is_shut = false;
            hands.open(A);
        }
    }

    fn grant(&mut self, hands: &mut Hands<'_>) {
        let object = OBJECT;
        if let Some(to) = self.progress.wanted_by
            && hands.layer().object(object).is_some()
        {
            self.progress.wanted_by = None;
            if hands.layer().start().mode.host_tells_all() {
                self.progress.gate_is_shut = true;
                hands.shut_to(B);
            }
            hands.call(&Call::Migrate { object, to });
        }
    }

    fn get_ready(&mut self, hands: &mut Hands<'_>) {
        let layer = hands.layer();
        let objects = layer.start().peers.len() * Background::OBJECTS;
        let has_all = layer.is_everybody_here() && layer.objects().count() >= objects;
        if !self.progress.said_ready && has_all && layer.is_acked() {
            self.progress.said_ready = true;
            self.progress.ready.insert(layer.own());
            hands.call(&rpc(None, true, "ready", Vec::new()));
        }
    }

    fn play_x(&mut self, hands: &mut Hands<'_>) {
        let all_ready = self.progress.ready.len() == hands.layer().start().peers.len();
        if all_ready && !self.progress.created {
            self.progress.created = true; // once
            self.progress.gate_is_shut = true;
            hands.shut(A);
            tell(&[A], "go", hands);
        }
    }

    fn play_b(&mut self, hands: &mut Hands<'_>) {
        let object = OBJECT;
        let Some(since) = self.progress.owned_since else {
            return;
        };
        if self.progress.destroy_seen || hands.layer().object(object).is_none_or(|o| o.owner != B) {
            return;
        }
        if self.tick == since {
            hands.call(&hold(object, true));
        }
        if (self.tick - since).is_multiple_of(2) {
            let step = (self.tick - since) as f64;
            hands.call(&place(object, [40.0 + step, 20.0 + step / 2.0, 1.0]));
        }
        let others = hands.layer().start().peers.len() - 1;
        if self.tick >= since + PUSH_TICKS && self.progress.migrated.len() >= others {
            self.progress.destroy_seen = true;
            hands.call(&Call::Destroy { object });
        }
    }

    fn play_a(&mut self, hands: &mut Hands<'_>) {
        let id = OBJECT;
        let owned = hands.layer().object(id).is_some_and(|it| it.owner == A);
        if !owned || self.progress.offered {
            return;
        }
        let age = self.tick - self.progress.created_at;
        if age < FIRST_PUSH_TICKS {
            if age.is_multiple_of(2) {
                hands.call(&place(id, [25.0 + age as f64 / 2.0, 15.0, 0.0]));
            }
            return;
        }
        // No UPDATE of A may be under way when the owner changes: not one that is not acked, and
        // not one that was sent again before its ack came.
        let layer = hands.layer();
        let others: Vec<Peer> = layer.others().filter(|&peer| peer != X).collect();
        if !self.progress.said_pushed {
            if others.iter().all(|&peer| layer.is_up_to_date(id, peer)) {
                self.progress.said_pushed = true;
                tell(&others, "pushed", hands);
            }
        } else if others.iter().all(|peer| self.progress.seen.contains(peer)) {
            self.progress.offered = true;
            tell(&[B], "take it", hands);
        }
    }
}

/// Tells players something; in client-server all hear it, as a client can tell nobody alone.
fn tell(peers: &[Peer], what: &str, hands: &mut Hands<'_>) {
    match hands.layer().start().topology {
        Topology::ClientServer => hands.call(&rpc(None, true, what, Vec::new())),
        Topology::PeerToPeer => peers
            .iter()
            .for_each(|&peer| hands.call(&rpc(Some(peer), true, what, Vec::new()))),
    }
}

impl Game for Demonstration {
    fn event(&mut self, event: &Event, hands: &mut Hands<'_>) {
        let own = hands.layer().own();
        match event {
            Event::Called { from, name, .. } => match name.as_str() {
                "ready" => {
                    self.progress.ready.insert(*from);
                }
                "go" if own == A && *from == X && !self.progress.created => {
                    self.progress.created = true;
                    self.progress.created_at = self.tick + 1;
                    self.progress.create_seen = true;
                    hands.call(&cube([25.0, 15.0, 0.0], 200));
                }
                "pushed" if own != X && *from == A => tell(&[A], "seen", hands),
                "seen" if own == A => {
                    self.progress.seen.insert(*from);
                }
                "take it" if own == B && *from == A => {
                    hands.call(&Call::Request { object: OBJECT });
                }
                "migrated" if own == B => {
                    self.progress.migrated.insert(*from);
                }
                "migrated" if own == Peer::HOST && *from == A => self.heard_that_a_knows(hands),
                _ => {}
            },
            Event::Requested { object, by } if *object == OBJECT => {
                self.progress.wanted_by = Some(*by);
                self.grant(hands);
            }
            Event::Created { object, .. } if *object == OBJECT => {
                self.progress.create_seen = true;
                self.grant(hands);
            }
            Event::Migrated { object, owner, .. } if *object == OBJECT => {
                self.heard_migrate(Some(*owner), hands);
            }
            Event::Destroyed { object } if *object == OBJECT => {
                self.heard_destroy(hands);
            }
            Event::Ignored {
                message, object, ..
            } if *object == OBJECT => match message {
                ObjectMessage::Create => self.progress.create_seen = true,
                ObjectMessage::Migrate => self.heard_migrate(None, hands),
                ObjectMessage::Destroy => self.heard_destroy(hands),
                ObjectMessage::Update | ObjectMessage::Order => {}
            },
            _ => {}
        }
    }

    fn play(&mut self, tick: u64, hands: &mut Hands<'_>) {
        self.tick = tick;
        if self.is_done() || hands.layer().is_ended() {
            return;
        }
        self.background.play(tick, hands);
        self.get_ready(hands);
        match hands.layer().own() {
            A => self.play_a(hands),
            B => self.play_b(hands),
            X => self.play_x(hands),
            _ => {}
        }
        if self.progress.create_seen && self.progress.destroy_seen {
            self.progress.done_since.get_or_insert(tick);
        }
    }

    fn is_idle(&self, layer: &NetLayer) -> bool {
        self.is_done() && layer.is_settled()
    }
}
