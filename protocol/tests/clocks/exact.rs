//! The bound is as tight as the packets allow: another solver, which knows no hulls and tries every
//! set of packets that could hold a clock, finds nothing narrower.

use netreel_protocol::session::NodeId;
use netreel_reel::EventNumber;

use crate::seeds;
use crate::solver::{Limit, most};
use crate::world::{Plan, Random, World};

/// Half a million nanoseconds a second.
const DRIFT: f64 = 500e-6;

/// What all packets of a world say of its clocks but the first.
struct Limits {
    all: Vec<Limit>,
    clocks: usize,
    /// For each clock the middle of its time, and half of how long that is.
    times: Vec<(i128, f64)>,
    /// For each clock what brings it near the first.
    bases: Vec<i128>,
}

impl Limits {
    fn new(world: &World) -> Limits {
        let clocks = world.clocks.len();
        let times = world.events.iter().zip(&world.clocks).map(|(own, clock)| {
            let shown = |at: Option<&u64>| i128::from(clock.shows(*at.expect("an event")));
            let (first, last) = (shown(own.first()), shown(own.last()));
            ((first + last) / 2, (last - first) as f64 / 2.0)
        });
        let mut limits = Limits {
            all: Vec::new(),
            clocks,
            times: times.collect(),
            bases: world
                .clocks
                .iter()
                .map(|clock| world.clocks[0].at_zero - clock.at_zero)
                .collect(),
        };
        for clock in 1..clocks {
            for sign in [1.0, -1.0] {
                let mut terms = vec![0.0; 2 * (clocks - 1)];
                terms[2 * clock - 1] = sign;
                let most = DRIFT * limits.times[clock].1;
                limits.all.push(Limit { terms, most });
            }
        }
        for packet in &world.packets {
            let Some(received) = packet.received.into_iter().flatten().min() else {
                continue;
            };
            let (from, to) = (packet.from, packet.to);
            let sent = i128::from(world.clocks[from].shows(packet.sent));
            let received = i128::from(world.clocks[to].shows(received));
            let took = received + limits.bases[to] - sent - limits.bases[from];
            let mut terms = limits.goal(from, sent, 1.0);
            for (term, other) in terms.iter_mut().zip(limits.goal(to, received, -1.0)) {
                *term += other;
            }
            limits.all.push(Limit {
                terms,
                most: took as f64,
            });
        }
        limits
    }

    /// How far a clock is off at a time that it shows.
    fn goal(&self, clock: usize, at: i128, sign: f64) -> Vec<f64> {
        let mut terms = vec![0.0; 2 * (self.clocks - 1)];
        if clock > 0 {
            let (middle, half) = self.times[clock];
            terms[2 * clock - 2] = sign;
            terms[2 * clock - 1] = sign * (at - middle) as f64 / half;
        }
        terms
    }

    /// Half of how wide the offsets are that a clock may have.
    fn half_width(&self, clock: usize, at: i128) -> f64 {
        let up = most(&self.all, &self.goal(clock, at, 1.0));
        let down = most(&self.all, &self.goal(clock, at, -1.0));
        (up + down) / 2.0
    }
}

/// The bound of every clock but the first is what the other solver finds, at some of its events.
#[track_caller]
fn check(world: &World, moments: usize, what: &str) {
    let limits = Limits::new(world);
    for (id, node) in world.nodes().into_iter().filter(|(_, node)| *node > 0) {
        let own = &world.events[node];
        let mut widest = 0.0f64;
        for moment in 0..moments {
            // Not the first event, which opens the socket.
            let number = 1 + (own.len() - 2) * moment / (moments - 1);
            let at = i128::from(world.clocks[node].shows(own[number]));
            let exact = limits.half_width(node, at);
            let found = world
                .session
                .clock_error_at(id, EventNumber(number as u64))
                .expect("an event that sent or received") as f64;
            let what = format!("{what}: n{node:02} at {number}: {found}, exactly {exact}");
            assert!(found <= exact * 1.1 && found + 1.0 >= exact, "{what}");
            widest = widest.max(exact);
        }
        let NodeId(place) = id;
        let found = world.session.nodes[usize::from(place)].clock_error_ns as f64;
        assert!(
            (widest - 1.0..=widest * 1.1).contains(&found),
            "{what}: n{node:02}: {found}, exactly {widest}"
        );
    }
}

fn plan(seed: u64, nodes: usize, packets: u64) -> Plan {
    let mut random = Random(seed ^ 0xe4ac7);
    Plan {
        nodes,
        seconds: random.within(2, 700),
        packets,
        mesh: true,
        loss: random.within(0, 21),
        duplicates: random.within(0, 21),
        steps: 0,
    }
}

#[test]
fn the_bound_of_two_clocks_is_exact() {
    for seed in 0..seeds() {
        let plan = plan(seed, 2, 60 + seed % 40);
        let world = World::new(seed, &plan);
        check(&world, 22, &format!("seed {seed}, {plan:?}"));
    }
}

// A world of three clocks takes fifteen times as long as one of two.
#[test]
fn the_bound_of_three_clocks_is_exact() {
    for seed in 0..seeds().div_ceil(10) {
        let plan = plan(seed, 3, 30);
        let world = World::new(seed, &plan);
        check(&world, 3, &format!("seed {seed}, {plan:?}"));
    }
}
