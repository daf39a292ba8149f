//! Who is in a session: time-outs, leaving, dropping out, partitions.

use std::time::Duration;

use netreel_sample_engine::{
    Call, EndReason, Event, Mode, ObjectId, Peer, Refusal, Script, SimWorld, SimWorldStart,
    Topology, Value,
};
use netreel_transport::LinkEnd;

const HOST: Peer = Peer::HOST;
const A: Peer = Peer(1);
const B: Peer = Peer(2);
const X: Peer = Peer(3);
/// A's first object.
const OBJECT: ObjectId = ObjectId(40);
/// A second of ticks.
const SECOND: u64 = 60;

fn world(change: impl FnOnce(&mut SimWorldStart), mode: Mode, topology: Topology) -> SimWorld {
    let mut start = SimWorldStart::new(1, mode, topology, Script::Idle);
    change(&mut start);
    SimWorld::new(&start).expect("good conditions")
}

/// A session a second old in which A has a box that everybody knows.
fn with_box(mode: Mode, topology: Topology, change: impl FnOnce(&mut SimWorldStart)) -> SimWorld {
    let mut world = world(change, mode, topology);
    world.call(
        A,
        &Call::Spawn {
            kind: 0,
            values: vec![
                Value::Vector(vec![1.0, 2.0, 3.0]),
                Value::Number(0.0),
                Value::Integer(5),
                Value::Integer(0),
                Value::Number(1.0),
            ],
        },
    );
    world.run(SECOND);
    for peer in [HOST, A, B, X] {
        assert_eq!(owner(&world, peer), Some(A));
    }
    world
}

fn owner(world: &SimWorld, peer: Peer) -> Option<Peer> {
    world.table(peer).get(&OBJECT).map(|row| row.owner)
}

fn cut(world: &SimWorld, one: Peer, two: Peer) {
    for (from, to) in [(one, two), (two, one)] {
        let gates = world.gates(from).expect("a node");
        gates.shut(LinkEnd(from.0.into()), LinkEnd(to.0.into()));
    }
}

fn all_cases() -> impl Iterator<Item = (Mode, Topology)> {
    let topologies = [Topology::PeerToPeer, Topology::ClientServer];
    Mode::ALL
        .into_iter()
        .flat_map(move |mode| topologies.map(|t| (mode, t)))
}

#[test]
fn a_peer_that_falls_silent_is_dropped_and_its_objects_live_on() {
    for (mode, topology) in all_cases() {
        let mut world = with_box(mode, topology, |_| {});
        world.stop(A);
        world.run(4 * SECOND);
        assert_eq!(owner(&world, HOST), Some(A), "not yet");
        world.run(3 * SECOND);
        let heir = owner(&world, HOST).expect("it lives");
        assert_ne!(heir, A);
        for peer in [B, X] {
            assert_eq!(
                owner(&world, peer),
                Some(heir),
                "{mode:?} {topology:?} {peer:?}"
            );
            assert!(world.events(peer).contains(&Event::Left { peer: A }));
        }
    }
}

const ALL: [Peer; 4] = [HOST, A, B, X];

/// A session in which all nodes stood still for an hour.
fn after_an_hour(mode: Mode, topology: Topology, before: &[Call]) -> SimWorld {
    let mut world = with_box(mode, topology, |_| {});
    for peer in ALL {
        before.iter().for_each(|call| world.call(peer, call));
    }
    world.run(SECOND);
    // What is still on its way would be heard first.
    for (one, two) in [(HOST, A), (HOST, B), (HOST, X), (A, B), (A, X), (B, X)] {
        cut(&world, one, two);
    }
    world.run(SECOND);
    world.net().advance(Duration::from_secs(3600));
    world.run(2);
    for one in ALL {
        let gates = world.gates(one).expect("a node");
        for two in ALL.into_iter().filter(|two| *two != one) {
            gates.open(LinkEnd(one.0.into()), LinkEnd(two.0.into()));
        }
    }
    world
}

fn has_timed_out(world: &SimWorld) -> bool {
    let is_end = |event: &Event| matches!(event, Event::Left { .. } | Event::SessionEnded { .. });
    ALL.into_iter()
        .any(|peer| world.events(peer).iter().any(is_end))
}

#[test]
fn an_hour_that_all_stand_still_ends_the_session_unless_its_time_outs_were_turned_off() {
    for (mode, topology) in all_cases() {
        let mut world = after_an_hour(mode, topology, &[]);
        assert!(has_timed_out(&world), "{mode:?} {topology:?}: they are on");

        let off = Call::TimeOuts { on: false };
        world = after_an_hour(mode, topology, &[off]);
        world.run(10 * SECOND);
        assert!(!has_timed_out(&world), "{mode:?} {topology:?}");
        assert!(ALL.into_iter().all(|peer| owner(&world, peer) == Some(A)));
    }
}

#[test]
fn time_outs_that_are_turned_on_again_count_from_then() {
    for (mode, topology) in all_cases() {
        let off = Call::TimeOuts { on: false };
        let mut world = after_an_hour(mode, topology, &[off]);
        for peer in ALL {
            world.call(peer, &Call::TimeOuts { on: true });
        }
        world.run(10 * SECOND);
        assert!(!has_timed_out(&world), "{mode:?} {topology:?}: at once");
        world.stop(A);
        world.run(7 * SECOND);
        assert!(has_timed_out(&world), "{mode:?} {topology:?}: they are on");
    }
}

#[test]
fn a_peer_that_leaves_is_gone_at_once_and_its_objects_live_on() {
    for (mode, topology) in all_cases() {
        let mut world = with_box(mode, topology, |_| {});
        world.call(A, &Call::Leave);
        world.run(SECOND / 2);
        let heir = owner(&world, HOST).expect("it lives");
        assert_ne!(heir, A);
        for peer in [B, X] {
            assert_eq!(
                owner(&world, peer),
                Some(heir),
                "{mode:?} {topology:?} {peer:?}"
            );
        }
        let ended = Event::SessionEnded {
            because: EndReason::OwnLeave,
        };
        assert!(world.events(A).contains(&ended));
        assert!(
            world.layer(A).is_some_and(|layer| layer.is_acked()),
            "{mode:?} {topology:?}"
        );
    }
}

#[test]
fn the_heir_can_push_what_it_has_inherited() {
    for (mode, topology) in all_cases() {
        let mut world = with_box(mode, topology, |_| {});
        world.call(A, &Call::Leave);
        world.run(SECOND);
        let heir = owner(&world, HOST).expect("it lives");
        world.call(
            heir,
            &Call::Set {
                object: OBJECT,
                field: 2,
                value: Value::Integer(77),
            },
        );
        world.run(SECOND);
        for peer in [HOST, B, X] {
            let row = world.table(peer).remove(&OBJECT).expect("it lives");
            assert_eq!(
                row.state.values[2],
                Value::Integer(77),
                "{mode:?} {topology:?} {peer:?}"
            );
        }
    }
}

#[test]
fn when_host_leaves_the_session_ends() {
    for (mode, topology) in all_cases() {
        let mut world = with_box(mode, topology, |_| {});
        world.call(HOST, &Call::Leave);
        world.run(SECOND / 2);
        for peer in [A, B, X] {
            let ended = Event::SessionEnded {
                because: EndReason::HostLeft,
            };
            assert_eq!(world.events(peer).last(), Some(&ended));
        }
        assert!(world.layer(HOST).is_some_and(|layer| layer.is_acked()));
    }
}

#[test]
fn when_host_falls_silent_the_session_ends() {
    for (mode, topology) in all_cases() {
        let mut world = with_box(mode, topology, |_| {});
        world.stop(HOST);
        world.run(6 * SECOND);
        for peer in [A, B, X] {
            let ended = Event::SessionEnded {
                because: EndReason::HostSilent,
            };
            assert_eq!(
                world.events(peer).last(),
                Some(&ended),
                "{mode:?} {topology:?}"
            );
        }
    }
}

#[test]
fn after_its_end_a_session_takes_no_calls() {
    let mut world = with_box(Mode::Owner, Topology::PeerToPeer, |_| {});
    world.call(A, &Call::Leave);
    world.run(1);
    world.call(A, &Call::Destroy { object: OBJECT });
    world.run(SECOND);
    assert!(owner(&world, X).is_some());
}

#[test]
fn with_time_outs_off_nobody_is_ever_dropped() {
    for (mode, topology) in all_cases() {
        let mut world = with_box(mode, topology, |start| {
            start.without_time_outs.extend([HOST, A, B, X])
        });
        world.stop(A);
        world.run(60 * SECOND);
        for peer in [HOST, B, X] {
            assert_eq!(owner(&world, peer), Some(A));
            assert!(!world.events(peer).contains(&Event::Left { peer: A }));
        }
    }
}

/// Whether X asks HOST what became of A's box when A has left and X cannot hear the heir.
fn x_asks_for_the_orphan(time_outs: bool) -> bool {
    let mut world = with_box(Mode::Owner, Topology::PeerToPeer, |start| {
        if !time_outs {
            start.without_time_outs.extend([HOST, A, B, X]);
        }
    });
    cut(&world, B, X);
    world.call(A, &Call::Leave);
    world.run(60 * SECOND);
    assert_eq!(owner(&world, HOST), Some(B), "the heir");
    let asked = Event::Requested {
        object: OBJECT,
        by: X,
    };
    world.events(HOST).contains(&asked)
}

#[test]
fn with_time_outs_off_nobody_asks_what_became_of_an_object() {
    assert!(x_asks_for_the_orphan(true));
    assert!(!x_asks_for_the_orphan(false));
}

#[test]
fn a_peer_that_never_says_a_word_is_dropped_later_than_one_that_falls_silent() {
    let mut world = world(|_| {}, Mode::Owner, Topology::PeerToPeer);
    world.stop(A);
    world.run(29 * SECOND);
    assert!(!world.events(HOST).contains(&Event::Left { peer: A }));
    world.run(2 * SECOND);
    assert!(world.events(HOST).contains(&Event::Left { peer: A }));
}

#[test]
fn a_link_between_two_guests_may_be_silent_for_ever() {
    let mut world = with_box(Mode::Owner, Topology::PeerToPeer, |_| {});
    cut(&world, A, X);
    world.run(20 * SECOND);
    for peer in [HOST, A, B, X] {
        assert_eq!(
            owner(&world, peer),
            Some(A),
            "who is in the session is for HOST to say"
        );
    }
}

/// The fixture of two owners: A and HOST cannot hear each other, and A waits for ever.
fn partitioned(mode: Mode) -> SimWorld {
    let mut world = with_box(mode, Topology::PeerToPeer, |start| {
        start.without_time_outs.insert(A);
    });
    cut(&world, A, HOST);
    world.run(10 * SECOND);
    world
}

#[test]
fn a_partition_from_host_alone_makes_two_owners() {
    for mode in [Mode::Host, Mode::Owner] {
        let world = partitioned(mode);
        let heir = owner(&world, HOST).expect("it lives");
        assert_ne!(heir, A);
        assert_eq!(owner(&world, B), Some(heir));
        assert_eq!(owner(&world, X), Some(heir));
        assert_eq!(
            owner(&world, A),
            Some(A),
            "A believes itself the owner still"
        );
    }
}

#[test]
fn who_was_dropped_and_speaks_again_is_told() {
    for (mode, topology) in all_cases() {
        let mut world = with_box(mode, topology, |start| {
            start.without_time_outs.insert(A);
        });
        cut(&world, A, HOST);
        world.run(6 * SECOND);
        assert_eq!(owner(&world, A), Some(A));
        for (from, to) in [(A, HOST), (HOST, A)] {
            let gates = world.gates(from).expect("a node");
            gates.open(LinkEnd(from.0.into()), LinkEnd(to.0.into()));
        }
        world.run(SECOND);
        let ended = Event::SessionEnded {
            because: EndReason::Dropped,
        };
        assert_eq!(
            world.events(A).last(),
            Some(&ended),
            "{mode:?} {topology:?}"
        );
        assert_ne!(owner(&world, HOST), Some(A), "and stays out");
    }
}

#[test]
fn who_was_dropped_is_not_listened_to() {
    let mut world = partitioned(Mode::Owner);
    world.call(
        A,
        &Call::Set {
            object: OBJECT,
            field: 2,
            value: Value::Integer(99),
        },
    );
    world.run(SECOND);
    for peer in [B, X] {
        let row = world.table(peer).remove(&OBJECT).expect("it lives");
        assert_eq!(row.state.values[2], Value::Integer(5));
    }
}

#[test]
fn a_call_to_a_peer_that_is_gone_is_refused() {
    let mut world = with_box(Mode::Owner, Topology::PeerToPeer, |_| {});
    world.call(A, &Call::Leave);
    world.run(SECOND);
    let name = "anybody".to_owned();
    world.call(
        B,
        &Call::Rpc {
            to: Some(A),
            reliable: true,
            name,
            arguments: vec![],
        },
    );
    world.step();
    assert!(world.events(B).contains(&Event::Refused {
        because: Refusal::NoPeer
    }));
    world.call(
        HOST,
        &Call::Migrate {
            object: OBJECT,
            to: A,
        },
    );
    assert_ne!(owner(&world, HOST), Some(A));
}
