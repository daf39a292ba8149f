//! Walks through a recording, forward and back: at an event the layer is always the same.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use netreel_reel::{Event, EventNumber, Reel};
use netreel_replay::{MakeLayer, Player, Stepper, Stop};
use netreel_sample_engine::{Fault, NetLayer, Start};
use netreel_transport::{Draw, InputError, Layer, Transport};

use crate::recorded::{Edit, WAYS, boxes, edited, record, record_with, seeds_or};

fn reel(seed: u64) -> Arc<Reel> {
    let (mode, topology) = WAYS[(seed % 4) as usize];
    let every = (!seed.is_multiple_of(3)).then_some(Duration::from_millis(200));
    let mut reels = record_with(&boxes(seed, mode, topology), 100, every);
    let reel = reels.swap_remove((seed % 4) as usize);
    Arc::new(Reel::from_bytes(reel).unwrap())
}

fn make(reel: &Arc<Reel>, change: fn(&mut Start)) -> MakeLayer {
    let mut start = Start::decode(&reel.header().start).unwrap();
    change(&mut start);
    Box::new(move |_| Ok(Box::new(NetLayer::new(start.clone()).unwrap())))
}

fn stepper(reel: &Arc<Reel>, bytes_max: usize) -> Stepper {
    Stepper::with_memory(Arc::clone(reel), make(reel, |_| ()), bytes_max).unwrap()
}

/// The state before each event, as a walk from the begin to the end finds it.
fn states(reel: &Arc<Reel>) -> BTreeMap<EventNumber, Vec<u8>> {
    let mut stepper = stepper(reel, 0);
    let mut states = BTreeMap::new();
    loop {
        states.insert(stepper.position(), stepper.state().unwrap());
        if stepper.forward(&mut |_| true).unwrap().stop != Stop::Reached {
            break;
        }
    }
    states.insert(stepper.position(), stepper.state().unwrap());
    states
}

#[test]
fn whatever_the_walk_the_state_before_an_event_is_the_same() {
    for seed in 0..seeds_or(12) {
        let reel = reel(seed);
        let states = states(&reel);
        let last = states.keys().next_back().unwrap().0;
        let mut draw = Draw::new(seed);
        // Enough for a few states, so that some are forgotten again.
        let mut stepper = stepper(&reel, [1 << 20, 20_000][(seed % 2) as usize]);
        for _ in 0..60 {
            let far = draw.below(last + 1);
            let moved = match draw.below(9) {
                0 => stepper.go_to(EventNumber(far)),
                1 => stepper.forward(&mut |_| true),
                2 => stepper.back(&mut |_| true),
                3 => stepper.forward(&mut |it| matches!(it.event, Event::Tick { .. })),
                4 => stepper.back(&mut |it| matches!(it.event, Event::Tick { .. })),
                5 => stepper.forward(&mut |it| matches!(it.event, Event::Sent { .. })),
                6 => stepper.back(&mut |it| matches!(it.event, Event::Received { .. })),
                7 => stepper.back(&mut |it| matches!(it.event, Event::Input { .. })),
                _ => stepper.go_to(EventNumber(u64::MAX)),
            };
            assert_ne!(moved.unwrap().stop, Stop::Parted, "seed {seed}");
            let known = &states[&stepper.position()];
            assert!(
                stepper.state().as_ref() == Some(known),
                "seed {seed}, event {}",
                stepper.position()
            );
        }
    }
}

/// The state before each turn, and behind the last.
fn turns(reel: &Arc<Reel>) -> BTreeMap<EventNumber, Vec<u8>> {
    let mut stepper = stepper(reel, 0);
    let mut states = BTreeMap::new();
    loop {
        let is_turn = |event: &Event<'_>| matches!(event, Event::Tick { .. } | Event::Input { .. });
        let moved = stepper.forward(&mut |it| is_turn(&it.event)).unwrap();
        states.insert(stepper.turn(), stepper.state().unwrap());
        if moved.stop != Stop::Reached {
            return states;
        }
    }
}

/// The same recording with snapshots, whole and with two holes: events that were dropped, and a
/// stretch without a snapshot in it.
fn with_holes(seed: u64) -> (Arc<Reel>, Arc<Reel>, Vec<Range<u64>>) {
    let (mode, topology) = WAYS[(seed % 4) as usize];
    let every = Some(Duration::from_millis(200));
    let mut reels = record_with(&boxes(seed, mode, topology), 100, every);
    let bytes = reels.swap_remove((seed % 4) as usize);
    let mut draw = Draw::new(seed ^ 0x40);
    let holes: Vec<Range<u64>> = [150, 400]
        .iter()
        .map(|&from| {
            let from = from + draw.below(60);
            from..from + 1 + draw.below(40)
        })
        .collect();
    let holed = edited(&bytes, |record, _| {
        match holes.iter().any(|hole| hole.contains(&record.number.0)) {
            true => Edit::Drop,
            false => Edit::Keep,
        }
    });
    let open = |bytes| Arc::new(Reel::from_bytes(bytes).unwrap());
    (open(bytes), open(holed), holes)
}

#[test]
fn walks_lead_across_holes_in_both_directions_and_say_so() {
    let (mut across, mut back_across, mut compared) = (0, 0, 0);
    for seed in 0..seeds_or(12) {
        let (whole, holed, _) = with_holes(seed);
        let turns = turns(&whole);
        let last = turns.keys().next_back().unwrap().0;
        let mut draw = Draw::new(seed);
        let mut stepper = stepper(&holed, [1 << 20, 20_000][(seed % 2) as usize]);
        for _ in 0..60 {
            let before = (stepper.position(), stepper.stretch());
            let far = EventNumber(draw.below(last + 1));
            let moved = match draw.below(8) {
                0 => stepper.go_to(far),
                1 => stepper.forward(&mut |_| true),
                2 => stepper.back(&mut |_| true),
                3 => stepper.seek(far),
                4 => stepper.back(&mut |it| matches!(it.event, Event::Tick { .. })),
                5 => stepper.forward(&mut |it| it.number >= far),
                6 => stepper.back(&mut |it| it.number <= far),
                _ => stepper.back(&mut |it| matches!(it.event, Event::Input { .. })),
            };
            let moved = moved.unwrap();
            assert_ne!(moved.stop, Stop::Parted, "seed {seed}");
            assert_eq!(moved.crossed, stepper.stretch() != before.1, "seed {seed}");
            across += u64::from(moved.crossed);
            let is_back = stepper.position() < before.0;
            back_across += u64::from(moved.crossed && is_back);
            // At a snapshot behind a hole no turn begins.
            if let Some(known) = turns.get(&stepper.turn()) {
                let (state, turn) = (stepper.state(), stepper.turn());
                assert!(state.as_ref() == Some(known), "seed {seed}, event {turn}");
                compared += 1;
            }
        }
    }
    assert!(across > 20 && back_across > 10, "{across}, {back_across}");
    assert!(compared > 400, "{compared}");
}

#[test]
fn one_step_back_from_behind_a_hole_leads_before_it() {
    for seed in 0..4 {
        let (_, holed, holes) = with_holes(seed);
        let mut stepper = stepper(&holed, 1 << 20);
        stepper.go_to(EventNumber(u64::MAX)).unwrap();
        for hole in holes.iter().rev() {
            let begin = stepper.back(&mut |_| false).unwrap();
            assert_eq!((begin.stop, begin.crossed), (Stop::Begin, false));
            assert!(stepper.position() >= EventNumber(hole.end), "seed {seed}");
            let back = stepper.back(&mut |_| true).unwrap();
            assert_eq!((back.stop, back.crossed), (Stop::Reached, true));
            assert_eq!(stepper.position(), EventNumber(hole.start - 1));
            let on = stepper.forward(&mut |_| true).unwrap();
            assert_eq!((on.stop, on.crossed), (Stop::Reached, true));
            stepper.back(&mut |_| true).unwrap();
        }
        assert_eq!(stepper.back(&mut |_| false).unwrap().stop, Stop::Begin);
        assert_eq!(stepper.position(), EventNumber(0));
    }
}

#[test]
fn going_one_way_and_back_leads_to_where_one_was() {
    let reel = reel(1);
    let mut stepper = stepper(&reel, 1 << 20);
    stepper.go_to(EventNumber(200)).unwrap();
    for _ in 0..20 {
        stepper.forward(&mut |_| true).unwrap();
    }
    for _ in 0..20 {
        stepper.back(&mut |_| true).unwrap();
    }
    assert_eq!(stepper.position(), EventNumber(200));
}

#[test]
fn a_layer_that_parts_from_the_recording_stops_there_and_can_go_back() {
    let (mode, topology) = WAYS[0];
    let reel = record(&boxes(2, mode, topology), 100).swap_remove(1);
    let reel = Arc::new(Reel::from_bytes(reel).unwrap());
    let make = make(&reel, |start| start.fault = Some(Fault::ResendEveryTick));
    let mut stepper = Stepper::new(Arc::clone(&reel), make).unwrap();
    let moved = stepper.go_to(EventNumber(u64::MAX)).unwrap();
    assert_eq!(moved.stop, Stop::Parted);
    let parted = stepper.position();
    assert!(stepper.parted().unwrap().divergence().is_some());
    assert_eq!(
        stepper.parted().unwrap().divergence().unwrap().number,
        parted
    );
    let there = stepper.state();
    assert_eq!(stepper.back(&mut |_| true).unwrap().stop, Stop::Reached);
    assert!(stepper.position() < parted);
    assert_eq!(stepper.forward(&mut |_| true).unwrap().stop, Stop::Reached);
    assert_eq!(stepper.forward(&mut |_| true).unwrap().stop, Stop::Parted);
    assert_eq!((stepper.position(), stepper.state()), (parted, there));
}

/// A layer that offers no states.
struct Closed(NetLayer);

impl Layer for Closed {
    fn tick(&mut self, io: &mut dyn Transport) {
        self.0.tick(io);
    }

    fn input(&mut self, call: &[u8], io: &mut dyn Transport) -> Result<(), InputError> {
        self.0.input(call, io)
    }
}

#[test]
fn without_states_going_back_starts_again_and_says_so() {
    let reel = reel(3);
    let start = Start::decode(&reel.header().start).unwrap();
    let make: MakeLayer =
        Box::new(move |_| Ok(Box::new(Closed(NetLayer::new(start.clone()).unwrap()))));
    let mut stepper = Stepper::new(Arc::clone(&reel), make).unwrap();
    assert!(!stepper.go_to(EventNumber(400)).unwrap().restarted);
    let back = stepper.go_to(EventNumber(300)).unwrap();
    assert_eq!((back.stop, back.restarted), (Stop::Reached, true));
    assert_eq!(stepper.kept(), (0, 0));
}
