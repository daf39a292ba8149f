//! Worlds whose engines' own tables differ when nothing moves any more: none of them is called clean.
//!
//! `NETREEL_DIFFER=40 cargo test -p netreel-protocol --test worlds differ -- --nocapture` plays this many
//! seeds of each fault and each way, and says how many worlds there were of which sort.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use netreel_protocol::history::Level;
use netreel_protocol::verdict::{Judgement, Verdict};
use netreel_sample_engine::{Fault, Mode, ObjectId, Peer, SimWorld, TableRow, Topology, Value};

use crate::planted::table;
use crate::played::{Played, WAYS, boxes};

/// How many seeds of each are played.
fn seeds() -> u64 {
    let given = std::env::var("NETREEL_DIFFER").ok();
    given.and_then(|given| given.parse().ok()).unwrap_or(2)
}

/// Two seconds of play and six of rest, four players; `says`: their games say what they believe.
fn play(
    seed: u64,
    (mode, topology): (Mode, Topology),
    planted: Option<(Peer, Fault)>,
    says: bool,
) -> Played {
    let mut start = boxes(seed, mode, topology);
    start.nodes = 4;
    start.says_beliefs = says;
    start.planted.extend(planted);
    Played::new(&start, |world| world.run(480))
}

fn is_near(one: &Value, other: &Value) -> bool {
    let near = |one: &f64, other: &f64| (one - other).abs() < 0.05;
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => near(one, other),
        (Value::Vector(one), Value::Vector(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| near(one, other))
        }
        (one, other) => one == other,
    }
}

fn is_same(one: &TableRow, other: &TableRow) -> bool {
    let values = one.state.values.iter().zip(&other.state.values);
    one.owner == other.owner && values.into_iter().all(|(one, other)| is_near(one, other))
}

pub fn is_equal(one: &TableRow, other: &TableRow) -> bool {
    one.owner == other.owner && one.state == other.state
}

/// The objects about which the engines' tables differ, those that one of them lacks among them.
pub fn differing(
    world: &SimWorld,
    is_same: fn(&TableRow, &TableRow) -> bool,
) -> BTreeSet<ObjectId> {
    let running = world.running().into_iter();
    let tables: Vec<_> = running.map(|it| world.table(it)).collect();
    let objects: BTreeSet<ObjectId> = tables.iter().flat_map(|it| it.keys().copied()).collect();
    let Some((first, others)) = tables.split_first() else {
        return objects;
    };
    let differs = |id: &ObjectId| {
        others.iter().any(|rows| {
            let both = first.get(id).zip(rows.get(id));
            both.map_or(
                first.contains_key(id) || rows.contains_key(id),
                |(one, other)| !is_same(one, other),
            )
        })
    };
    objects.into_iter().filter(differs).collect()
}

/// How many worlds there were, by whether tables differ and what was said.
#[derive(Default)]
struct Counted {
    worlds: BTreeMap<(bool, &'static str), u64>,
    wrong: Vec<String>,
}

impl Counted {
    fn count(&mut self, what: &str, played: &Played) {
        let judged = Judgement::new(&played.session, &played.history, Level::Error, &[]);
        let differs = differing(&played.world, is_same);
        let key = (!differs.is_empty(), judged.verdict.name());
        *self.worlds.entry(key).or_default() += 1;
        if judged.verdict == Verdict::Clean && !differs.is_empty() {
            let line = judged.line();
            self.wrong.push(format!("{what}: {differs:?}: {line}"));
        }
    }

    fn end(self, what: &str) {
        println!("{what}: {:?}", self.worlds);
        assert!(self.wrong.is_empty(), "{what}: {:#?}", self.wrong);
    }
}

#[test]
fn no_world_of_a_planted_fault_is_clean_whose_tables_differ() {
    let mut counted = Counted::default();
    for planted in table::TABLE {
        for seed in 0..seeds() {
            let way = (planted.mode, planted.topology);
            let played = play(seed, way, Some((planted.at, planted.fault)), false);
            let what = format!(
                "{:?} at {:?}, {way:?}, seed {seed}",
                planted.fault, planted.at
            );
            counted.count(&what, &played);
        }
    }
    counted.end("planted");
}

/// What leaves no trace in packets is known where games speak.
#[test]
fn no_world_whose_games_speak_is_clean_whose_tables_differ() {
    let mut counted = Counted::default();
    for planted in table::TABLE.iter().chain(&table::SAID) {
        for seed in 0..seeds().div_ceil(2) {
            let way = (planted.mode, planted.topology);
            let played = play(seed, way, Some((planted.at, planted.fault)), true);
            let what = format!(
                "{:?} at {:?}, {way:?}, seed {seed}",
                planted.fault, planted.at
            );
            counted.count(&what, &played);
        }
    }
    counted.end("said");
}

/// In mode `host` a node that loses an object before it has told anybody of a change keeps that change alone,
/// and no packet shows it: there the games speak.
#[test]
fn no_world_without_a_fault_is_clean_whose_tables_differ() {
    let mut counted = Counted::default();
    for seed in 0..seeds() * 10 {
        for way in WAYS {
            let played = play(seed, way, None, way.0 == Mode::Host);
            counted.count(&format!("{way:?}, seed {seed}"), &played);
        }
    }
    counted.end("without a fault");
}

/// A world that ends as soon as nothing is under way any more: a verdict holds until then, and not for what
/// was said last.
#[test]
fn no_world_that_has_just_come_to_rest_is_clean_to_the_end_whose_tables_differ() {
    for seed in 0..seeds() * 10 {
        for (mode, topology) in WAYS {
            let mut start = boxes(seed, mode, topology);
            start.says_beliefs = mode == Mode::Host;
            let played = Played::to_rest(&start);
            let judged = Judgement::new(&played.session, &played.history, Level::Error, &[]);
            let is_clean = judged.verdict == Verdict::Clean && judged.judged_until.is_none();
            assert!(
                !is_clean || differing(&played.world, is_same).is_empty(),
                "{mode:?} {topology:?} seed {seed}: {}",
                judged.line()
            );
        }
    }
}

/// What `difference-lasts` finds in worlds without a fault was so: a second later the node's own table had
/// another value of the object than that of a node which owned it, or one of the two had it alone.
#[test]
fn what_lasts_was_so_in_the_engines_tables() {
    let mut found = 0;
    for seed in 0..6 {
        for (mode, topology) in WAYS {
            let mut start = boxes(seed, mode, topology);
            start.nodes = 4;
            start.faults.loss = start.faults.loss.max(0.05);
            start.faults.delay += Duration::from_millis(80);
            if mode == Mode::Host {
                start.link_faults.clear();
                start.faults.jitter = Duration::ZERO;
                start.faults.reorder = 0.0;
            }
            let mut tables: Vec<Vec<(Peer, BTreeMap<ObjectId, TableRow>)>> = Vec::new();
            let played = Played::new(&start, |world| {
                while world.tick() < 480 {
                    world.step();
                    let running = world.running().into_iter();
                    tables.push(running.map(|peer| (peer, world.table(peer))).collect());
                }
            });
            for finding in played.findings("difference-lasts") {
                found += 1;
                let object = ObjectId(finding.object().expect("it is about an object"));
                let zero = played.session.span.start.0;
                let tick = (finding.time.0 - zero + 1_000_000_000) / 16_666_666;
                let rows = &tables[(tick as usize).min(tables.len() - 1)];
                let row = |peer| {
                    let table = rows.iter().find(|(it, _)| *it == peer);
                    table.and_then(|(_, table)| table.get(&object))
                };
                let peers = rows.iter().map(|(peer, _)| *peer);
                let node = peers
                    .clone()
                    .find(|peer| played.node(*peer) == finding.node);
                let own = node.and_then(row);
                let owner = peers
                    .filter(|peer| Some(*peer) != node)
                    .find(|peer| row(*peer).is_some_and(|it| it.owner == *peer));
                let owned = owner.and_then(row);
                let differs = match (own, owned) {
                    (Some(own), Some(owned)) => own.state != owned.state,
                    (own, owned) => own.is_some() != owned.is_some(),
                };
                let sentence = &finding.sentence;
                assert!(differs, "seed {seed}, {mode:?}, {topology:?}: {sentence}");
            }
        }
    }
    println!("{found} found");
}
