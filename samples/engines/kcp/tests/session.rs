//! What KCP sent and received is in the reels, and is played back to the byte.

use std::path::Path;
use std::sync::OnceLock;

use kcp_recorded::example::{Game, record};
use netreel_reel::EventKind;
use netreel_replay::{Driver, Outcome, Report};
use proof::Proof;

/// One session for all tests.
fn session() -> &'static (tempfile::TempDir, Proof) {
    static SESSION: OnceLock<(tempfile::TempDir, Proof)> = OnceLock::new();
    SESSION.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        record(folder.path()).expect("a session");
        let proof = proof::open(folder.path());
        (folder, proof)
    })
}

fn replay(node: &str, start: impl FnOnce(&mut Vec<u8>)) -> Report {
    let reel = session().1.reel(node);
    let mut conditions = reel.header().start.clone();
    start(&mut conditions);
    let driver = Driver::new(reel).expect("a reel that can be replayed");
    let mut game = Game::new(driver.transport(), &conditions).expect("start conditions");
    driver.run(&mut game)
}

#[test]
fn every_packet_was_received_or_lost_and_some_were_lost() {
    let (sent, lost) = session().1.sent_and_lost();
    assert!(sent > 30 && lost > 0, "{sent} sent, {lost} lost");
}

#[test]
fn the_wire_reads_every_packet() {
    session().1.decodes();
}

#[test]
fn nothing_is_wrong_with_the_session() {
    assert_eq!(session().1.faults(), Vec::<&_>::new());
}

#[test]
fn kcp_sent_again_what_was_lost() {
    let proof = &session().1;
    let links = proof.history.links(&proof.session).values();
    let again: u64 = links.map(|link| link.resent).sum();
    assert!(again > 0);
    assert_eq!(proof.history.undelivered.len(), 0);
}

#[test]
fn clocks_seeds_ticks_and_inputs_are_in_the_reel() {
    for node in ["server", "a", "b"] {
        let reel = session().1.reel(node);
        let count = |kind| reel.counts().get(&kind).copied().unwrap_or(0);
        assert_eq!(count(EventKind::Random), 1, "{node}: the conversation");
        assert!(count(EventKind::Clock) >= count(EventKind::Tick), "{node}");
        assert_eq!(
            count(EventKind::Input),
            if node == "server" { 0 } else { 40 }
        );
    }
}

#[test]
fn every_node_is_replayed_exactly() {
    for node in ["server", "a", "b"] {
        let report = replay(node, |_| {});
        assert_eq!(report.outcome, Outcome::Exact, "{node}");
        let sent = session().1.reel(node).counts()[&EventKind::Sent];
        assert_eq!(report.sends, sent, "{node}");
    }
}

#[test]
fn another_packet_length_is_a_divergence_down_to_the_field() {
    let report = replay("a", |start| {
        start[..2].copy_from_slice(&1000_u16.to_le_bytes());
    });
    let explained = session().1.explained(&report);
    let field = explained.field.expect("a field");
    assert!(field.path.ends_with("fragments_left"), "{field:?}");
    assert_eq!((field.expected.as_str(), field.came.as_str()), ("4", "5"));
}

#[test]
fn the_program_records_where_it_is_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_kcp-links"));
    let out = folder.path().join("session");
    let status = std::process::Command::new(program)
        .arg("--out")
        .arg(&out)
        .status();
    assert!(status.expect("it runs").success());
    assert_eq!(proof::open(&out).reels.len(), 3);
}
