//! What one steps through a recording with: a layer that is played, or a program that is started again.

use netreel_reel::{EventNumber, OwnedRecord, Record};

use crate::NotReplayable;
use crate::driver::Report;
use crate::program::{Judged, Tape};
use crate::replayable::Stretch;

/// How going somewhere ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// There.
    Reached,
    /// At the beginning of what can be replayed.
    Begin,
    /// Behind the last event.
    End,
    /// Where the layer parts from the recording.
    Parted,
}

/// Where one came to, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// How it ended.
    pub stop: Stop,
    /// Whether all was played again from the beginning, because the layer offers no states.
    pub restarted: bool,
    /// Whether something is missing in the reel between where one was and where one is: what is
    /// played is another [`Stretch`], and its layer a fresh one.
    pub crossed: bool,
}

impl Moved {
    /// How the way ended that one went in several moves, of which `next` is the last.
    pub fn and(self, next: Moved) -> Moved {
        Moved {
            stop: next.stop,
            restarted: self.restarted || next.restarted,
            crossed: self.crossed || next.crossed,
        }
    }

    /// The same to before the first event.
    pub(crate) fn to_begin(self) -> Moved {
        Moved {
            stop: Stop::Begin,
            ..self
        }
    }

    /// The same across what is missing.
    pub(crate) fn across(self) -> Moved {
        Moved {
            crossed: true,
            ..self
        }
    }
}

/// Why a stepper cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// See [`NotReplayable`].
    #[error(transparent)]
    NotReplayable(#[from] NotReplayable),
    /// The layer could not be made.
    #[error("{0}")]
    NoLayer(String),
    /// The layer cannot be brought into a state.
    #[error("the state of event {number}: {why}")]
    NoState {
        /// The snapshot, or the turn before which a state was kept.
        number: EventNumber,
        /// What the layer says.
        why: String,
    },
}

/// Takes events.
pub type Predicate<'a> = &'a mut dyn FnMut(&Record<'_>) -> bool;

/// A replay that goes to events, forward and back. [`Stepper`](crate::Stepper) plays a layer,
/// [`Walk`](crate::program::Walk) a program.
pub trait Player {
    /// The number of the event that comes next.
    fn position(&self) -> EventNumber;
    /// From where on all is played and compared up to here: the begin of the
    /// [stretch](Player::stretch), or the snapshot by way of which [`seek`](Player::seek) came.
    fn played_from(&self) -> EventNumber;
    /// The event that comes next; `None` at the end.
    fn record(&mut self) -> Option<OwnedRecord>;
    /// The turn before which the layer is; the end behind the last.
    fn turn(&self) -> EventNumber;
    /// The stretch that is walked: beyond it something is missing.
    fn stretch(&self) -> Stretch;
    /// Goes to an event, forward or back, also into another stretch. An event that is not there
    /// stands for the next one that is.
    ///
    /// # Errors
    /// The layer cannot be made, or not be brought into a state.
    fn go_to(&mut self, number: EventNumber) -> Result<Moved, StepError>;
    /// Goes on to the next event that `wanted` takes.
    ///
    /// # Errors
    /// As for [`go_to`](Player::go_to).
    fn forward(&mut self, wanted: Predicate<'_>) -> Result<Moved, StepError>;
    /// Goes back to the last event before this one that `wanted` takes. Where something is missing
    /// on the way, the layer begins again at the last snapshot before that event, as
    /// [`seek`](Player::seek) does.
    ///
    /// # Errors
    /// As for [`go_to`](Player::go_to).
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

    /// Goes to an event by way of the last snapshot that the recorder took before it: what lies
    /// before that snapshot is not played and not compared. What has no snapshots comes there from its
    /// beginning.
    ///
    /// # Errors
    /// As for [`go_to`](Player::go_to).
    fn seek(&mut self, number: EventNumber) -> Result<Moved, StepError> {
        self.go_to(number)
    }

    /// The layer's state before [`turn`](Player::turn), in its own encoding.
    fn state(&self) -> Option<Vec<u8>> {
        None
    }

    /// Throws the one switch of the layer's [time-outs](netreel_transport::Layer::time_outs), for all of
    /// the replay: the layer is played once more to where it is, because it may do something else on the
    /// way. A stepper begins with time-outs on. What has no such switch goes nowhere.
    ///
    /// # Errors
    /// As for [`go_to`](Player::go_to).
    fn time_outs(&mut self, _on: bool) -> Result<Moved, StepError> {
        self.go_to(self.position())
    }

    /// Whether the layer's time-outs are on; `None` where it has no switch, as far as it was asked:
    /// it is with [`time_outs`](Player::time_outs).
    fn are_time_outs_on(&self) -> Option<bool> {
        None
    }

    /// Where the layer parts from the recording, as far as that was found.
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
