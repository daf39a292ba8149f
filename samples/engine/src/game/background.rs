//! What a player of the demonstration does beside the race: it runs about and pushes a box.

use std::f64::consts::TAU;

use netreel_transport::Draw;

use super::Hands;
use super::boxes::{cube, heal, paint, place, player, turn};
use crate::message::ObjectId;

/// A player and its box, moved about at places and moments that are drawn.
///
/// The calls of tick n follow from the seed, the name and n: how the network is makes no
/// difference.
#[derive(Debug)]
pub struct Background {
    draw: Draw,
    /// The player and the box, once there.
    objects: Option<(ObjectId, ObjectId)>,
    /// How far the ticks in which something is pushed are moved.
    phase: u64,
    /// The circle on which the player pushes the box.
    middle: [f64; 2],
    radius: f64,
    start_angle: f64,
    angle_per_tick: f64,
}

impl Background {
    /// How many objects it spawns, in the first tick.
    pub const OBJECTS: usize = 2;

    /// What is done follows from `seed` and `name`.
    pub fn new(seed: u64, name: &str) -> Background {
        let mut draw = Draw::named(seed, name);
        let mut between = |low: f64, high: f64| low + draw.unit() * (high - low);
        let middle = [between(-60.0, 60.0), between(-60.0, 60.0)];
        let radius = between(5.0, 10.0);
        let start_angle = between(0.0, TAU);
        let angle_per_tick = between(0.03, 0.07);
        Background {
            objects: None,
            phase: draw.below(12),
            middle,
            radius,
            start_angle,
            angle_per_tick,
            draw,
        }
    }

    /// One tick: numbered from 0, none left out.
    pub fn play(&mut self, tick: u64, hands: &mut Hands<'_>) {
        let angle = self.start_angle + tick as f64 * self.angle_per_tick;
        let on_circle = |radius: f64| {
            let [x, y] = self.middle;
            [x + radius * angle.cos(), y + radius * angle.sin(), 0.5]
        };
        let Some((player, cube)) = self.objects else {
            let name = format!("player {}", hands.layer().own().0);
            self.spawn(&name, on_circle(self.radius), hands);
            return;
        };
        let moment = tick + self.phase;
        if moment.is_multiple_of(6) {
            hands.call(&place(cube, on_circle(self.radius)));
            if self.draw.chance(0.25) {
                hands.call(&turn(cube, (self.draw.unit() - 0.5) * 360.0));
            }
            if self.draw.chance(0.1) {
                hands.call(&paint(cube, self.draw.below(256) as i64));
            }
        }
        if moment % 12 == 3 {
            hands.call(&place(player, on_circle(self.radius - 1.5)));
            if self.draw.chance(0.2) {
                hands.call(&heal(player, self.draw.below(101) as i64));
            }
        }
    }

    fn spawn(&mut self, name: &str, position: [f64; 3], hands: &mut Hands<'_>) {
        let own = hands.layer().next_object();
        hands.call(&player(name, position));
        let pushed = hands.layer().next_object();
        hands.call(&cube(position, self.draw.below(256) as i64));
        self.objects = Some((own, pushed));
    }
}
