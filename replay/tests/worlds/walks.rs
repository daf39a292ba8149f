//! Walks through a recording, forward and back: at an event the layer is always the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use netreel_reel::{Event, EventNumber, Reel};
use netreel_replay::{MakeLayer, Stepper, Stop};
use netreel_sample_engine::{Fault, NetLayer, Start};
use netreel_transport::{Draw, InputError, Layer, Transport};

use crate::recorded::{WAYS, boxes, record, record_with, seeds_or};

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
        if stepper.forward(|_| true).unwrap().stop != Stop::Reached {
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
                1 => stepper.forward(|_| true),
                2 => stepper.back(|_| true),
                3 => stepper.forward(|it| matches!(it.event, Event::Tick { .. })),
                4 => stepper.back(|it| matches!(it.event, Event::Tick { .. })),
                5 => stepper.forward(|it| matches!(it.event, Event::Sent { .. })),
                6 => stepper.back(|it| matches!(it.event, Event::Received { .. })),
                7 => stepper.back(|it| matches!(it.event, Event::Input { .. })),
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

#[test]
fn going_one_way_and_back_leads_to_where_one_was() {
    let reel = reel(1);
    let mut stepper = stepper(&reel, 1 << 20);
    stepper.go_to(EventNumber(200)).unwrap();
    for _ in 0..20 {
        stepper.forward(|_| true).unwrap();
    }
    for _ in 0..20 {
        stepper.back(|_| true).unwrap();
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
    assert_eq!(stepper.back(|_| true).unwrap().stop, Stop::Reached);
    assert!(stepper.position() < parted);
    assert_eq!(stepper.forward(|_| true).unwrap().stop, Stop::Reached);
    assert_eq!(stepper.forward(|_| true).unwrap().stop, Stop::Parted);
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
