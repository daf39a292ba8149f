//! The tags of a block's items, and what both sides of the coding remember between items.
//!
//! `docs/reel-format.md` has the table; the names here are its rows.

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

/// Set in the tag of every event in the plain form; the low seven bits are its kind.
pub(crate) const PLAIN: u8 = 0x80;

/// One (thread, socket) pair of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    pub(crate) thread: u16,
    pub(crate) socket: u16,
    /// Number and time of the latest send here.
    pub(crate) sent: Option<(u64, Time)>,
}

/// The latest tick of a block, from which the next one is predicted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastTick {
    pub(crate) tick: u64,
    /// Virtual time, in nanoseconds.
    pub(crate) virtual_ns: u64,
    /// The length of a tick in virtual time; 0 where it is not known.
    pub(crate) step_ns: u64,
    /// When it was.
    pub(crate) at: u64,
}

impl LastTick {
    /// The virtual time of the next tick, if all goes on as it went.
    pub(crate) fn next_virtual_ns(&self) -> u64 {
        self.virtual_ns.wrapping_add(self.step_ns)
    }

    /// When the next tick should be.
    pub(crate) fn next_at(&self) -> u64 {
        self.at.wrapping_add(self.step_ns)
    }

    /// From the virtual time of the tick before, if there is one, to this one.
    pub(crate) fn step_to(before: Option<LastTick>, virtual_ns: u64) -> u64 {
        before.map_or(0, |before| virtual_ns.wrapping_sub(before.virtual_ns))
    }
}

/// What the coder and the decoder of one block both know at the same item.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The time of the latest event.
    pub(crate) time: u64,
    pub(crate) contexts: Vec<Context>,
    /// The current one, an index into `contexts`.
    pub(crate) context: usize,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) tick: Option<LastTick>,
}

impl State {
    pub(crate) fn new(time: u64) -> State {
        let first = Context {
            thread: 0,
            socket: 0,
            sent: None,
        };
        State {
            time,
            contexts: vec![first],
            context: 0,
            endpoints: Vec::new(),
            tick: None,
        }
    }
}
