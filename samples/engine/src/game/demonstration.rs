//! The race, played so that it never flakes: every step waits for an event, not for a time.
//!
//! Four players push their own boxes about. When all have all, X shuts the link from A at its own
//! end. A creates a box, pushes it, and offers it when all but X have it as it is; B asks for it;
//! HOST makes B its owner; B pushes it, and destroys it when everybody has heard of the new owner. X, who has processed the DESTROY, opens the link again,
//! and hears at last that A created the box. Whether X believes it is up to the mode.

use std::collections::BTreeSet;

use super::boxes::{cube, hold, place, player, rpc};
use super::{Game, Hands};
use crate::call::Call;
use crate::event::{Event, ObjectMessage};
use crate::layer::NetLayer;
use crate::message::{ObjectId, Peer};

const A: Peer = Peer(1);
const B: Peer = Peer(2);
const X: Peer = Peer(3);

/// How long A, then B, pushes the box about, and how long all play on after its end. Ticks.
const FIRST_PUSH_TICKS: u64 = 16;
const PUSH_TICKS: u64 = 24;
const AFTER_TICKS: u64 = 30;

/// How many objects each player spawns at the start.
const BACKGROUND: usize = 2;

/// One player of the demonstration; which, follows from its number. Needs four or more players.
#[derive(Debug, Default)]
pub struct Demonstration {
    tick: u64,
    /// The player's own objects, and the one that it all is about.
    background: Vec<ObjectId>,
    said_ready: bool,
    /// Who has all that there was at the start.
    ready: BTreeSet<Peer>,
    gate_is_shut: bool,
    created: bool,
    /// A: when the object was created.
    created_at: u64,
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

    /// A player before the first tick.
    pub fn new() -> Demonstration {
        Demonstration::default()
    }

    fn is_done(&self) -> bool {
        self.done_since
            .is_some_and(|since| self.tick >= since + AFTER_TICKS)
    }

    fn heard_migrate(&mut self, owner: Option<Peer>, hands: &mut Hands<'_>) {
        if hands.layer().own() == B {
            if owner == Some(B) {
                self.owned_since.get_or_insert(self.tick + 1);
            }
        } else if !self.said_migrated {
            self.said_migrated = true;
            hands.call(&rpc(Some(B), true, "migrated", Vec::new()));
        }
    }

    fn heard_destroy(&mut self, hands: &mut Hands<'_>) {
        self.destroy_seen = true;
        if hands.layer().own() == X && self.gate_is_shut {
            self.gate_is_shut = false;
            hands.open(A);
        }
    }

    fn grant(&mut self, hands: &mut Hands<'_>) {
        let object = Demonstration::OBJECT;
        if let Some(to) = self.wanted_by
            && hands.layer().object(object).is_some()
        {
            self.wanted_by = None;
            hands.call(&Call::Migrate { object, to });
        }
    }

    fn play_background(&mut self, hands: &mut Hands<'_>) {
        let own = f64::from(hands.layer().own().0);
        if self.background.is_empty() {
            self.background.push(hands.layer().next_object());
            hands.call(&player(&format!("player {own}"), [own * 20.0, 0.0, 0.0]));
            self.background.push(hands.layer().next_object());
            hands.call(&cube([own * 20.0, 10.0, 0.0], 40 * own as i64));
        }
        // The phases differ so that not everybody sends in the same tick.
        let phase = self.tick + 2 * own as u64;
        let angle = self.tick as f64 / 20.0;
        let around = [
            own * 20.0 + 8.0 * angle.cos(),
            10.0 + 8.0 * angle.sin(),
            0.5,
        ];
        if let [player, cube] = self.background[..] {
            if phase.is_multiple_of(6) {
                hands.call(&place(cube, around));
            }
            if phase % 12 == 3 {
                hands.call(&place(player, [around[0], around[1] - 1.5, 0.0]));
            }
        }
    }

    fn get_ready(&mut self, hands: &mut Hands<'_>) {
        let layer = hands.layer();
        let objects = layer.start().peers.len() * BACKGROUND;
        let has_all = layer.is_everybody_here() && layer.objects().count() >= objects;
        if !self.said_ready && has_all && layer.is_acked() {
            self.said_ready = true;
            self.ready.insert(layer.own());
            hands.call(&rpc(None, true, "ready", Vec::new()));
        }
    }

    fn play_x(&mut self, hands: &mut Hands<'_>) {
        let all_ready = self.ready.len() == hands.layer().start().peers.len();
        if all_ready && !self.created {
            self.created = true; // once
            self.gate_is_shut = true;
            hands.shut(A);
            hands.call(&rpc(Some(A), true, "go", Vec::new()));
        }
    }

    fn play_b(&mut self, hands: &mut Hands<'_>) {
        let object = Demonstration::OBJECT;
        let Some(since) = self.owned_since else {
            return;
        };
        if self.destroy_seen || hands.layer().object(object).is_none_or(|o| o.owner != B) {
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
        if self.tick >= since + PUSH_TICKS && self.migrated.len() >= others {
            self.destroy_seen = true;
            hands.call(&Call::Destroy { object });
        }
    }

    fn play_a(&mut self, hands: &mut Hands<'_>) {
        let id = Demonstration::OBJECT;
        let owned = hands
            .layer()
            .object(id)
            .is_some_and(|object| object.owner == A);
        if !owned || self.offered {
            return;
        }
        let age = self.tick - self.created_at;
        if age < FIRST_PUSH_TICKS {
            if age.is_multiple_of(2) {
                hands.call(&place(id, [25.0 + age as f64 / 2.0, 15.0, 0.0]));
            }
            return;
        }
        // No UPDATE of A may still be under way when the owner changes.
        let layer = hands.layer();
        if layer
            .others()
            .filter(|&peer| peer != X)
            .all(|peer| layer.is_up_to_date(id, peer))
        {
            self.offered = true;
            hands.call(&rpc(Some(B), true, "take it", Vec::new()));
        }
    }
}

impl Game for Demonstration {
    fn event(&mut self, event: &Event, hands: &mut Hands<'_>) {
        let own = hands.layer().own();
        match event {
            Event::Called { from, name, .. } => match name.as_str() {
                "ready" => {
                    self.ready.insert(*from);
                }
                "go" if own == A && *from == X && !self.created => {
                    self.created = true;
                    self.created_at = self.tick + 1;
                    self.create_seen = true;
                    hands.call(&cube([25.0, 15.0, 0.0], 200));
                }
                "take it" if own == B && *from == A => {
                    hands.call(&Call::Request {
                        object: Demonstration::OBJECT,
                    });
                }
                "migrated" if own == B => {
                    self.migrated.insert(*from);
                }
                _ => {}
            },
            Event::Requested { object, by } if *object == Demonstration::OBJECT => {
                self.wanted_by = Some(*by);
                self.grant(hands);
            }
            Event::Created { object, .. } if *object == Demonstration::OBJECT => {
                self.create_seen = true;
                self.grant(hands);
            }
            Event::Migrated { object, owner, .. } if *object == Demonstration::OBJECT => {
                self.heard_migrate(Some(*owner), hands);
            }
            Event::Destroyed { object } if *object == Demonstration::OBJECT => {
                self.heard_destroy(hands);
            }
            Event::Ignored {
                message, object, ..
            } if *object == Demonstration::OBJECT => match message {
                ObjectMessage::Create => self.create_seen = true,
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
        self.play_background(hands);
        self.get_ready(hands);
        match hands.layer().own() {
            A => self.play_a(hands),
            B => self.play_b(hands),
            X => self.play_x(hands),
            _ => {}
        }
        if self.create_seen && self.destroy_seen {
            self.done_since.get_or_insert(tick);
        }
    }

    fn is_idle(&self, layer: &NetLayer) -> bool {
        self.is_done() && layer.is_settled()
    }
}
