//! All faults that can be planted, those that people reported of other games among them: how many does
//! `check` find, how many does it name, and is none called clean whose engines disagree for good?
//!
//! `NETREEL_FAULT_WORLDS=20 cargo test -p netreel-protocol --test worlds faults -- --nocapture` plays
//! each in this many worlds, and says of each fault what was found.

use std::collections::{BTreeMap, BTreeSet};

use netreel_protocol::history::bounds::Bounds;
use netreel_protocol::history::{History, Level};
use netreel_protocol::verdict::{Judgement, Verdict};
use netreel_sample_engine::{Fault, Mode, ObjectId, Peer, Topology};

use crate::differ::{differing, is_equal};
use crate::planted::{fault, table};
use crate::played::{Played, read_with};
use crate::said;

#[path = "../../../samples/engine/examples/planted/reported.rs"]
mod reported;

/// Eight seconds, of which the last six are quiet.
const TICKS: u64 = 480;
/// What differs from here on to the end differs for good.
const QUIET: u64 = 300;

/// In how many worlds each fault is played.
fn worlds() -> u64 {
    let given = std::env::var("NETREEL_FAULT_WORLDS").ok();
    given.and_then(|given| given.parse().ok()).unwrap_or(2)
}

/// A fault, who has it, how they play, and the rules whose sentence names what it does.
struct Planted {
    fault: Fault,
    at: Peer,
    way: (Mode, Topology),
    /// Whether the games say what they believe.
    says_beliefs: bool,
    naming: Vec<&'static str>,
}

/// The rules that name what a fault does, besides those that the tables of planted faults mean.
fn naming(fault: Fault) -> &'static [&'static str] {
    match fault {
        Fault::NeverDeliver => &["destroy-untold"],
        Fault::IgnoreLateAcks => &["reliable-stuck"],
        Fault::ResendOldNumber => &["duplicate-sequence"],
        Fault::EmptyCount => &["undecodable-packet"],
        Fault::RefuseFullPackets => &["never-acked", "reliable-stuck"],
        Fault::HiddenUpdated => &["update-before-create"],
        // What a game has and no message told, or what it was told and has otherwise.
        Fault::DropEarly
        | Fault::CreateToJoined
        | Fault::IdAgain
        | Fault::ThrottleFalls
        | Fault::AckOfNewest
        | Fault::WrongDirtyField
        | Fault::NegativesOff => &["belief-differs"],
        _ => &[],
    }
}

fn all() -> Vec<Planted> {
    let mut all: BTreeMap<Fault, Planted> = BTreeMap::new();
    let own = table::TABLE.iter().map(|it| (it, false));
    let spoken = table::SAID.iter().map(|it| (it, true));
    let reported = reported::REPORTED.iter().map(|it| (&it.0, true));
    for (it, says_beliefs) in own.chain(spoken).chain(reported) {
        let planted = all.entry(it.fault).or_insert(Planted {
            fault: it.fault,
            at: it.at,
            way: (it.mode, it.topology),
            says_beliefs,
            naming: naming(it.fault).to_vec(),
        });
        if planted.way == (it.mode, it.topology) && planted.at == it.at {
            planted.naming.extend(it.rule);
        }
    }
    all.into_values().collect()
}

/// What a world came to.
struct Outcome {
    rules: BTreeSet<&'static str>,
    /// Those that find something odd alone.
    odd: BTreeSet<&'static str>,
    /// What the first finding of each rule says.
    sentences: BTreeMap<&'static str, String>,
    verdict: Verdict,
    /// The engines' own tables differ of these from [`QUIET`] to the end.
    differ: BTreeSet<ObjectId>,
}

fn play(seed: u64, planted: &Planted, with_fault: bool) -> Outcome {
    let mut start = said::start(seed, planted.way.0, planted.way.1);
    start.says_beliefs = planted.says_beliefs;
    if with_fault {
        start.planted.insert(planted.at, planted.fault);
    }
    let mut before = BTreeSet::new();
    let played = Played::new(&start, |world| {
        world.run(QUIET);
        before = differing(world, is_equal);
        world.run(TICKS - QUIET);
    });
    let (mut session, _) = read_with(&played.reels, &table::wire());
    session.bounds = Bounds::parse(table::BOUNDS).expect("bounds");
    let history = History::build(&session);
    let (worse, odd): (Vec<_>, Vec<_>) = history
        .findings
        .iter()
        .partition(|it| it.level > Level::Info);
    let mut sentences = BTreeMap::new();
    for finding in worse {
        sentences
            .entry(finding.rule)
            .or_insert_with(|| finding.sentence.clone());
    }
    Outcome {
        rules: sentences.keys().copied().collect(),
        odd: odd.into_iter().map(|it| it.rule).collect(),
        sentences,
        verdict: Judgement::new(&session, &history, Level::Error, &[]).verdict,
        differ: &differing(&played.world, is_equal) & &before,
    }
}

/// Of 60 planted faults 52 are to be found in half of the worlds or more, and 45 named.
#[test]
fn most_faults_are_found_and_named_and_none_is_called_clean_where_engines_disagree() {
    let (mut found, mut named, mut clean) = (0, 0, Vec::new());
    let (mut missed, mut unnamed) = (Vec::new(), Vec::new());
    let faults = all();
    for planted in &faults {
        let (mut in_worlds, mut named_in) = (0, 0);
        let mut rules: BTreeMap<&str, u64> = BTreeMap::new();
        let mut sentences: BTreeMap<&str, String> = BTreeMap::new();
        for seed in 0..worlds() {
            let calm = play(seed, planted, false);
            let mut outcome = play(seed, planted, true);
            let own: Vec<_> = outcome.rules.difference(&calm.rules).collect();
            in_worlds += u64::from(!own.is_empty());
            let odd = outcome.odd.difference(&calm.odd);
            let mut told = own.iter().copied().chain(odd);
            named_in += u64::from(told.any(|rule| planted.naming.contains(rule)));
            for &rule in own {
                *rules.entry(rule).or_default() += 1;
                let sentence = outcome.sentences.remove(rule).unwrap_or_default();
                sentences.entry(rule).or_insert(sentence);
            }
            if outcome.verdict == Verdict::Clean && !outcome.differ.is_empty() {
                clean.push((planted.fault, seed, outcome.differ));
            }
        }
        println!(
            "{:?} at {:?}, {:?}: {rules:?}",
            planted.fault, planted.at, planted.way
        );
        for (rule, sentence) in sentences {
            println!("    {rule}: {sentence}");
        }
        match 2 * in_worlds >= worlds() {
            true => found += 1,
            false => missed.push(planted.fault),
        }
        match 2 * named_in >= worlds() {
            true => named += 1,
            false => unnamed.push(planted.fault),
        }
    }
    println!("{} faults: {found} found, {named} named", faults.len());
    println!("not found: {missed:?}\nnot named: {unnamed:?}");
    assert!(
        clean.is_empty(),
        "clean though the engines' tables differ: {clean:?}"
    );
    assert!(faults.len() >= 60, "{} faults", faults.len());
    assert!(
        60 * found >= 52 * faults.len(),
        "{found} found, not {missed:?}"
    );
    assert!(
        60 * named >= 45 * faults.len(),
        "{named} named, not {unnamed:?}"
    );
}
