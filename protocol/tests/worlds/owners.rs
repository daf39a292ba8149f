//! Two nodes that both believe that they own an object.

use std::time::Duration;

use netreel_protocol::history::{Belief, Finding, Level};
use netreel_sample_engine::{
    Call, Mode, ObjectId, Peer, Script, SimWorld, SimWorldStart, Topology, cube,
};
use netreel_transport::{LinkEnd, LinkFaults};

use crate::played::Played;

const HOST: Peer = Peer(0);
const A: Peer = Peer(1);
const B: Peer = Peer(2);
/// The first object of A.
const OBJECT: ObjectId = ObjectId(40);

/// A owns an object. A and HOST cannot hear each other for a while, all others hear everybody;
/// meanwhile HOST makes B its owner.
fn partition(mode: Mode, heals: bool) -> Played {
    let mut start = SimWorldStart::new(1, mode, Topology::PeerToPeer, Script::Idle);
    start.without_time_outs = (0..4).map(Peer).collect();
    start.latency = Duration::from_millis(5);
    Played::new(&start, |world| {
        world.run(30);
        world.call(A, &cube([1.0, 2.0, 3.0], 7));
        world.run(30);
        shut(world, true);
        world.call(
            HOST,
            &Call::Migrate {
                object: OBJECT,
                to: B,
            },
        );
        world.run(60);
        if heals {
            shut(world, false);
            world.run(120);
        }
    })
}

fn shut(world: &SimWorld, shut: bool) {
    for (from, to) in [(HOST, A), (A, HOST)] {
        let gates = world.gates(to).expect("every node has gates");
        let (from, to) = (LinkEnd(u16::from(from.0)), LinkEnd(u16::from(to.0)));
        if shut {
            gates.shut(from, to)
        } else {
            gates.open(from, to)
        }
    }
}

fn check(played: &Played, level: Level, sentence_has: &[&str]) {
    let found = played.findings("two-owners");
    let [
        Finding {
            level: found_level,
            sentence,
            objects,
            ..
        },
    ] = found[..]
    else {
        panic!("{found:?}");
    };
    assert_eq!((*found_level, &objects[..]), (level, &[OBJECT.0][..]));
    for part in sentence_has {
        assert!(sentence.contains(part), "{sentence}");
    }
}

#[test]
fn a_partition_that_heals_gives_two_owners_until_migrate_is_delivered() {
    let played = partition(Mode::Host, true);
    check(
        &played,
        Level::Info,
        &[
            "A and B both believed that they own object 40",
            "; until A got MIGRATE to B (packet ",
        ],
    );
}

#[test]
fn a_partition_that_lasts_leaves_two_owners_that_nobody_can_judge() {
    let played = partition(Mode::Host, false);
    check(
        &played,
        Level::Info,
        &[
            "A and B both believed",
            "a message about it to A was not delivered before the reels end",
        ],
    );
}

#[test]
fn in_mode_owner_the_new_owner_tells_a_itself() {
    let played = partition(Mode::Owner, false);
    check(
        &played,
        Level::Info,
        &["; until A got MIGRATE to B at counter 1 (packet "],
    );
    let end = played.history.last_belief(OBJECT.0, played.node(A));
    assert_eq!(end, played.history.last_belief(OBJECT.0, played.node(B)));
}

/// A owns an object. A and HOST cannot hear each other any more, all others hear everybody. HOST
/// drops A, and A's object passes to an heir. Those in `patient` have no time-outs.
fn partition_until_a_is_dropped(mode: Mode, patient: &[Peer], then: fn(&SimWorld)) -> Played {
    let mut start = SimWorldStart::new(1, mode, Topology::PeerToPeer, Script::Idle);
    start.without_time_outs.extend(patient);
    Played::new(&start, |world| {
        world.call(A, &cube([1.0, 2.0, 3.0], 5));
        world.run(60);
        shut(world, true);
        world.run(600);
        then(world);
        world.run(120);
    })
}

#[test]
fn a_partition_between_a_and_host_alone_leaves_two_owners() {
    for mode in [Mode::Host, Mode::Owner] {
        let played = partition_until_a_is_dropped(mode, &[A], |_| {});
        let heir = played.real(Peer(2))[&OBJECT.0];
        assert_eq!(played.real(A)[&OBJECT.0], u64::from(A.0));
        assert_eq!(played.real(Peer(3))[&OBJECT.0], heir);
        let heir = played.session.peer_name(heir);
        check(
            &played,
            Level::Error,
            &[
                &format!("A and {heir} both believed that they own object 40 for "),
                "; still so when all is delivered",
            ],
        );
        assert_eq!(played.named(Level::Error), ["two-owners at A"], "{mode:?}");
        for (peer, owner) in [(A, played.node(A)), (B, played.node(B))] {
            let believed = played.history.last_belief(OBJECT.0, owner);
            let real = played.real(peer)[&OBJECT.0];
            assert_eq!(believed, Some(Belief::Owned(real)), "{mode:?} {peer:?}");
        }
    }
}

#[test]
fn a_node_that_is_told_that_it_was_dropped_owns_nothing_from_then_on() {
    for mode in [Mode::Host, Mode::Owner] {
        let played = partition_until_a_is_dropped(mode, &[A], |world| shut(world, false));
        check(&played, Level::Info, &["A and ", "; until A left"]);
    }
}

#[test]
fn a_node_that_gives_up_itself_owns_nothing_from_then_on() {
    for mode in [Mode::Host, Mode::Owner] {
        let played = partition_until_a_is_dropped(mode, &[], |_| {});
        let two_owners = played.findings("two-owners");
        let worse = two_owners.iter().find(|each| each.level != Level::Info);
        assert_eq!(worse, None, "{mode:?}");
    }
}

#[test]
fn who_stops_while_migrate_is_on_its_way_to_it_is_no_second_owner_for_good() {
    let mut start = SimWorldStart::new(1, Mode::Host, Topology::PeerToPeer, Script::Idle);
    let delay = Duration::from_millis(500);
    let slow = LinkFaults {
        delay,
        ..LinkFaults::default()
    };
    start.link_faults.insert((HOST, A), slow);
    let played = Played::new(&start, |world| {
        world.run(60);
        world.call(A, &cube([1.0, 2.0, 3.0], 5));
        world.run(60);
        let (object, to) = (OBJECT, B);
        world.call(HOST, &Call::Migrate { object, to });
        world.run(15);
        world.stop(A);
        world.run(600);
    });
    check(
        &played,
        Level::Info,
        &["; until the reels end; a message about it to A was not delivered"],
    );
}
