//! Reels of a newer recorder: what is skipped is said.

use netreel_protocol::export;
use netreel_protocol::history::Level;
use netreel_protocol::verdict::Judgement;
use netreel_reel::{Reel, block_frame};
use netreel_sample_engine::{Mode, Script, SimWorldStart, Topology};

use crate::played::{Played, read};

/// Puts events of kinds that no version has yet behind those of the last block.
fn with_unknown_kinds(bytes: &[u8], kinds: &[u8]) -> Vec<u8> {
    let reel = Reel::from_bytes(bytes.to_vec()).expect("a good reel");
    let infos = reel.block_infos();
    let block = infos.last().expect("it holds events");
    let (from, to) = (
        block.offset as usize,
        (block.offset + block.length) as usize,
    );
    let mut body = bytes[from + 12..to].to_vec();
    for kind in kinds {
        // At the time of the event before it, two bytes.
        body.extend_from_slice(&[0x80 | kind, 0, 2, 1, 2]);
    }
    let mut out = bytes[..from].to_vec();
    out.extend_from_slice(&block_frame(&body));
    out
}

/// The sentences about skipped events, and the count of each node.
fn check(kinds: &[u8], sentences: &[&str], counts: [u64; 4]) {
    let start = SimWorldStart::new(7, Mode::Owner, Topology::PeerToPeer, Script::Demonstration);
    let mut played = Played::to_rest(&start);
    let last = played.reels.last_mut().expect("four reels");
    last.1 = with_unknown_kinds(&last.1, kinds);
    let (session, history) = read(&played.reels);
    let mut said = session.warnings();
    said.retain(|each| each.contains("newer recorder"));
    assert_eq!(said, sentences);
    let info = export::info(&session, &history);
    let counted: Vec<_> = info.nodes.iter().map(|node| node.unknown_events).collect();
    assert_eq!(counted, counts.map(Some));
    let judgement = Judgement::new(&session, &history, Level::Error, &[]);
    let newer = judgement.reasons.iter();
    let mut newer = newer.filter(|reason| reason.id == "newer-recorder");
    let sentence = newer.next().map(|reason| reason.sentence.as_str());
    let expected = "the reel of X was made by a newer recorder: events in it were skipped";
    assert_eq!(sentence, (!kinds.is_empty()).then_some(expected));
}

#[test]
fn without_events_of_unknown_kinds_nothing_is_said() {
    check(&[], &[], [0; 4]);
}

#[test]
fn one_event_of_an_unknown_kind_is_said_and_counted() {
    check(
        &[30],
        &[
            "X.reel was made by a newer recorder: 1 event of kind 30, which this version does not \
           know, was skipped",
        ],
        [0, 0, 0, 1],
    );
}

#[test]
fn events_of_unknown_kinds_are_said_and_counted_by_kind() {
    check(
        &[31, 30, 31],
        &[
            "X.reel was made by a newer recorder: 1 event of kind 30 and 2 events of kind 31, which \
           this version does not know, were skipped",
        ],
        [0, 0, 0, 3],
    );
}

#[test]
fn of_a_node_without_a_reel_the_count_is_not_known() {
    let start = SimWorldStart::new(7, Mode::Owner, Topology::PeerToPeer, Script::Demonstration);
    let mut played = Played::to_rest(&start);
    played.reels.pop();
    let (session, history) = read(&played.reels);
    let info = export::info(&session, &history);
    let missing = info.nodes.iter().find(|node| !node.recorded);
    assert_eq!(missing.map(|node| node.unknown_events), Some(None));
}
