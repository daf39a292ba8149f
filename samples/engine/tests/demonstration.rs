//! The race of the demonstration, in both modes and both topologies.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use netreel_sample_engine::{
    Call, Counter, Demonstration, Event, IgnoreReason, Mode, ObjectMessage, Peer, Script, SimWorld,
    SimWorldStart, Topology,
};
use netreel_transport::{
    Datagram, Faults, LinkEnd, LinkFaults, ReceiveError, SendError, SimTransport, Time, Transport,
};

const A: Peer = Peer(1);
const B: Peer = Peer(2);
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

/// Links that keep the order of packets, each as slow as it likes at the moment.
fn jitter(seed: u64) -> LinkFaults {
    LinkFaults {
        delay: Duration::from_millis(seed % 7 * 10),
        jitter: Duration::from_millis(10 + seed * 37 % 150),
        ..LinkFaults::default()
    }
}

/// Plays on slow links to the end, and says whether A and B ever owned the object both.
fn had_two_owners(seed: u64, mode: Mode, topology: Topology) -> bool {
    let mut start = start(seed, mode, topology);
    start.faults = jitter(seed);
    let mut world = SimWorld::new(&start).expect("start conditions that make sense");
    let owns = |world: &SimWorld, peer| {
        let table = world.table(peer);
        table
            .get(&Demonstration::OBJECT)
            .is_some_and(|row| row.owner == peer)
    };
    let mut both = false;
    for _ in 0..60 * 60 {
        world.step();
        both |= owns(&world, A) && owns(&world, B);
        if world.is_idle() {
            return both;
        }
    }
    panic!("seed {seed} {mode:?} {topology:?}: it does not end")
}

#[test]
fn in_mode_host_a_always_stops_before_b_starts() {
    for seed in 0..40 {
        for topology in [Topology::PeerToPeer, Topology::ClientServer] {
            let both = had_two_owners(seed, Mode::Host, topology);
            assert!(!both, "seed {seed} {topology:?}");
        }
    }
}

#[test]
fn in_mode_owner_b_always_starts_before_a_stops() {
    for seed in 0..40 {
        for topology in [Topology::PeerToPeer, Topology::ClientServer] {
            let both = had_two_owners(seed, Mode::Owner, topology);
            assert!(both, "seed {seed} {topology:?}");
        }
    }
}

#[test]
fn on_links_that_keep_the_order_only_x_ignores_anything_whatever_the_delays() {
    for seed in 0..40 {
        for mode in [Mode::Host, Mode::Owner] {
            for topology in [Topology::PeerToPeer, Topology::ClientServer] {
                let mut start = start(seed, mode, topology);
                start.faults = jitter(seed);
                let world = played(&start);
                for peer in [Peer::HOST, A, B] {
                    let mut events = world.events(peer).iter();
                    let ignored = events.find(|event| matches!(event, Event::Ignored { .. }));
                    assert_eq!(ignored, None, "seed {seed} {mode:?} {topology:?} {peer:?}");
                }
                let old = |event: &&Event| {
                    let because = IgnoreReason::Unknown;
                    matches!(event, Event::Ignored { because: why, .. } if *why != because)
                };
                let late_create = Event::Ignored {
                    message: ObjectMessage::Create,
                    object: Demonstration::OBJECT,
                    because: IgnoreReason::Stale,
                };
                let expected = match (mode, topology) {
                    (Mode::Owner, Topology::PeerToPeer) => vec![&late_create],
                    _ => vec![],
                };
                let found: Vec<&Event> = world.events(X).iter().filter(old).collect();
                assert_eq!(found, expected, "seed {seed} {mode:?} {topology:?}");
            }
        }
    }
}

/// What a node's game called, for a test to read.
type Calls = Arc<Mutex<Vec<Call>>>;

struct Overheard {
    inner: Faults<SimTransport>,
    calls: Calls,
}

impl Transport for Overheard {
    fn now(&mut self) -> Time {
        self.inner.now()
    }

    fn random(&mut self) -> u64 {
        self.inner.random()
    }

    fn send(&mut self, to: SocketAddr, packet: &[u8]) -> Result<(), SendError> {
        self.inner.send(to, packet)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        self.inner.receive(buffer)
    }

    fn tick(&mut self, tick: u64, time: Time) {
        self.inner.tick(tick, time);
    }

    fn input(&mut self, call: &[u8]) {
        let call = Call::decode(call).expect("what the game encoded");
        self.calls.lock().expect("one thread").push(call);
        self.inner.input(&[]);
    }

    fn note(&mut self, text: &str) {
        self.inner.note(text);
    }
}

/// The first 60 calls of each node that are not about the race.
fn background_calls(seed: u64, latency: Duration) -> Vec<Vec<Call>> {
    let mut start = start(seed, Mode::Owner, Topology::PeerToPeer);
    start.latency = latency;
    let mut all: Vec<Calls> = Vec::new();
    let mut world = SimWorld::wrapped(&start, |_, inner| {
        let calls = Calls::default();
        all.push(Arc::clone(&calls));
        Box::new(Overheard { inner, calls })
    })
    .expect("start conditions that make sense");
    assert!(world.run_until_idle(60 * 60), "it ends");
    let of_node = |calls: &Calls| {
        let mut spawned = 0;
        let calls = calls.lock().expect("one thread");
        let background = calls.iter().filter(|call| match call {
            Call::Spawn { .. } => {
                spawned += 1;
                spawned <= 2
            }
            Call::Set { object, .. } => *object != Demonstration::OBJECT,
            _ => false,
        });
        let background: Vec<Call> = background.take(60).cloned().collect();
        assert!(background.len() > 20, "the players play");
        background
    };
    all.iter().map(of_node).collect()
}

/// Lists cut to the length of the shorter: a slow network makes the play longer, not other.
fn common(one: &[Vec<Call>], other: &[Vec<Call>]) -> (Vec<Vec<Call>>, Vec<Vec<Call>>) {
    let cut = |(one, other): (&Vec<Call>, &Vec<Call>)| {
        let length = one.len().min(other.len());
        (one[..length].to_vec(), other[..length].to_vec())
    };
    one.iter().zip(other).map(cut).unzip()
}

#[test]
fn one_seed_plays_the_same_background_on_a_fast_network_and_on_a_slow_one() {
    let fast = background_calls(7, Duration::from_millis(1));
    let slow = background_calls(7, Duration::from_millis(80));
    let (fast, slow) = common(&fast, &slow);
    assert_eq!(fast, slow);
}

#[test]
fn another_seed_plays_another_background_at_every_node() {
    let latency = Duration::from_millis(10);
    let (one, other) = (background_calls(7, latency), background_calls(8, latency));
    for (one, other) in one.iter().zip(&other) {
        assert_ne!(one, other);
    }
}

/// Plays with HOST deaf to A for `deaf` ticks from `at` on, and, but for one tick in between, for
/// 20 more; whether HOST ignored anything.
fn host_ignores(mode: Mode, at: u64, deaf: u64) -> bool {
    let mut world = SimWorld::new(&start(7, mode, Topology::PeerToPeer)).expect("good conditions");
    let gates = world.gates(Peer::HOST).expect("a node");
    let (from, to) = (LinkEnd(A.0.into()), LinkEnd(0));
    world.run(at);
    for ticks in [deaf, 20] {
        gates.shut(from, to);
        world.run(ticks);
        gates.open(from, to);
        world.run(1);
    }
    assert!(world.run_until_idle(60 * 60), "at {at}, {deaf}: it ends");
    let mut events = world.events(Peer::HOST).iter();
    events.any(|event| matches!(event, Event::Ignored { .. }))
}

#[test]
fn no_update_that_a_sent_twice_comes_late() {
    for at in 20..60 {
        for deaf in [9, 10, 11, 12] {
            let ignored = host_ignores(Mode::Owner, at, deaf);
            assert!(!ignored, "at {at}, {deaf}");
        }
    }
}
