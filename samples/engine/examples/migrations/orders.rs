//! Which orders of what X hears break a mode: the links to X are slow by turns, all else is fast.
//!
//! A mode is broken where, with all delivered and everybody at rest, two nodes that are still there
//! believe different things.

use std::time::Duration;

use netreel_sample_engine::{Call, Mode, Peer, Script, SimWorld, SimWorldStart, Topology};
use netreel_transport::LinkFaults;

use super::costs::{A, B, OBJECT, SECOND, X, owns, paint, spawn};

const HOST: Peer = Peer::HOST;

/// What happens to A's box.
#[derive(Clone, Copy)]
pub enum Scene {
    /// A creates it, B gets it and destroys it.
    Destroyed,
    /// A pushes it, B gets it and pushes it.
    Pushed,
    /// The same, and A gets it back.
    BackAgain,
    /// A dies as soon as HOST knows of it, which gives it to B.
    Orphaned,
}

impl Scene {
    /// All of them.
    pub const ALL: [Scene; 4] = [
        Scene::Destroyed,
        Scene::Pushed,
        Scene::BackAgain,
        Scene::Orphaned,
    ];

    /// What happens, in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Scene::Destroyed => "C, M, D",
            Scene::Pushed => "C, U, M, U",
            Scene::BackAgain => "C, U, M, U, M, U",
            Scene::Orphaned => "C, A dies, M",
        }
    }
}

/// How many orders there are of what the three others say to X, and how many break the mode.
pub fn tried(mode: Mode, scene: Scene) -> (usize, usize) {
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let broken = |slow: &&[u64; 3]| {
        let mut start = SimWorldStart::new(1, mode, Topology::PeerToPeer, Script::Idle);
        for (from, steps) in [HOST, A, B].into_iter().zip(slow.iter()) {
            let faults = LinkFaults {
                delay: Duration::from_millis(steps * 600),
                ..LinkFaults::default()
            };
            start.link_faults.insert((from, X), faults);
        }
        let mut world = SimWorld::new(&start).expect("good conditions");
        play(&mut world, scene);
        disagrees(&world)
    };
    (orders.len(), orders.iter().filter(broken).count())
}

fn play(world: &mut SimWorld, scene: Scene) {
    world.run(3 * SECOND);
    world.call(A, &spawn());
    let mut color = 10;
    let mut push = |world: &mut SimWorld, owner: Peer, ticks: u64| {
        for _ in 0..ticks {
            color += 1;
            paint(world, owner, color % 256);
            world.step();
        }
    };
    match scene {
        Scene::Destroyed => {
            give(world, B);
            world.call(B, &Call::Destroy { object: OBJECT });
        }
        Scene::Pushed => {
            push(world, A, SECOND);
            give(world, B);
            push(world, B, SECOND / 2);
        }
        Scene::BackAgain => {
            push(world, A, SECOND);
            give(world, B);
            push(world, B, SECOND / 2);
            give(world, A);
            push(world, A, SECOND / 2);
        }
        Scene::Orphaned => {
            while world.table(HOST).is_empty() {
                world.step();
            }
            world.stop(A);
            give(world, B);
        }
    }
    world.run(12 * SECOND);
    world.run_until_idle(60 * SECOND);
}

/// HOST gives the box away, and the new owner gets it.
fn give(world: &mut SimWorld, to: Peer) {
    while world.table(HOST).is_empty() {
        world.step();
    }
    world.call(HOST, &Call::Migrate { object: OBJECT, to });
    for _ in 0..20 * SECOND {
        if owns(world, to) {
            return;
        }
        world.step();
    }
}

fn disagrees(world: &SimWorld) -> bool {
    let table = world.table(HOST);
    world
        .running()
        .into_iter()
        .any(|peer| world.table(peer) != table)
}

/// How many worlds were played by chance over links that lose packets and mix up their order, and in
/// how many of them the nodes do not agree in the end.
pub fn by_chance(mode: Mode) -> (usize, usize) {
    let broken = |seed: &u64| {
        let mut start = SimWorldStart::free(*seed, mode, Topology::PeerToPeer, 2 * SECOND);
        for faults in start.link_faults.values_mut() {
            faults.reorder = 0.1;
            faults.reorder_by = Duration::from_millis(200);
        }
        let mut world = SimWorld::new(&start).expect("good conditions");
        world.run_until_idle(60 * SECOND);
        disagrees(&world)
    };
    (50, (0..50).filter(broken).count())
}
