//! Sitting in a recording: forward, back, and what the layer is in between.

use std::sync::{Arc, Mutex};

use netreel_reel::{EventNumber, OwnedRecord, Reel};
use netreel_system::locked;
use netreel_transport::{Layer, ReplayTransport, Shared};

use crate::checkpoints::Checkpoints;
use crate::cursor::Tape;
use crate::driver::{Driver, Outcome, Report};
use crate::player::{Moved, Player, Predicate, StepError, Stop};
use crate::replayable::{Stretch, check_whole, is_turn};
use crate::states::last_snapshot;
use crate::{ReelEvents, check_replayable, check_replayable_sockets};

/// Makes the layer that is stepped, as it is before its first tick. A layer whose library keeps a
/// transport of its own takes it from what it is given; others leave that aside.
pub type MakeLayer = Box<dyn FnMut(&Current) -> Result<Box<dyn Layer>, String>>;

/// What a layer is played against now. Going back begins with another transport; all clones of this
/// then lead to that one.
#[derive(Clone)]
pub struct Current(Arc<Mutex<Shared<ReplayTransport<ReelEvents>>>>);

impl Current {
    /// The transport of this moment.
    pub fn transport(&self) -> Shared<ReplayTransport<ReelEvents>> {
        locked(&self.0).clone()
    }

    fn becomes(&self, driver: &Driver) {
        *locked(&self.0) = driver.transport();
    }
}

/// A layer that is played to wherever somebody wants to be in its recording.
///
/// A position is the number of the event that comes next. The layer is then in the state before the
/// turn (tick or call of the game) in which that event lies: at the same position always the same.
/// A turn is played, and compared with the recording, when it is left forward. Where the layer
/// parts from the recording there is no way further, only back.
///
/// States are kept on the way, so that going back takes little; where the layer offers none, it
/// starts again at the beginning.
pub struct Stepper {
    reel: Arc<Reel>,
    make: MakeLayer,
    current: Current,
    stretches: Vec<Stretch>,
    /// The one that is walked.
    stretch: Stretch,
    tape: Tape,
    driver: Driver,
    layer: Box<dyn Layer>,
    /// The turn before which the layer is; the end behind the last.
    turn: EventNumber,
    position: EventNumber,
    /// Where the layer began, or the snapshot that it was brought into.
    played_from: EventNumber,
    /// Where the layer parts from the recording, as far as that was found.
    wall: Option<(EventNumber, Report)>,
    checkpoints: Checkpoints,
    bytes_max: usize,
    saves: bool,
    switch: TimeOuts,
}

/// The switch of the layer's time-outs, which every layer that is made gets as it stands.
#[derive(Clone, Copy)]
struct TimeOuts {
    is_on: bool,
    /// Whether the layer has it, as far as it was asked.
    is_there: bool,
}

/// States take at most this many bytes unless somebody says otherwise.
const BYTES_MAX: usize = 64 << 20;

impl Stepper {
    /// Stands before the first event of the first stretch that can be replayed.
    ///
    /// # Errors
    /// The reel is not replayable, or the layer cannot be made or brought into the state with which
    /// the stretch begins.
    pub fn new(reel: Arc<Reel>, make: MakeLayer) -> Result<Stepper, StepError> {
        Stepper::with_memory(reel, make, BYTES_MAX)
    }

    /// The same, with states of at most `bytes_max` bytes kept on the way.
    ///
    /// # Errors
    /// As for [`Stepper::new`].
    pub fn with_memory(
        reel: Arc<Reel>,
        make: MakeLayer,
        bytes_max: usize,
    ) -> Result<Stepper, StepError> {
        let stretches = check_replayable(&reel)?;
        Stepper::of(reel, stretches, make, bytes_max)
    }

    /// The same for a layer that says on which socket it sends and receives: its reel may have
    /// several ([`Driver::with_sockets`]).
    ///
    /// # Errors
    /// As for [`Stepper::new`].
    pub fn with_sockets(reel: Arc<Reel>, make: MakeLayer) -> Result<Stepper, StepError> {
        let whole = check_whole(&reel)?;
        Stepper::of(reel, vec![whole], make, BYTES_MAX)
    }

    /// The same for a layer that can also be brought into a state
    /// ([`Driver::with_sockets_and_states`]).
    ///
    /// # Errors
    /// As for [`Stepper::new`].
    pub fn with_sockets_and_states(reel: Arc<Reel>, make: MakeLayer) -> Result<Stepper, StepError> {
        let stretches = check_replayable_sockets(&reel)?;
        Stepper::of(reel, stretches, make, BYTES_MAX)
    }

    fn of(
        reel: Arc<Reel>,
        stretches: Vec<Stretch>,
        mut make: MakeLayer,
        bytes_max: usize,
    ) -> Result<Stepper, StepError> {
        let Some(&stretch) = stretches.first() else {
            return Err(StepError::NoLayer("the reel has no events".to_owned()));
        };
        let driver = Driver::resumed(Arc::clone(&reel), stretch);
        let current = Current(Arc::new(Mutex::new(driver.transport())));
        let layer = make(&current).map_err(StepError::NoLayer)?;
        let saves = layer.save().is_some();
        let mut stepper = Stepper {
            tape: Tape::new(&reel, stretch),
            driver,
            reel,
            make,
            current,
            stretches,
            stretch,
            layer,
            turn: stretch.from,
            position: stretch.from,
            played_from: stretch.from,
            wall: None,
            checkpoints: Checkpoints::new(bytes_max),
            bytes_max,
            saves,
            switch: TimeOuts {
                is_on: true,
                is_there: false,
            },
        };
        stepper.enter(stretch)?;
        Ok(stepper)
    }

    /// Whether the layer offers states, so that going back need not start at the beginning.
    pub fn offers_states(&self) -> bool {
        self.saves
    }

    /// How many states are kept, and how many bytes they have.
    pub fn kept(&self) -> (usize, usize) {
        self.checkpoints.kept()
    }

    /// The stretch that has `number`, or else the next one, or else the last; `None` where it is
    /// the one that is walked.
    fn other_stretch(&self, number: EventNumber) -> Option<Stretch> {
        let mut behind = self.stretches.iter();
        let found = behind
            .find(|stretch| number < stretch.until)
            .or(self.stretches.last())
            .copied();
        found.filter(|found| *found != self.stretch)
    }

    /// Stands at the beginning of a stretch.
    fn enter(&mut self, stretch: Stretch) -> Result<(), StepError> {
        self.stretch = stretch;
        self.tape = Tape::new(&self.reel, stretch);
        self.checkpoints = Checkpoints::new(self.bytes_max);
        self.wall = None;
        self.begin()?;
        self.position = stretch.from;
        Ok(())
    }

    /// Brings a layer to the beginning of the stretch.
    fn begin(&mut self) -> Result<(), StepError> {
        let from = self.stretch.from;
        self.played_from = from;
        if self.stretch.snapshot {
            let state = self.tape.snapshot(from).unwrap_or_default();
            self.make_in(from, &state)?;
            self.resume(from.next());
            return Ok(());
        }
        // What a layer asks for while it is made stands before its first turn.
        self.resume(from);
        self.make_layer()
    }

    fn make_layer(&mut self) -> Result<(), StepError> {
        self.layer = (self.make)(&self.current).map_err(StepError::NoLayer)?;
        self.throw_time_outs();
        Ok(())
    }

    /// A layer begins with its time-outs on: one that nobody turned off is not asked.
    fn throw_time_outs(&mut self) {
        if !self.switch.is_on {
            self.switch.is_there = self.layer.time_outs(false);
        }
    }

    /// Makes a layer and brings it into the state of event `number`. What it asks for meanwhile it
    /// is answered as at the reel's beginning.
    fn make_in(&mut self, number: EventNumber, state: &[u8]) -> Result<(), StepError> {
        let begin = Stretch {
            from: self.reel.first_number(),
            snapshot: false,
            ..self.stretch
        };
        let aside = Driver::resumed(Arc::clone(&self.reel), begin);
        self.current.becomes(&aside);
        self.make_layer()?;
        self.restore(number, state)?;
        // A state may bring its own word of it.
        self.throw_time_outs();
        Ok(())
    }

    fn restore(&mut self, number: EventNumber, state: &[u8]) -> Result<(), StepError> {
        let restored = self.layer.restore(state);
        restored.map_err(|error| StepError::NoState {
            number,
            why: error.to_string(),
        })
    }

    /// Goes on from `number` with the layer as it is.
    fn resume(&mut self, number: EventNumber) {
        let stretch = Stretch {
            from: number,
            snapshot: false,
            ..self.stretch
        };
        self.driver = Driver::resumed(Arc::clone(&self.reel), stretch);
        self.current.becomes(&self.driver);
        self.turn = self.stretch.from;
    }

    /// Goes to an event of the stretch, or to its end.
    fn settle(&mut self, number: EventNumber) -> Result<Moved, StepError> {
        let mut restarted = false;
        let wall = self.wall.as_ref().map(|(number, _)| *number);
        let (number, mut stop) = match wall {
            Some(wall) if wall < number => (wall, Stop::Parted),
            _ if number >= self.stretch.until => (self.stretch.until, Stop::End),
            _ => (number, Stop::Reached),
        };
        let turn = self.turn_of(number);
        if turn < self.turn {
            restarted |= self.rewind(turn)?;
        }
        self.position = number;
        if let Some(parted) = self.play(turn) {
            // The layer is beyond where it parted: it is brought back before that turn.
            let turn = self.turn_of(parted);
            restarted |= self.rewind(turn)?;
            self.play(turn);
            (self.position, stop) = (parted, Stop::Parted);
        }
        Ok(Moved {
            stop,
            restarted,
            crossed: false,
        })
    }

    /// The turn before which the layer is to be for an event; for the end, the end.
    fn turn_of(&mut self, number: EventNumber) -> EventNumber {
        if number >= self.stretch.until {
            return self.stretch.until;
        }
        self.tape.turn_of(number).unwrap_or(self.stretch.from)
    }

    /// Plays all turns before `turn`; where the layer parts from the recording, if it does.
    fn play(&mut self, turn: EventNumber) -> Option<EventNumber> {
        if self.turn < turn && self.turn == self.stretch.from {
            // What comes before the first turn belongs to none.
            let first = self.stretch.from;
            self.turn = self.tape.next_number(first, |it| is_turn(&it.event));
        }
        while self.turn < turn {
            let goes_on = self.driver.step(self.layer.as_mut());
            let outcome = self.driver.report().outcome;
            if outcome != Outcome::Exact || (!goes_on && !self.at_end()) {
                let report = self.driver.report();
                let number = match &report.outcome {
                    Outcome::Diverged(divergence) => divergence.number,
                    Outcome::InputRejected(number, _) | Outcome::SnapshotRefused(number, _) => {
                        *number
                    }
                    Outcome::Exact => self.turn,
                };
                let parted = number.min(self.last());
                self.wall = Some((parted, report));
                return Some(parted);
            }
            self.turn = self.tape.turn_behind(self.turn);
            if self.turn < self.stretch.until
                && self.saves
                && self.checkpoints.wants(self.turn)
                && let Some(state) = self.layer.save()
            {
                self.checkpoints.keep(self.turn, state);
            }
        }
        None
    }

    /// Whether the turn under way is the last: a recording that was cut ends amid it.
    fn at_end(&mut self) -> bool {
        self.tape.turn_behind(self.turn) >= self.stretch.until
    }

    fn last(&mut self) -> EventNumber {
        let last = self.tape.previous(self.stretch.until, |_| true);
        last.unwrap_or(self.stretch.from)
    }

    /// Brings the layer to a state before `turn`; whether it had to begin again for it.
    fn rewind(&mut self, turn: EventNumber) -> Result<bool, StepError> {
        let kept = self.checkpoints.before(turn);
        let Some((number, state)) = kept.map(|(number, state)| (number, state.to_vec())) else {
            self.begin()?;
            return Ok(!self.saves);
        };
        self.make_in(number, &state)?;
        // One of before a seek: what came there is a walk of its own.
        self.played_from = self.played_from.min(number);
        self.resume(number);
        self.turn = number;
        Ok(false)
    }
}

impl Player for Stepper {
    fn position(&self) -> EventNumber {
        self.position
    }

    fn played_from(&self) -> EventNumber {
        self.played_from
    }

    fn record(&mut self) -> Option<OwnedRecord> {
        self.tape.next(self.position, |_| true)
    }

    fn turn(&self) -> EventNumber {
        self.turn
    }

    fn stretch(&self) -> Stretch {
        self.stretch
    }

    fn go_to(&mut self, number: EventNumber) -> Result<Moved, StepError> {
        if let Some(other) = self.other_stretch(number) {
            self.enter(other)?;
            return Ok(self.go_to(number)?.across());
        }
        if number < self.stretch.from {
            return Ok(self.settle(self.stretch.from)?.to_begin());
        }
        let number = self.tape.next_number(number, |_| true);
        self.settle(number)
    }

    fn seek(&mut self, number: EventNumber) -> Result<Moved, StepError> {
        if let Some(other) = self.other_stretch(number) {
            self.enter(other)?;
            return Ok(self.seek(number)?.across());
        }
        let end = self.stretch.until;
        let snapshot = last_snapshot(&self.reel, self.stretch.from, number.min(end));
        if let Some(snapshot) = snapshot.filter(|&it| it > self.turn)
            && let Some(state) = self.tape.snapshot(snapshot)
        {
            let turn = self.tape.turn_behind(snapshot);
            self.make_in(snapshot, &state)?;
            self.played_from = snapshot;
            self.resume(turn);
            self.turn = turn;
            self.checkpoints.keep(turn, state);
        }
        self.go_to(number)
    }

    fn forward(&mut self, wanted: Predicate<'_>) -> Result<Moved, StepError> {
        let behind = self.position.next();
        let found = self.tape.next(behind, &mut *wanted);
        if let Some(record) = found {
            return self.settle(record.as_record().number);
        }
        let moved = self.settle(self.stretch.until)?;
        if moved.stop != Stop::End {
            return Ok(moved);
        }
        // Behind what is missing.
        let end = self.stretch.until;
        for stretch in self.stretches.clone() {
            if stretch.from < end {
                continue;
            }
            let mut tape = Tape::new(&self.reel, stretch);
            let found = tape.next(stretch.from, &mut *wanted);
            if let Some(record) = found {
                self.enter(stretch)?;
                return Ok(self.settle(record.as_record().number)?.across());
            }
        }
        Ok(moved)
    }

    fn back(&mut self, wanted: Predicate<'_>) -> Result<Moved, StepError> {
        if let Some(found) = self.tape.previous(self.position, &mut *wanted) {
            return self.settle(found);
        }
        // Before what is missing.
        let begin = self.stretch.from;
        let before = self.stretches.iter().filter(|it| it.until <= begin);
        for &stretch in before.rev() {
            let mut tape = Tape::new(&self.reel, stretch);
            if let Some(found) = tape.previous(stretch.until, &mut *wanted) {
                return self.seek(found);
            }
        }
        Ok(self.settle(begin)?.to_begin())
    }

    fn state(&self) -> Option<Vec<u8>> {
        self.layer.save()
    }

    fn time_outs(&mut self, on: bool) -> Result<Moved, StepError> {
        let position = self.position;
        self.switch.is_on = on;
        self.enter(self.stretch)?;
        self.go_to(position)
    }

    fn are_time_outs_on(&self) -> Option<bool> {
        self.switch.is_there.then_some(self.switch.is_on)
    }

    fn parted(&self) -> Option<&Report> {
        self.wall.as_ref().map(|(_, report)| report)
    }
}
