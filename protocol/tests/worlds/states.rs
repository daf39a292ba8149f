//! What nodes believed of the properties of objects is what their engines' own tables said.
//!
//! The engine is asked while it plays; nothing of the code under test helps.

use std::collections::{BTreeMap, BTreeSet};

use netreel_protocol::history::state::{Apart, Held, Known, Scalar, States};
use netreel_protocol::session::SessionTime;
use netreel_sample_engine::{
    BOXES, Call, Idle, Mode, ObjectId, Peer, Script, SimWorld, SimWorldStart, TableRow, Topology,
    Types, Value, cube,
};
use netreel_wire::PropertyId;

use crate::clean::seeds;
use crate::played::{Played, WAYS, boxes};

const TICK_NS: i64 = 16_666_666;

/// What an engine's table says: object and field to value.
type Table = BTreeMap<(u64, String), Value>;

fn table(world: &SimWorld, types: &Types, peer: Peer) -> Table {
    let mut table = Table::new();
    for (id, TableRow { state, .. }) in world.table(peer) {
        let fields = &types.get(state.kind).expect("a type of the game").fields;
        for (field, value) in fields.iter().zip(state.values) {
            table.insert((id.0, field.name.clone()), value);
        }
    }
    table
}

/// The same as the states say.
fn states_at(states: &States, played: &Played, peer: Peer, time: SessionTime) -> Table {
    let node = played.node(peer);
    let mut table = Table::new();
    for (object, properties) in states.objects() {
        for property in properties {
            if let Some(held) = states.at(object, property, node, time)
                && let Some(value) = value(&held, object)
            {
                let name = states
                    .property(property)
                    .expect("it is declared")
                    .name
                    .clone();
                table.insert((object, name), value);
            }
        }
    }
    table
}

fn value(held: &Held, object: u64) -> Option<Value> {
    let parts = match &held.value {
        Known::Value(parts) => parts,
        Known::Nothing => return None,
        Known::Unknown => panic!("object {object} is unknown"),
    };
    let number = |part: &Scalar| match part {
        Scalar::Real(number) => *number,
        other => panic!("{other:?}"),
    };
    Some(match &parts[..] {
        [Scalar::Integer(number)] => Value::Integer(*number as i64),
        [Scalar::Real(number)] => Value::Number(*number),
        [Scalar::Name(name)] => Value::Text(name.clone()),
        several => Value::Vector(several.iter().map(number).collect()),
    })
}

fn is_same(one: &Value, other: &Value) -> bool {
    let near = |one: &f64, other: &f64| (one - other).abs() < 1e-6;
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => near(one, other),
        (Value::Vector(one), Value::Vector(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| near(a, b))
        }
        (one, other) => one == other,
    }
}

fn check(real: &Table, found: &Table, what: &str) {
    for (key, value) in real {
        let told = found.get(key);
        assert!(
            told.is_some_and(|told| is_same(told, value)),
            "{what}: {key:?} is {value:?}, found {told:?}"
        );
    }
    let more = found.keys().find(|key| !real.contains_key(*key));
    assert_eq!(more, None, "{what}: an object that does not live there");
}

/// Who owned what at some tick, by the engines' own tables.
type Owned = BTreeSet<(Peer, u64)>;

fn note_owners(world: &SimWorld, owned: &mut Owned) {
    for peer in world.running() {
        let own = world.table(peer).into_iter();
        let own = own.filter(|(_, row)| row.owner == peer);
        owned.extend(own.map(|(id, _)| (peer, id.0)));
    }
}

/// What no packet tells is left out: what an owner wrote and has not sent yet, and in mode `host`, whose
/// MIGRATE has no values, also what it never sent because another became the owner.
fn without_unsent(table: &mut Table, world: &SimWorld, (mode, peer): (Mode, Peer), owned: &Owned) {
    let rows = world.table(peer);
    table.retain(|(id, _), _| {
        let owns = rows
            .get(&ObjectId(*id))
            .is_some_and(|row| row.owner == peer);
        let owned = owned.contains(&(peer, *id));
        !(owns || mode == Mode::Host && owned)
    });
}

#[test]
fn at_rest_every_state_is_the_engines() {
    let types = Types::parse(BOXES).expect("the types of the game");
    let (mut all, mut compared) = (0, 0);
    for seed in 0..seeds() {
        for (mode, topology) in WAYS {
            let mut owned = Owned::new();
            let played = Played::new(&boxes(seed, mode, topology), |world| {
                while world.tick() < 300 {
                    world.step();
                    note_owners(world, &mut owned);
                }
                assert!(
                    world.run_until_idle(60 * 120),
                    "seed {seed}: it comes to rest"
                );
            });
            let states = States::build(&played.session, &played.history);
            for peer in played.world.running() {
                let mut real = table(&played.world, &types, peer);
                let mut found = states_at(&states, &played, peer, SessionTime::MAX);
                all += real.len();
                // At rest an owner has sent all that it wrote.
                let rows = played.world.table(peer);
                let is_known = |(id, _): &(u64, String)| {
                    let row = rows.get(&ObjectId(*id));
                    let owns = row.is_some_and(|row| row.owner == peer);
                    owns || mode == Mode::Owner || !owned.contains(&(peer, *id))
                };
                real.retain(|key, _| is_known(key));
                found.retain(|key, _| is_known(key));
                compared += real.len();
                let what = format!("seed {seed}, {mode:?}, {topology:?}, {peer:?}");
                check(&real, &found, &what);
            }
        }
    }
    assert!(
        compared * 10 > all * 9,
        "{compared} of {all} values were compared"
    );
}

#[test]
fn while_they_play_every_state_of_others_objects_is_the_engines() {
    let types = Types::parse(BOXES).expect("the types of the game");
    for seed in 0..seeds() {
        for (mode, topology) in WAYS {
            let mut start = boxes(seed, mode, topology);
            start.nodes = 3 + (seed % 2) as u8;
            let mut owned = Owned::new();
            let mut tables: Vec<(u64, Peer, Table, Vec<u64>)> = Vec::new();
            let played = Played::new(&start, |world| {
                while world.tick() < 200 {
                    world.step();
                    note_owners(world, &mut owned);
                    if world.tick() % 7 != 0 {
                        continue;
                    }
                    for peer in world.running() {
                        let mut others = table(world, &types, peer);
                        without_unsent(&mut others, world, (mode, peer), &owned);
                        let owned = owned.iter().filter(|(by, _)| *by == peer);
                        let owns = world.table(peer).into_iter();
                        let owns = owns.filter(|(_, row)| row.owner == peer);
                        let left_out: Vec<u64> = match mode {
                            Mode::Host => owned.map(|(_, id)| *id).collect(),
                            _ => owns.map(|(id, _)| id.0).collect(),
                        };
                        tables.push((world.tick(), peer, others, left_out));
                    }
                }
            });
            let states = States::build(&played.session, &played.history);
            let zero = played.session.span.start.0;
            for (tick, peer, real, left_out) in tables {
                // Between the last tick that was played and the next.
                let time = SessionTime(zero + tick as i64 * TICK_NS - TICK_NS / 2);
                let mut found = states_at(&states, &played, peer, time);
                found.retain(|(object, _), _| !left_out.contains(object));
                let what = format!("seed {seed}, {mode:?}, {topology:?}, {peer:?}, tick {tick}");
                check(&real, &found, &what);
            }
        }
    }
}

#[test]
fn a_look_at_a_moment_is_the_same_from_the_front_and_from_the_back() {
    for seed in 0..seeds().min(12) {
        for (mode, topology) in WAYS {
            let played = Played::to_rest(&boxes(seed, mode, topology));
            let states = States::build(&played.session, &played.history);
            for (object, properties) in states.objects() {
                for property in properties {
                    for peer in played.world.running() {
                        let node = played.node(peer);
                        let forward: Vec<Held> = states.changes(object, property, node).collect();
                        let mut backward: Vec<Held> =
                            states.changes(object, property, node).rev().collect();
                        backward.reverse();
                        assert_eq!(forward, backward);
                        for (place, held) in forward.iter().enumerate() {
                            let at = |ns: i64| {
                                let time = SessionTime(held.since.0 + ns);
                                states.at(object, property, node, time)
                            };
                            let before = place.checked_sub(1).map(|it| forward[it].clone());
                            assert_eq!(at(0).as_ref(), Some(held), "seed {seed}");
                            assert_eq!(at(-1), before, "seed {seed}");
                        }
                    }
                }
            }
        }
    }
}

/// In mode `owner` a correct engine leaves no value behind, and netreel says so of every value that it
/// can judge.
#[test]
fn at_rest_all_nodes_agree() {
    for seed in 0..seeds() {
        for topology in [Topology::PeerToPeer, Topology::ClientServer] {
            let played = Played::to_rest(&boxes(seed, Mode::Owner, topology));
            let states = States::build(&played.session, &played.history);
            let rest = states.at_rest(&played.session, &played.history);
            assert_eq!(rest.differ, Vec::new(), "seed {seed}, {topology:?}");
            let living = played.real(Peer::HOST).len();
            assert!(
                rest.agreed > 0 || living == 0,
                "seed {seed}, {topology:?}: {rest:?}"
            );
        }
    }
}

#[test]
fn what_is_kept_of_a_change_is_a_few_bytes() {
    let played = Played::to_rest(&boxes(11, Mode::Owner, Topology::PeerToPeer));
    let states = States::build(&played.session, &played.history);
    let nodes = || {
        (0u16..)
            .map(netreel_protocol::session::NodeId)
            .take(played.session.nodes.len())
    };
    let lanes = states
        .objects()
        .into_iter()
        .flat_map(|(object, properties)| {
            let of = properties.into_iter();
            of.flat_map(move |property| nodes().map(move |node| (object, property, node)))
        });
    let changes: usize = lanes
        .map(|(object, property, node)| states.changes(object, property, node).count())
        .sum();
    let bytes: usize = states.memory().iter().map(|(_, bytes)| bytes).sum();
    println!("{changes} changes: {:?}", states.memory());
    assert!(changes > 1000, "{changes}");
    // A position takes 27 bytes, once for all nodes that believe it.
    assert!(bytes < changes * 40, "{bytes} bytes for {changes} changes");
}

/// A owns a box; its position is told to B over a link that stops for a while.
fn parted() -> (Played, States) {
    let mut start = SimWorldStart::new(3, Mode::Host, Topology::PeerToPeer, Script::Idle);
    start.nodes = 3;
    let played = Played::new(&start, |world| {
        world.run(30);
        world.call(Peer(1), &cube([0.0, 0.0, 0.0], 7));
        world.run(60);
        world
            .gates(Peer(2))
            .expect("B has gates")
            .shut(netreel_transport::LinkEnd(1), netreel_transport::LinkEnd(2));
        world.call(
            Peer(1),
            &Call::Set {
                object: ObjectId(40),
                field: 0,
                value: Value::Vector(vec![3.0, 4.0, 0.0]),
            },
        );
        world.run(30);
        world
            .gates(Peer(2))
            .expect("B has gates")
            .open(netreel_transport::LinkEnd(1), netreel_transport::LinkEnd(2));
        world.run(60);
        for peer in world.running() {
            world.set_game(peer, Box::new(Idle));
        }
    });
    let states = States::build(&played.session, &played.history);
    (played, states)
}

#[test]
fn a_value_that_is_held_back_differs_for_as_long() {
    let (played, states) = parted();
    let position = states
        .properties()
        .iter()
        .position(|it| it.name == "position");
    let position = PropertyId(position.expect("boxes have positions") as u16);
    let pair = (played.node(Peer(1)), played.node(Peer(2)));
    let differences = states.differences(40, position, pair, played.session.span.end);
    let [parting] = &differences.stretches[..] else {
        panic!("{differences:?}");
    };
    let held_ns = 30 * TICK_NS;
    assert!(
        (held_ns..held_ns + 10 * TICK_NS).contains(&parting.length_ns()),
        "{parting:?}"
    );
    assert!(!parting.lasts);
    assert!(matches!(parting.most, Apart::By(by) if (by - 5.0).abs() < 0.01));
    let middle = SessionTime((parting.from.0 + parting.to.0) / 2);
    let apart = states.apart(40, position, pair, middle);
    assert!(matches!(apart, Some(Apart::By(_))), "{apart:?}");
    let end = states.apart(40, position, pair, played.session.span.end);
    assert_eq!(end, Some(Apart::Same));
}
