//! Stepping through the recording of a program that is started again.

use std::sync::Arc;

use netreel_reel::{EventNumber, OwnedRecord, Reel};

use super::judged::{Ended, Judged};
use super::tape::Tape;
use crate::cursor::Tape as Events;
use crate::player::{Moved, Player, Predicate, StepError, Stop};
use crate::replayable::{Stretch, look};

/// Starts a program, and lets it go on from where it stands.
pub trait Runner {
    /// Starts the program from its beginning, in place of one that runs, and lets it go on to before an
    /// event.
    ///
    /// # Errors
    /// A sentence: it cannot be started, or not be watched.
    fn start(&mut self, until: EventNumber) -> Result<Ran, String>;

    /// Lets it go on from where it stands to before another event, which comes later.
    ///
    /// # Errors
    /// As for `start`.
    fn go_on(&mut self, until: EventNumber) -> Result<Ran, String>;

    /// What it is answered from.
    fn tape(&self) -> &Tape;
}

/// How far a program came.
pub enum Ran {
    /// It stands before the event that was asked for; the number of its process.
    Stands(u32),
    /// It has ended.
    Ended(Box<Judged>),
}

/// A replay of a program that goes from event to event. A position is the number of the event that comes
/// next: the program stands before what it does in that event, or in the next one that it takes part in.
/// Going back starts the program again, because nothing brings it to where it was.
pub struct Walk<R> {
    runner: R,
    events: Events,
    stretch: Stretch,
    position: EventNumber,
    process: Option<u32>,
    ended: Option<Box<Judged>>,
}

impl<R: Runner> Walk<R> {
    /// Starts the program, which stands before its first event then.
    ///
    /// # Errors
    /// See [`Runner::start`].
    pub fn new(reel: &Arc<Reel>, runner: R) -> Result<Walk<R>, StepError> {
        let (from, last) = (reel.first_number(), look(reel).last);
        let stretch = Stretch::between(from, last.next());
        let mut walk = Walk {
            runner,
            events: Events::new(reel, stretch),
            stretch,
            position: from,
            process: None,
            ended: None,
        };
        walk.settle(from)?;
        Ok(walk)
    }

    /// Goes to an event, or to the end.
    fn settle(&mut self, number: EventNumber) -> Result<Moved, StepError> {
        let until = if number >= self.stretch.until {
            EventNumber(u64::MAX)
        } else {
            number
        };
        let is_back = number < self.position;
        let mut restarted = false;
        // A program that has ended goes no further.
        if is_back || self.process.is_none() && self.ended.is_none() {
            restarted = is_back;
            self.ended = None;
            let ran = self.runner.start(until);
            self.take(ran, number)?;
        } else if self.ended.is_none() && number > self.position {
            let ran = self.runner.go_on(until);
            self.take(ran, number)?;
        }
        let stop = match &self.ended {
            None => Stop::Reached,
            Some(judged) if judged.ended == Ended::Exact => Stop::End,
            Some(_) => Stop::Parted,
        };
        Ok(Moved {
            stop,
            restarted,
            crossed: false,
        })
    }

    fn take(&mut self, ran: Result<Ran, String>, number: EventNumber) -> Result<(), StepError> {
        self.process = None;
        match ran.map_err(StepError::NoLayer)? {
            Ran::Stands(process) => {
                self.process = Some(process);
                self.position = number;
            }
            Ran::Ended(judged) => {
                let end = self.stretch.until;
                self.position = match judged.ended {
                    Ended::Exact => end,
                    _ => judged.event.unwrap_or(end).min(end),
                };
                self.ended = Some(judged);
            }
        }
        Ok(())
    }
}

impl<R: Runner> Player for Walk<R> {
    fn position(&self) -> EventNumber {
        self.position
    }

    fn played_from(&self) -> EventNumber {
        self.stretch.from
    }

    fn record(&mut self) -> Option<OwnedRecord> {
        self.events.next(self.position, |_| true)
    }

    fn turn(&self) -> EventNumber {
        self.position
    }

    fn stretch(&self) -> Stretch {
        self.stretch
    }

    fn go_to(&mut self, number: EventNumber) -> Result<Moved, StepError> {
        if number < self.stretch.from {
            return Ok(self.settle(self.stretch.from)?.to_begin());
        }
        let number = self.events.next_number(number, |_| true);
        self.settle(number)
    }

    fn forward(&mut self, wanted: Predicate<'_>) -> Result<Moved, StepError> {
        let behind = self.position.next();
        let found = self.events.next_number(behind, wanted);
        self.settle(found)
    }

    fn back(&mut self, wanted: Predicate<'_>) -> Result<Moved, StepError> {
        match self.events.previous(self.position, wanted) {
            Some(found) => self.settle(found),
            None => self.go_to(EventNumber(0)).map(Moved::to_begin),
        }
    }

    fn ended(&self) -> Option<(&Judged, &Tape)> {
        Some((self.ended.as_deref()?, self.runner.tape()))
    }

    fn process(&self) -> Option<u32> {
        self.process
    }
}
