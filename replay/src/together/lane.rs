//! One node as it is played: where it stands in its recording, its clock, what waits for it.

use std::collections::VecDeque;
use std::sync::Arc;

use netreel_reel::{
    Endpoint, Event, EventNumber, OwnedRecord, SendOutcome, SocketId, ThreadId, Time,
};
use netreel_transport::{Divergence, Draw, Events, Step};

use super::inbox::Inbox;
use super::report::{Left, PlayedNode, Why};
use super::script::Script;
use super::sink::Sink;
use crate::ReelEvents;

/// A packet that a node sent off its recording, until its turn is over.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub socket: SocketId,
    pub to: Endpoint,
    pub at_ns: i64,
    pub payload: Arc<[u8]>,
}

pub(super) struct NodePlayed {
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
    pub fn new(name: &str, seed: u64) -> NodePlayed {
        NodePlayed {
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
            if matches!(record.event, Event::Tick { .. } | Event::Input { .. }) {
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
    pub fn write(&mut self, sink: &mut dyn Sink, node: usize, event: Event<'_>) -> EventNumber {
        let number = EventNumber(self.written);
        self.written += 1;
        sink.write(
            node,
            &netreel_reel::Record {
                number,
                time: self.now,
                thread: ThreadId(0),
                event,
            },
        );
        number
    }

    /// Lets time pass, never back.
    pub fn pass_to(&mut self, time: Time) {
        self.now = self.now.max(time);
    }

    /// What the recording has next, while the node is on it. Writes what the layer had no part in.
    pub fn expected(&mut self, sink: &mut dyn Sink, node: usize) -> Option<OwnedRecord> {
        while let Some(record) = self.script.get(self.next) {
            if Step::of(&record.as_record().event).is_some() {
                let expected = record.clone();
                self.copy(self.next, sink, node);
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
    fn copy(&mut self, until: usize, sink: &mut dyn Sink, node: usize) {
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
                self.write(sink, node, record.event);
            }
        }
    }

    /// Ends the turn: what the recording has and the layer did not do is where it left.
    pub fn end_turn(&mut self, sink: &mut dyn Sink, node: usize) {
        if self.is_on() && !self.is_past_end && self.expected(sink, node).is_some() {
            self.leave_by(Step::Nothing);
        }
        self.copy(self.script.len(), sink, node);
    }

    /// The node leaves its recording by a step of its layer; at the end of a cut recording it is
    /// past it.
    pub fn leave_by(&mut self, came: Step) {
        let next = self.script.get(self.next).cloned();
        let (number, time, expected) = match &next {
            Some(record) => {
                let record = record.as_record();
                let expected = Step::of(&record.event).unwrap_or(Step::Nothing);
                (record.number, record.time, expected)
            }
            None => match self.events.as_mut().and_then(ReelEvents::peek) {
                Some(record) => {
                    let expected = Step::of(&record.event).unwrap_or(Step::Nothing);
                    (record.number, record.time, expected)
                }
                None if self.is_cut => {
                    self.is_past_end = true;
                    return;
                }
                None => {
                    let last = self.script.last().map(OwnedRecord::as_record);
                    let number = last.map_or(EventNumber(0), |last| last.number.next());
                    (number, self.now, Step::Nothing)
                }
            },
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
