//! The one switch of a layer's time-outs, thrown by whoever looks at a replay in a debugger.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use netreel_reel::{EventNumber, Reel};
use netreel_replay::{Driver, MakeLayer, Outcome, Player, Stepper, Stop};
use netreel_sample_engine::{Mode, NetLayer, Peer, SimWorldStart, Start, Topology};
use netreel_transport::{InputError, Layer, LinkFaults, RestoreError, Transport};

use crate::recorded::{Edit, boxes, edited, record_with, replay};

const EVERY: Duration = Duration::from_millis(200);
const END: EventNumber = EventNumber(u64::MAX);

fn opened(bytes: Vec<u8>) -> Arc<Reel> {
    Arc::new(Reel::from_bytes(bytes).unwrap())
}

fn layer(reel: &Reel) -> NetLayer {
    NetLayer::new(Start::decode(&reel.header().start).unwrap()).unwrap()
}

/// HOST's reel of a session without a time-out.
fn patient() -> Vec<u8> {
    let start = boxes(1, Mode::Owner, Topology::PeerToPeer);
    record_with(&start, 100, Some(EVERY)).swap_remove(0)
}

/// HOST's reel of one in which A is never heard, and given up.
fn impatient() -> Vec<u8> {
    let mut start: SimWorldStart = boxes(1, Mode::Owner, Topology::PeerToPeer);
    start.tuning.first_word_ns = 500_000_000;
    let deaf = LinkFaults {
        loss: 1.0,
        ..LinkFaults::default()
    };
    start.link_faults.insert((Peer(1), Peer::HOST), deaf);
    record_with(&start, 100, Some(EVERY)).swap_remove(0)
}

/// The sample layer with a watch of its own: it goes on no more once an hour has passed on it.
struct Watch {
    layer: NetLayer,
    hours: Rc<Cell<u64>>,
    is_on: bool,
}

impl Layer for Watch {
    fn tick(&mut self, io: &mut dyn Transport) {
        if self.hours.get() == 0 || !self.is_on {
            self.layer.tick(io);
        }
    }

    fn input(&mut self, call: &[u8], io: &mut dyn Transport) -> Result<(), InputError> {
        self.layer.input(call, io)
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.layer.save()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), RestoreError> {
        // A state brings all with it.
        self.is_on = true;
        self.layer.restore(state)
    }

    fn time_outs(&mut self, on: bool) -> bool {
        self.is_on = on;
        true
    }
}

fn watched(reel: &Arc<Reel>, hours: &Rc<Cell<u64>>) -> Stepper {
    let (of, hours) = (Arc::clone(reel), Rc::clone(hours));
    let make: MakeLayer = Box::new(move |_| {
        Ok(Box::new(Watch {
            layer: layer(&of),
            hours: Rc::clone(&hours),
            is_on: true,
        }))
    });
    Stepper::new(Arc::clone(reel), make).unwrap()
}

#[test]
fn an_hour_on_a_clock_of_the_layers_own_parts_the_replay_unless_its_time_outs_are_off() {
    let reel = opened(patient());
    for is_off in [false, true] {
        let hours = Rc::new(Cell::new(0));
        let mut stepper = watched(&reel, &hours);
        if is_off {
            stepper.time_outs(false).unwrap();
        }
        assert_eq!(stepper.go_to(EventNumber(400)).unwrap().stop, Stop::Reached);
        hours.set(1);
        let stop = stepper.go_to(END).unwrap().stop;
        match is_off {
            true => assert_eq!(stop, Stop::End),
            false => assert_eq!(stop, Stop::Parted),
        }
    }
}

#[test]
fn every_layer_that_is_made_on_the_way_has_its_time_outs_off() {
    let reel = opened(patient());
    let hours = Rc::new(Cell::new(1));
    let mut stepper = watched(&reel, &hours);
    stepper.time_outs(false).unwrap();
    for number in [500, 300, 450, 0, 200] {
        let moved = stepper.go_to(EventNumber(number)).unwrap();
        assert_ne!(moved.stop, Stop::Parted, "to event {number}");
    }
    assert_eq!(stepper.seek(EventNumber(550)).unwrap().stop, Stop::Reached);
    assert_eq!(stepper.go_to(END).unwrap().stop, Stop::End);
}

#[test]
fn a_driver_without_time_outs_is_exact_in_a_recording_without_any_and_compares_the_states() {
    let bytes = patient();
    let with = replay(bytes.clone(), |_| ());
    let reel = opened(bytes);
    let mut layer = layer(&reel);
    let driver = Driver::new(reel).unwrap();
    let (without, is_there) = driver.run_without_time_outs(&mut layer);
    assert!(is_there && without.states > 5);
    assert_eq!(without, with);
}

#[test]
fn a_driver_keeps_them_off_behind_a_hole() {
    let bytes = edited(&patient(), |record, _| match record.number.0 {
        300..350 => Edit::Drop,
        _ => Edit::Keep,
    });
    let reel = opened(bytes);
    let mut layer = Watch {
        layer: layer(&reel),
        hours: Rc::new(Cell::new(1)),
        is_on: true,
    };
    let driver = Driver::new(reel).unwrap();
    let (report, _) = driver.run_without_time_outs(&mut layer);
    assert_eq!(report.outcome, Outcome::Exact);
    assert_eq!(report.stretches.len(), 2);
}

#[test]
fn a_recording_with_a_time_out_is_exact_with_them_on_and_parts_with_them_off() {
    let bytes = impatient();
    assert_eq!(replay(bytes.clone(), |_| ()).outcome, Outcome::Exact);
    let reel = opened(bytes);
    let mut alone = layer(&reel);
    let driver = Driver::new(Arc::clone(&reel)).unwrap();
    let (report, _) = driver.run_without_time_outs(&mut alone);
    let parted = report.divergence().expect("A was given up").number;

    let of = Arc::clone(&reel);
    let make: MakeLayer = Box::new(move |_| Ok(Box::new(layer(&of))));
    let mut stepper = Stepper::new(reel, make).unwrap();
    stepper.time_outs(false).unwrap();
    assert_eq!(stepper.go_to(END).unwrap().stop, Stop::Parted);
    assert_eq!(stepper.position(), parted);
    assert_eq!(stepper.are_time_outs_on(), Some(false));
    let there = stepper.time_outs(true).unwrap();
    assert_eq!((there.stop, stepper.position()), (Stop::Reached, parted));
    assert_eq!(stepper.go_to(END).unwrap().stop, Stop::End);
}
