//! Mutants, made by a program: an engine that does one thing otherwise at one place, and recordings
//! in which one event is another. Each is found at its event, with the right cause.
//!
//! `NETREEL_MUTANTS` says how many of each are tried; `./dev campaign` tries a hundred of each way.

use std::collections::VecDeque;
use std::sync::Arc;

use netreel_reel::{Event, EventNumber, OwnedRecord, Record, Reel, ReelWriter};
use netreel_replay::{Cause, Deed, Driver, Outcome, Report, cause};
use netreel_sample_engine::{NetLayer, Start};
use netreel_transport::{
    Datagram, Draw, Endpoint, InputError, Layer, ReceiveError, SendError, Step, Time, Transport,
};

use crate::recorded::{WAYS, boxes, record};

/// What a mutant does otherwise, at one of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    ClockMore,
    DrawMore,
    ReceiveMore,
    SendMore,
    ClockLess,
    DrawLess,
    ReceiveLess,
    SendLess,
    OtherBit,
    OtherPeer,
    OtherOrder,
}

const ALL: [Way; 11] = [
    Way::ClockMore,
    Way::DrawMore,
    Way::ReceiveMore,
    Way::SendMore,
    Way::ClockLess,
    Way::DrawLess,
    Way::ReceiveLess,
    Way::SendLess,
    Way::OtherBit,
    Way::OtherPeer,
    Way::OtherOrder,
];

impl Way {
    fn cause(self, next: EventNumber) -> Cause {
        match self {
            Way::ClockMore => Cause::OneMore(Deed::Clock),
            Way::DrawMore => Cause::OneMore(Deed::Draw),
            Way::ReceiveMore => Cause::OneMore(Deed::Receive),
            Way::SendMore => Cause::OneMore(Deed::Send),
            Way::ClockLess => Cause::OneLess(Deed::Clock),
            Way::DrawLess => Cause::OneLess(Deed::Draw),
            Way::ReceiveLess => Cause::OneLess(Deed::Receive),
            Way::SendLess => Cause::OneLess(Deed::Send),
            Way::OtherBit => Cause::Content,
            Way::OtherPeer => Cause::Destination,
            Way::OtherOrder => Cause::Order(next),
        }
    }

    /// Whether this step can be done so, and the recording shows it there at once.
    fn fits(self, here: &Step, next: Option<&Step>) -> bool {
        let is_send = |step: &Step| matches!(step, Step::Send { .. });
        match self {
            Way::ClockMore => *here != Step::Clock,
            Way::DrawMore => *here != Step::Random,
            Way::ReceiveMore => *here != Step::Receive,
            Way::SendMore => is_send(here) && next.is_some_and(|next| next != here),
            Way::ClockLess => *here == Step::Clock && next.is_some_and(|it| *it != Step::Clock),
            Way::DrawLess => *here == Step::Random && next.is_some_and(|it| *it != Step::Random),
            Way::ReceiveLess => {
                *here == Step::Receive && next.is_some_and(|it| *it != Step::Receive)
            }
            Way::SendLess => is_send(here) && next != Some(here),
            Way::OtherBit => matches!(here, Step::Send { packet, .. } if !packet.is_empty()),
            Way::OtherPeer => is_send(here),
            Way::OtherOrder => {
                is_send(here) && next.is_some_and(|next| is_send(next) && next != here)
            }
        }
    }
}

/// An engine that does something otherwise at its `at`th step.
struct Mutant {
    layer: NetLayer,
    way: Way,
    at: usize,
    steps: usize,
    time: Time,
    held: Option<(Endpoint, Vec<u8>)>,
}

struct Tampered<'a> {
    io: &'a mut dyn Transport,
    way: Way,
    at: usize,
    steps: &'a mut usize,
    time: &'a mut Time,
    held: &'a mut Option<(Endpoint, Vec<u8>)>,
}

impl Tampered<'_> {
    /// Whether this step is the one; does first what it does once more.
    fn here(&mut self) -> bool {
        let here = *self.steps == self.at;
        *self.steps += 1;
        if here {
            match self.way {
                Way::ClockMore => drop(self.io.now()),
                Way::DrawMore => drop(self.io.random()),
                Way::ReceiveMore => drop(self.io.receive(&mut [0; 2048])),
                _ => {}
            }
        }
        here
    }

    fn give_back(&mut self) {
        if let Some((to, packet)) = self.held.take() {
            let _ = self.io.send(to, &packet);
        }
    }
}

impl Transport for Tampered<'_> {
    fn now(&mut self) -> Time {
        if !(self.here() && self.way == Way::ClockLess) {
            *self.time = self.io.now();
        }
        *self.time
    }

    fn random(&mut self) -> u64 {
        match self.here() && self.way == Way::DrawLess {
            true => 4,
            false => self.io.random(),
        }
    }

    fn send(&mut self, to: Endpoint, packet: &[u8]) -> Result<(), SendError> {
        if !self.here() {
            let sent = self.io.send(to, packet);
            self.give_back();
            return sent;
        }
        match self.way {
            Way::SendLess => Ok(()),
            Way::SendMore => {
                let _ = self.io.send(to, packet);
                self.io.send(to, packet)
            }
            Way::OtherBit => {
                let mut packet = packet.to_vec();
                let at = self.at % packet.len();
                packet[at] ^= 1 << (self.at % 8);
                self.io.send(to, &packet)
            }
            Way::OtherPeer => {
                let mut other = to;
                other.set_port(to.port() ^ 1);
                self.io.send(other, packet)
            }
            Way::OtherOrder => {
                *self.held = Some((to, packet.to_vec()));
                Ok(())
            }
            _ => self.io.send(to, packet),
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        match self.here() && self.way == Way::ReceiveLess {
            true => Ok(None),
            false => self.io.receive(buffer),
        }
    }

    fn tick(&mut self, _: u64, _: Time) {}
    fn input(&mut self, _: &[u8]) {}
    fn note(&mut self, text: &str) {
        self.io.note(text);
    }
}

impl Mutant {
    fn through<R>(
        &mut self,
        io: &mut dyn Transport,
        run: impl FnOnce(&mut NetLayer, &mut dyn Transport) -> R,
    ) -> R {
        let mut tampered = Tampered {
            io,
            way: self.way,
            at: self.at,
            steps: &mut self.steps,
            time: &mut self.time,
            held: &mut self.held,
        };
        run(&mut self.layer, &mut tampered)
    }
}

impl Layer for Mutant {
    fn tick(&mut self, io: &mut dyn Transport) {
        self.through(io, |layer, io| layer.tick(io));
    }

    fn input(&mut self, call: &[u8], io: &mut dyn Transport) -> Result<(), InputError> {
        self.through(io, |layer, io| layer.input(call, io))
    }
}

/// A step of the layer in a recording, with what the recording has next in the same turn.
struct Place {
    number: EventNumber,
    step: Step,
    next: Option<(EventNumber, Step)>,
}

fn places(reel: &Reel) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut turn_begins = true;
    reel.for_each(|record| match Step::of(&record.event) {
        None => {}
        Some(Step::Tick(_) | Step::Input(_)) => turn_begins = true,
        Some(step) => {
            if let Some(last) = places.last_mut().filter(|_| !turn_begins) {
                last.next = Some((record.number, step.clone()));
            }
            turn_begins = false;
            places.push(Place {
                number: record.number,
                step,
                next: None,
            });
        }
    });
    places
}

fn reel(seed: u64) -> Arc<Reel> {
    let (mode, topology) = WAYS[(seed % 4) as usize];
    let mut reels = record(&boxes(seed, mode, topology), 90);
    let node = (seed / 4 % 4) as usize;
    Arc::new(Reel::from_bytes(reels.swap_remove(node)).unwrap())
}

fn layer(reel: &Reel) -> NetLayer {
    NetLayer::new(Start::decode(&reel.header().start).unwrap()).unwrap()
}

fn replay(reel: &Arc<Reel>, layer: &mut dyn Layer) -> Report {
    Driver::new(Arc::clone(reel)).unwrap().run(layer)
}

/// How many of each way: `NETREEL_MUTANTS`, or a few.
fn mutants() -> u64 {
    let asked = std::env::var("NETREEL_MUTANTS").ok();
    asked.map_or(6, |text| text.parse().expect("NETREEL_MUTANTS is a number"))
}

#[test]
fn a_changed_engine_is_found_at_its_event_with_the_cause() {
    let mut draw = Draw::new(1);
    let mut reels: VecDeque<_> = (0..8).map(|seed| reel(seed * 5)).collect();
    for way in ALL {
        for _ in 0..mutants() {
            // Where a node has one peer, some do not fit.
            let found = (0..reels.len()).find_map(|_| {
                reels.rotate_left(1);
                let places = places(&reels[0]);
                let fits = |place: &Place| {
                    way.fits(&place.step, place.next.as_ref().map(|(_, step)| step))
                };
                let fitting: Vec<usize> =
                    (0..places.len()).filter(|&at| fits(&places[at])).collect();
                (!fitting.is_empty()).then_some((places, fitting))
            });
            let (places, fitting) = found.unwrap_or_else(|| panic!("{way:?} fits nowhere"));
            let reel = &reels[0];
            let at = fitting[draw.below(fitting.len() as u64) as usize];
            let place = &places[at];
            let behind = place.next.as_ref().map(|(number, _)| *number);
            let expected = match way {
                Way::SendMore => behind.unwrap(),
                _ => place.number,
            };
            let mut mutant = Mutant {
                layer: layer(reel),
                way,
                at,
                steps: 0,
                time: Time::ZERO,
                held: None,
            };
            let report = replay(reel, &mut mutant);
            let Outcome::Diverged(divergence) = &report.outcome else {
                panic!("{way:?} at event {}: {:?}", place.number, report.outcome);
            };
            assert_eq!(divergence.number, expected, "{way:?}: {divergence:?}");
            let told = cause(reel, &report);
            let wanted = way.cause(behind.unwrap_or_default());
            assert_eq!(
                told.as_ref(),
                Some(&wanted),
                "{way:?} at event {expected}: {divergence:?} {:?}",
                report.afterwards
            );
        }
    }
}

/// What a recording says otherwise at one event. `None`: nothing of that kind is there.
fn altered(record: &Record<'_>, bit: u64) -> Option<OwnedRecord> {
    let flipped = |payload: &[u8]| {
        let mut payload = payload.to_vec();
        let at = bit as usize / 8 % payload.len().max(1);
        *payload.get_mut(at)? ^= 1 << (bit % 8);
        Some(payload)
    };
    let copy = |event: Event<'_>| Some(OwnedRecord::copy_of(&Record { event, ..*record }));
    match record.event {
        Event::Sent {
            socket,
            to,
            payload,
        } => copy(Event::Sent {
            socket,
            to,
            payload: &flipped(payload)?,
        }),
        Event::Tick { tick, time } => copy(Event::Tick {
            tick: tick + 1 + bit % 7,
            time,
        }),
        _ => None,
    }
}

fn rewritten(reel: &Reel, records: &[OwnedRecord]) -> Arc<Reel> {
    let mut writer = ReelWriter::create(Vec::new(), reel.header()).unwrap();
    for record in records {
        writer.push(&record.as_record()).unwrap();
    }
    Arc::new(Reel::from_bytes(writer.finish().unwrap()).unwrap())
}

fn records(reel: &Reel) -> Vec<OwnedRecord> {
    let mut records = Vec::new();
    reel.for_each(|record| records.push(OwnedRecord::copy_of(record)));
    records
}

#[test]
fn a_changed_packet_in_a_reel_is_found_at_its_event() {
    let mut draw = Draw::new(2);
    let reel = reel(2);
    let all = records(&reel);
    for _ in 0..mutants() * 5 {
        let (place, altered) = loop {
            let place = draw.below(all.len() as u64) as usize;
            let record = all[place].as_record();
            let is_send = matches!(record.event, Event::Sent { .. });
            if let Some(altered) = altered(&record, draw.below(1 << 20)).filter(|_| is_send) {
                break (place, altered);
            }
        };
        let number = all[place].as_record().number;
        let mut records = all.clone();
        records[place] = altered;
        let reel = rewritten(&reel, &records);
        let report = replay(&reel, &mut layer(&reel));
        let Outcome::Diverged(divergence) = &report.outcome else {
            panic!("event {number}: {:?}", report.outcome);
        };
        assert_eq!(divergence.number, number);
        assert_eq!(cause(&reel, &report), Some(Cause::Content));
    }
}

#[test]
fn a_step_that_is_gone_from_a_reel_is_found_where_the_layer_makes_it() {
    let mut draw = Draw::new(3);
    let reel = reel(7);
    let all = records(&reel);
    let places = places(&reel);
    let mut done = 0;
    while done < mutants() * 5 {
        let at = draw.below(places.len() as u64) as usize;
        let place = &places[at];
        let Some((next, step)) = &place.next else {
            continue;
        };
        // Of two of a kind it is not seen which is gone.
        if std::mem::discriminant(step) == std::mem::discriminant(&place.step)
            && !matches!(step, Step::Send { .. })
        {
            continue;
        }
        done += 1;
        let mut records = all.clone();
        for record in &mut records {
            let known = record.as_record();
            let result = matches!(known.event, Event::SendResult { of, .. } if of == place.number);
            if known.number == place.number || result {
                let event = Event::Note { text: b"gone" };
                *record = OwnedRecord::copy_of(&Record { event, ..known });
            }
        }
        let reel = rewritten(&reel, &records);
        let report = replay(&reel, &mut layer(&reel));
        let Outcome::Diverged(divergence) = &report.outcome else {
            panic!("event {}: {:?}", place.number, report.outcome);
        };
        assert_eq!(divergence.number, *next);
    }
}

#[test]
fn what_is_not_changed_is_exact() {
    for seed in 0..mutants() {
        let reel = reel(seed);
        let report = replay(&reel, &mut layer(&reel));
        assert_eq!(report.outcome, Outcome::Exact, "seed {seed}");
        assert_eq!(cause(&reel, &report), None);
    }
}
