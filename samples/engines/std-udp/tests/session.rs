//! What a program on the standard library's socket sent and received is in the reels.

use std::path::Path;

use netreel_reel::{EventKind, OwnedRecord};
use proof::Proof;
use std_udp_recorded::{QUESTIONS, record};

fn session() -> (tempfile::TempDir, Proof) {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path()).expect("a session");
    let proof = proof::open(folder.path());
    (folder, proof)
}

#[test]
fn every_question_and_every_answer_is_in_both_reels_in_order() {
    let (_folder, proof) = session();
    let (sent, lost) = proof.sent_and_lost();
    let once = 4 * usize::from(QUESTIONS) + 2;
    assert!(sent >= once, "{sent} sent");
    // Only where a question was asked twice may an answer be left over.
    assert!(lost <= sent - once, "{sent} sent, {lost} lost");
    proof.in_order();
    proof.decodes();
    assert_eq!(proof.faults(), Vec::<&_>::new());
    for client in ["a", "b"] {
        let asked = proof.link(client, "server").len();
        let answered = proof.link("server", client).len();
        assert_eq!(
            asked,
            answered + 1,
            "{client}: all but the last are answered"
        );
    }
}

#[test]
fn what_the_program_said_of_itself_is_in_the_reel_where_it_happened() {
    let (_folder, proof) = session();
    let events = proof.events("a");
    let kinds = events
        .iter()
        .map(OwnedRecord::as_record)
        .map(|it| it.event.kind());
    let kinds = kinds.take(7).collect::<Vec<_>>();
    let expected = [
        EventKind::SocketOpened,
        EventKind::Clock,
        EventKind::Tick,
        EventKind::Input,
        EventKind::Sent,
        EventKind::SendResult,
        EventKind::Received,
    ];
    assert_eq!(kinds, expected);
    let last = events.last().map(|it| it.as_record().event.kind());
    assert_eq!(last, Some(EventKind::SocketClosed));
    let count = |kind| proof.reel("a").counts().get(&kind).copied().unwrap_or(0);
    assert_eq!((count(EventKind::Tick), count(EventKind::Input)), (50, 50));
}

#[test]
fn the_program_records_where_it_is_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_std-udp"));
    let out = folder.path().join("session");
    let status = std::process::Command::new(program)
        .arg("--out")
        .arg(&out)
        .status();
    assert!(status.expect("it runs").success());
    assert_eq!(proof::open(&out).reels.len(), 3);
}
