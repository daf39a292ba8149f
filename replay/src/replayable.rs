//! Whether a reel can lead to an exact replay at all, and which stretches of it can be replayed: from its
//! beginning, or from a snapshot, to where something is missing.

use netreel_reel::{Ending, Event, EventKind, EventNumber, Gap, Header, Reel, Removed};
use netreel_transport::Step;

/// Why a reel cannot be replayed: what it lacks, each a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reel of {node} is not replayable: {}", missing.join("; "))]
pub struct NotReplayable {
    /// The reel's node.
    pub node: String,
    /// What is missing.
    pub missing: Vec<String>,
}

/// The stretches of a reel that can be replayed, in order; at least one. Behind something that is
/// missing a stretch begins at the next snapshot. Refuses a reel in which something is missing and
/// that has no snapshot behind it.
///
/// A reel that was merely cut is replayable: it is exact as far as it goes.
pub fn check_replayable(reel: &Reel) -> Result<Vec<Stretch>, NotReplayable> {
    stretches(reel, false)
}

/// The same of a reel that may have several sockets, for a layer that says on which it sends and
/// receives.
pub fn check_replayable_sockets(reel: &Reel) -> Result<Vec<Stretch>, NotReplayable> {
    stretches(reel, true)
}

fn stretches(reel: &Reel, says_socket: bool) -> Result<Vec<Stretch>, NotReplayable> {
    let found = look(reel);
    let mut missing = never(reel, says_socket);
    let holes = holes(reel, &found);
    let snapshots = found.stretches.iter().any(|stretch| stretch.snapshot);
    if !holes.is_empty() && !snapshots {
        missing.extend(holes);
    }
    refuse(reel, missing)?;
    let mut stretches = found.stretches;
    if stretches.is_empty() {
        // An empty reel is played to its end.
        stretches.push(Stretch::between(EventNumber(0), found.last.next()));
    }
    Ok(stretches)
}

/// Refuses a reel in which something is missing between its first event and its last; for a layer
/// that says on which socket it sends and receives, and cannot be brought into a state.
pub fn check_replayable_whole(reel: &Reel) -> Result<(), NotReplayable> {
    check_whole(reel).map(drop)
}

/// The same; all of it.
pub(crate) fn check_whole(reel: &Reel) -> Result<Stretch, NotReplayable> {
    let found = look(reel);
    let mut missing = never(reel, true);
    missing.extend(holes(reel, &found));
    refuse(reel, missing)?;
    let first = found.stretches.first().copied();
    Ok(first.unwrap_or(Stretch::between(EventNumber(0), found.last.next())))
}

pub(crate) fn refuse(reel: &Reel, missing: Vec<String>) -> Result<(), NotReplayable> {
    if missing.is_empty() {
        return Ok(());
    }
    Err(NotReplayable {
        node: reel.header().node.clone(),
        missing,
    })
}

/// What no snapshot makes up for. `says_socket`: the layer says on which socket it sends and
/// receives.
fn never(reel: &Reel, says_socket: bool) -> Vec<String> {
    let mut missing = Vec::new();
    let header = reel.header();
    if let Some(redacted) = header.redacted.as_ref().filter(|it| !it.replayable) {
        let removed = redacted.removed.iter().map(|(what, _)| what.as_str());
        missing.push(format!(
            "it is a redacted copy, without what was recorded of its {}",
            removed.collect::<Vec<_>>().join(", ")
        ));
    }
    let captured = [Header::OBSERVER, Header::CAPTURED].contains(&header.engine.as_str());
    if captured {
        missing.push(
            "it was made of captured packets, without the game's calls, the clock reads and the \
             random draws of the layer"
                .to_owned(),
        );
    } else if header.start.is_empty() {
        missing.push("it has no start conditions: it was not recorded at an engine".to_owned());
    }
    let count = |kind: EventKind| reel.counts().get(&kind).copied().unwrap_or(0);
    if count(EventKind::Tick) == 0 && count(EventKind::Input) == 0 && !reel.is_empty() && !captured
    {
        missing.push("it has neither ticks nor calls of the game".to_owned());
    }
    if count(EventKind::SocketOpened) > 1 && !says_socket {
        missing.push("it has several sockets, which its layer does not tell apart".to_owned());
    }
    missing
}

/// What is missing between the first event and the last, a sentence each: nothing behind it can be
/// replayed without a snapshot.
pub(crate) fn holes(reel: &Reel, found: &Found) -> Vec<String> {
    let mut missing = Vec::new();
    let count = |kind: EventKind| reel.counts().get(&kind).copied().unwrap_or(0);
    if count(EventKind::Dropped) > 0 {
        missing.push("events were dropped because the disk could not keep up".to_owned());
    }
    if count(EventKind::Switched) > 0 {
        missing.push("recording was switched off and on while it ran".to_owned());
    }
    // What is missing behind the last event of a cut reel is the cut.
    let cut = *reel.ending() != Ending::Clean;
    let inner = found
        .gaps
        .iter()
        .filter(|gap| !cut || gap.first < found.last);
    missing.extend(inner.map(|gap| {
        let count = gap.count;
        let plural = if count == 1 { " is" } else { "s are" };
        format!("{count} event{plural} missing from number {} on", gap.first)
    }));
    missing
}

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

impl Stretch {
    /// One that begins with no snapshot, and ends because the reel does.
    pub(crate) fn between(from: EventNumber, until: EventNumber) -> Stretch {
        Stretch {
            from,
            snapshot: false,
            until,
            breaks_off: false,
        }
    }
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
            Event::Switched { on: true } if self.from_start || self.begun.is_none() => {}
            Event::Dropped { .. } | Event::Switched { .. } => {
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
            snapshot,
            ..Stretch::between(from, from.next())
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
