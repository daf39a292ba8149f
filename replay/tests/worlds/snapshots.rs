//! Replays that start at a snapshot, and states that are compared on the way.

use std::sync::Arc;
use std::time::Duration;

use netreel_reel::{Event, EventNumber, Reel};
use netreel_replay::{Driver, NotReplayable, Outcome, Report};
use netreel_sample_engine::{Fault, NetLayer, Start};
use netreel_transport::{Draw, Step};

use crate::recorded::{Edit, WAYS, boxes, edited, record_with, replay, seeds_or, snapshots};

/// A snapshot as often as this.
const EVERY: Duration = Duration::from_millis(200);
const TICKS: u64 = 150;

/// The reels of one world, one way after the other.
fn worlds(seed: u64) -> impl Iterator<Item = Vec<u8>> {
    WAYS.into_iter().flat_map(move |(mode, topology)| {
        record_with(&boxes(seed, mode, topology), TICKS, Some(EVERY))
    })
}

fn last(bytes: &[u8]) -> EventNumber {
    let reel = Reel::from_bytes(bytes.to_vec()).unwrap();
    let mut last = EventNumber(0);
    reel.for_each(|record| last = record.number);
    last
}

fn sends_behind(bytes: &[u8], number: EventNumber) -> u64 {
    let mut sends = 0;
    Reel::from_bytes(bytes.to_vec())
        .unwrap()
        .for_each(|record| {
            let is_send = matches!(record.event, Event::Sent { .. });
            sends += u64::from(is_send && record.number > number);
        });
    sends
}

/// What a window of ring mode has: the events from `first` on.
fn window(bytes: &[u8], first: EventNumber) -> Vec<u8> {
    edited(bytes, |record, _| match record.number < first {
        true => Edit::Drop,
        false => Edit::Keep,
    })
}

#[test]
fn a_window_is_exact_from_its_first_snapshot_to_its_end() {
    for seed in 0..seeds_or(40) {
        let mut draw = Draw::new(seed);
        for bytes in worlds(seed) {
            let known = snapshots(&bytes);
            let middle = known[draw.below(known.len() as u64) as usize].0;
            // Anywhere before that snapshot, and behind the one before it.
            let first = EventNumber(middle.0 - draw.below(20).min(middle.0 - 1));
            let report = replay(window(&bytes, first), |_| ());
            assert_eq!(report.outcome, Outcome::Exact, "seed {seed} from {first}");
            let [stretch] = report.stretches[..] else {
                panic!("seed {seed}: {:?}", report.stretches);
            };
            assert!(stretch.snapshot && stretch.from <= middle && stretch.from >= first);
            assert_eq!(stretch.until, last(&bytes).next());
            let later = known.iter().filter(|(number, _)| *number > stretch.from);
            assert_eq!(report.states, later.count() as u64);
            assert_eq!(report.sends, sends_behind(&bytes, stretch.from));
        }
    }
}

#[test]
fn the_state_at_every_snapshot_is_the_recorded_one() {
    for bytes in worlds(3) {
        let report = replay(bytes.clone(), |_| ());
        assert_eq!(report.outcome, Outcome::Exact);
        assert_eq!(report.states, snapshots(&bytes).len() as u64);
    }
}

#[test]
fn a_driver_starts_at_the_snapshot_before_an_event() {
    for bytes in worlds(4).take(4) {
        let known = snapshots(&bytes);
        let (snapshot, _) = known[known.len() / 2];
        let reel = Arc::new(Reel::from_bytes(bytes).unwrap());
        let start = Start::decode(&reel.header().start).unwrap();
        let mut layer = NetLayer::new(start).unwrap();
        let event = EventNumber(snapshot.0 + 7);
        let report = Driver::from(reel, event).unwrap().run(&mut layer);
        assert_eq!(report.outcome, Outcome::Exact);
        assert_eq!(report.stretches[0].from, snapshot);
    }
}

#[test]
fn a_hole_spoils_nothing_behind_the_next_snapshot() {
    for (seed, bytes) in (0..).zip(worlds(5)) {
        let hole = EventNumber(60 + seed * 7)..EventNumber(90 + seed * 7);
        let report = replay(
            edited(&bytes, |record, _| match hole.contains(&record.number) {
                true => Edit::Drop,
                false => Edit::Keep,
            }),
            |_| (),
        );
        assert_eq!(report.outcome, Outcome::Exact, "{hole:?}");
        let [before, behind] = report.stretches[..] else {
            panic!("{:?}", report.stretches);
        };
        assert_eq!((before.from, before.until), (EventNumber(0), hole.start));
        assert!(before.breaks_off && behind.snapshot && behind.from > hole.end);
        assert_eq!(behind.until, last(&bytes).next());
    }
}

#[test]
fn a_window_without_a_snapshot_is_refused_and_says_what_is_missing() {
    let bytes = worlds(6).next().unwrap();
    let reel = edited(&bytes, |record, _| match record.event {
        Event::Snapshot { .. } => Edit::Drop,
        _ if record.number < EventNumber(70) => Edit::Drop,
        _ => Edit::Keep,
    });
    let reel = Arc::new(Reel::from_bytes(reel).unwrap());
    let NotReplayable { missing, .. } = Driver::new(reel).err().unwrap();
    assert!(missing[0].contains("70 events are missing"), "{missing:?}");
}

/// Replays with one byte of snapshot `which` changed.
fn mutated(bytes: &[u8], which: EventNumber, draw: &mut Draw) -> Report {
    let changed = edited(bytes, |record, buffer| match record.event {
        Event::Snapshot { state } if record.number == which => {
            buffer.extend_from_slice(state);
            let place = draw.below(buffer.len() as u64) as usize;
            match draw.below(3) {
                0 => buffer[place] ^= 1 << draw.below(8),
                1 => buffer.truncate(place),
                _ => buffer.insert(place, draw.bits() as u8),
            }
            Edit::State
        }
        _ => Edit::Keep,
    });
    replay(changed, |_| ())
}

#[test]
fn a_changed_snapshot_is_refused_or_diverges_and_is_never_exact() {
    for seed in 0..seeds_or(10) {
        let mut draw = Draw::new(seed);
        for bytes in worlds(seed) {
            let known = snapshots(&bytes);
            let (which, _) = known[draw.below(known.len() as u64) as usize];
            let on_the_way = mutated(&bytes, which, &mut draw);
            let divergence = on_the_way.divergence().expect("a state that differs");
            assert_eq!(divergence.number, which, "seed {seed}");
            assert!(matches!(divergence.came, Step::State(_)));
            let (first, _) = known[0];
            let refused = mutated(&window(&bytes, first), first, &mut draw);
            assert!(
                matches!(refused.outcome, Outcome::SnapshotRefused(number, _) if number == first),
                "seed {seed}: {:?}",
                refused.outcome
            );
        }
    }
}

#[test]
fn a_layer_that_forgets_tombstones_is_found_by_its_state() {
    let mut by_state = 0;
    for bytes in worlds(7) {
        let reel = Arc::new(Reel::from_bytes(bytes).unwrap());
        let mut start = Start::decode(&reel.header().start).unwrap();
        start.fault = Some(Fault::ForgetTombstones);
        let mut layer = NetLayer::new(start).unwrap();
        let report = Driver::new(reel).unwrap().run(&mut layer);
        let came = report.divergence().map(|divergence| &divergence.came);
        by_state += u64::from(matches!(came, Some(Step::State(_))));
    }
    assert!(by_state > 8, "{by_state} of 16");
}

#[test]
fn a_layer_that_swallows_an_event_is_found_though_its_packets_are_the_same() {
    let bytes = worlds(8).next().unwrap();
    let reel = Arc::new(Reel::from_bytes(bytes).unwrap());
    let mut start = Start::decode(&reel.header().start).unwrap();
    start.fault = Some(Fault::SwallowUpdates);
    let mut layer = NetLayer::new(start).unwrap();
    let report = Driver::new(reel).unwrap().run(&mut layer);
    let divergence = report.divergence().expect("an event less");
    assert!(matches!(divergence.came, Step::State(_)));
}
