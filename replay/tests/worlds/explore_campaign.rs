//! What exploring comes to where it is given time: `NETREEL_ZOMBIES=SESSIONS` looks for the zombie in so many
//! healthy recordings, `NETREEL_SPACE=OBJECTS` goes through the orders of a small session.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use netreel_protocol::session::PacketId;
use netreel_replay::explore::{Explored, Ground, Outcome, Told, explore};
use netreel_sample_engine::{Call, Mode, Peer, Script, SimWorldStart, Topology, cube};

use crate::explore::{ground, healthy, limits, maker, written};
use crate::recorded::{record_played, wire};
use crate::story::session;
use crate::together::errors;

fn asked(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// The first run from a healthy recording whose session, written anew, has a zombie; and how many seconds it
/// took.
fn zombie_from(ground: &Arc<Ground>) -> Option<(u64, f64)> {
    let begun = Instant::now();
    let mut limits = limits(100_000);
    limits.tries.hold_max_ns = 3_000_000_000;
    let mut found = None;
    let makers = || maker(ground);
    let explored = explore(ground, &makers, Some(&wire()), &limits, &mut |told| {
        if let Told::Wrong(wrong, _) = told
            && errors(&written(ground, &wrong.changes)).contains(&"zombie-object")
        {
            found = Some(wrong.run);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    explored.unwrap_or_else(|never| match never {});
    Some((found?, begun.elapsed().as_secs_f64()))
}

/// Of so many recordings of *boxes* with the historic migration in which nothing is wrong.
#[test]
fn the_zombie_is_confirmed_from_every_healthy_recording() {
    let sessions = asked("NETREEL_ZOMBIES").unwrap_or(1);
    println!("| seed | packets | in run | seconds |");
    println!("|---|---|---|---|");
    let recordings = (0..).map(|seed| (seed, healthy(seed, Mode::Host, 240)));
    let healthy = recordings.filter(|(_, reels)| errors(reels).is_empty());
    for (seed, reels) in healthy.take(usize::try_from(sessions).expect("few")) {
        let packets = session(&reels).packet_count();
        let found = zombie_from(&ground(&reels));
        let (run, seconds) = found.unwrap_or_else(|| panic!("seed {seed}: no zombie"));
        println!("| {seed} | {packets} | {run} | {seconds:.1} |");
    }
}

/// A session of four nodes: A creates so many objects, the first goes to B and back, and A destroys it.
fn there_and_back_again(mode: Mode, objects: u64) -> Vec<Vec<u8>> {
    let start = SimWorldStart::new(1, mode, Topology::PeerToPeer, Script::Idle);
    record_played(&start, None, |world| {
        let (host, a, b) = (Peer(0), Peer(1), Peer(2));
        world.run(30);
        let mut made = Vec::new();
        for _ in 0..objects {
            let layer = world.layer(a).expect("it runs");
            made.push(layer.next_object());
            world.call(a, &cube([1.0, 2.0, 3.0], 7));
            world.run(1);
        }
        world.run(12);
        let object = made[0];
        world.call(host, &Call::Migrate { object, to: b });
        world.run(20);
        world.call(host, &Call::Migrate { object, to: a });
        world.run(20);
        world.call(a, &Call::Destroy { object });
        world.run(30);
    })
}

/// In how many orders all messages of a session could reach all nodes, those of each object by themselves:
/// the logarithm to base 10 of the product.
fn brute_force(reels: &[Vec<u8>]) -> f64 {
    let session = session(reels);
    let mut heard: BTreeMap<(u16, u64), BTreeMap<u16, BTreeSet<u64>>> = BTreeMap::new();
    for (place, packet) in session.packets().enumerate() {
        let id = PacketId(u32::try_from(place).expect("few"));
        for message in &session.look(id).messages {
            if let (Some(object), Some(of)) = (message.object, message.reliable_sequence) {
                let senders = heard.entry((packet.to.0, object)).or_default();
                senders.entry(packet.from.0).or_default().insert(of.value);
            }
        }
    }
    let log = |n: usize| (1..=n).map(|it| (it as f64).log10()).sum::<f64>();
    let places = heard.values().map(|senders| {
        let all: usize = senders.values().map(BTreeSet::len).sum();
        log(all) - senders.values().map(|it| log(it.len())).sum::<f64>()
    });
    places.sum()
}

fn through(ground: &Arc<Ground>, (changes, runs): (usize, u64)) -> (Explored, Vec<Outcome>) {
    let mut limits = limits(runs);
    limits.changes_max = changes;
    limits.tries.losses = 1;
    limits.tries.hold_max_ns = i64::MAX;
    let mut found = Vec::new();
    let wire = wire();
    let makers = || maker(ground);
    let explored = explore(ground, &makers, Some(&wire), &limits, &mut |told| {
        if let Told::Wrong(wrong, _) = told {
            found.push(Outcome::of(&wrong.ran));
        }
        ControlFlow::Continue(())
    });
    (explored.unwrap_or_else(|never| match never {}), found)
}

/// `NETREEL_SPACE_RUNS` and `NETREEL_SPACE_CHANGES` bound it: 400 runs, 2 changes.
#[test]
fn the_four_cures_hold_in_the_orders_of_a_small_session() {
    let objects = asked("NETREEL_SPACE").unwrap_or(1);
    let runs = asked("NETREEL_SPACE_RUNS").unwrap_or(400);
    let changes = asked("NETREEL_SPACE_CHANGES").unwrap_or(2);
    let changes = usize::try_from(changes).expect("few");
    println!("| mode | brute force | runs | orders | saved | unreached | whole | seconds |");
    println!("|---|---|---|---|---|---|---|---|");
    for mode in [Mode::Owner, Mode::Queue, Mode::Handshake, Mode::Order] {
        let reels = there_and_back_again(mode, objects);
        assert_eq!(errors(&reels), [""; 0], "{mode:?}");
        let begun = Instant::now();
        let (explored, found) = through(&ground(&reels), (changes, runs));
        let counts = explored.counts;
        println!(
            "| {mode:?} | 10^{:.1} | {} | {} | {} | {} | {} | {:.0} |",
            brute_force(&reels),
            counts.runs,
            counts.orders,
            counts.saved,
            counts.unreached,
            explored.whole,
            begun.elapsed().as_secs_f64()
        );
        assert_eq!(found, [], "{mode:?}");
    }
}
