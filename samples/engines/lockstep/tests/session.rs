//! What players in lockstep sent and received is in the reels, and is played back to the byte; what goes
//! wrong is named.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use lockstep_recorded::example::{Plan, record};
use lockstep_recorded::{Lacking, Node, Start};
use netreel_protocol::history::{Finding, Level};
use netreel_replay::{Driver, Outcome};
use proof::Proof;

fn played(plan: &Plan) -> (tempfile::TempDir, Proof, Vec<u64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let missed = record(folder.path(), plan).expect("a session");
    let proof = proof::open(folder.path());
    (folder, proof, missed)
}

/// A session in which nothing is wrong, for all tests.
fn session() -> &'static (tempfile::TempDir, Proof, Vec<u64>) {
    static SESSION: OnceLock<(tempfile::TempDir, Proof, Vec<u64>)> = OnceLock::new();
    SESSION.get_or_init(|| played(&Plan::default()))
}

fn of<'a>(proof: &'a Proof, rule: &str) -> Vec<&'a Finding> {
    let findings = proof.history.findings.iter();
    findings.filter(|it| it.rule == rule).collect()
}

#[test]
fn every_packet_was_received_or_lost_and_some_were_lost() {
    let (sent, lost) = session().1.sent_and_lost();
    assert!(sent > 1000 && lost > 0, "{sent} sent, {lost} lost");
}

#[test]
fn the_wire_reads_every_packet() {
    session().1.decodes();
}

#[test]
fn nothing_is_wrong_with_players_who_wait_for_each_other() {
    let (_, proof, missed) = session();
    assert_eq!(proof.faults(), Vec::<&_>::new());
    assert_eq!(missed, &[0, 0, 0]);
    assert_eq!(of(proof, "input-late"), Vec::<&Finding>::new());
}

#[test]
fn every_node_is_replayed_exactly() {
    for node in ["a", "b", "c"] {
        let reel = session().1.reel(node);
        let start = Start::of_bytes(&reel.header().start).expect("start conditions");
        let driver = Driver::new(reel).expect("a reel that can be replayed");
        let mut layer = Node::new(driver.transport(), start);
        assert_eq!(driver.run(&mut layer).outcome, Outcome::Exact, "{node}");
    }
}

#[test]
fn a_game_that_works_something_else_out_is_found_at_the_first_checksum() {
    let (_folder, proof, _) = played(&Plan {
        wrong_from: Some(95),
        ..Plan::default()
    });
    let found = of(&proof, "checksums-differ");
    let [finding] = &found[..] else {
        panic!("{:#?}", proof.history.findings)
    };
    assert_eq!(finding.level, Level::Error);
    let said = &finding.sentence;
    assert!(
        said.starts_with("b told another checksum of tick 100 than a and c: "),
        "{said}"
    );
    assert!(said.contains("until tick 90 they told the same"), "{said}");
    assert!(
        said.contains("both had been given the same 30 inputs of ticks 91 to 100"),
        "{said}"
    );
}

/// The packets of c take longer than its inputs are told ahead. Who goes on without them has another game
/// than c, and the inputs are named that it had not been given in time.
#[test]
fn inputs_that_come_too_late_for_who_goes_on_are_counted_as_the_node_counts_them() {
    let (_folder, proof, missed) = played(&Plan {
        lacking: Lacking::GoOn,
        slow: Some(Duration::from_millis(100)),
        ..Plan::default()
    });
    assert!(missed[0] > 0 && missed[1] > 0, "{missed:?}");
    let inputs = &proof.history.inputs;
    for (node, missed) in ["a", "b", "c"].iter().zip(&missed) {
        let at = inputs
            .iter()
            .filter(|it| proof.session.name(it.node) == *node);
        let late: u64 = at.map(|it| it.late).sum();
        // The last ones may never have come.
        assert!(
            late <= *missed && late + 20 >= *missed,
            "{node}: {late} of {missed}"
        );
    }
    let late = of(&proof, "input-late");
    assert!(
        late.iter().all(|it| it.level == Level::Warning),
        "{late:#?}"
    );
    let said = late.iter().find(|it| proof.session.name(it.node) == "a");
    let said = &said.expect("late inputs at a").sentence;
    assert!(
        said.contains("inputs of c came too late for their tick to a, which drops them"),
        "{said}"
    );
    let parted = of(&proof, "checksums-differ");
    assert!(
        parted[0]
            .sentence
            .contains("had not been given the input of c of tick"),
        "{parted:#?}"
    );
}

#[test]
fn ticks_that_are_too_short_drift() {
    let (_folder, proof, _) = played(&Plan {
        ticks: 700,
        lacking: Lacking::GoOn,
        fast: Some(30),
        ..Plan::default()
    });
    let found = of(&proof, "tick-drift");
    let [finding] = &found[..] else {
        panic!("{:#?}", proof.history.findings)
    };
    let said = &finding.sentence;
    assert!(
        said.starts_with("the ticks of c drift: it made 6"),
        "{said}"
    );
    let about = [29, 30, 31].map(|one_in| format!("1 in {one_in} too many"));
    assert!(about.iter().any(|it| said.contains(it)), "{said}");
}

#[test]
fn the_program_records_where_it_is_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_lockstep"));
    let out = folder.path().join("session");
    let status = std::process::Command::new(program)
        .arg("--out")
        .arg(&out)
        .status();
    assert!(status.expect("it runs").success());
    assert_eq!(proof::open(&out).reels.len(), 3);
}
