//! Seeded play by chance: every mode and topology comes to rest, and with a cure that has no hole
//! everybody agrees.

use std::collections::BTreeSet;
use std::time::Duration;

use netreel_sample_engine::{
    Event, IgnoreReason, Mode, ObjectId, ObjectMessage, Peer, Script, SimWorld, SimWorldStart,
    Topology,
};
use netreel_transport::LinkFaults;

const SEEDS: u64 = 200;

fn start(seed: u64, mode: Mode, topology: Topology) -> SimWorldStart {
    let mut start = SimWorldStart::new(seed, mode, topology, Script::Boxes { ticks: 120 });
    start.nodes = 2 + (seed % 4) as u8;
    start.faults = LinkFaults {
        delay: Duration::from_millis(seed % 60),
        jitter: Duration::from_millis(seed * 7 % 50),
        loss: (seed % 7) as f64 * 0.05,
        duplicate: (seed % 3) as f64 * 0.15,
        reorder: (seed % 5) as f64 * 0.08,
        ..LinkFaults::default()
    };
    // One slow link, so that news overtakes older news on its way around.
    start.link_faults.insert(
        (Peer(1), Peer(3)),
        LinkFaults {
            delay: Duration::from_millis(200 + seed % 300),
            ..start.faults
        },
    );
    start
}

fn comes_to_rest(mode: Mode, topology: Topology, agrees: bool) {
    for seed in 0..SEEDS {
        let mut world = SimWorld::new(&start(seed, mode, topology)).expect("good conditions");
        assert!(
            world.run_until_idle(60 * 120),
            "{mode} seed {seed} comes to rest"
        );
        let table = world.table(Peer::HOST);
        if agrees {
            for peer in world.running() {
                assert_eq!(
                    world.table(peer),
                    table,
                    "{mode} seed {seed}: {peer:?} agrees with HOST"
                );
            }
        }
    }
}

#[test]
fn owner_mode_peer_to_peer_converges() {
    comes_to_rest(Mode::Owner, Topology::PeerToPeer, true);
}

#[test]
fn owner_mode_client_server_converges() {
    comes_to_rest(Mode::Owner, Topology::ClientServer, true);
}

#[test]
fn host_mode_peer_to_peer_comes_to_rest() {
    comes_to_rest(Mode::Host, Topology::PeerToPeer, false);
}

#[test]
fn host_mode_client_server_comes_to_rest() {
    comes_to_rest(Mode::Host, Topology::ClientServer, false);
}

/// The modes in which everybody agrees whatever order messages come in.
const WHOLE: [Mode; 4] = [Mode::Owner, Mode::Queue, Mode::Handshake, Mode::Order];

#[test]
fn queue_handshake_and_order_converge() {
    for mode in [Mode::Queue, Mode::Handshake, Mode::Order] {
        comes_to_rest(mode, Topology::PeerToPeer, true);
        comes_to_rest(mode, Topology::ClientServer, true);
    }
}

#[test]
fn the_cure_as_published_comes_to_rest() {
    comes_to_rest(Mode::Counter, Topology::PeerToPeer, false);
    comes_to_rest(Mode::Counter, Topology::ClientServer, false);
}

/// The objects that were created at a node after it had dropped a MIGRATE or DESTROY of them:
/// the race.
fn raced(world: &SimWorld, peer: Peer) -> usize {
    let mut dropped: BTreeSet<ObjectId> = BTreeSet::new();
    let mut raced = 0;
    for event in world.events(peer) {
        match event {
            Event::Ignored {
                message: ObjectMessage::Migrate | ObjectMessage::Destroy,
                object,
                because: IgnoreReason::Unknown,
            } => {
                dropped.insert(*object);
            }
            Event::Created { object, .. } => raced += usize::from(dropped.contains(object)),
            _ => {}
        }
    }
    raced
}

fn races(mode: Mode, topology: Topology) -> usize {
    let count = |seed| {
        let mut world = SimWorld::new(&start(seed, mode, topology)).expect("good conditions");
        world.run(400);
        world
            .running()
            .into_iter()
            .map(|peer| raced(&world, peer))
            .sum::<usize>()
    };
    (0..SEEDS / 4).map(count).sum()
}

#[test]
fn through_a_server_create_comes_before_migrate_before_destroy() {
    for mode in Mode::ALL {
        assert_eq!(races(mode, Topology::ClientServer), 0, "{mode}");
    }
}

#[test]
fn peer_to_peer_in_mode_host_the_race_occurs_by_chance_too() {
    assert!(races(Mode::Host, Topology::PeerToPeer) > 0);
}

/// In free play nothing is staged. The race is rare, and comes to who plays for long enough.
#[test]
fn in_free_play_the_race_comes_when_it_comes() {
    let raced = |seed: &u64| {
        let start = SimWorldStart::free(*seed, Mode::Host, Topology::PeerToPeer, 300);
        let mut world = SimWorld::new(&start).expect("good conditions");
        world.run(360);
        let nodes = world.running().into_iter();
        nodes.map(|peer| raced(&world, peer)).sum::<usize>() > 0
    };
    let seeds: Vec<u64> = (1..=60).filter(raced).collect();
    assert!((3..30).contains(&seeds.len()), "{seeds:?}");
}

/// A node crashes in the midst of play; the others agree on what is left.
fn survives_a_crash(mode: Mode, topology: Topology) {
    for seed in 0..SEEDS / 4 {
        let mut start = start(seed, mode, topology);
        start.nodes = 3 + (seed % 3) as u8;
        let mut world = SimWorld::new(&start).expect("good conditions");
        let victim = Peer(1 + (seed % u64::from(start.nodes - 1)) as u8);
        world.run(20 + seed % 100);
        world.stop(victim);
        world.run(60 * 8);
        assert!(world.run_until_idle(60 * 120), "seed {seed} comes to rest");
        let table = world.table(Peer::HOST);
        assert!(
            table.values().all(|row| row.owner != victim),
            "{mode} seed {seed}: the dead own nothing"
        );
        for peer in world.running() {
            assert_eq!(
                world.table(peer),
                table,
                "{mode} seed {seed}: {peer:?} agrees with HOST"
            );
            let left = world
                .layer(peer)
                .map(|layer| layer.others().all(|other| other != victim));
            assert_eq!(left, Some(true), "seed {seed}: {peer:?} knows");
        }
    }
}

#[test]
fn a_crash_peer_to_peer_leaves_the_others_in_agreement() {
    for mode in WHOLE {
        survives_a_crash(mode, Topology::PeerToPeer);
    }
}

#[test]
fn a_crash_in_client_server_leaves_the_others_in_agreement() {
    for mode in WHOLE {
        survives_a_crash(mode, Topology::ClientServer);
    }
}

#[test]
fn the_same_seed_plays_the_same() {
    let play = |seed| {
        let start = start(seed, Mode::Owner, Topology::PeerToPeer);
        let mut world = SimWorld::new(&start).expect("good conditions");
        world.run(200);
        let all = world
            .running()
            .into_iter()
            .map(|peer| world.events(peer).to_vec());
        all.collect::<Vec<_>>()
    };
    assert_eq!(play(5), play(5));
    assert_ne!(play(5), play(9));
}
