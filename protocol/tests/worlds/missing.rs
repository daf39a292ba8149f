//! Worlds of which reels are missing: what a node is said to believe is what its engine believed, or it is
//! said to be unknown.
//!
//! `NETREEL_SEEDS=1000 cargo test -p netreel-protocol --test worlds missing` plays 250 worlds of each way,
//! `NETREEL_FIRST_SEED=100` from that seed on.

use std::collections::{BTreeMap, BTreeSet};

use netreel_protocol::history::{Belief, History};
use netreel_protocol::session::{NodeId, Session, SessionTime};
use netreel_sample_engine::{Call, Idle, Mode, Peer, SimWorld, Topology};
use netreel_transport::Draw;

use crate::clean::{first_seed, seeds};
use crate::played::{Played, WAYS, boxes, read};

const TICK_NS: i64 = 16_666_666;

/// How many ticks later at the most it is told what a node did by itself when another left.
const LATE_TICKS: i64 = 6;

/// How many reels are missing at the most.
const MISSING_MAX: usize = 3;

/// The owner of each object that lives at a peer, after a tick.
type Tables = Vec<(u64, Peer, BTreeMap<u64, u64>)>;

/// What came of the beliefs of all worlds.
#[derive(Clone, Debug, Default)]
struct Score {
    worlds: u64,
    beliefs: u64,
    unknown: u64,
    wrong: u64,
    /// Right some ticks later.
    late: u64,
    first: Option<String>,
}

/// How a world ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    /// All is delivered.
    Rest,
    /// Somebody leaves before.
    Leaves,
    /// Somebody falls silent before, and is dropped.
    Stops,
    /// Amid everything: messages are under way, and others wait for them.
    Middle,
}

const ENDINGS: [Ending; 4] = [Ending::Rest, Ending::Leaves, Ending::Stops, Ending::Middle];

fn play(seed: u64, mode: Mode, topology: Topology, ending: Ending) -> (Played, Tables) {
    let mut tables = Tables::new();
    let mut start = boxes(seed, mode, topology);
    start.nodes = start.nodes.max(3);
    let played = Played::new(&start, |world| {
        let mut note = |world: &SimWorld| {
            for peer in world.running() {
                let rows = world.table(peer).into_iter();
                let owners = rows.map(|(id, row)| (id.0, u64::from(row.owner.0)));
                tables.push((world.tick(), peer, owners.collect()));
            }
        };
        let until = match ending {
            Ending::Middle => 40 + seed * 37 % 120,
            _ => 200,
        };
        while world.tick() < until {
            if ending == Ending::Stops && world.tick() == 49 + seed % 60 {
                // What it calls last it still tells.
                world.set_game(Peer(1), Box::new(Idle));
            }
            if world.tick() == 50 + seed % 60 {
                match ending {
                    Ending::Leaves => world.call(Peer(1), &Call::Leave),
                    Ending::Stops => world.stop(Peer(1)),
                    Ending::Rest | Ending::Middle => {}
                }
            }
            world.step();
            if world.tick() % 7 == 0 {
                note(world);
            }
        }
        if ending == Ending::Middle {
            // One tick in which nobody calls anything sends what the last calls led to.
            for peer in world.running() {
                world.set_game(peer, Box::new(Idle));
            }
            world.step();
        } else {
            assert!(
                world.run_until_idle(60 * 120),
                "seed {seed}: it comes to rest"
            );
        }
        note(world);
    });
    (played, tables)
}

/// Holds what is told of the nodes whose reels are there against their engines' tables.
fn judge((session, history): (&Session, &History), tables: &Tables, what: &str, score: &mut Score) {
    score.worlds += 1;
    let zero = session.span.start.0;
    for (tick, peer, real) in tables {
        let named = |id: &NodeId| {
            let node = &session.nodes[usize::from(id.0)];
            node.recorded && node.peer == Some(u64::from(peer.0))
        };
        let Some(node) = (0..session.nodes.len() as u16).map(NodeId).find(named) else {
            continue;
        };
        // Between the last tick that was played and the next.
        let time = SessionTime(zero + *tick as i64 * TICK_NS - TICK_NS / 2);
        let known = history.objects.keys().chain(real.keys());
        let known: BTreeSet<u64> = known.copied().collect();
        for object in known {
            // What a node does by itself is known by the send that tells of it, which may wait for room.
            let beliefs = [0, 1, LATE_TICKS].map(|ticks| {
                let at = SessionTime(time.0 + ticks * TICK_NS);
                let span = history.belief_at(object, node, at);
                span.map(|span| span.belief)
            });
            let real = real.get(&object).copied();
            score.beliefs += 1;
            if beliefs[0] == Some(Belief::Unknown) {
                score.unknown += 1;
                continue;
            }
            let found = beliefs.map(|belief| match belief {
                Some(Belief::Owned(owner) | Belief::Orphaned(owner)) => Some(owner),
                Some(Belief::Destroyed | Belief::Unknown) | None => None,
            });
            score.late += u64::from(found[1] != real && found[2] == real && found[0] != real);
            if !found.contains(&real) {
                score.wrong += 1;
                score.first.get_or_insert_with(|| {
                    format!("{what}, {peer:?}, tick {tick}, object {object}: {beliefs:?}, really {real:?}")
                });
            }
        }
    }
}

#[test]
fn with_reels_missing_a_belief_is_true_or_unknown() {
    let mut scores: BTreeMap<(usize, Ending), Score> = BTreeMap::new();
    for seed in first_seed()..first_seed() + seeds().div_ceil(4) {
        for (way, (mode, topology)) in WAYS.into_iter().enumerate() {
            let ending = ENDINGS[(seed as usize + way) % ENDINGS.len()];
            let (played, tables) = play(seed, mode, topology, ending);
            let mut draw = Draw::new(seed);
            for missing in 0..=MISSING_MAX.min(played.reels.len() - 1) {
                let mut reels = played.reels.clone();
                for _ in 0..missing {
                    reels.remove(draw.below(reels.len() as u64) as usize);
                }
                let (session, history) = read(&reels);
                let kept: Vec<&str> = reels.iter().map(|(name, _)| name.as_str()).collect();
                let what = format!("seed {seed}, {mode:?}, {topology:?}, {kept:?}");
                let score = scores.entry((missing, ending)).or_default();
                judge((&session, &history), &tables, &what, score);
            }
        }
    }
    let mut all: BTreeMap<usize, Score> = BTreeMap::new();
    for ((missing, ending), score) in &scores {
        println!("{missing} missing, {ending:?}: {score:?}");
        let sum = all.entry(*missing).or_default();
        sum.worlds += score.worlds;
        sum.beliefs += score.beliefs;
        sum.unknown += score.unknown;
        sum.wrong += score.wrong;
        sum.late += score.late;
    }
    println!("{all:#?}");
    let sum = |count: fn(&Score) -> u64| all.values().map(count).sum::<u64>();
    assert_eq!(sum(|score| score.wrong), 0, "{scores:#?}");
    assert!(sum(|score| score.late) * 100_000 <= sum(|score| score.beliefs));
}
