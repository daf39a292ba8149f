//! Which stretches of a reel can be replayed: from its beginning, or from a snapshot, to where
//! something is missing.

use netreel_reel::{Event, EventNumber, Gap, Header, Reel, Removed};
use netreel_transport::Step;

/// A part of a reel in which nothing is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its first event: the reel's first, or a snapshot.
    pub from: EventNumber,
    /// Whether it begins at a snapshot.
    pub snapshot: bool,
    /// The first event that is not of it any more.
    pub until: EventNumber,
    /// Whether it ends because something is missing, and not because the reel does.
    pub breaks_off: bool,
}

/// What a walk over a reel found.
pub(crate) struct Found {
    pub stretches: Vec<Stretch>,
    /// Stretches without numbers, in the order of the reel; what is missing behind the last event
    /// is not among them.
    pub gaps: Vec<Gap>,
    /// The last event.
    pub last: EventNumber,
}

/// Looks through a reel. Reads every block, because an index does not tell that one is damaged.
pub(crate) fn look(reel: &Reel) -> Found {
    let header = reel.header();
    let mut walk = Looking {
        usable: snapshots_are_there(header),
        from_start: reel.first_number() == EventNumber(0),
        begun: None,
        candidate: None,
        next: EventNumber(0),
        stretches: Vec::new(),
    };
    let mut last = EventNumber(0);
    let walked = reel.for_each(|record| {
        last = record.number;
        walk.event(record.number, &record.event);
    });
    let mut gaps: Vec<Gap> = Vec::new();
    let mut all: Vec<&Gap> = reel.gaps().iter().chain(&walked.gaps).collect();
    all.sort_by_key(|gap| gap.first);
    for gap in all {
        if gaps.last().is_none_or(|known| known.first != gap.first) {
            gaps.push(*gap);
        }
    }
    Found {
        stretches: walk.end(),
        gaps,
        last,
    }
}

/// Whether the reel's snapshots are what the layer saved: a redacted copy may have others.
pub(crate) fn snapshots_are_there(header: &Header) -> bool {
    let redacted = header.redacted.as_ref();
    !redacted.is_some_and(|redacted| redacted.has(Removed::Snapshots))
}

struct Looking {
    usable: bool,
    /// Whether the next event would be the first since the layer was made.
    from_start: bool,
    begun: Option<Stretch>,
    /// A snapshot of which it is not known yet whether a turn begins behind it.
    candidate: Option<EventNumber>,
    next: EventNumber,
    stretches: Vec<Stretch>,
}

impl Looking {
    fn event(&mut self, number: EventNumber, event: &Event<'_>) {
        if number != self.next {
            self.break_off();
        }
        self.next = number.next();
        match event {
            Event::Dropped { .. } | Event::Switched { on: false } => {
                self.break_off();
                return;
            }
            Event::Switched { on: true } if self.from_start || self.begun.is_none() => {}
            Event::Switched { on: true } => {
                self.break_off();
                return;
            }
            Event::Snapshot { .. } if self.usable && self.begun.is_none() && !self.from_start => {
                self.candidate = Some(number);
            }
            _ => {}
        }
        if std::mem::take(&mut self.from_start) {
            self.begin(number, false);
        }
        if is_turn(event) {
            if let Some(snapshot) = self.candidate.take() {
                self.begin(snapshot, true);
            }
        } else if Step::is_one(event) {
            // It was taken amid a turn.
            self.candidate = None;
        }
        if let Some(stretch) = &mut self.begun {
            stretch.until = number.next();
        }
    }

    fn begin(&mut self, from: EventNumber, snapshot: bool) {
        self.begun = Some(Stretch {
            from,
            snapshot,
            until: from.next(),
            breaks_off: false,
        });
    }

    fn break_off(&mut self) {
        self.from_start = false;
        self.candidate = None;
        if let Some(stretch) = self.begun.take() {
            self.stretches.push(Stretch {
                breaks_off: true,
                ..stretch
            });
        }
    }

    fn end(mut self) -> Vec<Stretch> {
        self.stretches.extend(self.begun);
        self.stretches
    }
}

/// Whether a turn begins with this event.
pub(crate) fn is_turn(event: &Event<'_>) -> bool {
    matches!(event, Event::Tick { .. } | Event::Input { .. })
}
