//! The loop around a sans-IO layer.

use netreel_reel::{Ending, Event, EventNumber, Reel};
use netreel_transport::{Divergence, Layer, ReplayTransport, Step};
use std::sync::Arc;

use crate::{NotReplayable, ReelEvents, check_replayable};

/// Plays one reel into one layer, event by event.
pub struct Driver {
    io: ReplayTransport<ReelEvents>,
    cut: bool,
    ticks: u64,
    inputs: u64,
    rejected: Option<(EventNumber, String)>,
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
    /// Whether the reel was cut: it says nothing of what came after its last event.
    pub cut: bool,
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
}

impl Report {
    /// The first divergence, if there is one.
    pub fn divergence(&self) -> Option<&Divergence> {
        match &self.outcome {
            Outcome::Diverged(divergence) => Some(divergence),
            Outcome::Exact | Outcome::InputRejected(..) => None,
        }
    }
}

impl Driver {
    /// Starts before the reel's first event. Refuses a reel that cannot lead to an exact replay.
    pub fn new(reel: Arc<Reel>) -> Result<Driver, NotReplayable> {
        check_replayable(&reel)?;
        let cut = *reel.ending() != Ending::Clean;
        let io = ReplayTransport::new(ReelEvents::new(reel));
        Ok(Driver {
            io,
            cut,
            ticks: 0,
            inputs: 0,
            rejected: None,
        })
    }

    /// Plays the next tick or call into `layer`; `false` when there is nothing left to play or the
    /// replay has diverged.
    pub fn step(&mut self, layer: &mut dyn Layer) -> bool {
        let Some(record) = self.io.peek() else {
            return false;
        };
        match record.event {
            Event::Tick { .. } => {
                self.io.advance();
                self.ticks += 1;
                layer.tick(&mut self.io);
            }
            Event::Input { call } => {
                let (number, call) = (record.number, call.to_vec());
                self.io.advance();
                self.inputs += 1;
                if let Err(error) = layer.input(&call, &mut self.io) {
                    self.rejected = Some((number, error.to_string()));
                }
            }
            // The layer returned before it did what the recording has next.
            _ => self.io.diverge(Step::Nothing),
        }
        self.rejected.is_none() && self.io.divergence().is_none() && self.io.overrun().is_none()
    }

    /// Plays to the end, or to the first divergence.
    pub fn run(mut self, layer: &mut dyn Layer) -> Report {
        while self.step(layer) {}
        self.report()
    }

    /// What the replay has come to so far.
    pub fn report(&self) -> Report {
        let (sends, bytes) = self.io.compared();
        let outcome = if let Some((number, why)) = &self.rejected {
            Outcome::InputRejected(*number, why.clone())
        } else if let Some(divergence) = self.io.divergence() {
            Outcome::Diverged(divergence.clone())
        } else if let Some(overrun) = self.io.overrun().filter(|_| !self.cut) {
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
            cut: self.cut,
        }
    }
}

#[cfg(test)]
mod tests {
    use netreel_reel::{Header, Record, ReelWriter, ThreadId, Time};
    use netreel_transport::{InputError, Transport};

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
}
