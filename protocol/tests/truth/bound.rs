//! The bound of two clocks is as tight as the packets allow, whatever stands between them: another
//! solver, which knows no hulls, tries every pair of packets that could hold a clock.

use netreel_reel::EventNumber;

use crate::draws::Draws;
use crate::judge::Judged;
use crate::network::{Kept, Plan, Set, World};
use crate::seeds;
use crate::solver::{Limit, most};
use crate::traffic::{Kind, distinct};

/// Half a million nanoseconds a second.
const DRIFT: f64 = 500e-6;

/// What the packets say of the second clock: how far it is off the first at the middle of its time, and
/// how much more at the end.
struct Limits {
    all: Vec<Limit>,
    middle: i128,
    half: f64,
    base: i128,
}

impl Limits {
    fn new(world: &World, times: (u64, u64)) -> Limits {
        let [first, second] = [0, 1].map(|place| &world.machines[place]);
        let (begin, end) = (i128::from(times.0), i128::from(times.1));
        let mut limits = Limits {
            all: Vec::new(),
            middle: (begin + end) / 2,
            half: (end - begin) as f64 / 2.0,
            base: first.clock.at_zero - second.clock.at_zero,
        };
        for sign in [1.0, -1.0] {
            limits.all.push(Limit {
                terms: vec![0.0, sign],
                most: DRIFT * limits.half,
            });
        }
        for sent in &world.sends {
            let (from, to) = (&world.machines[sent.from], &world.machines[sent.to]);
            let arrived = sent.arrived.iter().find(|&&at| to.kept.has(at));
            let Some(&arrived) = arrived.filter(|_| from.kept.has(sent.at)) else {
                continue;
            };
            let [left, came] = [from.clock.shows(sent.at), to.clock.shows(arrived)].map(i128::from);
            let (took, terms) = match sent.from {
                0 => (came + limits.base - left, limits.goal(came, -1.0)),
                _ => (came - left - limits.base, limits.goal(left, 1.0)),
            };
            limits.all.push(Limit {
                terms,
                most: took as f64,
            });
        }
        limits
    }

    fn goal(&self, at: i128, sign: f64) -> Vec<f64> {
        vec![sign, sign * (at - self.middle) as f64 / self.half]
    }

    /// Half of how wide the offsets are that the clock may have.
    fn half_width(&self, at: i128) -> f64 {
        let [up, down] = [1.0, -1.0].map(|sign| most(&self.all, &self.goal(at, sign)));
        (up + down) / 2.0
    }
}

/// Packets of engines that send in ticks take a tick each way at the least, so that the clocks may be off by
/// as much, however near the truth they are placed: no packet tells that ways there and back take equally
/// long.
#[test]
fn of_packets_that_take_a_tick_the_bound_is_a_tick_and_no_more() {
    const TICK_NS: u64 = 16_666_667;
    let mut compared = 0;
    for seed in 0..seeds(40).min(200) {
        let plan = Plan {
            machines: 2,
            seconds: 4,
            packets: 40,
            mesh: true,
            loss_max: 0,
            steps: 0,
            set: Set::Others,
            translated: 0,
            missing: 0,
            partial: 0,
            kinds: vec![Kind::Numbered],
        };
        let mut world = World::play(seed, &plan);
        if world.machines[0].host == world.machines[1].host {
            continue;
        }
        for sent in &mut world.sends {
            sent.at -= sent.at % TICK_NS;
            sent.arrived = vec![sent.at + TICK_NS];
        }
        distinct(&mut world.sends);
        let judged = Judged::new(world);
        judged.times().expect("no clock is outside its bound");
        let (node, events) = judged.events(1);
        let clock = &judged.world.machines[1].clock;
        let times: Vec<u64> = events.iter().map(|(_, at)| clock.shows(*at)).collect();
        let (Some(&begin), Some(&end)) = (times.iter().min(), times.iter().max()) else {
            continue;
        };
        let limits = Limits::new(&judged.world, (begin, end));
        for &(number, at) in events.iter().step_by(7) {
            let exact = limits.half_width(i128::from(clock.shows(at)));
            let found = judged.session.clock_error_at(node, EventNumber(number));
            let found = found.expect("its bound") as f64;
            let what = format!("seed {seed}, event {number}: {found}, exactly {exact}");
            // A clock is taken to drift by a thousandth more than the limit, for rounding.
            assert!((found - exact).abs() <= 1.0 + exact * 1e-5, "{what}");
            assert!(exact >= TICK_NS as f64 * 0.999, "{what}");
            compared += 1;
        }
    }
    assert!(compared > 10 * seeds(40).min(200), "{compared}");
}

#[test]
fn the_bound_of_two_clocks_is_exact_behind_translations_and_in_parts() {
    let (mut compared, mut unknown, mut wide) = (0, 0, 0);
    for seed in 0..seeds(40) {
        let mut draws = Draws(seed ^ 0xb0b0);
        let plan = Plan {
            machines: 2,
            seconds: draws.within(4, 600),
            packets: draws.within(20, 50),
            mesh: true,
            loss_max: 200,
            steps: 0,
            set: Set::Others,
            translated: 500,
            missing: 0,
            partial: 0,
            kinds: vec![Kind::Numbered],
        };
        let mut world = World::play(seed, &plan);
        if world.machines[0].host == world.machines[1].host {
            continue;
        }
        if draws.per_mille(500) {
            let end = plan.seconds * 1_000_000_000;
            world.machines[1].kept = Kept::Until(draws.within(end / 3, end), draws.per_mille(500));
        }
        let judged = Judged::new(world);
        let (node, events) = judged.events(1);
        let clock = &judged.world.machines[1].clock;
        let times: Vec<u64> = events.iter().map(|(_, at)| clock.shows(*at)).collect();
        let (Some(&begin), Some(&end)) = (times.iter().min(), times.iter().max()) else {
            continue;
        };
        let limits = Limits::new(&judged.world, (begin, end));
        for moment in 0..12 {
            let (number, at) = events[(events.len() - 1) * moment / 11];
            let exact = limits.half_width(i128::from(clock.shows(at)));
            let found = judged.session.clock_error_at(node, EventNumber(number));
            let found = found.unwrap_or_else(|| panic!("seed {seed}: event {number} of {node:?}"));
            if exact.is_infinite() {
                continue;
            }
            if found == u64::MAX {
                // Too few packets tell who is behind an address: it is said that nothing is known.
                unknown += 1;
                continue;
            }
            compared += 1;
            // A packet behind an address of which too little is known does not count.
            wide += u64::from(found as f64 > exact * 1.1);
            assert!(
                found as f64 + 1.0 >= exact,
                "seed {seed}, {plan:?}, event {number}: {found}, exactly {exact}; {:#?} {:#?}",
                judged.world.machines,
                judged.session.warnings()
            );
        }
    }
    let of = format!("{compared} bounds were compared, {unknown} are not known, {wide} too wide");
    assert!(
        compared > 5 * seeds(40) && (unknown + wide) * 50 <= compared,
        "{of}"
    );
}
