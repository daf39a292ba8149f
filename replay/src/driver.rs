//! The loop around a sans-IO layer.

use netreel_reel::{Ending, Event, EventNumber, Reel, Time};
use netreel_transport::{
    BeliefDifference, Divergence, Layer, ReplayTransport, Shared, Step, Transport,
};
use std::sync::{Arc, MutexGuard};

use crate::replayable::check_whole;
use crate::states::States;
use crate::{NotReplayable, ReelEvents, Stretch, check_replayable, check_replayable_sockets};

/// Plays one reel into one layer, event by event.
pub struct Driver {
    io: Shared<ReplayTransport<ReelEvents>>,
    cut: bool,
    ticks: u64,
    inputs: u64,
    rejected: Option<(EventNumber, String)>,
    states: States,
}

/// A tick, or a call of the game, that is to be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its event.
    pub number: EventNumber,
    /// When it began, on the node's clock.
    pub moment: Time,
    /// Which of the two.
    pub what: TurnKind,
}

/// See [`Turn::what`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the fields are those of the events
pub enum TurnKind {
    /// A tick.
    Tick { tick: u64, time: Time },
    /// A call of the game into the layer.
    Input { call: Vec<u8> },
}

/// What a replay came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Exact or not.
    pub outcome: Outcome,
    /// Ticks that were played.
    pub ticks: u64,
    /// Calls of the game that were played.
    pub inputs: u64,
    /// Sends that were equal to the reel, byte for byte.
    pub sends: u64,
    /// Bytes of those sends.
    pub bytes: u64,
    /// From where to where was played: one stretch from the first event, unless something is missing
    /// in the reel. `until` is one past the last event that was played.
    pub stretches: Vec<Stretch>,
    /// Snapshots at which the layer's state was the recorded one, byte for byte.
    pub states: u64,
    /// Whether the reel was cut: it says nothing of what came after its last event.
    pub cut: bool,
    /// What the layer did behind its divergence, in the same turn: at most 64 steps.
    pub afterwards: Vec<Step>,
    /// The first belief of a layer that says what it believes which is not the recorded one. It makes
    /// no divergence.
    pub belief_differs: Option<BeliefDifference>,
}

/// See [`Report::outcome`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every step of the layer was as recorded.
    Exact,
    /// The first step that was not.
    Diverged(Divergence),
    /// The layer could not read this recorded call; the sentence says why.
    InputRejected(EventNumber, String),
    /// The layer could not be brought into the state of this snapshot; the sentence says why. What
    /// comes behind it was not played.
    SnapshotRefused(EventNumber, String),
}

impl Report {
    /// The first divergence, if there is one.
    pub fn divergence(&self) -> Option<&Divergence> {
        match &self.outcome {
            Outcome::Diverged(divergence) => Some(divergence),
            Outcome::Exact | Outcome::InputRejected(..) | Outcome::SnapshotRefused(..) => None,
        }
    }
}

impl Driver {
    /// Starts before the reel's first event, or at the first snapshot of a reel that begins in the
    /// middle.
    ///
    /// # Errors
    ///
    /// [`NotReplayable`], with all reasons: inputs, start conditions or a beginning are missing, or
    /// the reel has several sockets ([`with_sockets`](Driver::with_sockets)).
    pub fn new(reel: Arc<Reel>) -> Result<Driver, NotReplayable> {
        let stretches = check_replayable(&reel)?;
        Ok(Driver::of(reel, stretches))
    }

    /// Starts at the last snapshot before `event`, or where that is the beginning, there.
    pub fn from(reel: Arc<Reel>, event: EventNumber) -> Result<Driver, NotReplayable> {
        let stretches = check_replayable(&reel)?;
        let stretches = crate::states::from_snapshot(&reel, stretches, event);
        Ok(Driver::of(reel, stretches))
    }

    /// Plays one stretch, into a layer that is already in the state with which it begins.
    pub(crate) fn resumed(reel: Arc<Reel>, stretch: Stretch) -> Driver {
        Driver::of(reel, vec![stretch])
    }

    /// [`new`](Driver::new) for a layer that says on which socket it sends and receives, with
    /// [`send_on`](ReplayTransport::send_on) and [`receive_on`](ReplayTransport::receive_on): its
    /// reel may have several.
    pub fn with_sockets(reel: Arc<Reel>) -> Result<Driver, NotReplayable> {
        let whole = check_whole(&reel)?;
        Ok(Driver::of(reel, vec![whole]))
    }

    /// The same for a layer that can also be brought into a state: behind what is missing it goes on
    /// from the next snapshot.
    pub fn with_sockets_and_states(reel: Arc<Reel>) -> Result<Driver, NotReplayable> {
        let stretches = check_replayable_sockets(&reel)?;
        Ok(Driver::of(reel, stretches))
    }

    fn of(reel: Arc<Reel>, stretches: Vec<Stretch>) -> Driver {
        let cut = *reel.ending() != Ending::Clean;
        let states = States::new(reel, stretches);
        let io = Shared::new(ReplayTransport::new(states.events()));
        Driver {
            io,
            states,
            cut,
            ticks: 0,
            inputs: 0,
            rejected: None,
        }
    }

    /// Plays the next tick or call into `layer`; `false` when there is nothing left to play or the
    /// replay has diverged.
    pub fn step(&mut self, layer: &mut dyn Layer) -> bool {
        self.states.before_turn(&self.io, layer);
        let Some(turn) = self.next_turn() else {
            return false;
        };
        match turn.what {
            TurnKind::Tick { .. } => layer.tick(&mut self.io),
            TurnKind::Input { call } => {
                if let Err(error) = layer.input(&call, &mut self.io) {
                    self.rejected = Some((turn.number, error.to_string()));
                }
            }
        }
        !self.is_over()
    }

    /// The next tick or call, for a layer that is not a [`Layer`] and pulls: its owner plays it
    /// against [`io`](Driver::io) before it asks for the one after it. `None` when there is
    /// nothing left to play, or the replay has diverged.
    pub fn next_turn(&mut self) -> Option<Turn> {
        if self.is_over() {
            return None;
        }
        let mut io = self.io.lock();
        let record = io.peek()?;
        let (number, moment) = (record.number, record.time);
        let what = match record.event {
            Event::Tick { tick, time } => TurnKind::Tick { tick, time },
            Event::Input { call } => TurnKind::Input {
                call: call.to_vec(),
            },
            // The layer returned before it did what the recording has next.
            _ => {
                io.diverge(Step::Nothing);
                return None;
            }
        };
        io.advance();
        match what {
            TurnKind::Tick { .. } => self.ticks += 1,
            TurnKind::Input { .. } => self.inputs += 1,
        }
        Some(Turn {
            number,
            moment,
            what,
        })
    }

    /// Instead of [`next_turn`](Driver::next_turn), for a program that runs its own loop: says that
    /// tick `tick` begins; the recording must have it next.
    pub fn tick(&mut self, tick: u64) {
        self.io.tick(tick, Time::ZERO);
        self.ticks += u64::from(!self.is_over());
    }

    /// The same for a call of the game.
    pub fn input(&mut self, call: &[u8]) {
        self.io.input(call);
        self.inputs += u64::from(!self.is_over());
    }

    /// Whether the replay has neither diverged nor come to the end of the reel with more to do.
    pub fn is_on_track(&self) -> bool {
        !self.is_over()
    }

    /// What the layer is played against. The driver waits until the guard is dropped.
    pub fn io(&self) -> MutexGuard<'_, ReplayTransport<ReelEvents>> {
        self.io.lock()
    }

    /// The same for a layer whose library keeps a transport of its own. It may then leave aside
    /// what [`Layer`] hands it: both are the same one.
    pub fn transport(&self) -> Shared<ReplayTransport<ReelEvents>> {
        self.io.clone()
    }

    fn is_over(&self) -> bool {
        let io = self.io.lock();
        self.rejected.is_some()
            || self.states.refused.is_some()
            || io.divergence().is_some()
            || (io.overrun().is_some() && !self.states.has_more())
    }

    /// Plays to the end, or to the first divergence, with the layer's time-outs off where it has the
    /// switch ([`Layer::time_outs`]); whether it has.
    pub fn run_without_time_outs(mut self, layer: &mut dyn Layer) -> (Report, bool) {
        let is_there = layer.time_outs(false);
        self.states.without_time_outs = true;
        (self.run(layer), is_there)
    }

    /// Plays to the end, or to the first divergence.
    pub fn run(mut self, layer: &mut dyn Layer) -> Report {
        while self.step(layer) {}
        self.report()
    }

    /// What the replay has come to so far.
    pub fn report(&self) -> Report {
        let mut io = self.io.lock();
        let (sends, bytes) = io.compared();
        let outcome = if let Some((number, why)) = &self.rejected {
            Outcome::InputRejected(*number, why.clone())
        } else if let Some((number, why)) = &self.states.refused {
            Outcome::SnapshotRefused(*number, why.clone())
        } else if let Some(divergence) = io.divergence() {
            Outcome::Diverged(divergence.clone())
        } else if let Some(overrun) = io
            .overrun()
            .filter(|_| !self.cut && !self.states.breaks_off())
        {
            Outcome::Diverged(overrun.clone())
        } else {
            Outcome::Exact
        };
        Report {
            outcome,
            ticks: self.ticks,
            inputs: self.inputs,
            sends,
            bytes,
            stretches: self.states.played(&mut io),
            states: self.states.equal,
            cut: self.cut,
            afterwards: io.afterwards().to_vec(),
            belief_differs: io.belief_differs().cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use netreel_reel::{Header, Record, ReelWriter, ThreadId};
    use netreel_transport::InputError;

    use super::*;

    /// Takes no call.
    struct Refuses;

    impl Layer for Refuses {
        fn tick(&mut self, _: &mut dyn Transport) {}

        fn input(&mut self, call: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
            let (length, why) = (call.len(), "no such call".to_owned());
            Err(InputError { length, why })
        }
    }

    fn reel(events: &[Event<'_>]) -> Arc<Reel> {
        let header = Header {
            start: b"start".to_vec(),
            ..Header::default()
        };
        let mut writer = ReelWriter::create(Vec::new(), &header).unwrap();
        for (number, &event) in (0..).map(EventNumber).zip(events) {
            let (time, thread) = (Time::ZERO, ThreadId(0));
            writer
                .push(&Record {
                    number,
                    time,
                    thread,
                    event,
                })
                .unwrap();
        }
        Arc::new(Reel::from_bytes(writer.finish().unwrap()).unwrap())
    }

    #[test]
    fn a_rejected_call_is_named_by_its_own_event() {
        let (tick, time) = (0, Time::ZERO);
        let events = [Event::Tick { tick, time }, Event::Input { call: b"call" }];
        let report = Driver::new(reel(&events)).unwrap().run(&mut Refuses);
        let Outcome::InputRejected(number, _) = report.outcome else {
            panic!("{report:?}");
        };
        assert_eq!(number, EventNumber(1));
    }

    /// Reads its own clock, as an engine does that keeps its transport.
    struct Keeps(Shared<ReplayTransport<ReelEvents>>, Vec<Time>);

    impl Layer for Keeps {
        fn tick(&mut self, _: &mut dyn Transport) {
            let now = self.0.now();
            self.1.push(now);
        }

        fn input(&mut self, _: &[u8], _: &mut dyn Transport) -> Result<(), InputError> {
            Ok(())
        }
    }

    #[test]
    fn a_layer_that_keeps_its_transport_is_replayed_as_well() {
        let (tick, time, value) = (0, Time::ZERO, Time(7));
        let events = [
            Event::Random { value: 3 },
            Event::Tick { tick, time },
            Event::Clock { value },
        ];
        let driver = Driver::new(reel(&events)).unwrap();
        let mut io = driver.transport();
        // What the engine does before its first tick.
        assert_eq!(io.random(), 3);
        let mut layer = Keeps(io, Vec::new());
        let report = driver.run(&mut layer);
        assert_eq!((report.outcome, report.ticks), (Outcome::Exact, 1));
        assert_eq!(layer.1, [value]);
    }

    #[test]
    fn a_recording_with_a_pause_is_refused_and_says_why() {
        let (tick, time) = (0, Time::ZERO);
        let events = [
            Event::Tick { tick, time },
            Event::Switched { on: false },
            Event::Switched { on: true },
            Event::Tick { tick: 1, time },
        ];
        let refused = Driver::new(reel(&events)).err().unwrap().to_string();
        assert!(refused.contains("switched off and on"), "{refused}");
    }
}
