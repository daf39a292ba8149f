//! The bytes of a block to events.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use netreel_shared::body::SendOutcome;
use netreel_shared::call::{CallId, ClockId};

use crate::plain::{PlainError, plain_read};
use crate::tag::{self, ClockState, Context, LastTick, ShortPacket, State};
use crate::varint::{Cursor, unzigzag};
use crate::{Endpoint, Event, EventNumber, Record, SocketId, ThreadId, Time};

/// The events of one block, in order.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    from: Cursor<'a>,
    state: State,
    next: u64,
    pending: Option<Record<'a>>,
    good_to: usize,
    /// The latest call, for the one that is the same again.
    called: Option<(CallId, i32, &'a [u8])>,
    unknown: BTreeMap<u8, u64>,
    holes: Vec<(EventNumber, u64)>,
    problem: Option<BlockProblem>,
}

/// Where the items of a block stopped making sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at} of the block's body: {why}")]
pub struct BlockProblem {
    /// Bytes from the start of the block's body to the item that could not be read.
    pub at: usize,
    /// What is wrong with it.
    pub why: &'static str,
}

enum Item<'a> {
    /// A declaration, or an event of a kind that is not known here.
    Silent,
    One(Event<'a>, u64),
    /// An event, and the one that was folded into it.
    Two(Event<'a>, u64, Event<'a>, u64),
}

const CUT: &str = "the block ends inside an item";

impl<'a> Records<'a> {
    /// Reads the body of a block: first number, first time, items.
    pub(crate) fn new(body: &'a [u8]) -> Records<'a> {
        let mut from = Cursor::new(body);
        let start = from.varint().zip(from.varint());
        let (next, time) = start.unwrap_or((0, 0));
        let problem = start.is_none().then_some(BlockProblem { at: 0, why: CUT });
        Records {
            good_to: from.at(),
            from,
            state: State::new(time),
            next,
            pending: None,
            called: None,
            unknown: BTreeMap::new(),
            holes: Vec::new(),
            problem,
        }
    }

    /// After the last event: what stopped the reading, if it was not the end.
    pub fn problem(&self) -> Option<&BlockProblem> {
        self.problem.as_ref()
    }

    /// How many events of kinds that this reader does not know were skipped, by kind.
    pub fn unknown(&self) -> &BTreeMap<u8, u64> {
        &self.unknown
    }

    /// Numbers that were taken and never used: the first of each run, and how many.
    pub fn holes(&self) -> &[(EventNumber, u64)] {
        &self.holes
    }

    /// The number that the next event would have.
    pub fn next_number(&self) -> EventNumber {
        EventNumber(self.next)
    }

    /// How many bytes of the body were read as whole items.
    pub fn good_to(&self) -> usize {
        self.good_to
    }

    /// The time of the first event; of the latest one once it was read.
    pub(crate) fn time(&self) -> Time {
        Time(self.state.time)
    }

    /// Shows all events that are left, in order.
    pub fn show_each(&mut self, show: &mut dyn FnMut(&Record<'a>)) {
        if let Some(record) = self.pending.take() {
            show(&record);
        }
        while let Some(item) = self.next_item() {
            match item {
                Item::Silent => {}
                Item::One(event, time) => show(&self.record(event, time)),
                Item::Two(first, first_time, second, second_time) => {
                    show(&self.record(first, first_time));
                    show(&self.record(second, second_time));
                }
            }
        }
    }

    /// The next item; `None` at the end, and where something is wrong.
    #[inline(always)]
    fn next_item(&mut self) -> Option<Item<'a>> {
        if self.problem.is_some() || self.from.is_at_end() {
            return None;
        }
        let at = self.from.at();
        match self.item() {
            Ok(item) => {
                self.good_to = self.from.at();
                Some(item)
            }
            Err(why) => {
                self.problem = Some(BlockProblem { at, why });
                None
            }
        }
    }

    fn record(&mut self, event: Event<'a>, time: u64) -> Record<'a> {
        let number = EventNumber(self.next);
        self.next = self.next.wrapping_add(1);
        let thread = ThreadId(self.context().thread);
        Record {
            number,
            time: Time(time),
            thread,
            event,
        }
    }

    fn context(&self) -> Context {
        // `context` is checked against the table whenever it is set.
        self.state
            .contexts
            .get(self.state.context)
            .copied()
            .unwrap_or_default()
    }

    /// An item that begins with its time.
    #[inline(always)]
    fn timed(&mut self, tag: u8) -> Result<Item<'a>, &'static str> {
        let time = self.later()?;
        let event = match tag {
            tag::CLOCK_EXACT => Event::Clock { value: Time(time) },
            tag::CLOCK => Event::Clock {
                value: Time(time.wrapping_add(self.off()?)),
            },
            tag::POLL => Event::PollEmpty {
                socket: SocketId(self.context().socket),
            },
            tag::SEEN => {
                let (from, to) = (self.index()?, self.index()?);
                let (from, to) = (self.declared(from)?, self.declared(to)?);
                let payload = self.counted()?;
                Event::Seen { from, to, payload }
            }
            tag::RANDOM => Event::Random {
                value: self.from.u64().ok_or(CUT)?,
            },
            tag::INPUT => Event::Input {
                call: self.counted()?,
            },
            tag::CALLED => {
                let call = CallId(self.from.u8().ok_or(CUT)?);
                let result = i32::try_from(unzigzag(self.varint()?))
                    .map_err(|_| "a call's result above 2^31")?;
                let details = self.counted()?;
                called(*self.called.insert((call, result, details)))
            }
            _ => called(self.called.ok_or("no call to be made again")?),
        };
        Ok(Item::One(event, time))
    }

    fn item(&mut self) -> Result<Item<'a>, &'static str> {
        let tag = self.from.u8().ok_or(CUT)?;
        if tag >= tag::SHORT {
            return self.short_packet(tag);
        }
        if tag >= tag::PLAIN {
            return self.plain(tag & tag::PLAIN_KIND);
        }
        match tag & 0xf0 {
            tag::SENT_TAKEN | tag::SENT | tag::RECEIVED | tag::RECEIVED_LAST => {
                return self.packet(tag);
            }
            _ => {}
        }
        match tag {
            tag::CONTEXT_NEW | tag::CONTEXT | tag::BACK | tag::HOLE => self.declaration(tag),
            tag::ENDPOINT_V4 | tag::ENDPOINT_V6 | tag::ENDPOINT_PORT => {
                let endpoint = self.endpoint(tag)?;
                self.state.endpoints.push(endpoint);
                Ok(Item::Silent)
            }
            tag::CLOCK_EXACT
            | tag::CLOCK
            | tag::POLL
            | tag::SEEN
            | tag::RANDOM
            | tag::INPUT
            | tag::CALLED
            | tag::CALLED_AGAIN => self.timed(tag),
            tag::POLL_HERE => {
                let socket = SocketId(self.context().socket);
                Ok(Item::One(Event::PollEmpty { socket }, self.state.time))
            }
            tag::RESULT_TAKEN | tag::RESULT_SHORT | tag::RESULT_FAILED => self.result(tag),
            tag::TICK => self.tick(None),
            tag::CLOCK_SELECT => {
                let clock = ClockId(self.from.u8().ok_or(CUT)?);
                let known = self.state.place_of(clock);
                self.state.clock = known.ok_or("a clock that was not read before")?;
                Ok(Item::Silent)
            }
            tag::CLOCK_FULL => self.clock_full(),
            _ if tag & 0xfc == tag::CLOCK_NEXT => {
                let low = self.from.u8().ok_or(CUT)?;
                self.clock_steps(u64::from(tag & 3) << 8 | u64::from(low))
            }
            _ if tag & 0xfc == tag::CLOCK_LATER => {
                let low = self.from.u16().ok_or(CUT)?;
                self.clock_steps(u64::from(tag & 3) << 16 | u64::from(low))
            }
            _ if tag & 0xf8 == tag::TICK_NEXT => self.tick(Some(tag)),
            _ if tag & 0xf8 == tag::INPUT_SHORT => {
                let (delta_ns, length) = tag::short_parts(tag, self.from.array().ok_or(CUT)?);
                let call = self.from.take(length).ok_or(CUT)?;
                self.state.time = self.state.time.wrapping_add(delta_ns);
                Ok(Item::One(Event::Input { call }, self.state.time))
            }
            _ => Err("a tag that version 0 does not have"),
        }
    }

    fn declaration(&mut self, tag: u8) -> Result<Item<'a>, &'static str> {
        match tag {
            tag::CONTEXT_NEW => {
                let thread = u16::try_from(self.varint()?).map_err(|_| "a thread above 65535")?;
                let socket = u16::try_from(self.varint()?).map_err(|_| "a socket above 65535")?;
                self.state.declare(thread, socket);
            }
            tag::CONTEXT => {
                let index = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                if index >= self.state.contexts.len() {
                    return Err("a context that was not declared");
                }
                self.state.context = index;
            }
            tag::BACK => {
                let back = self.varint()?;
                self.state.time = self.state.time.wrapping_sub(back);
            }
            _ => {
                let count = self.varint()?;
                self.holes.push((EventNumber(self.next), count));
                self.next = self
                    .next
                    .checked_add(count)
                    .ok_or("a hole up to numbers above 2^64")?;
            }
        }
        Ok(Item::Silent)
    }

    fn plain(&mut self, kind: u8) -> Result<Item<'a>, &'static str> {
        let off = self.off()?;
        let body = self.counted()?;
        let time = self.state.time.wrapping_add(off);
        self.state.time = time;
        match plain_read(kind, body) {
            Ok(event) => Ok(Item::One(event, time)),
            Err(PlainError::UnknownKind) => {
                *self.unknown.entry(kind).or_default() += 1;
                self.next = self.next.wrapping_add(1);
                Ok(Item::Silent)
            }
            Err(PlainError::BrokenBody) => Err("an event whose body is not one of its kind"),
        }
    }

    fn packet(&mut self, tag: u8) -> Result<Item<'a>, &'static str> {
        let nibble = tag & 0x0f;
        let index = if nibble == tag::NIBBLE_FOLLOWS {
            self.index()?
        } else {
            usize::from(nibble)
        };
        let time = self.later()?;
        let payload = self.counted()?;
        self.packet_of(tag & 0xf0, index, time, payload)
    }

    fn short_packet(&mut self, tag: u8) -> Result<Item<'a>, &'static str> {
        let [low, high] = self.from.array().ok_or(CUT)?;
        let packet = ShortPacket::read([tag, low, high]).ok_or("not a short packet")?;
        let payload = self.from.take(packet.length).ok_or(CUT)?;
        self.state.time = self.state.time.wrapping_add(packet.delta_ns);
        self.packet_of(packet.kind, packet.endpoint, self.state.time, payload)
    }

    /// An endpoint's place in the table.
    fn index(&mut self) -> Result<usize, &'static str> {
        Ok(usize::try_from(self.varint()?).unwrap_or(usize::MAX))
    }

    fn declared(&self, index: usize) -> Result<Endpoint, &'static str> {
        let endpoint = self.state.endpoints.get(index);
        endpoint.copied().ok_or("an endpoint that was not declared")
    }

    fn packet_of(
        &mut self,
        kind: u8,
        endpoint: usize,
        time: u64,
        payload: &'a [u8],
    ) -> Result<Item<'a>, &'static str> {
        let endpoint = self.declared(endpoint)?;
        let socket = SocketId(self.context().socket);
        let received = Event::Received {
            socket,
            from: endpoint,
            payload,
        };
        match kind {
            tag::RECEIVED => return Ok(Item::One(received, time)),
            tag::RECEIVED_LAST => {
                return Ok(Item::Two(received, time, Event::PollEmpty { socket }, time));
            }
            _ => {}
        }
        let number = self.next;
        if let Some(context) = self.state.contexts.get_mut(self.state.context) {
            context.sent = Some((number, Time(time)));
        }
        let sent = Event::Sent {
            socket,
            to: endpoint,
            payload,
        };
        if kind == tag::SENT {
            return Ok(Item::One(sent, time));
        }
        let of = EventNumber(number);
        let result = Event::SendResult {
            of,
            outcome: SendOutcome::Sent,
        };
        Ok(Item::Two(sent, time, result, time))
    }

    fn result(&mut self, tag: u8) -> Result<Item<'a>, &'static str> {
        let outcome = match tag {
            tag::RESULT_TAKEN => SendOutcome::Sent,
            tag::RESULT_SHORT => SendOutcome::Short(
                u32::try_from(self.varint()?).map_err(|_| "more than 2^32 bytes taken")?,
            ),
            _ => SendOutcome::Failed(
                i32::try_from(unzigzag(self.varint()?)).map_err(|_| "an error code above 2^31")?,
            ),
        };
        let (of, time) = self.context().sent.ok_or("a result without a send")?;
        Ok(Item::One(
            Event::SendResult {
                of: EventNumber(of),
                outcome,
            },
            time.0,
        ))
    }

    fn clock_full(&mut self) -> Result<Item<'a>, &'static str> {
        let clock = ClockId(self.from.u8().ok_or(CUT)?);
        let time = self.state.time.wrapping_add(self.off()?);
        let off = self.off()?;
        let known = self.state.place_of(clock);
        self.state.clock = known.unwrap_or(self.state.clocks.len());
        let before = known.and_then(|index| self.state.clocks.get(index));
        let value = before.map_or(time, |c| c.value).wrapping_add(off);
        self.state.read_clock(ClockState {
            clock,
            value,
            ahead: value.wrapping_sub(time),
        });
        self.state.time = time;
        Ok(Item::One(Event::ClockRead { clock, value }, time))
    }

    fn clock_steps(&mut self, steps: u64) -> Result<Item<'a>, &'static str> {
        let current = self
            .state
            .clocks
            .get_mut(self.state.clock)
            .ok_or("a clock that was not read before")?;
        let clock = current.clock;
        let later_ns = steps.wrapping_mul(clock.step_ns());
        current.value = current.value.wrapping_add(later_ns);
        let value = current.value;
        self.state.time = value.wrapping_sub(current.ahead);
        Ok(Item::One(
            Event::ClockRead { clock, value },
            self.state.time,
        ))
    }

    fn tick(&mut self, next: Option<u8>) -> Result<Item<'a>, &'static str> {
        let last = self.state.tick;
        let expected_at = last.map_or(self.state.time, |l| l.next_at());
        let at = expected_at.wrapping_add(self.off()?);
        let (tick, virtual_ns, step_ns) = match next {
            Some(tag) => {
                let last = last.ok_or("a next tick without one before it")?;
                let error = tag::TICK_ERRORS
                    .get(usize::from(tag & 3))
                    .ok_or("a tag that version 0 does not have")?;
                let virtual_ns = last.next_virtual_ns().wrapping_add(*error as u64);
                let step_ns = LastTick::step_to(Some(last), virtual_ns);
                (last.tick.wrapping_add(1), virtual_ns, step_ns)
            }
            None => {
                let (before, expected) = last.map_or((0, 0), |l| (l.tick, l.next_virtual_ns()));
                let tick = before.wrapping_add(self.off()?);
                let virtual_ns = expected.wrapping_add(self.off()?);
                let step_to = LastTick::step_to(last, virtual_ns);
                (tick, virtual_ns, step_to.wrapping_add(self.off()?))
            }
        };
        self.state.tick = Some(LastTick {
            tick,
            virtual_ns,
            step_ns,
            at,
        });
        self.state.time = at;
        let event = Event::Tick {
            tick,
            time: Time(virtual_ns),
        };
        if next.is_some_and(|tag| tag & tag::TICK_CLOCK != 0) {
            let time = self.later()?;
            return Ok(Item::Two(
                event,
                at,
                Event::Clock { value: Time(time) },
                time,
            ));
        }
        Ok(Item::One(event, at))
    }

    fn endpoint(&mut self, tag: u8) -> Result<Endpoint, &'static str> {
        let from = &mut self.from;
        Ok(match tag {
            tag::ENDPOINT_V4 => {
                let ip = Ipv4Addr::from(from.array::<4>().ok_or(CUT)?);
                SocketAddr::V4(SocketAddrV4::new(ip, from.u16().ok_or(CUT)?))
            }
            tag::ENDPOINT_V6 => {
                let ip = Ipv6Addr::from(from.array::<16>().ok_or(CUT)?);
                let flowinfo = from.u32().ok_or(CUT)?;
                let scope = from.u32().ok_or(CUT)?;
                let port = from.u16().ok_or(CUT)?;
                SocketAddr::V6(SocketAddrV6::new(ip, port, flowinfo, scope))
            }
            _ => {
                let mut endpoint = *self
                    .state
                    .endpoints
                    .last()
                    .ok_or("a port without an address before it")?;
                endpoint.set_port(from.u16().ok_or(CUT)?);
                endpoint
            }
        })
    }

    fn later(&mut self) -> Result<u64, &'static str> {
        let delta = self.varint()?;
        self.state.time = self.state.time.wrapping_add(delta);
        Ok(self.state.time)
    }

    /// How far a number is from what was expected; to be added, wrapping.
    fn off(&mut self) -> Result<u64, &'static str> {
        Ok(unzigzag(self.varint()?) as u64)
    }

    fn varint(&mut self) -> Result<u64, &'static str> {
        self.from.varint().ok_or(CUT)
    }

    fn counted(&mut self) -> Result<&'a [u8], &'static str> {
        self.from.counted().ok_or(CUT)
    }
}

fn called((call, result, details): (CallId, i32, &[u8])) -> Event<'_> {
    Event::Called {
        call,
        result,
        details,
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        // Most often there is none, which is looked at before it is moved.
        if self.pending.is_some() {
            return self.pending.take();
        }
        while let Some(item) = self.next_item() {
            match item {
                Item::Silent => {}
                Item::One(event, time) => return Some(self.record(event, time)),
                Item::Two(first, first_time, second, second_time) => {
                    let record = self.record(first, first_time);
                    self.pending = Some(self.record(second, second_time));
                    return Some(record);
                }
            }
        }
        None
    }
}
