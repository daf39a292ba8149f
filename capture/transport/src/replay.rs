//! Plays a recording back: answers each call of the layer as it was answered when it was recorded,
//! and compares each send with what was sent.

use std::mem::discriminant;

use netreel_reel::{
    Believed, Endpoint, Event, EventNumber, Record, SendOutcome, SocketId, Time, say_numbers,
};

use crate::{Datagram, ReceiveError, SendError, Transport};

/// The recorded events, in order.
pub trait Events {
    /// The next event; `None` at the end of the recording. Gives the same until
    /// [`advance`](Events::advance).
    fn peek(&mut self) -> Option<Record<'_>>;

    /// Steps over the event that `peek` gives.
    fn advance(&mut self);
}

/// A [`Transport`] that answers from a recording.
///
/// The first call that the recording does not have at its place is a [`Divergence`]. From then on
/// the recording says nothing any more: clock reads repeat the last time, there are no packets and
/// no randomness, sends go nowhere. The owner of the loop looks at [`divergence`] after each call
/// into the layer and stops.
///
/// [`divergence`]: ReplayTransport::divergence
pub struct ReplayTransport<E> {
    events: E,
    now: Time,
    tick: (u64, Time),
    turn: EventNumber,
    sends: u64,
    bytes: u64,
    next: EventNumber,
    overrun: Option<Box<Divergence>>,
    divergence: Option<Box<Divergence>>,
    afterwards: Vec<Step>,
    /// How many beliefs were equal to the recording.
    beliefs: u64,
    belief_differs: Option<Box<BeliefDifference>>,
}

/// How many steps behind a divergence are kept.
const AFTERWARDS_MAX: usize = 64;

/// Where a replay left its recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The event of the recording that was to come; one past the last at the end of it.
    pub number: EventNumber,
    /// The time of that event, or of the last one at the end of the recording.
    pub time: Time,
    /// What the recording has.
    pub expected: Step,
    /// What came.
    pub came: Step,
    /// The recording's socket and the layer's, where a layer with several sockets did the same
    /// kind of step on another one.
    pub sockets: Option<(SocketId, SocketId)>,
}

/// The first belief of a layer that is not the recorded one. It ends no replay: the sends behind it
/// show whether it mattered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeliefDifference {
    /// The event of the recording that was to come.
    pub number: EventNumber,
    /// The time of that event, or of the last one at the end of the recording.
    pub time: Time,
    /// What the recording has there, as [`Believed::words`] says it; `None` where it has no belief.
    pub recorded: Option<String>,
    /// What the layer says.
    pub said: String,
}

/// A step over the boundary, as far as a replay compares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A tick begins.
    Tick(u64),
    /// The game calls into the layer.
    Input(Vec<u8>),
    /// The layer reads the clock.
    Clock,
    /// The layer draws a random number.
    Random,
    /// The layer asks for a packet.
    Receive,
    /// The layer sends a packet.
    Send {
        /// To whom.
        to: Endpoint,
        /// The packet.
        packet: Vec<u8>,
    },
    /// The layer's state at a snapshot, in its own encoding.
    State(Vec<u8>),
    /// The recording, or the layer's tick or call, is over.
    Nothing,
}

impl Step {
    /// Whether an event is a step, and not what the recorder alone said.
    pub fn is_one(event: &Event<'_>) -> bool {
        matches!(
            event,
            Event::Tick { .. }
                | Event::Input { .. }
                | Event::Clock { .. }
                | Event::Random { .. }
                | Event::Received { .. }
                | Event::PollEmpty { .. }
                | Event::ReceiveFailed { .. }
                | Event::Sent { .. }
        )
    }

    /// The step that left `event` in a recording; `None` for what the recorder, not the layer, said.
    pub fn of(event: &Event<'_>) -> Option<Step> {
        Some(match *event {
            Event::Tick { tick, .. } => Step::Tick(tick),
            Event::Input { call } => Step::Input(call.to_vec()),
            Event::Clock { .. } => Step::Clock,
            Event::Random { .. } => Step::Random,
            Event::Received { .. } | Event::PollEmpty { .. } | Event::ReceiveFailed { .. } => {
                Step::Receive
            }
            Event::Sent { to, payload, .. } => Step::Send {
                to,
                packet: payload.to_vec(),
            },
            Event::SocketOpened { .. }
            | Event::SocketClosed { .. }
            | Event::SendResult { .. }
            | Event::Note { .. }
            | Event::Snapshot { .. }
            | Event::Switched { .. }
            | Event::Dropped { .. }
            | Event::Stalled { .. }
            | Event::WriteFailed { .. }
            | Event::Fault { .. }
            | Event::Relay { .. }
            | Event::Triggered { .. }
            | Event::Believed { .. }
            // The driver replays engines; these come from unmodified programs.
            | Event::ClockRead { .. }
            | Event::Called { .. }
            // These are an observer's, who takes no part.
            | Event::Seen { .. }
            | Event::Interface { .. }
            | Event::CaptureDrops { .. }
            | Event::Cut { .. } => return None,
        })
    }
}

impl<E: Events> ReplayTransport<E> {
    /// Starts before the first of `events`.
    pub fn new(events: E) -> Self {
        ReplayTransport {
            events,
            now: Time::ZERO,
            tick: (0, Time::ZERO),
            turn: EventNumber(0),
            sends: 0,
            bytes: 0,
            next: EventNumber(0),
            overrun: None,
            divergence: None,
            afterwards: Vec::new(),
            beliefs: 0,
            belief_differs: None,
        }
    }

    /// The first call that the recording does not have.
    pub fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_deref()
    }

    /// What the layer did behind its divergence, until the owner of the loop stopped: at most 64
    /// steps. The recording no longer answered these.
    pub fn afterwards(&self) -> &[Step] {
        &self.afterwards
    }

    /// The first belief that is not the recorded one, of a layer that says what it believes.
    pub fn belief_differs(&self) -> Option<&BeliefDifference> {
        self.belief_differs.as_deref()
    }

    /// Compares a belief with the next one of the recording before its next step. Where the recording
    /// has none so far, it was made of a layer that said nothing.
    fn compare_belief(&mut self, object: u64, believed: Believed<'_>) {
        if self.over() || self.belief_differs.is_some() {
            return;
        }
        let (mut number, mut time, mut recorded) = (self.next, self.now, None);
        while let Some(record) = self.events.peek() {
            (number, time) = (record.number, record.time);
            match record.event {
                Event::Believed {
                    object: of,
                    believed: known,
                } => {
                    let is_same = (of, known) == (object, believed);
                    recorded = (!is_same).then(|| known.words(of));
                    self.events.advance();
                    if is_same {
                        self.beliefs += 1;
                        return;
                    }
                    break;
                }
                Event::Snapshot { .. } => break,
                ref other if Step::is_one(other) => break,
                _ => self.events.advance(),
            }
        }
        if recorded.is_some() || self.beliefs > 0 {
            self.belief_differs = Some(Box::new(BeliefDifference {
                number,
                time,
                recorded,
                said: believed.words(object),
            }));
        }
    }

    fn goes_on(&mut self, step: impl FnOnce() -> Step) {
        if self.divergence.is_some() && self.afterwards.len() < AFTERWARDS_MAX {
            self.afterwards.push(step());
        }
    }

    /// How many sends were equal to the recording, and how many bytes they had.
    pub fn compared(&self) -> (u64, u64) {
        (self.sends, self.bytes)
    }

    /// The first call that came after the end of the recording: right for a recording that was
    /// cut, a divergence for one that is complete.
    pub fn overrun(&self) -> Option<&Divergence> {
        self.overrun.as_deref()
    }

    /// The time of the last event that was played.
    pub fn time(&self) -> Time {
        self.now
    }

    /// The last tick that began, and the game's virtual time then.
    pub fn last_tick(&self) -> (u64, Time) {
        self.tick
    }

    /// The event of the tick, or the call of the game, that is played.
    pub fn turn(&self) -> EventNumber {
        self.turn
    }

    /// The next event that a layer or its game had part in; skips what only the recorder said.
    pub fn peek(&mut self) -> Option<Record<'_>> {
        while self
            .events
            .peek()
            .is_some_and(|record| !Step::is_one(&record.event))
        {
            self.events.advance();
        }
        self.events.peek()
    }

    /// Hands the next snapshot to `take`, where one comes before the next step, and steps over it.
    /// To be asked between two turns.
    pub fn take_snapshot<R>(
        &mut self,
        take: impl FnOnce(EventNumber, Time, &[u8]) -> R,
    ) -> Option<R> {
        if self.over() {
            return None;
        }
        loop {
            let record = self.events.peek()?;
            if let Event::Snapshot { state } = record.event {
                let taken = take(record.number, record.time, state);
                self.next = record.number.next();
                self.events.advance();
                return Some(taken);
            }
            if Step::is_one(&record.event) {
                return None;
            }
            self.events.advance();
        }
    }

    /// Says that the layer's state at a snapshot, `came`, is not the recorded one.
    pub fn diverge_in_state(
        &mut self,
        (number, time): (EventNumber, Time),
        recorded: Vec<u8>,
        came: Vec<u8>,
    ) {
        if !self.over() {
            self.divergence = Some(Box::new(Divergence {
                number,
                time,
                expected: Step::State(recorded),
                came: Step::State(came),
                sockets: None,
            }));
        }
    }

    /// Goes on with other events of the same recording, from a snapshot on. What was compared stays
    /// counted.
    pub fn go_on(&mut self, events: E, now: Time, next: EventNumber) {
        (self.events, self.now, self.next) = (events, now, next);
        self.overrun = None;
    }

    /// Whether every event was played or stepped over.
    pub fn is_at_end(&mut self) -> bool {
        self.events.peek().is_none()
    }

    /// The number of the event behind the last one that was played.
    pub fn next_number(&self) -> EventNumber {
        self.next
    }

    /// Steps over the event that [`peek`](ReplayTransport::peek) gives: the owner of the loop has
    /// acted on it.
    pub fn advance(&mut self) {
        if let Some(record) = self.events.peek() {
            self.now = record.time;
            self.next = record.number.next();
            match record.event {
                Event::Tick { tick, time } => {
                    (self.tick, self.turn) = ((tick, time), record.number);
                }
                Event::Input { .. } => self.turn = record.number,
                _ => {}
            }
            self.events.advance();
        }
    }

    /// Says that `came` is not what the recording has next.
    pub fn diverge(&mut self, came: Step) {
        if self.over() {
            return;
        }
        let (mut number, mut time) = (self.next, self.now);
        let next = self.peek().map(|record| {
            (number, time) = (record.number, record.time);
            Step::of(&record.event).unwrap_or(Step::Nothing)
        });
        let place = match next {
            Some(_) => &mut self.divergence,
            None => &mut self.overrun,
        };
        *place = Some(Box::new(Divergence {
            number,
            time,
            expected: next.unwrap_or(Step::Nothing),
            came,
            sockets: None,
        }));
    }

    /// [`send`](Transport::send) of a layer with several sockets.
    pub fn send_on(
        &mut self,
        socket: SocketId,
        to: Endpoint,
        packet: &[u8],
    ) -> Result<(), SendError> {
        self.compare(Some(socket), to, packet)
    }

    /// [`receive`](Transport::receive) of a layer with several sockets.
    pub fn receive_on(
        &mut self,
        socket: SocketId,
        buffer: &mut [u8],
    ) -> Result<Option<Datagram>, ReceiveError> {
        self.take(Some(socket), buffer)
    }

    /// `socket`: the layer's; `None` for a layer that has one alone.
    fn compare(
        &mut self,
        socket: Option<SocketId>,
        to: Endpoint,
        packet: &[u8],
    ) -> Result<(), SendError> {
        let step = || Step::Send {
            to,
            packet: packet.to_vec(),
        };
        if self.over() {
            self.goes_on(step);
            return Ok(());
        }
        let number = self.peek().map(|record| record.number).unwrap_or_default();
        let compare = |event: &Event<'_>| match *event {
            Event::Sent {
                socket: on,
                to: recorded_to,
                payload,
            } => {
                let same_socket = socket.is_none_or(|socket| socket == on);
                (same_socket && recorded_to == to && payload == packet).then_some(())
            }
            _ => None,
        };
        if self.answer(socket, compare, step).is_none() {
            return Ok(());
        }
        self.sends += 1;
        self.bytes += packet.len() as u64;
        SendError::of(self.send_outcome(number))
    }

    fn take(
        &mut self,
        socket: Option<SocketId>,
        buffer: &mut [u8],
    ) -> Result<Option<Datagram>, ReceiveError> {
        let take = |event: &Event<'_>| {
            if socket.is_some() && socket_of(event) != socket {
                return None;
            }
            match *event {
                Event::PollEmpty { .. } => Some(Ok(None)),
                Event::ReceiveFailed { code, .. } => Some(Err(ReceiveError(code))),
                Event::Received { from, payload, .. } => {
                    let length = payload.len().min(buffer.len());
                    buffer[..length].copy_from_slice(&payload[..length]);
                    Some(Ok(Some(Datagram { from, length })))
                }
                _ => None,
            }
        };
        self.answer(socket, take, || Step::Receive)
            .unwrap_or(Ok(None))
    }

    fn over(&self) -> bool {
        self.overrun.is_some() || self.divergence.is_some()
    }

    /// Hands the next event to `take` if it is one for this call; otherwise the replay diverges
    /// with `came`, maybe for the `socket` that the call names.
    fn answer<T>(
        &mut self,
        socket: Option<SocketId>,
        take: impl FnOnce(&Event<'_>) -> Option<T>,
        came: impl FnOnce() -> Step,
    ) -> Option<T> {
        if self.over() {
            self.goes_on(came);
            return None;
        }
        let next = self.peek().map(|record| record.event);
        let on = next.as_ref().and_then(socket_of);
        let answer = next.as_ref().and_then(take);
        if answer.is_some() {
            self.advance();
            return answer;
        }
        self.diverge(came());
        if let Some(divergence) = &mut self.divergence
            && discriminant(&divergence.expected) == discriminant(&divergence.came)
            && on != socket
        {
            divergence.sockets = on.zip(socket);
        }
        None
    }

    /// The result of the send that was just compared; between the two the recorder may have said
    /// that it stalled. A recording that was cut may lack it.
    fn send_outcome(&mut self, of: EventNumber) -> SendOutcome {
        while let Some(record) = self.events.peek() {
            match record.event {
                Event::SendResult { of: sent, outcome } if sent == of => {
                    self.events.advance();
                    return outcome;
                }
                Event::Snapshot { .. } => break,
                ref other if Step::is_one(other) => break,
                _ => self.events.advance(),
            }
        }
        SendOutcome::Sent
    }
}

impl<E: Events> Transport for ReplayTransport<E> {
    fn now(&mut self) -> Time {
        let read = |event: &Event<'_>| match *event {
            Event::Clock { value } => Some(value),
            _ => None,
        };
        self.answer(None, read, || Step::Clock).unwrap_or(self.now)
    }

    fn random(&mut self) -> u64 {
        let draw = |event: &Event<'_>| match *event {
            Event::Random { value } => Some(value),
            _ => None,
        };
        self.answer(None, draw, || Step::Random).unwrap_or(0)
    }

    fn send(&mut self, to: Endpoint, packet: &[u8]) -> Result<(), SendError> {
        self.compare(None, to, packet)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Datagram>, ReceiveError> {
        self.take(None, buffer)
    }

    fn tick(&mut self, tick: u64, _time: Time) {
        let begin = |event: &Event<'_>| match *event {
            Event::Tick { tick: recorded, .. } => (recorded == tick).then_some(()),
            _ => None,
        };
        self.answer(None, begin, || Step::Tick(tick));
    }

    fn input(&mut self, call: &[u8]) {
        let give = |event: &Event<'_>| match *event {
            Event::Input { call: recorded } => (recorded == call).then_some(()),
            _ => None,
        };
        self.answer(None, give, || Step::Input(call.to_vec()));
    }

    /// Notes are for readers of the recording: a replay neither has them nor misses them.
    fn note(&mut self, _text: &str) {}

    fn believes(&mut self, object: u64, believed: Believed<'_>) {
        self.compare_belief(object, believed);
    }

    fn believes_value(&mut self, object: u64, property: &str, numbers: &[f64]) {
        let mut said = String::new();
        say_numbers(property, numbers, &mut said);
        let said = said.as_bytes();
        self.compare_belief(object, Believed::Value { said });
    }
}

/// The socket that a send or a receive was on.
fn socket_of(event: &Event<'_>) -> Option<SocketId> {
    match *event {
        Event::Sent { socket, .. }
        | Event::Received { socket, .. }
        | Event::PollEmpty { socket }
        | Event::ReceiveFailed { socket, .. } => Some(socket),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
