//! Reels that were cut: nothing panics, and what is not known is said to be unknown.

use netreel_protocol::export;
use netreel_protocol::history::{Belief, Level};
use netreel_protocol::verdict::Judgement;
use netreel_sample_engine::{Demonstration, Mode, Script, SimWorldStart, Topology};

use crate::played::{Played, WAYS, boxes, read};

#[test]
fn a_session_with_one_reel_cut_at_any_place_still_tells_its_story() {
    for (mode, topology) in WAYS {
        let played = Played::to_rest(&boxes(5, mode, topology));
        for node in 0..played.reels.len() {
            let length = played.reels[node].1.len();
            for cut in (0..12).map(|step| length * step / 12) {
                let mut reels = played.reels.clone();
                reels[node].1.truncate(cut);
                let (session, history) = read(&reels);
                assert!(session.packet_count() <= played.session.packet_count());
                let name = &reels[node].0;
                let cut_node = session.nodes.iter().find(|each| each.name == *name);
                // Cut in its header the reel does not open, and the node has only an address.
                assert!(cut_node.is_none_or(|node| !node.complete));
                // What the cut took may have filled a place, and was said at times that nobody knows.
                let rules = ["stream-gap", "counter-falls"];
                let found = history.findings.iter().find(|it| rules.contains(&it.rule));
                assert_eq!(found, None, "{name} cut at {cut}");
                let judgement = Judgement::new(&session, &history, Level::Error, &[]);
                let _ = export::check(&session, &history, &judgement);
                let _ = export::objects(&session, &history, None);
            }
        }
    }
}

#[test]
fn whether_a_zombie_lives_on_in_a_cut_reel_is_unknown() {
    let start = SimWorldStart::new(7, Mode::Host, Topology::PeerToPeer, Script::Demonstration);
    let mut played = Played::to_rest(&start);
    for (name, reel) in &mut played.reels {
        if name == "X" {
            reel.truncate(reel.len() - 9);
        }
    }
    let (session, history) = read(&played.reels);
    let zombie: Vec<_> = history
        .findings
        .iter()
        .filter(|f| f.rule == "zombie-object")
        .collect();
    assert_eq!(zombie.len(), 1);
    assert_eq!(zombie[0].level, Level::Warning);
    assert!(
        zombie[0]
            .sentence
            .ends_with("whether it lives on at X is unknown: the reel of X was cut"),
        "{}",
        zombie[0].sentence
    );
    let x = session
        .nodes
        .iter()
        .position(|node| node.name == "X")
        .unwrap();
    let last = history.last_belief(
        Demonstration::OBJECT.0,
        netreel_protocol::session::NodeId(x as u16),
    );
    assert_eq!(last, Some(Belief::Owned(1)));
}

#[test]
fn a_node_without_its_reel_is_known_by_what_others_sent_and_got() {
    let start = SimWorldStart::new(7, Mode::Host, Topology::PeerToPeer, Script::Demonstration);
    let mut played = Played::to_rest(&start);
    played.reels.retain(|(name, _)| name != "A");
    let (session, history) = read(&played.reels);
    let a = session
        .node_of_peer(1)
        .expect("A says its number in its packets");
    let node = &session.nodes[usize::from(a.0)];
    assert_eq!(
        (node.name.as_str(), node.recorded),
        ("127.0.0.1:27001", false)
    );
    let of = |level| -> Vec<&str> {
        let findings = history.findings.iter().filter(|f| f.level == level);
        findings.map(|f| f.rule).collect()
    };
    assert_eq!(of(Level::Error), ["migrate-before-create"]);
    assert_eq!(
        of(Level::Warning),
        ["zombie-object"],
        "A may have told X more"
    );
}

#[test]
fn a_single_reel_is_a_session_too() {
    let start = SimWorldStart::new(7, Mode::Host, Topology::PeerToPeer, Script::Demonstration);
    let mut played = Played::to_rest(&start);
    played.reels.retain(|(name, _)| name == "X");
    let (session, history) = read(&played.reels);
    assert_eq!(session.nodes.len(), 4);
    assert_eq!(session.nodes.iter().filter(|node| node.recorded).count(), 1);
    assert!(
        history
            .findings
            .iter()
            .any(|finding| finding.rule == "zombie-object")
    );
}
