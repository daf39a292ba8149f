//! The game "boxes", played by a person: a player that walks, makes boxes, picks them up, pushes them
//! and throws them away, as it is told.

use std::collections::{BTreeMap, VecDeque};

use super::boxes::{BOX, cube, hold, place, player};
use super::grants::Grants;
use super::{Game, Hands};
use crate::call::Call;
use crate::event::Event;
use crate::layer::NetLayer;
use crate::message::{ObjectId, Peer};
use crate::object::Object;
use crate::types::Value;

/// How far the floor reaches from its middle, to the right and up.
pub const ARENA: [f64; 2] = [100.0, 60.0];

/// How far a player walks in a tick.
const STEP: f64 = 1.4;
/// How near a player must be to a box to do something with it.
const REACH: f64 = 14.0;
/// How far before its player a box lies that is held, or new.
const ARM: f64 = 11.0;
/// How far a box slides that is pushed, in the first tick; it slows down by as much in each.
const SHOVE: f64 = 3.0;
/// How long a box slides.
const SLIDE_TICKS: u32 = 20;
/// What has moved is told every this many ticks.
const TOLD_TICKS: u64 = 2;
/// How long a player waits for HOST before it asks for a box again.
const PATIENCE_TICKS: u64 = 180;
/// How much of what happened is remembered.
const NEWS_MAX: usize = 32;

/// What a person tells their player to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Deed {
    /// Walk this way until told otherwise: to the right and up, each -1 to 1. (0, 0) stops.
    Walk([f64; 2]),
    /// Walk to this place.
    Go([f64; 2]),
    /// Make a box.
    Spawn,
    /// Pick this box up; without one the nearest.
    PickUp(Option<ObjectId>),
    /// Put down what is held.
    PutDown,
    /// Push this box; without one what is held, or the nearest.
    Push(Option<ObjectId>),
    /// Throw this box away for ever; without one what is held, or the nearest.
    ThrowAway(Option<ObjectId>),
    /// Leave the session; HOST ends it.
    Leave,
}

/// What a player is about to do with a box once it is there and owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Pick it up.
    PickUp,
    /// Push it.
    Push,
    /// Throw it away.
    ThrowAway,
}

/// Something that happened at a player's node.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    /// When: the game's tick.
    pub tick: u64,
    /// What.
    pub event: Event,
}

/// A player for a person.
#[derive(Debug)]
pub struct Player {
    name: String,
    tick: u64,
    body: Option<ObjectId>,
    at: [f64; 2],
    /// Which way it looks: what it holds lies there. Of length 1.
    facing: [f64; 2],
    walks: [f64; 2],
    goes_to: Option<[f64; 2]>,
    deeds: VecDeque<Deed>,
    errand: Option<Errand>,
    held: Option<ObjectId>,
    sliding: BTreeMap<ObjectId, Slide>,
    spawned: u64,
    is_told: bool,
    grants: Grants,
    news: VecDeque<News>,
}

#[derive(Clone, Copy, Debug)]
struct Errand {
    doing: Doing,
    object: ObjectId,
    /// When HOST was asked for it.
    asked: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Slide {
    way: [f64; 2],
    left: u32,
}

impl Player {
    /// The player of `peer` out of `players`, at its own place on the floor.
    pub fn new(peer: Peer, name: &str, players: usize) -> Player {
        let turn = (f64::from(peer.0) + 0.5) / players.max(1) as f64 * std::f64::consts::TAU;
        // From the left above, as panes are read.
        let (x, y) = (-turn.sin(), turn.cos());
        Player {
            name: name.to_owned(),
            tick: 0,
            body: None,
            at: [x * ARENA[0] * 0.6, y * ARENA[1] * 0.6],
            facing: [if x < 0.0 { 1.0 } else { -1.0 }, 0.0],
            walks: [0.0; 2],
            goes_to: None,
            deeds: VecDeque::new(),
            errand: None,
            held: None,
            sliding: BTreeMap::new(),
            spawned: 0,
            is_told: true,
            grants: Grants::default(),
            news: VecDeque::new(),
        }
    }

    /// Tells the player to do something, at its next tick.
    pub fn tell(&mut self, deed: Deed) {
        self.deeds.push_back(deed);
    }

    /// The player's own object, from its first tick on.
    pub fn body(&self) -> Option<ObjectId> {
        self.body
    }

    /// Where it stands: to the right and up from the middle of the floor.
    pub fn at(&self) -> [f64; 2] {
        self.at
    }

    /// What it holds.
    pub fn held(&self) -> Option<ObjectId> {
        self.held
    }

    /// What it is about to do.
    pub fn errand(&self) -> Option<(Doing, ObjectId)> {
        self.errand.map(|errand| (errand.doing, errand.object))
    }

    /// What happened last, the newest at the end.
    pub fn news(&self) -> impl DoubleEndedIterator<Item = &News> {
        self.news.iter()
    }

    /// The box that is nearest to the player, as its node believes, and not in its hands.
    pub fn nearest(&self, layer: &NetLayer) -> Option<ObjectId> {
        let boxes = layer.objects().filter(|(id, object)| {
            object.state.kind == BOX && self.held != Some(*id) && object_at(object).is_some()
        });
        let far = |object: &Object| object_at(object).map_or(f64::MAX, |at| far(at, self.at));
        let nearest = boxes.min_by(|(_, one), (_, two)| far(one).total_cmp(&far(two)));
        nearest.map(|(id, _)| id)
    }

    fn begin(&mut self, deed: Deed, hands: &mut Hands<'_>) {
        let at_hand = |player: &Player, object: Option<ObjectId>, hands: &Hands<'_>| {
            object
                .or(player.held)
                .or_else(|| player.nearest(hands.layer()))
        };
        match deed {
            Deed::Walk(way) => {
                self.walks = way.map(|part| part.clamp(-1.0, 1.0));
                if self.walks != [0.0; 2] {
                    self.goes_to = None;
                    self.errand = None;
                }
            }
            Deed::Go(place) => {
                self.errand = None;
                self.goes_to = Some(on_floor(place));
            }
            Deed::Spawn => {
                let [x, y] = self.before();
                let own = u64::from(hands.layer().own().0);
                let color = (own * 64 + self.spawned * 41 + 20) % 256;
                self.spawned += 1;
                hands.call(&cube([x, y, 0.0], color as i64));
            }
            Deed::PickUp(object) => {
                let object = object.or_else(|| self.nearest(hands.layer()));
                self.set_out(Doing::PickUp, object);
            }
            Deed::PutDown => self.put_down(hands),
            Deed::Push(object) => {
                let object = at_hand(self, object, hands);
                self.set_out(Doing::Push, object);
            }
            Deed::ThrowAway(object) => {
                let object = at_hand(self, object, hands);
                self.set_out(Doing::ThrowAway, object);
            }
            Deed::Leave => {
                hands.call(&Call::Leave);
            }
        }
    }

    fn set_out(&mut self, doing: Doing, object: Option<ObjectId>) {
        self.goes_to = None;
        self.errand = object.map(|object| Errand {
            doing,
            object,
            asked: None,
        });
    }

    /// Where a box lies that this player holds or makes.
    fn before(&self) -> [f64; 2] {
        let [x, y] = self.at;
        on_floor([x + self.facing[0] * ARM, y + self.facing[1] * ARM])
    }

    fn put_down(&mut self, hands: &mut Hands<'_>) {
        if let Some(object) = self.held.take() {
            hands.call(&hold(object, false));
        }
    }

    /// Goes on with what it is about to do.
    fn run_errand(&mut self, hands: &mut Hands<'_>) {
        let Some(errand) = self.errand else { return };
        let layer = hands.layer();
        let Some(object) = layer.object(errand.object) else {
            self.errand = None; // it is gone
            return;
        };
        let is_own = object.owner == layer.own();
        let Some(at) = object_at(object).filter(|_| object.state.kind == BOX) else {
            self.errand = None; // nobody carries players about
            return;
        };
        if self.held != Some(errand.object) && far(at, self.at) > REACH {
            self.walk_to(at);
            return;
        }
        if !is_own {
            let is_due = |asked: u64| self.tick >= asked + PATIENCE_TICKS;
            if errand.asked.is_none_or(is_due) {
                self.errand = Some(Errand {
                    asked: Some(self.tick),
                    ..errand
                });
                hands.call(&Call::Request {
                    object: errand.object,
                });
            }
            return;
        }
        self.errand = None;
        match errand.doing {
            Doing::PickUp => {
                if self.held != Some(errand.object) {
                    self.put_down(hands);
                    self.held = Some(errand.object);
                    self.is_told = false;
                    hands.call(&hold(errand.object, true));
                }
            }
            Doing::Push => {
                let from = at;
                if self.held == Some(errand.object) {
                    self.put_down(hands);
                }
                let way = towards(self.at, from).unwrap_or(self.facing);
                let slide = Slide {
                    way,
                    left: SLIDE_TICKS,
                };
                self.sliding.insert(errand.object, slide);
            }
            Doing::ThrowAway => {
                if self.held == Some(errand.object) {
                    self.held = None;
                }
                self.sliding.remove(&errand.object);
                hands.call(&Call::Destroy {
                    object: errand.object,
                });
            }
        }
    }

    fn walk_to(&mut self, place: [f64; 2]) {
        if let Some(way) = towards(self.at, place) {
            let length = STEP.min(far(self.at, place));
            self.step(way, length);
        }
    }

    fn step(&mut self, way: [f64; 2], length: f64) {
        self.facing = way;
        let [x, y] = self.at;
        self.at = on_floor([x + way[0] * length, y + way[1] * length]);
        self.is_told = false;
    }

    fn walk(&mut self) {
        if let Some(way) = towards([0.0; 2], self.walks) {
            self.step(way, STEP);
        } else if let Some(place) = self.goes_to {
            self.walk_to(place);
            if far(self.at, place) < 0.1 {
                self.goes_to = None;
            }
        }
    }

    /// Tells the others where the player is, and what it carries.
    fn tell_places(&mut self, hands: &mut Hands<'_>) {
        if self.is_told || !self.tick.is_multiple_of(TOLD_TICKS) {
            return;
        }
        self.is_told = true;
        let [x, y] = self.at;
        if let Some(body) = self.body {
            hands.call(&place(body, [x, y, 0.0]));
        }
        let [x, y] = self.before();
        if let Some(held) = self.held {
            hands.call(&place(held, [x, y, 1.0]));
        }
    }

    fn slide(&mut self, hands: &mut Hands<'_>) {
        let own = hands.layer().own();
        let mut sliding = std::mem::take(&mut self.sliding);
        sliding.retain(|&id, slide| {
            let object = hands.layer().object(id).filter(|it| it.owner == own);
            let Some([x, y]) = object.and_then(object_at) else {
                return false;
            };
            let length = SHOVE * f64::from(slide.left) / f64::from(SLIDE_TICKS);
            let [x, y] = on_floor([x + slide.way[0] * length, y + slide.way[1] * length]);
            hands.call(&place(id, [x, y, 0.0]));
            slide.left -= 1;
            slide.left > 0
        });
        self.sliding = sliding;
    }

    /// Lets go of what another took, or what is gone.
    fn mind_hands(&mut self, layer: &NetLayer) {
        let own = layer.own();
        let is_own = |id| layer.object(id).is_some_and(|it: &Object| it.owner == own);
        if self.held.is_some_and(|held| !is_own(held)) {
            self.held = None;
        }
    }
}

impl Game for Player {
    fn event(&mut self, event: &Event, hands: &mut Hands<'_>) {
        self.grants.event(event, hands);
        if self.news.len() == NEWS_MAX {
            self.news.pop_front();
        }
        // What moved is seen.
        if !matches!(event, Event::Updated { .. }) {
            self.news.push_back(News {
                tick: self.tick,
                event: event.clone(),
            });
        }
    }

    fn play(&mut self, tick: u64, hands: &mut Hands<'_>) {
        self.tick = tick;
        if hands.layer().is_ended() {
            return;
        }
        if self.body.is_none() {
            self.body = Some(hands.layer().next_object());
            let [x, y] = self.at;
            hands.call(&player(&self.name, [x, y, 0.0]));
        }
        while let Some(deed) = self.deeds.pop_front() {
            self.begin(deed, hands);
        }
        self.mind_hands(hands.layer());
        self.walk();
        self.run_errand(hands);
        self.slide(hands);
        self.tell_places(hands);
    }

    fn is_idle(&self, layer: &NetLayer) -> bool {
        let rests = self.walks == [0.0; 2] && self.goes_to.is_none() && self.is_told;
        let is_done = self.deeds.is_empty() && self.errand.is_none() && self.sliding.is_empty();
        rests && is_done && layer.is_settled()
    }
}

/// Where an object is on the floor.
fn object_at(object: &Object) -> Option<[f64; 2]> {
    match object.state.values.first() {
        Some(Value::Vector(parts)) => Some([*parts.first()?, *parts.get(1)?]),
        _ => None,
    }
}

fn on_floor([x, y]: [f64; 2]) -> [f64; 2] {
    [x.clamp(-ARENA[0], ARENA[0]), y.clamp(-ARENA[1], ARENA[1])]
}

fn far([x, y]: [f64; 2], [to_x, to_y]: [f64; 2]) -> f64 {
    (to_x - x).hypot(to_y - y)
}

/// The way from one place to another, of length 1; none where there is no way to go.
fn towards(from: [f64; 2], to: [f64; 2]) -> Option<[f64; 2]> {
    let far = far(from, to);
    (far > 1e-6).then(|| [(to[0] - from[0]) / far, (to[1] - from[1]) / far])
}
