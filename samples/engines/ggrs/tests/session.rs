//! What GGRS sent and received is in the reels, and a game that parts is found where it did.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use ggrs_recorded::example::{Plan, Truth, record};
use netreel_protocol::history::Level;
use proof::Proof;

/// A session and what GGRS asked of both.
type Played = (tempfile::TempDir, Proof, [Truth; 2]);

fn played(plan: Plan) -> Played {
    let folder = tempfile::tempdir().expect("a folder");
    let truth = record(folder.path(), plan).expect("a session");
    let proof = proof::open(folder.path());
    (folder, proof, truth)
}

/// A session in which nothing is wrong, for all tests.
fn session() -> &'static Played {
    static SESSION: OnceLock<Played> = OnceLock::new();
    SESSION.get_or_init(|| played(Plan::default()))
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
fn nothing_is_wrong_with_a_game_that_rolls_back() {
    let (_, proof, [a, b]) = session();
    assert_eq!(proof.faults(), Vec::<&_>::new());
    assert!(
        a.rollbacks.len() > 10 && b.rollbacks.len() > 10,
        "{a:?} {b:?}"
    );
    assert_eq!((a.desync, b.desync), (None, None));
}

/// GGRS tells the checksum of the state before a frame is played, so that what frame 100 does wrong shows
/// in the next one that is told: 110.
#[test]
fn a_game_that_parts_is_found_at_the_first_frame_that_was_told() {
    let (_folder, proof, [a, b]) = played(Plan {
        desync: Some(100),
        ..Plan::default()
    });
    let found: Vec<_> = proof.history.findings.iter().collect();
    let own = found.iter().filter(|it| it.rule == "checksums-differ");
    let own: Vec<_> = own.collect();
    let [finding] = &own[..] else {
        panic!("{found:#?}")
    };
    assert_eq!(finding.level, Level::Error);
    let said = &finding.sentence;
    assert!(said.contains("checksum of tick 110 than"), "{said}");
    assert!(said.contains("until tick 100 they told the same"), "{said}");
    assert!(
        said.contains("both had been given the same 20 inputs of ticks 101 to 110"),
        "{said}"
    );
    // So says GGRS, at one of them at least: a word that was lost is not told again.
    assert_eq!(a.desync.into_iter().chain(b.desync).min(), Some(110));
}

/// No guess is right, so that each late input is a rollback. Where GGRS is too far ahead it tells its input
/// of a frame that it does not play yet, and may roll back again before the next: there the counts part a
/// little.
#[test]
fn rollbacks_are_counted_as_ggrs_makes_them() {
    let (_, proof, truth) = session();
    for (node, truth) in ["a", "b"].iter().zip(truth) {
        let mut inputs = proof.history.inputs.iter();
        let at = inputs.find(|it| proof.session.name(it.node) == *node);
        let at = at.expect("inputs of the other");
        let again: i32 = truth.rollbacks.iter().sum();
        let deepest = truth.rollbacks.iter().max().copied().unwrap_or(0) as u64;
        let is_near = |told: u64, made: u64| told.abs_diff(made) <= made / 20 + 3;
        let told = at.worst.map_or(0, |it| it.depth());
        assert!(
            is_near(at.rollbacks, truth.rollbacks.len() as u64),
            "{at:?}, {truth:?}"
        );
        assert!(is_near(at.played_again, again as u64), "{at:?}, {again}");
        assert!((deepest..=deepest + 2).contains(&told), "{at:?}, {deepest}");
    }
}

#[test]
fn a_rollback_that_is_deeper_than_the_bound_is_found() {
    let (_folder, proof, truth) = played(Plan {
        delay: Duration::from_millis(150),
        ahead: 16,
        ..Plan::default()
    });
    let found = proof.history.findings.iter();
    let own: Vec<_> = found.filter(|it| it.rule == "rollback-deep").collect();
    assert_eq!(own.len(), 2, "{own:#?}");
    for (finding, truth) in own.iter().zip(&truth) {
        let deepest = truth.rollbacks.iter().max().copied().unwrap_or(0);
        assert!(deepest > 12, "{truth:?}");
        assert_eq!(finding.level, Level::Warning);
    }
}

#[test]
fn the_program_records_where_it_is_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_ggrs-rollback"));
    let out = folder.path().join("session");
    let status = std::process::Command::new(program)
        .arg("--out")
        .arg(&out)
        .status();
    assert!(status.expect("it runs").success());
    assert_eq!(proof::open(&out).reels.len(), 2);
}
