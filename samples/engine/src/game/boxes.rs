//! The game "boxes", played by chance: spawn boxes, push them, pick them up, destroy them, talk.

use netreel_transport::Draw;

use super::grants::Grants;
use super::{Game, Hands};
use crate::call::Call;
use crate::event::Event;
use crate::layer::NetLayer;
use crate::message::{Argument, ObjectId, Peer};
use crate::object::Object;
use crate::types::Value;

/// The number of the type "box".
pub(super) const BOX: u8 = 0;
/// The number of the type "player".
pub(super) const PLAYER: u8 = 1;

const BOX_POSITION: u8 = 0;
const BOX_YAW: u8 = 1;
const BOX_COLOR: u8 = 2;
const BOX_HELD: u8 = 3;
const BOX_WEIGHT: u8 = 4;
const PLAYER_POSITION: u8 = 0;
const PLAYER_HEALTH: u8 = 1;
const PLAYER_NAME: u8 = 2;

/// The most boxes that a player owns before it stops making more.
const BOXES_MAX: usize = 6;

/// A player that does everything that the game allows, by chance, for some ticks.
#[derive(Debug)]
pub struct Boxes {
    draw: Draw,
    active_ticks: u64,
    tick: u64,
    grants: Grants,
}

impl Boxes {
    /// What the player does follows from `seed` and its `name`; it stops after `active_ticks`.
    pub fn new(seed: u64, name: &str, active_ticks: u64) -> Boxes {
        Boxes {
            draw: Draw::named(seed, name),
            active_ticks,
            tick: 0,
            grants: Grants::default(),
        }
    }

    fn push(&mut self, id: ObjectId, object: &Object, hands: &mut Hands<'_>) {
        let mut set = |field, value| hands.call(&set(id, field, value));
        let draw = &mut self.draw;
        let mut place = |size: f64| (draw.unit() - 0.5) * size;
        let position = Value::Vector(vec![place(1000.0), place(1000.0), place(100.0)]);
        if object.state.kind == BOX {
            set(BOX_POSITION, position);
            if draw.chance(0.3) {
                set(BOX_YAW, Value::Number((draw.unit() - 0.5) * 360.0));
            }
            if draw.chance(0.1) {
                set(BOX_COLOR, Value::Integer(draw.below(256) as i64));
                set(BOX_HELD, Value::Integer(draw.below(2) as i64));
            }
            if draw.chance(0.1) {
                set(BOX_WEIGHT, Value::Number(draw.unit() * 50.0));
            }
        } else {
            set(PLAYER_POSITION, position);
            if draw.chance(0.2) {
                set(PLAYER_HEALTH, Value::Integer(draw.below(101) as i64));
            }
            if draw.chance(0.05) {
                set(
                    PLAYER_NAME,
                    Value::Text(format!("player {}", draw.below(1000))),
                );
            }
        }
    }

    fn pick<'o>(&mut self, objects: &'o [(ObjectId, Object)]) -> Option<&'o ObjectId> {
        let place = self.draw.below(objects.len() as u64) as usize;
        objects.get(place).map(|(id, _)| id)
    }
}

impl Game for Boxes {
    fn event(&mut self, event: &Event, hands: &mut Hands<'_>) {
        self.grants.event(event, hands);
    }

    fn play(&mut self, tick: u64, hands: &mut Hands<'_>) {
        self.tick = tick;
        if tick >= self.active_ticks || hands.layer().is_ended() {
            return;
        }
        let own = hands.layer().own();
        if tick == 0 {
            hands.call(&player(&format!("player {}", own.0), [0.0, 0.0, 0.0]));
        }
        let all = hands.layer().objects();
        let all = all.map(|(id, object)| (id, object.clone()));
        let (mine, mut others): (Vec<_>, Vec<_>) = all.partition(|(_, it)| it.owner == own);
        for (id, object) in &mine {
            if self.draw.chance(0.2) {
                self.push(*id, object, hands);
            }
        }
        let is_box = |it: &(ObjectId, Object)| it.1.state.kind == BOX;
        let mut boxes = mine;
        boxes.retain(is_box);
        others.retain(is_box);
        if self.draw.chance(0.06) && boxes.len() < BOXES_MAX {
            let place = [self.draw.unit() * 100.0, self.draw.unit() * 100.0, 0.0];
            hands.call(&cube(place, self.draw.below(256) as i64));
        }
        if self.draw.chance(0.03)
            && let Some(&object) = self.pick(&others)
        {
            hands.call(&Call::Request { object });
        }
        if self.draw.chance(0.03)
            && let Some(&object) = self.pick(&boxes)
        {
            hands.call(&Call::Destroy { object });
        }
        if self.draw.chance(0.03) {
            let arguments = vec![
                Argument::Int(self.draw.below(2000) as i64 - 1000),
                Argument::Float(self.draw.unit() as f32),
                Argument::Bool(self.draw.chance(0.5)),
                Argument::Object(ObjectId(self.draw.below(100))),
            ];
            hands.call(&rpc(None, self.draw.chance(0.7), "wave", arguments));
        }
        if self.draw.chance(0.01) {
            let text = "what a lot there is to say ".repeat(40 + self.draw.below(100) as usize);
            hands.call(&rpc(None, true, "speech", vec![Argument::Text(text)]));
        }
    }

    fn is_idle(&self, layer: &NetLayer) -> bool {
        self.tick + 1 >= self.active_ticks && layer.is_settled()
    }
}

/// The call that spawns a box of a colour, from 0 to 255.
pub fn cube(position: [f64; 3], color: i64) -> Call {
    let values = vec![
        Value::Vector(position.to_vec()),
        Value::Number(0.0),
        Value::Integer(color),
        Value::Integer(0),
        Value::Number(12.5),
    ];
    Call::Spawn { kind: BOX, values }
}

/// The call that spawns a player.
pub(super) fn player(name: &str, position: [f64; 3]) -> Call {
    let values = vec![
        Value::Vector(position.to_vec()),
        Value::Integer(100),
        Value::Text(name.to_owned()),
    ];
    Call::Spawn {
        kind: PLAYER,
        values,
    }
}

fn set(object: ObjectId, field: u8, value: Value) -> Call {
    Call::Set {
        object,
        field,
        value,
    }
}

/// The call that pushes a box or a player somewhere.
pub(super) fn place(object: ObjectId, position: [f64; 3]) -> Call {
    set(object, BOX_POSITION, Value::Vector(position.to_vec()))
}

/// The call that turns a box. Degrees, -180 to 180.
pub(super) fn turn(object: ObjectId, yaw: f64) -> Call {
    set(object, BOX_YAW, Value::Number(yaw))
}

/// The call that paints a box. 0 to 255.
pub(super) fn paint(object: ObjectId, color: i64) -> Call {
    set(object, BOX_COLOR, Value::Integer(color))
}

/// The call that hurts or heals a player. 0 to 100.
pub(super) fn heal(object: ObjectId, health: i64) -> Call {
    set(object, PLAYER_HEALTH, Value::Integer(health))
}

/// The call that takes a box in hand or lets it go.
pub(super) fn hold(object: ObjectId, held: bool) -> Call {
    set(object, BOX_HELD, Value::Integer(held.into()))
}

/// A call of a procedure.
pub(super) fn rpc(to: Option<Peer>, reliable: bool, name: &str, arguments: Vec<Argument>) -> Call {
    Call::Rpc {
        to,
        reliable,
        name: name.to_owned(),
        arguments,
    }
}
