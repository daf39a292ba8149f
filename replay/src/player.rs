//! What one steps through a recording with: a layer that is played, or a program that is started again.

use netreel_reel::{EventNumber, OwnedRecord, Record};

use crate::driver::Report;
use crate::program::{Judged, Tape};
use crate::replayable::Stretch;
use crate::stepper::{Moved, StepError, Stepper};

/// Takes events.
pub type Predicate<'a> = &'a mut dyn FnMut(&Record<'_>) -> bool;

/// A replay that goes to events, forward and back. [`Stepper`] plays a layer,
/// [`Walk`](crate::program::Walk) a program.
pub trait Player {
    /// See [`Stepper::position`].
    fn position(&self) -> EventNumber;
    /// See [`Stepper::played_from`].
    fn played_from(&self) -> EventNumber;
    /// See [`Stepper::record`].
    fn record(&mut self) -> Option<OwnedRecord>;
    /// See [`Stepper::turn`].
    fn turn(&self) -> EventNumber;
    /// See [`Stepper::stretch`].
    fn stretch(&self) -> Stretch;
    /// See [`Stepper::go_to`].
    ///
    /// # Errors
    /// What is played cannot be made, or not be brought there.
    fn go_to(&mut self, number: EventNumber) -> Result<Moved, StepError>;
    /// See [`Stepper::forward`].
    ///
    /// # Errors
    /// As for `go_to`.
    fn forward(&mut self, wanted: Predicate<'_>) -> Result<Moved, StepError>;
    /// See [`Stepper::back`].
    ///
    /// # Errors
    /// As for `go_to`.
    fn back(&mut self, wanted: Predicate<'_>) -> Result<Moved, StepError>;

    /// Back, or forward.
    ///
    /// # Errors
    /// As for `go_to`.
    fn towards(&mut self, back: bool, wanted: Predicate<'_>) -> Result<Moved, StepError> {
        if back {
            self.back(wanted)
        } else {
            self.forward(wanted)
        }
    }

    /// See [`Stepper::seek`]; what has no snapshots comes there from its beginning.
    ///
    /// # Errors
    /// As for `go_to`.
    fn seek(&mut self, number: EventNumber) -> Result<Moved, StepError> {
        self.go_to(number)
    }

    /// See [`Stepper::state`].
    fn state(&self) -> Option<Vec<u8>> {
        None
    }

    /// See [`Stepper::time_outs`]; what has no such switch goes nowhere.
    ///
    /// # Errors
    /// As for `go_to`.
    fn time_outs(&mut self, _on: bool) -> Result<Moved, StepError> {
        self.go_to(self.position())
    }

    /// See [`Stepper::are_time_outs_on`].
    fn are_time_outs_on(&self) -> Option<bool> {
        None
    }

    /// See [`Stepper::parted`].
    fn parted(&self) -> Option<&Report> {
        None
    }

    /// What came of a program that has ended, and what it was answered from.
    fn ended(&self) -> Option<(&Judged, &Tape)> {
        None
    }

    /// The process that stands still where one is, if it is one.
    fn process(&self) -> Option<u32> {
        None
    }
}

impl Player for Stepper {
    fn position(&self) -> EventNumber {
        Stepper::position(self)
    }

    fn played_from(&self) -> EventNumber {
        Stepper::played_from(self)
    }

    fn record(&mut self) -> Option<OwnedRecord> {
        Stepper::record(self)
    }

    fn turn(&self) -> EventNumber {
        Stepper::turn(self)
    }

    fn stretch(&self) -> Stretch {
        Stepper::stretch(self)
    }

    fn go_to(&mut self, number: EventNumber) -> Result<Moved, StepError> {
        Stepper::go_to(self, number)
    }

    fn forward(&mut self, wanted: Predicate<'_>) -> Result<Moved, StepError> {
        Stepper::forward(self, wanted)
    }

    fn back(&mut self, wanted: Predicate<'_>) -> Result<Moved, StepError> {
        Stepper::back(self, wanted)
    }

    fn seek(&mut self, number: EventNumber) -> Result<Moved, StepError> {
        Stepper::seek(self, number)
    }

    fn state(&self) -> Option<Vec<u8>> {
        Stepper::state(self)
    }

    fn time_outs(&mut self, on: bool) -> Result<Moved, StepError> {
        Stepper::time_outs(self, on)
    }

    fn are_time_outs_on(&self) -> Option<bool> {
        Stepper::are_time_outs_on(self)
    }

    fn parted(&self) -> Option<&Report> {
        Stepper::parted(self)
    }
}
