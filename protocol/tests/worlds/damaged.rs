//! Reels with stretches missing and packets with nonsense in them: nothing panics, and what is
//! said to be known is true.

use std::collections::BTreeMap;

use netreel_protocol::export;
use netreel_protocol::history::{Belief, Level};
use netreel_protocol::session::PacketId;
use netreel_protocol::verdict::Judgement;
use netreel_reel::{Event, EventNumber, Reel, ReelWriter};
use netreel_sample_engine::Peer;
use netreel_transport::Draw;

use crate::played::{Played, WAYS, boxes, read};

/// Writes a reel again; `change` may alter a payload, or drop the event by giving `false`.
fn rewritten(bytes: &[u8], mut change: impl FnMut(EventNumber, &mut Vec<u8>) -> bool) -> Vec<u8> {
    let reel = Reel::from_bytes(bytes.to_vec()).expect("a good reel");
    let mut writer = ReelWriter::create(Vec::new(), reel.header()).expect("the same header");
    reel.for_each(|record| {
        let mut bytes = match record.event {
            Event::Sent { payload, .. } | Event::Received { payload, .. } => payload.to_vec(),
            _ => Vec::new(),
        };
        if !change(record.number, &mut bytes) {
            return;
        }
        let mut record = *record;
        record.event = match record.event {
            Event::Sent { socket, to, .. } => Event::Sent {
                socket,
                to,
                payload: &bytes,
            },
            Event::Received { socket, from, .. } => Event::Received {
                socket,
                from,
                payload: &bytes,
            },
            event => event,
        };
        writer.push(&record).expect("numbers rise");
    });
    writer.finish().expect("memory does not fail")
}

#[test]
fn after_a_hole_a_belief_is_true_or_unknown() {
    let mut unknown = 0;
    for seed in 0..40 {
        for (mode, topology) in WAYS {
            let played = Played::to_rest(&boxes(seed, mode, topology));
            let mut draw = Draw::new(seed);
            let peer = draw.below(played.reels.len() as u64) as usize;
            let mut reels = played.reels.clone();
            let length = Reel::from_bytes(reels[peer].1.clone()).unwrap().len();
            let first = draw.below(length);
            let hole = first..first + 1 + draw.below(length / 8);
            reels[peer].1 = rewritten(&reels[peer].1, |number, _| !hole.contains(&number.0));
            let (session, history) = read(&reels);
            let real: BTreeMap<u64, u64> = played.real(Peer(peer as u8));
            let node = session
                .node_of_peer(peer as u64)
                .expect("it says its number");
            for &object in history.objects.keys() {
                let Some(belief) = history.last_belief(object, node) else {
                    continue;
                };
                let what = format!("seed {seed}, {mode:?}, {topology:?}, object {object}");
                match belief {
                    Belief::Unknown => unknown += 1,
                    Belief::Destroyed => assert_eq!(real.get(&object), None, "{what}"),
                    Belief::Owned(owner) | Belief::Orphaned(owner) => {
                        assert_eq!(real.get(&object), Some(&owner), "{what}");
                    }
                }
            }
        }
    }
    assert!(unknown > 100, "{unknown}");
}

#[test]
fn packets_with_nonsense_in_them_are_told_of_and_nothing_panics() {
    for (seed, (mode, topology)) in (0..).zip(WAYS) {
        let played = Played::to_rest(&boxes(seed, mode, topology));
        let mut draw = Draw::new(seed);
        let mut reels = played.reels.clone();
        for (_, reel) in &mut reels {
            *reel = rewritten(reel, |_, payload| {
                if draw.chance(0.2) && !payload.is_empty() {
                    let place = draw.below(payload.len() as u64) as usize;
                    payload[place] = draw.bits() as u8;
                }
                if draw.chance(0.05) {
                    payload.truncate(draw.below(payload.len() as u64 + 1) as usize);
                }
                true
            });
        }
        let (session, history) = read(&reels);
        assert!(
            history
                .findings
                .iter()
                .any(|finding| finding.rule == "undecodable-packet")
        );
        let _ = export::info(&session, &history);
        let judgement = Judgement::new(&session, &history, Level::Error, &[]);
        let _ = export::check(&session, &history, &judgement);
        let _ = export::objects(&session, &history, None);
        for packet in (0..session.packet_count() as u32).map(PacketId) {
            assert!(export::show(&session, &history, packet).is_some());
        }
    }
}

#[test]
fn a_reel_with_flipped_bytes_opens_or_is_refused_and_never_panics() {
    let (mode, topology) = WAYS[0];
    let played = Played::to_rest(&boxes(3, mode, topology));
    let mut draw = Draw::new(3);
    for _ in 0..60 {
        let mut reels = played.reels.clone();
        let reel = &mut reels[0].1;
        let place = draw.below(reel.len() as u64) as usize;
        reel[place] ^= 1 << draw.below(8);
        let (session, history) = read(&reels);
        let judgement = Judgement::new(&session, &history, Level::Error, &[]);
        let _ = export::check(&session, &history, &judgement);
        let _ = export::objects(&session, &history, None);
    }
}
