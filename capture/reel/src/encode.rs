//! Events to the bytes of a block.

use std::collections::HashMap;
use std::net::SocketAddr;

use netreel_shared::body::SendOutcome;
use netreel_shared::call::{CallId, ClockId};

use crate::frame::FRAME_HEAD;
use crate::plain::plain_parts;
use crate::tag::{self, ClockState, Context, LastTick, ShortPacket, State};
use crate::varint::{put, zigzag};
use crate::{Endpoint, Event, EventNumber, Record};

/// Collects the events of one block.
#[derive(Debug)]
pub(crate) struct BlockEncoder {
    /// Behind the room for the head of its frame.
    body: Vec<u8>,
    state: State,
    first: Option<Start>,
    next: u64,
    events: u64,
    fold: Fold,
    /// The length of a tick in the block before, in virtual time.
    step_ns: u64,
    /// The latest call and where its details are in the body.
    called: Option<(CallId, i32, std::ops::Range<usize>)>,
    /// Only for looking up; its order is never seen.
    endpoints: HashMap<Endpoint, usize>,
}

/// The number and the time of a block's first event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub number: u64,
    pub time: u64,
}

/// The latest item, where the next event may still be folded into it.
#[derive(Clone, Copy, Debug)]
enum Fold {
    Nothing,
    Sent { number: u64, packet: Packet },
    Received { packet: Packet },
    Tick { tag_at: usize, thread: u16 },
}

/// Where the latest packet's item is, and what is in it.
#[derive(Clone, Copy, Debug)]
struct Packet {
    tag_at: usize,
    payload_at: usize,
    endpoint: usize,
    delta_ns: u64,
}

impl BlockEncoder {
    pub fn new() -> BlockEncoder {
        BlockEncoder {
            body: vec![0; FRAME_HEAD],
            state: State::new(0),
            first: None,
            next: 0,
            events: 0,
            fold: Fold::Nothing,
            step_ns: 0,
            called: None,
            endpoints: HashMap::new(),
        }
    }

    /// The bytes so far: first number, first time, items.
    pub fn body(&self) -> &[u8] {
        self.body.get(FRAME_HEAD..).unwrap_or_default()
    }

    /// The same behind the head of a frame.
    pub fn framed(&mut self, head: [u8; FRAME_HEAD]) -> &[u8] {
        if let Some(room) = self.body.first_chunk_mut() {
            *room = head;
        }
        &self.body
    }

    pub fn start(&self) -> Option<Start> {
        self.first
    }

    pub fn events(&self) -> u64 {
        self.events
    }

    /// Forgets all events; the memory stays.
    pub fn clear(&mut self) {
        self.body.truncate(FRAME_HEAD);
        self.state = State::new(0);
        self.first = None;
        self.events = 0;
        self.fold = Fold::Nothing;
        self.called = None;
        self.endpoints.clear();
    }

    /// Appends an event. Its number must be above those of the events before it.
    pub fn push(&mut self, record: &Record<'_>) {
        let number = record.number.0;
        if self.first.is_none() {
            self.first = Some(Start {
                number,
                time: record.time.0,
            });
            self.state = State::new(record.time.0);
            self.next = number;
            self.put(number);
            self.put(record.time.0);
        }
        if number > self.next {
            self.body.push(tag::HOLE);
            self.put(number - self.next);
            self.fold = Fold::Nothing;
        }
        self.next = number + 1;
        self.events += 1;
        if !self.folded(record) {
            self.fold = Fold::Nothing;
            self.item(record);
        }
    }

    /// Writes the event as a bit of the item before it, where that can be.
    fn folded(&mut self, record: &Record<'_>) -> bool {
        // Looked at where it stands: most events are folded into none.
        match (&self.fold, &record.event) {
            (
                &Fold::Sent { number, packet },
                &Event::SendResult {
                    of: EventNumber(of),
                    outcome: SendOutcome::Sent,
                },
            ) => {
                let same = self.state.contexts[self.state.context].thread == record.thread.0
                    && of == number
                    && number + 1 == record.number.0
                    && record.time.0 == self.state.time;
                if same {
                    self.body[packet.tag_at] ^= tag::SENT ^ tag::SENT_TAKEN;
                    self.shorten(tag::SENT_TAKEN, packet);
                    self.fold = Fold::Nothing;
                }
                same
            }
            (&Fold::Received { packet }, Event::PollEmpty { socket }) => {
                let context = &self.state.contexts[self.state.context];
                let same = context.thread == record.thread.0
                    && context.socket == socket.0
                    && record.time.0 == self.state.time;
                if same {
                    let tag = &mut self.body[packet.tag_at];
                    *tag = match *tag {
                        short if short >= tag::SHORT => short + tag::SHORT_LAST,
                        long => long ^ tag::RECEIVED ^ tag::RECEIVED_LAST,
                    };
                    self.fold = Fold::Nothing;
                }
                same
            }
            (&Fold::Tick { tag_at, thread }, Event::Clock { value }) => {
                let same = thread == record.thread.0
                    && *value == record.time
                    && record.time.0 >= self.state.time;
                if same {
                    self.body[tag_at] |= tag::TICK_CLOCK;
                    self.put(record.time.0 - self.state.time);
                    self.state.time = record.time.0;
                    self.fold = Fold::Nothing;
                }
                same
            }
            _ => false,
        }
    }

    fn item(&mut self, record: &Record<'_>) {
        let time = record.time.0;
        let socket = match record.event {
            Event::SendResult { of, outcome } if self.short_result(record, of, outcome) => return,
            Event::Sent { socket, .. }
            | Event::Received { socket, .. }
            | Event::PollEmpty { socket } => Some(socket.0),
            _ => None,
        };
        self.select(record.thread.0, socket);
        match record.event {
            Event::Sent { to, payload, .. } => {
                let endpoint = self.endpoint(&to);
                let packet = self.packet(tag::SENT, endpoint, time, payload);
                let number = record.number.0;
                self.state.contexts[self.state.context].sent = Some((number, record.time));
                self.fold = Fold::Sent { number, packet };
            }
            Event::Received { from, payload, .. } => {
                let endpoint = self.endpoint(&from);
                let packet = self.packet(tag::RECEIVED, endpoint, time, payload);
                self.shorten(tag::RECEIVED, packet);
                self.fold = Fold::Received { packet };
            }
            Event::PollEmpty { .. } if time == self.state.time => self.body.push(tag::POLL_HERE),
            Event::PollEmpty { .. } => self.timed(tag::POLL, time),
            Event::Clock { value } if value == record.time => self.timed(tag::CLOCK_EXACT, time),
            Event::Clock { value } => {
                self.timed(tag::CLOCK, time);
                self.put_off(value.0, time);
            }
            Event::Random { value } => {
                self.timed(tag::RANDOM, time);
                self.body.extend_from_slice(&value.to_le_bytes());
            }
            Event::Input { call } => self.input(call, time),
            Event::Seen { from, to, payload } => {
                let (from, to) = (self.endpoint(&from), self.endpoint(&to));
                self.timed(tag::SEEN, time);
                self.put(from as u64);
                self.put(to as u64);
                self.put_counted(payload);
            }
            Event::Tick {
                tick,
                time: virtual_time,
            } => {
                self.tick(tick, virtual_time.0, time);
                self.state.time = time;
            }
            Event::ClockRead { clock, value } => self.clock_read(clock, value, time),
            Event::Called {
                call,
                result,
                details,
            } => self.called(call, result, details, time),
            _ => self.plain(record),
        }
    }

    fn input(&mut self, call: &[u8], time: u64) {
        self.back(time);
        let delta_ns = time - self.state.time;
        if tag::short_fits(delta_ns, call.len()) {
            let bits = tag::short_bits(delta_ns, call.len());
            self.body.push(tag::INPUT_SHORT | (bits >> 16) as u8);
            self.body.extend_from_slice(&(bits as u16).to_le_bytes());
            self.state.time = time;
        } else {
            self.timed(tag::INPUT, time);
            self.put(call.len() as u64);
        }
        self.body.extend_from_slice(call);
    }

    fn packet(&mut self, kind: u8, endpoint: usize, time: u64, payload: &[u8]) -> Packet {
        let nibble = match u8::try_from(endpoint) {
            Ok(small) if small < tag::NIBBLE_FOLLOWS => small,
            _ => tag::NIBBLE_FOLLOWS,
        };
        self.back(time);
        let tag_at = self.body.len();
        self.body.push(kind | nibble);
        if nibble == tag::NIBBLE_FOLLOWS {
            self.put(endpoint as u64);
        }
        let delta_ns = time - self.state.time;
        self.put(delta_ns);
        self.state.time = time;
        self.put(payload.len() as u64);
        let payload_at = self.body.len();
        self.body.extend_from_slice(payload);
        Packet {
            tag_at,
            payload_at,
            endpoint,
            delta_ns,
        }
    }

    /// Writes the latest item again in three bytes and its payload, if it is small enough.
    fn shorten(&mut self, kind: u8, packet: Packet) {
        let Packet {
            tag_at,
            payload_at,
            endpoint,
            delta_ns,
        } = packet;
        let length = self.body.len() - payload_at;
        if ShortPacket::fits(endpoint, delta_ns, length) {
            let head = ShortPacket {
                kind,
                endpoint,
                delta_ns,
                length,
            }
            .bytes();
            self.body.splice(tag_at..payload_at, head);
        }
    }

    /// A result that names its send by being the latest of its context.
    fn short_result(&mut self, record: &Record<'_>, of: EventNumber, outcome: SendOutcome) -> bool {
        let current = self.state.context;
        let fits = |context: &Context| {
            context.thread == record.thread.0 && context.sent == Some((of.0, record.time))
        };
        let contexts = &self.state.contexts;
        let latest = fits(&contexts[current]).then_some(current);
        let Some(index) = latest.or_else(|| contexts.iter().position(fits)) else {
            return false;
        };
        self.switch_to(index);
        match outcome {
            SendOutcome::Sent => self.body.push(tag::RESULT_TAKEN),
            SendOutcome::Short(taken) => {
                self.body.push(tag::RESULT_SHORT);
                self.put(u64::from(taken));
            }
            SendOutcome::Failed(code) => {
                self.body.push(tag::RESULT_FAILED);
                self.put(zigzag(i64::from(code)));
            }
        }
        true
    }

    fn tick(&mut self, tick: u64, virtual_ns: u64, at: u64) {
        let tag_at = self.body.len();
        let last = self.state.tick;
        let error = last.and_then(|l| {
            let error = virtual_ns.wrapping_sub(l.next_virtual_ns()) as i64;
            let index = tag::TICK_ERRORS.iter().position(|e| *e == error)?;
            (l.step_ns != 0 && tick == l.tick.wrapping_add(1)).then_some(index)
        });
        let expected_at = last.map_or(self.state.time, |l| l.next_at());
        let step_to = LastTick::step_to(last, virtual_ns);
        let step_ns = if last.is_some() {
            step_to
        } else {
            self.step_ns
        };
        if let Some(index) = error {
            self.body.push(tag::TICK_NEXT | index as u8);
            self.put_off(at, expected_at);
            let thread = self.state.contexts[self.state.context].thread;
            self.fold = Fold::Tick { tag_at, thread };
        } else {
            let (before, expected_virtual) = last.map_or((0, 0), |l| (l.tick, l.next_virtual_ns()));
            self.body.push(tag::TICK);
            self.put_off(at, expected_at);
            self.put_off(tick, before);
            self.put_off(virtual_ns, expected_virtual);
            self.put_off(step_ns, step_to);
        }
        self.step_ns = step_ns;
        self.state.tick = Some(LastTick {
            tick,
            virtual_ns,
            step_ns,
            at,
        });
    }

    /// The form that every kind has and every reader can skip: tag, time, length, body.
    fn plain(&mut self, record: &Record<'_>) {
        let (head, tail) = plain_parts(&record.event);
        self.body.push(tag::PLAIN | record.event.kind() as u8);
        self.put_off(record.time.0, self.state.time);
        self.put((head.bytes().len() + tail.len()) as u64);
        self.body.extend_from_slice(head.bytes());
        self.body.extend_from_slice(tail);
        self.state.time = record.time.0;
    }

    fn clock_read(&mut self, clock: ClockId, value: u64, time: u64) {
        let ahead = value.wrapping_sub(time);
        let known = self.state.place_of(clock);
        let steps = known.and_then(|index| {
            let known = self.state.clocks[index];
            let later = value.checked_sub(known.value)?;
            let fits = known.ahead == ahead && later.is_multiple_of(clock.step_ns());
            let steps = later / clock.step_ns();
            (fits && steps < 1 << 18).then_some((index, steps))
        });
        if let Some((index, steps)) = steps {
            if index != self.state.clock {
                self.body.extend_from_slice(&[tag::CLOCK_SELECT, clock.0]);
                self.state.clock = index;
            }
            if steps < 1 << 10 {
                self.body.push(tag::CLOCK_NEXT | (steps >> 8) as u8);
                self.body.push(steps as u8);
            } else {
                self.body.push(tag::CLOCK_LATER | (steps >> 16) as u8);
                self.body.extend_from_slice(&(steps as u16).to_le_bytes());
            }
        } else {
            self.body.extend_from_slice(&[tag::CLOCK_FULL, clock.0]);
            self.put_off(time, self.state.time);
            let before = known.map_or(time, |index| self.state.clocks[index].value);
            self.put_off(value, before);
            self.state.clock = known.unwrap_or(self.state.clocks.len());
        }
        self.state.read_clock(ClockState {
            clock,
            value,
            ahead,
        });
        self.state.time = time;
    }

    fn called(&mut self, call: CallId, result: i32, details: &[u8], time: u64) {
        let again = self.called.as_ref().is_some_and(|(c, r, at)| {
            *c == call && *r == result && self.body.get(at.clone()) == Some(details)
        });
        if again {
            self.timed(tag::CALLED_AGAIN, time);
            return;
        }
        self.timed(tag::CALLED, time);
        self.body.push(call.0);
        self.put(zigzag(i64::from(result)));
        self.put(details.len() as u64);
        let start = self.body.len();
        self.body.extend_from_slice(details);
        self.called = Some((call, result, start..self.body.len()));
    }

    fn put(&mut self, value: u64) {
        put(&mut self.body, value);
    }

    /// How far a number is from what was expected.
    fn put_off(&mut self, value: u64, expected: u64) {
        self.put(zigzag(value.wrapping_sub(expected) as i64));
    }

    /// Bytes behind their length.
    fn put_counted(&mut self, bytes: &[u8]) {
        self.put(bytes.len() as u64);
        self.body.extend_from_slice(bytes);
    }

    fn timed(&mut self, tag: u8, time: u64) {
        self.back(time);
        self.body.push(tag);
        self.put(time - self.state.time);
        self.state.time = time;
    }

    /// Sets the block's clock back where `time` is before it: events of two threads may be
    /// numbered in the other order than they were stamped.
    fn back(&mut self, time: u64) {
        if time < self.state.time {
            self.body.push(tag::BACK);
            self.put(self.state.time - time);
            self.state.time = time;
        }
    }

    fn select(&mut self, thread: u16, socket: Option<u16>) {
        let fits = |context: &Context| {
            context.thread == thread && socket.is_none_or(|socket| context.socket == socket)
        };
        if fits(&self.state.contexts[self.state.context]) {
            return;
        }
        if let Some(index) = self.state.contexts.iter().position(fits) {
            self.switch_to(index);
            return;
        }
        let socket = socket.unwrap_or(0);
        self.body.push(tag::CONTEXT_NEW);
        self.put(u64::from(thread));
        self.put(u64::from(socket));
        self.state.declare(thread, socket);
    }

    fn switch_to(&mut self, index: usize) {
        if index != self.state.context {
            self.body.push(tag::CONTEXT);
            self.put(index as u64);
            self.state.context = index;
        }
    }

    /// The endpoint's index in the block, declared here if it is new.
    fn endpoint(&mut self, endpoint: &Endpoint) -> usize {
        let known = self.state.endpoints.iter();
        let mut nearby = known.take(usize::from(tag::NIBBLE_FOLLOWS));
        if let Some(index) = nearby.position(|known| known == endpoint) {
            return index;
        }
        if let Some(index) = self.endpoints.get(endpoint) {
            return *index;
        }
        let before = self.state.endpoints.last();
        let same_address = before.is_some_and(|before| {
            let mut moved = *before;
            moved.set_port(endpoint.port());
            moved == *endpoint
        });
        match endpoint {
            _ if same_address => self.body.push(tag::ENDPOINT_PORT),
            SocketAddr::V4(v4) => {
                self.body.push(tag::ENDPOINT_V4);
                self.body.extend_from_slice(&v4.ip().octets());
            }
            SocketAddr::V6(v6) => {
                self.body.push(tag::ENDPOINT_V6);
                self.body.extend_from_slice(&v6.ip().octets());
                self.body.extend_from_slice(&v6.flowinfo().to_le_bytes());
                self.body.extend_from_slice(&v6.scope_id().to_le_bytes());
            }
        }
        self.body.extend_from_slice(&endpoint.port().to_le_bytes());
        let index = self.state.endpoints.len();
        self.state.endpoints.push(*endpoint);
        self.endpoints.insert(*endpoint, index);
        index
    }
}
