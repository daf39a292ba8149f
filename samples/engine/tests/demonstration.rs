//! The race of the demonstration, in both modes and both topologies.

use netreel_sample_engine::{
    Counter, Demonstration, Event, IgnoreReason, Mode, ObjectMessage, Peer, Script, SimWorld,
    SimWorldStart, Topology,
};
use netreel_transport::LinkFaults;
use std::time::Duration;

const X: Peer = Peer(3);

fn played(start: &SimWorldStart) -> SimWorld {
    let mut world = SimWorld::new(start).expect("start conditions that make sense");
    assert!(
        world.run_until_idle(60 * 60),
        "seed {}: it ends",
        start.seed
    );
    world
}

fn start(seed: u64, mode: Mode, topology: Topology) -> SimWorldStart {
    SimWorldStart::new(seed, mode, topology, Script::Demonstration)
}

/// What X's layer told of the object, in order; UPDATEs left out.
fn story(world: &SimWorld) -> Vec<String> {
    let told = world.events(X).iter().filter_map(|event| match event {
        Event::Created { object, .. } if *object == Demonstration::OBJECT => Some("created".into()),
        Event::Destroyed { object } if *object == Demonstration::OBJECT => Some("destroyed".into()),
        Event::Migrated {
            object, created, ..
        } if *object == Demonstration::OBJECT => Some(
            if *created {
                "migrated, created"
            } else {
                "migrated"
            }
            .into(),
        ),
        Event::Ignored {
            message,
            object,
            because,
        } if *object == Demonstration::OBJECT && *message != ObjectMessage::Update => {
            Some(format!("{message:?} ignored: {because:?}"))
        }
        _ => None,
    });
    told.collect()
}

fn has_zombie(world: &SimWorld, peer: Peer) -> bool {
    world.table(peer).contains_key(&Demonstration::OBJECT)
}

/// Faults that a real network might have, other ones for each seed.
fn faults(seed: u64) -> LinkFaults {
    LinkFaults {
        delay: Duration::from_millis(seed % 50),
        jitter: Duration::from_millis(seed * 7 % 40),
        loss: (seed % 5) as f64 * 0.05,
        duplicate: (seed % 3) as f64 * 0.1,
        reorder: (seed % 4) as f64 * 0.1,
        ..LinkFaults::default()
    }
}

#[test]
fn in_mode_host_x_keeps_an_object_that_nobody_owns() {
    let world = played(&start(7, Mode::Host, Topology::PeerToPeer));
    let dropped = [
        "Migrate ignored: Unknown",
        "Destroy ignored: Unknown",
        "created",
    ];
    assert_eq!(story(&world), dropped);
    assert!(has_zombie(&world, X));
    assert!((0..3).all(|peer| !has_zombie(&world, Peer(peer))));
}

#[test]
fn in_mode_host_x_drops_updates_of_what_it_does_not_know() {
    let world = played(&start(7, Mode::Host, Topology::PeerToPeer));
    let dropped = Event::Ignored {
        message: ObjectMessage::Update,
        object: Demonstration::OBJECT,
        because: IgnoreReason::Unknown,
    };
    assert!(
        world
            .events(X)
            .iter()
            .filter(|&event| *event == dropped)
            .count()
            >= 5
    );
}

#[test]
fn in_mode_owner_x_ignores_the_late_create() {
    let world = played(&start(7, Mode::Owner, Topology::PeerToPeer));
    assert_eq!(
        story(&world),
        ["migrated, created", "destroyed", "Create ignored: Stale"]
    );
    assert!((0..4).all(|peer| !has_zombie(&world, Peer(peer))));
}

#[test]
fn in_mode_owner_everybody_agrees_at_the_end() {
    let world = played(&start(7, Mode::Owner, Topology::PeerToPeer));
    let table = world.table(Peer::HOST);
    assert_eq!(table.len(), 8);
    assert!(table.values().all(|row| row.counter == Counter(0)));
    assert!((1..4).all(|peer| world.table(Peer(peer)) == table));
}

#[test]
fn the_outcome_is_the_same_under_all_faults() {
    for seed in 0..40 {
        for (mode, zombie) in [(Mode::Host, true), (Mode::Owner, false)] {
            let mut start = start(seed, mode, Topology::PeerToPeer);
            start.faults = faults(seed);
            let world = played(&start);
            assert_eq!(has_zombie(&world, X), zombie, "seed {seed}, {mode:?}");
            let last = if zombie {
                "created"
            } else {
                "Create ignored: Stale"
            };
            assert_eq!(
                story(&world).last().map(String::as_str),
                Some(last),
                "seed {seed}"
            );
        }
    }
}

#[test]
fn through_a_server_the_race_cannot_occur() {
    for seed in 0..40 {
        for mode in [Mode::Host, Mode::Owner] {
            let mut start = start(seed, mode, Topology::ClientServer);
            start.faults = faults(seed);
            let world = played(&start);
            assert_eq!(
                story(&world),
                ["created", "migrated", "destroyed"],
                "seed {seed} {mode:?}"
            );
            assert!(!has_zombie(&world, X));
        }
    }
}

#[test]
fn more_players_change_nothing() {
    let mut start = start(3, Mode::Host, Topology::PeerToPeer);
    start.nodes = 6;
    assert!(has_zombie(&played(&start), X));
}
