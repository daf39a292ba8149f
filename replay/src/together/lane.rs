//! One node as it is played: where it stands in its recording, its clock, what waits for it, and whether what
//! comes to it is what came in the recording.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use netreel_reel::{
    Endpoint, Event, EventNumber, OwnedRecord, Record, SendOutcome, SocketId, ThreadId, Time,
};
use netreel_transport::{Divergence, Draw, Events, Step};

use super::reels::Sink;
use super::report::{Left, PlayedNode, Why};
use crate::ReelEvents;
use crate::replayable::is_turn;

/// A packet that a node sent off its recording, until its turn is over.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub socket: SocketId,
    pub to: Endpoint,
    pub at_ns: i64,
    pub payload: Arc<[u8]>,
}

pub(super) struct NodePlayed {
    /// Its place in the story.
    node: usize,
    /// `None`: the node has no layer.
    pub events: Option<ReelEvents>,
    pub is_cut: bool,
    pub turn: usize,
    /// The session's time at the node's zero, as it is in this turn.
    pub shift_ns: i128,
    /// The events of the turn that is played, without the one that began it.
    pub script: Script,
    /// The next of them, as long as the node is on its recording.
    next: usize,
    /// Of those that the layer has no part in, all before this one are written.
    copied: usize,
    /// Behind the last clock read, and the last send, that a layer off its recording has used.
    clocks: usize,
    sends: usize,
    /// The recording ended in the middle of this turn: what the layer does is not known from it.
    pub is_past_end: bool,
    pub left: Option<Left>,
    pub now: Time,
    /// The last tick that began, and the game's virtual time then.
    pub tick: (u64, Time),
    /// The event that began the turn that is played.
    pub begun_by: EventNumber,
    /// What the layer's clock said last, and the reel's time then.
    clock: Option<(Time, Time)>,
    randoms: VecDeque<u64>,
    draw: Draw,
    pub inbox: Inbox,
    pub outgoing: Vec<Outgoing>,
    written: u64,
    pub socket: SocketId,
    pub report: PlayedNode,
}

impl NodePlayed {
    pub fn new(node: usize, name: &str, seed: u64) -> NodePlayed {
        NodePlayed {
            node,
            events: None,
            is_cut: false,
            turn: 0,
            shift_ns: 0,
            script: Script::default(),
            next: 0,
            copied: 0,
            clocks: 0,
            sends: 0,
            is_past_end: false,
            left: None,
            now: Time::ZERO,
            tick: (0, Time::ZERO),
            begun_by: EventNumber(0),
            clock: None,
            randoms: VecDeque::new(),
            draw: Draw::named(seed, name),
            inbox: Inbox::default(),
            outgoing: Vec::new(),
            written: 0,
            socket: SocketId(0),
            report: PlayedNode {
                name: name.to_owned(),
                ..PlayedNode::default()
            },
        }
    }

    /// Whether every step so far was the recorded one.
    pub fn is_on(&self) -> bool {
        self.left.is_none()
    }

    /// On the session's clock.
    pub fn at_ns(&self, time: Time) -> i64 {
        let at = i128::from(time.0) + self.shift_ns;
        at.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// Reads the events of the next turn; the one that begins it, if there is one. The first turn
    /// is what comes before the first tick or call.
    pub fn load(&mut self, is_first: bool) -> Option<OwnedRecord> {
        self.script.clear();
        (self.next, self.copied, self.clocks, self.sends) = (0, 0, 0, 0);
        let events = self.events.as_mut()?;
        let mut begins = None;
        while let Some(record) = events.peek() {
            if is_turn(&record.event) {
                if is_first || begins.is_some() {
                    break;
                }
                begins = Some(OwnedRecord::copy_of(&record));
            } else {
                if let Event::Random { value } = record.event {
                    self.randoms.push_back(value);
                }
                self.script.push(OwnedRecord::copy_of(&record));
            }
            events.advance();
        }
        begins
    }

    /// Writes an event at the time that it is.
    pub fn write(&mut self, sink: &mut dyn Sink, event: Event<'_>) -> EventNumber {
        let number = EventNumber(self.written);
        self.written += 1;
        let record = Record {
            number,
            time: self.now,
            thread: ThreadId(0),
            event,
        };
        sink.write(self.node, &record);
        number
    }

    /// Lets time pass, never back.
    pub fn pass_to(&mut self, time: Time) {
        self.now = self.now.max(time);
    }

    /// What the recording has next, while the node is on it. Writes what the layer had no part in.
    pub fn expected(&mut self, sink: &mut dyn Sink) -> Option<OwnedRecord> {
        while let Some(record) = self.script.get(self.next) {
            if Step::of(&record.as_record().event).is_some() {
                let expected = record.clone();
                self.copy(self.next, sink);
                return Some(expected);
            }
            self.next += 1;
        }
        None
    }

    /// Steps over what [`expected`](Lane::expected) gave.
    pub fn step(&mut self, time: Time) {
        self.next += 1;
        self.pass_to(time);
    }

    /// Writes what the layer has no part in, of the events before this place. What the game said that it
    /// believes is left out: the game is not played on, and may believe otherwise where the node has left
    /// its recording.
    fn copy(&mut self, until: usize, sink: &mut dyn Sink) {
        while self.copied < until.min(self.script.len()) {
            let Some(record) = self.script.get(self.copied).cloned() else {
                return;
            };
            let record = record.as_record();
            self.copied += 1;
            if matches!(
                record.event,
                Event::Note { .. } | Event::SocketOpened { .. } | Event::SocketClosed { .. }
            ) {
                self.pass_to(record.time);
                self.write(sink, record.event);
            }
        }
    }

    /// Ends the turn: what the recording has and the layer did not do is where it left.
    pub fn end_turn(&mut self, sink: &mut dyn Sink) {
        if self.is_on() && !self.is_past_end && self.expected(sink).is_some() {
            self.leave_by(Step::Nothing);
        }
        self.copy(self.script.len(), sink);
    }

    /// The node leaves its recording by a step of its layer; at the end of a cut recording it is
    /// past it.
    pub fn leave_by(&mut self, came: Step) {
        let next = self.script.get(self.next).map(OwnedRecord::as_record);
        let next = next.or_else(|| self.events.as_mut()?.peek());
        let last = self.script.last().map(OwnedRecord::as_record);
        let (number, time, expected) = match next {
            Some(record) => {
                let expected = Step::of(&record.event).unwrap_or(Step::Nothing);
                (record.number, record.time, expected)
            }
            None if self.is_cut => {
                self.is_past_end = true;
                return;
            }
            None => {
                let number = last.map_or(EventNumber(0), |last| last.number.next());
                (number, self.now, Step::Nothing)
            }
        };
        let divergence = Divergence {
            number,
            time,
            expected,
            came,
            sockets: None,
        };
        self.leave(number, time, Why::Step(Box::new(divergence)));
    }

    pub fn leave(&mut self, number: EventNumber, time: Time, why: Why) {
        self.left = Some(Left {
            number,
            time,
            at_ns: self.at_ns(time),
            why,
        });
    }

    /// The answer to a clock read of a layer that has left its recording.
    pub fn clock_off(&mut self) -> Time {
        let read = self.script.clock_from(self.clocks.max(self.next));
        let value = match read {
            Some((place, value, time)) => {
                self.clocks = place + 1;
                self.pass_to(time);
                value
            }
            None => match self.clock {
                Some((value, time)) => value + self.now.since(time),
                None => self.now,
            },
        };
        let last = self.clock.map_or(Time::ZERO, |(value, _)| value);
        self.clock_said(value.max(last))
    }

    /// Remembers what the layer's clock said.
    pub fn clock_said(&mut self, value: Time) -> Time {
        self.clock = Some((value, self.now));
        value
    }

    pub fn random(&mut self) -> u64 {
        let recorded = self.randoms.pop_front();
        recorded.unwrap_or_else(|| self.draw.bits())
    }

    /// Lets the time pass to when the recording has the next send of this turn to the same address.
    pub fn pass_to_send(&mut self, address: Endpoint) {
        let from = self.sends.max(self.next);
        if let Some((place, time)) = self.script.send_from(from, address) {
            self.sends = place + 1;
            self.pass_to(time);
        }
    }

    /// What the call of a recorded send returned.
    pub fn send_outcome(&mut self, sent: EventNumber) -> SendOutcome {
        let outcome = self.script.result_from(self.next, sent);
        outcome.unwrap_or(SendOutcome::Sent)
    }

    /// Whether this turn has a note of these words that is not written yet.
    pub fn has_note(&mut self, words: &str) -> bool {
        self.script.has_note_from(self.copied, words)
    }
}

/// Where something that waits for a node stands: at the event of the recording at which it is
/// there, behind recorded packets if it is one, by its arrival, by the order in which it was sent.
pub(super) type Place = (EventNumber, bool, i64, u64);

/// What a layer is given when it asks for a packet.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub socket: SocketId,
    /// When the recording has it, where it has.
    pub time: Option<Time>,
    pub what: Waiting,
}

#[derive(Clone, Debug)]
pub(super) enum Waiting {
    Packet { from: Endpoint, payload: Arc<[u8]> },
    Failed(i32),
}

/// What waits for a node, each thing at its place.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    items: BTreeMap<Place, Item>,
    of_sockets: BTreeSet<(SocketId, Place)>,
}

impl Inbox {
    pub fn insert(&mut self, place: Place, item: Item) {
        self.remove(&place);
        self.of_sockets.insert((item.socket, place));
        self.items.insert(place, item);
    }

    pub fn get(&self, place: &Place) -> Option<&Item> {
        self.items.get(place)
    }

    pub fn remove(&mut self, place: &Place) -> Option<Item> {
        let item = self.items.remove(place)?;
        self.of_sockets.remove(&(item.socket, *place));
        Some(item)
    }

    /// The first thing that is there at an event of the recording, on this socket or on any.
    pub fn first_until(&self, number: EventNumber, socket: Option<SocketId>) -> Option<Place> {
        let first = (EventNumber(0), false, i64::MIN, 0);
        let last = (number, true, i64::MAX, u64::MAX);
        match socket {
            None => self.items.range(..=last).next().map(|(place, _)| *place),
            Some(socket) => {
                let mut there = self.of_sockets.range((socket, first)..=(socket, last));
                there.next().map(|(_, place)| *place)
            }
        }
    }
}

/// The events of a turn, without the one that began it.
#[derive(Default)]
pub(super) struct Script {
    records: Vec<OwnedRecord>,
    /// Made when something is looked for: a turn may be as long as a recording.
    index: Option<Index>,
}

/// Where what is looked for stands.
#[derive(Default)]
struct Index {
    clocks: Vec<usize>,
    sends: BTreeMap<Endpoint, Vec<usize>>,
    /// The first result of each send.
    results: BTreeMap<EventNumber, (usize, SendOutcome)>,
    /// The last note of these words.
    notes: BTreeMap<Vec<u8>, usize>,
}

impl Index {
    fn of(records: &[OwnedRecord]) -> Index {
        let mut index = Index::default();
        for (place, record) in records.iter().enumerate() {
            match record.as_record().event {
                Event::Clock { .. } => index.clocks.push(place),
                Event::Sent { to, .. } => index.sends.entry(to).or_default().push(place),
                Event::SendResult { of, outcome } => {
                    index.results.entry(of).or_insert((place, outcome));
                }
                Event::Note { text } => {
                    index.notes.insert(text.to_vec(), place);
                }
                _ => {}
            }
        }
        index
    }
}

impl Script {
    pub fn clear(&mut self) {
        self.records.clear();
        self.index = None;
    }

    pub fn push(&mut self, record: OwnedRecord) {
        self.records.push(record);
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn get(&self, place: usize) -> Option<&OwnedRecord> {
        self.records.get(place)
    }

    pub fn last(&self) -> Option<&OwnedRecord> {
        self.records.last()
    }

    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        self.records.iter().map(OwnedRecord::as_record)
    }

    fn index(&mut self) -> &Index {
        let records = &self.records;
        self.index.get_or_insert_with(|| Index::of(records))
    }

    /// The first clock read at this place or behind it: its place, what it said, and when it was.
    pub fn clock_from(&mut self, from: usize) -> Option<(usize, Time, Time)> {
        let place = first_from(&self.index().clocks, from)?;
        let record = self.get(place)?.as_record();
        match record.event {
            Event::Clock { value } => Some((place, value, record.time)),
            _ => None,
        }
    }

    /// The first send to an address at this place or behind it: its place, and when it was.
    pub fn send_from(&mut self, from: usize, to: Endpoint) -> Option<(usize, Time)> {
        let place = first_from(self.index().sends.get(&to)?, from)?;
        Some((place, self.get(place)?.as_record().time))
    }

    /// What the call of a send returned that stands before this place.
    pub fn result_from(&mut self, from: usize, sent: EventNumber) -> Option<SendOutcome> {
        let (place, outcome) = *self.index().results.get(&sent)?;
        (place >= from).then_some(outcome)
    }

    /// Whether a note of these words stands at this place or behind it.
    pub fn has_note_from(&mut self, from: usize, words: &str) -> bool {
        let last = self.index().notes.get(words.as_bytes());
        last.is_some_and(|&last| last >= from)
    }
}

/// The first of these places that is not before this one.
fn first_from(places: &[usize], from: usize) -> Option<usize> {
    let behind = places.partition_point(|&place| place < from);
    places.get(behind).copied()
}

/// How a receive is not the recorded one.
pub(super) enum Unlike {
    /// The layer's step is another one.
    Step,
    /// What came is.
    Came(Why),
}

/// Compares what comes with what the recording has at this step; `None` where they are equal.
pub(super) fn unlike(
    lane: &NodePlayed,
    record: &Record<'_>,
    socket: Option<SocketId>,
    place: Option<Place>,
) -> Option<Unlike> {
    let on = match record.event {
        Event::Received { socket, .. }
        | Event::PollEmpty { socket }
        | Event::ReceiveFailed { socket, .. } => socket,
        _ => return Some(Unlike::Step),
    };
    if socket.is_some_and(|socket| socket != on) {
        return Some(Unlike::Step);
    }
    let came = place
        .and_then(|place| lane.inbox.get(&place))
        .map(|it| &it.what);
    match (&record.event, came) {
        (Event::PollEmpty { .. }, None) => None,
        (Event::ReceiveFailed { code, .. }, Some(Waiting::Failed(came))) if code == came => None,
        (
            Event::Received { from, payload, .. },
            Some(Waiting::Packet {
                from: by,
                payload: it,
            }),
        ) if (from, *payload) == (by, &**it) => None,
        (event, Some(Waiting::Packet { from, .. })) => Some(Unlike::Came(Why::OtherCame {
            from: *from,
            instead: matches!(event, Event::Received { .. }),
        })),
        (Event::Received { from, .. }, _) => Some(Unlike::Came(Why::NothingCame { from: *from })),
        _ => Some(Unlike::Step),
    }
}
