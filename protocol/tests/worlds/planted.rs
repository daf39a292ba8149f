//! Faults that are planted in the layer of one node, and what the reels show of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use netreel_protocol::history::bounds::Bounds;
use netreel_protocol::history::{Finding, History, Level};
use netreel_sample_engine::{Fault, Mode, Peer, Script, SimWorldStart, Topology};
use netreel_transport::LinkFaults;

use crate::played::{Played, boxes, read, read_with};

#[path = "../../../samples/engine/examples/planted/fault.rs"]
pub mod fault;
#[path = "../../../samples/engine/examples/planted/table.rs"]
pub mod table;
#[path = "../../../samples/engine/examples/planted/trouble.rs"]
mod trouble;

const HOST: Peer = Peer(0);
const A: Peer = Peer(1);
/// Each fault is played in this many worlds of each way.
const WORLDS: u64 = 6;

const HOST_P2P: (Mode, Topology) = (Mode::Host, Topology::PeerToPeer);
const HOST_SERVER: (Mode, Topology) = (Mode::Host, Topology::ClientServer);
const OWNER_P2P: (Mode, Topology) = (Mode::Owner, Topology::PeerToPeer);
const OWNER_SERVER: (Mode, Topology) = (Mode::Owner, Topology::ClientServer);

/// Eight seconds of four players, of which one has the fault; the last six are quiet.
fn play(seed: u64, (mode, topology): (Mode, Topology), planted: Option<(Peer, Fault)>) -> Played {
    let mut start = boxes(seed, mode, topology);
    start.nodes = 4;
    start.faults.loss = start.faults.loss.max(0.05);
    start.faults.delay += Duration::from_millis(80);
    if mode == Mode::Host {
        // News does not overtake older news, so that mode `host` itself does nothing wrong.
        start.link_faults.clear();
        start.faults.jitter = Duration::ZERO;
        start.faults.reorder = 0.0;
    }
    start.planted.extend(planted);
    Played::new(&start, |world| world.run(480))
}

/// The rules that found something worse than odd in a world.
fn found(played: &Played) -> BTreeSet<&'static str> {
    let findings = played.history.findings.iter();
    // An early UPDATE that is not reliable is odd alone.
    let meant = |rule| rule == "update-before-create";
    let worse = findings.filter(|it| it.level > Level::Info || meant(it.rule));
    worse.map(|finding| finding.rule).collect()
}

/// Plants a fault in a node: in how many worlds of each way does the rule report it?
fn check(fault: Fault, at: Peer, ways: &[(Mode, Topology)], rule: &str, worlds_min: u64) {
    for &way in ways {
        let mut worlds: BTreeMap<&str, u64> = BTreeMap::new();
        for seed in 0..WORLDS {
            let played = play(seed, way, Some((at, fault)));
            for rule in found(&played) {
                *worlds.entry(rule).or_default() += 1;
            }
        }
        println!("{fault:?} at {at:?} {way:?}: {worlds:?}");
        let found = worlds.get(rule).copied().unwrap_or(0);
        assert!(
            found >= worlds_min,
            "{fault:?} at {at:?}, {way:?}: {rule} in {found} of {WORLDS} worlds: {worlds:?}"
        );
    }
}

/// In how many of the worlds each fault was found by the rule that is meant.
#[test]
fn every_planted_fault_is_found_by_the_rule_that_is_meant() {
    let bounds = Bounds::parse(table::BOUNDS).expect("bounds");
    let wire = table::wire();
    let mut missed = Vec::new();
    for planted in table::TABLE {
        let way = (planted.mode, planted.topology);
        let mut worlds: BTreeMap<&str, u64> = BTreeMap::new();
        for seed in 0..WORLDS {
            let played = play(seed, way, Some((planted.at, planted.fault)));
            let (mut session, _) = read_with(&played.reels, &wire);
            session.bounds = bounds.clone();
            let history = History::build(&session);
            // Its UPDATEs are unreliable, so that one which comes early is odd alone.
            let is_meant =
                |it: &Finding| it.level > Level::Info || it.rule == "update-before-create";
            let findings = history.findings.iter().filter(|it| is_meant(it));
            let rules: BTreeSet<&str> = findings.map(|it| it.rule).collect();
            rules
                .into_iter()
                .for_each(|rule| *worlds.entry(rule).or_default() += 1);
        }
        println!(
            "{:?} at {:?}, {way:?}: {worlds:?}",
            planted.fault, planted.at
        );
        if !worlds.contains_key(planted.rule.expect("a rule is meant")) {
            missed.push((planted, worlds));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Eight seconds as the example plays them, with what happens to machines and links, or nothing.
fn in_trouble(seed: u64, trouble: Option<trouble::Trouble>) -> BTreeMap<&'static str, Level> {
    let mut start = SimWorldStart::new(
        seed,
        Mode::Owner,
        Topology::PeerToPeer,
        Script::Boxes { ticks: 120 },
    );
    start.faults = LinkFaults {
        delay: Duration::from_millis(90),
        loss: 0.05,
        ..LinkFaults::default()
    };
    let boot = |node: &str| match trouble {
        Some(trouble) => trouble.boot(node),
        None => "a simulated world".to_owned(),
    };
    let played = Played::with_boots(&start, boot, |world| match trouble {
        Some(trouble) => trouble.play(&start, world, 480),
        None => world.run(480),
    });
    let findings = played.history.findings.iter();
    findings.map(|it| (it.rule, it.level)).collect()
}

#[test]
fn every_trouble_of_machines_and_links_is_found_by_the_rule_that_is_meant() {
    for seed in 1..4 {
        let calm = in_trouble(seed, None);
        for (trouble, rule) in trouble::TROUBLES {
            let found = in_trouble(seed, Some(trouble));
            println!("{trouble:?}, seed {seed}: {found:?}");
            assert!(
                found.contains_key(rule),
                "{trouble:?}, seed {seed}: {found:?}"
            );
            assert!(!calm.contains_key(rule), "{rule}, seed {seed}: {calm:?}");
            // The layers do nothing wrong. Of what a path never carries nodes differ for good.
            let errors = found.iter().filter(|it| *it.1 == Level::Error);
            let is_told = |rule| {
                matches!(
                    (trouble, rule),
                    (trouble::Trouble::LargeLost, "difference-lasts")
                )
            };
            let untold: Vec<_> = errors.filter(|it| !is_told(*it.0)).collect();
            assert!(untold.is_empty(), "{trouble:?}, seed {seed}: {found:?}");
        }
    }
}

const ALL: [(Mode, Topology); 4] = [HOST_P2P, HOST_SERVER, OWNER_P2P, OWNER_SERVER];

#[test]
fn without_a_fault_nothing_is_found() {
    for way in ALL {
        for seed in 0..WORLDS {
            let found = found(&play(seed, way, None));
            let usual = match way {
                HOST_P2P => {
                    BTreeSet::from(["migrate-before-create", "zombie-object", "difference-lasts"])
                }
                // Mode `host` takes UPDATEs of a former owner, and values really are different for long
                // (`differ::what_lasts_was_so_in_the_engines_tables`).
                HOST_SERVER => BTreeSet::from(["difference-lasts"]),
                _ => BTreeSet::new(),
            };
            assert!(found.is_subset(&usual), "seed {seed} {way:?}: {found:?}");
        }
    }
}

#[test]
fn acks_of_what_was_not_received() {
    check(Fault::AckUnreceived, A, &ALL, "ack-of-unreceived", WORLDS);
}

#[test]
fn acks_that_are_forgotten() {
    check(Fault::ForgetAck, A, &ALL, "never-acked", WORLDS);
}

#[test]
fn numbers_that_are_used_twice() {
    check(
        Fault::SequenceTwice,
        A,
        &ALL,
        "duplicate-sequence",
        WORLDS - 1,
    );
}

#[test]
fn what_was_lost_is_never_sent_again() {
    check(
        Fault::NeverResend,
        A,
        &ALL,
        "reliable-not-delivered",
        WORLDS / 2,
    );
}

#[test]
fn everything_is_sent_again_in_each_tick() {
    check(Fault::ResendEveryTick, A, &ALL, "resend-storm", WORLDS);
}

#[test]
fn create_that_not_everybody_is_told_of() {
    check(
        Fault::ForgetCreate,
        A,
        &[HOST_P2P, OWNER_P2P],
        "objects-differ-at-rest",
        WORLDS,
    );
}

#[test]
fn destroy_that_not_everybody_is_told_of() {
    check(
        Fault::ForgetDestroy,
        A,
        &[HOST_P2P, OWNER_P2P],
        "objects-differ-at-rest",
        1,
    );
}

#[test]
fn an_owner_that_nobody_hears_of() {
    check(
        Fault::ForgetAnnounce,
        HOST,
        &[HOST_P2P, HOST_SERVER],
        "objects-differ-at-rest",
        1,
    );
    check(
        Fault::ForgetAnnounce,
        A,
        &[OWNER_P2P, OWNER_SERVER],
        "objects-differ-at-rest",
        1,
    );
}

#[test]
fn updates_before_create() {
    check(
        Fault::UpdateBeforeCreate,
        A,
        &ALL,
        "update-before-create",
        1,
    );
    // They are unreliable, and their CREATE comes: nothing is suspected.
    for way in ALL {
        let played = play(1, way, Some((A, Fault::UpdateBeforeCreate)));
        let early = played.findings("update-before-create");
        assert!(early.iter().all(|it| it.level == Level::Info), "{early:?}");
    }
}

#[test]
fn a_counter_that_is_not_raised() {
    check(
        Fault::CounterNotRaised,
        HOST,
        &[OWNER_P2P, OWNER_SERVER],
        "two-owners",
        1,
    );
}

#[test]
fn messages_that_are_written_anew_when_they_are_sent_again() {
    check(Fault::RewriteResend, A, &ALL, "copies-differ", 1);
}

#[test]
fn messages_that_are_handed_over_twice() {
    check(
        Fault::DeliverTwice,
        HOST,
        &[HOST_SERVER, OWNER_SERVER],
        "told-twice",
        WORLDS,
    );
    check(
        Fault::DeliverTwice,
        A,
        &[OWNER_P2P, OWNER_SERVER],
        "told-twice",
        1,
    );
}

#[test]
fn messages_that_are_not_handed_over() {
    check(
        Fault::NeverDeliver,
        HOST,
        &[HOST_SERVER, OWNER_SERVER],
        "objects-differ-at-rest",
        1,
    );
}

#[test]
fn values_of_a_lost_update_are_not_sent_again() {
    check(Fault::ForgetLostUpdate, A, &ALL, "values-differ", 1);
    for way in ALL {
        for seed in 0..WORLDS {
            let played = play(seed, way, Some((A, Fault::ForgetLostUpdate)));
            for finding in played.findings("values-differ") {
                let sentence = &finding.sentence;
                assert!(
                    played.really_differs(finding),
                    "seed {seed} {way:?}: {sentence}"
                );
                assert!(!finding.evidence.is_empty(), "{sentence}");
            }
        }
    }
}

/// What no reel shows: the layer's own game alone could tell.
#[test]
fn faults_that_leave_no_trace_outside_the_node_are_not_seen() {
    for (fault, way) in [
        (Fault::ForgetTombstones, OWNER_P2P),
        (Fault::NeverDeliver, OWNER_P2P),
    ] {
        for seed in 0..WORLDS {
            let found = found(&play(seed, way, Some((A, fault))));
            assert!(found.is_empty(), "{fault:?} {way:?} seed {seed}: {found:?}");
        }
    }
}

/// How many nodes have a stall of more than a bound, in a world whose ticks take 16.7 ms.
fn stalls(longest: &str, fault: Option<(Peer, Fault)>) -> usize {
    let played = play(1, OWNER_P2P, fault);
    let (mut session, _) = read(&played.reels);
    let bounds = format!("[tick-stall]\nlongest = \"{longest}\"");
    session.bounds = Bounds::parse(&bounds).expect("bounds");
    let history = History::build(&session);
    let found = history.findings.iter();
    found.filter(|finding| finding.rule == "tick-stall").count()
}

#[test]
fn a_stall_is_longer_than_the_bound() {
    assert_eq!(stalls("20ms", None), 0);
    assert_eq!(stalls("16ms", None), 4);
    let stalled = Some((A, Fault::Stall));
    assert_eq!(stalls("1s", stalled), 1);
    assert_eq!(stalls("1100ms", stalled), 0);
}
