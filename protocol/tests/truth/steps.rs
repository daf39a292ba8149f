//! Clocks that are set by 20 ms to 10 s, at any machine, the first included.

use std::collections::BTreeMap;

use netreel_protocol::session::ClockStep;

use crate::draws::Draws;
use crate::judge::{Judged, Score};
use crate::network::{MS, Plan, SECOND, Set, World};
use crate::traffic::Kind;
use crate::{seeds, those};

fn plan(seed: u64) -> Plan {
    let mut draws = Draws(seed ^ 0x57e95);
    let machines = 2 + draws.below(5) as usize;
    let mesh = draws.per_mille(400);
    let links = match mesh {
        true => machines * (machines - 1),
        false => 2 * (machines - 1),
    };
    let kinds = match draws.below(4) {
        0 | 1 => vec![Kind::Numbered],
        2 => vec![Kind::Numbered, Kind::Resent],
        _ => vec![Kind::Numbered, Kind::Keepalive],
    };
    let seconds = draws.within(30, 120);
    let packets = draws.of(&[seconds * 4, seconds * 20]);
    let most = 30_000 / links as u64 / kinds.len() as u64;
    Plan {
        machines,
        seconds,
        packets: packets.min(most),
        mesh,
        loss_max: draws.of(&[0, 50, 200]),
        steps: 1 + draws.below(3) as usize,
        set: Set::Any(20 * MS..10 * SECOND),
        translated: draws.of(&[0, 0, 300]),
        missing: 0,
        partial: draws.of(&[0, 0, 0, 200]),
        kinds,
    }
}

/// What came of all worlds.
#[derive(Debug, Default)]
struct Counts {
    /// Steps by how large they were: up to 50 ms, 200 ms, 1 s, and above; how many are told.
    steps: [(u64, u64); 4],
    /// Told, and none was there.
    made_up: u64,
    /// Worlds whose first clock was set and that are told on it, as though others had been.
    on_it: u64,
    unexplained: u64,
    unknown: u64,
}

impl Counts {
    fn take(&mut self, judged: &Judged) {
        let world = &judged.world;
        let mut real: Vec<(u64, i128, bool)> = Vec::new();
        for machine in &world.machines {
            let those = machine.clock.steps.iter();
            real.extend(those.map(|&(at, by)| (at, by, false)));
        }
        real.sort_unstable();
        real.dedup();
        let mut told: Vec<&ClockStep> = Vec::new();
        for node in &judged.session.nodes {
            told.extend(&node.clock_steps);
        }
        for step in told {
            let is_it = |it: &&mut (u64, i128, bool)| {
                let apart = (it.1.unsigned_abs()).abs_diff(u128::from(step.by_ns.unsigned_abs()));
                apart < it.1.unsigned_abs() / 2 + 300 * u128::from(MS)
            };
            match real.iter_mut().find(is_it) {
                Some(it) => it.2 = true,
                None => self.made_up += 1,
            }
        }
        for (_, by, is_told) in real {
            let place = match by.unsigned_abs() / u128::from(MS) {
                ..=50 => 0,
                51..=200 => 1,
                201..=1000 => 2,
                _ => 3,
            };
            self.steps[place].0 += 1;
            self.steps[place].1 += u64::from(is_told);
        }
    }
}

#[test]
fn no_clock_is_outside_its_bound_though_any_clock_was_set() {
    let mut counts = Counts::default();
    let mut outside = Vec::new();
    let mut scores: BTreeMap<Kind, Score> = BTreeMap::new();
    let count = seeds(16);
    for seed in those(count) {
        let plan = plan(seed);
        let judged = Judged::new(World::play(seed, &plan));
        let mut own = BTreeMap::new();
        judged.matching(&mut own);
        for (kind, score) in own {
            if let Some(first) = score.first.as_ref().filter(|_| score.silent > 0) {
                println!("seed {seed}, {kind:?}: {} silent: {first}", score.silent);
            }
            scores.entry(kind).or_default().add(&score);
        }
        counts.take(&judged);
        match judged.times_on_any() {
            Ok((known, is_on_it)) => {
                counts.unexplained += u64::from(known.is_none());
                counts.unknown += u64::from(known == Some(0));
                counts.on_it += u64::from(is_on_it);
            }
            Err(why) => {
                println!("seed {seed}: {why}\n   {plan:?}");
                for (place, machine) in judged.world.machines.iter().enumerate() {
                    println!("   n{place:02} {:?}, {:?}", machine.clock, machine.kept);
                }
                println!("   {:#?}", judged.session.warnings());
                outside.push(seed);
            }
        }
    }
    println!("{counts:#?}\n{scores:#?}");
    println!("{} of {count} worlds outside: {outside:?}", outside.len());
    // Where packets overtake each other, which of several equal ones is whose may look sure and be wrong.
    let keepalives = scores.remove(&Kind::Keepalive).unwrap_or_default();
    assert!(
        keepalives.silent * 100_000 <= keepalives.packets,
        "{keepalives:?}"
    );
    let mut all = Score::default();
    scores.values().for_each(|score| all.add(score));
    assert_eq!((outside.len(), all.silent), (0, 0), "{scores:?}");
    assert!(counts.unexplained * 100 <= count, "{counts:?}");
}

/// A second and a half after a reel begins of which the first part is missing.
#[test]
fn a_step_soon_after_a_reel_begins_is_found() {
    let plan = plan(727);
    let judged = Judged::new(World::play(727, &plan));
    judged
        .times_on_any()
        .expect("no clock is outside its bound");
    let mut scores = BTreeMap::new();
    judged.matching(&mut scores);
    assert_eq!(scores[&Kind::Numbered].wrong, 0, "{scores:?}");
    let mut counts = Counts::default();
    counts.take(&judged);
    assert_eq!(counts.steps.map(|(all, told)| all - told), [0; 4]);
}

/// Of the time since then the other reel holds packets one way alone.
#[test]
fn a_step_just_before_the_only_other_reel_ends_is_within_the_bound() {
    let judged = Judged::new(World::play(834, &plan(834)));
    let known = judged.times_on_any();
    assert!(matches!(known, Ok((Some(1..), _))), "{known:?}");
}
