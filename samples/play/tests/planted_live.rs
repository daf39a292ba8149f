//! Faults in the layers of real processes, over UDP, where packets are lost: the rules that are meant find
//! them, and find nothing where there is no fault.
//!
//! `NETREEL_LIVE=4 cargo test -p netreel-play --test planted_live -- --nocapture` plays every fault this many
//! times and says how often each was found.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;

use netreel_protocol::history::bounds::Bounds;
use netreel_protocol::history::{History, Level};
use netreel_protocol::session::{Fate, ReelInput, Session};
use netreel_protocol::verdict::{Judgement, Verdict};
use netreel_reel::Reel;

/// How many sessions of four processes are played at once.
const AT_ONCE: usize = 8;

/// Played by every run of this test; `NETREEL_LIVE` plays all.
const FEW: [&str; 6] = [
    "IgnoreAcks",
    "NeverAck",
    "ResendTimerShort",
    "DestroyTwice",
    "UpdateUnowned",
    "OriginWrong",
];

/// What a machine does that is too busy for its processes.
const OF_BUSY_MACHINES: [&str; 4] = ["tick-stall", "rtt-step", "head-of-line-wait", "silent-link"];

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_planted-live"))
}

/// The rules that are meant to find each fault; none of a fault of which a count says what finds it.
fn faults() -> BTreeMap<String, BTreeSet<String>> {
    let listed = program().arg("list").output().expect("it runs").stdout;
    let listed = String::from_utf8(listed).expect("names");
    let mut faults: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in listed.lines() {
        let (fault, rule) = line.split_once(' ').expect("a fault and a rule");
        let rules = faults.entry(fault.to_owned()).or_default();
        rules.extend((rule != "-").then(|| rule.to_owned()));
    }
    faults
}

/// What `check` says of one session.
struct Outcome {
    /// Rules with a finding above info.
    rules: BTreeMap<&'static str, String>,
    verdict: Verdict,
    sent: u64,
    lost: u64,
}

fn read(folder: &Path) -> Outcome {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|it| it.expect("an entry").path())
        .filter(|it| it.extension().is_some_and(|it| it == "reel"))
        .collect();
    paths.sort();
    let inputs = paths.iter().map(|path| ReelInput {
        name: path.display().to_string(),
        reel: Arc::new(Reel::from_bytes(std::fs::read(path).expect("a file")).expect("a reel")),
    });
    let mut session = Session::builder()
        .build(inputs.collect())
        .expect("a session");
    let bounds = std::fs::read_to_string(folder.join("bounds.toml")).expect("bounds");
    session.bounds = Bounds::parse(&bounds).expect("bounds");
    let history = History::build(&session);
    let mut rules = BTreeMap::new();
    for it in history.findings.iter().filter(|it| it.level > Level::Info) {
        rules.entry(it.rule).or_insert_with(|| it.sentence.clone());
    }
    let traffic = session.traffic().values();
    Outcome {
        rules,
        verdict: Judgement::new(&session, &history, Level::Error, &[]).verdict,
        sent: traffic.clone().map(|it| it.packets).sum(),
        lost: traffic.map(|it| it.fate(Fate::Lost)).sum(),
    }
}

/// Plays all of these, some at once.
fn play(all: &[(String, u64)]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for some in all.chunks(AT_ONCE) {
        let folders: Vec<_> = some
            .iter()
            .map(|_| tempfile::tempdir().expect("a folder"))
            .collect();
        let started: Vec<Child> = some
            .iter()
            .zip(&folders)
            .map(|((fault, seed), folder)| {
                let mut command = program();
                command.arg(fault).arg(folder.path()).arg(seed.to_string());
                command.spawn().expect("it runs")
            })
            .collect();
        for mut child in started {
            assert!(child.wait().expect("it ends").success());
        }
        outcomes.extend(folders.iter().map(|it| read(it.path())));
    }
    outcomes
}

fn without(fault: &str) -> String {
    format!("without-{fault}")
}

#[test]
fn a_fault_in_a_real_process_is_found_by_the_rule_that_is_meant() {
    let faults = faults();
    let mut open: BTreeSet<&str> = FEW.into();
    let mut seen = Vec::new();
    for seed in 1..4 {
        let some: Vec<(String, u64)> = open.iter().map(|it| ((*it).to_owned(), seed)).collect();
        for ((fault, _), outcome) in some.iter().zip(play(&some)) {
            if faults[fault]
                .iter()
                .any(|rule| outcome.rules.contains_key(rule.as_str()))
            {
                open.remove(fault.as_str());
            }
            seen.push((fault.clone(), outcome.rules));
        }
        if open.is_empty() {
            return;
        }
    }
    panic!("not found: {open:?} in {seen:#?}");
}

#[test]
fn without_a_fault_nothing_is_found_of_real_processes_that_lose_packets() {
    // In both topologies.
    let some = [
        ("OriginWrong", 1),
        ("RelayTwice", 1),
        ("OriginWrong", 2),
        ("RelayTwice", 2),
    ];
    let some = some.map(|(fault, seed)| (without(fault), seed));
    let mut lost = 0;
    for (what, mut outcome) in some.iter().zip(play(&some)) {
        outcome
            .rules
            .retain(|rule, _| !OF_BUSY_MACHINES.contains(rule));
        assert!(outcome.rules.is_empty(), "{what:?}: {:#?}", outcome.rules);
        assert_ne!(outcome.verdict, Verdict::Wrong, "{what:?}");
        assert!(outcome.sent > 100, "{what:?}: {} sent", outcome.sent);
        lost += outcome.lost;
    }
    assert!(lost > 20, "{lost} packets were lost");
}

/// All faults, `NETREEL_LIVE` times, each beside the same session without it.
#[test]
fn most_faults_of_real_processes_are_found() {
    let given = std::env::var("NETREEL_LIVE").ok();
    let times: u64 = given.and_then(|it| it.parse().ok()).unwrap_or(0);
    let names: Vec<String> = faults().into_keys().collect();
    let (mut found, mut clean, mut above) = (0, 0, BTreeMap::new());
    for name in names.iter().filter(|_| times > 0) {
        let with = (0..times).map(|seed| (name.clone(), seed));
        let some: Vec<_> = with
            .chain((0..times).map(|seed| (without(name), seed)))
            .collect();
        let outcomes = play(&some);
        let (with, calm) = outcomes.split_at(times as usize);
        let usual: BTreeSet<&str> = calm
            .iter()
            .flat_map(|it| it.rules.keys().copied())
            .collect();
        for it in calm {
            clean += u64::from(it.verdict != Verdict::Wrong);
            for (&rule, sentence) in &it.rules {
                above
                    .entry(rule)
                    .or_insert_with(Vec::new)
                    .push(sentence.clone());
            }
        }
        let mut in_sessions: BTreeMap<&str, u64> = BTreeMap::new();
        let own = |it: &&Outcome| it.rules.keys().any(|rule| !usual.contains(rule));
        let times_found = with.iter().filter(own).count() as u64;
        for rule in with.iter().flat_map(|it| it.rules.keys()) {
            *in_sessions.entry(rule).or_default() += 1;
        }
        found += u64::from(2 * times_found >= times);
        let lost: u64 = with.iter().map(|it| it.lost).sum();
        let sent: u64 = with.iter().map(|it| it.sent).sum();
        println!(
            "{name}: found in {times_found} of {times}: {in_sessions:?}; {lost} of {sent} lost"
        );
    }
    if times > 0 {
        println!(
            "{found} of {} faults found; without a fault {clean} without an error, above info: {above:#?}",
            names.len()
        );
        assert!(
            60 * found >= 52 * names.len() as u64,
            "{found} of {}",
            names.len()
        );
    }
}
