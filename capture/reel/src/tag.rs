//! The tags of a block's items, and what both sides of the coding remember between items.
//!
//! `docs/reel-format.md` has the table; the names here are its rows.

use netreel_shared::call::ClockId;

use crate::{Endpoint, Time};

/// Declares the next context (thread, socket) and makes it the current one.
pub(crate) const CONTEXT_NEW: u8 = 0x01;
/// Makes a declared context the current one.
pub(crate) const CONTEXT: u8 = 0x02;
/// Sets the clock of the block back.
pub(crate) const BACK: u8 = 0x03;
/// Leaves out event numbers.
pub(crate) const HOLE: u8 = 0x04;
/// Declares the next endpoint: IPv4.
pub(crate) const ENDPOINT_V4: u8 = 0x05;
/// Declares the next endpoint: IPv6.
pub(crate) const ENDPOINT_V6: u8 = 0x06;
/// Declares the next endpoint: the address of the one declared before it, another port.
pub(crate) const ENDPOINT_PORT: u8 = 0x07;

/// A packet sent, and its result (taken whole) right behind it. Low nibble: endpoint.
pub(crate) const SENT_TAKEN: u8 = 0x10;
/// A packet received. Low nibble: endpoint.
pub(crate) const RECEIVED: u8 = 0x20;
/// A packet sent, its result elsewhere or never. Low nibble: endpoint.
pub(crate) const SENT: u8 = 0x30;
/// A packet received, and a poll that found nothing right behind it, at the same time.
/// Low nibble: endpoint.
pub(crate) const RECEIVED_LAST: u8 = 0x60;
/// The nibble that says that the endpoint's index follows.
pub(crate) const NIBBLE_FOLLOWS: u8 = 0x0f;

/// A clock read that was told the event's own time.
pub(crate) const CLOCK_EXACT: u8 = 0x40;
/// A clock read that was told something else.
pub(crate) const CLOCK: u8 = 0x41;
/// A poll that found nothing, at the time of the item before it.
pub(crate) const POLL_HERE: u8 = 0x42;
/// A poll that found nothing.
pub(crate) const POLL: u8 = 0x43;
/// A tick with its number and its virtual time.
pub(crate) const TICK: u8 = 0x45;
/// A call of the game into the layer.
pub(crate) const INPUT: u8 = 0x47;
/// A packet that passed an observer: from one declared endpoint to another.
pub(crate) const SEEN: u8 = 0x4d;
/// A random draw.
pub(crate) const RANDOM: u8 = 0x48;
/// The result of the context's latest send: all of it was taken.
pub(crate) const RESULT_TAKEN: u8 = 0x49;
/// The same: only part of it was taken.
pub(crate) const RESULT_SHORT: u8 = 0x4a;
/// The same: the call failed.
pub(crate) const RESULT_FAILED: u8 = 0x4b;
/// The tick that was expected. Bits 0 and 1: how far its virtual time is off, see
/// [`TICK_ERRORS`]. Bit 2: an exact clock read follows.
pub(crate) const TICK_NEXT: u8 = 0x50;
/// The bit of [`TICK_NEXT`] that says that an exact clock read is the next event.
pub(crate) const TICK_CLOCK: u8 = 0x04;
/// What bits 0 and 1 of [`TICK_NEXT`] mean, in nanoseconds.
pub(crate) const TICK_ERRORS: [i64; 3] = [0, 1, -1];

/// A short call of the game soon after the event before it: three bytes before the call. The low
/// three bits are the highest of the 19 that [`short_bits`] makes.
pub(crate) const INPUT_SHORT: u8 = 0x70;

/// Makes a clock that was read before in this block the current one.
pub(crate) const CLOCK_SELECT: u8 = 0x08;
/// A read of a program's clock, told in full; makes the clock the current one.
pub(crate) const CLOCK_FULL: u8 = 0x44;
/// A call of a program into the operating system.
pub(crate) const CALLED: u8 = 0x46;
/// The latest [`CALLED`] once more.
pub(crate) const CALLED_AGAIN: u8 = 0x4c;
/// The next read of the current clock: two bits of the tag and a byte count its steps.
pub(crate) const CLOCK_NEXT: u8 = 0x78;
/// The same with two bytes.
pub(crate) const CLOCK_LATER: u8 = 0x7c;

/// The lowest tag of an event in the plain form; the low five bits are its kind.
pub(crate) const PLAIN: u8 = 0x80;
/// The bits of a plain tag that are the kind.
pub(crate) const PLAIN_KIND: u8 = 0x1f;
/// The lowest tag of a short packet; all above it are short packets too.
pub(crate) const SHORT: u8 = 0xa0;

/// A small packet soon after the event before it: three bytes before its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortPacket {
    /// [`SENT_TAKEN`], [`RECEIVED`] or [`RECEIVED_LAST`].
    pub kind: u8,
    /// Below 4.
    pub endpoint: usize,
    /// Below 2^14 ns.
    pub delta_ns: u64,
    /// Below 32.
    pub length: usize,
}

/// The kinds of short packets, in the order of their numbers in a tag.
const SHORT_KINDS: [u8; 3] = [SENT_TAKEN, RECEIVED, RECEIVED_LAST];
/// How much is added to the tag of a short RECEIVED to make it RECEIVED_LAST.
pub(crate) const SHORT_LAST: u8 = 4 << 3;

/// Whether a time and a length fit the 19 bits of a short item.
pub(crate) fn short_fits(delta_ns: u64, length: usize) -> bool {
    delta_ns < 1 << 14 && length < 32
}

/// The 19 bits of a short item: the time in the low 14, the length above; only where they fit.
pub(crate) fn short_bits(delta_ns: u64, length: usize) -> u32 {
    (length as u32) << 14 | delta_ns as u32
}

/// Time and length of a short item, from the low three bits of its tag and the two bytes behind it.
pub(crate) fn short_parts(tag: u8, low: [u8; 2]) -> (u64, usize) {
    let bits = u32::from(tag & 7) << 16 | u32::from(u16::from_le_bytes(low));
    (u64::from(bits & 0x3fff), (bits >> 14) as usize)
}

impl ShortPacket {
    /// Whether a packet is small and soon enough.
    pub fn fits(endpoint: usize, delta_ns: u64, length: usize) -> bool {
        endpoint < 4 && short_fits(delta_ns, length)
    }

    /// The three bytes; only for a packet that [`fits`](ShortPacket::fits).
    pub fn bytes(&self) -> [u8; 3] {
        let kind = SHORT_KINDS
            .iter()
            .position(|kind| *kind == self.kind)
            .unwrap_or(0);
        let bits = short_bits(self.delta_ns, self.length);
        let low = (bits as u16).to_le_bytes();
        let tag = usize::from(SHORT) + (((kind * 4) + self.endpoint) << 3) + (bits >> 16) as usize;
        [tag as u8, low[0], low[1]]
    }

    /// What the three bytes say, if the first is a tag from [`SHORT`] on.
    pub fn read(bytes: [u8; 3]) -> Option<ShortPacket> {
        let number = bytes[0].checked_sub(SHORT)?;
        let combined = usize::from(number >> 3);
        let (delta_ns, length) = short_parts(number, [bytes[1], bytes[2]]);
        Some(ShortPacket {
            kind: *SHORT_KINDS.get(combined / 4)?,
            endpoint: combined % 4,
            delta_ns,
            length,
        })
    }
}

/// One (thread, socket) pair of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context {
    pub thread: u16,
    pub socket: u16,
    /// Number and time of the latest send here.
    pub sent: Option<(u64, Time)>,
}

/// The latest tick of a block, from which the next one is predicted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastTick {
    pub tick: u64,
    /// Virtual time, in nanoseconds.
    pub virtual_ns: u64,
    /// The length of a tick in virtual time; 0 where it is not known.
    pub step_ns: u64,
    /// When it was.
    pub at: u64,
}

impl LastTick {
    /// The virtual time of the next tick, if all goes on as it went.
    pub fn next_virtual_ns(&self) -> u64 {
        self.virtual_ns.wrapping_add(self.step_ns)
    }

    /// When the next tick should be.
    pub fn next_at(&self) -> u64 {
        self.at.wrapping_add(self.step_ns)
    }

    /// From the virtual time of the tick before, if there is one, to this one.
    pub fn step_to(before: Option<LastTick>, virtual_ns: u64) -> u64 {
        before.map_or(0, |before| virtual_ns.wrapping_sub(before.virtual_ns))
    }
}

/// A program's clock in one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockState {
    pub clock: ClockId,
    /// The latest value in nanoseconds.
    pub value: u64,
    /// The value less the time of the event: the clock's distance from the reel's clock.
    pub ahead: u64,
}

/// What the coder and the decoder of one block both know at the same item.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The time of the latest event.
    pub time: u64,
    pub contexts: Vec<Context>,
    /// The current one, an index into `contexts`.
    pub context: usize,
    pub endpoints: Vec<Endpoint>,
    pub tick: Option<LastTick>,
    pub clocks: Vec<ClockState>,
    /// The current one, an index into `clocks`.
    pub clock: usize,
}

impl State {
    pub fn new(time: u64) -> State {
        State {
            time,
            contexts: vec![Context::default()],
            context: 0,
            endpoints: Vec::new(),
            tick: None,
            clocks: Vec::new(),
            clock: 0,
        }
    }

    /// Declares the next context, which is the current one from here on.
    pub fn declare(&mut self, thread: u16, socket: u16) {
        self.context = self.contexts.len();
        self.contexts.push(Context {
            thread,
            socket,
            sent: None,
        });
    }

    /// The place of a clock that was read before.
    pub fn place_of(&self, clock: ClockId) -> Option<usize> {
        self.clocks.iter().position(|known| known.clock == clock)
    }

    /// Keeps what the current clock was told, be it known or the next one.
    pub fn read_clock(&mut self, read: ClockState) {
        match self.clocks.get_mut(self.clock) {
            Some(known) => *known = read,
            None => self.clocks.push(read),
        }
    }
}
