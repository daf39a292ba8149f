//! Snapshots on the way: where a stretch begins, the layer is brought into the state of one; at the
//! others its state is compared.

use std::sync::Arc;

use netreel_reel::{Event, EventNumber, Reel, Time};
use netreel_transport::{Layer, ReplayTransport, Shared, Step};

use crate::replayable::{is_turn, snapshots_are_there};
use crate::{ReelEvents, Stretch};

/// The stretches of a reel on their way through a layer.
pub(crate) struct States {
    reel: Arc<Reel>,
    stretches: Vec<Stretch>,
    /// The one that is played.
    at: usize,
    /// Whether the layer is in the state that the stretch begins with.
    begun: bool,
    /// See [`played`](States::played): those that were played to their end.
    done: Vec<Stretch>,
    /// Snapshots at which the layer was in the recorded state.
    pub equal: u64,
    /// The snapshot that the layer could not be brought into, and why.
    pub refused: Option<(EventNumber, String)>,
    compares: bool,
    /// Whether the layer's time-outs are off, whatever a state says that it is brought into.
    pub without_time_outs: bool,
}

impl States {
    pub fn new(reel: Arc<Reel>, stretches: Vec<Stretch>) -> States {
        States {
            compares: snapshots_are_there(reel.header()),
            reel,
            begun: stretches.first().is_none_or(|first| !first.snapshot),
            stretches,
            at: 0,
            done: Vec::new(),
            equal: 0,
            refused: None,
            without_time_outs: false,
        }
    }

    /// The events of the stretch that is played.
    pub fn events(&self) -> ReelEvents {
        let reel = Arc::clone(&self.reel);
        match self.stretches.get(self.at) {
            Some(stretch) => ReelEvents::between(reel, stretch.from, stretch.until),
            None => ReelEvents::new(reel),
        }
    }

    /// Whether something is missing behind the stretch that is played.
    pub fn breaks_off(&self) -> bool {
        self.stretches
            .get(self.at)
            .is_some_and(|stretch| stretch.breaks_off)
    }

    /// Whether another stretch follows.
    pub fn has_more(&self) -> bool {
        self.at + 1 < self.stretches.len()
    }

    /// The stretches so far, each as far as it was played.
    pub fn played(&self, io: &mut ReplayTransport<ReelEvents>) -> Vec<Stretch> {
        let mut played = self.done.clone();
        let under_way = self.stretches.get(self.at).filter(|_| self.begun);
        played.extend(under_way.map(|stretch| Stretch {
            until: if io.is_at_end() {
                stretch.until
            } else {
                io.next_number().max(stretch.from)
            },
            ..*stretch
        }));
        played
    }

    /// Does what is due between two turns.
    pub fn before_turn(&mut self, io: &Shared<ReplayTransport<ReelEvents>>, layer: &mut dyn Layer) {
        loop {
            if self.refused.is_some() || io.lock().divergence().is_some() {
                return;
            }
            if !self.begun && !self.begin(io, layer) {
                return;
            }
            self.compare(io, layer);
            let mut transport = io.lock();
            if transport.peek().is_some() || transport.divergence().is_some() {
                return;
            }
            let Some(next) = self.stretches.get(self.at + 1).copied() else {
                return;
            };
            self.done = self.played(&mut transport);
            self.at += 1;
            self.begun = false;
            let now = transport.time();
            transport.go_on(self.events(), now, next.from);
        }
    }

    /// Brings the layer into the state that the stretch begins with.
    fn begin(&mut self, io: &Shared<ReplayTransport<ReelEvents>>, layer: &mut dyn Layer) -> bool {
        let mut transport = io.lock();
        let restored = transport.take_snapshot(|number, time, state| {
            let restored = layer.restore(state);
            (number, time, restored)
        });
        let Some((number, time, restored)) = restored else {
            let from = self.stretches.get(self.at).map(|it| it.from);
            self.refused = Some((
                from.unwrap_or_default(),
                "the snapshot is not there any more".to_owned(),
            ));
            return false;
        };
        if let Err(error) = restored {
            self.refused = Some((number, error.to_string()));
            return false;
        }
        if self.without_time_outs {
            layer.time_outs(false);
        }
        let events = ReelEvents::between(
            Arc::clone(&self.reel),
            number.next(),
            self.stretches
                .get(self.at)
                .map_or(EventNumber(u64::MAX), |stretch| stretch.until),
        );
        transport.go_on(events, time, number.next());
        self.begun = true;
        true
    }

    /// Compares the layer's state with each snapshot before the next turn.
    fn compare(&mut self, io: &Shared<ReplayTransport<ReelEvents>>, layer: &dyn Layer) {
        if !self.compares {
            return;
        }
        let mut transport = io.lock();
        let take = |number: EventNumber, time: Time, recorded: &[u8]| {
            let own = layer.save();
            let differs = own
                .as_ref()
                .filter(|own| own.as_slice() != recorded)
                .map(|own| (recorded.to_vec(), own.clone()));
            (number, time, own.is_some(), differs)
        };
        while let Some((number, time, offered, differs)) = transport.take_snapshot(take) {
            match differs {
                Some((recorded, own)) => {
                    transport.diverge_in_state((number, time), recorded, own);
                    return;
                }
                None => self.equal += u64::from(offered),
            }
        }
    }
}

/// The stretches from the last snapshot on that is before `event`.
pub(crate) fn from_snapshot(
    reel: &Reel,
    stretches: Vec<Stretch>,
    event: EventNumber,
) -> Vec<Stretch> {
    let mut from = stretches;
    let begun = from.iter().rposition(|stretch| stretch.from <= event);
    from.drain(..begun.unwrap_or(0));
    let Some(first) = from.first_mut() else {
        return from;
    };
    if let Some(snapshot) = last_snapshot(reel, first.from, event)
        && snapshot > first.from
    {
        (first.from, first.snapshot) = (snapshot, true);
    }
    from
}

/// The last snapshot between `from` and `event` behind which a turn begins. Reads backwards, block
/// by block.
pub(crate) fn last_snapshot(
    reel: &Reel,
    from: EventNumber,
    event: EventNumber,
) -> Option<EventNumber> {
    if !snapshots_are_there(reel.header()) {
        return None;
    }
    let last = reel.find(event)?;
    let first = reel.find(from).unwrap_or(0);
    let mut behind_is_turn = false;
    for index in (first..=last).rev() {
        let block = reel.block(index).ok()?;
        let mut found = None;
        // Whether what comes behind a snapshot, up to the next step, is a turn.
        let mut open = None;
        let mut first_step = None;
        for record in block.records() {
            if Step::is_one(&record.event) {
                let turn = is_turn(&record.event);
                first_step.get_or_insert(turn);
                if let Some(snapshot) = open.take().filter(|_| turn) {
                    found = Some(snapshot);
                }
            } else if matches!(record.event, Event::Snapshot { .. })
                && (from..=event).contains(&record.number)
            {
                open = Some(record.number);
            }
        }
        let found = open.filter(|_| behind_is_turn).or(found);
        if found.is_some() {
            return found;
        }
        behind_is_turn = first_step.unwrap_or(behind_is_turn);
    }
    None
}
