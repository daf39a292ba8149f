//! Every message between replicon apps is in the reels of both.

use std::path::Path;

use netreel_protocol::history::Belief;
use netreel_reel::{Event, EventKind, OwnedRecord};
use proof::Proof;
use replicon_recorded::FROM_SERVER;
use replicon_recorded::example::{MOVES, Position, record};

fn session() -> (tempfile::TempDir, Proof, [Vec<Option<Position>>; 2]) {
    let folder = tempfile::tempdir().expect("a folder");
    let seen = record(folder.path()).expect("a session");
    let proof = proof::open(folder.path());
    (folder, proof, seen)
}

/// What a node received on one channel.
fn received(events: &[OwnedRecord], channel: u8) -> Vec<&[u8]> {
    let events = events.iter().map(OwnedRecord::as_record);
    events
        .filter_map(|record| match record.event {
            Event::Received {
                payload: [first, message @ ..],
                ..
            } if *first == channel => Some(message),
            _ => None,
        })
        .collect()
}

#[test]
fn every_message_is_in_the_reels_of_both_in_order() {
    let (_folder, proof, _) = session();
    let (sent, lost) = proof.sent_and_lost();
    assert_eq!(lost, 0);
    assert!(sent >= 4 * MOVES as usize, "{sent} sent");
    proof.in_order();
    proof.decodes();
    assert_eq!(proof.faults(), Vec::<&_>::new());
    for client in ["a", "b"] {
        assert!(proof.link("server", client).len() > MOVES as usize);
        assert!(
            proof.link(client, "server").len() >= MOVES as usize,
            "acks of {client}"
        );
    }
}

#[test]
fn spawn_update_and_despawn_were_seen_and_are_in_the_reel() {
    const UPDATES: u8 = FROM_SERVER;
    const MUTATIONS: u8 = FROM_SERVER | 1;
    // Of the flags that an update message begins with.
    const DESPAWNS: u8 = 1 << 2;
    const CHANGES: u8 = 1 << 4;
    let (_folder, proof, seen) = session();
    for (client, seen) in ["a", "b"].into_iter().zip(seen) {
        let mut steps = seen.clone();
        steps.dedup();
        let moves = (0..=MOVES).map(|step| Some(Position(step)));
        let expected = [None].into_iter().chain(moves).chain([None]);
        assert_eq!(steps, expected.collect::<Vec<_>>(), "{client}");

        let events = proof.events(client);
        let updates = received(&events, UPDATES);
        let flags = updates.iter().filter_map(|message| message.first());
        let flags = flags.copied().collect::<Vec<_>>();
        assert_eq!(flags, [CHANGES, DESPAWNS], "{client}");
        assert_eq!(
            received(&events, MUTATIONS).len(),
            MOVES as usize,
            "{client}"
        );
    }
}

#[test]
fn the_wire_tells_the_object_s_life_at_every_node() {
    let (_folder, proof, _) = session();
    let objects = &proof.history.objects;
    assert_eq!(objects.len(), 1);
    let object = objects.values().next().expect("the object");
    assert_eq!(object.lanes.len(), 3, "the server's and both clients'");
    for lane in object.lanes.values() {
        let last = lane.last().map(|span| span.belief);
        assert_eq!(last, Some(Belief::Destroyed));
    }
}

#[test]
fn frames_are_ticks_and_what_the_game_did_stands_in_the_server() {
    let (_folder, proof, _) = session();
    for node in ["server", "a", "b"] {
        let reel = proof.reel(node);
        let count = |kind| reel.counts().get(&kind).copied().unwrap_or(0);
        assert_eq!(count(EventKind::Tick), MOVES as u64 + 20, "{node}");
        assert_eq!(count(EventKind::Clock), MOVES as u64 + 20, "{node}");
        // Two joins, a spawn, the moves and a despawn.
        let inputs = if node == "server" {
            MOVES as u64 + 4
        } else {
            0
        };
        assert_eq!(count(EventKind::Input), inputs, "{node}");
    }
}

#[test]
fn the_program_records_where_it_is_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_replicon"));
    let out = folder.path().join("session");
    let status = std::process::Command::new(program)
        .arg("--out")
        .arg(&out)
        .status();
    assert!(status.expect("it runs").success());
    assert_eq!(proof::open(&out).reels.len(), 3);
}
